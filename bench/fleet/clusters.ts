import { setTimeout as sleep } from "node:timers/promises";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { Cache } from "#kube/cache.ts";
import type { KubeClient } from "#kube/client.ts";
import { etcdCluster, isReady, OPTIONS } from "../kube.ts";
import { until } from "../until.ts";

/** Create requests in flight at a time. */
const AT_ONCE = 20;
/** Interval between two checks whether the next cluster may be created, in milliseconds. */
const LOOK_MS = 20;

/** The EtcdClusters of the fleet, with the time at which the operator first reported each Ready. */
export class Clusters {
  /** Namespaces over which the clusters are spread in turn. */
  readonly namespaces: readonly string[];
  /** Members with which each cluster is created. */
  readonly members: number;
  readonly #kube: KubeClient;
  readonly #tls: "Default" | "None";
  readonly #cache: Cache<EtcdCluster>;
  readonly #stop = new AbortController();
  /** Time at which each cluster was first Ready, in milliseconds of `performance.now()`. */
  readonly #readyAtMs = new Map<string, number>();

  /** @param tls whether clusters get the operator's default TLS; otherwise they have none */
  constructor(kube: KubeClient, namespaces: readonly string[], members: number, tls: boolean) {
    this.#kube = kube;
    this.#tls = tls ? "Default" : "None";
    this.namespaces = namespaces;
    this.members = members;
    this.#cache = new Cache<EtcdCluster>({ client: kube, freeze: false, resource: ETCD_CLUSTERS });
    this.#cache.onChange(({ object }) => {
      const { name } = object.metadata;
      if (isReady(object) && !this.#readyAtMs.has(name)) this.#readyAtMs.set(name, performance.now());
    });
    this.#cache.start(this.#stop.signal);
  }

  /** Names are unique in the whole fleet, also across namespaces. @param n 0 or more */
  nameOf(n: number): string {
    return `db-${n}`;
  }

  refOf(name: string): { readonly namespace: string; readonly name: string } {
    const n = Number(name.slice("db-".length));
    return { namespace: this.namespaces[n % this.namespaces.length] ?? "", name };
  }

  /** @param atOnce most clusters that may be not Ready at a time */
  async create(count: number, atOnce = count): Promise<void> {
    const left = Array.from({ length: count }, (_, n) => this.nameOf(n)).reverse();
    const isFull = (): boolean => left.length > 0 && count - left.length - this.readyCount >= atOnce;
    const work = async () => {
      while (!this.#stop.signal.aborted) {
        while (isFull() && !this.#stop.signal.aborted) await sleep(LOOK_MS);
        const name = left.pop();
        if (name === undefined) return;
        const { namespace } = this.refOf(name);
        await this.#kube.create(ETCD_CLUSTERS, etcdCluster(namespace, name, this.members, this.#tls), OPTIONS);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  get readyCount(): number {
    return this.#readyAtMs.size;
  }

  /** Times at which clusters were first Ready, earliest first. */
  get readyTimes(): readonly number[] {
    return [...this.#readyAtMs.values()].sort((a, b) => a - b);
  }

  get(name: string): EtcdCluster | undefined {
    return this.#cache.get(this.refOf(name));
  }

  async scale(name: string, replicas: number): Promise<void> {
    await this.#kube.patch(ETCD_CLUSTERS, this.refOf(name), { spec: { replicas } }, { ...OPTIONS, type: "merge" });
  }

  /** Waits until the cluster is Ready with so many members. */
  async untilReady(name: string, replicas: number): Promise<void> {
    await until(`${name} is ready with ${replicas} members`, () => {
      const cluster = this.get(name);
      const ready = cluster?.status?.conditions?.find(({ type }) => type === "Ready");
      const isCurrent = ready?.status === "True" && ready.observedGeneration === cluster?.metadata.generation;
      return (
        (isCurrent && cluster?.spec.replicas === replicas && cluster.status?.members?.length === replicas) || undefined
      );
    });
  }

  /** Waits until the cluster's condition Degraded is True. */
  async untilDegraded(name: string): Promise<void> {
    await until(`${name} is Degraded`, () => {
      const degraded = this.get(name)?.status?.conditions?.find(({ type }) => type === "Degraded");
      return degraded?.status === "True" || undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#cache.stop();
  }
}
