import { expect, test } from "vitest";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { DAY_MS } from "#kit/snapshots/certificates.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { guarded, PREPARED } from "#kit/snapshots/cluster-auth.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import type { Plan, Report } from "#runtime/decide.ts";
import { missing, ONLY_REPORTED, REASON_OF_RULE } from "./hindrance.ts";
import { progressing } from "./progressing.ts";

const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: { provider: "Secret", secret },
};
/** User-provided certificates expire soon. */
const ending: ClusterSnapshot = {
  ...secured({}, BROUGHT, { isOurs: false }),
  takenAtMs: NOW + 75 * DAY_MS,
};

const told: Report = { rule: "certificate-expires", because: "it ends", is: "notice" };
const revoked: Report = { rule: "secret-access-missing", because: "the operator may not get secrets", is: "notice" };
const taken: Report = { rule: "trust-map", because: "it is not this cluster's", is: "notice" };
const refused: Report = { rule: "pod-monitor", because: "a webhook says no", is: "refused" };
const exists: Report = { rule: "pod-monitor", because: "it is there", code: "KubeAlreadyExists", is: "refused" };
const delayed: Report = { rule: "pod-monitor", because: "it is asked to come again", is: "delayed" };

const cases: { name: string; reports: readonly Report[] | undefined; lacks: readonly [string, string] | undefined }[] =
  [
    { name: "nothing when the plan has no reports", reports: undefined, lacks: undefined },
    { name: "nothing for a certificate that expires later", reports: [told], lacks: undefined },
    { name: "nothing for a missing right that no step needs now", reports: [revoked], lacks: undefined },
    { name: "nothing for a step that is delayed at the request of etcd", reports: [delayed], lacks: undefined },
    {
      name: "NameTaken when another owner has the name of an object",
      reports: [taken],
      lacks: ["NameTaken", "it is not this cluster's"],
    },
    {
      name: "StepRefused when a step is refused",
      reports: [refused],
      lacks: ["StepRefused", "pod-monitor: a webhook says no"],
    },
    {
      name: "NameTaken when a step is refused with KubeAlreadyExists",
      reports: [exists],
      lacks: ["NameTaken", "pod-monitor: it is there"],
    },
    {
      name: "all messages, with the reason of the first",
      reports: [told, taken, delayed, refused],
      lacks: ["NameTaken", "it is not this cluster's; pod-monitor: a webhook says no"],
    },
  ];

test.each(cases)("missing() reports $name", ({ reports, lacks }) => {
  const found = missing({ snapshot: ending, plan: { next: "settled", ...(reports === undefined ? {} : { reports }) } });
  expect(found && [found.reason, found.message]).toEqual(lacks);
});

test("an invalid Secret of root is reported with its own reason in Ready, Progressing and AuthReady", () => {
  const snapshot = guarded({ state: PREPARED, secret: { trouble: "its password is empty" } });
  const { conditions } = clusterStatus(snapshot, planCluster(snapshot));
  for (const name of ["Ready", "Progressing", "AuthReady"])
    expect(conditions?.find(({ type }) => type === name)).toMatchObject({
      status: "False",
      reason: "RootSecretInvalid",
      message: "Secret my-etcd-root: its password is empty",
    });
});

test("REASON_OF_RULE and ONLY_TOLD name only existing rules and guards", () => {
  const names = [...CLUSTER_RULES, ...CLUSTER_GUARDS].map(({ name }) => name);
  expect([...Object.keys(REASON_OF_RULE), ...ONLY_REPORTED].filter((name) => !names.includes(name))).toEqual([]);
});

function progressingOf(plan: Plan<never>) {
  return progressing({ snapshot: ending, plan, members: [], own: [] });
}

test("with expiring user-provided certificates, Ready is False and Progressing is Settled", () => {
  const plan = planCluster(ending);
  expect(plan).toMatchObject({ next: "settled", reports: [{ rule: "certificate-expires", is: "notice" }] });
  const { conditions } = clusterStatus(ending, plan);
  const of = (type: string) => conditions?.find((each) => each.type === type);
  expect([of("Ready"), of("Progressing")]).toMatchObject([
    { status: "False", reason: "CertificateEnding" },
    { status: "False", reason: "Settled", message: "there is nothing to do" },
  ]);
});

test("Progressing reports refused and put-off steps, but no mere notice", () => {
  expect(progressingOf({ next: "settled", reports: [told, delayed] })).toMatchObject({
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
      reports: [told, refused],
    }),
  ).toEqual({
    status: "True",
    reason: "Waiting",
    message: "await-health: one is down; not done: pod-monitor: a webhook says no",
  });
});
