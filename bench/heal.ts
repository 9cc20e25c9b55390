// Seconds from an emptied volume to three healthy voters, while clients write and read without pause. Failed requests
// and the longest pause of the clients are measured, too.

import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PEER_LABEL, REMOVAL_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { systemClock } from "#base/clock.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { Load } from "#kit/e2e/load.ts";
import { emptyVolume, killEtcd } from "#kit/e2e/load-accidents.ts";
import { Cache } from "#kube/cache.ts";
import { PERSISTENT_VOLUME_CLAIMS, type Pod } from "#kube/kinds.ts";
import { benchOptions, median, print, rounded, say } from "./figure.ts";
import { benchClient, createNamespace, etcdCluster, found, OPTIONS, readyCluster, removeNamespace } from "./kube.ts";
import { Timeline } from "./timeline.ts";
import { until } from "./until.ts";
import { areHealthyVoters, areServing } from "./voters.ts";

const NAMESPACE = "bench-heal";
const CLUSTER = "db";
const MEMBERS = 3;
const DEFAULT_ROUNDS = 3;
/**
 * Interval of checks, in milliseconds: short against the seconds that are measured, and long enough to cause little
 * load.
 */
const LOOK_EVERY_MS = 30;
/** Quiet time before each volume is emptied, in milliseconds. */
const SETTLE_MS = 3_000;

const { auditLog, rounds = DEFAULT_ROUNDS } = benchOptions();
/** Folder of the local Kubernetes, with the audit log and the volumes. */
const folder = dirname(dirname(auditLog));
const kube = await benchClient();
await createNamespace(kube, NAMESPACE);
const timeline = new Timeline(kube, NAMESPACE);
await timeline.ready();
const peers = new Cache({ client: kube, resource: ETCD_PEERS, namespace: NAMESPACE });
peers.start(OPTIONS.signal);
await peers.whenSynced(OPTIONS.signal);
const pool = new TransportPool(systemClock);
const etcd = new GrpcClient({ pool, clock: systemClock });
await kube.create(ETCD_CLUSTERS, etcdCluster(NAMESPACE, CLUSTER, MEMBERS), OPTIONS);
await readyCluster(kube, { namespace: NAMESPACE, name: CLUSTER });
const load = new Load(NAMESPACE, CLUSTER);
await load.untilServed();

const runs: { waited: number; heal: number; serving: number; failedRequests: number; longestPauseMs: number }[] = [];
for (let round = 1; round <= rounds; round++) {
  await sleep(SETTLE_MS);
  const { name, pod } = await follower();
  const claim = await kube.get(PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name }, OPTIONS);
  const sinceMs = load.now();
  await emptyVolume({ folder }, pod.spec?.nodeName ?? "", claim.spec?.volumeName ?? "");
  await killEtcd(pod.metadata.uid);
  await until(`the operator gives up ${name}`, () => isGivenUp(name) || undefined, { everyMs: LOOK_EVERY_MS });
  const decidedMs = load.now();
  const isWhole = async () => (await areHealthyVoters(etcd, timeline.pods(), MEMBERS)) || undefined;
  await until(`${MEMBERS} healthy voters`, isWhole, { everyMs: LOOK_EVERY_MS });
  const heal = (load.now() - decidedMs) / 1_000;
  const isServing = async () => (await areServing(etcd, timeline.pods(), MEMBERS)) || undefined;
  await until(`${MEMBERS} members serve clients`, isServing, { everyMs: LOOK_EVERY_MS });
  const { failedRequests, longestPauseMs, why } = load.felt(sinceMs);
  const run = {
    waited: (decidedMs - sinceMs) / 1_000,
    heal,
    serving: (load.now() - decidedMs) / 1_000,
    failedRequests,
    longestPauseMs,
  };
  runs.push(run);
  const felt = `${failedRequests} failed requests, longest pause ${longestPauseMs} ms`;
  say(
    [
      `${name}: ${run.waited.toFixed(2)} s until it is given up, then ${run.heal.toFixed(2)} s, all serve after ${run.serving.toFixed(2)} s; ${felt}`,
      ...new Set(why),
    ].join("; "),
  );
}
const faults = await load.end();
if (faults.length > 0) throw new Error(`Clients saw inconsistent data: ${faults.join("; ")}`);
print({
  bench: "heal",
  waitedSeconds: rounded(median(runs.map(({ waited }) => waited))),
  healSeconds: rounded(median(runs.map(({ heal }) => heal))),
  servingSeconds: rounded(median(runs.map(({ serving }) => serving))),
  // Totals of all rounds: a median would hide them.
  failedRequests: runs.reduce((sum, { failedRequests }) => sum + failedRequests, 0),
  longestPauseMs: Math.max(...runs.map(({ longestPauseMs }) => longestPauseMs)),
  rounds,
});
pool.closeAll();
await Promise.all([timeline.stop(), peers.stop()]);
await removeNamespace(kube, NAMESPACE);
await kube.close();

/** A member that does not lead, so that no election is part of the measurement. */
async function follower(): Promise<{ name: string; pod: Pod }> {
  const cluster = await found(kube, ETCD_CLUSTERS, { namespace: NAMESPACE, name: CLUSTER });
  for (const pod of timeline.pods()) {
    const name = pod.metadata.labels?.[PEER_LABEL];
    if (name !== undefined && name !== cluster?.status?.leader) return { name, pod };
  }
  throw new Error("Every member leads.");
}

/** Whether the operator has decided to replace the member: it has annotated the peer, or deleted it already. */
function isGivenUp(name: string): boolean {
  const peer = peers.get({ namespace: NAMESPACE, name });
  return peer?.metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined || peer === undefined;
}
