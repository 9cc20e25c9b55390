import { describe, expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import { askedIn } from "#api/revision.ts";
import { unknown } from "#base/observed.ts";
import type { ClusterSnapshot, MemberHistory } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  calm,
  claim,
  claimIdentity,
  cluster,
  LATER_ID,
  NOW,
  pod,
  unpublished,
  withArrival,
  withoutMember,
} from "#kit/snapshots/cluster.ts";
import { stranger, withMember } from "#kit/snapshots/cluster-changes.ts";
import {
  NEWER,
  saying,
  UNREADY_BESIDE,
  wanting,
  withCanary,
  withoutPod,
  withPod,
  withStop,
  withTurn,
  withUpdate,
  withUpdated,
} from "#kit/snapshots/cluster-rolling.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { HealthLog } from "./health-log.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const healthy = cluster();
const down = cluster({ down: ["my-etcd-2"] });
const id = down.cluster.status!.identity!.initialMembers[2]!.id;

/** The history of the member after observations at these intervals, in milliseconds. */
function after(...looks: readonly (readonly [ClusterSnapshot, number])[]): MemberHistory | undefined {
  const log = new HealthLog();
  let atMs = 1_000_000;
  let histories: ReadonlyMap<string, MemberHistory> = new Map();
  for (const [snapshot, laterMs] of looks) {
    atMs += laterMs;
    histories = log.record(KEY, snapshot, atMs);
  }
  return histories.get(id);
}

test("health log: a healthy member is not sick", () => {
  expect(after([down, 0], [healthy, 1_000])).toEqual({
    knownForMs: 1_000,
    sickForMs: 0,
    wellMsAgo: 0,
    lostForMs: 0,
    silentForMs: 0,
    unfitForMs: 0,
    triedForMs: 0,
    podlessForMs: 0,
    unreadyForMs: 0,
    earlierTriesMs: 0,
  });
});

test("health log: a participating member that does not serve clients is silent and unfit, but not sick", () => {
  const silent = unpublished(healthy, "my-etcd-2");
  const seen = after([healthy, 0], [silent, 1_000], [silent, 2_000]);
  expect(seen).toEqual({
    knownForMs: 3_000,
    sickForMs: 0,
    wellMsAgo: 0,
    lostForMs: 0,
    silentForMs: 2_000,
    unfitForMs: 2_000,
    triedForMs: 0,
    podlessForMs: 0,
    unreadyForMs: 0,
    earlierTriesMs: 0,
  });
});

test("health log: a healthy member with a pod that is not Ready is unfit", () => {
  const unready = withPod(healthy, "my-etcd-2", UNREADY_BESIDE);
  const seen = after([healthy, 0], [unready, 1_000], [unready, 2_000]);
  expect(seen).toEqual({
    knownForMs: 3_000,
    sickForMs: 0,
    wellMsAgo: 0,
    lostForMs: 0,
    silentForMs: 0,
    unfitForMs: 2_000,
    triedForMs: 0,
    podlessForMs: 0,
    unreadyForMs: 2_000,
    earlierTriesMs: 0,
  });
  expect(after([unready, 0], [unready, 1_000], [healthy, 1_000], [unready, 1_000])?.unreadyForMs).toBe(0);
  const late = saying(unready, "my-etcd-2", { raftAppliedIndex: 0 });
  const far = saying(late, "my-etcd-0", { raftIndex: 5_000 });
  expect(after([unready, 0], [unready, 1_000], [far, 1_000])).toMatchObject({ unfitForMs: 2_000, unreadyForMs: 0 });
  expect(after([unready, 0], [unready, 1_000], [healthy, 1_000], [unready, 1_000])?.unfitForMs).toBe(0);
});

test("health log: sickForMs adds up over consecutive observations", () => {
  expect(after([healthy, 0], [down, 1_000], [down, 1_000], [down, 1_000])?.sickForMs).toBe(2_000);
});

test("health log: sickForMs starts at 0 after a healthy observation", () => {
  expect(after([down, 0], [down, 5_000], [healthy, 1_000], [down, 1_000])?.sickForMs).toBe(0);
});

test("health log: a gap in the observations counts as 15 s at most and resets nothing", () => {
  const seen = after([healthy, 0], [down, 1_000], [down, 10_000], [down, 600_000], [down, 10_000]);
  expect(seen).toMatchObject({ sickForMs: 35_000, lostForMs: 35_000, wellMsAgo: 621_000 });
});

test("health log: with one observation every 20 s, each interval counts as 15 s towards replacement", () => {
  const looks = Array.from({ length: 20 }, () => [down, 20_000] as const);
  expect(after([healthy, 0], ...looks)?.lostForMs).toBe(19 * 15_000);
});

test("health log: reports how much of an interval between observations exceeds 15 s", () => {
  const gaps: number[] = [];
  const log = new HealthLog((ms) => gaps.push(ms));
  for (const atMs of [0, 10_000, 25_000, 100_000]) log.record(KEY, down, atMs);
  expect(gaps).toEqual([60_000]);
});

test("health log: lostForMs counts only observations with a member list", () => {
  const outage = cluster({ down: ["my-etcd-1", "my-etcd-2"] });
  const seen = after([healthy, 0], [outage, 1_000], [outage, 10_000], [outage, 10_000], [down, 10_000], [down, 5_000]);
  expect(seen).toMatchObject({ sickForMs: 35_000, lostForMs: 5_000 });
});

test("health log: an observation without a member list does not reset lostForMs", () => {
  const outage = cluster({ down: ["my-etcd-1", "my-etcd-2"] });
  expect(after([down, 0], [down, 5_000], [outage, 5_000], [down, 5_000], [down, 5_000])?.lostForMs).toBe(10_000);
});

test("health log: a member that the kubelet reports Ready is not lost", () => {
  const ready = cluster().pods;
  const unreachable = { ...down, pods: ready };
  expect(after([healthy, 0], [unreachable, 5_000], [unreachable, 5_000], [unreachable, 5_000])).toMatchObject({
    sickForMs: 10_000,
    lostForMs: 0,
  });
});

test("health log: raft traffic from a member resets its lostForMs", () => {
  const log = new HealthLog();
  for (const atMs of [0, 10_000, 20_000]) log.record(KEY, down, atMs);
  log.vouch(KEY, id);
  expect(log.record(KEY, down, 30_000).get(id)?.lostForMs).toBe(0);
  expect(log.record(KEY, down, 35_000).get(id)?.lostForMs).toBe(5_000);
});

test("health log: raft traffic from a member does not reset the lostForMs of other members", () => {
  const log = new HealthLog();
  const two = cluster({ replicas: 5, down: ["my-etcd-2", "my-etcd-3"] });
  const [, , , other] = two.cluster.status!.identity!.initialMembers;
  for (const atMs of [0, 10_000, 20_000]) log.record(KEY, two, atMs);
  log.vouch(KEY, two.cluster.status!.identity!.initialMembers[2]!.id);
  expect(log.record(KEY, two, 30_000).get(other!.id)?.lostForMs).toBe(30_000);
});

test("health log: during a pause by annotation, time does not count towards replacement", () => {
  const paused = cluster({ down: ["my-etcd-2"], annotations: { [PAUSED_ANNOTATION]: "true" } });
  expect(after([paused, 0], [paused, 5_000], [down, 5_000])).toMatchObject({
    knownForMs: 0,
    sickForMs: 10_000,
    lostForMs: 0,
  });
});

test("health log: during a pause by spec.paused, time does not count towards replacement", () => {
  const paused = cluster({ down: ["my-etcd-2"], spec: { paused: true } });
  expect(after([paused, 0], [paused, 5_000], [down, 5_000])).toMatchObject({ sickForMs: 10_000, lostForMs: 0 });
});

test("health log: while the EtcdPeer is missing, time does not count towards replacement", () => {
  const without = { ...down, peers: down.peers.filter(({ metadata }) => metadata.name !== "my-etcd-2") };
  expect(after([without, 0], [without, 5_000], [down, 5_000])).toMatchObject({
    sickForMs: 10_000,
    lostForMs: 0,
  });
});

test("health log: time in which a learner lacks only a pod does not count towards its deadline", () => {
  const added = withArrival(healthy, "my-etcd-3", "added");
  const { clusterID } = healthy.cluster.status!.identity!;
  const its = claim("my-etcd-3", claimIdentity(clusterID, LATER_ID));
  const refused = { ...added, claims: [...added.claims, its] };
  const made = { ...refused, pods: new Map([...refused.pods, ["my-etcd-3", pod("my-etcd-3", { ready: false })]]) };
  const log = new HealthLog();
  log.record(KEY, refused, 0);
  expect(log.record(KEY, refused, 10_000).get(LATER_ID)).toMatchObject({ knownForMs: 0, sickForMs: 10_000 });
  log.record(KEY, made, 20_000);
  expect(log.record(KEY, made, 30_000).get(LATER_ID)).toMatchObject({ knownForMs: 10_000, sickForMs: 30_000 });
});

test("health log: the time of an unproven canary does not count as lost", () => {
  const tried = withCanary(wanting(NEWER), "my-etcd-2");
  expect(after([tried, 0], [tried, 5_000], [tried, 5_000])).toMatchObject({
    sickForMs: 10_000,
    silentForMs: 10_000,
    lostForMs: 0,
  });
  const proven = begin(wanting(NEWER)).apply(withUpdated, "my-etcd-1").apply(withCanary, "my-etcd-2").snapshot;
  expect(after([proven, 0], [proven, 5_000], [proven, 5_000])).toMatchObject({ lostForMs: 10_000 });
});

test("health log: the start timeout of a member that an update has just restarted does not count as lost", () => {
  const proven = begin(wanting(NEWER))
    .apply(withUpdated, "my-etcd-1")
    .apply(withCanary, "my-etcd-2")
    .apply(withUpdate, { proven: true }).snapshot;
  const young = { ...proven, takenAtMs: Date.parse("2026-01-01T11:09:59Z") };
  expect(after([young, 0], [young, 5_000], [young, 5_000])).toMatchObject({ sickForMs: 10_000, lostForMs: 0 });
});

describe("health log: a member that an update restarted, with pods that are recreated repeatedly,", () => {
  const proven = begin(wanting(NEWER))
    .apply(withUpdated, "my-etcd-1")
    .apply(withCanary, "my-etcd-2")
    .apply(withUpdate, { proven: true }).snapshot;
  const { memberTimeoutMs } = proven;
  const STEP_MS = 10_000;
  /** What is observed: its pod is recreated at this interval, in milliseconds. */
  const seenAt = (ms: number, everyMs: number, given = proven) =>
    withPod({ ...given, takenAtMs: NOW + ms }, "my-etcd-2", {
      metadata: { creationTimestamp: new Date(NOW + Math.floor(ms / everyMs) * everyMs).toISOString() },
    });
  /** Observations, from one time to another. */
  function looks(log: HealthLog, fromMs: number, toMs: number, see: (ms: number) => ClusterSnapshot) {
    let history: MemberHistory | undefined;
    for (let ms = fromMs; ms <= toMs; ms += STEP_MS) history = log.record(KEY, see(ms), ms).get(id);
    return history?.lostForMs;
  }
  const HALF_MS = memberTimeoutMs / 2;
  const ofFive = (ms: number) => seenAt(ms, HALF_MS);

  test("gets its start timeout once, and counts as lost after that", () => {
    const log = new HealthLog();
    expect(looks(log, 0, memberTimeoutMs, ofFive)).toBe(0);
    expect(looks(log, memberTimeoutMs + STEP_MS, 2 * memberTimeoutMs, ofFive)).toBe(memberTimeoutMs);
  });

  test("gets its whole start timeout also in one pod", () => {
    const log = new HealthLog();
    const staying = (ms: number) => seenAt(ms, Number.MAX_SAFE_INTEGER);
    expect(looks(log, 0, memberTimeoutMs, staying)).toBe(0);
    expect(looks(log, memberTimeoutMs + STEP_MS, memberTimeoutMs + HALF_MS, staying)).toBe(HALF_MS);
  });

  test("gets its start timeout again after it was healthy or sent raft traffic", () => {
    const log = new HealthLog();
    looks(log, 0, memberTimeoutMs, ofFive);
    log.record(KEY, healthy, memberTimeoutMs);
    expect(looks(log, memberTimeoutMs, 2 * memberTimeoutMs, ofFive)).toBe(0);
    expect(looks(log, 2 * memberTimeoutMs, 2 * memberTimeoutMs + HALF_MS, ofFive)).toBe(HALF_MS);
    log.vouch(KEY, id);
    expect(looks(log, 3 * memberTimeoutMs, 4 * memberTimeoutMs - STEP_MS, ofFive)).toBe(0);
  });

  test("gets its start timeout again with another template", () => {
    const other = begin(wanting({ ...NEWER, version: "3.6.9" }))
      .apply(withUpdated, "my-etcd-1")
      .apply(withCanary, "my-etcd-2")
      .apply(withUpdate, { proven: true }).snapshot;
    const log = new HealthLog();
    looks(log, 0, memberTimeoutMs - STEP_MS, ofFive);
    const otherwise = (ms: number) => seenAt(ms, HALF_MS, other);
    expect(looks(log, memberTimeoutMs, 2 * memberTimeoutMs, otherwise)).toBe(0);
  });

  test("does not use up its start timeout before the restart, in an outage, in a pause or without observations", () => {
    const log = new HealthLog();
    const before = (ms: number) => ({ ...down, takenAtMs: NOW + ms });
    expect(looks(log, 0, HALF_MS, before)).toBe(HALF_MS);
    const outage = { ...proven, members: unknown("no quorum") };
    looks(log, HALF_MS, memberTimeoutMs, (ms) => seenAt(ms, HALF_MS, outage));
    const paused = { ...proven, cluster: { ...proven.cluster, spec: { ...proven.cluster.spec, paused: true } } };
    looks(log, memberTimeoutMs, 2 * memberTimeoutMs, (ms) => seenAt(ms, HALF_MS, paused));
    // Then the process paused for an hour.
    const laterMs = 2 * memberTimeoutMs + 3_600_000;
    expect(looks(log, laterMs, laterMs + memberTimeoutMs - STEP_MS, ofFive)).toBe(HALF_MS);
  });
});

test("health log: triedForMs counts time with the update's template across pods, also without a quorum", () => {
  const tried = withCanary(wanting(NEWER), "my-etcd-2");
  const recreated = withPod(tried, "my-etcd-2", {
    metadata: { uid: "another", creationTimestamp: "2026-01-01T11:59:59Z" },
  });
  const looks = [
    [down, 0],
    [down, 60_000],
    [tried, 5_000],
    [tried, 5_000],
    [recreated, 5_000],
    [recreated, 5_000],
  ] as const;
  expect(after(...looks)).toMatchObject({ unfitForMs: 35_000, triedForMs: 15_000 });
  expect(after(...looks, [{ ...recreated, members: unknown("no quorum") }, 5_000])?.triedForMs).toBe(20_000);
  expect(after(...looks, [recreated, 600_000])?.triedForMs).toBe(30_000);
  expect(
    after(...looks, [withoutPod(recreated, "my-etcd-2"), 5_000], [recreated, 5_000], [recreated, 5_000])?.triedForMs,
  ).toBe(20_000);
  expect(after(...looks, [healthy, 5_000], [recreated, 5_000])?.triedForMs).toBe(0);
  const other = withCanary(wanting({ ...NEWER, version: "3.6.9" }), "my-etcd-2");
  expect(after(...looks, [other, 5_000], [other, 5_000])?.triedForMs).toBe(5_000);
});

test("health log: podlessForMs counts consecutive time without a pod", () => {
  const podless = withoutPod(down, "my-etcd-2");
  expect(after([down, 0], [down, 5_000], [podless, 5_000], [podless, 5_000], [podless, 9_000])?.podlessForMs).toBe(
    14_000,
  );
  expect(after([podless, 0], [podless, 5_000], [down, 5_000])?.podlessForMs).toBe(0);
  expect(after([podless, 0], [podless, 5_000], [down, 5_000], [podless, 5_000])?.podlessForMs).toBe(0);
});

test("health log: lostForMs keeps its value during a canary's attempt and continues after the rollback", () => {
  const tried = withCanary(wanting(NEWER), "my-etcd-2");
  const back = begin(tried)
    .apply(withTurn, "my-etcd-2", askedIn(down.cluster.spec, undefined))
    .apply(withStop, "my-etcd-2").snapshot;
  const seen = after([down, 0], [down, 5_000], [tried, 5_000], [tried, 5_000], [back, 5_000], [back, 5_000]);
  expect(seen).toMatchObject({ sickForMs: 25_000, lostForMs: 10_000 });
});

test("health log: lostForMs of another member counts while a canary starts", () => {
  const tried = withCanary(wanting(NEWER, { replicas: 5, down: ["my-etcd-2"] }), "my-etcd-4");
  const log = new HealthLog();
  const lost = tried.cluster.status!.identity!.initialMembers[2]!.id;
  log.record(KEY, tried, 0);
  expect(log.record(KEY, tried, 5_000).get(lost)?.lostForMs).toBe(5_000);
});

test("health log: forget() erases all times of a cluster", () => {
  const log = new HealthLog();
  log.record(KEY, down, 0);
  log.forget(KEY);
  expect(log.record(KEY, down, 1_000).get(id)).toEqual({
    knownForMs: 0,
    sickForMs: 0,
    wellMsAgo: undefined,
    lostForMs: 0,
    silentForMs: 0,
    unfitForMs: 0,
    triedForMs: 0,
    podlessForMs: 0,
    unreadyForMs: 0,
    earlierTriesMs: 0,
  });
});

test("health log: reports a gap of one millisecond", () => {
  const gaps: number[] = [];
  const log = new HealthLog((ms) => gaps.push(ms));
  for (const atMs of [0, 15_000, 30_001]) log.record(KEY, down, atMs);
  expect(gaps).toEqual([1]);
});

test("health log: a quick check of a cluster at rest covers as much time as an observation", () => {
  const gaps: number[] = [];
  const log = new HealthLog((ms) => gaps.push(ms));
  const rests = calm(healthy);
  log.record(KEY, rests, 0);
  expect(log.settled).toBe(1);
  log.quicklyChecked(KEY, 60_000);
  log.quicklyChecked(KEY, 120_000);
  expect(gaps).toEqual([]);
  log.quicklyChecked(KEY, 190_000);
  expect(gaps).toEqual([7_000]);
  expect(log.settled).toBe(1);
  const histories = log.record(KEY, down, 250_000);
  expect(gaps).toEqual([7_000]);
  // Its time starts now, and the observation shows when it was healthy.
  expect(histories.get(id)).toMatchObject({ sickForMs: 0, lostForMs: 0, wellMsAgo: 250_000 });
});

test("health log: a quick check has no effect on a cluster that is not at rest or unknown", () => {
  const gaps: number[] = [];
  const log = new HealthLog((ms) => gaps.push(ms));
  log.quicklyChecked(KEY, 0);
  expect(log.settled).toBe(0);
  log.record(KEY, down, 0);
  log.quicklyChecked(KEY, 10_000);
  log.record(KEY, down, 20_000);
  expect(gaps).toEqual([5_000]);
});

test("health log: an interval that begins at rest may be longer before it is a gap", () => {
  const gaps: number[] = [];
  const log = new HealthLog((ms) => gaps.push(ms));
  const looks = [healthy, calm(healthy), healthy];
  const atMs = [0, 20_000, 90_000];
  looks.forEach((snapshot, n) => {
    log.record(KEY, snapshot, atMs[n]!);
  });
  expect(gaps).toEqual([5_000, 7_000]);
});

test("health log: counts clusters at rest", () => {
  const log = new HealthLog();
  const other = { namespace: "foo", name: "other" };
  log.record(KEY, calm(healthy), 0);
  log.record(KEY, calm(healthy), 1_000);
  log.record(other, calm(healthy), 1_000);
  expect(log.settled).toBe(2);
  log.record(KEY, down, 2_000);
  expect(log.settled).toBe(1);
  log.forget(KEY);
  log.forget(other);
  expect(log.settled).toBe(0);
});

test("health log: a sleeping cluster counts as at rest once its pods have stopped, and its times are erased", () => {
  const gaps: number[] = [];
  const log = new HealthLog((ms) => gaps.push(ms));
  log.record(KEY, down, 0);
  log.slept(KEY, { ...asleep(), pods: down.pods }, 600_000);
  expect(log.settled).toBe(0);
  log.slept(KEY, asleep(), 610_000);
  log.slept(KEY, asleep(), 668_000);
  expect(log.settled).toBe(1);
  expect(log.record(KEY, down, 720_000).get(id)).toMatchObject({ knownForMs: 0, sickForMs: 0, wellMsAgo: undefined });
  expect([log.settled, gaps]).toEqual([0, []]);
  log.slept(KEY, asleep(), 730_000);
  log.forget(KEY);
  expect(log.settled).toBe(0);
});

describe("health log: earlierTriesMs", () => {
  const wanted4 = cluster({ spec: { replicas: 4 } });
  const trying = withArrival(wanted4, "my-etcd-3", "added");
  const started = withArrival(wanted4, "my-etcd-3", "started");
  const triesOf = (...looks: readonly (readonly [ClusterSnapshot, number])[]) => after(...looks)?.earlierTriesMs;
  const [SECOND, TEN] = [1_000, 10_000];

  test("does not count the current attempt", () => {
    expect(triesOf([trying, 0], [trying, TEN], [trying, TEN])).toBe(0);
  });
  test("adds up learners that were removed before they started", () => {
    expect(triesOf([trying, 0], [trying, TEN], [wanted4, SECOND])).toBe(TEN);
    expect(triesOf([trying, 0], [trying, TEN], [wanted4, SECOND], [trying, SECOND], [trying, TEN])).toBe(TEN);
    expect(triesOf([trying, 0], [trying, TEN], [wanted4, 0], [trying, SECOND], [trying, TEN], [wanted4, 0])).toBe(
      2 * TEN,
    );
  });
  test("does not count a learner that has started", () => {
    expect(triesOf([started, 0], [started, TEN], [wanted4, SECOND])).toBe(0);
  });
  test("does not count a learner that was added by hand", () => {
    const theirs = withMember(wanted4, stranger({ isLearner: true }));
    expect(triesOf([theirs, 0], [theirs, TEN], [wanted4, SECOND])).toBe(0);
  });
  test("does not count a lost voter", () => {
    expect(triesOf([wanted4, 0], [wanted4, TEN], [withoutMember(wanted4, "my-etcd-1"), SECOND])).toBe(0);
  });
  test("is reset when there are as many voters as spec.replicas", () => {
    expect(triesOf([trying, 0], [trying, TEN], [wanted4, SECOND], [healthy, SECOND])).toBe(0);
    const more = withArrival(healthy, "my-etcd-3", "added");
    expect(triesOf([trying, 0], [trying, TEN], [wanted4, SECOND], [more, SECOND])).toBe(TEN);
  });
  test("counts no learner as removed without a member list", () => {
    const blind = { ...wanted4, members: unknown("nobody has a leader") };
    expect(triesOf([trying, 0], [trying, TEN], [blind, SECOND])).toBe(0);
    expect(triesOf([trying, 0], [trying, TEN], [wanted4, SECOND], [blind, SECOND])).toBe(TEN);
    expect(
      triesOf([trying, 0], [trying, TEN], [wanted4, SECOND], [{ ...healthy, members: blind.members }, SECOND]),
    ).toBe(TEN);
  });
  test("is reset by sleep", () => {
    const log = new HealthLog();
    log.record(KEY, trying, 0);
    log.record(KEY, trying, TEN);
    log.record(KEY, wanted4, TEN);
    log.slept(KEY, asleep(), 2 * TEN);
    expect(log.record(KEY, wanted4, 3 * TEN).get(id)?.earlierTriesMs).toBe(0);
  });
});
