import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Beside } from "./beside.ts";
import { identify, isAlive } from "./proc.ts";

/** Says its own number and its child's, and ends when that is taken away. */
const COUPLE =
  'sleep 300 & echo "$$ $!" > "$0.draft"; mv "$0.draft" "$0"; while [ -e "$0" ]; do sleep 0.05; done; kill $!';

function sayingWhere(): string {
  const folder = mkdtempSync(join(tmpdir(), "beside-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "numbers");
}

async function numbersIn(file: string): Promise<readonly number[]> {
  await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(true);
  return readFileSync(file, "utf8").trim().split(" ").map(Number);
}

test("beside: all that is said is kept, in its order, with the exit code", async () => {
  const words = "echo first; echo second >&2; echo third; exit 3";
  expect(await new Beside().run(["sh", "-c", words])).toEqual({ code: 3, text: "first\nsecond\nthird\n" });
});

test("beside: a program that is not there is said", async () => {
  const told = await new Beside().run(["/not/there"]);
  expect(told.code).not.toBe(0);
  expect(told.text).toContain("/not/there");
});

test("beside: who has to wait for servers goes with everybody else", async () => {
  const [beside, file] = [new Beside(getPriority()), sayingWhere()];
  const told = beside.run(["sh", "-c", COUPLE, file]);
  expect((await numbersIn(file)).map((pid) => getPriority(pid))).toEqual([getPriority(), getPriority()]);
  rmSync(file);
  expect((await told).code).toBe(0);
});

test("beside: who computes and all that it has started go last, until somebody waits for them", async () => {
  const [beside, file] = [new Beside(), sayingWhere()];
  const told = beside.run(["sh", "-c", COUPLE, file]);
  const numbers = await numbersIn(file);
  const priorities = () => numbers.map((pid) => getPriority(pid));
  expect(priorities()).toEqual([19, 19]);
  // Only root may give a priority back.
  if (process.getuid?.() === 0) {
    beside.hurry();
    expect(priorities()).toEqual([getPriority(), getPriority()]);
  }
  rmSync(file);
  expect((await told).code).toBe(0);
});

/** A command that has a couple beside it, which hears no signal that can be put off. */
const COMMAND = `
  import { Beside } from ${JSON.stringify(import.meta.resolve("./beside.ts"))};
  await new Beside().run(["sh", "-c", 'trap "" INT TERM HUP; ' + ${JSON.stringify(COUPLE)}, process.argv[1]]);
`;

test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "beside: who is there ends with us, and all that it has started, also by %s",
  { timeout: 60_000 },
  async (signal) => {
    const file = sayingWhere();
    const child = spawn(process.execPath, ["--input-type=module", "--eval", COMMAND, file], { stdio: "ignore" });
    const couple = (await numbersIn(file)).flatMap((pid) => identify(pid) ?? []);
    expect(couple).toHaveLength(2);
    child.kill(signal);
    await expect.poll(() => couple.filter(isAlive), { timeout: 20_000 }).toEqual([]);
  },
);
