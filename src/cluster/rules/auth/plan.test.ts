import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, sickFor } from "#kit/cluster.ts";
import { guarded, LOCKED, LOCKED_OUT, NO_USERS, PREPARED, withAuth } from "#kit/cluster-auth.ts";
import { type PlanCase, testPlans } from "#kit/cluster-plan.ts";
import { withCrashing } from "#kit/cluster-rolling.ts";
import { asking, unasking } from "#kit/cluster-steps.ts";
import { running, secured } from "#kit/cluster-tls.ts";

// What is done about etcd's users.

const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ours" } } } };
const unverified = secured({}, { client: { verifyClients: false } });

const lost = sickFor(secured({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);

/** One of the members was made from something else than its EtcdPeer says by now. */
function inARoll(snapshot: ClusterSnapshot): ClusterSnapshot {
  const [name, pod] = [...snapshot.pods].at(-1)!;
  const others = { ...pod.metadata.annotations, "etcd.improbable.io/revision": "another" };
  return {
    ...snapshot,
    pods: new Map([...snapshot.pods, [name, { ...pod, metadata: { ...pod.metadata, annotations: others } }]]),
  };
}

const cases: readonly PlanCase[] = [
  {
    name: "users that people have made are told, and left alone",
    given: guarded({ unmanaged: { users: { count: 1, names: ["ann"] } } }),
    expect: "settled",
  },
  {
    name: "beside all else",
    given: guarded({ unmanaged: { users: { count: 1, names: ["ann"] } }, state: { ...LOCKED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "no password is set where nobody asks for users",
    given: guarded({ wanted: false, state: NO_USERS }),
    expect: "settled",
  },
  { name: "nor by who is no administrator", given: guarded({ state: LOCKED_OUT, user: undefined }), expect: "settled" },
  {
    name: "a password for root comes first",
    given: guarded({ state: NO_USERS, secret: undefined }),
    expect: "root-secret: createRootSecret",
  },
  {
    name: "then the operator's user",
    given: guarded({ state: NO_USERS }),
    expect: "administrators: addUser etcd-cluster-operator",
  },
  {
    name: "then its role",
    given: guarded({ state: { ...NO_USERS, operator: [] } }),
    expect: "administrators: grantRole etcd-cluster-operator",
  },
  {
    name: "then root, with its password",
    given: guarded({ state: { ...NO_USERS, operator: ["root"] } }),
    expect: "root-password: setRootPassword new",
  },
  {
    name: "then root's role",
    given: guarded({ state: { ...PREPARED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "a root that somebody else has made gets the password of the Secret",
    given: guarded({ state: { ...PREPARED, isRootsPassword: false } }),
    expect: "root-password: setRootPassword",
  },
  { name: "users are asked for last of all", given: guarded({ state: PREPARED }), expect: "switch-auth: enableAuth" },
  { name: "then there is nothing to do", given: guarded(), expect: "settled" },
  {
    name: "one that is switched on already is left so",
    given: guarded({ state: { ...LOCKED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "a Secret that is lost is followed by another one",
    given: guarded({ secret: undefined }),
    expect: "root-secret: createRootSecret",
  },
  {
    name: "and root gets its password",
    given: guarded({ state: { ...LOCKED, isRootsPassword: false } }),
    expect: "root-password: setRootPassword",
  },
  {
    name: "root that was made without a password is left to people, who can switch users off and on",
    given: guarded({ state: { ...LOCKED, isRootsPassword: false, isRootWithoutPassword: true } }),
    expect: "settled",
  },
  { name: "switched off when somebody says so", given: guarded({ wanted: false }), expect: "switch-auth: disableAuth" },
  {
    name: "and not when nobody says anything",
    given: guarded({ wanted: undefined, recorded: true }),
    expect: "settled",
  },
  {
    name: "nothing of users is made where nobody asks for them",
    given: guarded({ wanted: false, state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "nor is anything changed where nobody says anything",
    given: guarded({ wanted: undefined, state: PREPARED, recorded: false }),
    expect: "settled",
  },
  {
    name: "who does not know what etcd says waits",
    given: guarded({ state: unknown("no answer") }),
    expect: "settled",
  },
  {
    name: "nobody is asked for by members that would not know who asks",
    given: inARoll(guarded({ state: PREPARED })),
    expect: "wait: restart-member",
  },
  {
    name: "the operator lets itself in as root where it signs for clients",
    given: guarded({ state: LOCKED_OUT }),
    expect: "administrators: addUser etcd-cluster-operator as root",
  },
  {
    name: "and gives itself the role",
    given: guarded({ state: { ...LOCKED_OUT, operator: ["reader"] } }),
    expect: "administrators: grantRole etcd-cluster-operator as root",
  },
  {
    name: "so it may switch it off",
    given: guarded({ wanted: false, state: LOCKED_OUT }),
    expect: "switch-auth: disableAuth as root",
  },
  {
    name: "elsewhere a person has to let it in",
    given: guarded({ state: LOCKED_OUT, secret: undefined }, CERT_MANAGER),
    expect: "settled",
  },
  {
    name: "and before somebody can switch it off",
    given: guarded({ wanted: false, state: LOCKED_OUT }, CERT_MANAGER),
    expect: "settled",
  },
  {
    name: "clients without certificates are no place for it",
    given: withAuth(unverified, { state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "nor is a cluster without TLS",
    given: withAuth(cluster(), { state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "an operator without a name is nobody to etcd",
    given: guarded({ state: PREPARED, user: "" }),
    expect: "settled",
  },
  { name: "nor is it called root", given: guarded({ state: PREPARED, user: "root" }), expect: "settled" },
  {
    name: "an operator whose name is not read yet waits",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: undefined }),
    expect: "settled",
  },
  {
    name: "a Secret that is of no use is left to people",
    given: guarded({ state: { ...PREPARED, isRootsPassword: false }, secret: { trouble: "its password is empty" } }),
    expect: "settled",
  },
  {
    name: "another name of the operator's is on record before there is such a user",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: "ops" }),
    expect: "wait: administrators",
  },
  {
    name: "then it is made",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: "ops", operators: ["ops"] }),
    expect: "administrators: addUser ops",
  },
  {
    name: "and gets the role",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops", operators: ["ops"] }),
    expect: "administrators: grantRole ops",
  },
  {
    name: "whom somebody else has made does not",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops" }),
    expect: "settled",
  },
  {
    name: "nor does an application",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops", operators: ["ops"], holders: { ops: "app" } }),
    expect: "settled",
  },
  {
    name: "who has it by somebody else's hand may be the operator",
    given: guarded({ state: { ...PREPARED, root: [] }, user: "ops" }),
    expect: "administrators: grantRole root",
  },
  {
    name: "the name that the operator is about to have is on record first",
    given: guarded({ next: "next" }),
    expect: "wait: administrators",
  },
  {
    name: "then it is made, while the operator has the one of before",
    given: guarded({ next: "next", operators: ["next"] }),
    expect: "administrators: addUser next",
  },
  {
    name: "and that one gets the role",
    given: guarded({ next: "next", operators: ["next"], state: { ...LOCKED, next: [] } }),
    expect: "administrators: grantRole next",
  },
  {
    name: "then nothing is left to do for it",
    given: guarded({ next: "next", state: { ...LOCKED, next: ["root"] } }),
    expect: "settled",
  },
  {
    name: "the one of now comes first",
    given: guarded({ next: "next", operators: ["next"], state: { ...PREPARED, operator: undefined } }),
    expect: "administrators: addUser etcd-cluster-operator",
  },
  {
    name: "and root",
    given: guarded({ next: "next", operators: ["next"], state: { ...PREPARED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "users are asked for when the next one is there",
    given: guarded({ next: "next", operators: ["next"], state: PREPARED }),
    expect: "administrators: addUser next",
  },
  {
    name: "without a member list nothing of it is done",
    given: { ...guarded({ state: PREPARED }), members: unknown("no answer") },
    expect: "warn: await-quorum",
  },
  {
    name: "a member that is lost is replaced, although what it is to run next would shut the operator out",
    given: withAuth(asking(withCrashing(lost, "my-etcd-1"), { tls: unasking.cluster.spec.tls }), {
      recorded: true,
      wanted: undefined,
    }),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
];

testPlans("auth", cases);

test.each<{ given: ClusterSnapshot; says: string }>([
  {
    given: guarded({ state: LOCKED_OUT }, CERT_MANAGER),
    says: "etcd asks for users, and etcd-cluster-operator is no administrator there; as root: etcdctl user add etcd-cluster-operator --no-password, and etcdctl user grant-role etcd-cluster-operator root",
  },
  {
    given: withAuth(unverified, { state: NO_USERS }),
    says: "spec.auth.enabled is true, and clients show no certificates; spec.tls.client.provider must be Operator, CertManager or Secret, and verifyClients true: by its certificate the operator logs in",
  },
  {
    given: guarded({ user: "" }),
    says: "the certificate in Secret my-etcd-operator-tls has no common name; it must be one by which etcd can know the operator, such as etcd-cluster-operator",
  },
  {
    given: guarded({ user: "root" }),
    says: "the certificate in Secret my-etcd-operator-tls has the common name root; it must be one by which etcd can know the operator, such as etcd-cluster-operator",
  },
  {
    given: guarded({ next: "root", state: { ...LOCKED, next: ["root"] } }),
    says: "the certificate in Secret my-etcd-operator-tls has the common name root; it must be one by which etcd can know the operator, such as etcd-cluster-operator",
  },
  {
    given: guarded({ user: "ops", holders: { ops: "app" } }),
    says: "the certificate in Secret my-etcd-operator-tls has the common name ops, and etcd's user ops is of EtcdUser app, who would be an administrator by it; have a certificate with another common name there, or delete EtcdUser app",
  },
  {
    given: guarded({ next: "ops", state: { ...LOCKED, next: ["reader"] } }),
    says: "the certificate in Secret my-etcd-operator-tls has the common name ops, and etcd's user ops is of somebody whom the operator has not made, who would be an administrator by it; have a certificate with another common name there, or delete that user of etcd",
  },
  {
    given: guarded({ secret: { trouble: "its password is empty" } }),
    says: "Secret my-etcd-root: its password is empty",
  },
])("people are told: $says", ({ given, says }) => {
  expect(planCluster(given).aside).toContainEqual({ rule: "administrators", because: says, is: "remark" });
});

test("an EtcdUser that comes later with the name of the operator's own user keeps nothing from being done", () => {
  const given = guarded({ user: "ops", operators: ["ops"], holders: { ops: "app" }, secret: undefined });
  expect(planCluster(given)).toMatchObject({ next: "step", rule: "root-secret" });
  expect(planCluster(given).aside).toBeUndefined();
});

test("what is only waited for is told by the condition, and by no event", () => {
  for (const given of [
    inARoll(guarded({ state: PREPARED })),
    guarded({ state: unknown("no answer") }),
    running(guarded()),
  ])
    expect(planCluster(given).aside).toBeUndefined();
});

test("where its status is not heard of, it is looked for again in five seconds", () => {
  const plan = planCluster(guarded({ next: "next" }));
  expect(plan).toMatchObject({ next: "wait", rule: "administrators", recheckAfterMs: 5_000 });
});

test.each([
  ["root's password", guarded({ state: { ...PREPARED, isRootsPassword: false } }), "root-password"],
  ["root's Secret", guarded({ state: NO_USERS, secret: undefined }), "root-secret"],
  ["root's role", guarded({ state: { ...PREPARED, root: [] } }), "administrators"],
] as const)(
  "%s, while it is refused, holds nothing else up: users are not asked for meanwhile",
  (_, given, refused) => {
    const rest = { because: "refused", forMs: 1_000, isBrief: false };
    const rested = (rule: string) => (rule === refused || rule === "administrators" ? rest : undefined);
    expect(planCluster(given, rested)).toMatchObject({ next: "settled" });
  },
);
