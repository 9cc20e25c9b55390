import { expect, test } from "vitest";
import { Turns } from "#backup/turns.ts";
import { attempt, backup } from "#kit/snapshots/etcd-backup.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Job, Ref } from "#kube/kinds.ts";

const MOST = 3;

function keyAt(n: number) {
  return { namespace: `team-${n}`, name: "nightly" };
}

/** Turns beside a cache of Jobs. */
function given() {
  const clock = new FakeClock(backup().takenAtMs);
  const jobs: Job[] = [];
  const isOf = ({ namespace, name }: Ref) => ({ metadata }: Job) => metadata.namespace === namespace && metadata.name === name; // biome-ignore format: one question
  const reads = {
    clock,
    runningBackups: MOST,
    jobs: { get: (ref: Ref) => jobs.find(isOf(ref)), byIndex: () => jobs },
    backups: { get: () => backup().backup },
  };
  const turns = new Turns(reads as never);
  const { job } = attempt(backup(), "running");
  const show = (n: number) => jobs.push({ ...job, metadata: { ...job.metadata, ...keyAt(n) } });
  return { turns, clock, jobs, show };
}

const made = () => Promise.resolve("made");
const FULL = "other backups have started since the decision";

test("a Job counts from its creation, also before the cache shows it, and only once", async () => {
  const { turns, show } = given();
  const running = () => turns.running("team-0");
  expect(running()).toEqual({ all: 0, inNamespace: 0, most: MOST });
  await turns.take(keyAt(0), made);
  expect(running()).toEqual({ all: 1, inNamespace: 1, most: MOST });
  show(0);
  expect(running()).toEqual({ all: 1, inNamespace: 1, most: MOST });
  show(1);
  expect(running()).toEqual({ all: 2, inNamespace: 1, most: MOST });
});

test("of backups that are decided in the same instant, only as many start as may run", async () => {
  const { turns } = given();
  const all = Array.from({ length: 10 }, (_, n) => turns.take(keyAt(n), made).catch((error) => error));
  const results = await Promise.all(all);
  expect(results.filter((each) => each === "made")).toHaveLength(MOST);
  expect(results.filter((each) => each !== "made").map(({ code, message }) => `${code}: ${message}`)).toEqual(
    Array.from({ length: 7 }, () => `KubeConflict: ${FULL}`),
  );
});

test("a Job that ends gives its place back, and so does a create that fails", async () => {
  const { turns, jobs, show } = given();
  for (const n of [0, 1, 2]) {
    await turns.take(keyAt(n), made);
    show(n);
  }
  await expect(turns.take(keyAt(3), made)).rejects.toThrow(FULL);
  jobs.pop();
  await expect(turns.take(keyAt(3), () => Promise.reject(new Error("quota")))).rejects.toThrow("quota");
  expect(await turns.take(keyAt(4), made)).toBe("made");
});

test("a Job that the cache never shows counts for a minute", async () => {
  const { turns, clock } = given();
  for (const n of [0, 1, 2]) await turns.take(keyAt(n), made);
  await clock.advance(59_999);
  expect(turns.running("team-0").all).toBe(3);
  await clock.advance(1);
  expect(turns.running("team-0").all).toBe(0);
});

test("the check of a backup counts by its own Job, beside the Job of the backup", async () => {
  const { turns, show } = given();
  await turns.take({ namespace: "team-0", name: "check-uid" }, made);
  await turns.take(keyAt(0), made);
  show(0);
  expect(turns.running("team-0").all).toBe(2);
});
