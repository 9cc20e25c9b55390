import { setTimeout as sleep } from "node:timers/promises";
import { AuditLog, countBy, isLease, isRead } from "#kit/e2e/audit-log.ts";
import type { Ref } from "#kube/kinds.ts";
import { isIn } from "#shards/belonging.ts";
import { median, rounded, say } from "../figure.ts";
import { until } from "../until.ts";
import { Clusters } from "./clusters.ts";
import type { ControlPlane } from "./control-plane.ts";
import { EtcdServer } from "./etcd-server.ts";
import { Kubelets } from "./kubelets.ts";
import type { Operators } from "./operators.ts";

/** Limit for all clusters to be Ready, in milliseconds: a fixed part, and a part for each cluster. */
const READY_WITHIN_MS = 20 * 60_000;
const READY_EACH_MS = 1_000;
/**
 * Limit from a start of the operator until it has dialed every cluster, in milliseconds: a fixed part, and a part for
 * each cluster.
 */
const LOOKED_AT_WITHIN_MS = 180_000;
const LOOKED_AT_EACH_MS = 60;
/** Longest time between two lines of progress, in milliseconds. */
const TELL_MS = 60_000;
const LOOK_MS = 60_000;
/** Pause between the minute after the creation and the minute that is measured as rest, in milliseconds. */
const SETTLE_MS = 30_000;
/** Members that an edit adds to a cluster. */
const MORE = 2;

/** Clusters of the fleet. */
export interface FleetShape {
  /** Namespaces over which the clusters are spread. */
  readonly namespaces: readonly string[];
  /** Members of each cluster. */
  readonly members: number;
  readonly tls: boolean;
}

/** The operators and their fleet. Only the API server and its controllers are real, the rest is simulated. */
export class Fleet {
  readonly clusters: Clusters;
  readonly #plane: ControlPlane;
  readonly #kubelets: Kubelets;
  readonly #etcd: EtcdServer;
  readonly #audit: AuditLog;
  readonly #launch: () => Operators;
  #operators: Operators;

  static async start(
    plane: ControlPlane,
    { namespaces, members, tls }: FleetShape,
    launch: () => Operators,
  ): Promise<Fleet> {
    const kubelets = new Kubelets(plane.kube);
    const etcd = new EtcdServer(kubelets, namespaces);
    await etcd.listen();
    const clusters = new Clusters(plane.kube, namespaces, members, tls);
    return new Fleet(plane, clusters, kubelets, etcd, launch);
  }

  private constructor(
    plane: ControlPlane,
    clusters: Clusters,
    kubelets: Kubelets,
    etcd: EtcdServer,
    launch: () => Operators,
  ) {
    this.#plane = plane;
    this.clusters = clusters;
    this.#kubelets = kubelets;
    this.#etcd = etcd;
    this.#audit = new AuditLog(plane.auditLog);
    this.#launch = launch;
    this.#operators = launch();
  }

  get operators(): Operators {
    return this.#operators;
  }

  /** Creates the clusters: `atOnce` of them at first, and another as soon as one is Ready. */
  async creation(count: number, atOnce: number) {
    const before = {
      cpu: this.#operators.cpuSeconds(),
      passes: await this.#operators.passes(),
      programs: this.#operators.cpuByProgram(),
    };
    const startMs = performance.now();
    const withinMs = READY_WITHIN_MS + count * READY_EACH_MS;
    let failure: unknown;
    const made = this.clusters.create(count, atOnce).then(
      () => say(`${count} clusters created within ${((performance.now() - startMs) / 1000).toFixed(1)} s`),
      (thrown: unknown) => {
        failure = thrown;
      },
    );
    let [told, toldAtMs] = [0, startMs];
    const isDone = () => {
      if (failure !== undefined) throw failure;
      const ready = this.clusters.readyCount;
      const nowMs = performance.now();
      if (ready - told >= count / 10 || nowMs - toldAtMs >= TELL_MS) {
        say(`${ready} of ${count} are ready after ${Math.round((nowMs - startMs) / 1000)} s`);
        [told, toldAtMs] = [ready, nowMs];
      }
      return ready === count || nowMs - startMs > withinMs || undefined;
    };
    await until("the clusters are ready", isDone, { everyMs: 100, withinMs: 2 * withinMs });
    if (this.clusters.readyCount === count) await made;
    const after = {
      cpu: this.#operators.cpuSeconds(),
      passes: await this.#operators.passes(),
      programs: this.#operators.cpuByProgram(),
    };
    const times = this.clusters.readyTimes.map((atMs) => (atMs - startMs) / 1000);
    const wholeSeconds = (performance.now() - startMs) / 1000;
    const lastSeconds = times.at(-1) ?? 0;
    return {
      ready: times.length,
      clustersPerMinute: rounded((60 * times.length) / lastSeconds, 0),
      halfReadySeconds: rounded(times[Math.ceil(count / 2) - 1] ?? Number.NaN, 1),
      allReadySeconds: times.length === count ? rounded(lastSeconds, 1) : null,
      cpuSecondsPerCluster: rounded((after.cpu - before.cpu) / count, 3),
      passesPerCluster: Object.fromEntries(
        Object.entries(after.passes).map(([name, passes]) => [
          name,
          rounded((passes - (before.passes[name] ?? 0)) / count, 1),
        ]),
      ),
      coresInCreation: Object.fromEntries(
        Object.entries(after.programs).map(([name, used]) => [
          name,
          rounded((used - (before.programs[name] ?? 0)) / wholeSeconds),
        ]),
      ),
    };
  }

  /** Measures the minute after the creation, and a minute at rest. */
  async rest(count: number) {
    const after = await this.#operators.use(LOOK_MS);
    say(`the minute after: ${JSON.stringify(after)}`);
    const requests = await this.#audit.requests();
    await sleep(SETTLE_MS);
    const quiet = new AuditLog(this.#plane.auditLog);
    const callsBefore = this.#etcd.calls;
    const handshakesBefore = this.#etcd.handshakes;
    const rest = await this.#operators.use(LOOK_MS);
    const atRest = (await quiet.requests()).filter((request) => !isLease(request));
    say(`at rest: ${JSON.stringify(rest)}`);
    const own = requests.filter((request) => !isLease(request) && this.clusters.namespaces.includes(request.namespace));
    return {
      requestsPerCluster: rounded(own.length / count, 1),
      requestsByVerb: countBy(own, ({ verb, resource }) => `${verb} ${resource}`, count),
      refused: own.filter(({ code }) => code >= 400).length,
      refusedByVerb: countBy(
        own.filter(({ code }) => code >= 400),
        ({ verb, resource, code }) => `${verb} ${resource} ${code}`,
        count,
      ),
      cpuPercentMinuteAfter: after.cpuPercent,
      cpuPercentAtRest: rest.cpuPercent,
      rssMbSettled: rest.rssMb,
      ...(rest.rssMbEach.length === 1 ? {} : { rssMbSettledEach: rest.rssMbEach }),
      rssMbPeak: this.#operators.peakMb(),
      ...(await this.#operators.memory()),
      etcdConnections: this.#etcd.connections,
      etcdCallsPerSecond: rounded((this.#etcd.calls - callsBefore) / (LOOK_MS / 1000), 1),
      handshakesPerSecond: rounded((this.#etcd.handshakes - handshakesBefore) / (LOOK_MS / 1000), 1),
      writesAtRest: atRest.filter((request) => !isRead(request)).length,
    };
  }

  /** Restarts the operators, and waits until they have dialed a member of each cluster. */
  async restart(count: number) {
    await this.#operators.stop();
    const startMs = performance.now();
    this.#operators = this.#launch();
    const restartLookedAtSeconds = await this.#untilLookedAt(this.#names(count), startMs);
    await sleep(SETTLE_MS);
    return { restartLookedAtSeconds, restartRssMbPeak: this.#operators.peakMb() };
  }

  /** Kills one of the operators for good, and waits until another has taken over its shard. */
  async takeover(count: number) {
    const led = await this.#operators.killOne();
    const startMs = performance.now();
    const isOfThem = ({ namespace, name }: Ref) => led.some((shard) => isIn(shard, namespace, name));
    const names = this.#names(count).filter((name) => isOfThem(this.clusters.refOf(name)));
    const takeoverLookedAtSeconds = await this.#untilLookedAt(names, startMs);
    return { takeoverClusters: names.length, takeoverLookedAtSeconds };
  }

  /**
   * Waits until a member of each cluster got a request.
   * @param sinceMs of `performance.now()`
   * @returns seconds since then
   */
  async #untilLookedAt(names: readonly string[], sinceMs: number): Promise<number> {
    const all = this.#kubelets.addressesByCluster();
    const isLookedAt = (name: string) => all.get(name)?.some((address) => this.#etcd.wasAsked(address, sinceMs));
    const withinMs = LOOKED_AT_WITHIN_MS + names.length * LOOKED_AT_EACH_MS;
    await until("the operator has dialed every cluster", () => names.every(isLookedAt) || undefined, { withinMs });
    return rounded((performance.now() - sinceMs) / 1000);
  }

  /** Adds MORE members to one cluster. @returns seconds until etcd has one member more, and until all are ready */
  async edit(name: string) {
    const before = this.#memberCount(name);
    const startMs = performance.now();
    const wanted = this.clusters.members + MORE;
    await this.clusters.scale(name, wanted);
    await until("a member was added", () => this.#memberCount(name) > before || undefined);
    const firstActSeconds = rounded((performance.now() - startMs) / 1000);
    await this.clusters.untilReady(name, wanted);
    const seconds = rounded((performance.now() - startMs) / 1000);
    say(
      `${name}: ${this.clusters.members} to ${wanted} in ${seconds} s, the first addition after ${firstActSeconds} s`,
    );
    return { seconds, firstActSeconds };
  }

  /**
   * Makes one member of each of these clusters silent.
   * @returns seconds until the clusters are Degraded: median and longest
   */
  async silence(names: readonly string[]) {
    const told = names.map(async (name) => {
      const [address = ""] = this.#addressesOf(name);
      const startMs = performance.now();
      void this.#kubelets.silence(address);
      await this.clusters.untilDegraded(name);
      return (performance.now() - startMs) / 1000;
    });
    const seconds = await Promise.all(told);
    return { told: rounded(median(seconds), 1), toldWorst: rounded(Math.max(...seconds), 1) };
  }

  /** Kills the etcd of one member. @returns seconds until its cluster is Degraded */
  async kill(name: string): Promise<number> {
    const [address = ""] = this.#addressesOf(name);
    const startMs = performance.now();
    this.#kubelets.kill(address);
    await this.clusters.untilDegraded(name);
    return rounded((performance.now() - startMs) / 1000, 1);
  }

  /** Failures of the bench itself, and methods that it does not serve. With any of them the figures are worthless. */
  get faults(): readonly string[] {
    return [...this.#kubelets.failures, ...this.#etcd.unknownMethods];
  }

  async stop(): Promise<void> {
    await this.#operators.stop();
    await Promise.all([this.clusters.stop(), this.#kubelets.stop()]);
    this.#etcd.close();
  }

  #names(count: number): readonly string[] {
    return Array.from({ length: count }, (_, n) => this.clusters.nameOf(n));
  }

  #addressesOf(name: string): readonly string[] {
    return [...this.#kubelets.addressesOf(name).values()];
  }

  #memberCount(name: string): number {
    const [address = ""] = this.#addressesOf(name);
    return this.#kubelets.members.listed(address);
  }
}
