import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, sickFor } from "#kit/snapshots/cluster.ts";
import { guarded, LOCKED, LOCKED_OUT, NO_USERS, PREPARED, withAuth } from "#kit/snapshots/cluster-auth.ts";
import { withCrashing } from "#kit/snapshots/cluster-rolling.ts";
import { asking, unasking } from "#kit/snapshots/cluster-steps.ts";
import { running, secured } from "#kit/snapshots/cluster-tls.ts";
import { type PlanCase, testPlans } from "#kit/tables/cluster-plan.ts";

// Plans for etcd's users.

const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ours" } } } };
const unverified = secured({}, { client: { clientCertificates: "NotRequired" } });

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
    name: "does not change users that were created by hand",
    given: guarded({ unmanaged: { users: { count: 1, names: ["ann"] } } }),
    expect: "settled",
  },
  {
    name: "restores root's role although etcd has unmanaged users",
    given: guarded({ unmanaged: { users: { count: 1, names: ["ann"] } }, state: { ...LOCKED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "sets no password while spec.auth.enabled is false",
    given: guarded({ wanted: false, state: NO_USERS }),
    expect: "settled",
  },
  {
    name: "sets no password while the operator is no administrator",
    given: guarded({ state: LOCKED_OUT, user: undefined }),
    expect: "settled",
  },
  {
    name: "creates the Secret with root's password before any user",
    given: guarded({ state: NO_USERS, secret: undefined }),
    expect: "root-secret: createRootSecret",
  },
  {
    name: "adds the operator's user when root's Secret exists",
    given: guarded({ state: NO_USERS }),
    expect: "administrators: addUser etcd-cluster-operator",
  },
  {
    name: "grants the root role to the operator's user when that user exists",
    given: guarded({ state: { ...NO_USERS, operator: [] } }),
    expect: "administrators: grantRole etcd-cluster-operator",
  },
  {
    name: "creates root with its password when the operator is an administrator",
    given: guarded({ state: { ...NO_USERS, operator: ["root"] } }),
    expect: "root-password: setRootPassword new",
  },
  {
    name: "grants the root role to root after it was created",
    given: guarded({ state: { ...PREPARED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "sets the Secret's password for an existing root before authentication is on",
    given: guarded({ state: { ...PREPARED, isRootsPassword: false } }),
    expect: "root-password: setRootPassword",
  },
  {
    name: "switches authentication on when the operator and root are administrators",
    given: guarded({ state: PREPARED }),
    expect: "switch-auth: enableAuth",
  },
  { name: "does nothing when authentication is on as requested", given: guarded(), expect: "settled" },
  {
    name: "restores root's role without switching authentication off",
    given: guarded({ state: { ...LOCKED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "recreates root's Secret when it is gone",
    given: guarded({ secret: undefined }),
    expect: "root-secret: createRootSecret",
  },
  {
    name: "sets the Secret's password for root while authentication is on",
    given: guarded({ state: { ...LOCKED, isRootsPassword: false } }),
    expect: "root-password: setRootPassword",
  },
  {
    name: "leaves a root user without a password to people while authentication is on",
    given: guarded({ state: { ...LOCKED, isRootsPassword: false, isRootWithoutPassword: true } }),
    expect: "settled",
  },
  {
    name: "switches authentication off when spec.auth.enabled is false",
    given: guarded({ wanted: false }),
    expect: "switch-auth: disableAuth",
  },
  {
    name: "leaves authentication on when spec.auth is unset",
    given: guarded({ wanted: undefined, recorded: true }),
    expect: "settled",
  },
  {
    name: "creates no Secret for root while spec.auth.enabled is false",
    given: guarded({ wanted: false, state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "does not switch authentication on without spec.auth",
    given: guarded({ wanted: undefined, state: PREPARED, recorded: false }),
    expect: "settled",
  },
  {
    name: "changes no users while etcd does not answer",
    given: guarded({ state: unknown("no answer") }),
    expect: "settled",
  },
  {
    name: "does not switch authentication on while a pod runs an outdated template",
    given: inARoll(guarded({ state: PREPARED })),
    expect: "wait: restart-member",
  },
  {
    name: "adds the operator's user as root when the operator issues client certificates",
    given: guarded({ state: LOCKED_OUT }),
    expect: "administrators: addUser etcd-cluster-operator as root",
  },
  {
    name: "grants the operator the root role as root when the operator issues client certificates",
    given: guarded({ state: { ...LOCKED_OUT, operator: ["reader"] } }),
    expect: "administrators: grantRole etcd-cluster-operator as root",
  },
  {
    name: "switches authentication off as root when the operator is no administrator",
    given: guarded({ wanted: false, state: LOCKED_OUT }),
    expect: "switch-auth: disableAuth as root",
  },
  {
    name: "leaves the operator's missing user to people when another issuer signs client certificates",
    given: guarded({ state: LOCKED_OUT, secret: undefined }, CERT_MANAGER),
    expect: "settled",
  },
  {
    name: "does not switch authentication off when the operator has no user and another issuer signs",
    given: guarded({ wanted: false, state: LOCKED_OUT }, CERT_MANAGER),
    expect: "settled",
  },
  {
    name: "does not prepare authentication without client certificates",
    given: withAuth(unverified, { state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "does not prepare authentication without TLS",
    given: withAuth(cluster(), { state: NO_USERS, secret: undefined }),
    expect: "settled",
  },
  {
    name: "leaves an operator certificate without a common name to people",
    given: guarded({ state: PREPARED, user: "" }),
    expect: "settled",
  },
  {
    name: "leaves an operator certificate with the common name root to people",
    given: guarded({ state: PREPARED, user: "root" }),
    expect: "settled",
  },
  {
    name: "adds no user for the operator before its certificate was read",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: undefined }),
    expect: "settled",
  },
  {
    name: "leaves an invalid Secret of root to people",
    given: guarded({ state: { ...PREPARED, isRootsPassword: false }, secret: { trouble: "its password is empty" } }),
    expect: "settled",
  },
  {
    name: "records a new name of the operator before it adds its user",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: "ops" }),
    expect: "wait: administrators",
  },
  {
    name: "adds a user for the operator's recorded name",
    given: guarded({ state: { ...PREPARED, operator: undefined }, user: "ops", operators: ["ops"] }),
    expect: "administrators: addUser ops",
  },
  {
    name: "grants the root role to the user of the operator's recorded name",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops", operators: ["ops"] }),
    expect: "administrators: grantRole ops",
  },
  {
    name: "does not grant the root role to a user that existed before",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops" }),
    expect: "settled",
  },
  {
    name: "does not grant the root role to the user of an EtcdUser",
    given: guarded({ state: { ...PREPARED, operator: [] }, user: "ops", operators: ["ops"], holders: { ops: "app" } }),
    expect: "settled",
  },
  {
    name: "accepts an operator's user that people have made an administrator",
    given: guarded({ state: { ...PREPARED, root: [] }, user: "ops" }),
    expect: "administrators: grantRole root",
  },
  {
    name: "records the operator's next name before it adds its user",
    given: guarded({ next: "next" }),
    expect: "wait: administrators",
  },
  {
    name: "adds a user for the operator's recorded next name",
    given: guarded({ next: "next", operators: ["next"] }),
    expect: "administrators: addUser next",
  },
  {
    name: "grants the root role to the user of the operator's next name",
    given: guarded({ next: "next", operators: ["next"], state: { ...LOCKED, next: [] } }),
    expect: "administrators: grantRole next",
  },
  {
    name: "does nothing when the operator's next user is an administrator",
    given: guarded({ next: "next", state: { ...LOCKED, next: ["root"] } }),
    expect: "settled",
  },
  {
    name: "adds the operator's current user before its next user",
    given: guarded({ next: "next", operators: ["next"], state: { ...PREPARED, operator: undefined } }),
    expect: "administrators: addUser etcd-cluster-operator",
  },
  {
    name: "restores root's role before it adds the operator's next user",
    given: guarded({ next: "next", operators: ["next"], state: { ...PREPARED, root: [] } }),
    expect: "administrators: grantRole root",
  },
  {
    name: "adds the operator's next user before it switches authentication on",
    given: guarded({ next: "next", operators: ["next"], state: PREPARED }),
    expect: "administrators: addUser next",
  },
  {
    name: "adds no user without a member list",
    given: { ...guarded({ state: PREPARED }), members: unknown("no answer") },
    expect: "wait: await-quorum",
  },
  {
    name: "replaces a lost member although its next template would lock the operator out",
    given: begin(lost)
      .apply(withCrashing, "my-etcd-1")
      .apply(asking, { tls: unasking.cluster.spec.tls })
      .apply(withAuth, {
        recorded: true,
        wanted: undefined,
      }).snapshot,
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
    says: "spec.auth.enabled is true, and clients have no certificates; spec.tls.client.provider must be Operator, CertManager or Secret, and clientCertificates Required. The operator logs in with its certificate",
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
])("administrators: gives notice: $says", ({ given, says }) => {
  expect(planCluster(given).reports).toContainEqual({ rule: "administrators", because: says, is: "notice" });
});

test("administrators: an EtcdUser with the name of the operator's recorded user delays no other work", () => {
  const given = guarded({ user: "ops", operators: ["ops"], holders: { ops: "app" }, secret: undefined });
  expect(planCluster(given)).toMatchObject({ next: "step", rule: "root-secret" });
  expect(planCluster(given).reports).toBeUndefined();
});

test("administrators: gives no notice for what only the condition AuthReady reports", () => {
  for (const given of [
    inARoll(guarded({ state: PREPARED })),
    guarded({ state: unknown("no answer") }),
    running(guarded()),
  ])
    expect(planCluster(given).reports).toBeUndefined();
});

test("administrators: rechecks every five seconds whether the status has the operator's name", () => {
  const plan = planCluster(guarded({ next: "next" }));
  expect(plan).toMatchObject({ next: "wait", rule: "administrators", recheckAfterMs: 5_000 });
});

test.each([
  ["root's password", guarded({ state: { ...PREPARED, isRootsPassword: false } }), "root-password"],
  ["root's Secret", guarded({ state: NO_USERS, secret: undefined }), "root-secret"],
  ["root's role", guarded({ state: { ...PREPARED, root: [] } }), "administrators"],
] as const)(
  "a refused step for %s holds nothing else back, and authentication is not switched on",
  (_, given, refused) => {
    const rest = { because: "refused", forMs: 1_000, isBrief: false };
    const rested = (rule: string) => (rule === refused || rule === "administrators" ? rest : undefined);
    expect(planCluster(given, rested)).toMatchObject({ next: "settled" });
  },
);
