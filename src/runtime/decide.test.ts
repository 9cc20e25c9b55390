import { expect, test } from "vitest";
import { decide, type Guard, lackingIn, notice, type Rest, type Rule, step, wait } from "#runtime/decide.ts";

const silent: Rule<number, string> = { name: "silent", decide: () => undefined };
const doubling: Rule<number, string> = {
  name: "doubling",
  decide: (n) => (n > 0 ? step(`${n} is positive`, "double") : undefined),
};
const waiting: Rule<number, string> = { name: "waiting", decide: () => wait("nothing to do yet", 100) };
const small: Guard<number, string> = { name: "small", forbids: (n) => (n > 10 ? `${n} is too much` : undefined) };

test("decide: the first rule that decides anything determines the plan", () => {
  expect(decide([silent, doubling, waiting], [], 1)).toMatchObject({ next: "step", rule: "doubling" });
  expect(decide([silent, waiting, doubling], [], 1)).toMatchObject({ next: "wait", rule: "waiting" });
});

test("decide: the plan is settled when no rule decides anything", () => {
  expect(decide([silent], [small], 99)).toEqual({ next: "settled" });
});

test("decide: a guard turns a step into a wait that names the guard and the rule", () => {
  expect(decide([doubling], [small], 11)).toMatchObject({
    next: "wait",
    rule: "small",
    because: "11 is too much (held back: doubling)",
    warn: true,
  });
});

test("decide: guards do not apply to waits", () => {
  expect(decide([waiting], [small], 11)).toMatchObject({ next: "wait", rule: "waiting" });
});

const REST: Rest = { because: "exceeded quota", code: "KubeForbidden", forMs: 700, isBrief: false };
const doublingRests = (rule: string) => (rule === "doubling" ? REST : undefined);

test("decide: a deferred step is listed, retried in time, and lets the next rule decide", () => {
  const reports = [{ rule: "doubling", because: "exceeded quota", code: "KubeForbidden", is: "refused" }];
  expect(decide([doubling, waiting], [], 1, doublingRests)).toMatchObject({
    rule: "waiting",
    recheckAfterMs: 100,
    reports,
  });
  expect(decide([doubling], [], 1, doublingRests)).toEqual({ next: "settled", recheckAfterMs: 700, reports });
});

test("decide: guards do not check a deferred step, so it does not block the next rule", () => {
  expect(decide([doubling, waiting], [small], 11, doublingRests)).toMatchObject({ rule: "waiting" });
});

test("decide: no rule below a holding rule acts while the holding rule's step is deferred", () => {
  const holding = { ...doubling, holds: true } as const;
  const plan = decide([holding, { ...doubling, name: "other" }], [], 1, doublingRests);
  expect(plan).toMatchObject({ next: "wait", rule: "doubling", because: "exceeded quota", recheckAfterMs: 700 });
});

test("decide: lackingIn() returns the first step that is not deferred briefly, and a holding rule's step last", () => {
  const holding = { ...doubling, name: "holding", holds: true } as const;
  const resting = (given: Readonly<Record<string, Partial<Rest>>>) => (rule: string) =>
    given[rule] && { ...REST, triedForMs: 10, ...given[rule] };
  const lacking = (given: Readonly<Record<string, Partial<Rest>>>) =>
    lackingIn(decide([doubling, holding, waiting], [], 1, resting(given)));
  const details = { because: "exceeded quota", code: "KubeForbidden", triedForMs: 10, is: "refused" };
  expect(lacking({ doubling: {}, holding: {} })).toEqual({ rule: "doubling", ...details });
  expect(lacking({ doubling: { isBrief: true }, holding: {} })).toEqual({ rule: "holding", ...details });
  expect(lacking({ doubling: { isBrief: true }, holding: { isBrief: true } })).toBeUndefined();
  expect(lackingIn(decide([waiting], [], 1))).toBeUndefined();
  expect(lackingIn(decide([doubling], [], 1))).toBeUndefined();
});

test("decide: a step that etcd asked to retry is listed as deferred briefly", () => {
  const plan = decide([doubling], [], 1, () => ({ because: "not now", forMs: 700, isBrief: true }));
  const reports = [{ rule: "doubling", because: "not now", is: "delayed" }];
  expect(plan).toEqual({ next: "settled", recheckAfterMs: 700, reports });
});

test("decide: a notice does not block the next rule", () => {
  const noticing: Rule<number, string> = { name: "noticing", decide: () => notice("mind the step") };
  const reports = [{ rule: "noticing", because: "mind the step", is: "notice" }];
  expect(decide([noticing, doubling], [], 1)).toMatchObject({ next: "step", rule: "doubling", reports });
  expect(decide([noticing], [], 1)).toEqual({ next: "settled", reports });
});
