import { expect, test } from "vitest";
import { decide, type Guard, lackingIn, type Rest, type Rule, remark, step, wait } from "#runtime/decide.ts";

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

const REST: Rest = { because: "exceeded quota", code: "KubeForbidden", forMs: 700, isBrief: false };
const doublingRests = (rule: string) => (rule === "doubling" ? REST : undefined);

test("decide: a step that rests steps aside and lets the next rule speak, which is told and comes back in time", () => {
  const aside = [{ rule: "doubling", because: "exceeded quota", code: "KubeForbidden", is: "refused" }];
  expect(decide([doubling, waiting], [], 1, doublingRests)).toMatchObject({
    rule: "waiting",
    recheckAfterMs: 100,
    aside,
  });
  expect(decide([doubling], [], 1, doublingRests)).toEqual({ next: "settled", recheckAfterMs: 700, aside });
});

test("decide: a step that rests is not asked of the guards: who may not act now is in nobody's way", () => {
  expect(decide([doubling, waiting], [small], 11, doublingRests)).toMatchObject({ rule: "waiting" });
});

test("decide: nothing below a rule that holds is done while its step rests", () => {
  const holding = { ...doubling, holds: true } as const;
  const plan = decide([holding, { ...doubling, name: "other" }], [], 1, doublingRests);
  expect(plan).toMatchObject({ next: "wait", rule: "doubling", because: "exceeded quota", recheckAfterMs: 700 });
});

test("decide: of what is not done the first is told that does not pass in moments, the one that holds as the last", () => {
  const holding = { ...doubling, name: "holding", holds: true } as const;
  const resting = (given: Readonly<Record<string, Partial<Rest>>>) => (rule: string) =>
    given[rule] && { ...REST, triedForMs: 10, ...given[rule] };
  const lacking = (given: Readonly<Record<string, Partial<Rest>>>) =>
    lackingIn(decide([doubling, holding, waiting], [], 1, resting(given)));
  const told = { because: "exceeded quota", code: "KubeForbidden", triedForMs: 10, is: "refused" };
  expect(lacking({ doubling: {}, holding: {} })).toEqual({ rule: "doubling", ...told });
  expect(lacking({ doubling: { isBrief: true }, holding: {} })).toEqual({ rule: "holding", ...told });
  expect(lacking({ doubling: { isBrief: true }, holding: { isBrief: true } })).toBeUndefined();
  expect(lackingIn(decide([waiting], [], 1))).toBeUndefined();
  expect(lackingIn(decide([doubling], [], 1))).toBeUndefined();
});

test("decide: what etcd put off for moments is told as that", () => {
  const plan = decide([doubling], [], 1, () => ({ because: "not now", forMs: 700, isBrief: true }));
  const aside = [{ rule: "doubling", because: "not now", is: "putOff" }];
  expect(plan).toEqual({ next: "settled", recheckAfterMs: 700, aside });
});

test("decide: a remark is in nobody's way", () => {
  const remarking: Rule<number, string> = { name: "remarking", decide: () => remark("remarking", "mind the step") };
  const aside = [{ rule: "remarking", because: "mind the step", is: "remark" }];
  expect(decide([remarking, doubling], [], 1)).toMatchObject({ next: "step", rule: "doubling", aside });
  expect(decide([remarking], [], 1)).toEqual({ next: "settled", aside });
});
