import { describe, expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { authReady, authStatus } from "#cluster/conditions/auth-ready.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { failingStatus } from "#cluster/status.ts";
import { cluster, NOW } from "#kit/cluster.ts";
import { guarded, LOCKED, LOCKED_OUT, NO_USERS, PREPARED, withAuth } from "#kit/cluster-auth.ts";
import { asleep } from "#kit/cluster-sleep.ts";
import { secured } from "#kit/cluster-tls.ts";

const judged = (snapshot: ClusterSnapshot) => {
  const verdict = authReady({ snapshot, plan: planCluster(snapshot) });
  return verdict && `${verdict.status} ${verdict.reason}: ${verdict.message}`;
};
const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ours" } } } };
const noQuestion = { ...guarded({ state: PREPARED }), pods: new Map() };
const deleting = guarded();
const FORBIDDEN = 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';

/** Of the Secret of root the API server says this. */
function unreadable(snapshot: ClusterSnapshot, why: string): ClusterSnapshot {
  const { auth } = snapshot;
  if (auth === undefined) throw new Error("it has users");
  return { ...snapshot, auth: { ...auth, rootSecret: unknown(why) } };
}

describe("AuthReady", () => {
  test.each<[string, ClusterSnapshot, string | undefined]>([
    ["of whom nobody has asked for users", cluster(), undefined],
    [
      "that asks for users",
      guarded(),
      "True AuthEnabled: etcd asks for users; the operator is etcd-cluster-operator, and the password of root is in Secret my-etcd-root",
    ],
    ["that is about to", guarded({ state: PREPARED }), "False AuthPending: etcd is about to ask for users"],
    [
      "whose members are not ready for it",
      noQuestion,
      "False AuthPending: my-etcd-0, my-etcd-1, my-etcd-2: they do not ask clients for certificates yet",
    ],
    [
      "whose root's role is missing",
      guarded({ state: { ...LOCKED, root: [] } }),
      "False AuthPending: etcd asks for users; of the operator or root something is about to be put right",
    ],
    [
      "whose root is missing",
      guarded({ state: { ...LOCKED, root: undefined } }),
      "False AuthPending: etcd asks for users; of the operator or root something is about to be put right",
    ],
    [
      "whose root's password is another one",
      guarded({ state: { ...LOCKED, isRootsPassword: false } }),
      "False AuthPending: etcd asks for users; of the operator or root something is about to be put right",
    ],
    [
      "whose Secret is lost",
      guarded({ secret: undefined }),
      "False AuthPending: etcd asks for users; of the operator or root something is about to be put right",
    ],
    [
      "whose Secret could not be read",
      unreadable(guarded(), "no answer"),
      "Unknown AuthUnknown: Secret my-etcd-root could not be read: no answer",
    ],
    [
      "whose Secret may not be read, before users are asked for, too",
      unreadable(guarded({ state: PREPARED }), FORBIDDEN),
      "Unknown RightMissing: the operator may not get secrets in namespace foo; who may grant that does so by: kubectl create rolebinding etcd-cluster-operator-tls --namespace foo --clusterrole etcd-cluster-operator-tls --user a",
    ],
    [
      "whose Secret may not be read, and that is to ask for users no more",
      unreadable(guarded({ wanted: false }), FORBIDDEN),
      "False AuthPending: etcd is about to ask for users no more",
    ],
    [
      "that is to let the operator in",
      guarded({ state: LOCKED_OUT }),
      "False AuthPending: etcd asks for users; of the operator or root something is about to be put right",
    ],
    [
      "that people have to let in",
      guarded({ state: LOCKED_OUT }, CERT_MANAGER),
      "False NotAdministrator: etcd asks for users, and etcd-cluster-operator is no administrator there; as root: etcdctl user add etcd-cluster-operator --no-password, and etcdctl user grant-role etcd-cluster-operator root",
    ],
    [
      "without a name for the operator",
      guarded({ state: LOCKED_OUT, user: undefined, wanted: false }, CERT_MANAGER),
      "False NotAdministrator: etcd asks for users, and NAME, the common name of the certificate in Secret my-etcd-operator-tls-8a68e8cf, is no administrator there; as root: etcdctl user add NAME --no-password, and etcdctl user grant-role NAME root",
    ],
    [
      "whose operator is to be read",
      guarded({ state: PREPARED, user: undefined }),
      "False AuthPending: Secret my-etcd-operator-tls is being read",
    ],
    [
      "without client certificates",
      withAuth(cluster(), { state: NO_USERS }),
      "False ClientCertificatesRequired: spec.auth.enabled is true, and clients show no certificates; spec.tls.client.provider must be Operator, CertManager or Secret, and verifyClients true: by its certificate the operator logs in",
    ],
    [
      "whose root was made without a password",
      guarded({ state: { ...LOCKED, isRootsPassword: false, isRootWithoutPassword: true } }),
      "False RootWithoutPassword: etcd's user root was made without a password, and etcd gives it none while users are asked for; set spec.auth.enabled to false, and to true again once AuthReady says AuthDisabled: then it is made anew",
    ],
    ["that does not tell", guarded({ state: unknown("no answer") }), "Unknown AuthUnknown: no answer"],
    ["at which nobody has looked", { ...guarded(), auth: undefined }, "Unknown AuthUnknown: nobody has looked yet"],
    [
      "that asks for none",
      guarded({ wanted: false, state: NO_USERS }),
      "True AuthDisabled: etcd asks nobody who it is; users and roles stay",
    ],
    [
      "that is about to ask for none",
      guarded({ wanted: false }),
      "False AuthPending: etcd is about to ask for users no more",
    ],
    [
      "that asks for users unasked",
      guarded({ wanted: undefined, recorded: true }),
      "False AuthUnasked: etcd asks for users, and spec.auth is left out; set spec.auth.enabled to true or false",
    ],
    [
      "that somebody has switched off by hand meanwhile",
      guarded({ wanted: undefined, recorded: true, state: PREPARED }),
      "True AuthDisabled: etcd asks nobody who it is",
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
    ["that sleeps", withAuth(asleep()), undefined],
  ])("a cluster %s", (_, given, says) => {
    expect(judged(given)).toBe(says);
  });

  test.each(["root-secret", "root-password", "administrators", "switch-auth"])(
    "a step of %s that is refused is told",
    (rule) => {
      const aside = [{ rule, because: "a quota says no", is: "refused" as const }];
      const verdict = authReady({ snapshot: guarded({ state: PREPARED }), plan: { next: "settled", aside } });
      expect(verdict?.reason).toBe("StepRefused");
    },
  );

  test("an operator that is no administrator is about to be one", () => {
    expect(judged(guarded({ state: { ...LOCKED, operator: ["reader"] } }))).toMatch(/^False AuthPending/);
  });

  test("a step that is refused is told before all else", () => {
    const snapshot = guarded({ state: PREPARED });
    const aside = [{ rule: "root-secret", because: "a quota says no", is: "refused" as const }];
    expect(authReady({ snapshot, plan: { next: "settled", aside } })).toEqual({
      status: "False",
      reason: "StepRefused",
      message: "root-secret: a quota says no",
    });
    const others = [
      { rule: "scale-up", because: "a quota says no", is: "refused" as const },
      { rule: "root-secret", because: "moments", is: "putOff" as const },
    ];
    expect(authReady({ snapshot, plan: { next: "settled", aside: others } })?.reason).toBe("AuthPending");
  });

  test.each([
    ["AuthUnknown", "True AuthDisabled: spec.auth is left out, and nothing says that etcd asks for users"],
    ["AuthPending", "True AuthDisabled: spec.auth is left out, and nothing says that etcd asks for users"],
    ["AuthDisabled", undefined],
  ] as const)(
    "%s, once told, is not told for ever where spec.auth is taken back before etcd has answered",
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

  test("it is not known while no look comes to its end", () => {
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
    ["what etcd says", guarded(), { auth: { enabled: true } }],
    [
      "that it asks for none, where somebody has asked",
      guarded({ wanted: false, state: NO_USERS }),
      { auth: { enabled: false } },
    ],
    ["nothing where nobody has", guarded({ wanted: undefined, state: NO_USERS, recorded: false }), {}],
    [
      "that it asks for users though nobody has",
      guarded({ wanted: undefined, recorded: false }),
      { auth: { enabled: true } },
    ],
    [
      "what it said before, while it cannot be asked",
      guarded({ state: unknown("no answer"), recorded: true }),
      { auth: { enabled: true } },
    ],
    ["nothing before it has said anything", guarded({ state: unknown("no answer") }), {}],
    ["nothing of a cluster without", secured(), {}],
  ])("has %s", (_, given, status) => {
    expect(authStatus(given)).toEqual(status);
  });

  const nobody = { ...PREPARED, operator: undefined };
  test.each<[string, ClusterSnapshot, string[] | undefined]>([
    ["who it is to be made", guarded({ state: nobody, user: "ops" }), ["ops"]],
    ["who it is about to be", guarded({ next: "next" }), ["next"]],
    ["who it is and is about to be", guarded({ state: nobody, user: "ops", next: "next" }), ["ops", "next"]],
    ["who it was recorded to be", guarded({ user: "ops", operators: ["ops"] }), ["ops"]],
    ["what was said last, while etcd does not tell", guarded({ state: { is: "unknown", why: "silent" }, operators: ["ops"] }), ["ops"]],
    ["not who was there before", guarded({ user: "ops" }), undefined],
    ["nor an application", guarded({ state: nobody, user: "ops", holders: { ops: "app" } }), undefined],
    ["nor who it is not any more", guarded({ operators: ["ops"] }), undefined],
    ["nor whom nobody has asked for", guarded({ state: { ...nobody, enabled: true }, user: "ops", wanted: false }), undefined],
    ["nor who it is about to be, while it is not told of others", guarded({ state: LOCKED_OUT, next: "next" }), undefined],
    ["nor its own name, which nobody else can have", guarded({ state: nobody }), undefined],
    ["nor root", guarded({ state: nobody, user: "root" }), undefined],
    ["nor nobody", guarded({ state: nobody, user: "" }), undefined],
    ["nor twice who it stays", guarded({ state: nobody, user: "ops", next: "ops" }), ["ops"]],
  ])("records of the operator: %s", (_, given, operators) => {
    expect(authStatus(given).auth?.operators).toEqual(operators);
  }); // biome-ignore format: a table
});
