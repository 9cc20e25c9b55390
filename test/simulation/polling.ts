import type { World } from "#kit/world.ts";
import { settle } from "./ambient.ts";
import { everythingHappens } from "./calm.ts";

/** How long nothing changes before it counts, in milliseconds. */
const CALM_MS = 10 * 60_000;
/** How long is counted, in milliseconds. */
const COUNTED_MS = 60_000;
/** Looks at one object in that time: one every two seconds, and two that an event brings. */
const MOST_LOOKS = 32;

/** Lets time pass in which nothing happens. @returns who looks too often; `undefined` too when something did change */
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
  return often === undefined ? undefined : `${often.name}: ${often.count} looks in ${COUNTED_MS / 1_000} s`;
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
