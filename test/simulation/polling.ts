import type { World } from "#kit/world/world.ts";
import { settle } from "./ambient.ts";
import { everythingHappens } from "./calm.ts";

/** Time without changes before counting starts, in milliseconds. */
const CALM_MS = 10 * 60_000;
/** Time of counting, in milliseconds. */
const COUNTED_MS = 60_000;
/** Most observations of one object in that time: one every two seconds, and two after an event. */
const MOST_LOOKS = 32;

/**
 * Lets time pass without events. @returns the object that is observed too often; also `undefined` when something
 * changed
 */
export async function pollsTooOften(world: World, next: () => void): Promise<string | undefined> {
  const { version } = world.api;
  await passTime(world, CALM_MS, next);
  const before = new Map(world.operator?.looks);
  await passTime(world, COUNTED_MS, next);
  if (world.api.version !== version) return undefined;
  const looks = [...(world.operator?.looks ?? [])].map(([name, all]) => ({
    name,
    count: all - (before.get(name) ?? 0),
  }));
  const often = looks.find(({ count }) => count > MOST_LOOKS);
  return often === undefined ? undefined : `${often.name}: ${often.count} observations in ${COUNTED_MS / 1_000} s`;
}

async function passTime(world: World, ms: number, next: () => void): Promise<void> {
  const { time, api } = world;
  const { version } = api;
  const endMs = time.nowMs + ms;
  while (time.nowMs < endMs && api.version === version) {
    await settle();
    next();
    time.runNext(everythingHappens(world) ? Math.min(endMs, time.nowMs + 20) : endMs);
  }
}
