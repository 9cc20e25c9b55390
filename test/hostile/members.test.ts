import { expect, test } from "vitest";
import { MAX_BLOCKED_MS, MAX_MEMORY_MB } from "#kit/hostile/cost.ts";
import { meetMembers } from "#kit/hostile/meet-members.ts";
import { ATTACKS } from "#kit/hostile/member-attacks.ts";
import type { CallName } from "#kit/hostile/member-calls.ts";

/** Deadline of a call, and its limit on a busy machine, in milliseconds: it has to end at all. */
const DEADLINE_MS = 300;
const MAX_WALL_MS = 10_000;

/** Attacks in which the call may succeed: the data comes after a complete answer. */
const MAY_SUCCEED = ["data after the end"];

const calls: { call: CallName; only?: string; name: string }[] = [
  { name: "a call of the operator", call: "status" },
  { name: "a large request of the operator", call: "put", only: "window" },
  { name: "a call of the agent", call: "sourceStatus", only: "push" },
  { name: "a snapshot", call: "snapshot" },
  { name: "a change feed", call: "watch" },
];

test.each(calls)(
  "$name ends in time with an error, whatever a member sends, and the process keeps running",
  { timeout: 300_000 },
  async ({ call, only = "" }) => {
    const names = Object.keys(ATTACKS).filter((name) => name.toLowerCase().includes(only));
    const hostile = names.map((name) => ({ name, call, times: 1, script: ATTACKS[name] ?? {} }));
    const { end, met, endedAt } = await meetMembers(hostile, DEADLINE_MS);
    expect(endedAt).toBeUndefined();
    expect(end).toMatchObject({ code: 0, signal: null });
    expect(met.map(({ name }) => name)).toEqual(names);
    const wrong = met.filter(
      ({ name, failures, tookMs, blockedMs }) =>
        !failures.every((text) => /^(?:Etcd|Cancelled)/.test(text) || (text === "" && MAY_SUCCEED.includes(name))) ||
        tookMs > MAX_WALL_MS ||
        blockedMs > MAX_BLOCKED_MS,
    );
    expect(wrong).toEqual([]);
    expect(end.peakMb).toBeLessThan(MAX_MEMORY_MB);
  },
);
