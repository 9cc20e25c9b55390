import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { onInterrupt } from "./interrupted.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type Signal = (typeof SIGNALS)[number];
const before = {
  SIGINT: process.listeners("SIGINT"),
  SIGTERM: process.listeners("SIGTERM"),
  SIGHUP: process.listeners("SIGHUP"),
};

afterEach(() => {
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal))
      if (!before[signal].includes(listener)) process.off(signal, listener);
});

/** Number of our listeners for the signal; without any the signal would end the process at once. */
function listening(signal: Signal): number {
  return process.listeners(signal).filter((listener) => !before[signal].includes(listener)).length;
}

test("interrupted: further signals do not interrupt or repeat the cleanup", async () => {
  const done = Promise.withResolvers<void>();
  let tidied = 0;
  const exits: number[] = [];
  const interrupt = onInterrupt(
    () => {
      tidied++;
      return done.promise;
    },
    (code) => exits.push(code),
  );
  for (const listener of process.listeners("SIGTERM")) if (!before.SIGTERM.includes(listener)) listener("SIGTERM");
  interrupt[Symbol.dispose](); // the interrupted work has ended, too
  expect(SIGNALS.map(listening)).toEqual([1, 1, 1]);
  for (const listener of process.listeners("SIGINT")) if (!before.SIGINT.includes(listener)) listener("SIGINT");
  expect([tidied, exits]).toEqual([1, []]);
  done.resolve();
  await expect.poll(() => exits).toEqual([130]);
});

test("interrupted: no signal listener remains after work without an interrupt", () => {
  onInterrupt(() => Promise.resolve())[Symbol.dispose]();
  expect(SIGNALS.map(listening)).toEqual([0, 0, 0]);
});

/** A command that prints while it works and cleans up. */
const COMMAND = `
  import { writeFileSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  import { onInterrupt } from ${JSON.stringify(import.meta.resolve("./interrupted.ts"))};
  const say = async (word) => {
    for (const output of [process.stdout, process.stderr]) output.write(word + "\\n");
    await sleep(20); // a failed write is reported later
  };
  onInterrupt(async () => {
    for (const word of ["tidying", "up"]) await say(word);
    writeFileSync(process.argv[1], "");
  });
  setInterval(() => {}, 1_000);
  await say("begun");
`;

test.each(SIGNALS)(
  "interrupted: on %s the command cleans up, even if its output is closed",
  { timeout: 60_000 },
  async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), "interrupted-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const tidied = join(folder, "tidied");
    const child = spawn(process.execPath, ["--input-type=module", "--eval", COMMAND, tidied], { stdio: "pipe" });
    const ended = once(child, "exit");
    await Promise.all([once(child.stdout, "data"), once(child.stderr, "data")]);
    child.stdout.destroy();
    child.stderr.destroy();
    child.kill(signal);
    expect(await ended).toEqual([130, null]);
    expect(existsSync(tidied)).toBe(true);
  },
);
