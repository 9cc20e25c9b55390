import { CLUSTER_LABEL } from "#api/names.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { type Disk, membersOf } from "#kit/world-disk.ts";
import { Etcd, type Process } from "#kit/world-etcd.ts";
import { WorldEtcdClient } from "#kit/world-etcd-client.ts";
import { flagsOf } from "#kit/world-flags.ts";
import { Random } from "#kit/world-random.ts";
import { PLAIN, speechesOf } from "#kit/world-tls.ts";
import type { Pod, Secret } from "#kube/kinds.ts";

// Whose etcd is this?
//   That of the simulation (test/kit/world-etcd.ts), in its strict form, which refuses what the real one refuses; one for each cluster, so that
//   no look at a member goes through those of all others. There time passes in steps that somebody takes; here `#proceed` takes them.

/** From the start of a member until it takes part, in milliseconds: it opens its files and finds the others. */
const JOINS_AFTER_MS = 300;
/** Until those who are left notice that somebody is gone, and elect, in milliseconds: etcd's election timeout is 1 s. */
const ELECTS_AFTER_MS = 1_500;

interface Cluster {
  readonly etcd: Etcd;
  readonly client: EtcdClient;
  /** Uids of pods whose etcd runs, as far as anybody was told. */
  readonly running: Set<string>;
}

/** What is behind an address. */
export interface Member {
  readonly process: Process;
  readonly etcd: Etcd;
  /** etcd's API, as this cluster answers. */
  readonly client: EtcdClient;
}

/** The members of all clusters, by the addresses of their pods. */
export class Members {
  readonly #clusters = new Map<string, Cluster>();
  readonly #byAddress = new Map<string, { readonly cluster: Cluster; readonly podUid: string }>();
  /** Addresses that take connections and say nothing. */
  readonly #silent = new Set<string>();
  readonly #random = new Random(1);
  readonly #ended: (podUid: string) => void;
  readonly #secretOf: (name: string) => Secret | undefined;

  /**
   * @param ended hears of an etcd that has ended by itself, such as that of a member that was removed
   * @param secretOf what pods are shown
   */
  constructor(ended: (podUid: string) => void, secretOf: (name: string) => Secret | undefined) {
    this.#ended = ended;
    this.#secretOf = secretOf;
  }

  /** @returns why it ended at once, in etcd's words; undefined: it runs */
  start(pod: Pod, address: string, disk: Disk): string | undefined {
    const { uid, namespace, labels } = pod.metadata;
    const cluster = this.#clusterOf(`${namespace}/${labels?.[CLUSTER_LABEL]}`);
    // Clients have shown who they are before anything comes here (member-tls.ts).
    const speeches = { peer: speechesOf(pod, this.#secretOf).peer, client: PLAIN.client };
    const started = cluster.etcd.start({ uid, address, clusterUid: undefined, speeches }, disk, flagsOf(pod));
    if (typeof started === "string") return started;
    cluster.running.add(uid);
    this.#byAddress.set(address, { cluster, podUid: uid });
    this.#later(cluster, JOINS_AFTER_MS);
    return undefined;
  }

  stop(podUid: string, address: string): void {
    const found = this.#byAddress.get(address);
    if (found?.podUid !== podUid) return;
    this.#byAddress.delete(address);
    this.#silent.delete(address);
    found.cluster.running.delete(podUid);
    found.cluster.etcd.stop(podUid);
    this.#later(found.cluster, ELECTS_AFTER_MS);
  }

  /** From now on it takes connections and says nothing, neither to the operator nor to other members, as a process that is frozen. */
  silence(address: string): void {
    const member = this.at(address);
    const found = this.#byAddress.get(address);
    if (member === undefined || found === undefined) throw new Error(`nobody runs at ${address}`);
    this.#silent.add(address);
    member.etcd.cutOff(member.process, true);
    this.#later(found.cluster, ELECTS_AFTER_MS);
  }

  isSilent(address: string): boolean {
    return this.#silent.has(address);
  }

  /** Who runs at this address; undefined: nobody. */
  at(address: string): Member | undefined {
    const found = this.#byAddress.get(address);
    const process = found?.cluster.etcd.processes.get(found.podUid);
    if (found === undefined || process === undefined) return undefined;
    return { process, etcd: found.cluster.etcd, client: found.cluster.client };
  }

  /** Whether a linearizable read succeeds there, which is what the kubelet asks for. */
  serves(address: string): boolean {
    const member = this.at(address);
    if (member === undefined || this.#silent.has(address) || !member.process.isPublished) return false;
    return member.etcd.passesHealthCheck(member.process);
  }

  /** How many members its cluster has by the list that it knows; 0 when nobody runs there. */
  listed(address: string): number {
    const member = this.at(address);
    return member === undefined ? 0 : membersOf(member.process.data).size;
  }

  /** Whether any member of this cluster serves. @param cluster namespace and name */
  servesAnywhere(cluster: string): boolean {
    const { processes } = this.#clusterOf(cluster).etcd;
    return [...processes.values()].some(({ address }) => this.serves(address));
  }

  /** After a change of membership: those who were removed end. */
  settle(address: string): void {
    const cluster = this.#byAddress.get(address)?.cluster;
    if (cluster !== undefined) this.#proceed(cluster);
  }

  #clusterOf(key: string): Cluster {
    const known = this.#clusters.get(key);
    if (known !== undefined) return known;
    const nowMs = () => Date.now();
    const nothing = () => undefined;
    const etcd = new Etcd({ isStrict: true, random: this.#random, nowMs, happened: nothing, tell: nothing });
    const time = {
      get nowMs() {
        return nowMs();
      },
      skewMs: 0,
    };
    const client = new WorldEtcdClient({
      api: { list: () => [] },
      etcd,
      calls: { send: async ({ run }) => run() },
      time,
      onList: nothing,
      onServed: nothing,
    }).asClient();
    const cluster = { etcd, client, running: new Set<string>() };
    this.#clusters.set(key, cluster);
    return cluster;
  }

  #later(cluster: Cluster, ms: number): void {
    setTimeout(() => this.#proceed(cluster), ms);
  }

  /** Elects when nobody leads, brings everybody up to date, and tells of those who have ended. */
  #proceed(cluster: Cluster): void {
    const { etcd, running } = cluster;
    etcd.noticeLeaders();
    const all = [...etcd.processes.values()].filter(({ address }) => !this.#silent.has(address));
    const leader =
      all.find((process) => etcd.leaderOf(process) === process) ?? all.find((process) => etcd.elect(process));
    if (leader !== undefined) {
      etcd.replicate(leader);
      for (const process of all) etcd.publish(process);
      etcd.replicate(leader);
    }
    for (const uid of running) {
      if (etcd.processes.has(uid)) continue;
      running.delete(uid);
      this.#ended(uid);
    }
  }
}
