import { expect, test } from "vitest";
import { MAX_BLOCKED_MS, MAX_MEMORY_MB } from "#kit/hostile/cost.ts";
import { meetMembers } from "#kit/hostile/meet-members.ts";
import { answering, BOMBS } from "#kit/hostile/member-bombs.ts";

/** Deadline of each call, in milliseconds: enough for accepted answers on a busy machine. */
const DEADLINE_MS = 10_000;

/**
 * Limit for the agent in milliseconds of processor time: it holds no lease, and nothing else needs its event loop.
 * A part of a change feed with 250,000 changes took 420 on a quiet machine and 690 beside other tests.
 */
const MAX_AGENT_BLOCKED_MS = 1_500;

const REFUSED = /the answer to \w+ has (?:\d+ bytes; it may have|more than) \d+|maximum recursion depth/;
const TAKEN = new Set(BOMBS.filter(({ isTaken }) => isTaken).map(({ name }) => name));

test("a member's answer takes no more memory than the limit, however small its elements are", {
  timeout: 300_000,
}, async () => {
  const hostile = BOMBS.map(({ name, call, bytes }) => ({ name, call, times: 1, script: answering(bytes) }));
  const { end, met, endedAt } = await meetMembers(hostile, DEADLINE_MS);
  expect(endedAt).toBeUndefined();
  expect(end).toMatchObject({ code: 0, signal: null });
  expect(met.map(({ name }) => name)).toEqual(BOMBS.map(({ name }) => name));
  const wrong = met.filter(({ name, failures, blockedMs, rssMb }) => {
    const isRefused = failures.every((text) => REFUSED.test(text));
    const mostMs = BOMBS.find((bomb) => bomb.name === name)?.call === "watch" ? MAX_AGENT_BLOCKED_MS : MAX_BLOCKED_MS;
    return isRefused === TAKEN.has(name) || blockedMs > mostMs || rssMb > MAX_MEMORY_MB;
  });
  expect(wrong).toEqual([]);
  expect(end.peakMb).toBeLessThan(MAX_MEMORY_MB);
});
