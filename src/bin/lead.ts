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

/** What a process leads, from its start to its end. */
export interface Lead {
  /** Whatever reads and acts at this moment. */
  readonly worlds: readonly World[];
  /** All that is read at this moment, also for what was led here until a moment ago. */
  readonly caches: readonly Caches[];
  /** What has been counted by those that were here before. */
  readonly past: PastCounts;
  /** Whether this process may, at this moment, write what concerns no cluster, such as the certificate of the webhooks. */
  mayActForAll(): boolean;
  /** Whether it has yet to read what it is to read. */
  isStarting(): boolean;
  alive(): readonly Check[];
  ready(): readonly Check[];
  /** Whether each shard is led here, at this moment, by its number; without shards one entry, without a number. */
  leads(): readonly { readonly shard: number | undefined; readonly isLed: boolean }[];
  /** Leads until the process is to end, or the lease is lost. */
  run(): Promise<void>;
  /** Lets go of everything. */
  close(): Promise<void>;
}

/** One process leads everything: it reads all, so that a standby takes over without a delay, and then stands for the lease. */
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
    alive: () => world.rooms.map((room) => room.check()),
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
          log.info({}, "this process leads no more");
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

/** Stores all objects in the version of this release; it changes nothing of them, so it is done once, for all shards. */
export function migration({ clock, log }: Surroundings, { kube }: World, leading: AbortSignal): Promise<void> {
  const kinds = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES];
  return migrateStorage({ kube, clock, log }, kinds, leading);
}
