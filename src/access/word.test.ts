import { expect, test } from "vitest";
import { conditionsWith, type Word, wordOf } from "#access/word.ts";
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
  const first = conditionsWith({ metadata: { generation: 3 } }, word, NOW);
  expect(first).toEqual([{ type: "Ready", ...word, observedGeneration: 3, lastTransitionTime: rfc3339(NOW) }]);
  const again = conditionsWith({ metadata: {}, status: { conditions: first } }, word, NOW + 60_000);
  expect(again).toEqual([{ ...first[0], observedGeneration: 0 }]);
  expect(conditionsWith({ metadata: {}, status: {} }, word, NOW)).toHaveLength(1);
});
