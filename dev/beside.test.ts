import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Beside } from "./beside.ts";
import { identify, isAlive } from "./proc.ts";

/** A shell with a child: writes the PIDs of both to a file, and ends when the file is removed. */
const COUPLE =
  'sleep 300 & echo "$$ $!" > "$0.draft"; mv "$0.draft" "$0"; while [ -e "$0" ]; do sleep 0.05; done; kill $!';

function pidFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "beside-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "pids");
}

async function pidsIn(file: string): Promise<readonly number[]> {
  await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(true);
  return readFileSync(file, "utf8").trim().split(" ").map(Number);
}

test("background run: stdout and stderr are returned in order, with the exit code", async () => {
  const words = "echo first; echo second >&2; echo third; exit 3";
  expect(await new Beside().run(["sh", "-c", words])).toEqual({ code: 3, text: "first\nsecond\nthird\n" });
});

test("background run: the output names a program that does not exist", async () => {
  const result = await new Beside().run(["/not/there"]);
  expect(result.code).not.toBe(0);
  expect(result.text).toContain("/not/there");
});

test("background run: a program started with ordinary priority runs at that priority with its children", async () => {
  const [beside, file] = [new Beside(getPriority()), pidFile()];
  const result = beside.run(["sh", "-c", COUPLE, file]);
  expect((await pidsIn(file)).map((pid) => getPriority(pid))).toEqual([getPriority(), getPriority()]);
  rmSync(file);
  expect((await result).code).toBe(0);
});

test("background run: a program and its children have the lowest priority until hurry() raises it", async () => {
  const [beside, file] = [new Beside(), pidFile()];
  const result = beside.run(["sh", "-c", COUPLE, file]);
  const pids = await pidsIn(file);
  const priorities = () => pids.map((pid) => getPriority(pid));
  expect(priorities()).toEqual([19, 19]);
  // Only root may raise a priority.
  if (process.getuid?.() === 0) {
    beside.hurry();
    expect(priorities()).toEqual([getPriority(), getPriority()]);
  }
  rmSync(file);
  expect((await result).code).toBe(0);
});

/** A command that runs such a shell, which ignores all signals that can be ignored. */
const COMMAND = `
  import { Beside } from ${JSON.stringify(import.meta.resolve("./beside.ts"))};
  await new Beside().run(["sh", "-c", 'trap "" INT TERM HUP; ' + ${JSON.stringify(COUPLE)}, process.argv[1]]);
`;

test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "background run: the program and its children end when the parent process ends by %s",
  { timeout: 60_000 },
  async (signal) => {
    const file = pidFile();
    const child = spawn(process.execPath, ["--input-type=module", "--eval", COMMAND, file], { stdio: "ignore" });
    const couple = (await pidsIn(file)).flatMap((pid) => identify(pid) ?? []);
    expect(couple).toHaveLength(2);
    child.kill(signal);
    await expect.poll(() => couple.filter(isAlive), { timeout: 20_000 }).toEqual([]);
  },
);
