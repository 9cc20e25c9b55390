import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identify, isAlive, type ProcessId } from "../proc.ts";
import { endAll } from "./ending.ts";

let folder: string;
let note: string;
const started: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ending-"));
  note = join(folder, "run", "ending.json"); // its folder does not exist yet
});

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

function sleeper(): ProcessId {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  started.push(child);
  const id = identify(child.pid ?? 0);
  if (id === undefined) throw new Error("sleep did not start");
  return id;
}

test("ending: processes are killed until none is found, and are recorded before they are killed", async () => {
  const [one, other] = [sleeper(), sleeper()];
  const looks = [[one], [other], []];
  await endAll(() => looks.shift() ?? [], note);
  expect([one, other].filter(isAlive)).toEqual([]);
  expect(looks).toEqual([]);
  expect(JSON.parse(readFileSync(note, "utf8"))).toEqual([other]);
});

test("ending: a process that an earlier call recorded is killed even if the search does not find it", async () => {
  const hidden = sleeper();
  writeFileSync(join(folder, "noted"), JSON.stringify([hidden]));
  await endAll(() => [], join(folder, "noted"));
  expect(isAlive(hidden)).toBe(false);
});

test("ending: the calling process and its ancestors are not killed", async () => {
  const own = [process.pid, process.ppid].flatMap((pid) => identify(pid) ?? []);
  const other = sleeper();
  await endAll(() => [...own, other].filter(isAlive), note);
  expect([...own, other].map(isAlive)).toEqual([true, true, false]);
});

test("ending: a later process that reuses a recorded PID is not killed", async () => {
  const other = sleeper();
  await endAll(() => [], note);
  expect(existsSync(note)).toBe(false);
  writeFileSync(join(folder, "noted"), JSON.stringify([{ ...other, startTicks: "1" }]));
  await endAll(() => [], join(folder, "noted"));
  expect(isAlive(other)).toBe(true);
});
