import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, LATER_ID, unpublished, withArrival, withRemoval } from "#kit/snapshots/cluster.ts";
import { withAlarms, withDyingClaims, withoutClaim } from "#kit/snapshots/cluster-changes.ts";
import {
  CRASHING,
  NEWER,
  STARTING,
  wanting,
  withoutPod,
  withPod,
  withRunning,
  withUpdate,
  withUpdated,
} from "#kit/snapshots/cluster-rolling.ts";
import { type Container, containerOf, historyOf, type MemberState } from "./member-state.ts";
import { memberNamed } from "./members.ts";
import { isDown } from "./standstill.ts";

const NAME = "my-etcd-2";
const settled = cluster();
const down = cluster({ down: [NAME] });
const starting = (given: ClusterSnapshot) => withPod(given, NAME, { status: STARTING });
const crashing = (given: ClusterSnapshot) => withPod(given, NAME, { status: CRASHING });
/** The pod was created at this time, and it is noon. */
const madeAt = (given: ClusterSnapshot, time: string) =>
  withPod(given, NAME, { metadata: { creationTimestamp: `2026-01-01T${time}Z` } });
const ended = (message: string) => ({
  status: { containerStatuses: [{ name: "etcd", state: { terminated: { exitCode: 1, message } } }] },
});

function stateOf(given: ClusterSnapshot): MemberState {
  return memberNamed(given, NAME)!;
}

describe("the etcd container", () => {
  const cases: { name: string; given: ClusterSnapshot; is: Container["is"] }[] = [
    { name: "does not exist without a pod", given: withoutPod(down, NAME), is: "none" },
    { name: "runs when the kubelet reports that", given: withRunning(down, NAME), is: "running" },
    { name: "waits before its start timeout is over", given: madeAt(starting(down), "11:50:01"), is: "waiting" },
    { name: "is overdue when its start timeout is over", given: madeAt(starting(down), "11:50:00"), is: "overdue" },
    { name: "of a new pod has stopped when it crashes", given: madeAt(crashing(down), "11:59:59"), is: "stopped" },
  ];
  for (const { name, given, is } of cases) {
    test(name, () => {
      expect(containerOf(given, NAME).is).toBe(is);
      expect(stateOf(given).container).toEqual(containerOf(given, NAME));
    });
  }

  test.each([
    ["11:50:00", false, false],
    ["11:50:01", false, true],
    ["11:59:30", false, true],
    ["11:59:31", true, true],
    ["12:00:29", true, true],
    ["12:00:30", false, true],
    ["12:09:59", false, true],
    ["12:10:00", false, false],
  ])("of a pod created at %s: is new: %s, is young: %s", (time, isNew, isYoung) => {
    expect(containerOf(madeAt(down, time), NAME)).toMatchObject({ isNew, isYoung });
  });

  test("is neither new nor young without a pod", () => {
    expect(containerOf(withoutPod(down, NAME), NAME)).toEqual({ is: "none", isNew: false, isYoung: false });
  });
});

describe("the data", () => {
  const cases: { name: string; given: ClusterSnapshot; is: Partial<MemberState["data"]> }[] = [
    { name: "is kept", given: settled, is: { claim: "kept", fault: "none", isLost: false } },
    { name: "is lost without its claim", given: withoutClaim(settled, NAME), is: { claim: "none", isLost: true } },
    {
      name: "is there while its claim is dying",
      given: withDyingClaims(settled, NAME),
      is: { claim: "dying", isLost: false },
    },
    {
      name: "is lost when the fence stopped etcd on an empty volume",
      given: withPod(down, NAME, ended("couldn't find local name")),
      is: { claim: "kept", fault: "emptyVolume", isLost: true },
    },
    {
      name: "is lost when bootstrap flags stopped etcd on an empty volume, whatever alarm is raised",
      given: begin(down)
        .apply(withAlarms, { type: "CORRUPT", id: memberNamed(down, NAME)!.id })
        .apply(withPod, NAME, ended("member has already been bootstrapped")).snapshot,
      is: { fault: "emptyVolume", isLost: true },
    },
    {
      name: "is not lost when etcd ended for another reason",
      given: withPod(down, NAME, ended("address already in use")),
      is: { fault: "none", isLost: false },
    },
    {
      name: "is corrupt, and not lost, with the alarm CORRUPT",
      given: withAlarms(settled, { type: "CORRUPT", id: memberNamed(settled, NAME)!.id }),
      is: { fault: "corrupt", isLost: false },
    },
    {
      name: "is without a fault when another member has the alarm CORRUPT",
      given: withAlarms(settled, { type: "CORRUPT", id: memberNamed(settled, "my-etcd-1")!.id }),
      is: { fault: "none" },
    },
  ];
  for (const { name, given, is } of cases) test(name, () => expect(stateOf(given).data).toMatchObject(is));
});

test.each([
  ["a healthy member participates", settled, true],
  ["a member that does not serve clients yet participates", unpublished(settled, NAME), true],
  ["a silent member does not participate", down, false],
])("quorum: %s", (_, given, participatesInQuorum) => {
  expect(stateOf(given)).toMatchObject({ participatesInQuorum });
});

test("the template of the recorded update is recognized by its revision", () => {
  const updating = withUpdate(wanting(NEWER));
  const updated = withUpdated(updating, NAME);
  expect(stateOf(updated).template).toMatchObject({ isOfUpdate: true, hasStartTimeout: false });
  expect(stateOf(madeAt(updated, "11:59:00")).template).toMatchObject({ isOfUpdate: true, hasStartTimeout: true });
  expect(stateOf(updating).template.isOfUpdate).toBe(false);
  expect(stateOf(withoutPod(settled, NAME)).template).toEqual({
    revision: undefined,
    isOfUpdate: false,
    hasStartTimeout: false,
  });
});

test("the removal is the one that its EtcdPeer records", () => {
  expect(stateOf(settled).removal).toBeUndefined();
  expect(stateOf(withRemoval(settled, NAME, "scale-down")).removal).toBe("scale-down");
});

test("a joining member without a history has a history of zeros", () => {
  const added = withArrival(settled, "my-etcd-3", "added");
  expect(historyOf({ ...added, histories: new Map() }, LATER_ID)).toMatchObject({
    knownForMs: 0,
    wellMsAgo: undefined,
  });
});

test("a pod without a creation time counts as new, so that it is not restarted as down", () => {
  expect(stateOf(madeAt(starting(down), "unknown")).container).toMatchObject({ is: "overdue", isNew: true });
  expect(isDown(madeAt(starting(down), "unknown"), NAME)).toBe(false);
});
