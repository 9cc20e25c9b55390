import { ETCD_CLUSTERS } from "#api/v1alpha1/cluster.ts";
import { ETCD_PEERS } from "#api/v1alpha1/peer.ts";
import type { World } from "#kit/world.ts";
import { settle } from "./ambient.ts";
import { everythingHappens } from "./calm.ts";
import type { Memory } from "./memory.ts";

/** How long nothing changes before it counts, in milliseconds. */
const CALM_MS = 10 * 60_000;
/** How long is counted, in milliseconds. */
const COUNTED_MS = 60_000;
/** Looks at one object in that time: one every three seconds. */
const MOST_LOOKS = 20;

/** Lets time pass in which nothing happens. @returns who looks too often; `undefined` too when something did change */
export async function pollsTooOften(world: World, next: () => void, memory: Memory): Promise<string | undefined> {
  const isForming = world.api
    .list(ETCD_CLUSTERS)
    .some(({ status }) => status?.identity?.initialMembers.some(({ joined }) => !joined) ?? true);
  if (isForming && memory.spared.has("formingPolls")) return undefined;
  const { version } = world.api;
  await passTime(world, CALM_MS, next);
  const before = world.operator?.passes ?? 0;
  await passTime(world, COUNTED_MS, next);
  if (world.api.version !== version) return undefined;
  const objects = world.api.list(ETCD_CLUSTERS).length + world.api.list(ETCD_PEERS).length;
  const looks = (world.operator?.passes ?? 0) - before;
  return looks > objects * MOST_LOOKS ? `${looks} looks at ${objects} objects in ${COUNTED_MS / 1_000} s` : undefined;
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
