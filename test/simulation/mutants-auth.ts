import { ROOT, rootSecretName } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { present } from "#base/observed.ts";
import { textIn } from "#certificates/facts.ts";
import type { AuthState } from "#cluster/auth/seen.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ApiServer } from "#kit/world-api.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, SECRETS } from "#kube/kinds.ts";
import { step } from "#runtime/decide.ts";
import { FORMED } from "./leanings.ts";
import { leftOut, leftUnguarded, type Mutant, replaced, seeing, unguarded } from "./mutant.ts";
import type { Leaning } from "./profile.ts";

// What the operator would do wrong about etcd's users.

const LIFE = { provider: "Operator", duration: "12h", renewBefore: "4h" } as const;
const TLS = { peer: LIFE, client: LIFE };
const ASKED: Leaning = { ...FORMED, tls: TLS, auth: true, steps: 40 };
/** People ask for users, for none, and say nothing. */
const SWITCHED: Leaning = { ...ASKED, often: { switchAuth: 3 }, isTidied: false };

/** The same with this told of etcd's users, where anything is told. */
function told(snapshot: ClusterSnapshot, change: (state: AuthState) => AuthState): ClusterSnapshot {
  const { auth } = snapshot;
  if (auth?.state.is !== "present") return snapshot;
  return { ...snapshot, auth: { ...auth, state: present(change(auth.state.value)) } };
}

/** Takes itself for an administrator. */
const conceited = (rule: string) =>
  seeing(rule, (snapshot) => told(snapshot, (state) => ({ ...state, operator: [ROOT] })));

/** Users are asked for no more where nobody says so. */
const hasty = replaced("switch-auth", (real, snapshot) => {
  const { auth, cluster } = snapshot;
  const isAsked = auth?.state.is === "present" && auth.state.value.enabled;
  return isAsked && cluster.spec.auth?.enabled !== false
    ? step("switch-auth", "nobody needs users", { do: "disableAuth", asRoot: false })
    : real.decide(snapshot);
});

/** Puts a password where everybody reads it. */
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
    { name: "unmanaged-names", leaning: ASKED, covered: "it only tells, by an event" },
  ]),
  ...leftUnguarded("cluster", [
    {
      name: "auth-is-asked",
      leaning: SWITCHED,
      covered: "the rules ask spec.auth themselves; see the pairs",
      promise: "users are asked for",
    },
    {
      name: "administrator-first",
      leaning: ASKED,
      covered: "the rules make both administrators first; see the pairs",
      promise: "asked for last",
    },
    {
      name: "login-stays",
      leaning: ASKED,
      covered: "nobody changes how clients are asked in this world; see the mutants of courses",
    },
  ]),
  {
    name: "users are asked for no more unasked + without guard auth-is-asked",
    promise: "users are asked for",
    edits: [hasty, unguarded("cluster", "auth-is-asked")],
    leaning: ASKED,
  },
  {
    name: "the operator takes itself for an administrator + without guard administrator-first",
    promise: "asked for last",
    edits: [
      conceited("administrators"),
      conceited("root-password"),
      conceited("switch-auth"),
      unguarded("cluster", "administrator-first"),
    ],
    leaning: ASKED,
  },
  {
    name: "who is nobody to etcd asks for users",
    promise: "nobody is locked out",
    unasked: ["asked for last"],
    edits: [
      conceited("administrators"),
      conceited("root-password"),
      conceited("switch-auth"),
      unguarded("cluster", "administrator-first"),
    ],
    leaning: ASKED,
  },
  {
    name: "what is asked for is on record before etcd has said it",
    promise: "users are told as it is",
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
    name: "root's password is told in a condition",
    promise: "passwords stay in Secrets",
    parts: { kube: talkative },
    leaning: ASKED,
  },
];
