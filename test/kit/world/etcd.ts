import { identityFor } from "#etcd/identity.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { type ClusterId, hexOf, type MemberId, memberId } from "#etcd/types.ts";
import type { AuthChange } from "./auth.ts";
import {
  authOf,
  type Disk,
  type Entry,
  hasV2Entries,
  isAtLeastAsNew,
  type ListedMember,
  type MemberData,
  membersOf,
  shown,
  votersOf,
} from "./disk.ts";
import type { Random } from "./random.ts";
import { PLAIN, reaches, type Speech, type Speeches, whyNotStart } from "./tls.ts";
import { Truth } from "./truth.ts";
import { minorOf, whyNotThisVersion } from "./version.ts";

/** A running etcd. */
export interface Process {
  readonly podUid: string;
  readonly peer: string;
  /** Uid of the EtcdCluster for which it was started; `undefined` when unknown. */
  readonly clusterUid: string | undefined;
  readonly address: string;
  /** How it communicates with other members, and with clients. */
  readonly speeches: Speeches;
  /** Its startup probe has succeeded. */
  hasStarted: boolean;
  readonly disk: Disk;
  readonly data: MemberData;
  /** Its release, such as 3.6.16. */
  readonly version: string;
  /** ID of the member that it follows; its own ID when it leads. */
  leaderId: MemberId | undefined;
  /** Whether it has written the API v2 entry that a member of 3.5 writes at each start. */
  hasSentV2: boolean;
  /** Whether it serves its client port. Before that, only its metrics port answers. */
  isPublished: boolean;
  /** The operator cannot reach it. Members and clients can. */
  isHidden: boolean;
  /** The other members cannot reach it; the operator can. Changed by `Etcd.cutOff`. */
  readonly isCutOff: boolean;
  /** Since when other members can reach it, in simulated time. */
  readonly reachableSinceMs: number;
  /**
   * How many entries its last snapshot covered when it started. A member that lacks one of these gets a snapshot from
   * it instead of entries.
   */
  readonly logFrom: number;
}

/** The flags of etcd that matter in the simulation. */
export interface StartFlags {
  /** The release that the image holds. */
  readonly version: string;
  readonly name: string;
  readonly peerUrl: string;
  readonly initialCluster: ReadonlyMap<string, string>;
  readonly isNew: boolean;
  readonly token: string;
}

/** Events inside etcd that checks of the simulation use. */
export type EtcdEvent =
  | { readonly is: "started"; readonly process: Process; readonly amnesia: boolean; readonly flags: StartFlags }
  | {
      readonly is: "usersChanged";
      readonly clusterId: ClusterId;
      readonly by: "operator" | "person";
      readonly change: AuthChange;
      /** Whether authentication is enabled after the change. */
      readonly enabled: boolean;
    }
  | { readonly is: "elected"; readonly process: Process; readonly lostWrites: readonly number[] };

/** The last message of etcd 3.7 when it reads an API v2 entry of 3.5. */
const V2_ENTRIES = "panic: unmarshal should never fail";

// How faithful is this etcd?
//
// Raft in coarse steps: an election is one step, and a write with its replication to some members is one step. Votes,
// terms, logs and commitment follow raft's rules. So acknowledged writes survive as long as disks keep what was
// written. A disk can lose its data here, too.
//
// A strict etcd refuses what a real one refuses: see reconfiguration.ts, and `isMemberBootstrapped` here. A lax one is
// worse on purpose: a member bootstraps without a check, and any change of membership is accepted. Then safety depends
// on the operator alone, and etcd's own checks do not hide its mistakes.

/** All members of all clusters, as they really are. */
export class Etcd {
  readonly processes = new Map<string, Process>();
  readonly truth = new Truth();
  /** Whether it refuses what a real etcd would refuse. */
  readonly isStrict: boolean;
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #happened: (event: EtcdEvent) => void;
  readonly #tell: (text: string) => void;
  #writes = 0;
  #added = 0;

  constructor(options: {
    isStrict: boolean;
    random: Random;
    nowMs: () => number;
    happened: (event: EtcdEvent) => void;
    tell: (text: string) => void;
  }) {
    this.isStrict = options.isStrict;
    this.#random = options.random;
    this.#nowMs = options.nowMs;
    this.#happened = options.happened;
    this.#tell = options.tell;
  }

  /** @returns the process, or the reason why it exited at once, in etcd's words */
  start(
    pod: { uid: string; address: string; clusterUid: string | undefined; speeches: Speeches },
    disk: Disk,
    flags: StartFlags,
  ): Process | string {
    const isEmpty = disk.data === undefined;
    const mute = whyNotStart(pod.speeches);
    if (mute !== undefined) return mute;
    const data = disk.data ?? this.#firstData(flags, pod.speeches.peer);
    if (typeof data === "string") return data;
    const cluster = this.truth.of(data.clusterId);
    if (cluster.removed.has(data.memberId)) return "the member has been permanently removed from the cluster";
    const unfit = this.isStrict ? whyNotThisVersion(flags.version, cluster.minor, data.storage) : undefined;
    if (unfit !== undefined) return unfit;
    if (this.isStrict && minorOf(flags.version) >= 7 && hasV2Entries(data)) return V2_ENTRIES;
    disk.data = data;
    disk.heldBy = pod.uid;
    const { uid: podUid, address, clusterUid, speeches } = pod;
    const isPublished = !this.#random.chance(data.log.length === 0 ? 0.6 : 0.2);
    const reached = {
      leaderId: undefined,
      version: flags.version,
      speeches,
      hasStarted: false,
      isPublished,
      isHidden: false,
      isCutOff: false,
      reachableSinceMs: this.#nowMs(),
      logFrom: data.snapshot ?? 0,
      hasSentV2: false,
    };
    const process: Process = { podUid, peer: flags.name, clusterUid, address, disk, data, ...reached };
    const isLearner = cluster.members.get(data.memberId)?.isLearner ?? false; // without a vote it cannot elect a leader
    const amnesia = isEmpty && !isLearner && cluster.onceHadData.has(data.memberId);
    cluster.onceHadData.add(data.memberId);
    this.processes.set(pod.uid, process);
    this.#tell(`etcd starts: ${shown(data)}${amnesia ? ", WITH AMNESIA" : isEmpty ? " for the first time" : ""}`);
    this.#happened({ is: "started", process, amnesia, flags });
    return process;
  }

  /** Its followers notice at the next missing heartbeat: see `noticeLeaders`. */
  stop(podUid: string): void {
    const process = this.processes.get(podUid);
    if (process === undefined) return;
    this.processes.delete(podUid);
    process.disk.heldBy = undefined;
  }

  /** Cuts a member off from the other members, or connects it again. */
  cutOff(process: Process, isCutOff: boolean): void {
    if (process.isCutOff === isCutOff) return;
    Object.assign(process, { isCutOff, reachableSinceMs: this.#nowMs() } satisfies Partial<Process>);
  }

  /** How long the two members have been connected, in milliseconds. */
  connectedForMs(a: Process, b: Process): number {
    return this.#nowMs() - Math.max(a.reachableSinceMs, b.reachableSinceMs);
  }

  /** Loses the data of the disk. A process on it ends. */
  empty(disk: Disk): void {
    if (disk.heldBy !== undefined) this.stop(disk.heldBy);
    if (disk.data === undefined) return;
    const cluster = this.truth.of(disk.data.clusterId);
    if (!cluster.removed.has(disk.data.memberId)) this.truth.loseDisk(disk.data);
    disk.data = undefined;
  }

  #firstData(flags: StartFlags, speech: Speech): MemberData | string {
    if (!flags.initialCluster.has(flags.name))
      return `couldn't find local name "${flags.name}" in the initial cluster configuration`;
    if (!flags.isNew) return this.#joining(flags, speech);
    const data = bootstrapped(flags);
    const isRefused = typeof data !== "string" && this.isStrict && this.#isMemberBootstrapped(data, flags, speech);
    return isRefused ? `member ${hexOf(data.memberId)} has already been bootstrapped` : data;
  }

  /**
   * Whether the first reachable other member lists this one with client URLs, which a member publishes at its first
   * start: `isMemberBootstrapped` in server/etcdserver/cluster_util.go.
   */
  #isMemberBootstrapped(
    { clusterId, memberId }: MemberData,
    { name, initialCluster }: StartFlags,
    speech: Speech,
  ): boolean {
    const [first] = [...this.processes.values()]
      .filter(
        ({ peer, data, isCutOff, speeches }) =>
          peer !== name &&
          !isCutOff &&
          data.clusterId === clusterId &&
          initialCluster.has(peer) &&
          reaches(speech, speeches.peer, initialCluster.get(peer) ?? "", this.#nowMs()),
      )
      .sort((a, b) => (a.peer < b.peer ? -1 : 1));
    return (
      first !== undefined && membersOf(first.data).has(memberId) && this.truth.of(clusterId).announced.has(memberId)
    );
  }

  /**
   * Data for a start with `existing`: a running member of the initial cluster gives the new one its ID. etcd compares
   * the whole list.
   */
  #joining(flags: StartFlags, speech: Speech): MemberData | string {
    const urls = new Set(flags.initialCluster.values());
    for (const { data, isCutOff, speeches } of this.processes.values()) {
      const members = [...membersOf(data).values()];
      const self = members.find(({ peerUrl }) => peerUrl === flags.peerUrl);
      const isSame = members.length === urls.size && members.every(({ peerUrl }) => urls.has(peerUrl));
      if (isCutOff || self === undefined || !isSame) continue;
      const url = membersOf(data).get(data.memberId)?.peerUrl ?? "";
      if (!reaches(speech, speeches.peer, url, this.#nowMs())) continue;
      // While a downgrade is enabled no member of any release can join: isCompatibleWithCluster in
      // server/etcdserver/cluster_util.go.
      if (this.isStrict && this.truth.of(data.clusterId).downgradeTo !== undefined)
        return "incompatible with current running cluster";
      return { clusterId: data.clusterId, memberId: self.id, name: flags.name, log: [], committed: 0, term: 0 };
    }
    return "error validating peerURLs: member count is unequal, or no member can be reached";
  }

  /** A member campaigns if it has no leader. */
  elect(candidate: Process): boolean {
    return this.leaderOf(candidate) === undefined && this.#campaign(candidate);
  }

  /** Transfers leadership to another member. */
  moveLeader(leader: Process, to: Process): boolean {
    this.#spread(leader, [leader, to]);
    return this.#campaign(to);
  }

  #campaign(candidate: Process): boolean {
    const { data } = candidate;
    const voters = new Set(votersOf(data));
    if (!voters.has(data.memberId)) return false;
    const reached = this.reachableFrom(candidate);
    const granting = reached.filter((voter) => isAtLeastAsNew(data, voter.data));
    if (granting.filter((voter) => voters.has(voter.data.memberId)).length < quorumOf(voters.size)) return false;
    const term = Math.max(...reached.map((other) => other.data.term)) + 1;
    for (const voter of granting) voter.data.term = term;
    candidate.leaderId = data.memberId;
    const lostWrites = this.truth.missingIn(data);
    const without = lostWrites.length > 0 ? ` WITHOUT writes ${lostWrites}` : "";
    this.#tell(`etcd elects ${shown(data)} in term ${term}${without}`);
    this.#append(candidate, { term, is: "noop" }, granting); // by which they follow the new leader
    this.#happened({ is: "elected", process: candidate, lostWrites });
    return true;
  }

  /**
   * A client writes.
   * @returns whether the write was acknowledged
   */
  write(leader: Process): boolean {
    const { alarms, full } = this.truth.of(leader.data.clusterId);
    if (this.leaderOf(leader) !== leader || alarms.size > 0 || full.size > 0) return false;
    this.#writes += 1;
    const followers = this.reachableFrom(leader).filter((other) => other === leader || this.#random.chance(0.7));
    const entry: Entry = { term: leader.data.term, is: "write", number: this.#writes };
    if (!this.#append(leader, entry, followers)) return false;
    this.truth.acknowledge(leader.data, this.#writes);
    return true;
  }

  /** The leader brings every member that it reaches up to date. A newly started member publishes its name. */
  replicate(leader: Process): boolean {
    if (this.leaderOf(leader) !== leader) return false;
    const before = this.#progress(leader);
    const reached = this.reachableFrom(leader);
    this.#spread(leader, reached);
    this.#raiseVersion(leader, reached);
    this.#convert(leader, reached);
    for (const old of reached.filter(({ version, hasSentV2 }) => minorOf(version) < 6 && !hasSentV2)) {
      // A member of 3.5 publishes its attributes at each start by a request of API v2: `publish` in
      // server/etcdserver/server.go.
      old.hasSentV2 = true;
      this.#append(leader, { term: leader.data.term, is: "v2" }, reached);
    }
    for (const { id, isAnnounced } of membersOf(leader.data).values()) {
      const started = !isAnnounced ? reached.find(({ data }) => data.memberId === id) : undefined;
      if (started === undefined) continue;
      this.#append(leader, { term: leader.data.term, is: "started", id, name: started.peer }, reached);
    }
    return this.#progress(leader) !== before;
  }

  /**
   * Sets the cluster version to what all members support, or to the target of a downgrade: `monitorVersions` and
   * `monitorDowngrade` in server/etcdserver/server.go.
   */
  #raiseVersion({ data }: Process, reached: readonly Process[]): void {
    const members = [...membersOf(data).keys()];
    const running = reached.filter((process) => members.includes(process.data.memberId));
    if (running.length < members.length) return;
    const cluster = this.truth.of(data.clusterId);
    const minors = running.map(({ version }) => minorOf(version));
    if (cluster.downgradeTo === undefined) cluster.minor = Math.max(cluster.minor ?? 0, ...[Math.min(...minors)]);
    else if (minors.every((minor) => minor === cluster.downgradeTo))
      cluster.downgradeTo = undefined; // the downgrade is complete
    else {
      // Each member takes a snapshot when it applies the lower version: ClusterVersionSet in
      // server/etcdserver/apply/apply.go.
      if (cluster.minor !== cluster.downgradeTo) for (const each of running) each.data.snapshot = each.data.log.length;
      cluster.minor = cluster.downgradeTo;
    }
  }

  /**
   * Each reached member migrates its storage to the cluster version: `monitorStorageVersion` in
   * server/etcdserver/server.go.
   */
  #convert({ data }: Process, reached: readonly Process[]): void {
    const { minor } = this.truth.of(data.clusterId);
    for (const each of reached)
      if (
        minor !== undefined &&
        minorOf(each.version) >= 6 &&
        minorOf(each.version) >= minor &&
        this.#random.chance(0.7)
      )
        each.data.storage = minor;
  }

  /** Whether no alarm is raised and a linearizable read by this member succeeds: it has all committed entries. */
  passesHealthCheck(process: Process): boolean {
    const leader = this.leaderOf(process);
    const { alarms, full } = this.truth.of(process.data.clusterId);
    const isRefused = alarms.size > 0 || full.size > 0; // server/etcdserver/api/etcdhttp/health.go
    return leader !== undefined && !isRefused && process.data.committed >= leader.data.committed;
  }

  /** A member with a leader publishes its attributes again, and opens its client port. */
  publish(process: Process): boolean {
    if (process.isPublished || this.leaderOf(process) === undefined) return false;
    process.isPublished = true;
    this.truth.of(process.data.clusterId).announced.add(process.data.memberId);
    this.#tell(`${shown(process.data)} serves its client port`);
    return true;
  }

  /**
   * A change of membership.
   * @returns whether the entry is known to be committed
   */
  change(leader: Process, entry: Entry): boolean {
    return this.#append(leader, entry, this.reachableFrom(leader));
  }

  /**
   * A change of users or roles.
   * @returns whether the entry is known to be committed
   * @throws OperatorError EtcdRejected
   */
  changeAuth(leader: Process, change: AuthChange, by: "operator" | "person"): boolean {
    const store = authOf(leader.data);
    store.check(change);
    const before = store.enabled;
    const isDone = this.change(leader, { term: leader.data.term, is: "auth", change });
    const { enabled } = authOf(leader.data);
    if (enabled !== before) this.#tell(`etcd asks for users ${enabled ? "from now on" : "no more"}`);
    this.#happened({ is: "usersChanged", clusterId: leader.data.clusterId, by, change, enabled });
    return isDone;
  }

  /** A person starts their own member, already added to the cluster, outside of Kubernetes. */
  startForeign(leader: Process, member: ListedMember): void {
    const { clusterId } = leader.data;
    // A name that no Kubernetes object can have; etcd accepts any.
    const name = `own-${hexOf(member.id)}/1`;
    const data = { clusterId, memberId: member.id, name, log: [], committed: 0, term: 0 };
    const address = `192.168.0.${this.#added}`;
    const { version } = leader;
    const disk: Disk = { id: name, data, heldBy: name };
    const reached = { isPublished: true, isHidden: false, isCutOff: false, logFrom: 0, hasSentV2: false };
    const more = { leaderId: undefined, speeches: PLAIN, hasStarted: true, ...reached };
    const process = { podUid: name, peer: name, clusterUid: undefined, address, disk, data, version, ...more };
    this.truth.of(clusterId).foreign.add(member.id);
    this.processes.set(name, { ...process, reachableSinceMs: this.#nowMs() });
  }

  /** A new ID each time: a real etcd includes the time in it. */
  newMemberId(): MemberId {
    this.#added += 1;
    return memberId(0xadd_0000n + BigInt(this.#added));
  }

  /** Members without a leader notice it. */
  noticeLeaders(): boolean {
    let some = false;
    for (const process of this.processes.values()) {
      if (process.leaderId === undefined || this.leaderOf(process) !== undefined) continue;
      process.leaderId = undefined;
      some = true;
    }
    return some;
  }

  /** The leader that this member follows, if that one runs, is reachable, and a majority follows it. */
  leaderOf(process: Process): Process | undefined {
    if (process.leaderId === undefined) return undefined;
    const leader = this.#find(
      (each) =>
        each.data.memberId === process.leaderId && each.leaderId === process.leaderId && this.#meet(process, each),
    );
    if (leader === undefined) return undefined;
    const voters = new Set(votersOf(leader.data));
    let missing = quorumOf(voters.size);
    for (const each of this.processes.values()) {
      const { memberId, term } = each.data;
      if (voters.has(memberId) && term === leader.data.term && this.#meet(leader, each)) missing -= 1;
      if (missing === 0) return leader; // the usual case; `#meet` would be called for thousands of pairs
    }
    return undefined;
  }

  #find(is: (process: Process) => boolean): Process | undefined {
    for (const process of this.processes.values()) if (is(process)) return process;
    return undefined;
  }

  /** The reachable members of the process's cluster, itself included. */
  reachableFrom(process: Process): readonly Process[] {
    return [...this.processes.values()].filter((other) => this.#meet(process, other));
  }

  /** Whether two members can communicate; each can with itself. */
  #meet(process: Process, other: Process): boolean {
    if (other === process) return true;
    if (process.isCutOff || other.isCutOff) return false;
    return other.data.clusterId === process.data.clusterId && this.believe(process, other);
  }

  /**
   * Whether the two can connect, each at the URL by which it knows the other. A member that does not listen at its
   * listed URL cannot be dialled. It dials the other one, which answers over that connection:
   * test/etcd/tls-switch-peers.test.ts.
   */
  believe(a: Process, b: Process): boolean {
    const [one, other] = [a.speeches.peer, b.speeches.peer];
    const ways = [
      { from: one, to: other, url: urlOf(a.data, b.data) },
      { from: other, to: one, url: urlOf(b.data, a.data) },
    ].filter(({ to, url }) => to.schemes.has(url.startsWith("https:") ? "https" : "http"));
    const nowMs = this.#nowMs();
    return ways.length > 0 && ways.every(({ from, to, url }) => reaches(from, to, url, nowMs));
  }

  /** @returns whether a majority of voters has the entry on disk */
  #append(leader: Process, entry: Entry, followers: readonly Process[]): boolean {
    leader.data.log = [...leader.data.log, entry];
    this.#spread(leader, followers);
    return leader.data.committed === leader.data.log.length;
  }

  #spread(leader: Process, followers: readonly Process[]): void {
    const { data } = leader;
    const copies = followers.filter((other) => other === leader || other.data.term <= data.term);
    for (const follower of copies) {
      const { data: copy } = follower;
      const isUnreadable = this.isStrict && minorOf(follower.version) >= 7;
      if (copy.log.length < leader.logFrom) copy.snapshot = data.log.length;
      else if (isUnreadable && data.log.slice(copy.log.length).some(({ is }) => is === "v2"))
        this.stop(follower.podUid);
      [copy.log, copy.term] = [data.log, data.term];
    }
    const voters = new Set(votersOf(data));
    const acknowledging = copies.filter((other) => voters.has(other.data.memberId)).length;
    if (acknowledging >= quorumOf(voters.size)) data.committed = data.log.length;
    const members = membersOf(data);
    this.truth.learn(data);
    for (const follower of copies) {
      follower.data.committed = data.committed;
      follower.leaderId = data.memberId;
      this.truth.of(data.clusterId).everLed.add(follower.data.memberId);
      if (follower.isPublished) this.truth.of(data.clusterId).announced.add(follower.data.memberId);
      if (!members.has(follower.data.memberId)) this.stop(follower.podUid); // a removed member stops
    }
  }

  #progress(leader: Process): string {
    return this.reachableFrom(leader)
      .map(({ data, leaderId }) => `${data.log.length} ${data.committed} ${data.term} ${leaderId}`)
      .join();
  }
}

/** The URL by which a member knows a second one. If its list lacks the second one, that one's own list decides. */
function urlOf(by: MemberData, other: MemberData): string {
  return (membersOf(by).get(other.memberId) ?? membersOf(other).get(other.memberId))?.peerUrl ?? "";
}

export function memberKey({ clusterId, memberId }: Pick<MemberData, "clusterId" | "memberId">): string {
  return `${hexOf(clusterId)}/${hexOf(memberId)}`;
}

function bootstrapped({ name, token, initialCluster }: StartFlags): MemberData | string {
  const members = [...initialCluster].map(([member, peerUrl]) => ({ name: member, peerUrl }));
  const identity = identityFor({ token, members });
  const log = identity.members.map(
    ({ id, name: member, peerUrl }): Entry => ({
      term: 1,
      is: "add",
      member: { id, name: member, isAnnounced: false, peerUrl, isLearner: false },
    }),
  );
  const self = identity.members.find((member) => member.name === name);
  if (self === undefined) return `couldn't find local name "${name}" in the initial cluster configuration`;
  return { clusterId: identity.clusterId, memberId: self.id, name, log, committed: log.length, term: 1 };
}
