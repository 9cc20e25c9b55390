import { describe, expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { failingStatus } from "#cluster/status.ts";
import { cluster, NOW } from "#kit/snapshots/cluster.ts";
import { guarded, LOCKED, LOCKED_OUT, NO_USERS, PREPARED, withAuth } from "#kit/snapshots/cluster-auth.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { authReady, authStatus } from "./auth-ready.ts";

const judged = (snapshot: ClusterSnapshot) => {
  const verdict = authReady({ snapshot, plan: planCluster(snapshot) });
  return verdict && `${verdict.status} ${verdict.reason}: ${verdict.message}`;
};
const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ours" } } } };
const noQuestion = { ...guarded({ state: PREPARED }), pods: new Map() };
const deleting = guarded();
const FORBIDDEN = 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';

/** The Secret of root could not be read for this reason. */
function unreadable(snapshot: ClusterSnapshot, why: string): ClusterSnapshot {
  const { auth } = snapshot;
  if (auth === undefined) throw new Error("it has users");
  return { ...snapshot, auth: { ...auth, rootSecret: unknown(why) } };
}

describe("AuthReady", () => {
  test.each<[string, ClusterSnapshot, string | undefined]>([
    ["without spec.auth", cluster(), undefined],
    [
      "with authentication",
      guarded(),
      "True AuthEnabled: authentication is on; the operator is etcd-cluster-operator, and the password of root is in Secret my-etcd-root",
    ],
    [
      "that is about to switch authentication on",
      guarded({ state: PREPARED }),
      "False AuthPending: authentication is about to be switched on",
    ],
    [
      "with members that do not require client certificates yet",
      noQuestion,
      "False AuthPending: my-etcd-0, my-etcd-1, my-etcd-2: they do not require client certificates yet",
    ],
    [
      "with a root without its role",
      guarded({ state: { ...LOCKED, root: [] } }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "without root in etcd",
      guarded({ state: { ...LOCKED, root: undefined } }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "with a different password of root",
      guarded({ state: { ...LOCKED, isRootsPassword: false } }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "with a lost Secret of root",
      guarded({ secret: undefined }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "with an unreadable Secret of root",
      unreadable(guarded(), "no answer"),
      "Unknown AuthUnknown: Secret my-etcd-root could not be read: no answer",
    ],
    [
      "with a forbidden Secret of root, also before authentication is on",
      unreadable(guarded({ state: PREPARED }), FORBIDDEN),
      "Unknown RightMissing: the operator may not get secrets in namespace foo; an administrator grants it with: kubectl create rolebinding etcd-cluster-operator-tls --namespace foo --clusterrole etcd-cluster-operator-tls --user a",
    ],
    [
      "with a forbidden Secret of root that is about to switch authentication off",
      unreadable(guarded({ wanted: false }), FORBIDDEN),
      "False AuthPending: authentication is about to be switched off",
    ],
    [
      "that is about to add the operator's user",
      guarded({ state: LOCKED_OUT }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "that needs people to add the operator's user",
      guarded({ state: LOCKED_OUT }, CERT_MANAGER),
      "False NotAdministrator: authentication is on, and etcd-cluster-operator is no administrator of etcd; as root: etcdctl user add etcd-cluster-operator --no-password, and etcdctl user grant-role etcd-cluster-operator root",
    ],
    [
      "with an operator certificate of unknown name",
      guarded({ state: LOCKED_OUT, user: undefined, wanted: false }, CERT_MANAGER),
      "False NotAdministrator: authentication is on, and NAME, the common name of the certificate in Secret my-etcd-operator-tls-8a68e8cf, is no administrator of etcd; as root: etcdctl user add NAME --no-password, and etcdctl user grant-role NAME root",
    ],
    [
      "with an operator certificate that has yet to be read",
      guarded({ state: PREPARED, user: undefined }),
      "False AuthPending: Secret my-etcd-operator-tls is being read",
    ],
    [
      "without client certificates",
      withAuth(cluster(), { state: NO_USERS }),
      "False ClientCertificatesRequired: spec.auth.enabled is true, and clients have no certificates; spec.tls.client.provider must be Operator, CertManager or Secret, and verifyClients true. The operator logs in with its certificate",
    ],
    [
      "with a root that was created without a password",
      guarded({ state: { ...LOCKED, isRootsPassword: false, isRootWithoutPassword: true } }),
      "False RootWithoutPassword: etcd's user root has no password and cannot get one while authentication is on; set spec.auth.enabled to false. Once AuthReady has reason AuthDisabled, set it to true again: then the user is created again",
    ],
    ["with a silent etcd", guarded({ state: unknown("no answer") }), "Unknown AuthUnknown: no answer"],
    [
      "that has not been observed yet",
      { ...guarded(), auth: undefined },
      "Unknown AuthUnknown: etcd has not been asked yet",
    ],
    [
      "with authentication switched off",
      guarded({ wanted: false, state: NO_USERS }),
      "True AuthDisabled: authentication is off; users and roles stay",
    ],
    [
      "that is about to switch authentication off",
      guarded({ wanted: false }),
      "False AuthPending: authentication is about to be switched off",
    ],
    [
      "with authentication that its spec does not request",
      guarded({ wanted: undefined, recorded: true }),
      "False AuthUnasked: authentication is on, and spec.auth is not set; set spec.auth.enabled to true or false",
    ],
    [
      "with authentication switched off by hand",
      guarded({ wanted: undefined, recorded: true, state: PREPARED }),
      "True AuthDisabled: authentication is off",
    ],
    [
      "that is being deleted",
      {
        ...deleting,
        cluster: {
          ...deleting.cluster,
          metadata: { ...deleting.cluster.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" },
        },
      },
      undefined,
    ],
    ["that is asleep", withAuth(asleep()), undefined],
  ])("a cluster %s", (_, given, says) => {
    expect(judged(given)).toBe(says);
  });

  test.each(["root-secret", "root-password", "administrators", "switch-auth"])(
    "a refused step of %s is reported",
    (rule) => {
      const reports = [{ rule, because: "a quota says no", is: "refused" as const }];
      const verdict = authReady({ snapshot: guarded({ state: PREPARED }), plan: { next: "settled", reports } });
      expect(verdict?.reason).toBe("StepRefused");
    },
  );

  test("an operator without the role of an administrator is about to get it", () => {
    expect(judged(guarded({ state: { ...LOCKED, operator: ["reader"] } }))).toMatch(/^False AuthPending/);
  });

  test("a refused step is reported first", () => {
    const snapshot = guarded({ state: PREPARED });
    const reports = [{ rule: "root-secret", because: "a quota says no", is: "refused" as const }];
    expect(authReady({ snapshot, plan: { next: "settled", reports } })).toEqual({
      status: "False",
      reason: "StepRefused",
      message: "root-secret: a quota says no",
    });
    const others = [
      { rule: "scale-up", because: "a quota says no", is: "refused" as const },
      { rule: "root-secret", because: "moments", is: "delayed" as const },
    ];
    expect(authReady({ snapshot, plan: { next: "settled", reports: others } })?.reason).toBe("AuthPending");
  });

  test.each([
    ["AuthUnknown", "True AuthDisabled: spec.auth is not set, and authentication is not known to be on"],
    ["AuthPending", "True AuthDisabled: spec.auth is not set, and authentication is not known to be on"],
    ["AuthDisabled", undefined],
  ] as const)("%s does not stay when spec.auth is removed before etcd has answered", (reason, says) => {
    const given = cluster();
    const told = {
      type: "AuthReady",
      status: "Unknown",
      reason,
      message: "",
      observedGeneration: 1,
      lastTransitionTime: "2026-01-01T12:00:00Z",
    } as const;
    const conditions = [...(given.cluster.status?.conditions ?? []), told];
    const status = { ...given.cluster.status, conditions };
    expect(judged({ ...given, cluster: { ...given.cluster, status } })).toBe(says);
  });

  test("AuthReady is Unknown while observations fail", () => {
    const told = {
      type: "AuthReady",
      status: "True",
      reason: "AuthEnabled",
      message: "",
      observedGeneration: 1,
      lastTransitionTime: "2026-01-01T11:00:00Z",
    } as const;
    const status = failingStatus({ ...guarded().cluster, status: { conditions: [told] } }, "it fails", NOW);
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: "AuthReady", status: "Unknown" }));
  });
});

describe("status.auth", () => {
  test.each<[string, ClusterSnapshot, object]>([
    ["etcd's answer", guarded(), { auth: { enabled: true } }],
    [
      "false, where authentication was requested before",
      guarded({ wanted: false, state: NO_USERS }),
      { auth: { enabled: false } },
    ],
    [
      "nothing where authentication never was requested",
      guarded({ wanted: undefined, state: NO_USERS, recorded: false }),
      {},
    ],
    [
      "true, though the spec does not request it",
      guarded({ wanted: undefined, recorded: false }),
      { auth: { enabled: true } },
    ],
    [
      "the previous answer, while etcd does not answer",
      guarded({ state: unknown("no answer"), recorded: true }),
      { auth: { enabled: true } },
    ],
    ["nothing before the first answer", guarded({ state: unknown("no answer") }), {}],
    ["nothing for a cluster without authentication", secured(), {}],
  ])("has %s", (_, given, status) => {
    expect(authStatus(given)).toEqual(status);
  });

  const withoutUser = { ...PREPARED, operator: undefined };
  test.each<[string, ClusterSnapshot, string[] | undefined]>([
    ["a user about to be created", guarded({ state: withoutUser, user: "ops" }), ["ops"]],
    ["the next user", guarded({ next: "next" }), ["next"]],
    ["both the current and the next user", guarded({ state: withoutUser, user: "ops", next: "next" }), ["ops", "next"]],
    ["a recorded user", guarded({ user: "ops", operators: ["ops"] }), ["ops"]],
    ["the recorded user, while etcd does not answer", guarded({ state: { is: "unknown", why: "silent" }, operators: ["ops"] }), ["ops"]],
    ["not a user that existed before", guarded({ user: "ops" }), undefined],
    ["not an application's user", guarded({ state: withoutUser, user: "ops", holders: { ops: "app" } }), undefined],
    ["not a former user", guarded({ operators: ["ops"] }), undefined],
    ["not a user that the spec does not request", guarded({ state: { ...withoutUser, enabled: true }, user: "ops", wanted: false }), undefined],
    ["not the next user, while etcd denies access to other users", guarded({ state: LOCKED_OUT, next: "next" }), undefined],
    ["not the default user, which is reserved for the operator", guarded({ state: withoutUser }), undefined],
    ["not root", guarded({ state: withoutUser, user: "root" }), undefined],
    ["not an empty name", guarded({ state: withoutUser, user: "" }), undefined],
    ["an unchanged user only once", guarded({ state: withoutUser, user: "ops", next: "ops" }), ["ops"]],
  ])("recorded operators: %s", (_, given, operators) => {
    expect(authStatus(given).auth?.operators).toEqual(operators);
  }); // biome-ignore format: a table
});
