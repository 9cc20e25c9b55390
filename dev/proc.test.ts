import { expect, test } from "vitest";
import { identify, isAlive, parseStat } from "./proc.ts";

test("/proc stat: a process name with blanks and parentheses does not shift the fields", () => {
  const stat = `42 (a ) b (c) S 7 ${Array.from({ length: 17 }, () => "0").join(" ")} 12345 0 0`;
  expect(parseStat(stat)).toEqual({ state: "S", parent: 7, startTicks: "12345" });
});

test("process identity: a later process with the same PID has a different identity", () => {
  const self = identify(process.pid);
  expect(self).toBeDefined();
  expect(isAlive({ pid: process.pid, startTicks: self?.startTicks ?? "" })).toBe(true);
  expect(isAlive({ pid: process.pid, startTicks: "1" })).toBe(false);
});
