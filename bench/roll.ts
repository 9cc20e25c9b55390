// Seconds per member when all members of a cluster are restarted, while clients write and read without pause. Failed
// requests and the longest pause of the clients are measured, too. The floor is the time from the plain deletion of one
// pod of the same cluster until the next pod serves.

import { setTimeout as sleep } from "node:timers/promises";
import { CLIENT_PORT, ETCD_CONTAINER, PEER_LABEL } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { type Felt, Load } from "#kit/e2e/load.ts";
import { PODS, type Pod } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";
import { benchOptions, median, print, rounded, say } from "./figure.ts";
import { benchClient, createNamespace, etcdCluster, found, OPTIONS, readyCluster, removeNamespace } from "./kube.ts";
import { Timeline } from "./timeline.ts";
import { until } from "./until.ts";
import { areServing } from "./voters.ts";

const NAMESPACE = "bench-roll";
const CLUSTER = "db";
const REF = { namespace: NAMESPACE, name: CLUSTER };
const MERGE_PATCH = { ...OPTIONS, type: "merge" } as const;
const MEMBERS = 3;
const DEFAULT_ROUNDS = 3;
/**
 * Interval of checks, in milliseconds: short against the second that is measured, and long enough to cause little load.
 */
const LOOK_EVERY_MS = 20;
/** Timeout of a check of one member, in milliseconds. */
const ANSWER_MS = 300;
/** Quiet time before each change, in milliseconds, so that the previous one does not slow it down. */
const SETTLE_MS = 6_000;

const rounds = benchOptions().rounds ?? DEFAULT_ROUNDS;
const kube = await benchClient();
await createNamespace(kube, NAMESPACE);
const timeline = new Timeline(kube, NAMESPACE);
await timeline.ready();
const pool = new TransportPool(systemClock);
const etcd = new GrpcClient({ pool, clock: systemClock });
await kube.create(ETCD_CLUSTERS, etcdCluster(NAMESPACE, CLUSTER, MEMBERS), OPTIONS);
await readyCluster(kube, REF);
const load = new Load(NAMESPACE, CLUSTER, { again: "once" });
await load.untilServed();

const rolls: (Felt & { readonly seconds: number })[] = [];
const floors: number[] = [];
for (let round = 1; round <= rounds; round++) {
  for (const { name, uid } of await followers()) {
    await sleep(SETTLE_MS);
    floors.push(await restartAlone(name, uid));
    say(`${name} alone: ${floors.at(-1)?.toFixed(2)} s`);
  }
  await sleep(SETTLE_MS);
  const run = await roll(round);
  rolls.push(run);
  const felt = `${run.failedRequests} failed requests, longest pause ${run.longestPauseMs} ms`;
  say([`all ${MEMBERS}: ${run.seconds.toFixed(2)} s, ${felt}`, ...new Set(run.why)].join("; "));
}
const faults = await load.end();
if (faults.length > 0) throw new Error(`Clients saw inconsistent data: ${faults.join("; ")}`);
print({
  bench: "roll",
  secondsPerMember: rounded(median(rolls.map(({ seconds }) => seconds)) / MEMBERS),
  // Totals of all rounds: a median would hide them.
  failedRequests: rolls.reduce((sum, { failedRequests }) => sum + failedRequests, 0),
  longestPauseMs: Math.max(...rolls.map(({ longestPauseMs }) => longestPauseMs)),
  floorSecondsPerMember: rounded(median(floors)),
  rounds,
  requests: rolls.reduce((sum, run) => sum + run.acknowledgedWrites + run.answeredReads, 0),
});
pool.closeAll();
await timeline.stop();
await removeNamespace(kube, NAMESPACE);
await kube.close();

/**
 * Restarts all members.
 * @returns seconds from the edit until each member serves clients from a new pod, and what clients felt
 */
async function roll(round: number): Promise<Felt & { readonly seconds: number }> {
  const before = new Set(timeline.pods().map(({ metadata }) => metadata.uid));
  const sinceMs = load.now();
  const annotations = { "kubectl.kubernetes.io/restartedAt": `round ${round}` };
  await kube.patch(ETCD_CLUSTERS, REF, { spec: { podTemplate: { metadata: { annotations } } } }, MERGE_PATCH);
  await until(
    `each of ${MEMBERS} members serves from a new pod`,
    async () => {
      const fresh = timeline.pods().filter(({ metadata }) => !before.has(metadata.uid));
      return (fresh.length === MEMBERS && (await areServing(etcd, fresh, MEMBERS))) || undefined;
    },
    { everyMs: LOOK_EVERY_MS },
  );
  return { seconds: (load.now() - sinceMs) / 1_000, ...load.felt(sinceMs) };
}

/** Deletes a member's pod. @returns seconds until the next pod serves clients */
async function restartAlone(name: string, uid: string): Promise<number> {
  const pod = podOf(name);
  if (pod?.metadata.uid !== uid) throw new Error(`Pod of ${name} was replaced by another client.`);
  const sinceMs = performance.now();
  await kube.delete(PODS, pod.metadata, { ...OPTIONS, preconditions: { uid } });
  await until(
    `${name} serves again`,
    async () => {
      const next = podOf(name);
      if (next === undefined || next.metadata.uid === uid) return undefined;
      return (await serves(next)) || undefined;
    },
    { everyMs: LOOK_EVERY_MS },
  );
  return (performance.now() - sinceMs) / 1_000;
}

/** Members that do not lead, so that no election is part of the measurement. */
async function followers(): Promise<readonly { readonly name: string; readonly uid: string }[]> {
  const leader = (await found(kube, ETCD_CLUSTERS, REF))?.status?.leader;
  return timeline.pods().flatMap(({ metadata }) => {
    const name = metadata.labels?.[PEER_LABEL];
    return name === undefined || name === leader ? [] : [{ name, uid: metadata.uid }];
  });
}

function podOf(name: string): Pod | undefined {
  return timeline.pods().find(({ metadata }) => metadata.labels?.[PEER_LABEL] === name);
}

/** Whether the member in this pod answers at its client port and follows a leader. */
async function serves(pod: Pod): Promise<boolean> {
  const address = dialAddress(pod, ETCD_CONTAINER, CLIENT_PORT);
  if (address === undefined) return false;
  const answer = await etcd.probe({ address }, { ...OPTIONS, deadlineMs: ANSWER_MS });
  return answer.is === "present" && answer.value.leaderId !== undefined;
}
