import { shardLeaseName } from "#api/names.ts";
import type { Check } from "#runtime/health.ts";
import { Holdings, type ShardWork } from "#shards/holdings.ts";
import { createCaches } from "./caches.ts";
import { isStartingWith, isSynced, READ_WITHIN_MS } from "./caught-up.ts";
import { type Lead, migration } from "./lead.ts";
import { shardLeadershipOf } from "./leadership.ts";
import { PastCounts } from "./past-counts.ts";
import { Readings } from "./readings.ts";
import { clientOf, openWorld, type Surroundings, type World } from "./world.ts";

/** Shard with the leader that does work needed only once for all shards. */
const FIRST = 0;

/** Leadership of one process of several: it leads its share of the shards, each with its own world. */
export function leadShards(surroundings: Surroundings): Lead {
  const { flags, clock, log, stop } = surroundings;
  const worlds = new Map<number, World>();
  const past = new PastCounts();
  const shardOf = (number: number) => ({ number, of: flags.shards });
  const reading = (number: number) => {
    const client = clientOf(surroundings, () => false); // This client only reads.
    return {
      client,
      caches: createCaches(client, clock, log, { shard: shardOf(number), namespaces: flags.watchNamespaces }),
    };
  };
  const readings = new Readings(reading, (ended) => past.addCaches(ended), clock);
  const leases = clientOf(surroundings);
  const { group, elections } = shardLeadershipOf(leases, flags, { clock, log });

  const prepare = (number: number, mayAct: () => boolean): ShardWork => {
    const ended = new AbortController();
    const until = AbortSignal.any([stop, ended.signal]);
    const shown = { shard: shardOf(number), caches: readings.take(number) };
    const world = openWorld({ ...surroundings, stop: until }, mayAct, shown);
    const name = shardLeaseName(number);
    worlds.set(number, world);
    return {
      whenReady: (signal) => world.whenSynced(signal),
      async run(leading) {
        log.info({ name }, "this process leads the shard: at work");
        await world.work(leading, number === FIRST ? [migration(surroundings, world, leading)] : []);
        log.info({ name }, "this process no longer leads the shard");
      },
      async close() {
        ended.abort();
        worlds.delete(number);
        past.addEvents(world);
        readings.leave(number); // After the passes have ended: until then the caches had to show their writes.
        world.pool.closeAll();
        await world.kube.close();
      },
    };
  };
  const holdings = new Holdings({ process: flags.identity, group, elections, prepare, clock, log });

  const readUntilMs = clock.monotonicMs() + READ_WITHIN_MS;
  const isNew = (): boolean => clock.monotonicMs() < readUntilMs;
  const caches = () => [...worlds.values()].map((world) => world.caches);
  const readiness: Check = {
    name: "shards",
    fault() {
      if (isNew() && !caches().every(isSynced)) return "has not read the whole state of its shards yet";
      const { unread } = holdings;
      return unread.length === 0
        ? undefined
        : `could not read the whole state of shard ${unread.join(", ")}, and gave it back`;
    },
  };
  return {
    get worlds() {
      return [...worlds.values()];
    },
    get caches() {
      return readings.caches;
    },
    past,
    mayActForAll: () => holdings.mayAct(FIRST),
    isStarting: () => isStartingWith(caches(), isNew()),
    alive: () =>
      [...worlds].flatMap(([number, { controllers }]) =>
        controllers.map((controller) => ({ ...controller.check(), name: `shard-${number}-${controller.name}-passes` })),
      ),
    ready: () => [readiness],
    leads: () => elections.map((_, shard) => ({ shard, isLed: holdings.leads(shard) })),
    run: () => group.during(() => holdings.run(stop)),
    async close() {
      await readings.close();
      await leases.close();
    },
  };
}
