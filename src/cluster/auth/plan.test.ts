import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, sickFor } from "#kit/snapshots/cluster.ts";
import { guarded, LOCKED, LOCKED_OUT, NO_USERS, PREPARED, withAuth } from "#kit/snapshots/cluster-auth.ts";
import { withCrashing } from "#kit/snapshots/cluster-rolling.ts";
import { asking, unasking } from "#kit/snapshots/cluster-steps.ts";
import { running, secured } from "#kit/snapshots/cluster-tls.ts";
import { type PlanCase, testPlans } from "#kit/tables/cluster-plan.ts";

// Plans for etcd's users.

const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ours" } } } };
const unverified = secured({}, { client: { verifyClients: false } });

const lost = sickFor(secured({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);

/** The pod of one member has an outdated template. */
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
    name: "users that people created are reported, and left alone",
    given: guarded({ unmanaged: { users: { count: 1, names: ["ann"] } } }),
    expect: "settled",
  },
  {
    name: "unmanaged users delay no other work",
    given: guarded({ unmanaged: { users: { count: 1, names: ["ann"] } }, state: { ...LOCKED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "no password is set without spec.auth.enabled",
    given: guarded({ wanted: false, state: NO_USERS }),
    expect: "settled",
  },
  {
    name: "no password is set by an operator that is no administrator",
    given: guarded({ state: LOCKED_OUT, user: undefined }),
    expect: "settled",
  },
  {
    name: "the Secret with root's password comes first",
    given: guarded({ state: NO_USERS, secret: undefined }),
    expect: "root-secret: createRootSecret",
  },
  {
    name: "then the operator's user",
    given: guarded({ state: NO_USERS }),
    expect: "administrators: addUser etcd-cluster-operator",
  },
  {
    name: "then the operator's role",
    given: guarded({ state: { ...NO_USERS, operator: [] } }),
    expect: "administrators: grantRole etcd-cluster-operator",
  },
  {
    name: "then root with its password",
    given: guarded({ state: { ...NO_USERS, operator: ["root"] } }),
    expect: "root-password: setRootPassword new",
  },
  {
    name: "then root's role",
    given: guarded({ state: { ...PREPARED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "an existing root gets the password of the Secret",
    given: guarded({ state: { ...PREPARED, isRootsPassword: false } }),
    expect: "root-password: setRootPassword",
  },
  {
    name: "authentication is switched on last",
    given: guarded({ state: PREPARED }),
    expect: "switch-auth: enableAuth",
  },
  { name: "then there is nothing to do", given: guarded(), expect: "settled" },
  {
    name: "authentication stays on while root's role is restored",
    given: guarded({ state: { ...LOCKED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "a lost Secret is recreated",
    given: guarded({ secret: undefined }),
    expect: "root-secret: createRootSecret",
  },
  {
    name: "root gets the password of the recreated Secret",
    given: guarded({ state: { ...LOCKED, isRootsPassword: false } }),
    expect: "root-password: setRootPassword",
  },
  {
    name: "a root without a password is left to people, who can switch authentication off and on",
    given: guarded({ state: { ...LOCKED, isRootsPassword: false, isRootWithoutPassword: true } }),
    expect: "settled",
  },
  {
    name: "authentication is switched off on request",
    given: guarded({ wanted: false }),
    expect: "switch-auth: disableAuth",
  },
  {
    name: "authentication stays on when the spec has no value",
    given: guarded({ wanted: undefined, recorded: true }),
    expect: "settled",
  },
  {
    name: "no Secret is created without spec.auth.enabled",
    given: guarded({ wanted: false, state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "nothing is changed without spec.auth",
    given: guarded({ wanted: undefined, state: PREPARED, recorded: false }),
    expect: "settled",
  },
  {
    name: "nothing is done while etcd does not answer",
    given: guarded({ state: unknown("no answer") }),
    expect: "settled",
  },
  {
    name: "authentication waits for members that do not verify clients yet",
    given: inARoll(guarded({ state: PREPARED })),
    expect: "wait: restart-member",
  },
  {
    name: "the operator adds its own user as root where it issues client certificates",
    given: guarded({ state: LOCKED_OUT }),
    expect: "administrators: addUser etcd-cluster-operator as root",
  },
  {
    name: "the operator grants itself the role as root",
    given: guarded({ state: { ...LOCKED_OUT, operator: ["reader"] } }),
    expect: "administrators: grantRole etcd-cluster-operator as root",
  },
  {
    name: "the operator switches authentication off as root",
    given: guarded({ wanted: false, state: LOCKED_OUT }),
    expect: "switch-auth: disableAuth as root",
  },
  {
    name: "with another issuer a person has to add the operator's user",
    given: guarded({ state: LOCKED_OUT, secret: undefined }, CERT_MANAGER),
    expect: "settled",
  },
  {
    name: "with another issuer a person has to add it before authentication can be switched off",
    given: guarded({ wanted: false, state: LOCKED_OUT }, CERT_MANAGER),
    expect: "settled",
  },
  {
    name: "no authentication without client certificates",
    given: withAuth(unverified, { state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "no authentication without TLS",
    given: withAuth(cluster(), { state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "an operator without a common name has no user",
    given: guarded({ state: PREPARED, user: "" }),
    expect: "settled",
  },
  { name: "the operator's user is never root", given: guarded({ state: PREPARED, user: "root" }), expect: "settled" },
  {
    name: "the operator's user waits until its certificate was read",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: undefined }),
    expect: "settled",
  },
  {
    name: "an invalid Secret is left to people",
    given: guarded({ state: { ...PREPARED, isRootsPassword: false }, secret: { trouble: "its password is empty" } }),
    expect: "settled",
  },
  {
    name: "a new name of the operator is recorded before its user is created",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: "ops" }),
    expect: "wait: administrators",
  },
  {
    name: "a recorded name gets a user",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: "ops", operators: ["ops"] }),
    expect: "administrators: addUser ops",
  },
  {
    name: "the user of a recorded name gets the role",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops", operators: ["ops"] }),
    expect: "administrators: grantRole ops",
  },
  {
    name: "a user that the operator did not create does not get the role",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops" }),
    expect: "settled",
  },
  {
    name: "an application's user does not get the role",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops", operators: ["ops"], holders: { ops: "app" } }),
    expect: "settled",
  },
  {
    name: "a user with a role granted by people may be the operator's",
    given: guarded({ state: { ...PREPARED, root: [] }, user: "ops" }),
    expect: "administrators: grantRole root",
  },
  {
    name: "the next name of the operator is recorded first",
    given: guarded({ next: "next" }),
    expect: "wait: administrators",
  },
  {
    name: "the user of the next name is created while the operator has the previous name",
    given: guarded({ next: "next", operators: ["next"] }),
    expect: "administrators: addUser next",
  },
  {
    name: "the user of the next name gets the role",
    given: guarded({ next: "next", operators: ["next"], state: { ...LOCKED, next: [] } }),
    expect: "administrators: grantRole next",
  },
  {
    name: "nothing is left to do for the next name",
    given: guarded({ next: "next", state: { ...LOCKED, next: ["root"] } }),
    expect: "settled",
  },
  {
    name: "the current user comes before the next one",
    given: guarded({ next: "next", operators: ["next"], state: { ...PREPARED, operator: undefined } }),
    expect: "administrators: addUser etcd-cluster-operator",
  },
  {
    name: "root comes before the next user",
    given: guarded({ next: "next", operators: ["next"], state: { ...PREPARED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "authentication is switched on after the next user exists",
    given: guarded({ next: "next", operators: ["next"], state: PREPARED }),
    expect: "administrators: addUser next",
  },
  {
    name: "no user is created without a member list",
    given: { ...guarded({ state: PREPARED }), members: unknown("no answer") },
    expect: "warn: await-quorum",
  },
  {
    name: "a lost member is replaced, although its next template would lock the operator out",
    given: withAuth(asking(withCrashing(lost, "my-etcd-1"), { tls: unasking.cluster.spec.tls }), {
      recorded: true,
      wanted: undefined,
    }),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
];

testPlans("src/cluster/auth", cases);

test.each<{ given: ClusterSnapshot; says: string }>([
  {
    given: guarded({ state: LOCKED_OUT }, CERT_MANAGER),
    says: "authentication is on, and etcd-cluster-operator is no administrator of etcd; as root: etcdctl user add etcd-cluster-operator --no-password, and etcdctl user grant-role etcd-cluster-operator root",
  },
  {
    given: withAuth(unverified, { state: NO_USERS }),
    says: "spec.auth.enabled is true, and clients have no certificates; spec.tls.client.provider must be Operator, CertManager or Secret, and verifyClients true. The operator logs in with its certificate",
  },
  {
    given: guarded({ user: "" }),
    says: "the certificate in Secret my-etcd-operator-tls has no common name; it must have one that identifies the operator, such as etcd-cluster-operator",
  },
  {
    given: guarded({ user: "root" }),
    says: "the certificate in Secret my-etcd-operator-tls has the common name root; it must have one that identifies the operator, such as etcd-cluster-operator",
  },
  {
    given: guarded({ next: "root", state: { ...LOCKED, next: ["root"] } }),
    says: "the certificate in Secret my-etcd-operator-tls has the common name root; it must have one that identifies the operator, such as etcd-cluster-operator",
  },
  {
    given: guarded({ user: "ops", holders: { ops: "app" } }),
    says: "the certificate in Secret my-etcd-operator-tls has the common name ops, and would make etcd's user ops of EtcdUser app an administrator; issue a certificate with another common name, or delete EtcdUser app",
  },
  {
    given: guarded({ next: "ops", state: { ...LOCKED, next: ["reader"] } }),
    says: "the certificate in Secret my-etcd-operator-tls has the common name ops, and would make etcd's user ops of another owner an administrator; issue a certificate with another common name, or delete that user of etcd",
  },
  {
    given: guarded({ secret: { trouble: "its password is empty" } }),
    says: "Secret my-etcd-root: its password is empty",
  },
])("a notice to people: $says", ({ given, says }) => {
  expect(planCluster(given).reports).toContainEqual({ rule: "administrators", because: says, is: "notice" });
});

test("an EtcdUser that takes the name of the operator's user prevents no work", () => {
  const given = guarded({ user: "ops", operators: ["ops"], holders: { ops: "app" }, secret: undefined });
  expect(planCluster(given)).toMatchObject({ next: "step", rule: "root-secret" });
  expect(planCluster(given).reports).toBeUndefined();
});

test("a mere wait is reported by the condition, not by an event", () => {
  for (const given of [
    inARoll(guarded({ state: PREPARED })),
    guarded({ state: unknown("no answer") }),
    running(guarded()),
  ])
    expect(planCluster(given).reports).toBeUndefined();
});

test("a missing status write is rechecked after five seconds", () => {
  const plan = planCluster(guarded({ next: "next" }));
  expect(plan).toMatchObject({ next: "wait", rule: "administrators", recheckAfterMs: 5_000 });
});

test.each([
  ["root's password", guarded({ state: { ...PREPARED, isRootsPassword: false } }), "root-password"],
  ["root's Secret", guarded({ state: NO_USERS, secret: undefined }), "root-secret"],
  ["root's role", guarded({ state: { ...PREPARED, root: [] } }), "administrators"],
] as const)("%s, while refused, delays no other work, and authentication is not switched on", (_, given, refused) => {
  const rest = { because: "refused", forMs: 1_000, isBrief: false };
  const rested = (rule: string) => (rule === refused || rule === "administrators" ? rest : undefined);
  expect(planCluster(given, rested)).toMatchObject({ next: "settled" });
});
