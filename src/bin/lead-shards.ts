import { shardLeaseName } from "#api/names.ts";
import type { Check } from "#runtime/health.ts";
import { Holdings, type ShardWork } from "#shards/holdings.ts";
import { isSynced, READ_WITHIN_MS } from "./caught-up.ts";
import { type Lead, migration } from "./lead.ts";
import { shardLeadershipOf } from "./leadership.ts";
import { clientOf, openWorld, type Surroundings, type World } from "./world.ts";

/** The shard whose leader does what is to be done once for all. */
const FIRST = 0;

/** One process of several: it leads its share of the shards, and has a world of its own for each. */
export function leadShards(surroundings: Surroundings): Lead {
  const { flags, clock, log, stop } = surroundings;
  const worlds = new Map<number, World>();
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
      async run(leading) {
        if (!(await world.whenSynced(leading))) return;
        log.info({ name }, "this process leads the shard: at work");
        await world.work(leading, number === FIRST ? [migration(surroundings, world, leading)] : []);
        log.info({ name }, "this process leads the shard no more");
      },
      async close() {
        ended.abort();
        worlds.delete(number);
        world.pool.closeAll();
        await world.kube.close();
      },
    };
  };
  const holdings = new Holdings({ process: flags.identity, group, elections, prepare, clock });

  const readUntilMs = clock.monotonicMs() + READ_WITHIN_MS;
  const isReading = (): boolean => [...worlds.values()].some(({ caches }) => !isSynced(caches));
  const readiness: Check = {
    name: "shards",
    fault: () =>
      isReading() && clock.monotonicMs() < readUntilMs ? "has not read the whole state of its shards yet" : undefined,
  };
  return {
    get worlds() {
      return [...worlds.values()];
    },
    mayActForAll: () => holdings.mayAct(FIRST),
    isStarting: () => (worlds.size === 0 ? !group.mayAct() : isReading()),
    alive: () =>
      [...worlds].flatMap(([number, { rooms }]) =>
        rooms.map((room) => ({ ...room.check(), name: `shard-${number}-${room.name}-passes` })),
      ),
    ready: () => [readiness],
    leads: () => elections.map((_, shard) => ({ shard, isLed: holdings.mayAct(shard) })),
    async run() {
      const left = new AbortController();
      const joined = group.run(left.signal);
      try {
        await holdings.run(stop);
      } finally {
        left.abort();
        await joined;
        await group.leave();
      }
    },
    close: () => leases.close(),
  };
}
