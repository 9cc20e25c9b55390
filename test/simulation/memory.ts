import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION, REMOVAL_ANNOTATION } from "#api/names.ts";
import { type ClusterIdentity, ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { type ClusterId, hexOf, type MemberId } from "#etcd/types.ts";
import { type MemberData, votersOf } from "#kit/world/disk.ts";
import { memberKey, type Process } from "#kit/world/etcd.ts";
import { canStartEmpty, flagsOf } from "#kit/world/flags.ts";
import { votersIn } from "#kit/world/truth.ts";
import type { World, WorldEvent } from "#kit/world/world.ts";
import {
  controllerOf,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  type Pod,
  REPLICA_SETS,
  type ReplicaSet,
  SECRETS,
} from "#kube/kinds.ts";
import { pauseOf } from "#peer/snapshot.ts";
import { AccessMemory } from "./access-memory.ts";
import { AuthMemory } from "./auth-memory.ts";
import { SleepMemory } from "./sleep-memory.ts";
import { TlsMemory } from "./tls-memory.ts";

/**
 * Excuses, each with the largest share of all histories in which it may be used. A larger share would mean that the
 * simulation checks too little.
 */
export const MOST_EXCUSED = {
  /** A member started over on an empty disk within the window before its fence. */
  window: 0.2,
  /** Something that only a person could change kept it from coming to rest within the stated time. */
  restless: 0.05,
  /** No quorum can return, or an obstacle remains that only a person could remove: the cluster need not be complete. */
  hindered: 0.4,
  /** Another fault kept the first member of an update from becoming healthy in time: the update has stopped. */
  stopped: 0.1,
} as const;
export type Excuse = keyof typeof MOST_EXCUSED;

// A member may start over without its memory only before its fence stands. That window cannot be closed: a member
// writes data as soon as it has started. Its flags change only after the operator has seen it.
//
// The window is modelled by the pod. A start with amnesia is excused exactly when the template of the pod can still
// start on an empty disk. It must also have been written before the fence of the member.
//
// No such pod may be left at the end. Sleep does not lengthen the window: a member that was stopped in it starts after
// the others, and they know whether it has joined. A cluster with such a start may lose acknowledged writes. It is
// counted, and that promise is no longer checked.

/** State that is kept from event to event. Members are named as `cluster ID/member ID`. */
export class Memory {
  /** Members with a ReplicaSet template that cannot start on an empty disk. */
  readonly fenced = new Set<string>();
  /** The last step in which etcd listed the member as yet to start. */
  readonly lastUnstarted = new Map<string, number>();
  /** Uids of ReplicaSets that were written without a fence before their member was fenced. */
  readonly windowSets = new Set<string>();
  /** Key of the member by the uid of its EtcdPeer. */
  readonly #memberOfPeer = new Map<string, string>();
  /**
   * Uids of ReplicaSets that slept, and were started before the other members of their cluster were awake. Amnesia of
   * their pods is not excused: the operator should have waited.
   */
  readonly wokenSets = new Set<string>();
  /** Uids of pods that were made from an unfenced template of one of `windowSets`. */
  readonly windowPods = new Set<string>();
  /** Clusters in which a member started over within the window. */
  readonly excused = new Set<ClusterId>();
  /** Reasons why a check was skipped in this history, for the report. */
  readonly excuses = new Set<Excuse>();
  /** Uids of objects that the operator made. */
  readonly made = new Set<string>();
  readonly #madeNames = new Set<string>();
  /**
   * Data that a stop would lose although no quorum has it, one entry per decision, with its world time. The key is the
   * uid of a pod that is to be stopped, or of an EtcdCluster that is to fall asleep. A late write may belong to any of
   * the decisions.
   */
  readonly doomed = new Map<string, { readonly atMs: number; readonly loss: string | undefined }[]>();
  /**
   * Resource version of a paused EtcdCluster when a person paused it, by its uid. Clusters that are being deleted are
   * left out.
   */
  readonly pauses = new Map<string, string>();
  /**
   * Pause of the cluster at each decision to delete an object, with its world time, by the uid of the object.
   * Undefined: not paused.
   */
  readonly deletionDecisions = new Map<string, { readonly atMs: number; readonly pause: string | undefined }[]>();
  /** Members for which there ever was a claim. */
  readonly claimed = new Set<string>();
  /** IDs of the members with a claim at each decision to record an identity, by cluster ID. A write may come late. */
  readonly claimedWhenDecided = new Map<string, ReadonlySet<string>[]>();
  /** Members that are removed because a person asked for fewer. */
  readonly toGo = new Set<string>();
  /** The smallest number of members that was ever asked for, by uid of the EtcdCluster. */
  readonly fewestAsked = new Map<string, number>();
  /** The last step in which a majority of the voters ran, by cluster ID. */
  readonly lastQuorum = new Map<string, number>();
  /** The last step in which a quorum confirmed the member list, by cluster ID. */
  readonly lastListed = new Map<string, number>();
  /** The last step in which the operator was served through the Service, by its uid. */
  readonly lastServed = new Map<string, number>();
  /** The last step in which the member ran. */
  readonly lastRun = new Map<string, number>();
  /**
   * The last step in which the member was well: it ran, was reachable, followed a leader, and had no corruption alarm.
   */
  readonly lastWell = new Map<string, number>();
  /** The last period in which the member was well without a break. */
  readonly wellMs = new Map<string, { from: number; until: number; fromStep: number }>();
  /**
   * The last period in which the member took part in the quorum without a break, whether or not the operator could see
   * it.
   */
  readonly tookPartMs = new Map<string, { from: number; until: number; step: number }>();
  /** World time since which a member has been a learner or unstarted and could have had a pod. */
  readonly arrivingSinceMs = new Map<string, number>();
  /** The namespace and name of the EtcdCluster for which members of a cluster ID were started. */
  readonly places = new Map<ClusterId, string>();
  /** Cluster IDs with a leader, by uid of the EtcdCluster. */
  readonly led = new Map<string, Set<ClusterId>>();
  /** Clusters that were put to sleep and woken, and when. */
  readonly sleep = new SleepMemory();
  /** Writes to Secrets and their authors. */
  readonly tls = new TlsMemory();
  /** Changes of etcd's users and their authors. */
  readonly auth = new AuthMemory();
  readonly access = new AccessMemory();
  /** The releases that people have ever asked for. */
  readonly versions = new Set<string>();
  /** Whether pods disappear only by evictions that honour the budget. */
  readonly hasOnlyEvictions: boolean;

  constructor(hasOnlyEvictions = false) {
    this.hasOnlyEvictions = hasOnlyEvictions;
  }

  /** Records what the event means for later ones. Runs after the promises were checked. */
  note(event: WorldEvent, world: World): void {
    if (event.is === "started" && event.amnesia) this.#noteAmnesia(event.process);
    this.auth.note(event, world);
    this.access.note(event, world);
    if (event.is === "write") this.#noteWrite(event, world);
    else if (event.is === "acts") this.#noteAct(event, world);
    else if (event.is === "served") this.lastServed.set(event.service, world.step);
    else if (event.is === "listed") this.lastListed.set(hexOf(event.clusterId), world.step);
    else if (event.is === "step" || event.is === "started" || event.is === "elected") this.#noteRunning(world);
  }

  #noteWrite(event: WorldEvent & { is: "write" }, world: World): void {
    const { actor, verb, before, after, resource } = event;
    this.tls.note(event, world.time.nowMs, this.led);
    if (after === undefined) {
      this.pauses.delete(before?.metadata.uid ?? "");
      return;
    }
    const { uid, annotations } = after.metadata;
    if (verb === "create") {
      const name = `${resource.plural}/${after.metadata.name} of ${controllerOf(after)?.uid}`;
      // A restored Secret belongs to the operator again: its owner reference names its EtcdCluster.
      if (actor === "operator" || (resource === SECRETS && this.#madeNames.has(name))) this.made.add(uid);
      if (actor === "operator") this.#madeNames.add(name);
    }
    switch (resource) {
      case ETCD_CLUSTERS: {
        const { replicas, version } = (after as EtcdCluster).spec;
        this.versions.add(version);
        if (pauseOf(after as EtcdCluster) === undefined) this.pauses.delete(uid);
        else if (!this.pauses.has(uid)) this.pauses.set(uid, after.metadata.resourceVersion);
        this.sleep.note(before as EtcdCluster | undefined, after as EtcdCluster, world.time.nowMs);
        // `replicas: 0` puts the cluster to sleep. It does not ask for the removal of members.
        if (replicas > 0) this.fewestAsked.set(uid, Math.min(replicas, this.fewestAsked.get(uid) ?? replicas));
        break;
      }
      case ETCD_PEERS:
        this.#memberOfPeer.set(uid, keyOfMember((after as EtcdPeer).spec));
        if (annotations?.[REMOVAL_ANNOTATION] === "scale-down" && annotations !== before?.metadata.annotations)
          this.#noteGoing(after as EtcdPeer, world);
        break;
      case PERSISTENT_VOLUME_CLAIMS:
        this.claimed.add(`${annotations?.[CLAIM_CLUSTER_ID_ANNOTATION]}/${annotations?.[CLAIM_MEMBER_ID_ANNOTATION]}`);
        break;
      case REPLICA_SETS: {
        // The operator's cache may still show an EtcdPeer that has been deleted, and the ReplicaSet is made for it.
        const key = memberOf(after as ReplicaSet, world) ?? this.#memberOfPeer.get(controllerOf(after)?.uid ?? "");
        if (key !== undefined && actor === "operator") this.#noteTemplate(key, after as ReplicaSet);
        if (isStartedWhileWaking(before as ReplicaSet | undefined, after as ReplicaSet, world)) this.wokenSets.add(uid);
        break;
      }
      case PODS:
        if (
          verb === "create" &&
          canStartEmpty(flagsOf(after as Pod)) &&
          this.windowSets.has(controllerOf(after)?.uid ?? "") &&
          !this.wokenSets.has(controllerOf(after)?.uid ?? "")
        )
          this.windowPods.add(uid);
        break;
    }
  }

  #noteAmnesia({ podUid, data }: Process): void {
    if (!this.windowPods.has(podUid)) return;
    this.excused.add(data.clusterId);
    this.excuses.add("window");
  }

  #noteTemplate(key: string, set: ReplicaSet): void {
    if (!templateCanStartEmpty(set)) this.fenced.add(key);
    else if (this.fenced.has(key)) this.windowSets.delete(set.metadata.uid);
    else this.windowSets.add(set.metadata.uid);
  }

  #noteAct(event: WorldEvent & { is: "acts" }, { api }: World): void {
    this.#noteRestored(event);
    if (!("identity" in event.step)) return;
    const { clusterID } = event.step.identity;
    const ids = api.list(PERSISTENT_VOLUME_CLAIMS).flatMap(({ metadata: { annotations, deletionTimestamp } }) => {
      if (deletionTimestamp !== undefined || annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] !== clusterID) return [];
      return annotations[CLAIM_MEMBER_ID_ANNOTATION] ?? [];
    });
    const before = this.claimedWhenDecided.get(clusterID) ?? [];
    this.claimedWhenDecided.set(clusterID, [...before, new Set(ids)]);
  }

  /**
   * Lifts the fence of an unstarted member. While etcd is unreachable, a member that may have joined gets its EtcdPeer
   * back with the fence. If etcd then lists the member as unstarted, the quorum has never relied on its memory, and a
   * new EtcdPeer may let it join.
   */
  #noteRestored({ step, lookedFrom }: WorldEvent & { is: "acts" }): void {
    if (step.do !== "createPeer" || step.peer.spec?.bootstrap === undefined) return;
    const key = `${step.peer.spec.clusterID}/${step.peer.spec.memberID}`;
    if ((this.lastUnstarted.get(key) ?? -1) >= lookedFrom - 1) this.fenced.delete(key);
  }

  /** Records a removal for scale-down. While no member answers, only EtcdPeers show it. */
  #noteGoing(peer: EtcdPeer, world: World): void {
    const key = `${peer.spec.clusterID}/${peer.spec.memberID}`;
    const { members, foreign } = world.etcd.truth.named(peer.spec.clusterID) ?? {
      members: new Map(),
      foreign: new Set(),
    };
    const voters = votersIn({ members }).filter((id) => !foreign.has(id)).length;
    const fewest = this.fewestAsked.get(controllerOf(peer)?.uid ?? "") ?? Number.POSITIVE_INFINITY;
    // With as many voters as were asked for, a learner is already one member too many.
    const isLearner = [...members.values()].some(({ id, isLearner: is }) => is && hexOf(id) === peer.spec.memberID);
    if (fewest < voters || (isLearner && fewest <= voters)) this.toGo.add(key);
  }

  #noteRunning(world: World): void {
    const running = new Map<ClusterId, number>();
    this.#noteArriving(world);
    for (const process of world.etcd.processes.values()) {
      const { data, isHidden, isPublished, leaderId } = process;
      this.#noteTakesPart(process, world);
      this.lastRun.set(memberKey(data), world.step);
      const isInDoubt = world.etcd.truth.of(data.clusterId).alarms.has(data.memberId);
      if (!isHidden && isPublished && leaderId !== undefined && !isInDoubt) this.#noteWell(memberKey(data), world);
      const voters = votersNow(world, data);
      if (!voters.includes(data.memberId)) continue;
      const count = (running.get(data.clusterId) ?? 0) + 1;
      running.set(data.clusterId, count);
      if (count >= quorumOf(voters.length)) this.lastQuorum.set(hexOf(data.clusterId), world.step);
    }
  }

  #noteTakesPart(process: Process, { etcd, step, time }: World): void {
    if (etcd.leaderOf(process) === undefined || etcd.truth.of(process.data.clusterId).alarms.has(process.data.memberId))
      return;
    const key = memberKey(process.data);
    const before = this.tookPartMs.get(key);
    const from = before !== undefined && before.step >= step - 1 ? before.from : time.nowMs;
    this.tookPartMs.set(key, { from, until: time.nowMs, step });
  }

  #noteArriving(world: World): void {
    for (const clusterId of new Set([...world.etcd.processes.values()].map(({ data }) => data.clusterId)))
      for (const { id: memberId, isLearner, isAnnounced, name } of world.etcd.truth.of(clusterId).members.values()) {
        const key = memberKey({ clusterId, memberId });
        if (!isAnnounced) this.lastUnstarted.set(key, world.step);
        if (!isLearner && name !== "") this.arrivingSinceMs.delete(key);
        else if (!this.arrivingSinceMs.has(key) || isRefusedPod(world, clusterId, memberId))
          this.arrivingSinceMs.set(key, world.time.nowMs);
      }
  }

  #noteWell(key: string, { step, time }: World): void {
    const goesOn = (this.lastWell.get(key) ?? -2) >= step - 1;
    const before = goesOn ? this.wellMs.get(key) : undefined;
    this.lastWell.set(key, step);
    const { from, fromStep } = before ?? { from: time.nowMs, fromStep: step };
    this.wellMs.set(key, { from, until: time.nowMs, fromStep });
  }
}

/**
 * Whether the member has no pod because the API server refuses pods or ReplicaSets: its joining time then stands still.
 */
function isRefusedPod({ api }: World, clusterId: ClusterId, memberId: MemberId): boolean {
  if (!api.admission.has(PODS.plural) && !api.admission.has(REPLICA_SETS.plural)) return false;
  const isOf = ({ spec }: EtcdPeer) => spec.clusterID === hexOf(clusterId) && spec.memberID === hexOf(memberId);
  const peer = api.list(ETCD_PEERS).find(isOf);
  return peer !== undefined && !api.list(PODS).some(({ spec }) => spec?.hostname === peer.metadata.name);
}

/** Voters of the last leader's member list, or of the member's own before there was a leader. */
function votersNow(world: World, data: MemberData): readonly MemberId[] {
  const cluster = world.etcd.truth.of(data.clusterId);
  return cluster.members.size > 0 ? votersIn(cluster) : votersOf(data);
}

/** A promise of the operator, and the check that finds its violation. */
export interface Invariant {
  readonly name: string;
  /** The promise, as a person would read it. */
  readonly promise: string;
  /** The violation that the event shows; `undefined` when there is none. */
  breaks(event: WorldEvent, world: World, memory: Memory): string | undefined;
}

function isStartedWhileWaking(before: ReplicaSet | undefined, after: ReplicaSet, world: World): boolean {
  if (before?.spec?.replicas !== 0 || after.spec?.replicas === 0) return false;
  const peer = world.api.byUid(ETCD_PEERS, controllerOf(after)?.uid);
  return ownerIn(world, peer)?.status?.sleep !== undefined;
}

export function templateCanStartEmpty(set: ReplicaSet): boolean {
  const { metadata, spec } = set.spec?.template ?? {};
  return canStartEmpty(flagsOf({ metadata: metadata ?? {}, spec } as Parameters<typeof flagsOf>[0]));
}

/** The member that the ReplicaSet runs. */
export function memberOf(set: ReplicaSet, world: World): string | undefined {
  const spec = world.api.byUid(ETCD_PEERS, controllerOf(set)?.uid)?.spec;
  return spec?.memberID === undefined ? undefined : keyOfMember(spec);
}

function keyOfMember({ clusterID, memberID }: EtcdPeer["spec"]): string {
  return `${clusterID}/${memberID}`;
}

export function ownerIn(world: World, object: KubeObject | undefined): EtcdCluster | undefined {
  return object === undefined ? undefined : world.api.byUid(ETCD_CLUSTERS, controllerOf(object)?.uid);
}

export function identityOf(object: KubeObject | undefined): ClusterIdentity | undefined {
  return (object as EtcdCluster | undefined)?.status?.identity;
}

export function withoutJoined({ initialMembers, adopting: _, ...rest }: ClusterIdentity): object {
  return { ...rest, initialMembers: initialMembers.map(({ name, id }) => ({ name, id })) };
}
