import { expect, test } from "vitest";
import { type Count, NONE } from "./count.ts";
import { silentStep } from "./progress.ts";
import { type Computing, sideBySide, type Waiting } from "./side-by-side.ts";

const PASSED: Count = { ...NONE, passed: 1 };
const FAILED: Count = { ...NONE, failed: 1 };

/** Tells both sides, and writes down what happens, in its order. */
async function told(waiting: (happens: (what: string) => void) => Waiting[], computing: Computing[]) {
  const happened: string[] = [];
  const happens = (what: string) => void happened.push(what);
  const beside = { hurry: () => happens("hurry"), calm: () => happens("calm") };
  const count = await sideBySide(waiting(happens), computing, beside, happens, silentStep);
  return { count, happened };
}

/** Until everybody has gone on who could. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("side by side: what is computed goes last while others wait, and is told whole, between them", async () => {
  const first = Promise.withResolvers<void>();
  const { count, happened } = await told(
    (happens) => [
      async (onBuilt) => {
        happens("first builds");
        onBuilt();
        await turn();
        happens("first ends");
        return PASSED;
      },
      async (onBuilt) => {
        onBuilt();
        first.resolve();
        await turn();
        happens("second ends");
        return PASSED;
      },
    ],
    [
      async (tell) => {
        await first.promise;
        tell("computed");
        return PASSED;
      },
    ],
  );
  expect(happened).toEqual([
    "hurry",
    "first builds",
    "calm",
    "first ends",
    "hurry",
    "calm",
    "second ends",
    "computed",
    "hurry",
  ]);
  expect(count.passed).toBe(3);
});

test("side by side: what is computed longest is waited for, and nobody goes before it any more", async () => {
  const { happened } = await told(
    () => [
      (onBuilt) => {
        onBuilt();
        return Promise.resolve(PASSED);
      },
    ],
    [
      async (tell) => {
        for (let n = 0; n < 10; n++) await turn();
        tell("computed");
        return PASSED;
      },
    ],
  );
  expect(happened).toEqual(["hurry", "calm", "hurry", "computed"]);
});

test("side by side: who fails hides nobody, on neither side, also when nothing can be built", async () => {
  const { count, happened } = await told(
    () => [() => Promise.resolve(FAILED), () => Promise.resolve(FAILED)],
    ["one", "two"].map((name) => (tell) => {
      tell(name);
      return Promise.resolve(name === "one" ? FAILED : PASSED);
    }),
  );
  expect(count).toEqual({ ...NONE, passed: 1, failed: 3 });
  expect(happened).toEqual(["hurry", "hurry", "hurry", "one", "two"]);
});
