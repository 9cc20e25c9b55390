import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";

/** Logs more than is buffered, and prints on standard error by how many megabytes it grew; ends when its input does. */
const LOGGER = `
import { createLog } from "#base/log.ts";
const log = createLog("info");
const before = process.memoryUsage().rss;
for (let n = 0; n < 100_000; n++) {
  log.info({ because: "x".repeat(200) }, "step done");
  if (n % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
}
process.stderr.write(String((process.memoryUsage().rss - before) / 1e6));
process.stdin.resume();
`;

test("log: while standard output is blocked some megabytes are buffered, and afterwards the number of dropped lines is logged", async () => {
  const logger = spawn(process.execPath, ["--input-type=module", "--eval", LOGGER], { stdio: "pipe" });
  const [grownMb] = await once(logger.stderr, "data");
  // Without a limit the log would take 30 MB, and four times as much in memory.
  expect(Number(`${grownMb}`)).toBeLessThan(60);
  let lines = 0;
  for await (const line of createInterface({ input: logger.stdout })) {
    lines += 1;
    const { count } = JSON.parse(line) as { count?: number };
    if (count === undefined) continue;
    expect(count + lines - 1).toBe(100_000);
    break;
  }
  logger.stdin.end();
  logger.kill();
  await once(logger, "exit");
}, 30_000);
