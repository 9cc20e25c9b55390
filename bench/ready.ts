// Seconds from creating a cluster to three healthy voters. The operator, without TLS and with it, is compared with a
// hand-written StatefulSet.

import { setTimeout as sleep } from "node:timers/promises";
import { operatorCertificateName } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { Keyring } from "#certificates/keyring.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import type { KubeClient } from "#kube/client.ts";
import { SECRETS, SERVICES } from "#kube/kinds.ts";
import { benchOptions, median, print, rounded, say } from "./figure.ts";
import { floorObjects } from "./floor.ts";
import { benchClient, createNamespace, etcdCluster, found, OPTIONS, removeNamespace, STATEFUL_SETS } from "./kube.ts";
import { type Stages, Timeline } from "./timeline.ts";
import { until } from "./until.ts";
import { areServing } from "./voters.ts";

const MEMBERS = 3;
const DEFAULT_ROUNDS = 7;
/**
 * Interval of checks, in milliseconds: short against the second that is measured, and long enough to cause little load.
 */
const LOOK_EVERY_MS = 15;
/** Quiet time before each start, in milliseconds, so that the end of the previous cluster does not slow it down. */
const SETTLE_MS = 2_000;

const CLUSTER = "db";

const SIDES = ["operator", "floor", "tls"] as const;
/**
 * `tls`: the operator with its default TLS for members and clients. `operator`: without TLS. `floor`: the StatefulSet.
 */
type Side = (typeof SIDES)[number];
interface Run extends Stages {
  readonly voters: number;
}

const kube = await benchClient();
const rounds = benchOptions().rounds ?? DEFAULT_ROUNDS;
const runs: Record<Side, Run[]> = { operator: [], floor: [], tls: [] };
for (let round = 0; round <= rounds; round++) {
  // Each side is the first in every third round.
  for (const side of [...SIDES.slice(round % 3), ...SIDES.slice(0, round % 3)]) {
    const run = await measure(kube, side, `bench-${side}-${round}`);
    say(`${round === 0 ? "warm-up" : `round ${round}`} ${side}: ${text(run)}`);
    if (round > 0) runs[side].push(run);
  }
}
const seconds = (side: Side, stage: keyof Run) => runs[side].flatMap((run) => run[stage] ?? []).map((s) => rounded(s));
const operator = seconds("operator", "voters");
const floor = seconds("floor", "voters");
const tls = seconds("tls", "voters");
print({
  bench: "ready",
  operator,
  floor,
  tls,
  ratio: rounded(median(operator) / median(floor)),
  tlsRatio: rounded(median(tls) / median(operator)),
  operatorStages: stagesOf("operator"),
  floorStages: stagesOf("floor"),
  tlsStages: stagesOf("tls"),
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
  const keyring = new Keyring();
  const ref = { namespace, name: CLUSTER };
  await until(
    "three healthy voters",
    async () => {
      if (side === "tls" && keyring.identityOf(ref) === undefined) await learn(kube, keyring, ref);
      return (await areServing(etcd, timeline.pods(), MEMBERS, keyring)) || undefined;
    },
    { everyMs: LOOK_EVERY_MS },
  );
  const run = { voters: timeline.elapsedSeconds(), ...timeline.stages() };
  pool.closeAll();
  await timeline.stop();
  await removeNamespace(kube, namespace);
  return run;
}

/** Puts the certificate with which the operator connects into the keyring, once its Secret exists. */
async function learn(kube: KubeClient, keyring: Keyring, ref: { namespace: string; name: string }): Promise<void> {
  const name = operatorCertificateName(ref.name);
  const secret = await found(kube, SECRETS, { namespace: ref.namespace, name });
  if (secret !== undefined) keyring.learn(ref, secret);
}

async function create(kube: KubeClient, side: Side, namespace: string): Promise<void> {
  if (side !== "floor") {
    const tls = side === "tls" ? "Default" : "None";
    await kube.create(ETCD_CLUSTERS, etcdCluster(namespace, CLUSTER, MEMBERS, tls), OPTIONS);
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
