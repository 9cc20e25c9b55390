import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type Observed, present } from "#base/observed.ts";
import { secretNameOf } from "#cluster/certificates/purposes.ts";
import { usable } from "#cluster/certificates/usable.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { guarded } from "#kit/cluster-auth.ts";
import { secured } from "#kit/cluster-tls.ts";
import { Course, type Decider } from "#kit/tls-course.ts";
import { decide } from "#runtime/decide.ts";
import { doing, type Edit, plansOf, seeing, unguarded, without } from "./mutant.ts";
import { credulousRestart } from "./mutants-cluster.ts";

// What the operator would do wrong about certificates that come from somewhere else. Nobody in a history changes who issues: these are hunted on the way
// of one cluster from one origin to another (test/kit/tls-course.ts), which objects as soon as somebody is left out.

const SECRET = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
  },
};
const BROUGHT = ["peer", "server", "operator"] as const;
const issuer = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };

type Way = (decider?: Decider) => Course;

/** From what the operator issues to what people bring. */
const brought: Way = (decider) => {
  const course = new Course(secured(), undefined, decider);
  course.run();
  course.ask(SECRET);
  course.bring(BROUGHT);
  return course;
};

/** The same, with Secrets of which nobody says that they are for EtcdClusters. */
const unlabelled: Way = (decider) => {
  const course = new Course(secured(), undefined, decider);
  course.run();
  course.ask(SECRET);
  course.bring(BROUGHT, { mayBeShown: false });
  return course;
};

/** The same where etcd asks for users, and somebody else has the name by which the operator would come to be known. */
const taken: Way = (decider) => {
  const users = { "etcd-cluster-operator": ["root"], root: ["root"], "their-operator": ["reader"] };
  const course = new Course(guarded({ recorded: true }), users, decider);
  course.run();
  course.ask(SECRET);
  course.bring(BROUGHT, { commonName: "their-operator" });
  return course;
};

/** From what the operator issues to what cert-manager does. */
const issued: Way = (decider) => {
  const course = new Course(secured(), undefined, decider);
  course.run();
  course.ask({ peer: issuer, client: issuer });
  return course;
};

type ClientSide = NonNullable<NonNullable<EtcdPeer["spec"]["tls"]>["client"]>;

/** Members get something else towards clients than they should, and restart with it. What they show each other a second guard looks at. */
function given(change: (shown: ClientSide, asked: SeenCertificate | undefined) => ClientSide): readonly Edit[] {
  const turn = doing("give-turn", (step, snapshot) => {
    const tls = step.do === "replacePeer" ? step.peer.spec?.tls : undefined;
    if (step.do !== "replacePeer" || step.peer.spec === undefined || tls?.client === undefined) return step;
    const client = change(tls.client, usable(snapshot, "server"));
    return { ...step, peer: { ...step.peer, spec: { ...step.peer.spec, tls: { ...tls, client } } } };
  });
  return [turn, credulousRestart];
}

/** They show what is asked for at once, whoever believes it. */
const showsAtOnce = given((shown, asked) => ({ ...shown, secretName: asked?.secretName ?? shown.secretName }));

/** Who shows what is asked for trusts nobody else from then on. */
const forgetsAtOnce = given((shown, asked) =>
  asked?.secretName === shown.secretName ? { ...shown, trust: asked.trust } : shown,
);

/** They ask clients for nothing. */
const asksNobody = given((shown) => ({ ...shown, verifyClients: false }));

/** What rolls sees something else than there is. */
function rolling(change: (snapshot: ClusterSnapshot) => ClusterSnapshot): readonly Edit[] {
  return ["give-turn", "restart-member"].map((rule) => seeing(rule, change));
}

/** Takes every Secret for one that is for EtcdClusters. */
function labelled(snapshot: ClusterSnapshot): ClusterSnapshot {
  const certificates: Record<string, unknown> = { ...snapshot.certificates };
  for (const purpose of BROUGHT satisfies readonly LeafPurpose[]) {
    const found = snapshot.certificates?.[purpose] as Observed<SeenCertificate> | undefined;
    const isAsked = found?.is === "present" && found.value.secretName === secretNameOf(snapshot.cluster, purpose);
    if (isAsked) certificates[purpose] = present({ ...found.value, mayBeShown: true });
  }
  return { ...snapshot, certificates };
}

/** Takes whoever has the operator's next name for an administrator. */
function trusting(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { auth } = snapshot;
  if (auth?.state.is !== "present") return snapshot;
  return { ...snapshot, auth: { ...auth, state: present({ ...auth.state.value, next: ["root"] }) } };
}

/** The operator with something broken on purpose, on its way. */
export interface CourseMutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** What its status takes for true besides. */
  readonly believes?: (snapshot: ClusterSnapshot) => ClusterSnapshot;
  readonly way: Way;
  /** What the course objects; undefined: it never gets where it is to. */
  readonly objects: RegExp | undefined;
}

export const COURSE_MUTANTS: readonly CourseMutant[] = [
  {
    name: "members show what is asked for before all believe it + without guard shown-when-trusted",
    edits: [...showsAtOnce, unguarded("cluster", "shown-when-trusted")],
    way: brought,
    objects: /(who verifies|the application) \(before\) does not believe my-etcd-\d/,
  },
  {
    name: "who shows what is asked for trusts nobody else from then on + without guard trust-kept",
    edits: [...forgetsAtOnce, unguarded("cluster", "trust-kept")],
    way: brought,
    objects: /my-etcd-\d does not believe the operator/,
  },
  {
    name: "any Secret is shown + without guard allowed-secrets",
    edits: [...rolling(labelled), unguarded("cluster", "allowed-secrets")],
    way: unlabelled,
    objects: /my-etcd-\d shows their-\w+, which is not for EtcdClusters/,
  },
  {
    name: "members come to ask clients for nothing while etcd asks for users + without guard login-stays",
    edits: [...asksNobody, unguarded("cluster", "login-stays")],
    way: taken,
    objects: /asks clients for no certificate, so that etcd knows nobody/,
  },
  {
    name: "whoever has the operator's next name is taken for an administrator + without guard login-stays",
    edits: [...rolling(trusting), unguarded("cluster", "login-stays")],
    believes: trusting,
    way: taken,
    objects: /etcd does not know the operator for an administrator/,
  },
  {
    name: "without rule certificate-request",
    edits: [without("cluster", "certificate-request")],
    way: issued,
    objects: undefined,
  },
  { name: "without rule hand-out", edits: [without("cluster", "hand-out")], way: issued, objects: undefined },
];

/** What decides in the mutant's stead. */
export function deciderOf({
  edits,
  believes = (snapshot) => snapshot,
}: Pick<CourseMutant, "edits" | "believes">): Decider {
  const { clusterRules, clusterGuards } = plansOf(edits);
  return {
    plan: (snapshot) => decide(clusterRules, clusterGuards, snapshot),
    status: (snapshot, plan) => clusterStatus(believes(snapshot), plan),
  };
}
