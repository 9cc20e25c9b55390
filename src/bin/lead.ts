import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { migrateStorage } from "#kube/storage-migration.ts";
import type { Check } from "#runtime/health.ts";
import type { Caches } from "./caches.ts";
import { followedAgain, isSynced, readinessOf } from "./caught-up.ts";
import { leadershipOf } from "./leadership.ts";
import { PastCounts } from "./past-counts.ts";
import { openWorld, type Surroundings, type World } from "./world.ts";

/** The leadership of a process, from its start to its end. */
export interface Lead {
  /** The worlds that exist at present. */
  readonly worlds: readonly World[];
  /** All caches, including those of shards that were given up a moment ago. */
  readonly caches: readonly Caches[];
  /** Counts of worlds that have ended. */
  readonly past: PastCounts;
  /** Whether this process may now write what belongs to no cluster, such as the webhooks' certificate. */
  mayActForAll(): boolean;
  /** Whether its caches are not synced yet. */
  isStarting(): boolean;
  alive(): readonly Check[];
  ready(): readonly Check[];
  /** For each shard, whether this process leads it now. Without shards one entry without a number. */
  leads(): readonly { readonly shard: number | undefined; readonly isLed: boolean }[];
  /** Leads until the process stops or the lease is lost. */
  run(): Promise<void>;
  /** Releases everything. */
  close(): Promise<void>;
}

/**
 * One process leads everything. It syncs all caches first, so that a standby takes over without delay, and then
 * competes for the lease.
 */
export function leadAll(surroundings: Surroundings): Lead {
  const { flags, clock, log, stop } = surroundings;
  const world = openWorld(surroundings, () => election.mayAct());
  const election = leadershipOf(world.kube, flags, { clock, log });
  const ready = readinessOf(world.caches, clock);
  const reading = new AbortController();
  return {
    worlds: [world],
    caches: [world.caches],
    past: new PastCounts(),
    mayActForAll: () => election.mayAct(),
    isStarting: () => !isSynced(world.caches),
    alive: () => world.controllers.map((controller) => controller.check()),
    ready: () => ready,
    leads: () => [{ shard: undefined, isLed: election.mayAct() }],
    async run() {
      const until = AbortSignal.any([stop, reading.signal]);
      world.start(until);
      if (!(await world.whenSynced(until))) return;
      const readMs = clock.monotonicMs();
      const lost = new AbortController();
      await election.run(AbortSignal.any([stop, lost.signal]), {
        async onStarted(leading) {
          await followedAgain(world.caches, readMs, leading, clock);
          if (leading.aborted) return;
          log.info({}, "this process leads: at work");
          await world.work(leading, [migration(surroundings, world, leading)]);
        },
        onStopped: () => {
          log.info({}, "this process does not lead any more");
          lost.abort();
        },
      });
    },
    async close() {
      reading.abort();
      world.pool.closeAll();
      await world.kube.close();
    },
  };
}

/**
 * Rewrites all objects in this release's storage version. The objects do not change, so this is done once for all
 * shards. Needs rights in every namespace, so `--watch-namespaces` leaves it out.
 */
export function migration({ flags, clock, log }: Surroundings, { kube }: World, leading: AbortSignal): Promise<void> {
  if (flags.watchNamespaces !== undefined) return Promise.resolve();
  const kinds = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES];
  return migrateStorage({ kube, clock, log }, kinds, leading);
}
