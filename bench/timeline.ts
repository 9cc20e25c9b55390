import { ETCD_CONTAINER } from "#api/names.ts";
import { Cache } from "#kube/cache.ts";
import type { KubeClient } from "#kube/client.ts";
import { type KubeObject, PODS, type Pod, REPLICA_SETS, type Resource } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";
import { OPTIONS } from "./kube.ts";

/** Seconds from the creation until the last member reached each stage; undefined where the stage does not exist. */
export interface Stages {
  /** Creation of the ReplicaSet. */
  readonly replicaSet: number | undefined;
  /** Creation of the pod. */
  readonly pod: number | undefined;
  /** Binding of the pod to a node. */
  readonly scheduled: number | undefined;
  /** Running pod with an address. */
  readonly running: number | undefined;
}

/** Times at which objects of one namespace are first seen. Two watches are its only requests to the API server. */
export class Timeline {
  readonly #pods: Cache<Pod>;
  readonly #caches: readonly Cache<KubeObject>[];
  /** Times by stage and object's UID, in milliseconds. */
  readonly #seen = new Map<keyof Stages, Map<string, number>>();
  #startMs = 0;

  constructor(kube: KubeClient, namespace: string) {
    const follow = <T extends KubeObject>(resource: Resource<T>) =>
      new Cache<T>({ client: kube, resource, namespace, freeze: false });
    this.#pods = follow(PODS);
    const replicaSets = follow(REPLICA_SETS);
    this.#caches = [this.#pods, replicaSets] as readonly Cache<KubeObject>[];
    replicaSets.onChange(({ object }) => this.#note("replicaSet", object));
    this.#pods.onChange(({ object }) => this.#notePod(object));
  }

  /** Waits until the caches have synced. Call `start` right before creating objects. */
  async ready(): Promise<void> {
    for (const cache of this.#caches) cache.start(OPTIONS.signal);
    await Promise.all(this.#caches.map((cache) => cache.whenSynced(OPTIONS.signal)));
  }

  start(): void {
    this.#startMs = performance.now();
  }

  elapsedSeconds(): number {
    return (performance.now() - this.#startMs) / 1000;
  }

  /** Pods that are not being deleted. */
  pods(): readonly Pod[] {
    return this.#pods.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  stages(): Stages {
    const last = (stage: keyof Stages) => {
      const times = [...(this.#seen.get(stage)?.values() ?? [])];
      return times.length === 0 ? undefined : (Math.max(...times) - this.#startMs) / 1000;
    };
    return {
      replicaSet: last("replicaSet"),
      pod: last("pod"),
      scheduled: last("scheduled"),
      running: last("running"),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#caches.map((cache) => cache.stop()));
  }

  #notePod(pod: Pod): void {
    this.#note("pod", pod);
    if (pod.spec?.nodeName !== undefined) this.#note("scheduled", pod);
    if (dialAddress(pod, ETCD_CONTAINER, 0) !== undefined) this.#note("running", pod);
  }

  #note(stage: keyof Stages, { metadata }: KubeObject): void {
    const times = this.#seen.get(stage) ?? new Map<string, number>();
    this.#seen.set(stage, times);
    if (!times.has(metadata.uid)) times.set(metadata.uid, performance.now());
  }
}
