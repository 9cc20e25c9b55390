import { expect, test } from "vitest";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Outcome } from "#runtime/controller.ts";
import { Setbacks } from "#runtime/setbacks.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const DONE: Outcome = { is: "done" };
const FAILED: Outcome = { is: "failed", code: "KubeForbidden", why: "exceeded quota" };
const NOT_NOW: Outcome = { is: "notNow", why: "the learner has not caught up" };
const CONFLICT: Outcome = { is: "conflict", why: "the object has been modified" };

function setup() {
  const clock = new FakeClock();
  const setbacks = new Setbacks(clock, () => 0);
  const restMs = () => setbacks.resting(KEY, "paint")?.forMs ?? 0;
  /** The pauses after so many tries, each made as soon as allowed, in milliseconds. */
  const pauses = async (outcome: Outcome, times: number) => {
    const all: number[] = [];
    for (let time = 0; time < times; time++) {
      setbacks.note(KEY, "paint", outcome);
      all.push(restMs());
      await clock.advance(restMs());
    }
    return all;
  };
  return { clock, setbacks, restMs, pauses };
}

test("deferred steps: a rejected step is deferred from half a second up to a minute", async () => {
  const { pauses } = setup();
  expect(await pauses(FAILED, 9)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
});

test("deferred steps: a successful step may be repeated once, then it is deferred from a second up to five minutes", async () => {
  const { pauses } = setup();
  expect(await pauses(DONE, 4)).toEqual([0, 1_000, 2_000, 4_000]);
  expect((await pauses(DONE, 12)).at(-1)).toBe(300_000);
});

test("deferred steps: a step that etcd asked to retry is deferred briefly, and not reported", async () => {
  const { setbacks, pauses } = setup();
  expect(Math.max(...(await pauses(NOT_NOW, 10)))).toBeLessThan(2_000);
  setbacks.note(KEY, "paint", NOT_NOW);
  expect(setbacks.resting(KEY, "paint")).toMatchObject({ isBrief: true });
});

test("deferred steps: many retries at etcd's request count as a rejection, with at most one each half minute", async () => {
  const { setbacks, pauses } = setup();
  expect((await pauses(NOT_NOW, 20)).at(-1)).toBe(30_000);
  setbacks.note(KEY, "paint", NOT_NOW);
  expect(setbacks.resting(KEY, "paint")).toMatchObject({ isBrief: false });
});

test("deferred steps: the tenth conflict in a row counts as a rejection", async () => {
  const { setbacks, pauses } = setup();
  expect(await pauses(CONFLICT, 11)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 500, 1_000]);
  setbacks.note(KEY, "paint", CONFLICT);
  expect(setbacks.resting(KEY, "paint")).toMatchObject({ isBrief: false });
});

test("deferred steps: the time since the first failed try is reported, conflicts included, until the step succeeds", async () => {
  const { setbacks, pauses, clock } = setup();
  const triedForMs = () => setbacks.resting(KEY, "paint")?.triedForMs;
  await pauses(FAILED, 3);
  setbacks.note(KEY, "paint", CONFLICT);
  await clock.advance(500);
  setbacks.note(KEY, "paint", FAILED);
  await clock.advance(100);
  expect(triedForMs()).toBe(500 + 1_000 + 2_000 + 500 + 100);
  setbacks.note(KEY, "paint", DONE);
  setbacks.note(KEY, "paint", FAILED);
  expect(triedForMs()).toBe(0);
  for (let n = 0; n < 10; n++) setbacks.note({ ...KEY, name: "other" }, "paint", CONFLICT);
  await clock.advance(10);
  expect(setbacks.resting({ ...KEY, name: "other" }, "paint")).toMatchObject({ triedForMs: 10, isBrief: false });
});

test("deferred steps: a success after failures resets the count, and so does a minute without tries", async () => {
  const { setbacks, pauses, clock, restMs } = setup();
  await pauses(FAILED, 5);
  expect(await pauses(DONE, 1)).toEqual([0]);
  await pauses(DONE, 3);
  await clock.advance(60_000);
  setbacks.note(KEY, "paint", DONE);
  expect(restMs()).toBe(0);
});

test("deferred steps: an entry expires after a minute without tries, and no sooner", async () => {
  const { setbacks, clock } = setup();
  const other = { ...KEY, name: "other" };
  setbacks.note(KEY, "paint", DONE);
  await clock.advance(30_000);
  setbacks.note(other, "paint", DONE);
  expect(setbacks.keys).toBe(2);
  await clock.advance(30_000);
  setbacks.sweep();
  expect(setbacks.keys).toBe(1);
  setbacks.note(other, "paint", DONE);
  expect(setbacks.resting(other, "paint")?.because).toBe("done 2 times and wanted again: something undoes it");
  await clock.advance(61_000);
  setbacks.sweep();
  expect(setbacks.keys).toBe(0);
});

test("deferred steps: an object that is retried does not keep others from expiring", async () => {
  const { setbacks, clock } = setup();
  for (const name of ["first", "second"]) setbacks.note({ ...KEY, name }, "paint", DONE);
  await clock.advance(59_000);
  setbacks.note({ ...KEY, name: "first" }, "paint", FAILED);
  await clock.advance(2_000);
  setbacks.sweep();
  expect(setbacks.keys).toBe(1);
});

test("deferred steps: a conflict in between does not hide that something reverts the step", () => {
  const { setbacks, restMs } = setup();
  setbacks.note(KEY, "paint", DONE);
  setbacks.note(KEY, "paint", CONFLICT);
  expect(restMs()).toBe(0);
  setbacks.note(KEY, "paint", DONE);
  expect(restMs()).toBe(1_000);
});

test("deferred steps: a step is not reverted when the same rule made a different change in between", () => {
  const { setbacks } = setup();
  const rests = (step: string) => setbacks.resting(KEY, step) !== undefined;
  for (let turn = 0; turn < 5; turn++) {
    for (const wish of ["3", "2"]) setbacks.note(KEY, `budget replace my-etcd ${wish}`, DONE);
    expect(rests("budget replace my-etcd 3") || rests("budget replace my-etcd 2")).toBe(false);
  }
  setbacks.note(KEY, "budget replace my-etcd 2", DONE);
  expect(rests("budget replace my-etcd 2")).toBe(true);
});

test("deferred steps: a change of another object, or by another rule, does not reset the count", () => {
  for (const other of ["budget replace other 2", "drain replace my-etcd 2", "budget delete my-etcd 2"]) {
    const { setbacks } = setup();
    for (const step of ["budget replace my-etcd 3", other, "budget replace my-etcd 3"]) setbacks.note(KEY, step, DONE);
    expect(setbacks.resting(KEY, "budget replace my-etcd 3")).toBeDefined();
  }
});

test("deferred steps: a rejected step stays deferred when another step of its rule succeeds", () => {
  const { setbacks } = setup();
  setbacks.note(KEY, "budget replace my-etcd 3", FAILED);
  setbacks.note(KEY, "budget replace my-etcd 2", DONE);
  expect(setbacks.resting(KEY, "budget replace my-etcd 3")).toBeDefined();
});

test("deferred steps: a deferred step delays neither other steps nor other objects", () => {
  const { setbacks } = setup();
  setbacks.note(KEY, "paint", FAILED);
  expect(setbacks.resting(KEY, "paint")).toMatchObject({ because: "exceeded quota", code: "KubeForbidden" });
  expect(setbacks.resting(KEY, "sweep")).toBeUndefined();
  expect(setbacks.resting({ ...KEY, name: "other" }, "paint")).toBeUndefined();
  setbacks.forget(KEY);
  expect(setbacks.resting(KEY, "paint")).toBeUndefined();
});
