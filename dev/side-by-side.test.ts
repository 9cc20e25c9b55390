import { expect, test } from "vitest";
import { type Count, NONE } from "./count.ts";
import { silentStep } from "./progress.ts";
import { type Lanes, sideBySide } from "./side-by-side.ts";

const PASSED: Count = { ...NONE, passed: 1 };
const FAILED: Count = { ...NONE, failed: 1 };

/** Tells three lanes, and writes down what happens, in its order. */
async function told(lanes: (happens: (what: string) => void) => Lanes) {
  const happened: string[] = [];
  const happens = (what: string) => void happened.push(what);
  const count = await sideBySide(lanes(happens), { hurry: () => happens("hurry") }, happens, silentStep);
  return { count, happened };
}

/** Until everybody has gone on who could. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("side by side: those that wait begin at once, what computes when all is built, and both are told whole after what is shown", async () => {
  const { count, happened } = await told((happens) => ({
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
      tell(`${name} told`);
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
    "first told",
    "second told",
    "computed",
  ]);
  expect(count.passed).toBe(4);
});

test("side by side: what takes longest is waited for, and nobody goes before it any more", async () => {
  const { happened } = await told(() => ({
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

test("side by side: who fails hides nobody, in no lane, also when nothing can be built", async () => {
  const { count, happened } = await told(() => ({
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

test("side by side: what computes goes one after another, and side by side when nothing is shown any more", async () => {
  const { count, happened } = await told((happens) => ({
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
