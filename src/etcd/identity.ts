import { createHash } from "node:crypto";
import { invariant } from "#base/invariant.ts";
import { type ClusterId, clusterId, type MemberId, memberId } from "./types.ts";

// How can the IDs be known before the cluster exists?
//   Members that bootstrap together must agree on their IDs before they communicate. So etcd derives the IDs from flags
//   that all members share: the peer URLs in --initial-cluster, and --initial-cluster-token.
//   Source: computeMemberID in etcd's server/etcdserver/api/membership/member.go, and genID in cluster.go.
// Does that hold for members that are added later?
//   No. `MemberAdd` includes the time in the hash, so their IDs are known only from its answer. The cluster ID stays.
// Why does it matter?
//   With a cluster ID recorded before the first start, an answer from another cluster at the same address is detected.

/** A member that bootstraps the cluster. */
interface InitialMember {
  readonly name: string;
  /** Peer URL for `--initial-cluster`: scheme, host and port, no path. Example: `https://db-0.db.prod.svc:2380`. */
  readonly peerUrl: string;
}

/** Cluster ID and member IDs, known before the cluster exists. */
export interface ClusterIdentity {
  readonly clusterId: ClusterId;
  /** Members in the given order. */
  readonly members: readonly (InitialMember & { readonly id: MemberId })[];
}

/**
 * The ID of an initial member: the first 8 bytes of SHA-1 over its sorted peer URLs and the token, without separators.
 * @param token `--initial-cluster-token`
 */
export function memberIdFor(peerUrls: readonly string[], token: string): MemberId {
  const hash = createHash("sha1");
  // etcd sorts bytes, not UTF-16 units; in a URL, which is ASCII, the two orders are the same.
  for (const url of [...peerUrls].sort()) hash.update(url);
  return memberId(hash.update(token).digest().readBigUInt64BE());
}

/**
 * The ID of the cluster that these members bootstrap: the first 8 bytes of SHA-1 over their sorted IDs, 8 bytes each.
 * @param memberIds all initial members, in any order
 */
export function clusterIdFor(memberIds: readonly MemberId[]): ClusterId {
  const bytes = Buffer.alloc(8 * memberIds.length);
  const ascending = [...memberIds].sort((a, b) => (a < b ? -1 : 1));
  ascending.forEach((id, position) => {
    bytes.writeBigUInt64BE(id, 8 * position);
  });
  return clusterId(createHash("sha1").update(bytes).digest().readBigUInt64BE());
}

/**
 * The IDs of a cluster that is bootstrapped with this token and these members.
 * @param initial one or more members with unique names and peer URLs, as etcd requires
 * @throws OperatorError Bug when there is no member, or names or peer URLs are not unique
 */
export function identityFor(initial: { token: string; members: readonly InitialMember[] }): ClusterIdentity {
  invariant(initial.members.length > 0, "a cluster starts with at least one member");
  invariant(allDiffer(initial.members.map((member) => member.name)), "initial members have different names");
  invariant(allDiffer(initial.members.map((member) => member.peerUrl)), "initial members have different peer URLs");
  const members = initial.members.map(({ name, peerUrl }) => ({
    name,
    peerUrl,
    id: memberIdFor([peerUrl], initial.token),
  }));
  return { clusterId: clusterIdFor(members.map((member) => member.id)), members };
}

function allDiffer(texts: readonly string[]): boolean {
  return new Set(texts).size === texts.length;
}
