import { identityFor } from "#etcd/identity.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { type ClusterId, hexOf, type MemberId, memberId } from "#etcd/types.ts";
import type { AuthChange } from "./world-auth.ts";
import {
  authOf,
  type Disk,
  type Entry,
  isAtLeastAsNew,
  type ListedMember,
  type MemberData,
  membersOf,
  shown,
  votersOf,
} from "./world-disk.ts";
import type { Random } from "./world-random.ts";
import { PLAIN, reaches, type Speech, type Speeches, whyNotStart } from "./world-tls.ts";
import { Truth } from "./world-truth.ts";
import { minorOf, whyNotThisVersion } from "./world-version.ts";

/** A running etcd. */
export interface Process {
  readonly podUid: string;
  readonly peer: string;
  /** Uid of the EtcdCluster for which it was started; `undefined` when that cannot be told. */
  readonly clusterUid: string | undefined;
  readonly address: string;
  /** How it speaks with other members, and with clients. */
  readonly speeches: Speeches;
  /** Its startup probe has succeeded. */
  hasStarted: boolean;
  readonly disk: Disk;
  readonly data: MemberData;
  /** Its release, such as 3.6.16. */
  readonly version: string;
  /** Whom it follows; itself when it leads. */
  leaderId: MemberId | undefined;
  /** It serves its client port. Until then it takes part, and only its metrics port tells. */
  isPublished: boolean;
  /** The operator cannot reach it. Members and clients can. */
  isHidden: boolean;
  /** The other members cannot reach it. The operator can. Changed by `Etcd.cutOff`. */
  readonly isCutOff: boolean;
  /** Since when it can be reached by other members, in world time. */
  readonly reachableSinceMs: number;
}

/** What etcd is started with, as far as it decides anything. */
export interface StartFlags {
  /** The release that the image holds. */
  readonly version: string;
  readonly name: string;
  readonly peerUrl: string;
  readonly initialCluster: ReadonlyMap<string, string>;
  readonly isNew: boolean;
  readonly token: string;
}

/** What happened inside etcd that a promise may be about. */
export type EtcdEvent =
  | { readonly is: "started"; readonly process: Process; readonly amnesia: boolean; readonly flags: StartFlags }
  | {
      readonly is: "usersChanged";
      readonly clusterId: ClusterId;
      readonly by: "operator" | "person";
      readonly change: AuthChange;
      /** Whether etcd asks for users after it. */
      readonly enabled: boolean;
    }
  | { readonly is: "elected"; readonly process: Process; readonly lostWrites: readonly number[] };

// How true is this etcd?
//   Raft in coarse steps: an election is one step, a write with its replication to some of the members is one step. Votes,
//   terms, logs and commitment follow raft's rules, so acknowledged writes survive whatever the world does, as long as disks
//   keep what was written. What a disk forgets is forgotten here too.
//   A strict etcd refuses what the real one does: see world-reconfiguration.ts, and `isMemberBootstrapped` here. One that is not is
//   worse on purpose: nobody is asked before a member bootstraps, and any change of membership is made. Then the operator alone
//   sees to it, and what it forgets is not hidden by etcd's own care.

/** All members of all clusters, as they really are. */
export class Etcd {
  readonly processes = new Map<string, Process>();
  readonly truth = new Truth();
  /** Whether it refuses what the real one would refuse. */
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

  /** @returns the process, or why it ended at once, in etcd's words */
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
    };
    const process: Process = { podUid, peer: flags.name, clusterUid, address, disk, data, ...reached };
    const isLearner = cluster.members.get(data.memberId)?.isLearner ?? false; // it has no vote to misuse
    const amnesia = isEmpty && !isLearner && cluster.onceHadData.has(data.memberId);
    cluster.onceHadData.add(data.memberId);
    this.processes.set(pod.uid, process);
    this.#tell(`etcd starts: ${shown(data)}${amnesia ? ", WITH AMNESIA" : isEmpty ? " for the first time" : ""}`);
    this.#happened({ is: "started", process, amnesia, flags });
    return process;
  }

  /** Whoever followed it finds out at the next heartbeat that does not come: see `noticeLeaders`. */
  stop(podUid: string): void {
    const process = this.processes.get(podUid);
    if (process === undefined) return;
    this.processes.delete(podUid);
    process.disk.heldBy = undefined;
  }

  /** The other members cannot reach it any more, or again. */
  cutOff(process: Process, isCutOff: boolean): void {
    if (process.isCutOff === isCutOff) return;
    Object.assign(process, { isCutOff, reachableSinceMs: this.#nowMs() } satisfies Partial<Process>);
  }

  /** How long the two members have reached one another, in milliseconds. */
  connectedForMs(a: Process, b: Process): number {
    return this.#nowMs() - Math.max(a.reachableSinceMs, b.reachableSinceMs);
  }

  /** The disk forgets everything. A process on it ends. */
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
   * The first of the other members that can be reached lists it, and knows its client URLs, which it announced when it first ran:
   * `isMemberBootstrapped` in server/etcdserver/cluster_util.go.
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

  /** `existing`: a running member of the list says who we are. etcd compares the whole list. */
  #joining(flags: StartFlags, speech: Speech): MemberData | string {
    const urls = new Set(flags.initialCluster.values());
    for (const { data, isCutOff, speeches } of this.processes.values()) {
      const members = [...membersOf(data).values()];
      const self = members.find(({ peerUrl }) => peerUrl === flags.peerUrl);
      const isSame = members.length === urls.size && members.every(({ peerUrl }) => urls.has(peerUrl));
      if (isCutOff || self === undefined || !isSame) continue;
      const url = membersOf(data).get(data.memberId)?.peerUrl ?? "";
      if (!reaches(speech, speeches.peer, url, this.#nowMs())) continue;
      // While a downgrade is enabled nobody gets in, of whichever release: isCompatibleWithCluster in server/etcdserver/cluster_util.go.
      if (this.isStrict && this.truth.of(data.clusterId).downgradeTo !== undefined)
        return "incompatible with current running cluster";
      return { clusterId: data.clusterId, memberId: self.id, name: flags.name, log: [], committed: 0, term: 0 };
    }
    return "error validating peerURLs: member count is unequal, or no member can be reached";
  }

  /** One member stands for election, if it may and nobody leads. */
  elect(candidate: Process): boolean {
    return this.leaderOf(candidate) === undefined && this.#campaign(candidate);
  }

  /** The leader gives way to another member. */
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
    this.#append(candidate, { term, is: "noop" }, granting); // by which they follow it
    this.#happened({ is: "elected", process: candidate, lostWrites });
    return true;
  }

  /** A client writes. @returns whether it was told that the write is safe */
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

  /** The leader brings every member that it reaches up to date; who has just started tells its name. */
  replicate(leader: Process): boolean {
    if (this.leaderOf(leader) !== leader) return false;
    const before = this.#progress(leader);
    const reached = this.reachableFrom(leader);
    this.#spread(leader, reached);
    this.#raiseVersion(leader, reached);
    this.#convert(leader, reached);
    for (const { id, isAnnounced } of membersOf(leader.data).values()) {
      const started = !isAnnounced ? reached.find(({ data }) => data.memberId === id) : undefined;
      if (started === undefined) continue;
      this.#append(leader, { term: leader.data.term, is: "started", id, name: started.peer }, reached);
    }
    return this.#progress(leader) !== before;
  }

  /** The cluster speaks what all its members can, or what it goes back to: `monitorVersions` and `monitorDowngrade` in server/etcdserver/server.go. */
  #raiseVersion({ data }: Process, reached: readonly Process[]): void {
    const members = [...membersOf(data).keys()];
    const running = reached.filter((process) => members.includes(process.data.memberId));
    if (running.length < members.length) return;
    const cluster = this.truth.of(data.clusterId);
    const minors = running.map(({ version }) => minorOf(version));
    if (cluster.downgradeTo === undefined) cluster.minor = Math.max(cluster.minor ?? 0, ...[Math.min(...minors)]);
    else if (minors.every((minor) => minor === cluster.downgradeTo))
      cluster.downgradeTo = undefined; // it is over
    else cluster.minor = cluster.downgradeTo;
  }

  /** Each member brings its data into the format that the cluster speaks, when it gets to it: `monitorStorageVersion` in server/etcdserver/server.go. */
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

  /** No alarm is raised, and a linearizable read by this member succeeds: it knows as much as the leader. */
  passesHealthCheck(process: Process): boolean {
    const leader = this.leaderOf(process);
    const { alarms, full } = this.truth.of(process.data.clusterId);
    const isRefused = alarms.size > 0 || full.size > 0; // server/etcdserver/api/etcdhttp/health.go
    return leader !== undefined && !isRefused && process.data.committed >= leader.data.committed;
  }

  /** A member that has a leader announces itself once more, and opens its client port. */
  publish(process: Process): boolean {
    if (process.isPublished || this.leaderOf(process) === undefined) return false;
    process.isPublished = true;
    this.truth.of(process.data.clusterId).announced.add(process.data.memberId);
    this.#tell(`${shown(process.data)} serves its client port`);
    return true;
  }

  /** A change of membership. @returns whether it is known to have happened */
  change(leader: Process, entry: Entry): boolean {
    return this.#append(leader, entry, this.reachableFrom(leader));
  }

  /** A change of users or roles. @returns whether it is known to have happened @throws OperatorError EtcdRejected */
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

  /** A person starts a member of their own that the cluster has been told of: it runs outside of Kubernetes. */
  startForeign(leader: Process, member: ListedMember): void {
    const { clusterId } = leader.data;
    // A name that no object of Kubernetes can have: etcd takes any.
    const name = `own-${hexOf(member.id)}/1`;
    const data = { clusterId, memberId: member.id, name, log: [], committed: 0, term: 0 };
    const address = `192.168.0.${this.#added}`;
    const { version } = leader;
    const disk: Disk = { id: name, data, heldBy: name };
    const reached = { isPublished: true, isHidden: false, isCutOff: false };
    const more = { leaderId: undefined, speeches: PLAIN, hasStarted: true, ...reached };
    const process = { podUid: name, peer: name, clusterUid: undefined, address, disk, data, version, ...more };
    this.truth.of(clusterId).foreign.add(member.id);
    this.processes.set(name, { ...process, reachableSinceMs: this.#nowMs() });
  }

  /** The real one mixes the time in: never the same twice. */
  newMemberId(): MemberId {
    this.#added += 1;
    return memberId(0xadd_0000n + BigInt(this.#added));
  }

  /** Members whose leader is gone find out. */
  noticeLeaders(): boolean {
    let some = false;
    for (const process of this.processes.values()) {
      if (process.leaderId === undefined || this.leaderOf(process) !== undefined) continue;
      process.leaderId = undefined;
      some = true;
    }
    return some;
  }

  /** Who really leads the cluster as this member sees it: it runs, is reached, and a majority follows it. */
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
      if (missing === 0) return leader; // usual, and whom else it meets is asked for a thousand times
    }
    return undefined;
  }

  #find(is: (process: Process) => boolean): Process | undefined {
    for (const process of this.processes.values()) if (is(process)) return process;
    return undefined;
  }

  /** The members of its cluster that it can talk to, itself included. */
  reachableFrom(process: Process): readonly Process[] {
    return [...this.processes.values()].filter((other) => this.#meet(process, other));
  }

  /** Whether two can talk to each other; everybody can to itself. */
  #meet(process: Process, other: Process): boolean {
    if (other === process) return true;
    if (process.isCutOff || other.isCutOff) return false;
    return other.data.clusterId === process.data.clusterId && this.believe(process, other);
  }

  /**
   * Whether a handshake between the two succeeds: each at the URL by which it knows the other one. Who does not listen as it is listed cannot
   * be dialled, and dials the other one, which answers over that: test/etcd/tls-switch-peers.test.ts.
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

  /** @returns whether a majority of voters has it on disk */
  #append(leader: Process, entry: Entry, followers: readonly Process[]): boolean {
    leader.data.log = [...leader.data.log, entry];
    this.#spread(leader, followers);
    return leader.data.committed === leader.data.log.length;
  }

  #spread(leader: Process, followers: readonly Process[]): void {
    const { data } = leader;
    const copies = followers.filter((other) => other === leader || other.data.term <= data.term);
    for (const { data: copy } of copies) [copy.log, copy.term] = [data.log, data.term];
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
      if (!members.has(follower.data.memberId)) this.stop(follower.podUid); // a removed member is told to stop
    }
  }

  #progress(leader: Process): string {
    return this.reachableFrom(leader)
      .map(({ data, leaderId }) => `${data.log.length} ${data.committed} ${data.term} ${leaderId}`)
      .join();
  }
}

/** By which URL a member knows another one; the other one's own word counts as long as it has not heard of it. */
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
