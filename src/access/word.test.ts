import { expect, test } from "vitest";
import { doneWord, failingStatus, statusWith, type Word, wordOf } from "#access/word.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/cluster.ts";
import { type Aside, type Plan, step, wait } from "#runtime/decide.ts";

const REASONS = { "await-etcd": "EtcdUnreachable", "name-taken": "NameTaken" } as const;
const aside = (is: Aside["is"], code?: string): Aside => ({ rule: "add", because: "b", is, ...(code && { code }) });
const settled = (...all: Aside[]): Plan<object> => ({ next: "settled", aside: all });
const said = (plan: Plan<object>) => {
  const word = wordOf(plan, REASONS);
  return word && `${word.status} ${word.reason} ${word.message}`;
};

test.each<[string, Plan<object>, string | undefined]>([
  ["all is done", { next: "settled" }, undefined],
  ["something is done", step("add", "because of it", {}), "False Applying because of it"],
  ["something is waited for", wait("other", "w", 1), "False Waiting w"],
  ["for a name", wait("name-taken", "w", 1), "False NameTaken w"],
  ["etcd is silent: nothing is known", wait("await-etcd", "w", 1), "Unknown EtcdUnreachable w"],
  ["a step is refused", settled(aside("refused")), "False StepRefused add: b"],
  ["because of a name", settled(aside("refused", "KubeAlreadyExists")), "False NameTaken add: b"],
  ["and it counts before what is waited for", { ...wait("other", "w", 1), aside: [aside("refused")] }, "False StepRefused add: b"],
  ["what is put off comes again", settled(aside("putOff")), undefined],
  ["a remark keeps nothing from being done", settled(aside("remark"), aside("putOff")), undefined],
  ["the refused one is told", settled(aside("putOff"), aside("refused", "KubeForbidden")), "False StepRefused add: b"],
])("what is said when %s", (_, plan, expected) => expect(said(plan)).toBe(expected)); // biome-ignore format: a table

test("the condition of a generation; its time stays while its status does", () => {
  const word: Word = { status: "True", reason: "Bound", message: "m" };
  const status = { roleName: "r" };
  const first = statusWith({ metadata: { generation: 3 }, status }, word, NOW);
  const ready = { type: "Ready", ...word, observedGeneration: 3, lastTransitionTime: rfc3339(NOW) };
  expect(first).toEqual({ roleName: "r", observedGeneration: 3, conditions: [ready] });
  const again = statusWith({ metadata: {}, status: first }, word, NOW + 60_000);
  expect(again).toEqual({ ...first, observedGeneration: 0, conditions: [{ ...ready, observedGeneration: 0 }] });
  expect(statusWith({ metadata: {} }, word, NOW)).toMatchObject({ observedGeneration: 0, conditions: [word] });
});

test("an object of which no look comes to its end says so, and what it said before", () => {
  expect(failingStatus({ metadata: { generation: 3 }, status: { roleName: "r" } }, "it broke", NOW)).toMatchObject({
    roleName: "r",
    observedGeneration: 3,
    conditions: [{ type: "Ready", status: "Unknown", reason: "InternalError", message: "it broke" }],
  });
});

test.each<[string, Observed<{ enabled: boolean }>, string, string]>([
  ["auth is enabled", present({ enabled: true }), "Bound", "all is done"],
  ["auth is not", present({ enabled: false }), "AuthDisabled", "all is done; auth is not enabled in etcd, so that whoever connects may do everything"],
  ["that is not known", absent, "AuthDisabled", "all is done; auth is not enabled in etcd, so that whoever connects may do everything"],
])("what is said in the end where %s", (_, access, reason, message) =>
  expect(doneWord(access, "Bound", "all is done")).toEqual({ status: "True", reason, message })); // biome-ignore format: a table
