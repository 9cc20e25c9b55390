import { roleNameOf } from "#access/namesakes.ts";
import { AccessReads, ETCD_INDEX } from "#access/reads.ts";
import { OPERATOR } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES, type EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_BACKUP_SCHEDULES, type EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { backupController, backupKeysFor, isOpen } from "#backup/controller.ts";
import { SOURCE_INDEX } from "#backup/observe.ts";
import { systemClock } from "#base/clock.ts";
import { createLog, type Log } from "#base/log.ts";
import { issuer } from "#certificates/issue.ts";
import { Keyring } from "#certificates/keyring.ts";
import {
  clusterController,
  clusterKeysFor,
  clusterKeysForBackup,
  clusterKeysForSchedule,
} from "#cluster/controller.ts";
import { CLUSTER_INDEX } from "#cluster/observe.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { bearerOf, mayDo } from "#kube/access-review.ts";
import { KubeClient, type Observation } from "#kube/client.ts";
import { defaultConfig, type KubeConfig, kubeconfigFile } from "#kube/config.ts";
import { EventRecorder } from "#kube/events.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";
import { Election } from "#kube/lease.ts";
import { LeasePair } from "#kube/lease-pair.ts";
import { limitsFor } from "#kube/rate.ts";
import { migrateStorage } from "#kube/storage-migration.ts";
import { httpTransport, type Transport } from "#kube/transport.ts";
import { peerController, peerKeysFor } from "#peer/controller.ts";
import { isOpen as isOpenRestore, restoreController, restoreKeysFor } from "#restore/controller.ts";
import { TARGET_INDEX } from "#restore/observe.ts";
import { roleController } from "#role/controller.ts";
import { ControlLoop } from "#runtime/control-loop.ts";
import type { Key } from "#runtime/controller.ts";
import { Expectations } from "#runtime/expectations.ts";
import { type Check, serveHealth } from "#runtime/health.ts";
import { createMetrics, type Metrics } from "#runtime/metrics.ts";
import { MetricsAccess, type Reviews } from "#runtime/metrics-access.ts";
import { serveMetrics } from "#runtime/metrics-server.ts";
import type { PassTools } from "#runtime/pass.ts";
import { scheduleController, scheduleKeysFor } from "#schedule/controller.ts";
import { userController } from "#user/controller.ts";
import { BindingReads } from "#user/reads.ts";
import { startWebhooks } from "#webhooks/start.ts";
import { backupMetrics } from "./backup-metrics.ts";
import { type Caches, createCaches } from "./caches.ts";
import { certificateMetrics } from "./certificate-metrics.ts";
import type { Flags } from "./flags.ts";
import { scheduleMetrics } from "./schedule-metrics.ts";
import { exportStatistics, requestTimes } from "./statistics.ts";

/** What is left of the ten seconds of a graceful stop for passes to end, in milliseconds. */
const DRAIN_MS = 5_000;
/** What is left of it for events to be written, in milliseconds. */
const FLUSH_MS = 2_000;
/**
 * A replica that has not read everything is not ready, so that a rollout waits for it. But only pods that are ready are asked by the
 * API server, and reading may take an answer of ours (a conversion): after this long the webhooks alone decide, in milliseconds.
 */
const READ_WITHIN_MS = 10_000;
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
  const isStarting = (): boolean => !Object.values(caches).every(({ synced: isSynced }) => isSynced);
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
  const election: Leadership = leadershipOf(kube, flags, log);
  const tools: PassTools = {
    clock,
    log,
    metrics,
    expectations: expectationsOf(caches, metrics, log),
    tell: (subject, event) => events.record(subject, event),
    mayAct: () => election.mayAct(),
  };
  const rooms = roomsOf(caches, kube, etcd, flags, tools);
  const server = await serveHealth({
    port: flags.httpPort,
    ...(flags.insecureMetrics ? { registry: metrics.registry } : {}),
    alive: rooms.map((room) => room.check()),
    ready: [
      { name: "webhooks", fault: () => webhooks.fault() },
      ...Object.entries(caches).map(([name, cache]) => synced(name, cache, clock.monotonicMs() + READ_WITHIN_MS)),
    ],
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

/** What decides whether this process may change anything. */
type Leadership = Pick<Election, "mayAct" | "run">;

/** The lease of the whole Kubernetes cluster, and with it the one of this installation: see kube/lease-pair.ts. */
function leadershipOf(client: KubeClient, flags: Flags, log: Log): Leadership {
  const { namespace, clusterLeaseNamespace, identity } = flags;
  const own = new Election({ client, namespace, name: OPERATOR, identity, clock, log });
  if (namespace === clusterLeaseNamespace) return own; // The two would be one and the same lease.
  const cluster = new Election({
    client,
    namespace: clusterLeaseNamespace,
    name: OPERATOR,
    identity: `${namespace}/${identity}`,
    clock,
    log,
    onRival: (holder) => {
      if (holder.startsWith(`${namespace}/`)) return; // of this installation: that is what replicas are for
      const advice =
        "an operator that is installed elsewhere leads in this Kubernetes cluster; this one waits: uninstall one";
      log.warn({ name: holder }, advice);
    },
  });
  return new LeasePair(own, cluster);
}

function accessBy(kube: KubeClient): MetricsAccess {
  const mayRead: Reviews["mayRead"] = (bearer, options) =>
    mayDo(kube, bearer, { path: "/metrics", verb: "get" }, options);
  return new MetricsAccess({ bearerOf: (token, options) => bearerOf(kube, token, options), mayRead }, clock);
}

/** @returns false when the signal aborted before */
async function allSynced(caches: Caches, signal: AbortSignal): Promise<boolean> {
  try {
    await Promise.all(Object.values(caches).map((cache) => cache.whenSynced(signal)));
    return true;
  } catch (thrown) {
    if (signal.aborted) return false;
    throw thrown;
  }
}

function expectationsOf(caches: Caches, metrics: Metrics, log: Log): Expectations {
  const byPlural = new Map<string, Caches[keyof Caches]>();
  for (const cache of Object.values(caches)) byPlural.set(cache.resource.plural, cache);
  return new Expectations(
    clock,
    (resource: Resource<KubeObject>) => byPlural.get(resource.plural),
    (what) => {
      metrics.expectationsLost.inc();
      log.error({ resource: what }, "a cache did not show a write of ours in time");
    },
  );
}

function roomsOf(caches: Caches, kube: KubeClient, etcd: EtcdClient, flags: Flags, tools: PassTools) {
  const identities = new Keyring();
  const reads = {
    ...caches,
    kube,
    etcd,
    identities,
    clock,
    imageRepository: flags.imageRepository,
    agentImage: flags.agentImage,
    replaceAfterMs: flags.replaceAfterMs,
    memberTimeoutMs: flags.memberTimeoutMs,
    operatorNamespace: flags.namespace,
    onGap: (ms: number) => tools.metrics.unwatchedSeconds.inc(ms / 1_000),
  };
  const access = new AccessReads({ ...reads, etcd });
  const bindings = new BindingReads(kube, clock);
  scheduleMetrics(tools.metrics.registry, () => caches.schedules.list());
  certificateMetrics(tools.metrics.registry, () => caches.clusters.list());
  const keysOf = (objects: readonly KubeObject[]): readonly Key[] => objects.flatMap(ownKey);
  const byCluster = { keysFor: clusterKeysFor };
  const byPeer = { keysFor: peerKeysFor };
  return [
    new ControlLoop({
      controller: clusterController({ kube, etcd, identities, issuer }, reads),
      watches: [
        { cache: caches.clusters, keysFor: ownKey },
        { cache: caches.backups, keysFor: clusterKeysForBackup },
        { cache: caches.schedules, keysFor: (schedule) => clusterKeysForSchedule(schedule as EtcdBackupSchedule) },
        ...[caches.peers, caches.services, caches.budgets, caches.networkPolicies, caches.claims, caches.pods].map(
          (cache) => ({
            cache,
            ...byCluster,
          }),
        ),
        { cache: caches.restores, keysFor: targetOfRestore },
      ],
      allKeys: () => keysOf(caches.clusters.list()),
      tools,
    }),
    new ControlLoop({
      controller: peerController(kube, reads),
      watches: [
        { cache: caches.peers, keysFor: ownKey },
        // Of a cluster's changes only a pause or a sleep, begun or ended, concerns its members.
        { cache: caches.clusters, keysFor: (cluster) => (isStill(cluster) ? keysOf(peersOf(caches, cluster)) : []) },
        ...[caches.claims, caches.replicaSets, caches.pods].map((cache) => ({ cache, ...byPeer })),
      ],
      allKeys: () => keysOf(caches.peers.list()),
      tools,
    }),
    new ControlLoop({
      controller: backupController(
        kube,
        reads,
        backupMetrics(tools.metrics.registry, () => caches.backups.list()),
      ),
      watches: [
        { cache: caches.backups, keysFor: ownKey },
        { cache: caches.clusters, keysFor: (cluster) => keysOf(openBackupsOf(caches, cluster)) },
        ...[caches.jobs, caches.pods].map((cache) => ({ cache, keysFor: backupKeysFor })),
      ],
      allKeys: () => keysOf(caches.backups.list()),
      tools,
    }),
    new ControlLoop({
      controller: scheduleController(kube, reads),
      watches: [
        { cache: caches.schedules, keysFor: ownKey },
        { cache: caches.backups, keysFor: scheduleKeysFor },
      ],
      allKeys: () => keysOf(caches.schedules.list()),
      tools,
    }),
    new ControlLoop({
      controller: restoreController(kube, reads),
      watches: [
        { cache: caches.restores, keysFor: ownKey },
        { cache: caches.clusters, keysFor: (cluster) => keysOf(openRestoresOf(caches, cluster)) },
        { cache: caches.backups, keysFor: (backup) => keysOf(restoresFrom(caches, backup)) },
        ...[caches.jobs, caches.pods].map((cache) => ({ cache, keysFor: restoreKeysFor })),
      ],
      allKeys: () => keysOf(caches.restores.list()),
      tools,
    }),
    new ControlLoop({
      controller: roleController({ kube, access }, { ...caches, access, clock }),
      watches: [
        { cache: caches.roles, keysFor: ownKey },
        { cache: caches.clusters, keysFor: (cluster) => keysOf(caches.roles.byIndex(ETCD_INDEX, textOf(cluster))) },
      ],
      allKeys: () => keysOf(caches.roles.list()),
      tools,
    }),
    new ControlLoop({
      controller: userController({ kube, access, bindings, issuer }, { ...reads, access, bindings }),
      watches: [
        { cache: caches.users, keysFor: ownKey },
        { cache: caches.clusters, keysFor: (cluster) => keysOf(caches.users.byIndex(ETCD_INDEX, textOf(cluster))) },
        { cache: caches.roles, keysFor: (role) => keysOf(usersWith(caches, role as EtcdRole)) },
      ],
      allKeys: () => keysOf(caches.users.list()),
      tools,
    }),
  ] as const;
}

function isStill(object: KubeObject): boolean {
  const cluster = object as EtcdCluster;
  return pausedBy(cluster) !== undefined || cluster.status?.sleep !== undefined;
}

function peersOf(caches: Caches, { metadata }: KubeObject): readonly KubeObject[] {
  return caches.peers.byIndex(CLUSTER_INDEX, `${metadata.namespace}/${metadata.name}`);
}

/** Those that have ended do not care for their cluster any more. */
function openBackupsOf(caches: Caches, { metadata }: KubeObject): readonly KubeObject[] {
  return caches.backups.byIndex(SOURCE_INDEX, `${metadata.namespace}/${metadata.name}`).filter(isOpen);
}

function openRestoresOf(caches: Caches, { metadata }: KubeObject): readonly KubeObject[] {
  return caches.restores.byIndex(TARGET_INDEX, `${metadata.namespace}/${metadata.name}`).filter(isOpenRestore);
}

/** The cluster that waits for it. */
function targetOfRestore(restore: KubeObject): readonly Key[] {
  const { metadata, spec } = restore as EtcdRestore;
  return [{ namespace: metadata.namespace, name: spec.clusterTemplate.clusterName }];
}

function restoresFrom(caches: Caches, { metadata }: KubeObject): readonly KubeObject[] {
  const isFrom = (restore: EtcdRestore) =>
    restore.metadata.namespace === metadata.namespace && restore.spec.source.backupName === metadata.name;
  return caches.restores.list().filter((restore) => isOpenRestore(restore) && isFrom(restore));
}

/** Users that have the role, or are to get it. */
function usersWith(caches: Caches, role: EtcdRole): readonly KubeObject[] {
  const { namespace } = role.metadata;
  const all = caches.users.byIndex(ETCD_INDEX, `${namespace}/${role.spec.clusterName}`);
  return all.filter(({ spec }) => spec.roles.includes(roleNameOf(role)));
}

function textOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function ownKey({ metadata }: KubeObject): readonly Key[] {
  return metadata.namespace === undefined ? [] : [{ namespace: metadata.namespace, name: metadata.name }];
}

/** @param untilMs monotonic: afterwards it does not count */
function synced(name: string, cache: { readonly synced: boolean }, untilMs: number): Check {
  const isMissing = (): boolean => !cache.synced && clock.monotonicMs() < untilMs;
  return { name: `cache-${name}`, fault: () => (isMissing() ? "has not read the whole state yet" : undefined) };
}

/** Resolves `afterMs` after the signal aborted. */
function aborted(signal: AbortSignal, afterMs: number): Promise<void> {
  return new Promise((resolve) => {
    const wait = (): void => void clock.after(afterMs, resolve);
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
  });
}
