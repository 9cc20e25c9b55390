import { CLUSTER_LABEL, RESTORE_LABEL } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { JOBS, PODS } from "#kube/kinds.ts";
import { restoreController } from "#restore/controller.ts";
import { RESTORE_INDEX, type RestoreReads, TARGET_INDEX } from "#restore/observe.ts";
import { planRestore } from "#restore/plan.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { Pass } from "#runtime/pass.ts";
import { IMAGE } from "./etcd-backup.ts";
import { FINISHED } from "./etcd-restore.ts";
import type { Fault } from "./fallible-api.ts";
import { CLAIMS, CLUSTERS, RESTORES, RestoreWorld } from "./restore-world.ts";

// How an EtcdRestore goes in its world, with operators that die, and others who do what they like.

const KEY = { namespace: "foo", name: "back" };
const signal = new AbortController().signal;
const metrics = createMetrics();

/** A process of the operator: nothing of the one before is left in it. */
export function operator(world: RestoreWorld, plan = planRestore): () => Promise<void> {
  const kube = world.client();
  const reads = {
    restores: world.view(RESTORES),
    backups: world.view(ETCD_BACKUPS.plural),
    clusters: world.view(CLUSTERS),
    claims: world.view(CLAIMS, { [TARGET_INDEX]: CLUSTER_LABEL }),
    jobs: world.view(JOBS.plural),
    pods: world.view(PODS.plural, { [TARGET_INDEX]: CLUSTER_LABEL, [RESTORE_INDEX]: RESTORE_LABEL }),
    kube,
    etcd: {
      revision: (_: unknown, { expectedClusterId }: { expectedClusterId: bigint }) => {
        const { clusterID } = world.cluster?.status?.identity ?? {};
        if (clusterID !== expectedClusterId.toString(16))
          throw new OperatorError("EtcdUnavailable", "it is another one");
        return Promise.resolve(BigInt(FINISHED.revision));
      },
    },
    clock: world.clock,
    agentImage: IMAGE,
    imageRepository: "registry.example/etcd",
  } as unknown as RestoreReads;
  const pass = new Pass(
    { ...restoreController(kube as never, reads), plan },
    {
      clock: world.clock,
      log: silentLog,
      metrics,
      expectations: world.expectations as never,
      tell: () => undefined,
      mayAct: () => !world.isDead,
    },
  );
  return async () => {
    world.lookedFrom = world.version;
    await pass.run(KEY, signal);
  };
}

/** So many steps of the world, at most, until nothing more happens. */
const ROUNDS = 60;
/** More than what has failed keeps its logs for, and than anything is waited for. */
const LATER_MS = 11 * 60_000;

export interface Course {
  /** What the operator decides by, when it is not right. */
  readonly plan?: typeof planRestore;
  readonly given?: ConstructorParameters<typeof RestoreWorld>[0];
  /** By number of a try to write. */
  readonly faults?: readonly (readonly [number, Fault])[];
  /** What somebody does, by moment. */
  readonly happenings?: readonly (readonly [number, (world: RestoreWorld) => void])[];
  /** What somebody does as soon as it is so. */
  readonly when?: readonly [is: (world: RestoreWorld) => boolean, act: (world: RestoreWorld) => void];
}

export async function tell({ given, faults = [], happenings = [], when, plan }: Course): Promise<RestoreWorld> {
  const world = new RestoreWorld(given);
  for (const [at, fault] of faults) world.faults.set(at, fault);
  for (const [at, act] of happenings) world.happenings.set(at, () => act(world));
  await settle(world, operator(world, plan), when, plan);
  return world;
}

/** Goes on until nothing more happens. @param plan see Course */
export async function settle(
  world: RestoreWorld,
  first: () => Promise<void>,
  when?: Course["when"],
  plan?: typeof planRestore,
) {
  let look = first;
  let [isDone, idle] = [when === undefined, 0];
  for (let round = 0; round < ROUNDS && idle < 4; round++) {
    const before = world.version;
    for (let again = 0; again < 2; again++) {
      world.show();
      world.moment("look");
      await look();
      if (!world.isDead) continue;
      world.isDead = false;
      look = operator(world, plan);
    }
    if (!isDone && when?.[0](world) === true) {
      isDone = true;
      when[1](world);
    } else world.goOn();
    await world.clock.advance(1_000);
    idle = world.version === before ? idle + 1 : 0;
    if (idle === 2) await world.clock.advance(LATER_MS);
  }
}

export function phaseOf({ restore }: RestoreWorld): string {
  return restore === undefined ? "gone" : (restore.status?.phase ?? "new");
}

export function reasonOf({ restore }: RestoreWorld): string {
  return restore?.status?.conditions?.find(({ type }) => type === "Complete")?.reason ?? "";
}
