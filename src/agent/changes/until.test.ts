import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { AgentError } from "../error.ts";
import type { Until } from "../task.ts";
import { Stop } from "./until.ts";

const T = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(T + seconds * 1000).toISOString();
/** A backup that was complete at second 0, with revision 10. */
const base = { clusterID: "cdf", revision: 10n, startedMs: T, atMs: T };

function revision(number: number, received: number, after?: number) {
  const afterMs = after === undefined ? undefined : T + after * 1000;
  return { revision: BigInt(number), atMs: T + received * 1000, afterMs, leases: [], changes: [] };
}

function outcomeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (thrown) {
    assert.ok(thrown instanceof AgentError);
    return `${thrown.reason}: ${thrown.message}`;
  }
}

describe("a replay up to", () => {
  test.each<[Until, Parameters<typeof revision>, boolean | RegExp]>([
    [{ revision: "12" }, [12, 99], false],
    [{ revision: "12" }, [13, 1], true],
    [{ time: at(5) }, [11, 5], false],
    [{ time: at(5) }, [11, 5.001], true],
    [{ time: "2026-01-01T01:00:05+01:00" }, [11, 5], false],
    // Received late: it happened between 2 and 8.
    [{ time: at(9) }, [11, 8, 2], false],
    [{ time: at(8) }, [11, 8, 2], false],
    [{ time: at(1) }, [11, 8, 2], true],
    [{ time: at(5) }, [11, 8, 2], /^ArchiveGap: revision 11 happened between .*:02\.000Z and .*:08\.000Z/],
    [{ time: at(2) }, [11, 8, 2], /^ArchiveGap/],
  ])("%j stops before revision [number, second, earliest second] %j: %s", (until, received, expected) => {
    const is = outcomeOf(() => new Stop(until, base).isBefore(revision(...received)));
    if (expected instanceof RegExp) assert.match(String(is), expected);
    else assert.equal(is, expected);
  });

  test.each<[Until, Parameters<typeof revision>, boolean | RegExp]>([
    [{ revision: "12" }, [10, 99], false],
    [{ time: at(5) }, [10, 5], false],
    // By the archiver's clock the backup contains an excluded revision.
    [
      { time: at(5) },
      [10, 5.001],
      /^BadTask: the backup has revision 10, of .*:05\.001Z, .*:05\.000Z; use an older backup$/,
    ],
    [{ time: at(5) }, [9, 6], /^BadTask: the backup has revision 9, of/],
    [{ time: at(5) }, [10, 8, 5.001], /^BadTask: the backup has revision 10, of/],
    // Received late: the backup, complete in time, contains it, so its time does not matter.
    [{ time: at(5) }, [10, 8, 2], false],
    [{ time: at(5) }, [9, 8, 5], false],
  ])("%j stops before the backup's own revision %j: %s", (until, received, expected) => {
    const is = outcomeOf(() => new Stop(until, base).isBefore(revision(...received)));
    if (expected instanceof RegExp) assert.match(String(is), expected);
    else assert.equal(is, expected);
  });

  test.each<[Until, number, number, RegExp | undefined]>([
    [{ revision: "12" }, 12, 0, undefined],
    [{ revision: "12" }, 11, 99, /^ArchiveGap: the archive ends with revision 11 .* requested is revision 12$/],
    [{ time: at(5) }, 11, 5, undefined],
    [{ time: at(5) }, 11, 4.999, /^ArchiveGap: the archive ends with .*:04\.999Z; requested is .*:05\.000Z$/],
  ])(
    "%j, with the archive's end at revision %i and second %d, is refused with: %s",
    (until, last, seconds, expected) => {
      const reach = { revision: BigInt(last), untilMs: T + seconds * 1000 };
      const is = outcomeOf(() => new Stop(until, base).checkReach(BigInt(last), reach));
      if (expected === undefined) assert.equal(is, undefined);
      else assert.match(String(is), expected);
    },
  );

  test.each<[Until, RegExp | undefined]>([
    [{ revision: "10" }, undefined],
    [{ revision: "9" }, /^BadTask: the backup has revision 10, .* revision 9; use an older backup$/],
    [{ time: at(0) }, undefined],
    [{ time: at(-1) }, /^BadTask: the backup was complete at 2026-01-01T00:00:00\.000Z, .*; use an older backup$/],
  ])("%j, with the backup at revision 10 and second 0, is refused with: %s", (until, expected) => {
    const is = outcomeOf(() => new Stop(until, base).text);
    if (expected === undefined) assert.ok(!String(is).includes("BadTask"));
    else assert.match(String(is), expected);
  });
});
