// Seconds to grow and shrink a cluster while clients write and read without pause. Failed requests and the longest
// pause of the clients are measured, too.

import { setTimeout as sleep } from "node:timers/promises";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { type Felt, Load } from "#kit/e2e/load.ts";
import type { KubeClient } from "#kube/client.ts";
import { benchOptions, median, print, rounded, say } from "./figure.ts";
import { benchClient, createNamespace, etcdCluster, OPTIONS, readyCluster, removeNamespace } from "./kube.ts";
import { Timeline } from "./timeline.ts";
import { until } from "./until.ts";
import { areHealthyVoters, areServing } from "./voters.ts";

const CLUSTER = "db";
const DEFAULT_ROUNDS = 3;
/**
 * Interval of checks, in milliseconds: short against the seconds that are measured, and long enough to cause little
 * load.
 */
const LOOK_EVERY_MS = 30;
/** Quiet time before each change, in milliseconds: etcd accepts a change only when members were connected for 5 s. */
const SETTLE_MS = 6_000;

const CHANGES = [
  { name: "s1to3", replicas: 3 },
  { name: "s3to5", replicas: 5 },
  { name: "s5to3", replicas: 3 },
] as const;
type Change = (typeof CHANGES)[number]["name"];

/** Times from the edit, in seconds. */
interface Took {
  /** Time until exactly so many voters pass etcd's own health check. */
  readonly seconds: number;
  /** Time until each voter also answers at its client port. */
  readonly servingSeconds: number;
}
type Run = Felt & Took;

const kube = await benchClient();
const rounds = benchOptions().rounds ?? DEFAULT_ROUNDS;
const runs: Record<Change, Run[]> = { s1to3: [], s3to5: [], s5to3: [] };
/**
 * Runs without clients, on a cluster that was never used: etcd then sends a new member its log instead of a snapshot.
 */
const idle: Record<Change, Took[]> = { s1to3: [], s3to5: [], s5to3: [] };
for (let round = 1; round <= rounds; round++) {
  await measure(kube, `bench-scale-${round}`);
  await measureIdle(kube, `bench-idle-${round}`);
}
const medians = (all: Record<Change, readonly Took[]>, what: keyof Took) =>
  Object.fromEntries(CHANGES.map(({ name }) => [name, rounded(median(all[name].map((took) => took[what])))]));
const all = Object.values(runs).flat();
print({
  bench: "scale",
  ...medians(runs, "seconds"),
  // Totals of all rounds: a median would hide them.
  failedRequests: all.reduce((sum, { failedRequests }) => sum + failedRequests, 0),
  longestPauseMs: Math.max(...all.map(({ longestPauseMs }) => longestPauseMs)),
  rounds,
  requests: all.reduce((sum, run) => sum + run.acknowledgedWrites + run.answeredReads, 0),
  serving: medians(runs, "servingSeconds"),
  idle: medians(idle, "seconds"),
});
await kube.close();

/**
 * Creates a cluster of one member, runs `work` with a function that scales and measures it, and removes the cluster.
 */
async function withCluster(
  kube: KubeClient,
  namespace: string,
  work: (scaleTo: (replicas: number) => Promise<Took>) => Promise<void>,
): Promise<void> {
  const ref = { namespace, name: CLUSTER };
  await createNamespace(kube, namespace);
  const timeline = new Timeline(kube, namespace);
  await timeline.ready();
  const pool = new TransportPool(systemClock);
  const etcd = new GrpcClient({ pool, clock: systemClock });
  await kube.create(ETCD_CLUSTERS, etcdCluster(namespace, CLUSTER, 1), OPTIONS);
  await readyCluster(kube, ref);
  await work(async (replicas) => {
    const startMs = performance.now();
    await kube.patch(ETCD_CLUSTERS, ref, { spec: { replicas } }, { ...OPTIONS, type: "merge" });
    const isThere = async () => (await areHealthyVoters(etcd, timeline.pods(), replicas)) || undefined;
    await until(`${replicas} healthy voters`, isThere, { everyMs: LOOK_EVERY_MS });
    const seconds = (performance.now() - startMs) / 1_000;
    const isServing = async () => (await areServing(etcd, timeline.pods(), replicas)) || undefined;
    await until(`${replicas} members serve clients`, isServing, { everyMs: LOOK_EVERY_MS });
    return { seconds, servingSeconds: (performance.now() - startMs) / 1_000 };
  });
  pool.closeAll();
  await timeline.stop();
  await removeNamespace(kube, namespace);
}

async function measure(kube: KubeClient, namespace: string): Promise<void> {
  await withCluster(kube, namespace, async (scaleTo) => {
    const load = new Load(namespace, CLUSTER);
    await load.untilServed();
    for (const { name, replicas } of CHANGES) {
      await sleep(SETTLE_MS);
      const sinceMs = load.now();
      const took = await scaleTo(replicas);
      const run = { ...load.felt(sinceMs), ...took };
      runs[name].push(run);
      say(`${namespace} ${name}: ${text(run)}`);
    }
    const faults = await load.end();
    if (faults.length > 0) throw new Error(`Clients saw inconsistent data: ${faults.join("; ")}`);
  });
}

async function measureIdle(kube: KubeClient, namespace: string): Promise<void> {
  await withCluster(kube, namespace, async (scaleTo) => {
    for (const { name, replicas } of CHANGES) {
      await sleep(SETTLE_MS);
      const took = await scaleTo(replicas);
      idle[name].push(took);
      say(`${namespace} ${name}: ${inWords(took)}, without clients`);
    }
  });
}

function text({ failedRequests, longestPauseMs, why, ...took }: Run): string {
  const felt = `${inWords(took)}, ${failedRequests} failed requests, longest pause ${longestPauseMs} ms`;
  return [felt, ...new Set(why)].join("; ");
}

function inWords({ seconds, servingSeconds }: Took): string {
  return `${seconds.toFixed(2)} s (all serve after ${servingSeconds.toFixed(2)} s)`;
}
