import { systemClock } from "#base/clock.ts";
import { createLog, type Log } from "#base/log.ts";
import { bearerOf, mayDo } from "#kube/access-review.ts";
import type { KubeClient } from "#kube/client.ts";
import { defaultConfig, kubeconfigFile } from "#kube/config.ts";
import { httpTransport } from "#kube/transport.ts";
import { type Check, serveHealth } from "#runtime/health.ts";
import { MetricsAccess, type Reviews } from "#runtime/metrics-access.ts";
import { serveMetrics } from "#runtime/metrics-server.ts";
import { startWebhooks } from "#webhooks/start.ts";
import { allMetrics } from "./all-metrics.ts";
import { cachedKinds } from "./caches.ts";
import { READ_WITHIN_MS } from "./caught-up.ts";
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
 * 2. with `--watch-namespaces`: which of these it may read;
 * 3. the caches, so that a standby takes over without delay;
 * 4. the lease, and then the controllers. With shards: lead-shards.ts.
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

async function runUntil(asked: AbortSignal, flags: Flags, log: Log, wires: Wires): Promise<void> {
  let lead: Lead | undefined; // Metrics and probes may be read before there is one.
  const { metrics, times, onBackupEnd } = allMetrics(flags.shards > 1, () => lead);
  const { registry } = metrics;
  metrics.collectProcess();
  const config = flags.kubeconfig === undefined ? await defaultConfig() : await kubeconfigFile(flags.kubeconfig);
  const reach = { flags, config, wires, metrics, times, clock, log };
  // A separate client: webhooks answer without the lease, and while the controllers have used up their request rate.
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
    mayWrite: () => lead === undefined || lead.mayActForAll() || lead.isStarting(),
    isStarting: () => lead?.isStarting() ?? true,
    alsoShow: (serving) => metricsServer?.use(serving),
  });
  const unsorted = unsortedNamespaces();
  const server = await serveHealth({
    port: flags.httpPort,
    ...(flags.insecureMetrics ? { registry } : {}),
    alive: () => lead?.alive() ?? [],
    log,
    ready: () => [{ name: "webhooks", fault: () => webhooks.fault() }, ...(lead?.ready() ?? [unsorted])],
  });
  log.info({ address: `:${server.port}`, name: flags.identity }, "started");

  const more = new AbortController();
  const stop = AbortSignal.any([asked, more.signal]);
  const running = new AbortController();
  stop.addEventListener("abort", () => running.abort(), { once: true });
  if (stop.aborted) running.abort();
  const keeping = Promise.all([
    webhooks.run(running.signal),
    keepHeapSmall(heapOfProcess(), clock, log, running.signal),
  ]);
  try {
    const permitted = await withPermitted(webhookKube, reach, stop, more);
    if (permitted !== undefined) {
      const surroundings: Surroundings = { ...reach, flags: permitted, onBackupEnd, stop };
      lead = flags.shards === 1 ? leadAll(surroundings) : leadShards(surroundings);
      await lead.run();
    }
  } finally {
    running.abort();
    await Promise.all([server.close(), metricsServer?.close(), lead?.close(), keeping]);
    // Last: the API server sends requests until it has noticed that this pod is terminating.
    await webhooks.close();
    await webhookKube.close();
  }
}

/**
 * The flags with the namespaces that the operator may read; undefined when `stop` aborted before.
 * @param more aborted as soon as it may read another namespace
 */
async function withPermitted(
  kube: KubeClient,
  { flags, metrics, log }: Pick<Surroundings, "flags" | "metrics" | "log">,
  stop: AbortSignal,
  more: AbortController,
) {
  if (flags.watchNamespaces === undefined) return flags;
  const report = (leftOut: number): void => metrics.refusedNamespaces.set(leftOut);
  const tools = { kube, kinds: cachedKinds(kube, clock, log), clock, log, report };
  const watched = await watchedNamespaces(tools, flags.watchNamespaces, stop);
  if (watched === undefined) return undefined;
  void untilPermitted(tools, watched.refused, stop).then((isPermitted) => (isPermitted ? more.abort() : undefined));
  return { ...flags, watchNamespaces: watched.permitted };
}

/** Readiness until the namespaces are known. Like that of caches, it does not hold up the webhooks for long. */
function unsortedNamespaces(): Check {
  const untilMs = clock.monotonicMs() + READ_WITHIN_MS;
  const isWaiting = (): boolean => clock.monotonicMs() < untilMs;
  return { name: "namespaces", fault: () => (isWaiting() ? "does not know which namespaces it may read" : undefined) };
}

function accessBy(kube: KubeClient): MetricsAccess {
  const mayRead: Reviews["mayRead"] = (bearer, options) =>
    mayDo(kube, bearer, { path: "/metrics", verb: "get" }, options);
  return new MetricsAccess({ bearerOf: (token, options) => bearerOf(kube, token, options), mayRead }, clock);
}
