import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Beside } from "./beside.ts";
import { marked, run } from "./run.ts";

const VARIABLE = "ECO_TEST_MARK";
const SAY_IT = ["sh", ["-c", `echo "$${VARIABLE}"`]] as const;

test("run: only programs started within a mark get its environment variables", async () => {
  const within = marked({ [VARIABLE]: "ours" }, async () => {
    await sleep(20);
    const beside = await run(...SAY_IT, { env: { PATH: process.env.PATH } });
    return [await run(...SAY_IT), beside].map(({ stdout }) => stdout);
  });
  const [program, words] = SAY_IT;
  const others = [
    run(...SAY_IT).then(({ stdout }) => stdout),
    new Beside().run([program, ...words]).then(({ text }) => text),
  ];
  expect(await within).toEqual(["ours\n", "ours\n"]);
  expect(await Promise.all(others)).toEqual(["\n", "\n"]);
});
