import { expect, test } from "vitest";
import { type Count, NONE } from "./count.ts";
import { silentStep } from "./progress.ts";
import { type Lanes, sideBySide } from "./side-by-side.ts";

const PASSED: Count = { ...NONE, passed: 1 };
const FAILED: Count = { ...NONE, failed: 1 };

/** Runs three lanes, and records events in their order. */
async function ran(lanes: (happens: (what: string) => void) => Lanes) {
  const happened: string[] = [];
  const happens = (what: string) => void happened.push(what);
  const count = await sideBySide(lanes(happens), { hurry: () => happens("hurry") }, happens, silentStep);
  return { count, happened };
}

/** Waits until all promises that can settle have settled. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("side by side: waiting tests begin at once, computing tests after the build, and both print their output last", async () => {
  const { count, happened } = await ran((happens) => ({
    shown: async (onBuilt) => {
      await turn();
      happens("built");
      onBuilt();
      await turn();
      happens("shown ends");
      return PASSED;
    },
    waiting: ["first", "second"].map((name) => async (tell) => {
      happens(`${name} waits`);
      await Promise.resolve();
      tell(`${name} output`);
      return PASSED;
    }),
    computing: [
      (tell) => {
        happens("computes");
        tell("computed");
        return Promise.resolve(PASSED);
      },
    ],
  }));
  expect(happened).toEqual([
    "first waits",
    "second waits",
    "built",
    "computes",
    "shown ends",
    "hurry",
    "first output",
    "second output",
    "computed",
  ]);
  expect(count.passed).toBe(4);
});

test("side by side: computing tests get ordinary priority when the shown lane has ended", async () => {
  const { happened } = await ran(() => ({
    shown: (onBuilt) => {
      onBuilt();
      return Promise.resolve(PASSED);
    },
    waiting: [],
    computing: [
      async (tell) => {
        for (let n = 0; n < 10; n++) await turn();
        tell("computed");
        return PASSED;
      },
    ],
  }));
  expect(happened).toEqual(["hurry", "computed"]);
});

test("side by side: all results are counted when tests in several lanes fail", async () => {
  const { count, happened } = await ran(() => ({
    shown: () => Promise.resolve(FAILED),
    waiting: [() => Promise.resolve(FAILED)],
    computing: ["one", "two"].map((name) => (tell) => {
      tell(name);
      return Promise.resolve(name === "one" ? FAILED : PASSED);
    }),
  }));
  expect(count).toEqual({ ...NONE, passed: 1, failed: 3 });
  expect(happened).toEqual(["hurry", "one", "two"]);
});

test("side by side: computing tests run one after another, and in parallel when the shown lane has ended", async () => {
  const { count, happened } = await ran((happens) => ({
    shown: async (onBuilt) => {
      onBuilt();
      for (let n = 0; n < 5; n++) await turn();
      happens("shown ends");
      return PASSED;
    },
    waiting: [],
    computing: ["one", "two", "three"].map((name, n) => async (tell) => {
      happens(`${name} begins`);
      for (let left = [2, 10, 2][n] ?? 0; left > 0; left--) await turn();
      tell(`${name} ends`);
      return PASSED;
    }),
  }));
  expect(happened).toEqual(["one begins", "two begins", "shown ends", "hurry", "one ends", "three begins", "three ends", "two ends"]); // biome-ignore format: one line
  expect(count.passed).toBe(4);
});
