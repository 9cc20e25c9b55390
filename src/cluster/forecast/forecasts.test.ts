import { describe, expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { Forecasts } from "./forecasts.ts";
import { planStatus } from "./plan-status.ts";

interface Asked {
  readonly edit?: string | undefined;
  readonly uid?: string;
  readonly generation?: number;
  /** spec.paused, which changes the message of the plan. */
  readonly paused?: boolean;
}

function asking({ edit = "{}", uid = "a", generation = 1, paused = false }: Asked = {}): ClusterSnapshot {
  const given = cluster({ replicas: 1, annotations: { [DRY_RUN_ANNOTATION]: edit }, spec: { paused } });
  return { ...given, cluster: { ...given.cluster, metadata: { ...given.cluster.metadata, uid, generation } } };
}

/** The snapshot with this answer in its status. */
function withWritten(given: ClusterSnapshot, edit: string, observedGeneration: number): ClusterSnapshot {
  const dryRun = { edit, outcome: "Done", message: "as it was written" } as const;
  return { ...given, cluster: { ...given.cluster, status: { ...given.cluster.status, observedGeneration, dryRun } } };
}

/** Forecasts at given times. Each takes this many milliseconds. */
function forecasts(takesMs = 0) {
  let now = 0;
  let looks = 0;
  // The clock is read before and after each forecast.
  const made = new Forecasts({ monotonicMs: () => now + (looks++ === 1 ? takesMs : 0) });
  return (atMs: number, snapshot: ClusterSnapshot) => {
    now = atMs;
    return made.of(snapshot);
  };
}

const DONE = planStatus(asking());
const PAUSED = planStatus(asking({ paused: true }));
const EDIT = '{"paused":true}';
const PENDING = {
  edit: EDIT,
  outcome: "Unforeseen",
  message: "the forecast is being computed: the operator computes one a second, over all clusters",
};

describe("forecasts", () => {
  test("there is no forecast without the dry-run annotation", () => {
    const at = forecasts();
    expect(at(0, cluster())).toBeUndefined();
    expect(at(0, asking())).toEqual(DONE);
  });

  test("a forecast is reused for 30 s, although the snapshot changes", () => {
    const at = forecasts();
    expect(at(0, asking())).toEqual(DONE);
    expect(at(29_999, asking({ paused: true }))).toEqual(DONE);
    expect(at(30_000, asking({ paused: true }))).toEqual(PAUSED);
  });

  test.each([
    { name: "a new edit", to: { edit: EDIT } },
    { name: "a new spec", to: { paused: true, generation: 2 } },
  ])("a forecast is not reused for $name", ({ to }) => {
    const at = forecasts();
    at(0, asking());
    expect(at(1_000, asking(to))).toEqual(planStatus(asking(to)));
  });

  test("forecasts of all clusters are one second apart, and the last forecast is reused until then", () => {
    const at = forecasts();
    at(0, asking());
    expect(at(29_000, asking({ uid: "b", edit: EDIT }))).toEqual({ ...PAUSED, edit: EDIT });
    expect(at(29_999, asking({ uid: "c", edit: EDIT }))).toEqual(PENDING);
    expect(at(30_000, asking({ uid: "c", edit: EDIT }))).toMatchObject({ outcome: "Waits" });
    expect(at(30_500, asking({ paused: true }))).toEqual(DONE);
    expect(at(31_000, asking({ paused: true }))).toEqual(PAUSED);
  });

  test("the pause of one second begins when the last forecast has ended", () => {
    const at = forecasts(5_000);
    at(0, asking());
    expect(at(5_999, asking({ uid: "b", edit: EDIT }))).toEqual(PENDING);
    expect(at(6_000, asking({ uid: "b", edit: EDIT }))).toMatchObject({ outcome: "Waits" });
    expect(at(34_999, asking({ paused: true }))).toEqual(DONE);
    expect(at(35_000, asking({ paused: true }))).toEqual(PAUSED);
  });

  test("during the pause a forecast of the same edit and generation is taken from the status", () => {
    const at = forecasts();
    at(0, asking());
    const other = asking({ uid: "b", edit: EDIT, generation: 2 });
    expect(at(999, withWritten(other, EDIT, 2))).toMatchObject({ message: "as it was written" });
    expect(at(999, withWritten(other, EDIT, 1))).toEqual(PENDING);
    expect(at(999, withWritten(other, "{}", 2))).toEqual(PENDING);
    const { status: _, ...bare } = other.cluster;
    expect(at(999, { ...other, cluster: bare as typeof other.cluster })).toEqual(PENDING);
    expect(at(1_000, withWritten(other, EDIT, 2))).toMatchObject({ outcome: "Waits" });
  });

  test("only the first 1,000 characters of an edit are repeated", () => {
    const at = forecasts();
    at(0, asking());
    expect(at(999, asking({ uid: "b", edit: "x".repeat(1_001) }))?.edit).toBe("x".repeat(1_000));
  });

  test("a forecast is dropped with its annotation, or after ten minutes without a request", () => {
    const at = forecasts();
    at(0, asking());
    const { cluster: of } = cluster();
    const withoutQuestion = { ...cluster(), cluster: { ...of, metadata: { ...of.metadata, uid: "a" } } };
    expect(at(1_000, withoutQuestion)).toBeUndefined();
    expect(at(1_000, asking({ paused: true }))).toEqual(PAUSED);

    for (const [afterMs, held] of [
      [600_000, DONE],
      [600_001, undefined],
    ] as const) {
      const late = forecasts();
      late(0, asking());
      late(afterMs, asking({ uid: "b" }));
      const now = late(afterMs + 1, asking({ paused: true }));
      expect(now).toEqual(held ?? { ...PENDING, edit: "{}" });
    }
  });
});
