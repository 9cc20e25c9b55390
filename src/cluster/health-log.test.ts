import { describe, expect, test } from "vitest";
import { HealthLog } from "#cluster/health-log.ts";
import { sickForMs, votersOf } from "#cluster/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, NOW, sickSince } from "#kit/cluster.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const healthy = cluster();
const down = cluster({ down: ["my-etcd-2"] });
const id = down.cluster.status!.identity!.initialMembers[2]!.id;

/** Looks, each so many milliseconds after the one before. */
function looks(...each: readonly (readonly [ClusterSnapshot, number])[]) {
  const log = new HealthLog();
  let atMs = 0;
  let last: ReturnType<HealthLog["look"]> = new Map();
  for (const [snapshot, afterMs] of each) {
    atMs += afterMs;
    last = log.look(KEY, snapshot, atMs);
  }
  return last.get(id);
}

test("health log: nobody is sick who is healthy", () => {
  expect(looks([down, 0], [healthy, 1_000])).toBeUndefined();
});

test("health log: sickness is counted from the first of the looks in a row that found it", () => {
  expect(looks([healthy, 0], [down, 1_000], [down, 1_000], [down, 1_000])).toEqual({ forMs: 2_000, wasWell: true });
});

test("health log: a look that found the member healthy begins the count anew", () => {
  expect(looks([down, 0], [down, 5_000], [healthy, 1_000], [down, 1_000])).toEqual({ forMs: 0, wasWell: true });
});

test("health log: what was seen before a time in which nobody looked does not count", () => {
  expect(looks([healthy, 0], [down, 1_000], [down, 60_000])).toEqual({ forMs: 0, wasWell: false });
});

test("health log: a cluster that is gone leaves nothing behind", () => {
  const log = new HealthLog();
  log.look(KEY, healthy, 0);
  log.forget(KEY);
  expect(log.look(KEY, down, 1_000).get(id)).toEqual({ forMs: 0, wasWell: false });
});

describe("how long a member has been sick", () => {
  const recorded = sickSince(down, "my-etcd-2", 600_000);
  const member = votersOf(recorded)[2]!;
  const sickFor = (forMs: number, wasWell: boolean) =>
    sickForMs({ ...recorded, takenAtMs: NOW, sickness: new Map([[id, { forMs, wasWell }]]) }, member);

  test("by the record of an earlier process, once this one has confirmed it", () => {
    expect(sickFor(10_000, false)).toBe(600_000);
  });

  test("by its own looks until then: the member may have been well in between", () => {
    expect(sickFor(9_000, false)).toBe(9_000);
  });

  test("by its own looks, when they found the member healthy since the record was made", () => {
    expect(sickFor(20_000, true)).toBe(20_000);
  });
});
