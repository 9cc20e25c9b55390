import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, unpublished, withArrival } from "#kit/snapshots/cluster.ts";
import { THEIRS, withAlarms, withMember } from "#kit/snapshots/cluster-changes.ts";
import { CRASHING, STARTING, saying, withoutPod, withPod, withRunning } from "#kit/snapshots/cluster-rolling.ts";
import { memberNamed } from "./members.ts";
import { isDown, isStuck, isYoung } from "./standstill.ts";

const NAME = "my-etcd-2";
const down = cluster({ down: [NAME] });
const settled = cluster();
const only = cluster({ replicas: 1, down: ["my-etcd-0"] });
/** Two of three do not answer. */
const outage = cluster({ down: ["my-etcd-1", NAME] });
const starting = (given: ClusterSnapshot) => withPod(given, NAME, { status: STARTING });
const crashing = (given: ClusterSnapshot) => withPod(given, NAME, { status: CRASHING });
/** The pod was created at this time, and it is noon. */
const madeAt = (given: ClusterSnapshot, time: string) =>
  withPod(given, NAME, { metadata: { creationTimestamp: `2026-01-01T${time}Z` } });
const unscheduled = {
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
  containerStatuses: undefined,
};

describe("a member is down", () => {
  const cases: { name: string; given: ClusterSnapshot; of?: string; is: boolean }[] = [
    { name: "not when it answers", given: crashing(settled), is: false },
    { name: "not when it participates otherwise", given: crashing(unpublished(settled, NAME)), is: false },
    { name: "not when it has no pod", given: withoutPod(down, NAME), is: false },
    { name: "not when its kubelet calls etcd running", given: withRunning(down, NAME), is: false },
    { name: "when etcd crashes repeatedly", given: crashing(down), is: true },
    { name: "also in a pod that is new", given: madeAt(crashing(down), "11:59:59"), is: true },
    {
      name: "when no node has room for it",
      given: madeAt(withPod(down, NAME, { status: unscheduled }), "11:59:59"),
      is: true,
    },
    { name: "when etcd waits for something else", given: starting(down), is: true },
    { name: "not while its pod is new", given: madeAt(starting(down), "11:59:31"), is: false },
    { name: "soon after its pod was created", given: madeAt(starting(down), "11:59:30"), is: true },
    { name: "when nothing is reported of its pod", given: madeAt(down, "11:59:30"), is: true },
    { name: "without a quorum", given: starting(outage), is: true },
    {
      name: "not when the quorum needs it, whatever is reported",
      given: { ...starting(outage), members: settled.members },
      is: false,
    },
    {
      name: "when the quorum has a corrupt member, which votes all the same",
      given: starting(withAlarms(down, { type: "CORRUPT", id: memberNamed(down, "my-etcd-1")!.id })),
      is: true,
    },
    {
      name: "not when the other one has no leader",
      given: starting(saying(down, "my-etcd-1", { leaderId: undefined })),
      is: false,
    },
    {
      name: "not when it is the only participating one",
      given: { ...withPod(only, "my-etcd-0", { status: CRASHING }), members: cluster({ replicas: 1 }).members },
      of: "my-etcd-0",
      is: false,
    },
    {
      name: "not when the others are no quorum even with a foreign voter",
      given: withMember({ ...starting(outage), members: settled.members }, THEIRS),
      is: false,
    },
    {
      name: "when a foreign voter may complete the quorum",
      given: withMember({ ...starting(cluster({ replicas: 3, down: [NAME] })), members: settled.members }, THEIRS),
      is: true,
    },
  ];
  for (const { name, given, of = NAME, is } of cases) test(name, () => expect(isDown(given, of)).toBe(is));

  test("a learner is not needed by the quorum", () => {
    const grown = withArrival({ ...outage, members: settled.members }, "my-etcd-3", "added");
    const pods = new Map(grown.pods).set("my-etcd-3", starting(down).pods.get(NAME)!);
    expect(isDown({ ...grown, pods }, "my-etcd-3")).toBe(true);
  });

  test("an unlisted member is judged by its pod alone", () => {
    const pods = new Map(settled.pods).set("my-etcd-9", starting(down).pods.get(NAME)!);
    expect(isDown({ ...settled, pods }, "my-etcd-9")).toBe(true);
  });
});

describe("a pod is stuck", () => {
  const cases: { name: string; given: ClusterSnapshot; is: boolean }[] = [
    { name: "not when there is none", given: withoutPod(down, NAME), is: false },
    { name: "not when etcd runs in it, however old it is", given: withRunning(down, NAME), is: false },
    { name: "not when it may start any moment", given: madeAt(starting(down), "11:50:01"), is: false },
    { name: "when its start timeout is over", given: madeAt(starting(down), "11:50:00"), is: true },
    { name: "immediately when Kubernetes reports it", given: madeAt(crashing(down), "11:59:59"), is: true },
  ];
  for (const { name, given, is } of cases) test(name, () => expect(isStuck(given, { name: NAME })).toBe(is));
});

test("a pod is young for the start timeout, by either clock; a missing one is not", () => {
  const young = (time: string) => isYoung(madeAt(down, time), { name: NAME });
  expect([young("11:50:00"), young("11:50:01"), young("12:09:59"), young("12:10:00")]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(isYoung(withoutPod(down, NAME), { name: NAME })).toBe(false);
});
