import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runChild } from "#kit/hostile/child.ts";
import { cpuMsOf, MAX_BLOCKED_MS } from "#kit/hostile/cost.ts";

test("runChild reports memory, output and exit code of the child process", async () => {
  const program = join(tmpdir(), `hostile-child-${process.pid}.mjs`);
  writeFileSync(
    program,
    `const kept = Buffer.alloc(200e6, 1); console.log(kept.length); setTimeout(() => process.exit(7), 200);`,
  );
  try {
    const end = await runChild(program, []);
    expect(end).toMatchObject({ code: 7, signal: null, stdout: "200000000\n", stderr: "" });
    expect(end.peakMb).toBeGreaterThan(200);
    expect(end.peakMb).toBeLessThan(350);
  } finally {
    rmSync(program);
  }
});

test("cpuMsOf detects work that blocks the event loop for more than the limit", async () => {
  const blocked = await cpuMsOf(() => {
    const until = process.threadCpuUsage().user + 2 * MAX_BLOCKED_MS * 1_000;
    while (process.threadCpuUsage().user < until);
  });
  expect(blocked).toBeGreaterThan(MAX_BLOCKED_MS);
  expect(await cpuMsOf(() => undefined)).toBeLessThan(MAX_BLOCKED_MS);
});
