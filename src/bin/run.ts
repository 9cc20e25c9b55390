import { OPERATOR } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { systemClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { bearerOf, mayDo } from "#kube/access-review.ts";
import { KubeClient, type Observation } from "#kube/client.ts";
import { defaultConfig, type KubeConfig, kubeconfigFile } from "#kube/config.ts";
import { EventRecorder } from "#kube/events.ts";
import { limitsFor } from "#kube/rate.ts";
import { migrateStorage } from "#kube/storage-migration.ts";
import { httpTransport, type Transport } from "#kube/transport.ts";
import { serveHealth } from "#runtime/health.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { MetricsAccess, type Reviews } from "#runtime/metrics-access.ts";
import { serveMetrics } from "#runtime/metrics-server.ts";
import type { PassTools } from "#runtime/pass.ts";
import { startWebhooks } from "#webhooks/start.ts";
import { createCaches } from "./caches.ts";
import { allSynced, expectationsOf, isSynced, readinessOf } from "./caught-up.ts";
import type { Flags } from "./flags.ts";
import { type Leadership, leadershipOf } from "./leadership.ts";
import { roomsOf } from "./rooms.ts";
import { exportStatistics, requestTimes } from "./statistics.ts";

/** What is left of the ten seconds of a graceful stop for passes to end, in milliseconds. */
const DRAIN_MS = 5_000;

/** What is left of it for events to be written, in milliseconds. */
const FLUSH_MS = 2_000;

const clock = systemClock;

/** The two ways by which the process changes anything outside of itself. Whoever runs it may put something in between. */
export interface Wires {
  readonly kube: (config: KubeConfig) => Transport;
  readonly etcd: (client: EtcdClient) => EtcdClient;
}

const DIRECT: Wires = { kube: (config) => httpTransport(config), etcd: (client) => client };

/**
 * Runs until `stop` aborts or the lease is lost.
 * Order: webhooks first of all, since every replica answers, and reading the state may take an answer; then the caches, so that a
 * standby takes over without a delay; then the lease; then the rooms.
 * @returns the exit code
 */
export async function runOperator(flags: Flags, stop: AbortSignal, wires = DIRECT): Promise<number> {
  const log = createLog(flags.logLevel);
  const metrics = createMetrics();
  metrics.collectProcess();
  const times = requestTimes(metrics.registry);
  const config = flags.kubeconfig === undefined ? await defaultConfig() : await kubeconfigFile(flags.kubeconfig);
  const reach = {
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
  };
  const isStarting = (): boolean => !isSynced(caches);
  // Of their own: they answer without the lease, and while the controllers have used up what they may ask for.
  const webhookKube = new KubeClient({ ...reach, transport: wires.kube(config) });
  const metricsServer = flags.insecureMetrics
    ? undefined
    : await serveMetrics({ port: flags.metricsPort, registry: metrics.registry, access: accessBy(webhookKube), log });
  if (metricsServer !== undefined) log.info({ address: `:${metricsServer.port}` }, "serves metrics");
  const webhooks = await startWebhooks({
    port: flags.webhookPort,
    namespace: flags.webhookNamespace,
    imageRepository: flags.imageRepository,
    kube: webhookKube,
    clock,
    log,
    observe: times.webhook,
    mayWrite: () => election.mayAct() || isStarting(),
    isStarting,
    alsoShow: (serving) => metricsServer?.use(serving),
  });
  const kube = new KubeClient({ ...reach, transport: wires.kube(config), mayChange: () => election.mayAct() });
  const pool = new TransportPool(clock);
  const direct = new GrpcClient({
    pool,
    clock,
    mayChange: () => election.mayAct(),
    onCall: (report) => {
      metrics.etcdRequests.inc({ method: report.method, code: report.code });
      times.etcd(report);
    },
  });
  const etcd = wires.etcd(direct);
  const events = new EventRecorder({ client: kube, clock, log, instance: flags.identity });
  const caches = createCaches(kube, clock, log);
  const election: Leadership = leadershipOf(kube, flags, { clock, log });
  const tools: PassTools = {
    clock,
    log,
    metrics,
    expectations: expectationsOf(caches, { metrics, clock, log }),
    tell: (subject, event) => events.record(subject, event),
    mayAct: () => election.mayAct(),
  };
  const rooms = roomsOf(caches, kube, etcd, flags, tools, stop);
  const server = await serveHealth({
    port: flags.httpPort,
    ...(flags.insecureMetrics ? { registry: metrics.registry } : {}),
    alive: rooms.map((room) => room.check()),
    ready: [{ name: "webhooks", fault: () => webhooks.fault() }, ...readinessOf(caches, clock)],
  });
  exportStatistics(metrics, { caches, loops: rooms, events, connections: pool, election });
  log.info({ address: `:${server.port}`, name: flags.identity }, "started");

  const running = new AbortController();
  stop.addEventListener("abort", () => running.abort(), { once: true });
  if (stop.aborted) running.abort();
  const keeping = webhooks.run(running.signal);
  for (const cache of Object.values(caches)) cache.start(running.signal);
  try {
    if (!(await allSynced(caches, running.signal))) return 0;
    const lost = new AbortController();
    await election.run(AbortSignal.any([stop, lost.signal]), {
      onStarted: async (leading) => {
        log.info({}, "this process leads: at work");
        await Promise.race([
          Promise.all([
            ...rooms.map((room) => room.run(leading, flags.workers)),
            migrateStorage(
              { kube, clock, log },
              [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES],
              leading,
            ),
          ]),
          aborted(leading, DRAIN_MS),
        ]);
        await events.flush(AbortSignal.timeout(FLUSH_MS)); // The term still lasts: without the lease nothing is written.
      },
      onStopped: () => {
        log.info({}, "this process leads no more");
        lost.abort();
      },
    });
  } finally {
    running.abort();
    pool.closeAll();
    await Promise.all([server.close(), metricsServer?.close(), kube.close(), keeping]);
    // Last: until the API server knows that this pod goes, it goes on asking it.
    await Promise.all([webhooks.close(), webhookKube.close()]);
  }
  // Without the lease another process acts; only a new start may ask for it again, with nothing of the old term in memory.
  return stop.aborted ? 0 : 1;
}

function accessBy(kube: KubeClient): MetricsAccess {
  const mayRead: Reviews["mayRead"] = (bearer, options) =>
    mayDo(kube, bearer, { path: "/metrics", verb: "get" }, options);
  return new MetricsAccess({ bearerOf: (token, options) => bearerOf(kube, token, options), mayRead }, clock);
}

/** Resolves `afterMs` after the signal aborted. */
function aborted(signal: AbortSignal, afterMs: number): Promise<void> {
  return new Promise((resolve) => {
    const wait = (): void => void clock.after(afterMs, resolve);
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
  });
}
