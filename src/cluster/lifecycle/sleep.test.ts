import { describe, expect, test } from "vitest";
import { templateIn } from "#api/revision.ts";
import type { PeerBootstrap } from "#api/v1beta1/peer.ts";
import { absent } from "#base/observed.ts";
import { awaitWakeUp } from "#cluster/lifecycle/rules/await-wake-up.ts";
import { startSleep } from "#cluster/lifecycle/rules/start-sleep.ts";
import { wakeUp } from "#cluster/lifecycle/rules/wake-up.ts";
import { HealthLog } from "#cluster/members/health-log.ts";
import { planCluster } from "#cluster/plan.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, withRemoval } from "#kit/snapshots/cluster.ts";
import { THEIRS, withAlarms, withMember, withStraggler } from "#kit/snapshots/cluster-changes.ts";
import {
  madeFrom,
  NEWER,
  NEXT_MINOR,
  OLD,
  recording,
  wanting,
  withCrashing,
  withPeer,
  withPod,
  withTurn,
  withUpdate,
} from "#kit/snapshots/cluster-rolling.ts";
import { asleep, SLEEP, tired, wanted, withSleep, woken } from "#kit/snapshots/cluster-sleep.ts";
import { goingTo, running, secured, withMade } from "#kit/snapshots/cluster-tls.ts";
import { isWaking, sleepStatus, waking } from "./sleep.ts";

const WAIT = { next: "wait", because: "", recheckAfterMs: 1, warn: false } as const;
const DOWN = { down: ["my-etcd-1"] };

function statusOf(given: ClusterSnapshot) {
  return clusterStatus(given, planCluster(given));
}

/** Status and reason of each condition. */
function conditionsOf(given: ClusterSnapshot): Record<string, string> {
  const { conditions = [] } = statusOf(given);
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

function messageOf(given: ClusterSnapshot, type: string): string | undefined {
  return statusOf(given).conditions?.find((condition) => condition.type === type)?.message;
}

describe("members that the operator waits for after a sleep", () => {
  const names = (given: ClusterSnapshot) => waking(given).map(({ name }) => name);

  test("include each member that does not participate yet", () => {
    expect(names(woken(DOWN))).toEqual(["my-etcd-1"]);
    expect(names(woken())).toEqual([]);
    expect(names(woken({ down: ["my-etcd-0", "my-etcd-1"] }))).toEqual(["my-etcd-0", "my-etcd-1"]);
  });

  test("are waited for until the member timeout after the wake-up, also with a wrong clock", () => {
    expect([0, 599_999, -599_999].map((agoMs) => isWaking(woken(DOWN, agoMs)))).toEqual([true, true, true]);
    expect([600_000, -600_000].map((agoMs) => isWaking(woken(DOWN, agoMs)))).toEqual([false, false]);
  });

  test("include members that are still down before the wake-up is recorded", () => {
    expect(names(withSleep(cluster(DOWN), SLEEP))).toEqual(["my-etcd-1"]);
    expect(names(wanted(asleep(), 3))).toEqual(["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
  });

  test("include a member with a pod that is terminating, although it still participates", () => {
    const given = withPod(woken({}, 60_000), "my-etcd-1", { metadata: { deletionTimestamp: "2026-01-01T11:59:00Z" } });
    expect(names(given)).toEqual(["my-etcd-1"]);
    expect(sleepStatus(given)).toEqual(given.cluster.status?.sleep);
    expect(planCluster(given)).toMatchObject({ rule: "await-wake-up" });
  });

  test("include a member with a pod from before the sleep until ten seconds after the wake-up", () => {
    const since = { creationTimestamp: "2026-01-01T10:29:59Z" };
    const given = (agoMs: number) => withPod(woken({}, agoMs), "my-etcd-1", { metadata: since });
    expect([0, 9_999, -9_999].map((agoMs) => names(given(agoMs)))).toEqual([
      ["my-etcd-1"],
      ["my-etcd-1"],
      ["my-etcd-1"],
    ]);
    expect([10_000, -10_000].map((agoMs) => names(given(agoMs)))).toEqual([[], []]);
    const made = { creationTimestamp: SLEEP.startTime };
    expect(names(withPod(woken(), "my-etcd-1", { metadata: made }))).toEqual([]);
  });

  test("exclude members of a cluster that did not sleep or is to sleep", () => {
    expect(names(cluster(DOWN))).toEqual([]);
    expect(names(asleep())).toEqual([]);
  });

  test("exclude members with lost or corrupt data", () => {
    const given = woken(DOWN);
    const id = given.cluster.status!.identity!.initialMembers[1]!.id;
    expect(names(withAlarms(given, { type: "CORRUPT", id }))).toEqual([]);
    expect(names({ ...given, claims: [] })).toEqual([]);
    const words = "couldn't find local name";
    const lastState = { terminated: { exitCode: 1, message: words } };
    const containerStatuses = [{ name: "etcd", state: { waiting: { reason: "CrashLoopBackOff" } }, lastState }];
    expect(names(withPod(given, "my-etcd-1", { status: { containerStatuses } }))).toEqual([]);
  });

  test("exclude members that never started", () => {
    const late = woken({ down: ["my-etcd-2"] });
    expect(names(withStraggler(late, { started: false }))).toEqual([]);
    expect(names(withStraggler(late, { started: true }))).toEqual(["my-etcd-2"]);
  });

  test("exclude members that were added by hand", () => {
    expect(names(withMember(woken(), THEIRS))).toEqual([]);
  });
});

describe("status.sleep", () => {
  test("is kept until the last member is back or the wake-up time is over", () => {
    const sleep = woken().cluster.status?.sleep;
    expect(sleepStatus(cluster())).toBeUndefined();
    expect(sleepStatus(asleep())).toEqual(SLEEP);
    expect(sleepStatus(withSleep(cluster(), SLEEP))).toEqual(SLEEP);
    expect(sleepStatus(woken(DOWN))).toEqual(sleep);
    expect(sleepStatus(woken())).toBeUndefined();
    expect(sleepStatus(woken(DOWN, 600_000))).toBeUndefined();
    expect(sleepStatus(withSleep(tired(), sleep))).toEqual(sleep);
    expect(statusOf(woken())).not.toHaveProperty("sleep");
    expect(statusOf(asleep()).sleep).toEqual(SLEEP);
  });
});

describe("the conditions of a cluster report", () => {
  test("Asleep when spec.replicas is 0 and all members have stopped", () => {
    expect(conditionsOf(asleep())).toEqual({
      Available: "False Asleep",
      Degraded: "False Asleep",
      Progressing: "False Asleep",
      Ready: "False Asleep",
      Stalled: "False NotStalled",
      UpToDate: "True UpToDate",
    });
    const text =
      "spec.replicas is 0: members are stopped, and their data and identity are kept; with 1 or more they start again";
    for (const type of ["Available", "Degraded", "Progressing", "Ready"]) expect(messageOf(asleep(), type)).toBe(text);
    const { replicas, readyReplicas, readyMembers, members } = statusOf(asleep());
    expect({ replicas, readyReplicas, readyMembers }).toEqual({ replicas: 0, readyReplicas: 0, readyMembers: "0/0" });
    expect(members).toHaveLength(3);
    expect(members?.[0]).toMatchObject({
      health: "Unhealthy",
      message: "it is stopped: spec.replicas is 0",
      version: "3.6.16",
    });
  });

  test("which members have yet to stop while the cluster falls asleep", () => {
    const given = withSleep(tired(DOWN), SLEEP);
    expect(conditionsOf(given)).toMatchObject({
      Available: "True QuorumAvailable",
      Progressing: "True FallingAsleep",
      Ready: "False Asleep",
      Degraded: "False Asleep",
    });
    expect(messageOf(given, "Progressing")).toBe("asleep: my-etcd-0, my-etcd-1, my-etcd-2 have yet to stop");
    expect(statusOf(given).replicas).toBe(3);
    const last = { ...given, pods: new Map([...given.pods].slice(0, 1)) };
    expect(messageOf(last, "Progressing")).toBe("asleep: my-etcd-0 has yet to stop");
    const backwards = { ...given, pods: new Map([...given.pods].toReversed()) };
    expect(messageOf(backwards, "Progressing")).toContain("my-etcd-0, my-etcd-1, my-etcd-2");
    const over = withPod(last, "my-etcd-0", { status: { phase: "Failed" } });
    expect([statusOf(over).replicas, conditionsOf(over).Progressing]).toEqual([0, "False Asleep"]);
    expect(statusOf({ ...cluster(), pods: new Map() }).replicas).toBe(3); // an awake cluster counts members, not pods
  });

  test("FallingAsleep when spec.replicas is 0 and the sleep is not recorded yet", () => {
    const given = tired({ spec: NEWER });
    expect(conditionsOf(given)).toMatchObject({ Ready: "False FallingAsleep", Degraded: "False FullStrength" });
    expect(messageOf(given, "Ready")).toBe(
      "spec.replicas is 0: members are about to stop; their data and identity are kept",
    );
    const paused = tired({ spec: { paused: true } });
    expect(conditionsOf(paused)).toMatchObject({ Ready: "False FallingAsleep", Progressing: "False Paused" });
    expect(messageOf(paused, "Ready")).toBe(
      "spec.replicas is 0: members stop once the pause is over (spec.paused is true); their data and identity are kept",
    );
    const forming = cluster({ stage: "recorded", spec: { replicas: 0 } });
    expect(conditionsOf(forming)).toMatchObject({ Ready: "False Forming" });
    expect(messageOf(forming, "Ready")).toBe(
      "0 of 3 members have joined; spec.replicas is 0: they stop when a majority has",
    );
    const leaving = withRemoval(given, "my-etcd-2", "replacement");
    const waits = clusterStatus(leaving, { ...WAIT, rule: "await-quorum" });
    expect(waits.conditions?.find(({ type }) => type === "Progressing")?.reason).toBe("FallingAsleep");
  });

  test("ClaimLost when a claim of a sleeping cluster is gone", () => {
    const without = (...names: readonly string[]) => {
      const given = asleep();
      return { ...given, claims: given.claims.filter(({ metadata }) => !names.includes(metadata.name)) };
    };
    const one = without("my-etcd-1");
    expect(conditionsOf(one)).toMatchObject({ Degraded: "True ClaimLost", Ready: "False Asleep" });
    expect(messageOf(one, "Degraded")).toBe(
      "claims that are gone, or have lost their labels: my-etcd-1; replaced when the others are awake",
    );
    expect(messageOf(without("my-etcd-0", "my-etcd-1"), "Degraded")).toBe(
      "claims that are gone, or have lost their labels: my-etcd-0, my-etcd-1; the claims of 1 of 3 members are left, and 2 are needed to wake up",
    );
    const identity = one.cluster.status!.identity!;
    const initialMembers = identity.initialMembers.map((each) => ({ ...each, joined: each.name !== "my-etcd-1" }));
    const status = { ...one.cluster.status, identity: { ...identity, initialMembers } };
    expect(conditionsOf({ ...one, cluster: { ...one.cluster, status } }).Degraded).toBe("False Asleep");
  });

  test("Asleep when a cluster is created with spec.replicas 0", () => {
    const given = cluster({ stage: "new", spec: { replicas: 0 } });
    expect(conditionsOf(given)).toMatchObject({
      Ready: "False Asleep",
      Available: "False Asleep",
      UpToDate: "False Forming",
    });
    expect(messageOf(given, "Ready")).toBe("spec.replicas is 0: nothing is created until it is 1 or more");
  });

  test("UpToDate False when a sleeping cluster is edited", () => {
    const given = asleep({ spec: NEWER });
    expect(conditionsOf(given)).toMatchObject({ UpToDate: "False Asleep", Ready: "False Asleep" });
    expect(messageOf(given, "UpToDate")).toBe(
      "0 of 3 members run what the spec asks for; the others get it when the cluster wakes up",
    );
    expect(statusOf(given)).not.toHaveProperty("update");
    expect(statusOf(asleep()).members?.map(({ upToDate }) => upToDate)).toEqual([true, true, true]);
  });

  test("UpToDate by the templates that members last ran when the cluster falls asleep", () => {
    const given = tired({ spec: NEXT_MINOR });
    const turned = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce((each, name) => withTurn(each, name), given);
    const falling = withSleep(turned, SLEEP);
    expect(conditionsOf(falling)).toMatchObject({ UpToDate: "False Asleep" });
    const status = { ...falling.cluster.status, members: asleep().cluster.status!.members! };
    const fell = { ...falling, cluster: { ...falling.cluster, status }, pods: new Map(), endpoints: new Map() };
    expect(conditionsOf(fell)).toMatchObject({ UpToDate: "False Asleep" });
    const ran = (version: string) => recording(fell, version, version, version);
    expect(conditionsOf(ran(NEXT_MINOR.version))).toMatchObject({ UpToDate: "True UpToDate" });
    expect(conditionsOf(ran("unknown"))).toMatchObject({ UpToDate: "True UpToDate" });
    const { version } = NEXT_MINOR;
    const lastRanOld = recording(fell, version, version, cluster().cluster.spec.version);
    expect(conditionsOf(lastRanOld)).toMatchObject({ UpToDate: "False Asleep" });
    const stopping = begin(tired())
      .apply(withSleep, SLEEP)
      .apply(withPod, "my-etcd-0", {
        metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" },
      }).snapshot;
    expect(conditionsOf(stopping)).toMatchObject({ UpToDate: "True UpToDate" });
  });

  test("the progress of an update that a sleep interrupted", () => {
    const given = withUpdate(wanting(NEWER));
    const { update } = given.cluster.status!;
    const fell = begin({ ...given, pods: new Map(), endpoints: new Map() })
      .apply(wanted, 0)
      .apply(withSleep, SLEEP).snapshot;
    expect(statusOf(fell).update).toEqual(update);
    expect(statusOf(wanting(NEWER)).update).toBeDefined(); // computed for an awake cluster
    const last = withUpdate(asleep(), { updated: [] });
    expect(conditionsOf(last).UpToDate).toBe("True UpToDate");
  });

  test("Waking until all members that slept are back", () => {
    expect(conditionsOf(woken(DOWN))).toMatchObject({
      Available: "True QuorumAvailable",
      Degraded: "False Waking",
      Progressing: "True Waking",
      Ready: "False Waking",
    });
    const text = "2 of 3 members that slept are back; waking: my-etcd-1";
    expect([messageOf(woken(DOWN), "Ready"), messageOf(woken(DOWN), "Degraded")]).toEqual([text, text]);
    expect(messageOf(woken(DOWN), "Progressing")).toBe(`await-wake-up: ${text}`);
    const allDown = woken({ down: ["my-etcd-0", "my-etcd-1", "my-etcd-2"] });
    expect(conditionsOf(allDown)).toMatchObject({
      Available: "False Waking",
      Degraded: "False Waking",
      Progressing: "True Waking",
      Ready: "False Waking",
    });
  });

  test("MembersUnhealthy or QuorumLost when the wake-up time is over", () => {
    expect(conditionsOf(woken(DOWN, 600_000))).toMatchObject({
      Degraded: "True MembersUnhealthy",
      Progressing: "True Waiting",
      Ready: "False MembersUnhealthy",
    });
    const allDown = woken({ down: ["my-etcd-0", "my-etcd-1", "my-etcd-2"] }, 600_000);
    expect(conditionsOf(allDown)).toMatchObject({ Available: "False QuorumLost" });
  });
});

describe("the rules about sleep", () => {
  test("name the managed members that stop and start", () => {
    expect(startSleep.decide(withMember(tired(), THEIRS))).toMatchObject({
      because: "spec.replicas is 0: my-etcd-0, my-etcd-1, my-etcd-2 stop; their data and identity are kept",
    });
    expect(wakeUp.decide(begin(cluster()).apply(withSleep, SLEEP).apply(withMember, THEIRS).snapshot)).toMatchObject({
      because: "spec.replicas is 3: my-etcd-0, my-etcd-1, my-etcd-2 start again with their data",
    });
    expect(wakeUp.decide(asleep())).toBeUndefined();
    expect(wakeUp.decide(woken())).toBeUndefined();
    expect(awaitWakeUp.decide(woken())).toBeUndefined();
    expect(awaitWakeUp.decide(woken(DOWN))).toMatchObject({ recheckAfterMs: 1_000, warn: false });
  });

  test("undo a pending restart before the sleep, and skip a restart that cannot be undone", () => {
    const given = withTurn(tired({ spec: NEXT_MINOR }), "my-etcd-2");
    const { version } = cluster().cluster.spec;
    const taken = startSleep.decide(given);
    expect(taken).toMatchObject({
      because: `my-etcd-2 has a pending restart, and wakes up with the template that it runs: etcd ${version}`,
      step: { peer: { spec: { version } } },
    });
    expect(taken).not.toHaveProperty("step.peer.spec.previous");
    const sleeps = { step: { do: "fallAsleep" } };
    expect(startSleep.decide(madeFrom(given, "my-etcd-2", NEWER))).toMatchObject(sleeps);
    const bootstrap = { initialClusterState: "Existing" } as PeerBootstrap;
    expect(startSleep.decide(withPeer(given, "my-etcd-2", { spec: { bootstrap } }))).toMatchObject(sleeps);
    const refused = { ...OLD, etcd: { extraArgs: { "data-dir": "/tmp" } } };
    const ran = begin(given)
      .apply(withPeer, "my-etcd-2", { spec: { previous: refused } })
      .apply(madeFrom, "my-etcd-2", refused).snapshot;
    expect(startSleep.decide(ran)).toMatchObject(sleeps);
    const same = begin(tired())
      .apply(withPeer, "my-etcd-2", { spec: { previous: OLD } })
      .apply(madeFrom, "my-etcd-2", OLD).snapshot;
    expect(startSleep.decide(same)).toMatchObject(sleeps);
    // The data has the format of a later minor.
    const far = { ...OLD, version: "3.5.11" };
    const ahead = begin(given)
      .apply(withPeer, "my-etcd-2", { spec: { previous: far } })
      .apply(madeFrom, "my-etcd-2", far).snapshot;
    expect(startSleep.decide(ahead)).toMatchObject(sleeps);
  });

  test("leave a pending restart for the wake-up when its previous Secret is gone", () => {
    const shows = (secretName: string) => ({ peer: { provider: "Secret", secret: { name: secretName } } });
    const moved = goingTo(secured({}, shows("one"), { isOurs: false }), shows("two"));
    const made = begin(moved)
      .apply(withMade, { peer: { isOurs: false } })
      .apply(running, ["my-etcd-1", "my-etcd-2"]).snapshot;
    const turned = withTurn(made, "my-etcd-0", templateIn(peerNamed(made, "my-etcd-1")!.spec));
    const spec = { ...turned.cluster.spec, replicas: 0 };
    const given = { ...turned, cluster: { ...turned.cluster, spec } };
    const previous = { ...given.certificates!.previous, peer: absent };
    const gone = { ...given, certificates: { ...given.certificates, previous } };
    expect(planCluster(given)).toMatchObject({ rule: "start-sleep", step: { do: "replacePeer" } });
    expect(planCluster(gone)).toMatchObject({ rule: "start-sleep", step: { do: "fallAsleep" } });
  });

  test("yield to update-stopped while a waking member crashes", () => {
    const given = withCrashing(woken({ ...DOWN, spec: NEWER }), "my-etcd-1");
    expect(planCluster(given)).toMatchObject({ rule: "update-stopped" });
  });
});

test("the time in which a member wakes up does not count towards its replacement", () => {
  const KEY = { namespace: "foo", name: "my-etcd" };
  const lostForMs = (given: ClusterSnapshot) => {
    const log = new HealthLog();
    log.record(KEY, given, 0);
    const id = given.cluster.status!.identity!.initialMembers[1]!.id;
    return log.record(KEY, given, 10_000).get(id)?.lostForMs;
  };
  expect([lostForMs(woken(DOWN)), lostForMs(cluster(DOWN))]).toEqual([0, 10_000]);
  // A member that has lost its data counts as lost also while others wake up.
  const five = woken({ replicas: 5, down: ["my-etcd-1", "my-etcd-2"] });
  const claims = five.claims.filter(({ metadata }) => metadata.name !== "my-etcd-1");
  expect(lostForMs({ ...five, claims })).toBe(10_000);
});
