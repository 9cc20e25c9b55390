import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, unpublished, withArrival } from "#kit/snapshots/cluster.ts";
import { THEIRS, withAlarms, withMember } from "#kit/snapshots/cluster-changes.ts";
import {
  CRASHING,
  STARTING,
  saying,
  silentFor,
  withoutPod,
  withPod,
  withRunning,
} from "#kit/snapshots/cluster-rolling.ts";
import { memberNamed } from "./members.ts";
import { isDown } from "./standstill.ts";

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
const SINCE_20_S = { metadata: { creationTimestamp: "2026-01-01T11:59:40Z" } };
const unscheduled = {
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
  containerStatuses: undefined,
};

describe("isDown", () => {
  const cases: { name: string; given: ClusterSnapshot; of?: string; is: boolean }[] = [
    { name: "a member that answers is not down, although its pod crashes", given: crashing(settled), is: false },
    {
      name: "a member that participates without serving clients is not down, although its pod crashes",
      given: crashing(unpublished(settled, NAME)),
      is: false,
    },
    { name: "a member without a pod is not down", given: withoutPod(down, NAME), is: false },
    {
      name: "a silent member is not down while the kubelet reports its etcd container running",
      given: withRunning(down, NAME),
      is: false,
    },
    { name: "a silent member is down when its etcd container crashes repeatedly", given: crashing(down), is: true },
    {
      name: "a silent member is down when etcd crashes repeatedly in a new pod",
      given: madeAt(crashing(down), "11:59:59"),
      is: true,
    },
    {
      name: "a silent member is down when its pod is unschedulable",
      given: madeAt(withPod(down, NAME, { status: unscheduled }), "11:59:59"),
      is: true,
    },
    {
      name: "a silent member is down when its etcd container has not started in an old pod",
      given: starting(down),
      is: true,
    },
    {
      name: "a silent member is not down while its starting pod is younger than 30 s",
      given: madeAt(starting(down), "11:59:31"),
      is: false,
    },
    {
      name: "a silent member is down when its starting pod is 30 s old",
      given: madeAt(starting(down), "11:59:30"),
      is: true,
    },
    {
      name: "a silent member is down when its pod of 30 s has no container status",
      given: madeAt(down, "11:59:30"),
      is: true,
    },
    { name: "a silent member is down without a member list", given: starting(outage), is: true },
    {
      name: "a silent member is not down when the existing quorum needs its vote",
      given: { ...starting(outage), members: settled.members },
      is: false,
    },
    {
      name: "a silent member is down when a corrupt member completes the quorum: it still votes",
      given: starting(withAlarms(down, { type: "CORRUPT", id: memberNamed(down, "my-etcd-1")!.id })),
      is: true,
    },
    {
      name: "a silent member is not down when another voter of the quorum reports no leader",
      given: starting(saying(down, "my-etcd-1", { leaderId: undefined })),
      is: false,
    },
    {
      name: "the only member is not down while it has a quorum, although its pod crashes",
      given: { ...withPod(only, "my-etcd-0", { status: CRASHING }), members: cluster({ replicas: 1 }).members },
      of: "my-etcd-0",
      is: false,
    },
    {
      name: "the only member is down when it hangs for a start timeout below 30 s",
      given: {
        ...begin(only)
          .apply(withPod, "my-etcd-0", { status: STARTING, ...SINCE_20_S })
          .apply(silentFor, "my-etcd-0", 10_000).snapshot,
        memberTimeoutMs: 10_000,
      },
      of: "my-etcd-0",
      is: true,
    },
    {
      name: "a silent member is not down when the others are no quorum even with a foreign voter",
      given: withMember({ ...starting(outage), members: settled.members }, THEIRS),
      is: false,
    },
    {
      name: "a silent member is down when a foreign voter may complete the quorum",
      given: withMember({ ...starting(cluster({ replicas: 3, down: [NAME] })), members: settled.members }, THEIRS),
      is: true,
    },
  ];
  for (const { name, given, of = NAME, is } of cases) test(name, () => expect(isDown(given, of)).toBe(is));

  test("a silent learner is down although the quorum lacks voters", () => {
    const grown = withArrival({ ...outage, members: settled.members }, "my-etcd-3", "added");
    const pods = new Map(grown.pods).set("my-etcd-3", starting(down).pods.get(NAME)!);
    expect(isDown({ ...grown, pods }, "my-etcd-3")).toBe(true);
  });

  test("a member that etcd does not list is down when its pod does not start", () => {
    const pods = new Map(settled.pods).set("my-etcd-9", starting(down).pods.get(NAME)!);
    expect(isDown({ ...settled, pods }, "my-etcd-9")).toBe(true);
  });
});
