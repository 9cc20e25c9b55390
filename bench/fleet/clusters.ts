import { setTimeout as sleep } from "node:timers/promises";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { Cache } from "#kube/cache.ts";
import type { KubeClient } from "#kube/client.ts";
import { etcdCluster, isReady, OPTIONS } from "../kube.ts";
import { until } from "../until.ts";

/** Creations under way at a time. */
const AT_ONCE = 20;
/** Between two looks whether the next one may be made, in milliseconds. */
const LOOK_MS = 20;

/** What the operator writes of the clusters of the fleet, and when. */
export class Clusters {
  /** They are spread over these, by turns. */
  readonly namespaces: readonly string[];
  /** So many each of them is made with. */
  readonly members: number;
  readonly #kube: KubeClient;
  readonly #tls: "Default" | "None";
  readonly #cache: Cache<EtcdCluster>;
  readonly #stop = new AbortController();
  /** When each was first called Ready, in milliseconds of `performance.now()`. */
  readonly #readyAtMs = new Map<string, number>();

  /** @param tls whether they get what the operator gives a new cluster; otherwise none */
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

  /** No two have the same, in different namespaces neither. @param n 0 or more */
  nameOf(n: number): string {
    return `db-${n}`;
  }

  refOf(name: string): { readonly namespace: string; readonly name: string } {
    const n = Number(name.slice("db-".length));
    return { namespace: this.namespaces[n % this.namespaces.length] ?? "", name };
  }

  /** @param atOnce so many are not ready at a time, at most */
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

  /** When each was called Ready for the first time, earliest first. */
  get readyTimes(): readonly number[] {
    return [...this.#readyAtMs.values()].sort((a, b) => a - b);
  }

  get(name: string): EtcdCluster | undefined {
    return this.#cache.get(this.refOf(name));
  }

  async scale(name: string, replicas: number): Promise<void> {
    await this.#kube.patch(ETCD_CLUSTERS, this.refOf(name), { spec: { replicas } }, { ...OPTIONS, type: "merge" });
  }

  /** Waits until it is called Ready with so many members. */
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

  /** Waits until it is called degraded. */
  async untilDegraded(name: string): Promise<void> {
    await until(`${name} is called degraded`, () => {
      const degraded = this.get(name)?.status?.conditions?.find(({ type }) => type === "Degraded");
      return degraded?.status === "True" || undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#cache.stop();
  }
}
