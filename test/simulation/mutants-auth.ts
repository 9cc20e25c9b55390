import { ROOT, rootSecretName } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { present } from "#base/observed.ts";
import { textIn } from "#certificates/facts.ts";
import type { AuthState } from "#cluster/auth/seen.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ApiServer } from "#kit/world/api.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, SECRETS } from "#kube/kinds.ts";
import { step } from "#runtime/decide.ts";
import { FORMED } from "./leanings.ts";
import { leftOut, leftUnguarded, type Mutant, replaced, seeing, unguarded } from "./mutant.ts";
import type { Leaning } from "./profile.ts";

// Mutants of the rules for etcd's users.

const LIFE = { provider: "Operator", duration: "12h", renewBefore: "4h" } as const;
const TLS = { peer: LIFE, client: LIFE };
const ASKED: Leaning = { ...FORMED, tls: TLS, auth: true, steps: 40 };
/** People enable auth, disable it, and remove spec.auth. */
const SWITCHED: Leaning = { ...ASKED, often: { switchAuth: 3 }, isTidied: false };

/** The snapshot with a changed auth state, if the state is known. */
function told(snapshot: ClusterSnapshot, change: (state: AuthState) => AuthState): ClusterSnapshot {
  const { auth } = snapshot;
  if (auth?.state.is !== "present") return snapshot;
  return { ...snapshot, auth: { ...auth, state: present(change(auth.state.value)) } };
}

/** Takes the operator for an administrator. */
const conceited = (rule: string) =>
  seeing(rule, (snapshot) => told(snapshot, (state) => ({ ...state, operator: [ROOT] })));

/** Disables auth although spec.auth does not ask for that. */
const hasty = replaced("switch-auth", (real, snapshot) => {
  const { auth, cluster } = snapshot;
  const isAsked = auth?.state.is === "present" && auth.state.value.enabled;
  return isAsked && cluster.spec.auth?.enabled !== false
    ? step("mutant", { do: "disableAuth", asRoot: false })
    : real.decide(snapshot);
});

/** Publishes the password of root in a condition. */
function talkative(real: KubeClient, api: ApiServer): KubeClient {
  return {
    ...real,
    replace: (resource, draft, options) => {
      const { metadata, status } = draft as Draft<EtcdCluster> & Pick<EtcdCluster, "status">;
      const name = rootSecretName(metadata.name);
      const secret = api.list(SECRETS).find((each) => each.metadata.name === name);
      if (resource.kind !== ETCD_CLUSTERS.kind || secret === undefined) return real.replace(resource, draft, options);
      const conditions = status?.conditions?.map((each) => ({ ...each, message: textIn(secret, "password") }));
      return real.replace(resource, { ...draft, status: { ...status, conditions } } as never, options);
    },
  } as KubeClient;
}

export const AUTH_MUTANTS: readonly Mutant[] = [
  ...leftOut("cluster", [
    { name: "root-secret", leaning: ASKED },
    { name: "administrators", leaning: ASKED },
    { name: "root-password", leaning: ASKED },
    { name: "switch-auth", leaning: ASKED },
    { name: "unmanaged-names", leaning: ASKED, covered: "it only sends an event" },
    { name: "second-budget", leaning: ASKED, covered: "it only sends an event" },
  ]),
  ...leftUnguarded("cluster", [
    {
      name: "auth-is-asked",
      leaning: SWITCHED,
      covered: "the rules check spec.auth themselves; see the pairs",
      promise: "auth follows the spec",
    },
    {
      name: "administrator-first",
      leaning: ASKED,
      covered: "the rules create both administrators first; see the pairs",
      promise: "auth is enabled last",
    },
    {
      name: "login-stays",
      leaning: ASKED,
      covered: "no cluster changes spec.tls.client.clientCertificates in this world; see the mutants of TLS changes",
    },
  ]),
  {
    name: "auth is disabled without a request + without guard auth-is-asked",
    promise: "auth follows the spec",
    edits: [hasty, unguarded("cluster", "auth-is-asked")],
    leaning: ASKED,
  },
  {
    name: "the operator counts as an administrator without a check + without guard administrator-first",
    promise: "auth is enabled last",
    edits: [
      conceited("administrators"),
      conceited("root-password"),
      conceited("switch-auth"),
      unguarded("cluster", "administrator-first"),
    ],
    leaning: ASKED,
  },
  {
    name: "auth is enabled without an administrator",
    promise: "no lockout",
    unasked: ["auth is enabled last"],
    edits: [
      conceited("administrators"),
      conceited("root-password"),
      conceited("switch-auth"),
      unguarded("cluster", "administrator-first"),
    ],
    leaning: ASKED,
  },
  {
    name: "status.auth follows the spec before etcd confirms it",
    promise: "auth status is true",
    parts: {
      cluster: (real) => ({
        ...real,
        status: (snapshot, plan) => {
          const status = real.status(snapshot, plan);
          return snapshot.auth === undefined ? status : { ...status, auth: { enabled: true } };
        },
      }),
    },
    leaning: ASKED,
  },
  {
    name: "a condition contains root's password",
    promise: "passwords stay in Secrets",
    parts: { kube: talkative },
    leaning: ASKED,
  },
];
