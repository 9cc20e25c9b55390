import { systemClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";
import { bearerOf, mayDo } from "#kube/access-review.ts";
import type { KubeClient } from "#kube/client.ts";
import { defaultConfig, kubeconfigFile } from "#kube/config.ts";
import { httpTransport } from "#kube/transport.ts";
import { serveHealth } from "#runtime/health.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { MetricsAccess, type Reviews } from "#runtime/metrics-access.ts";
import { serveMetrics } from "#runtime/metrics-server.ts";
import { startWebhooks } from "#webhooks/start.ts";
import { backupMetrics } from "./backup-metrics.ts";
import { certificateMetrics } from "./certificate-metrics.ts";
import type { Flags } from "./flags.ts";
import { heapOfProcess, keepHeapSmall } from "./heap.ts";
import { type Lead, leadAll } from "./lead.ts";
import { leadShards } from "./lead-shards.ts";
import { scheduleMetrics } from "./schedule-metrics.ts";
import { exportStatistics, requestTimes } from "./statistics.ts";
import { clientOf, type Surroundings, type Wires } from "./world.ts";

const clock = systemClock;

const DIRECT: Wires = { kube: (config) => httpTransport(config), etcd: (client) => client };

/**
 * Runs until `stop` aborts or the lease is lost.
 * Order: webhooks first of all, since every replica answers, and reading the state may take an answer; then the caches, so that a
 * standby takes over without a delay; then the lease; then the rooms. With shards: lead-shards.ts.
 * @returns the exit code
 */
export async function runOperator(flags: Flags, stop: AbortSignal, wires = DIRECT): Promise<number> {
  const log = createLog(flags.logLevel);
  const metrics = createMetrics();
  const { registry } = metrics;
  metrics.collectProcess();
  const times = requestTimes(registry);
  const config = flags.kubeconfig === undefined ? await defaultConfig() : await kubeconfigFile(flags.kubeconfig);
  const reach = { flags, config, wires, metrics, times, clock, log };
  // Of their own: they answer without the lease, and while the controllers have used up what they may ask for.
  const webhookKube = clientOf(reach);
  const metricsServer = flags.insecureMetrics
    ? undefined
    : await serveMetrics({ port: flags.metricsPort, registry, access: accessBy(webhookKube), log });
  if (metricsServer !== undefined) log.info({ address: `:${metricsServer.port}` }, "serves metrics");
  const webhooks = await startWebhooks({
    port: flags.webhookPort,
    namespace: flags.webhookNamespace,
    imageRepository: flags.imageRepository,
    kube: webhookKube,
    clock,
    log,
    observe: times.webhook,
    mayWrite: () => lead.mayActForAll() || lead.isStarting(),
    isStarting: () => lead.isStarting(),
    alsoShow: (serving) => metricsServer?.use(serving),
  });
  const all = (): Lead["worlds"] => lead.worlds;
  // Each shard knows of all backups and schedules; of clusters it knows its own. Who has read nothing tells nothing: 0 would be told as the time of no backup.
  const known = (): Lead["worlds"][number]["caches"] | undefined =>
    all().find(({ caches }) => caches.backups.synced && caches.schedules.synced)?.caches;
  const onBackupEnd = backupMetrics(registry, () => known()?.backups.list());
  scheduleMetrics(registry, () => known()?.schedules.list() ?? []);
  certificateMetrics(
    registry,
    () => all().flatMap(({ caches }) => caches.clusters.list()),
    () => all().flatMap(({ caches }) => caches.users.list()),
  );
  const surroundings: Surroundings = { ...reach, onBackupEnd, stop };
  const lead = flags.shards === 1 ? leadAll(surroundings) : leadShards(surroundings);
  const server = await serveHealth({
    port: flags.httpPort,
    ...(flags.insecureMetrics ? { registry } : {}),
    alive: () => lead.alive(),
    log,
    ready: () => [{ name: "webhooks", fault: () => webhooks.fault() }, ...lead.ready()],
  });
  exportStatistics(metrics, lead);
  log.info({ address: `:${server.port}`, name: flags.identity }, "started");

  const running = new AbortController();
  stop.addEventListener("abort", () => running.abort(), { once: true });
  if (stop.aborted) running.abort();
  const keeping = Promise.all([
    webhooks.run(running.signal),
    keepHeapSmall(heapOfProcess(), clock, log, running.signal),
  ]);
  try {
    await lead.run();
  } finally {
    running.abort();
    await Promise.all([server.close(), metricsServer?.close(), lead.close(), keeping]);
    // Last: until the API server knows that this pod goes, it goes on asking it.
    await webhooks.close();
    await webhookKube.close();
  }
  // Without the lease another process acts; only a new start may ask for it again, with nothing of the old term in memory.
  return stop.aborted ? 0 : 1;
}

function accessBy(kube: KubeClient): MetricsAccess {
  const mayRead: Reviews["mayRead"] = (bearer, options) =>
    mayDo(kube, bearer, { path: "/metrics", verb: "get" }, options);
  return new MetricsAccess({ bearerOf: (token, options) => bearerOf(kube, token, options), mayRead }, clock);
}
