import { expect, test } from "vitest";
import { decide, type Guard, type Rule, step, wait } from "#runtime/decide.ts";

const silent: Rule<number, string> = { name: "silent", decide: () => undefined };
const doubling: Rule<number, string> = {
  name: "doubling",
  decide: (n) => (n > 0 ? step("doubling", `${n} is positive`, "double") : undefined),
};
const waiting: Rule<number, string> = { name: "waiting", decide: () => wait("waiting", "nothing to do yet", 100) };
const small: Guard<number, string> = { name: "small", forbids: (n) => (n > 10 ? `${n} is too much` : undefined) };

test("decide: the first rule with an opinion wins", () => {
  expect(decide([silent, doubling, waiting], [], 1)).toMatchObject({ next: "step", rule: "doubling" });
  expect(decide([silent, waiting, doubling], [], 1)).toMatchObject({ next: "wait", rule: "waiting" });
});

test("decide: without an opinion everything is settled", () => {
  expect(decide([silent], [small], 99)).toEqual({ next: "settled" });
});

test("decide: a guard turns a step into a wait under its own name, and says what it holds back", () => {
  expect(decide([doubling], [small], 11)).toMatchObject({
    next: "wait",
    rule: "small",
    because: "11 is too much (held back: doubling)",
    warn: true,
  });
});

test("decide: guards have no say in waits", () => {
  expect(decide([waiting], [small], 11)).toMatchObject({ next: "wait", rule: "waiting" });
});
