import { OPERATOR } from "#api/names.ts";
import type { OnEnd } from "#backup/controller.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
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
import type { Flags } from "./flags.ts";
import { roomsOf } from "./rooms.ts";
import type { requestTimes } from "./statistics.ts";

/** What is left of the ten seconds of a graceful stop for passes to end, in milliseconds. */
const DRAIN_MS = 5_000;
/** What is left of it for events to be written, in milliseconds. */
const FLUSH_MS = 2_000;

/** The two ways by which the process changes anything outside of itself. Whoever runs it may put something in between. */
export interface Wires {
  readonly kube: (config: KubeConfig) => Transport;
  readonly etcd: (client: EtcdClient) => EtcdClient;
}

/** What a process has once, whatever it leads. */
export interface Surroundings {
  readonly flags: Flags;
  readonly config: KubeConfig;
  readonly wires: Wires;
  readonly metrics: Metrics;
  readonly times: ReturnType<typeof requestTimes>;
  readonly onBackupEnd: OnEnd;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends what is done between passes; at the latest, the process ends with it. */
  readonly stop: AbortSignal;
}

/** A client for the API server. @param mayChange asked right before a change is sent; undefined: always */
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

/** All that knows of clusters and acts on them: clients, caches and controllers, for everything or for one shard. */
export type World = ReturnType<typeof openWorld>;

/**
 * @param mayAct whether what is led here is led at this moment; asked right before the first byte of every change
 * @param of what is led here, and what is read of it; undefined: everything, which is read by `start`
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
  const caches = of?.caches ?? createCaches(kube, clock, log);
  const tools: PassTools = {
    clock,
    log,
    metrics,
    expectations: expectationsOf(caches, { metrics, clock, log }),
    tell: (subject, event) => events.record(subject, event),
    mayAct,
  };
  const rooms = roomsOf({ caches, kube, etcd, flags, tools, onBackupEnd, stop, shard: of?.shard });
  return {
    kube,
    caches,
    rooms,
    events,
    pool,
    /** Begins to read. */
    start(signal: AbortSignal): void {
      for (const cache of Object.values(caches)) cache.start(signal);
    },
    /** Waits until everything is read. @returns false when the signal aborted before */
    whenSynced: (signal: AbortSignal): Promise<boolean> => allSynced(caches, signal),
    /** Works until the signal aborts, and settles when all work has stopped. @param beside what is done besides the controllers' work */
    async work(leading: AbortSignal, beside: readonly Promise<void>[] = []): Promise<void> {
      await Promise.race([
        Promise.all([...rooms.map((room) => room.run(leading, flags.workers)), ...beside]),
        aborted(clock, leading, DRAIN_MS),
      ]);
      await events.flush(AbortSignal.timeout(FLUSH_MS)); // The term still lasts: without the lease nothing is written.
    },
  };
}

/** Resolves `afterMs` after the signal aborted. */
function aborted(clock: Clock, signal: AbortSignal, afterMs: number): Promise<void> {
  return new Promise((resolve) => {
    const wait = (): void => void clock.after(afterMs, resolve);
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
  });
}
