import { shardLeaseName } from "#api/names.ts";
import type { Check } from "#runtime/health.ts";
import { Holdings, type ShardWork } from "#shards/holdings.ts";
import { isStartingWith, isSynced, READ_WITHIN_MS } from "./caught-up.ts";
import { type Lead, migration } from "./lead.ts";
import { shardLeadershipOf } from "./leadership.ts";
import { PastCounts } from "./past-counts.ts";
import { clientOf, openWorld, type Surroundings, type World } from "./world.ts";

/** The shard whose leader does what is to be done once for all. */
const FIRST = 0;

/** One process of several: it leads its share of the shards, and has a world of its own for each. */
export function leadShards(surroundings: Surroundings): Lead {
  const { flags, clock, log, stop } = surroundings;
  const worlds = new Map<number, World>();
  const past = new PastCounts();
  const leases = clientOf(surroundings);
  const { group, elections } = shardLeadershipOf(leases, flags, { clock, log });

  const prepare = (number: number, mayAct: () => boolean): ShardWork => {
    const ended = new AbortController();
    const until = AbortSignal.any([stop, ended.signal]);
    const world = openWorld({ ...surroundings, stop: until }, mayAct, { number, of: flags.shards });
    const name = shardLeaseName(number);
    worlds.set(number, world);
    world.start(ended.signal); // While passes end, what they wrote is still to be seen.
    return {
      whenReady: (signal) => world.whenSynced(signal),
      async run(leading) {
        log.info({ name }, "this process leads the shard: at work");
        await world.work(leading, number === FIRST ? [migration(surroundings, world, leading)] : []);
        log.info({ name }, "this process leads the shard no more");
      },
      async close() {
        ended.abort();
        worlds.delete(number);
        past.add(world);
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
    past,
    mayActForAll: () => holdings.mayAct(FIRST),
    isStarting: () => isStartingWith(caches(), isNew()),
    alive: () =>
      [...worlds].flatMap(([number, { rooms }]) =>
        rooms.map((room) => ({ ...room.check(), name: `shard-${number}-${room.name}-passes` })),
      ),
    ready: () => [readiness],
    leads: () => elections.map((_, shard) => ({ shard, isLed: holdings.leads(shard) })),
    run: () => group.during(() => holdings.run(stop)),
    close: () => leases.close(),
  };
}
