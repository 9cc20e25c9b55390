import { expect, test } from "vitest";
import { doneWord, failingStatus, statusWith, type Word, wordOf } from "#access/word.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { kstatusOf } from "#kit/kstatus.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { type Plan, type Report, step, wait } from "#runtime/decide.ts";

const REASONS = { "await-etcd": "EtcdUnreachable", "name-taken": "NameTaken" } as const;
const reports = (is: Report["is"], code?: string): Report => ({ rule: "add", because: "b", is, ...(code && { code }) });
const settled = (...all: Report[]): Plan<object> => ({ next: "settled", reports: all });
const said = (plan: Plan<object>) => {
  const word = wordOf(plan, REASONS);
  return word && `${word.status} ${word.reason} ${word.message}`;
};

test.each<[string, Plan<object>, string | undefined]>([
  ["a settled plan has no text", { next: "settled" }, undefined],
  ["a step is Applying", ({ rule: "add", ...step("because of it", {}) }), "False Applying because of it"],
  ["a wait is Waiting", ({ rule: "other", ...wait("w", 1) }), "False Waiting w"],
  ["a wait of a rule with its own reason has that reason", ({ rule: "name-taken", ...wait("w", 1) }), "False NameTaken w"],
  ["a wait for etcd is Unknown", ({ rule: "await-etcd", ...wait("w", 1) }), "Unknown EtcdUnreachable w"],
  ["a refused step is StepRefused", settled(reports("refused")), "False StepRefused add: b"],
  ["a step refused because the name exists is NameTaken", settled(reports("refused", "KubeAlreadyExists")), "False NameTaken add: b"],
  ["a refused step is shown before a wait", { ...({ rule: "other", ...wait("w", 1) }), reports: [reports("refused")] }, "False StepRefused add: b"],
  ["a step that is retried soon has no text", settled(reports("delayed")), undefined],
  ["a notice has no text", settled(reports("notice"), reports("delayed")), undefined],
  ["a refused step is shown among steps that are retried soon", settled(reports("delayed"), reports("refused", "KubeForbidden")), "False StepRefused add: b"],
])("condition Ready: %s", (_, plan, expected) => expect(said(plan)).toBe(expected)); // biome-ignore format: a table

test("condition Ready has the object's generation, and keeps its transition time with its status", () => {
  const word: Word = { status: "True", reason: "Bound", message: "m" };
  const status = { roleName: "r" };
  const first = statusWith({ metadata: { generation: 3 }, status }, word, NOW);
  const ready = { type: "Ready", ...word, observedGeneration: 3, lastTransitionTime: rfc3339(NOW) };
  expect(first).toEqual({ roleName: "r", observedGeneration: 3, conditions: [ready] });
  const again = statusWith({ metadata: {}, status: first }, word, NOW + 60_000);
  expect(again).toEqual({ ...first, observedGeneration: 0, conditions: [{ ...ready, observedGeneration: 0 }] });
  expect(statusWith({ metadata: {} }, word, NOW)).toMatchObject({ observedGeneration: 0, conditions: [word] });
});

test("Stalled appears when the spec is refused, and is False once it is not", () => {
  const refused: Word = { status: "False", reason: "SpecRefused", message: "m" };
  const first = statusWith({ metadata: { generation: 1 } }, refused, NOW);
  expect(first.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
    "Ready False SpecRefused",
    "Stalled True SpecRefused",
  ]);
  expect(kstatusOf({ metadata: { generation: 1 }, status: first })).toBe("Failed");
  const bound: Word = { status: "True", reason: "Bound", message: "b" };
  const later = statusWith({ metadata: { generation: 2 }, status: first }, bound, NOW + 1_000);
  expect(later.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
    "Ready True Bound",
    "Stalled False Bound",
  ]);
  expect(later.conditions?.[1]).toMatchObject({ observedGeneration: 2, lastTransitionTime: rfc3339(NOW + 1_000) });
  expect(kstatusOf({ metadata: { generation: 2 }, status: later })).toBe("Current");
});

test("an observation's error sets Ready to Unknown and keeps the other fields of the status", () => {
  expect(failingStatus({ metadata: { generation: 3 }, status: { roleName: "r" } }, "it broke", NOW)).toMatchObject({
    roleName: "r",
    observedGeneration: 3,
    conditions: [{ type: "Ready", status: "Unknown", reason: "InternalError", message: "it broke" }],
  });
});

test.each<[string, Observed<{ enabled: boolean }>, string, string]>([
  ["is its own when auth is enabled", present({ enabled: true }), "Bound", "a settled plan"],
  ["warns when auth is not enabled", present({ enabled: false }), "AuthDisabled", "a settled plan; auth is not enabled in etcd, so any client may do everything"],
  ["warns when it is unknown whether auth is enabled", absent, "AuthDisabled", "a settled plan; auth is not enabled in etcd, so any client may do everything"],
])("the message of a settled object %s", (_, access, reason, message) =>
  expect(doneWord(access, "Bound", "a settled plan")).toEqual({ status: "True", reason, message })); // biome-ignore format: a table
