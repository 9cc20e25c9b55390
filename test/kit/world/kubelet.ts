import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import type { Clock } from "#base/clock.ts";
import { rfc3339 } from "#base/timestamp.ts";
import {
  controllerOf,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  REPLICA_SETS,
  type ReplicaSet,
} from "#kube/kinds.ts";
import type { ApiServer } from "./api.ts";
import {
  endedStatus,
  evictedStatus,
  isHeldUp,
  isOver,
  lacksVolume,
  MOST_CPUS,
  podStatus,
  whyItCannotStart,
  whyItEnded,
} from "./containers.ts";
import type { Disk } from "./disk.ts";
import type { Etcd } from "./etcd.ts";
import { flagsOf } from "./flags.ts";
import { Mounts } from "./mounts.ts";
import { PodEnds } from "./pod-ends.ts";
import type { Random } from "./random.ts";
import { reachesItself, speechesOf } from "./tls.ts";

export interface WorldNode {
  readonly name: string;
  isUp: boolean;
  /** Since when its kubelet cannot reach the API server, in simulated time. Containers on the node run on. */
  cutSinceMs: number | undefined;
  /**
   * Until when its kubelet does not update Secrets in running pods, in simulated time: its `syncFrequency` is low, or
   * it is busy.
   */
  bringsFromMs: number;
}

interface Parts {
  readonly api: ApiServer;
  readonly etcd: Etcd;
  readonly random: Random;
  readonly nowMs: () => number;
  readonly clock: Clock;
  readonly tell: (text: string) => void;
  /** Volumes are local to one node, which ties their pods to that node. */
  readonly hasLocalVolumes: boolean;
  /** A claim is bound only when a pod that uses it is to be scheduled: `volumeBindingMode: WaitForFirstConsumer`. */
  readonly bindsLate: boolean;
  /** How long a deleted pod exists at most after its etcd has ended, in milliseconds. */
  readonly slowestEndMs: number;
}

type PodStatus = NonNullable<Pod["status"]>;

const NODES = 4;
/**
 * After this time without contact to a node, its pods are marked not Ready (`--node-monitor-grace-period`, 50 s since
 * 1.32).
 */
const NODE_GRACE_MS = 50_000;
/**
 * After this further time its pods are evicted (`tolerationSeconds` of each pod:
 * https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
 */
const EVICT_AFTER_MS = 300_000;
/** Few addresses, so that another pod soon has the same one, and a stale cache leads to the wrong member. */
const ADDRESSES = 9;

/**
 * Makes pods and runs their containers: ReplicaSet controller, scheduler, provisioner and kubelets. Each method is one
 * step, and returns whether there was anything to do.
 */
export class Kubelets {
  readonly nodes: readonly WorldNode[] = Array.from({ length: NODES }, (_, n) => ({
    name: `node-${n}`,
    isUp: true,
    cutSinceMs: undefined,
    bringsFromMs: 0,
  }));
  readonly disks = new Map<string, Disk & { readonly node: string | undefined }>();
  /** Uids of pods with a sidecar that worked before and is now crash looping. */
  readonly illAgents = new Set<string>();
  readonly #ends: PodEnds;
  /** Secrets mounted in pods. */
  readonly mounts: Mounts;
  /** How many more claims can be bound. */
  volumesLeft = Number.POSITIVE_INFINITY;
  readonly #parts: Parts;
  /** Addresses of sandboxes by their pods' uids. A pod gets a new address after its node has restarted. */
  readonly #sandboxes = new Map<string, string>();
  /** The ReplicaSet controller's cache, which can be stale: the last state that it saw of each ReplicaSet. */
  readonly #seenSets = new Map<string, ReplicaSet>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#ends = new PodEnds(parts);
    this.mounts = new Mounts(parts.api, parts.nowMs, (pod) => this.#nodeOf(pod));
  }

  /** The ReplicaSet controller sees the newest state of a ReplicaSet, and reports it in the status. */
  noticeReplicaSet(): boolean {
    const { api } = this.#parts;
    const set = this.#pick(api.list(REPLICA_SETS).filter((each) => this.#seenSets.get(each.metadata.uid) !== each));
    if (set === undefined) return false;
    const status = { ...set.status, observedGeneration: set.metadata.generation } as NonNullable<ReplicaSet["status"]>;
    this.#seenSets.set(set.metadata.uid, api.update("kubernetes", REPLICA_SETS, set, { status }));
    return true;
  }

  /** The ReplicaSet controller makes a missing pod, or reports why it may not, and deletes a surplus one. */
  syncPods(): boolean {
    const { api, random } = this.#parts;
    if (this.#deleteSurplus()) return true;
    const set = this.#pick(
      api.list(REPLICA_SETS).filter(({ metadata }) => {
        const seen = this.#seenSets.get(metadata.uid);
        if (seen === undefined || metadata.deletionTimestamp !== undefined) return false;
        return this.#podsOf(seen).filter((pod) => isWanted(pod) && !isOver(pod)).length < (seen.spec?.replicas ?? 1);
      }),
    );
    const seen = this.#seenSets.get(set?.metadata.uid ?? "");
    if (set === undefined || seen === undefined) return false;
    const refusal = api.refusal("kubernetes", PODS, "create");
    if (refusal !== undefined) return this.#sayRefused(set, refusal);
    this.#sayRefused(set, undefined);
    const template = seen.spec?.template;
    const { namespace, name, uid } = set.metadata;
    api.create<Pod>("kubernetes", PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        namespace,
        name: `${name}-${random.below(0x100000).toString(36)}`,
        labels: template?.metadata?.labels ?? {},
        annotations: template?.metadata?.annotations ?? {},
        ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name, uid, controller: true }],
      },
      spec: template?.spec as NonNullable<Pod["spec"]>,
    });
    return true;
  }

  #deleteSurplus(): boolean {
    const { api } = this.#parts;
    for (const { metadata } of api.list(REPLICA_SETS)) {
      const seen = this.#seenSets.get(metadata.uid);
      const pods = seen === undefined || metadata.deletionTimestamp !== undefined ? [] : this.#podsOf(seen);
      const wanted = pods.filter((pod) => isWanted(pod) && !isOver(pod));
      const [surplus] = wanted.slice(seen?.spec?.replicas ?? 1);
      if (surplus === undefined) continue;
      api.delete("kubernetes", PODS, surplus.metadata);
      return true;
    }
    return false;
  }

  /**
   * Sets condition ReplicaFailure: `SetCondition` in pkg/controller/replicaset/replica_set_utils.go.
   * @returns whether the status has changed
   */
  #sayRefused(set: ReplicaSet, message: string | undefined): boolean {
    const { api, nowMs } = this.#parts;
    const { conditions: before, ...rest } = set.status ?? { replicas: 0 };
    if ((before?.[0]?.message ?? undefined) === message) return false;
    const lastTransitionTime = rfc3339(nowMs());
    const failure = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message, lastTransitionTime };
    const status = { ...rest, ...(message === undefined ? {} : { conditions: [failure] }) } as ReplicaSet["status"];
    api.update("kubernetes", REPLICA_SETS, set, { status } as Partial<ReplicaSet>);
    return true;
  }

  /** Binds a claim to a new volume. */
  provision(): boolean {
    const { api, random, hasLocalVolumes } = this.#parts;
    const claim = this.#pick(api.list(PERSISTENT_VOLUME_CLAIMS).filter((each) => this.#wantsVolume(each)));
    if (claim === undefined) return false;
    const volumeName = `volume-of-${claim.metadata.uid}`;
    const node = hasLocalVolumes ? random.pick(this.nodes.filter(isHeard))?.name : undefined;
    if (hasLocalVolumes && node === undefined) return false;
    this.volumesLeft -= 1;
    this.disks.set(volumeName, { id: volumeName, data: undefined, heldBy: undefined, node });
    api.update("kubernetes", PERSISTENT_VOLUME_CLAIMS, claim, {
      spec: { ...claim.spec, volumeName },
      status: { phase: "Bound" },
    } as Partial<PersistentVolumeClaim>);
    return true;
  }

  /** No claim can be bound any more. */
  get isOutOfVolumes(): boolean {
    return this.volumesLeft <= 0;
  }

  set isOutOfVolumes(isOut: boolean) {
    this.volumesLeft = isOut ? 0 : Number.POSITIVE_INFINITY;
  }

  #wantsVolume({ metadata, spec }: PersistentVolumeClaim): boolean {
    if (this.isOutOfVolumes || metadata.deletionTimestamp !== undefined || spec?.volumeName !== undefined) return false;
    const isUsed = () =>
      this.#pods().some((pod) => pod.spec?.nodeName === undefined && claimNameOf(pod) === metadata.name);
    return !this.#parts.bindsLate || isUsed();
  }

  /** Schedules a pod, if its claim is bound and not being deleted, and its volume is available on the node. */
  schedule(): boolean {
    const { api } = this.#parts;
    for (const pod of this.#shuffled(this.#pods().filter(({ spec }) => spec?.nodeName === undefined))) {
      if (isTooLarge(pod)) {
        if (this.#sayUnscheduled(pod)) return true;
        continue;
      }
      const disk = this.#diskOf(pod);
      if (disk === undefined) continue;
      const node = this.#pick(this.nodes.filter((each) => isHeard(each) && (disk.node ?? each.name) === each.name));
      if (node === undefined) continue;
      api.update("kubernetes", PODS, pod, { spec: { ...pod.spec, nodeName: node.name } } as Partial<Pod>);
      return true;
    }
    return false;
  }

  #sayUnscheduled(pod: Pod): boolean {
    const { api } = this.#parts;
    const conditions = [
      {
        type: "PodScheduled",
        status: "False",
        reason: "Unschedulable",
        message: "0/4 nodes are available: 4 Insufficient cpu.",
      },
    ];
    const status = { phase: "Pending", conditions } as PodStatus;
    return api.update("kubernetes", PODS, pod, { status } as Partial<Pod>) !== pod;
  }

  /** A kubelet starts the container of a pod, for the first time or again. */
  startContainer(): boolean {
    const { etcd, random, tell } = this.#parts;
    const idle = this.#pods().filter(
      (pod) => pod.metadata.deletionTimestamp === undefined && !isOver(pod) && this.isHeardOf(pod),
    );
    for (const pod of this.#shuffled(idle.filter(({ metadata }) => !etcd.processes.has(metadata.uid)))) {
      const disk = this.#diskOf(pod);
      if (disk === undefined || disk.heldBy !== undefined || this.#isMountedElsewhere(pod)) continue;
      if (this.mounts.prepare(pod) !== undefined) {
        if (this.#setStatus(pod, undefined, undefined)) return true;
        continue;
      }
      if (isHeldUp(pod)) {
        const sandbox = lacksVolume(pod) ? undefined : this.#addressOf(pod);
        if (this.#setStatus(pod, sandbox, undefined)) return true;
        continue;
      }
      const address = this.#addressOf(pod);
      const broken = whyItCannotStart(pod);
      if (broken !== undefined) {
        if (this.#setStatus(pod, address, broken)) return true;
        continue;
      }
      const flags = flagsOf(pod);
      const speeches = speechesOf(pod, (name) => this.mounts.of(pod, name));
      const { uid } = pod.metadata;
      const started = etcd.start({ uid, address, clusterUid: this.clusterOf(pod), speeches }, disk, flags);
      const ended = typeof started === "string" ? started : undefined;
      if (ended !== undefined) tell(`etcd of ${flags.name} ends at once: ${ended}`);
      // The kubelet reports it later; see `report`.
      if (ended === undefined && random.chance(0.3)) return true;
      if (this.#setStatus(pod, address, ended) || ended === undefined) return true;
    }
    return false;
  }

  /** A kubelet reports whether a container runs and is ready. */
  report(): boolean {
    const { api, etcd, nowMs } = this.#parts;
    for (const pod of this.#shuffled(this.#pods().filter((each) => this.isHeardOf(each)))) {
      const process = etcd.processes.get(pod.metadata.uid);
      const podIP = process?.address ?? this.#sandboxes.get(pod.metadata.uid) ?? pod.status?.podIP;
      if (podIP === undefined || isOver(pod) || isHeldUp(pod) || this.mounts.prepare(pod) !== undefined) continue;
      if (process === undefined && this.#ends.has(pod)) {
        const status = endedStatus(pod, rfc3339(nowMs()));
        api.update("kubernetes", PODS, pod, { status } as Partial<Pod>);
        return true;
      }
      const why = process === undefined ? (whyItCannotStart(pod) ?? whyItEnded(pod)) : undefined;
      if (this.#setStatus(pod, podIP, why)) return true;
    }
    return false;
  }

  /** A deleted pod comes nearer to its end: its containers end, and later the pod is removed. */
  endPod(): boolean {
    const ending = this.#pods().filter(
      (pod) =>
        pod.metadata.deletionTimestamp !== undefined && (pod.spec?.nodeName === undefined || this.isHeardOf(pod)),
    );
    return this.#shuffled(ending).some((pod) => this.#end(pod));
  }

  #end(pod: Pod): boolean {
    const { api, etcd, tell } = this.#parts;
    const { uid, name } = pod.metadata;
    const next = this.#ends.next(pod, etcd.processes.has(uid));
    if (next === "stopEtcd") {
      tell(`etcd of ${name} has ended`);
      etcd.stop(uid);
    } else if (next === "remove") api.remove(PODS, pod);
    return next !== undefined;
  }

  /**
   * A node runs out of resources. Its kubelet ends a pod, which stays on record, and the ReplicaSet controller makes a
   * new one.
   */
  evictForWant(): boolean {
    const { api, etcd, nowMs, tell } = this.#parts;
    const pod = this.#pick(this.#pods().filter((each) => isWanted(each) && !isOver(each) && this.isHeardOf(each)));
    if (pod === undefined) return false;
    tell(`${pod.spec?.nodeName} runs short, and ends ${pod.metadata.name}`);
    etcd.stop(pod.metadata.uid);
    this.#sandboxes.delete(pod.metadata.uid);
    api.update("kubernetes", PODS, pod, { status: evictedStatus(pod, rfc3339(nowMs())) } as Partial<Pod>);
    return true;
  }

  /** Stops etcd in a pod; the kubelet starts it again. */
  killContainer(pod: Pod): void {
    this.#parts.etcd.stop(pod.metadata.uid);
  }

  /**
   * All containers on the node stop. Its pods stay on record; another pod may have their addresses when they run again.
   */
  nodeDown(node: WorldNode): void {
    node.isUp = false;
    for (const pod of this.#pods().filter(({ spec }) => spec?.nodeName === node.name)) {
      this.killContainer(pod);
      this.#sandboxes.delete(pod.metadata.uid);
      this.mounts.forget(pod);
    }
  }

  /**
   * The node controller deletes the pods of a node that is down. The ReplicaSet controller makes new ones once they are
   * gone.
   */
  evict(): boolean {
    const { api } = this.#parts;
    const down = new Set(this.nodes.filter(({ isUp }) => !isUp).map(({ name }) => name));
    const pod = this.#pick(
      this.#pods().filter(
        (each) => down.has(each.spec?.nodeName ?? "") && each.metadata.deletionTimestamp === undefined,
      ),
    );
    if (pod !== undefined) api.delete("kubernetes", PODS, pod.metadata);
    return pod !== undefined;
  }

  /** The node controller marks pods on an unreachable node as not Ready. */
  markUnheard(): boolean {
    const pod = this.#pods().find((each) => this.#unheardForMs(each) >= NODE_GRACE_MS && isReady(each));
    if (pod === undefined) return false;
    const conditions = [{ type: "Ready", status: "False", lastTransitionTime: rfc3339(this.#parts.nowMs()) }];
    const status = { ...pod.status, conditions } as PodStatus;
    this.#parts.api.update("kubernetes", PODS, pod, { status } as Partial<Pod>);
    return true;
  }

  /**
   * The node controller evicts pods from an unreachable node. Their containers run on and keep their volumes, for which
   * the new pods wait.
   */
  evictUnheard(): boolean {
    const pod = this.#pods().find(
      (each) => this.#unheardForMs(each) >= NODE_GRACE_MS + EVICT_AFTER_MS && isWanted(each),
    );
    if (pod !== undefined) this.#parts.api.delete("kubernetes", PODS, pod.metadata);
    return pod !== undefined;
  }

  #unheardForMs({ spec }: Pod): number {
    const since = this.nodes.find(({ name }) => name === spec?.nodeName)?.cutSinceMs;
    return since === undefined ? 0 : this.#parts.nowMs() - since;
  }

  /** Uid of the EtcdCluster that owns the pod through its ReplicaSet and EtcdPeer, whether or not these still exist. */
  clusterOf(pod: KubeObject): string | undefined {
    const { api } = this.#parts;
    const set = api.byUid(REPLICA_SETS, controllerOf(pod)?.uid);
    const peer = set === undefined ? undefined : api.byUid(ETCD_PEERS, controllerOf(set)?.uid);
    const cluster = peer === undefined ? undefined : api.byUid(ETCD_CLUSTERS, controllerOf(peer)?.uid);
    return cluster?.metadata.uid;
  }

  /** The volume of the pod's claim; `undefined` unless the claim is bound and not being deleted. */
  #diskOf(pod: Pod): (Disk & { readonly node: string | undefined }) | undefined {
    const claim = this.#parts.api.find(PERSISTENT_VOLUME_CLAIMS, {
      namespace: pod.metadata.namespace,
      name: claimNameOf(pod) ?? "",
    });
    // A pod that has started keeps its volume although the claim is being deleted.
    if (claim?.metadata.deletionTimestamp !== undefined && pod.status?.podIP === undefined) return undefined;
    return this.disks.get(claim?.spec?.volumeName ?? "");
  }

  /**
   * A node detaches a volume when the pod there has ended; only then can another node attach it: `Multi-Attach error`.
   * From a node that is down, the volume is taken by force.
   */
  #isMountedElsewhere({ metadata, spec }: Pod): boolean {
    const claim = claimNameOf({ metadata, spec } as Pod);
    return this.#pods().some(
      (other) =>
        other.metadata.uid !== metadata.uid &&
        !isOver(other) &&
        claimNameOf(other) === claim &&
        other.metadata.namespace === metadata.namespace &&
        other.spec?.nodeName !== spec?.nodeName &&
        this.isHeardOf(other),
    );
  }

  #pods(): readonly Pod[] {
    return this.#parts.api.list(PODS);
  }

  #podsOf(set: ReplicaSet): readonly Pod[] {
    return this.#pods().filter((pod) => controllerOf(pod)?.uid === set.metadata.uid);
  }

  /** Whether the kubelet of the pod's node runs and can reach the API server. */
  isHeardOf(pod: Pod): boolean {
    return this.#nodeOf(pod) !== undefined;
  }

  #nodeOf({ spec }: Pod): WorldNode | undefined {
    return this.nodes.find((node) => isHeard(node) && node.name === spec?.nodeName);
  }

  #addressOf({ metadata }: Pod): string {
    const address = this.#sandboxes.get(metadata.uid) ?? this.#freeAddress();
    this.#sandboxes.set(metadata.uid, address);
    return address;
  }

  #freeAddress(): string {
    const running = [...this.#parts.etcd.processes.values()].map(({ address }) => address);
    const taken = new Set([...this.#pods().map(({ metadata }) => this.#sandboxes.get(metadata.uid)), ...running]);
    const all = Array.from({ length: ADDRESSES + taken.size }, (_, n) => `10.0.0.${n + 1}`);
    return this.#pick(all.filter((address) => !taken.has(address))) ?? "10.0.1.1";
  }

  /** @param ended why etcd's container does not run; undefined while it runs */
  #setStatus(pod: Pod, podIP: string | undefined, ended: string | undefined): boolean {
    const { api, etcd, nowMs } = this.#parts;
    const process = etcd.processes.get(pod.metadata.uid);
    const isServing = process?.isPublished === true && etcd.leaderOf(process) !== undefined;
    // The startup probe calls the client port until it succeeds once. After that, only the metrics port is probed.
    if (process !== undefined && isServing) process.hasStarted ||= reachesItself(process.speeches, nowMs());
    const serves = isServing && process.hasStarted;
    const status = podStatus(pod, {
      podIP,
      ended,
      serves,
      isUnmounted: this.mounts.prepare(pod) !== undefined,
      isAgentIll: this.illAgents.has(pod.metadata.uid),
      now: rfc3339(nowMs()),
    });
    return api.update("kubernetes", PODS, pod, { status } as Partial<Pod>) !== pod;
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return this.#parts.random.pick(items);
  }

  #shuffled<T>(items: readonly T[]): readonly T[] {
    const from = this.#parts.random.below(Math.max(1, items.length));
    return [...items.slice(from), ...items.slice(0, from)];
  }
}

export function claimNameOf(pod: Pod): string | undefined {
  return pod.spec?.volumes?.find(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined)
    ?.persistentVolumeClaim?.claimName;
}

/** Whether the kubelet of the node runs and can reach the API server. */
function isHeard({ isUp, cutSinceMs }: WorldNode): boolean {
  return isUp && cutSinceMs === undefined;
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
}

function isWanted(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined;
}

function isTooLarge({ spec }: Pod): boolean {
  const etcd = spec?.containers?.find(({ name }) => name === "etcd");
  return Number(etcd?.resources?.requests?.cpu ?? 0) > MOST_CPUS;
}
