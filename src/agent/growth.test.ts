import assert from "node:assert/strict";
import { test } from "vitest";
import type { EndpointStatus } from "#etcd/types.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Member } from "./choose-member.ts";
import { GrowthWatch } from "./growth.ts";

const QUOTA = 1_000;

/** A watch of a member; the last of these sizes repeats. */
async function watched(
  from: number,
  inUse: number,
  sizes: readonly (number | undefined)[],
  quota: number | "unknown" = QUOTA,
) {
  const clock = new FakeClock();
  const status = {
    dbSizeBytes: from,
    dbSizeInUseBytes: inUse,
    dbSizeQuotaBytes: quota === "unknown" ? undefined : quota,
  } as EndpointStatus;
  let asked = 0;
  const source = {
    status: () => {
      const size = sizes[Math.min(asked++, sizes.length - 1)];
      return size === undefined
        ? Promise.reject(new Error("no answer"))
        : Promise.resolve({ ...status, dbSizeBytes: size });
    },
  };
  const watch = new GrowthWatch({ source, status } as unknown as Member, clock);
  await clock.advance(60_000);
  const { growth, signal } = watch;
  watch.stop();
  await clock.advance(60_000);
  return { growth, isAborted: signal.aborted, asked };
}

test("a copy ends when the database grows above 80 % of its quota", async () => {
  assert.deepEqual((await watched(500, 500, [700, 800, 801])).growth, { from: 500, to: 801, quota: QUOTA });
  const small = await watched(500, 500, [700, 800]);
  assert.deepEqual([small.growth, small.isAborted, small.asked], [undefined, false, 12]);
});

test("a copy of a nearly full database ends when the file has grown by half of the quota's free rest", async () => {
  assert.equal((await watched(900, 900, [950])).growth, undefined);
  assert.deepEqual((await watched(900, 900, [951])).growth, { from: 900, to: 951, quota: QUOTA });
});

test("the limit does not depend on the file size that an earlier attempt left", async () => {
  assert.deepEqual((await watched(801, 500, [802])).growth, { from: 801, to: 802, quota: QUOTA });
  assert.equal((await watched(801, 500, [801])).growth, undefined);
});

test("a missing answer or an unknown quota ends no copy", async () => {
  assert.equal((await watched(500, 500, [undefined])).growth, undefined);
  assert.equal((await watched(500, 500, [999], "unknown")).asked, 0);
});
