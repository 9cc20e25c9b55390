import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type Observed, present } from "#base/observed.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { secretNameOf } from "#cluster-tls/read/purposes.ts";
import { usable } from "#cluster-tls/read/usable.ts";
import { guarded } from "#kit/snapshots/cluster-auth.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { ChangeRun, type Decider } from "#kit/sweeps/tls-change.ts";
import { decide } from "#runtime/decide.ts";
import { doing, type Edit, plansOf, seeing, unguarded, without } from "./mutant.ts";
import { credulousRestart } from "./mutants-cluster.ts";

// Mutants of certificate rules for certificates that the operator does not issue. No history changes the provider.
// These mutants are hunted while one cluster changes its provider. The change (test/kit/sweeps/tls-change.ts) objects
// as soon as any party is cut off.

const SECRET = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
  },
};
const BROUGHT = ["peer", "server", "operator"] as const;
const issuer = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };

type Way = (decider?: Decider) => ChangeRun;

/** From certificates of the operator to Secrets that people provide. */
const brought: Way = (decider) => {
  const change = new ChangeRun(secured(), undefined, decider);
  change.run();
  change.ask(SECRET);
  change.bring(BROUGHT);
  return change;
};

/** From certificates of the operator to Secrets without the label that allows their use by EtcdClusters. */
const unlabelled: Way = (decider) => {
  const change = new ChangeRun(secured(), undefined, decider);
  change.run();
  change.ask(SECRET);
  change.bring(BROUGHT, { mayBeShown: false });
  return change;
};

/**
 * From certificates of the operator to provided Secrets, with etcd auth enabled. An ordinary user has the common name
 * of the operator's new certificate.
 */
const taken: Way = (decider) => {
  const users = { "etcd-cluster-operator": ["root"], root: ["root"], "their-operator": ["reader"] };
  const change = new ChangeRun(guarded({ recorded: true }), users, decider);
  change.run();
  change.ask(SECRET);
  change.bring(BROUGHT, { commonName: "their-operator" });
  return change;
};

/** From certificates of the operator to those of cert-manager. */
const issued: Way = (decider) => {
  const change = new ChangeRun(secured(), undefined, decider);
  change.run();
  change.ask({ peer: issuer, client: issuer });
  return change;
};

type ClientSide = NonNullable<NonNullable<EtcdPeer["spec"]["tls"]>["client"]>;

/**
 * Members get another client configuration than they should, and restart with it. A second guard checks the peer side.
 */
function given(change: (shown: ClientSide, asked: SeenCertificate | undefined) => ClientSide): readonly Edit[] {
  const turn = doing("update-member", (step, snapshot) => {
    const tls = step.do === "replacePeer" ? step.peer.spec?.tls : undefined;
    if (step.do !== "replacePeer" || step.peer.spec === undefined || tls?.client === undefined) return step;
    const client = change(tls.client, usable(snapshot, "server"));
    return { ...step, peer: { ...step.peer, spec: { ...step.peer.spec, tls: { ...tls, client } } } };
  });
  return [turn, credulousRestart];
}

/** Members present the requested certificate at once, whether or not clients trust it. */
const showsAtOnce = given((shown, asked) => ({ ...shown, secretName: asked?.secretName ?? shown.secretName }));

/** Members that present the requested certificate drop every other CA at once. */
const forgetsAtOnce = given((shown, asked) =>
  asked?.secretName === shown.secretName ? { ...shown, trust: asked.trust } : shown,
);

/** Members stop verifying clients. */
const verifiesNoClients = given((shown) => ({ ...shown, clientCertificates: "NotRequired" }));

/** Rolling rules get a changed snapshot. */
function rolling(change: (snapshot: ClusterSnapshot) => ClusterSnapshot): readonly Edit[] {
  return ["update-member", "restart-member"].map((rule) => seeing(rule, change));
}

/** Takes every Secret for one that EtcdClusters may use. */
function labelled(snapshot: ClusterSnapshot): ClusterSnapshot {
  const certificates: Record<string, unknown> = { ...snapshot.certificates };
  for (const purpose of BROUGHT satisfies readonly LeafPurpose[]) {
    const found = snapshot.certificates?.[purpose] as Observed<SeenCertificate> | undefined;
    const isAsked = found?.is === "present" && found.value.secretName === secretNameOf(snapshot.cluster, purpose);
    if (isAsked) certificates[purpose] = present({ ...found.value, mayBeShown: true });
  }
  return { ...snapshot, certificates };
}

/** Takes the user with the operator's next name for an administrator. */
function trusting(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { auth } = snapshot;
  if (auth?.state.is !== "present") return snapshot;
  return { ...snapshot, auth: { ...auth, state: present({ ...auth.state.value, next: ["root"] }) } };
}

/** A broken operator for the way of one cluster between providers. */
export interface ChangeMutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** Change of the snapshot from which the status is made. */
  readonly believes?: (snapshot: ClusterSnapshot) => ClusterSnapshot;
  readonly way: Way;
  /** Objection of the change; undefined: the change never reaches its end. */
  readonly objects: RegExp | undefined;
}

export const CHANGE_MUTANTS: readonly ChangeMutant[] = [
  {
    name: "members present the new certificate before all parties trust it + without guard certificate-is-trusted",
    edits: [...showsAtOnce, unguarded("cluster", "certificate-is-trusted")],
    way: brought,
    objects: /(who verifies|the application) \(before\) does not believe my-etcd-\d/,
  },
  {
    name: "members drop the previous CA with the new certificate + without guard trust-kept",
    edits: [...forgetsAtOnce, unguarded("cluster", "trust-kept")],
    way: brought,
    objects: /my-etcd-\d does not believe the operator/,
  },
  {
    name: "members present the certificate of any Secret + without guard allowed-secrets",
    edits: [...rolling(labelled), unguarded("cluster", "allowed-secrets")],
    way: unlabelled,
    objects: /my-etcd-\d shows their-\w+, which is not for EtcdClusters/,
  },
  {
    name: "members stop verifying clients while auth is enabled + without guard login-stays",
    edits: [...verifiesNoClients, unguarded("cluster", "login-stays")],
    way: taken,
    objects: /asks clients for no certificate, so that etcd knows nobody/,
  },
  {
    name: "any user with the operator's next name counts as an administrator + without guard login-stays",
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
  {
    name: "without rule publish-client-secret",
    edits: [without("cluster", "publish-client-secret")],
    way: issued,
    objects: undefined,
  },
];

/** The decider of the mutant. */
export function deciderOf({
  edits,
  believes = (snapshot) => snapshot,
}: Pick<ChangeMutant, "edits" | "believes">): Decider {
  const { clusterRules, clusterGuards } = plansOf(edits);
  return {
    plan: (snapshot) => decide(clusterRules, clusterGuards, snapshot),
    status: (snapshot, plan) => clusterStatus(believes(snapshot), plan),
  };
}
