import { expect, test } from "vitest";
import { MAX_BLOCKED_MS, MAX_MEMORY_MB } from "#kit/hostile/cost.ts";
import { HTTP_ATTACKS } from "#kit/hostile/http-attacks.ts";
import { meetMembers } from "#kit/hostile/meet-members.ts";

/** Deadline of a request, and its limit on a busy machine, in milliseconds: it has to end at all. */
const DEADLINE_MS = 300;
const MAX_WALL_MS = 10_000;

/** Requests that may succeed: `/readyz` is answered by its status alone. */
const MAY_SUCCEED = ["serves, a second answer without an end"];

test("an HTTP request ends in time, whatever a member answers, and the process keeps running", {
  timeout: 300_000,
}, async () => {
  const hostile = (["health", "serves", "heardPeers"] as const).flatMap((call) =>
    Object.entries(HTTP_ATTACKS).map(([name, script]) => ({ name: `${call}, ${name}`, call, times: 1, script })),
  );
  const { end, met, endedAt } = await meetMembers(hostile, DEADLINE_MS);
  expect(endedAt).toBeUndefined();
  expect(end).toMatchObject({ code: 0, signal: null });
  expect(met.map(({ name }) => name)).toEqual(hostile.map(({ name }) => name));
  const wrong = met.filter(
    ({ name, failures, tookMs, blockedMs }) =>
      !failures.every((text) => text.startsWith("EtcdUnavailable") || (text === "" && MAY_SUCCEED.includes(name))) ||
      tookMs > MAX_WALL_MS ||
      blockedMs > MAX_BLOCKED_MS,
  );
  expect(wrong).toEqual([]);
  expect(end.peakMb).toBeLessThan(MAX_MEMORY_MB);
});
