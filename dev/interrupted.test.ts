import { afterEach, expect, test } from "vitest";
import { onInterrupt } from "./interrupted.ts";

const before = { SIGINT: process.listeners("SIGINT"), SIGTERM: process.listeners("SIGTERM") };

afterEach(() => {
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    for (const listener of process.listeners(signal))
      if (!before[signal].includes(listener)) process.off(signal, listener);
});

/** How many of ours would hear the signal; without any the process would end at once. */
function listening(signal: "SIGINT" | "SIGTERM"): number {
  return process.listeners(signal).filter((listener) => !before[signal].includes(listener)).length;
}

test("interrupted: signals that come while it tidies up neither end it nor start it again", async () => {
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
  interrupt[Symbol.dispose](); // the work that was interrupted has ended, too
  expect([listening("SIGINT"), listening("SIGTERM")]).toEqual([1, 1]);
  for (const listener of process.listeners("SIGINT")) if (!before.SIGINT.includes(listener)) listener("SIGINT");
  expect([tidied, exits]).toEqual([1, []]);
  done.resolve();
  await expect.poll(() => exits).toEqual([130]);
});

test("interrupted: what was not interrupted leaves no listener", () => {
  onInterrupt(() => Promise.resolve())[Symbol.dispose]();
  expect([listening("SIGINT"), listening("SIGTERM")]).toEqual([0, 0]);
});
