import { quorumOf } from "#etcd/quorum.ts";
import { type ClusterId, hexOf, type MemberId } from "#etcd/types.ts";
import { type ListedMember, type MemberData, membersOf, votersOf } from "./world-disk.ts";

/** A write that a client was told is safe. */
interface Acknowledged {
  readonly index: number;
  readonly number: number;
}

/** What one cluster really is, whoever can see it. */
interface Cluster {
  readonly acknowledged: Acknowledged[];
  /** Members that once had data: on an empty disk they have forgotten it. */
  readonly onceHadData: Set<MemberId>;
  readonly everLed: Set<MemberId>;
  /** Members that have announced their client URLs, as they do when they have run for the first time. */
  readonly announced: Set<MemberId>;
  /** Members that were taken out: they never come back. */
  readonly removed: Set<MemberId>;
  /** Members whose disk was lost, while they were members. */
  readonly lostDisks: Set<MemberId>;
  /** Whether at some moment more than a minority of the voters had lost their disks: then writes may be lost. */
  hasLostMajority: boolean;
  /** Of whom CORRUPT is raised; `undefined` among them when it is not known whose data is wrong. */
  readonly alarms: Set<MemberId | undefined>;
  /** Of whom NOSPACE is raised: writes are refused and reads are served, until a person has made room and lowers the alarm. */
  readonly full: Set<MemberId>;
  /** Members that somebody added under URLs of their own. */
  readonly foreign: Set<MemberId>;
  /** The minor release that the cluster as a whole speaks; undefined until all members have met. */
  minor: number | undefined;
  /** The minor release to which etcd's downgrade leads, while one is enabled. */
  downgradeTo: number | undefined;
  /** The members by the last leader's log. */
  members: ReadonlyMap<MemberId, ListedMember>;
}

/** What is true of every cluster: what its clients were told, who its members are, which disks it lost. */
export class Truth {
  readonly #clusters = new Map<ClusterId, Cluster>();

  of(id: ClusterId): Cluster {
    const found = this.#clusters.get(id);
    if (found !== undefined) return found;
    const made: Cluster = {
      acknowledged: [],
      onceHadData: new Set(),
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
