import { OPERATOR } from "#api/names.ts";
import type { OnEnd } from "#backup/controller.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { LastChecks } from "#cluster/observe/last-checks.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { KubeClient, type Observation } from "#kube/client.ts";
import type { KubeConfig } from "#kube/config.ts";
import { EventRecorder } from "#kube/events.ts";
import { limitsFor } from "#kube/rate.ts";
import type { Transport } from "#kube/transport.ts";
import type { Metrics } from "#runtime/metrics.ts";
import type { PassTools } from "#runtime/pass.ts";
import type { Shard } from "#shards/belonging.ts";
import { type Caches, createCaches } from "./caches.ts";
import { allSynced, expectationsOf } from "./caught-up.ts";
import { controllersOf } from "./controllers.ts";
import { CRASH, CRASH_DRAIN_MS } from "./crash.ts";
import type { Flags } from "./flags.ts";
import type { requestTimes } from "./statistics.ts";

/** Time in milliseconds for passes to end, out of the ten seconds of a graceful stop. */
const DRAIN_MS = 5_000;
/** Time in milliseconds for writing events, out of the ten seconds of a graceful stop. */
const FLUSH_MS = 2_000;

/** Connections through which the process changes other systems. Tests may intercept them. */
export interface Wires {
  readonly kube: (config: KubeConfig) => Transport;
  readonly etcd: (client: EtcdClient) => EtcdClient;
}

/** Dependencies that exist once per process, however many shards it leads. */
export interface Surroundings {
  readonly flags: Flags;
  readonly config: KubeConfig;
  readonly wires: Wires;
  readonly metrics: Metrics;
  readonly times: ReturnType<typeof requestTimes>;
  readonly onBackupEnd: OnEnd;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts work between passes, at the latest with the end of the process. */
  readonly stop: AbortSignal;
}

/** Creates a client of the API server. @param mayChange called right before a change is sent; undefined: always true */
export function clientOf(of: Omit<Surroundings, "onBackupEnd" | "stop">, mayChange?: () => boolean): KubeClient {
  const { flags, config, wires, metrics, times, clock, log } = of;
  return new KubeClient({
    config,
    userAgent: OPERATOR,
    limits: limitsFor(flags.kubeRequestsPerSecond),
    clock,
    log,
    observer: (observation: Observation) => {
      const { verb, resource, code } = observation;
      metrics.kubeRequests.inc({ verb, resource, code });
      times.kube(observation);
    },
    transport: wires.kube(config),
    ...(mayChange === undefined ? {} : { mayChange }),
  });
}

/** Everything that observes and changes clusters: clients, caches and controllers, for everything or for one shard. */
export type World = ReturnType<typeof openWorld>;

/**
 * @param mayAct whether this process holds the lease now; called right before the first byte of every change
 * @param of the shard and its caches; undefined: everything, with caches that `start` starts
 */
export function openWorld(
  surroundings: Surroundings,
  mayAct: () => boolean,
  of?: { readonly shard: Shard; readonly caches: Caches },
) {
  const { flags, wires, metrics, times, onBackupEnd, clock, log, stop } = surroundings;
  const kube = clientOf(surroundings, mayAct);
  const pool = new TransportPool(clock);
  const direct = new GrpcClient({
    pool,
    clock,
    mayChange: mayAct,
    onCall: (report) => {
      metrics.etcdRequests.inc({ method: report.method, code: report.code });
      times.etcd(report);
    },
  });
  const etcd = wires.etcd(direct);
  const events = new EventRecorder({ client: kube, clock, log, instance: flags.identity });
  const caches = of?.caches ?? createCaches(kube, clock, log, { namespaces: flags.watchNamespaces });
  const tools: PassTools = {
    clock,
    log,
    metrics,
    expectations: expectationsOf(caches, { metrics, clock, log }),
    publish: (subject, event) => events.record(subject, event),
    mayAct,
  };
  const lastChecks = new LastChecks();
  const shard = of?.shard;
  let ledSinceMs: number | undefined;
  const controllers = controllersOf({ caches, kube, etcd, flags, tools, onBackupEnd, stop, shard, lastChecks });
  return {
    /** The shard that it is of; undefined: everything. */
    shard,
    /** Whether this process holds the lease now. */
    leads: mayAct,
    /** When `work` began, in milliseconds since 1970; undefined before. */
    get ledSinceMs() {
      return ledSinceMs;
    },
    lastChecks,
    kube,
    caches,
    controllers,
    events,
    pool,
    /** Starts the caches. */
    start(signal: AbortSignal): void {
      for (const cache of Object.values(caches)) cache.start(signal);
    },
    /** Waits until all caches are synced. @returns false when the signal aborted before */
    whenSynced: (signal: AbortSignal): Promise<boolean> => allSynced(caches, signal),
    /**
     * Runs the controllers until the signal aborts, and settles when all work has stopped. @param beside additional
     * work
     */
    async work(leading: AbortSignal, beside: readonly Promise<void>[] = []): Promise<void> {
      ledSinceMs = clock.wallMs();
      await Promise.race([
        Promise.all([...controllers.map((controller) => controller.run(leading, flags.workers)), ...beside]),
        aborted(clock, leading, () => (stop.reason === CRASH ? CRASH_DRAIN_MS : DRAIN_MS)),
      ]);
      // The lease is still held here; without it nothing may be written.
      await events.flush(AbortSignal.timeout(FLUSH_MS));
    },
  };
}

/** Resolves some time after the signal aborted. @param afterMs asked when it aborts */
function aborted(clock: Clock, signal: AbortSignal, afterMs: () => number): Promise<void> {
  return new Promise((resolve) => {
    const wait = (): void => void clock.after(afterMs(), resolve);
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
  });
}
