import { quorumOf } from "#etcd/quorum.ts";
import { type ClusterId, hexOf, type MemberId } from "#etcd/types.ts";
import { type ListedMember, type MemberData, membersOf, votersOf } from "./disk.ts";

/** A write that was acknowledged to a client. */
interface Acknowledged {
  readonly index: number;
  readonly number: number;
}

/** The true state of one cluster, whether or not anyone can see it. */
interface Cluster {
  readonly acknowledged: Acknowledged[];
  /** Members that once had data. On an empty disk they have lost their votes and terms. */
  readonly onceHadData: Set<MemberId>;
  /** Members that ever had a vote, according to some leader's log. */
  readonly everVoted: Set<MemberId>;
  readonly everLed: Set<MemberId>;
  /** Members that have published their client URLs, as they do at their first start. */
  readonly announced: Set<MemberId>;
  /** Removed members: they never come back. */
  readonly removed: Set<MemberId>;
  /** Members that lost their disk while they were members. */
  readonly lostDisks: Set<MemberId>;
  /** Whether a majority of the voters had lost their disks at some moment: then writes may be lost. */
  hasLostMajority: boolean;
  /** Members with alarm CORRUPT; `undefined` stands for a member that is not known. */
  readonly alarms: Set<MemberId | undefined>;
  /**
   * Members with alarm NOSPACE. Writes are refused and reads are served, until a person makes room and disarms the
   * alarm.
   */
  readonly full: Set<MemberId>;
  /** Members that a person added with their own URLs. */
  readonly foreign: Set<MemberId>;
  /** The cluster version's minor; undefined until all members have met. */
  minor: number | undefined;
  /** Target minor of etcd's downgrade, while one is enabled. */
  downgradeTo: number | undefined;
  /** The members according to the last leader's log. */
  members: ReadonlyMap<MemberId, ListedMember>;
}

/** The true state of all clusters: acknowledged writes, members, lost disks. */
export class Truth {
  readonly #clusters = new Map<ClusterId, Cluster>();

  of(id: ClusterId): Cluster {
    const found = this.#clusters.get(id);
    if (found !== undefined) return found;
    const made: Cluster = {
      acknowledged: [],
      onceHadData: new Set(),
      everVoted: new Set(),
      everLed: new Set(),
      announced: new Set(),
      removed: new Set(),
      lostDisks: new Set(),
      hasLostMajority: false,
      alarms: new Set(),
      full: new Set(),
      foreign: new Set(),
      minor: undefined,
      downgradeTo: undefined,
      members: new Map(),
    };
    this.#clusters.set(id, made);
    return made;
  }

  /** The cluster with this ID in hexadecimal, if it ever ran. */
  named(clusterID: string | undefined): Cluster | undefined {
    for (const [id, cluster] of this.#clusters) if (hexOf(id) === clusterID) return cluster;
    return undefined;
  }

  /** Every cluster that ever ran. */
  all(): readonly Cluster[] {
    return [...this.#clusters.values()];
  }

  acknowledge(data: MemberData, number: number): void {
    this.of(data.clusterId).acknowledged.push({ index: data.log.length - 1, number });
  }

  /** Acknowledged writes that are not in this log. */
  missingIn(data: MemberData): readonly number[] {
    const isThere = ({ index, number }: Acknowledged): boolean => {
      const entry = data.log[index];
      return entry?.is === "write" && entry.number === number;
    };
    return this.of(data.clusterId)
      .acknowledged.filter((write) => !isThere(write))
      .map(({ number }) => number);
  }

  /** A leader's log has grown. */
  learn(leader: MemberData): void {
    const cluster = this.of(leader.clusterId);
    const members = membersOf(leader);
    for (const id of cluster.members.keys()) {
      if (members.has(id)) continue;
      cluster.removed.add(id);
      cluster.lostDisks.delete(id);
    }
    cluster.members = members;
    for (const id of votersIn(cluster)) cluster.everVoted.add(id);
  }

  loseDisk(data: MemberData): void {
    const cluster = this.of(data.clusterId);
    const voters = cluster.members.size > 0 ? votersIn(cluster) : votersOf(data);
    cluster.lostDisks.add(data.memberId);
    const lost = voters.filter((id) => cluster.lostDisks.has(id)).length;
    if (lost > voters.length - quorumOf(voters.length)) cluster.hasLostMajority = true;
  }
}

export function votersIn({ members }: { readonly members: ReadonlyMap<MemberId, ListedMember> }): readonly MemberId[] {
  return [...members.values()].filter(({ isLearner }) => !isLearner).map(({ id }) => id);
}
