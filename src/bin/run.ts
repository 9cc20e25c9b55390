import { systemClock } from "#base/clock.ts";
import { createLog, type Log } from "#base/log.ts";
import { bearerOf, mayDo } from "#kube/access-review.ts";
import type { KubeClient } from "#kube/client.ts";
import { defaultConfig, kubeconfigFile } from "#kube/config.ts";
import { httpTransport } from "#kube/transport.ts";
import { serveHealth } from "#runtime/health.ts";
import { MetricsAccess, type Reviews } from "#runtime/metrics-access.ts";
import { serveMetrics } from "#runtime/metrics-server.ts";
import { startWebhooks } from "#webhooks/start.ts";
import { allMetrics } from "./all-metrics.ts";
import { stopOnCrash } from "./crash.ts";
import type { Flags } from "./flags.ts";
import { heapOfProcess, keepHeapSmall } from "./heap.ts";
import { type Lead, leadAll } from "./lead.ts";
import { leadShards } from "./lead-shards.ts";
import { untilPermitted, watchedNamespaces } from "./namespaces.ts";
import { clientOf, type Surroundings, type Wires } from "./world.ts";

const clock = systemClock;

const DIRECT: Wires = { kube: (config) => httpTransport(config), etcd: (client) => client };

/**
 * Runs until `asked` aborts, the lease is lost, an exception is unhandled, or a refused namespace becomes readable
 * (namespaces.ts). The order of the start is:
 * 1. the webhooks, because every replica answers them, and reading the state may need a conversion;
 * 2. the caches, so that a standby takes over without delay;
 * 3. the lease, and then the controllers. With shards: lead-shards.ts.
 * @returns the exit code
 */
export async function runOperator(flags: Flags, asked: AbortSignal, wires = DIRECT): Promise<number> {
  const log = createLog(flags.logLevel);
  const crash = new AbortController();
  const forget = stopOnCrash(log, crash);
  try {
    await runUntil(AbortSignal.any([asked, crash.signal]), flags, log, wires);
  } finally {
    forget();
  }
  // Without the lease another process acts. Only a restarted process, with no memory of the old term, may acquire it
  // again.
  return asked.aborted && !crash.signal.aborted ? 0 : 1;
}

async function runUntil(asked: AbortSignal, given: Flags, log: Log, wires: Wires): Promise<void> {
  let leadSoFar: Lead | undefined; // Metrics may be scraped before there is one.
  const { metrics, times, onBackupEnd } = allMetrics(given.shards > 1, () => leadSoFar);
  const { registry } = metrics;
  metrics.collectProcess();
  const config = given.kubeconfig === undefined ? await defaultConfig() : await kubeconfigFile(given.kubeconfig);
  const tools = { config, wires, metrics, times, clock, log };
  // A separate client: webhooks answer without the lease, and while the controllers have used up their request rate.
  const webhookKube = clientOf({ ...tools, flags: given });
  const { flags, stop } = await withPermitted(webhookKube, given, log, asked);
  const reach = { ...tools, flags };
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
  const surroundings: Surroundings = { ...reach, onBackupEnd, stop };
  const lead = flags.shards === 1 ? leadAll(surroundings) : leadShards(surroundings);
  leadSoFar = lead;
  const server = await serveHealth({
    port: flags.httpPort,
    ...(flags.insecureMetrics ? { registry } : {}),
    alive: () => lead.alive(),
    log,
    ready: () => [{ name: "webhooks", fault: () => webhooks.fault() }, ...lead.ready()],
  });
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
    // Last: the API server sends requests until it has noticed that this pod is terminating.
    await webhooks.close();
    await webhookKube.close();
  }
}

/** The flags with the namespaces that the operator may read, and a signal that also aborts when it may read more. */
async function withPermitted(kube: KubeClient, flags: Flags, log: Log, asked: AbortSignal) {
  if (flags.watchNamespaces === undefined) return { flags, stop: asked };
  const tools = { kube, clock, log };
  const { permitted, refused } = await watchedNamespaces(tools, flags.watchNamespaces, asked);
  const more = new AbortController();
  const stop = AbortSignal.any([asked, more.signal]);
  // With rights to none of them, the caches wait for the rights.
  if (refused.length === 0 || permitted.length === 0) return { flags, stop };
  void untilPermitted(tools, refused, stop).then((isPermitted) => (isPermitted ? more.abort() : undefined));
  return { flags: { ...flags, watchNamespaces: permitted }, stop };
}

function accessBy(kube: KubeClient): MetricsAccess {
  const mayRead: Reviews["mayRead"] = (bearer, options) =>
    mayDo(kube, bearer, { path: "/metrics", verb: "get" }, options);
  return new MetricsAccess({ bearerOf: (token, options) => bearerOf(kube, token, options), mayRead }, clock);
}
