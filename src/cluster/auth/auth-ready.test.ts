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
    ["is absent without spec.auth", cluster(), undefined],
    [
      "is AuthEnabled when authentication is on as requested",
      guarded(),
      "True AuthEnabled: authentication is on; the operator is etcd-cluster-operator, and the password of root is in Secret my-etcd-root",
    ],
    [
      "is AuthPending when authentication is about to be switched on",
      guarded({ state: PREPARED }),
      "False AuthPending: authentication is about to be switched on",
    ],
    [
      "is AuthPending while members do not require client certificates yet",
      noQuestion,
      "False AuthPending: my-etcd-0, my-etcd-1, my-etcd-2: they do not require client certificates yet",
    ],
    [
      "is AuthPending when root lacks the root role",
      guarded({ state: { ...LOCKED, root: [] } }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "is AuthPending when etcd has no root user",
      guarded({ state: { ...LOCKED, root: undefined } }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "is AuthPending when root's password is not the Secret's",
      guarded({ state: { ...LOCKED, isRootsPassword: false } }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "is AuthPending when the Secret of root is gone",
      guarded({ secret: undefined }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "is AuthUnknown when the Secret of root could not be read",
      unreadable(guarded(), "no answer"),
      "Unknown AuthUnknown: Secret my-etcd-root could not be read: no answer",
    ],
    [
      "is RightMissing when the operator may not read the Secret of root",
      unreadable(guarded({ state: PREPARED }), FORBIDDEN),
      "Unknown RightMissing: the operator may not get secrets in namespace foo; an administrator grants it with: kubectl create rolebinding etcd-cluster-operator-tls --namespace foo --clusterrole etcd-cluster-operator-tls --user a",
    ],
    [
      "is AuthPending before authentication is switched off, although the Secret of root may not be read",
      unreadable(guarded({ wanted: false }), FORBIDDEN),
      "False AuthPending: authentication is about to be switched off",
    ],
    [
      "is AuthPending when the operator is about to add its own user",
      guarded({ state: LOCKED_OUT }),
      "False AuthPending: authentication is on; the user of the operator or root is about to be corrected",
    ],
    [
      "is NotAdministrator when a person has to add the operator's user",
      guarded({ state: LOCKED_OUT }, CERT_MANAGER),
      "False NotAdministrator: authentication is on, and etcd-cluster-operator is no administrator of etcd; as root: etcdctl user add etcd-cluster-operator --no-password, and etcdctl user grant-role etcd-cluster-operator root",
    ],
    [
      "is NotAdministrator with name NAME when the operator's certificate was not read",
      guarded({ state: LOCKED_OUT, user: undefined, wanted: false }, CERT_MANAGER),
      "False NotAdministrator: authentication is on, and NAME, the common name of the certificate in Secret my-etcd-operator-tls-8a68e8cf, is no administrator of etcd; as root: etcdctl user add NAME --no-password, and etcdctl user grant-role NAME root",
    ],
    [
      "is AuthPending while the operator's certificate is being read",
      guarded({ state: PREPARED, user: undefined }),
      "False AuthPending: Secret my-etcd-operator-tls is being read",
    ],
    [
      "is ClientCertificatesRequired when spec.auth.enabled is true and clients have no certificates",
      withAuth(cluster(), { state: NO_USERS }),
      "False ClientCertificatesRequired: spec.auth.enabled is true, and clients have no certificates; spec.tls.client.provider must be Operator, CertManager or Secret, and clientCertificates Required. The operator logs in with its certificate",
    ],
    [
      "is RootWithoutPassword when root was created without a password",
      guarded({ state: { ...LOCKED, isRootsPassword: false, isRootWithoutPassword: true } }),
      "False RootWithoutPassword: etcd's user root has no password and cannot get one while authentication is on; set spec.auth.enabled to false. Once AuthReady has reason AuthDisabled, set it to true again: then the user is created again",
    ],
    [
      "is AuthUnknown when etcd does not answer",
      guarded({ state: unknown("no answer") }),
      "Unknown AuthUnknown: no answer",
    ],
    [
      "is AuthUnknown before etcd's users were read",
      { ...guarded(), auth: undefined },
      "Unknown AuthUnknown: the operator has not asked etcd yet",
    ],
    [
      "is AuthDisabled when authentication is off as requested",
      guarded({ wanted: false, state: NO_USERS }),
      "True AuthDisabled: authentication is off; users and roles stay",
    ],
    [
      "is AuthPending when authentication is about to be switched off",
      guarded({ wanted: false }),
      "False AuthPending: authentication is about to be switched off",
    ],
    [
      "is AuthUnasked when authentication is on and spec.auth is unset",
      guarded({ wanted: undefined, recorded: true }),
      "False AuthUnasked: authentication is on, and spec.auth is not set; set spec.auth.enabled to true or false",
    ],
    [
      "is AuthDisabled when authentication was switched off by hand and spec.auth is unset",
      guarded({ wanted: undefined, recorded: true, state: PREPARED }),
      "True AuthDisabled: authentication is off",
    ],
    [
      "is absent while the cluster is being deleted",
      {
        ...deleting,
        cluster: {
          ...deleting.cluster,
          metadata: { ...deleting.cluster.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" },
        },
      },
      undefined,
    ],
    ["is absent while the cluster sleeps", withAuth(asleep()), undefined],
  ])("%s", (_, given, says) => {
    expect(judged(given)).toBe(says);
  });

  test.each(["root-secret", "root-password", "administrators", "switch-auth"])(
    "is StepRefused when a step of %s is refused",
    (rule) => {
      const reports = [{ rule, because: "a quota says no", is: "refused" as const }];
      const verdict = authReady({ snapshot: guarded({ state: PREPARED }), plan: { next: "settled", reports } });
      expect(verdict?.reason).toBe("StepRefused");
    },
  );

  test("is AuthPending when the operator lacks the root role", () => {
    expect(judged(guarded({ state: { ...LOCKED, operator: ["reader"] } }))).toMatch(/^False AuthPending/);
  });

  test("reports a refused step of its own rules before anything else", () => {
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
  ] as const)(
    "replaces reason %s when spec.auth is removed before etcd has answered, unless it is AuthDisabled",
    (reason, says) => {
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
    },
  );

  test("is Unknown while observations fail", () => {
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
    ["enabled as etcd reports it", guarded(), { auth: { enabled: true } }],
    [
      "enabled false when spec.auth.enabled is false",
      guarded({ wanted: false, state: NO_USERS }),
      { auth: { enabled: false } },
    ],
    [
      "no content when spec.auth is unset and authentication is off",
      guarded({ wanted: undefined, state: NO_USERS, recorded: false }),
      {},
    ],
    [
      "enabled true when authentication is on and spec.auth is unset",
      guarded({ wanted: undefined, recorded: false }),
      { auth: { enabled: true } },
    ],
    [
      "the previous content while etcd does not answer",
      guarded({ state: unknown("no answer"), recorded: true }),
      { auth: { enabled: true } },
    ],
    ["no content before etcd's first answer", guarded({ state: unknown("no answer") }), {}],
    ["no content for a cluster that was never asked for authentication", secured(), {}],
  ])("has %s", (_, given, status) => {
    expect(authStatus(given)).toEqual(status);
  });

  const withoutUser = { ...PREPARED, operator: undefined };
  test.each<[string, ClusterSnapshot, string[] | undefined]>([
    ["includes the operator's user before it is created", guarded({ state: withoutUser, user: "ops" }), ["ops"]],
    ["includes the operator's next user", guarded({ next: "next" }), ["next"]],
    ["includes both the current and the next user", guarded({ state: withoutUser, user: "ops", next: "next" }), ["ops", "next"]],
    ["keeps a recorded user", guarded({ user: "ops", operators: ["ops"] }), ["ops"]],
    ["keeps the recorded user while etcd does not answer", guarded({ state: { is: "unknown", why: "silent" }, operators: ["ops"] }), ["ops"]],
    ["excludes a user that existed before", guarded({ user: "ops" }), undefined],
    ["excludes the user of an EtcdUser", guarded({ state: withoutUser, user: "ops", holders: { ops: "app" } }), undefined],
    ["drops a user that the operator no longer has", guarded({ operators: ["ops"] }), undefined],
    ["excludes a user when spec.auth.enabled is false", guarded({ state: { ...withoutUser, enabled: true }, user: "ops", wanted: false }), undefined],
    ["excludes the next user while the operator may not read other users", guarded({ state: LOCKED_OUT, next: "next" }), undefined],
    ["excludes the default user etcd-cluster-operator", guarded({ state: withoutUser }), undefined],
    ["excludes root", guarded({ state: withoutUser, user: "root" }), undefined],
    ["excludes an empty name", guarded({ state: withoutUser, user: "" }), undefined],
    ["includes a user that is both current and next only once", guarded({ state: withoutUser, user: "ops", next: "ops" }), ["ops"]],
  ])("status.auth.operators %s", (_, given, operators) => {
    expect(authStatus(given).auth?.operators).toEqual(operators);
  }); // biome-ignore format: a table
});
