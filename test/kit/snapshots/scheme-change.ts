import type { Scheme } from "#api/names.ts";
import { templateIn } from "#api/revision.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { withTurn } from "./cluster-rolling.ts";
import { bundle, listedBy, OWN, secured, started, tlsSpec } from "./cluster-tls.ts";

// Snapshots of clusters during a change to TLS, or back, with members at different stages.

type Tls = EtcdPeerSpec["tls"];

const PEER = { secretName: "my-etcd-peer-tls", trust: bundle(OWN) };
const CLIENT = { secretName: "my-etcd-server-tls", trust: bundle(OWN), clientCertificates: "Required" as const };

/** A member's TLS configuration at each stage of the change. */
export const HAS = {
  nothing: undefined,
  /** Certificates, but the member is still reached and serves in plaintext, too. */
  both: { peer: { ...PEER, scheme: "http" }, client: { ...CLIENT, plaintext: true }, minVersion: "TLS1.2" },
  reached: { peer: PEER, client: { ...CLIENT, plaintext: true }, minVersion: "TLS1.2" },
  all: { peer: PEER, client: CLIENT, minVersion: "TLS1.2" },
} as const satisfies Record<string, Tls>;

export const WITHOUT = { peer: { provider: "None" }, client: { provider: "None" } };

export type Progress = readonly [keyof typeof HAS, keyof typeof HAS, keyof typeof HAS];

/**
 * A cluster with this `spec.tls` and the matching status.
 * @param has the stage of each member's EtcdPeer, pod and URL in etcd's list
 */
export function switching(tls: object, has: Progress, since?: string): ClusterSnapshot {
  const whole = secured();
  const peers = whole.peers.map((peer, n) => ({ ...peer, spec: specWith(peer.spec, has[n]!) }));
  const { peerScheme: _, ...identity } = whole.cluster.status!.identity!;
  const client = { scheme: "https", ...(since === undefined ? {} : { bothServedSince: since }) } as const;
  const status = { ...whole.cluster.status, identity, tls: { ...whole.cluster.status?.tls, client } };
  const cluster = { ...whole.cluster, spec: { ...whole.cluster.spec, tls: tlsSpec(tls) }, status };
  const schemes = has.map((each): Scheme => (each === "reached" || each === "all" ? "https" : "http"));
  const plain = started({ ...whole, cluster, peers });
  return schemes.reduce((snapshot, scheme, n) => listedBy(snapshot, scheme, [`my-etcd-${n}`]), plain);
}

function specWith({ tls: _, ...spec }: EtcdPeerSpec, has: keyof typeof HAS): EtcdPeerSpec {
  const tls: Tls = HAS[has];
  return tls === undefined ? spec : { ...spec, tls };
}

/** The snapshot in which the member's EtcdPeer has this stage, and its pod does not yet. */
export function turnedTo(snapshot: ClusterSnapshot, name: string, has: keyof typeof HAS): ClusterSnapshot {
  const { spec } = snapshot.peers.find(({ metadata }) => metadata.name === name)!;
  return withTurn(snapshot, name, templateIn(specWith(spec, has)));
}
