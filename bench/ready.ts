// Seconds from creating a cluster to three healthy voters: the operator against a hand-written StatefulSet.

import { setTimeout as sleep } from "node:timers/promises";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import type { KubeClient } from "#kube/client.ts";
import { SERVICES } from "#kube/kinds.ts";
import { benchOptions, median, print, rounded, say } from "./figure.ts";
import { floorObjects } from "./floor.ts";
import { benchClient, createNamespace, etcdCluster, OPTIONS, removeNamespace, STATEFUL_SETS } from "./kube.ts";
import { type Stages, Timeline } from "./timeline.ts";
import { until } from "./until.ts";
import { areServing } from "./voters.ts";

const MEMBERS = 3;
const DEFAULT_ROUNDS = 7;
/** Pause between two looks, in milliseconds: little against the second that is measured, and little load. */
const LOOK_EVERY_MS = 15;
/** Quiet time before each start, in milliseconds, so that no start pays for the end of the one before. */
const SETTLE_MS = 2_000;

type Side = "operator" | "floor";
interface Run extends Stages {
  readonly voters: number;
}

const kube = await benchClient();
const rounds = benchOptions().rounds ?? DEFAULT_ROUNDS;
const runs: Record<Side, Run[]> = { operator: [], floor: [] };
for (let round = 0; round <= rounds; round++) {
  const sides: readonly Side[] = round % 2 === 0 ? ["operator", "floor"] : ["floor", "operator"];
  for (const side of sides) {
    const run = await measure(kube, side, `bench-${side}-${round}`);
    say(`${round === 0 ? "warm-up" : `round ${round}`} ${side}: ${text(run)}`);
    if (round > 0) runs[side].push(run);
  }
}
const seconds = (side: Side, stage: keyof Run) => runs[side].flatMap((run) => run[stage] ?? []).map((s) => rounded(s));
const operator = seconds("operator", "voters");
const floor = seconds("floor", "voters");
print({
  bench: "ready",
  operator,
  floor,
  ratio: rounded(median(operator) / median(floor)),
  operatorStages: stagesOf("operator"),
  floorStages: stagesOf("floor"),
});
await kube.close();

/** Medians over the rounds. */
function stagesOf(side: Side): Record<string, number> {
  const names = ["replicaSet", "pod", "scheduled", "running", "voters"] as const;
  return Object.fromEntries(
    names.filter((name) => seconds(side, name).length > 0).map((name) => [name, rounded(median(seconds(side, name)))]),
  );
}

async function measure(kube: KubeClient, side: Side, namespace: string): Promise<Run> {
  await createNamespace(kube, namespace);
  const timeline = new Timeline(kube, namespace);
  const pool = new TransportPool(systemClock);
  const etcd = new GrpcClient({ pool, clock: systemClock });
  await timeline.ready();
  await sleep(SETTLE_MS);
  timeline.start();
  await create(kube, side, namespace);
  await until("three healthy voters", async () => (await areServing(etcd, timeline.pods(), MEMBERS)) || undefined, {
    everyMs: LOOK_EVERY_MS,
  });
  const run = { voters: timeline.elapsedSeconds(), ...timeline.stages() };
  pool.closeAll();
  await timeline.stop();
  await removeNamespace(kube, namespace);
  return run;
}

async function create(kube: KubeClient, side: Side, namespace: string): Promise<void> {
  if (side === "operator") {
    await kube.create(ETCD_CLUSTERS, etcdCluster(namespace, "db", MEMBERS), OPTIONS);
    return;
  }
  const [service, statefulSet] = floorObjects(namespace);
  await kube.create(SERVICES, service, OPTIONS);
  await kube.create(STATEFUL_SETS, statefulSet, OPTIONS);
}

function text(run: Run): string {
  const parts = Object.entries(run).filter(([, value]) => value !== undefined);
  return parts.map(([stage, value]) => `${stage} ${(value as number).toFixed(2)}`).join(", ");
}
