import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";

/** Says more than anybody keeps, and on standard error by how many megabytes it grew; ends when its input does. */
const TALKER = `
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

test("log: while nobody reads it no more than some megabytes are kept, and whoever reads again hears how much is lost", async () => {
  const talker = spawn(process.execPath, ["--input-type=module", "--eval", TALKER], { stdio: "pipe" });
  const [grownMb] = await once(talker.stderr, "data");
  // A log of everything is 30 MB, and takes four times as much.
  expect(Number(`${grownMb}`)).toBeLessThan(60);
  let lines = 0;
  for await (const line of createInterface({ input: talker.stdout })) {
    lines += 1;
    const { count } = JSON.parse(line) as { count?: number };
    if (count === undefined) continue;
    expect(count + lines - 1).toBe(100_000);
    break;
  }
  talker.stdin.end();
  talker.kill();
  await once(talker, "exit");
}, 30_000);
