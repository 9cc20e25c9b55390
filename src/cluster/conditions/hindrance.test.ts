import { expect, test } from "vitest";
import { missing } from "#cluster/conditions/hindrance.ts";
import { progressing } from "#cluster/conditions/progressing.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { DAY_MS } from "#kit/certificates.ts";
import { NOW } from "#kit/cluster.ts";
import { guarded, PREPARED } from "#kit/cluster-auth.ts";
import { secured } from "#kit/cluster-tls.ts";
import type { Aside, Plan } from "#runtime/decide.ts";

const secret = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };
const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: { provider: "Secret", secret },
};
/** What somebody else brings ends soon. */
const ending: ClusterSnapshot = {
  ...secured({}, BROUGHT, { isOurs: false }),
  takenAtMs: NOW + 70 * DAY_MS,
};

const told: Aside = { rule: "certificate-ends", because: "it ends", is: "remark" };
const revoked: Aside = { rule: "right-missing", because: "the operator may not get secrets", is: "remark" };
const taken: Aside = { rule: "trust-map", because: "it is not this cluster's", is: "remark" };
const refused: Aside = { rule: "pod-monitor", because: "a webhook says no", is: "refused" };
const exists: Aside = { rule: "pod-monitor", because: "it is there", code: "KubeAlreadyExists", is: "refused" };
const putOff: Aside = { rule: "pod-monitor", because: "it is asked to come again", is: "putOff" };

const cases: { name: string; aside: readonly Aside[] | undefined; lacks: readonly [string, string] | undefined }[] = [
  { name: "nothing, when nothing stands aside", aside: undefined, lacks: undefined },
  { name: "not what comes to its end and is still good", aside: [told], lacks: undefined },
  { name: "not a right that is missing only to look again", aside: [revoked], lacks: undefined },
  { name: "not what passes by itself", aside: [putOff], lacks: undefined },
  { name: "what is taken, by its own reason", aside: [taken], lacks: ["NameTaken", "it is not this cluster's"] },
  { name: "what is refused", aside: [refused], lacks: ["StepRefused", "pod-monitor: a webhook says no"] },
  { name: "what is there already", aside: [exists], lacks: ["NameTaken", "pod-monitor: it is there"] },
  {
    name: "all of it, and nothing else",
    aside: [told, taken, putOff, refused],
    lacks: ["NameTaken", "it is not this cluster's; pod-monitor: a webhook says no"],
  },
];

test.each(cases)("what is missing: $name", ({ aside, lacks }) => {
  const found = missing({ snapshot: ending, plan: { next: "settled", ...(aside === undefined ? {} : { aside }) } });
  expect(found && [found.reason, found.message]).toEqual(lacks);
});

test("what people have to do about etcd's users is told by its own reason, and not as a step that was refused", () => {
  const snapshot = guarded({ state: PREPARED, secret: { trouble: "its password is empty" } });
  const { conditions } = clusterStatus(snapshot, planCluster(snapshot));
  for (const name of ["Ready", "Progressing", "AuthReady"])
    expect(conditions?.find(({ type }) => type === name)).toMatchObject({
      status: "False",
      reason: "RootSecretInvalid",
      message: "Secret my-etcd-root: its password is empty",
    });
});

function progressingOf(plan: Plan<never>) {
  return progressing({ snapshot: ending, plan, members: [], own: [] });
}

test("a cluster whose certificates come to their end is ready and settled for as long as they are good", () => {
  const plan = planCluster(ending);
  expect(plan).toMatchObject({ next: "settled", aside: [{ rule: "certificate-ends", is: "remark" }] });
  const { conditions } = clusterStatus(ending, plan);
  const of = (type: string) => conditions?.find((each) => each.type === type);
  expect([of("Ready"), of("Progressing")]).toMatchObject([
    { status: "True", reason: "AllMembersHealthy" },
    { status: "False", reason: "Settled", message: "there is nothing to do" },
  ]);
});

test("what is only told is not among what is not done", () => {
  expect(progressingOf({ next: "settled", aside: [told, putOff] })).toMatchObject({
    status: "True",
    message: "pod-monitor: not yet: it is asked to come again",
  });
  expect(
    progressingOf({
      next: "wait",
      rule: "await-health",
      because: "one is down",
      recheckAfterMs: 1,
      warn: false,
      aside: [told, refused],
    }),
  ).toEqual({
    status: "True",
    reason: "Waiting",
    message: "await-health: one is down; not done: pod-monitor: a webhook says no",
  });
});
