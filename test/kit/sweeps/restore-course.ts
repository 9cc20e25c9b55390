import { CLUSTER_LABEL, RESTORE_LABEL } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import type { Fault } from "#kit/servers/fallible-api.ts";
import { IMAGE } from "#kit/snapshots/etcd-backup.ts";
import { FINISHED } from "#kit/snapshots/etcd-restore.ts";
import { JOBS, PODS } from "#kube/kinds.ts";
import { restoreController } from "#restore/controller.ts";
import { RESTORE_INDEX, type RestoreReads, TARGET_INDEX } from "#restore/observe.ts";
import { planRestore } from "#restore/plan.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { Pass } from "#runtime/pass.ts";
import { CLAIMS, CLUSTERS, RESTORES, RestoreWorld } from "./restore-world.ts";

// Runs an EtcdRestore in its simulation, with operators that die, and other actors that interfere.

const KEY = { namespace: "foo", name: "back" };
const signal = new AbortController().signal;
const metrics = createMetrics();

/** A new operator process, without any state of an earlier one. */
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
          throw new OperatorError("EtcdUnavailable", "another cluster answered");
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
      publish: () => undefined,
      mayAct: () => !world.isDead,
    },
  );
  return async () => {
    world.lookedFrom = world.version;
    await pass.run(KEY, signal);
  };
}

/** Largest number of rounds until nothing more happens. */
const ROUNDS = 60;
/** Longer than a failed restore keeps its logs, and than any timeout. */
const LATER_MS = 11 * 60_000;

export interface Course {
  /** A faulty plan that replaces the operator's. */
  readonly plan?: typeof planRestore;
  readonly given?: ConstructorParameters<typeof RestoreWorld>[0];
  /** Faults by number of the attempted write. */
  readonly faults?: readonly (readonly [number, Fault])[];
  /** Actions of other actors, by time. */
  readonly happenings?: readonly (readonly [number, (world: RestoreWorld) => void])[];
  /** An action of another actor as soon as the condition holds. */
  readonly when?: readonly [is: (world: RestoreWorld) => boolean, act: (world: RestoreWorld) => void];
}

export async function tell({ given, faults = [], happenings = [], when, plan }: Course): Promise<RestoreWorld> {
  const world = new RestoreWorld(given);
  for (const [at, fault] of faults) world.faults.set(at, fault);
  for (const [at, act] of happenings) world.happenings.set(at, () => act(world));
  await settle(world, operator(world, plan), when, plan);
  return world;
}

/**
 * Continues until nothing more happens.
 * @param plan see Course
 */
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
