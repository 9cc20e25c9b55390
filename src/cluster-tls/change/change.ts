import type { Scheme } from "#api/names.ts";
import { providerOf, type Side } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

// How does TLS change while all members and clients stay connected?
//   In three rounds, whatever changes: another CA, certificates of another provider, or the scheme (TLS on or off).
//   AcceptBoth: every member accepts the new beside the old: both CAs, or http and https.
//   UseNew: members, the operator and applications use the new.
//   DropOld: members no longer accept the old.
//   Before them is Prepare, while the new cannot be used yet: members keep what they have.
// How does a round proceed?
//   It is a change of the member template: members restart one at a time. Then clients get time for their part.
// How is the round known?
//   It is derived from EtcdPeers, pods, Secrets and etcd's member list, never from a record. So a change continues after
//   any interruption, and reverses when the edit is reverted (docs/adr/0046-every-change-of-tls-has-the-same-rounds.md).

export type Round = "Prepare" | "AcceptBoth" | "UseNew" | "DropOld";

/** A change of TLS on one side. */
export interface TlsChange {
  readonly kind: "CARotation" | "Provider" | "Scheme";
  /**
   * What is replaced: the SHA-256 of a CA, a source of certificates or a scheme. `undefined` when it can no longer be
   * observed.
   */
  readonly from: string | undefined;
  /** What replaces it, in the same form as `from`. */
  readonly to: string;
  readonly round: Round;
  /** What the round waits for, as a clause. */
  readonly waitsFor: string;
}

/**
 * The scheme that `spec.tls` requests of existing members. `undefined` without members, and without `spec.tls`, which
 * requests no change.
 */
export function requestedScheme({ cluster, peers }: ClusterSnapshot, side: Side): Scheme | undefined {
  if (peers.length === 0 || cluster.spec.tls === undefined) return undefined;
  return providerOf(cluster.spec, side) === "None" ? "http" : "https";
}
