import { CLUSTER_LABEL } from "#api/names.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { type Disk, membersOf } from "#kit/world/disk.ts";
import { Etcd, type Process } from "#kit/world/etcd.ts";
import { WorldEtcdClient } from "#kit/world/etcd-client.ts";
import { flagsOf } from "#kit/world/flags.ts";
import { Random } from "#kit/world/random.ts";
import { PLAIN, speechesOf } from "#kit/world/tls.ts";
import type { Pod, Secret } from "#kube/kinds.ts";

// Which etcd is this?
//   The simulated one of the tests (test/kit/world/etcd.ts), in its strict form, which refuses what real etcd refuses.
//   Each cluster has its own, so that a call to one member does not search those of all others. The simulation's time
//   passes in explicit steps: `#proceed` makes them.

/**
 * Time from the start of a member until it takes part in the quorum, in milliseconds: it opens its files and connects.
 */
const JOINS_AFTER_MS = 300;
/** Time until the remaining members elect a new leader, in milliseconds: etcd's election timeout is 1 s. */
const ELECTS_AFTER_MS = 1_500;

interface Cluster {
  readonly etcd: Etcd;
  readonly client: EtcdClient;
  /** UIDs of pods with a running etcd, as last reported to `#ended`. */
  readonly running: Set<string>;
}

/** The member behind an address. */
export interface Member {
  readonly process: Process;
  readonly etcd: Etcd;
  /** A client of this cluster's simulated etcd. */
  readonly client: EtcdClient;
}

/** The members of all clusters, by the addresses of their pods. */
export class Members {
  readonly #clusters = new Map<string, Cluster>();
  readonly #byAddress = new Map<string, { readonly cluster: Cluster; readonly podUid: string }>();
  /** Addresses that accept connections and do not answer. */
  readonly #silent = new Set<string>();
  readonly #random = new Random(1);
  readonly #ended: (podUid: string) => void;
  readonly #secretOf: (name: string) => Secret | undefined;

  /**
   * @param ended called when an etcd ends by itself, such as that of a removed member
   * @param secretOf current version of a Secret, as pods see it
   */
  constructor(ended: (podUid: string) => void, secretOf: (name: string) => Secret | undefined) {
    this.#ended = ended;
    this.#secretOf = secretOf;
  }

  /** Starts the pod's etcd. @returns etcd's error when it ended at once; undefined: it runs */
  start(pod: Pod, address: string, disk: Disk): string | undefined {
    const { uid, namespace, labels } = pod.metadata;
    const cluster = this.#clusterOf(`${namespace}/${labels?.[CLUSTER_LABEL]}`);
    // Plain text for clients: member-tls.ts has checked their certificates already.
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

  /**
   * Makes a member behave like a frozen process: it accepts connections and answers neither the operator nor other
   * members.
   */
  silence(address: string): void {
    const member = this.at(address);
    const found = this.#byAddress.get(address);
    if (member === undefined || found === undefined) throw new Error(`No member runs at ${address}.`);
    this.#silent.add(address);
    member.etcd.cutOff(member.process, true);
    this.#later(found.cluster, ELECTS_AFTER_MS);
  }

  isSilent(address: string): boolean {
    return this.#silent.has(address);
  }

  /** The member at this address; undefined when none runs there. */
  at(address: string): Member | undefined {
    const found = this.#byAddress.get(address);
    const process = found?.cluster.etcd.processes.get(found.podUid);
    if (found === undefined || process === undefined) return undefined;
    return { process, etcd: found.cluster.etcd, client: found.cluster.client };
  }

  /** Whether a linearizable read succeeds there, as the kubelet's readiness probe requires. */
  serves(address: string): boolean {
    const member = this.at(address);
    if (member === undefined || this.#silent.has(address) || !member.process.isPublished) return false;
    return member.etcd.passesHealthCheck(member.process);
  }

  /** Members of the cluster in this member's own list; 0 when none runs at the address. */
  listed(address: string): number {
    const member = this.at(address);
    return member === undefined ? 0 : membersOf(member.process.data).size;
  }

  /** Whether any member of this cluster serves. @param cluster namespace and name */
  servesAnywhere(cluster: string): boolean {
    const { processes } = this.#clusterOf(cluster).etcd;
    return [...processes.values()].some(({ address }) => this.serves(address));
  }

  /** Lets removed members end, after a change of membership. */
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

  /** Elects a leader when there is none, replicates to all members, and reports those that have ended. */
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
