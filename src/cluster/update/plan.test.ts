import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  cluster,
  sickFor,
  unpublished,
  withArrival,
  withBudget,
  withoutMember,
  withRemoval,
} from "#kit/snapshots/cluster.ts";
import { withAlarms } from "#kit/snapshots/cluster-changes.ts";
import {
  BEFORE,
  CRASHING,
  downgrading,
  madeFrom,
  NEWER,
  NEXT_MINOR,
  OLD,
  ON_DELETE,
  refusing,
  saying,
  silentFor,
  UNREADY_BESIDE,
  wanting,
  withCanary,
  withCrashing,
  withoutPod,
  withPeer,
  withPod,
  withReadableEntries,
  withRestarted,
  withStop,
  withTurn,
  withTurns,
  withUpdated,
} from "#kit/snapshots/cluster-rolling.ts";
import { wanted as wantingFewer } from "#kit/snapshots/cluster-sleep.ts";
import { certified } from "#kit/snapshots/cluster-steps.ts";
import { listedBy, running, withSeen } from "#kit/snapshots/cluster-tls.ts";
import { ofBoth, shows } from "#kit/snapshots/provider-change.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { switching, turnedTo } from "#kit/snapshots/scheme-change.ts";
import { testPlans } from "#kit/tables/cluster-plan.ts";
import { templateOf } from "./wanted-template.ts";

// Updates of a running cluster, member by member, and their stop and rollback.

const wanted = wanting(NEWER);
/** The canary has not answered for this long. */
const late = (ms: number) => begin(wanted).apply(withCanary, "my-etcd-2").apply(silentFor, "my-etcd-2", ms).snapshot;
const stopped = begin(late(700_000)).apply(withCrashing, "my-etcd-2").apply(withStop, "my-etcd-2").snapshot;
const asked = wanting(NEWER, { spec: ON_DELETE });
/** People have restarted two members: one crashes and is rolled back, the other serves with an unready sidecar. */
const bothTried = begin(wanting(NEWER, { spec: ON_DELETE, down: ["my-etcd-1"] }))
  .apply(withCanary, "my-etcd-1")
  .apply(withCrashing, "my-etcd-1", 700_000)
  .apply(withRestarted, "my-etcd-2")
  .apply(withPod, "my-etcd-2", UNREADY_BESIDE)
  .apply(withStop, "my-etcd-1").snapshot;
const back = wanting(BEFORE);
/** A release is wanted that cannot read raft entries of 3.5, and no member is recorded as free of them. */
const unread = cluster({ spec: NEXT_MINOR });
const recorded = (snapshot: ClusterSnapshot, ...names: readonly string[]) => withReadableEntries(snapshot, names);
const one = wanting(NEWER, { replicas: 1 });
const dead = wanting(NEWER, { replicas: 1, down: ["my-etcd-0"] });

/**
 * One member shall return to the certificate of the others, which is unreadable. Its container has been down for this
 * long with the new one.
 */
function unshown(sickMs: number): ClusterSnapshot {
  const name = "my-etcd-1";
  const own = templateOf(certified.peers.find(({ metadata }) => metadata.name === name)!);
  const gone = running(certified, [name], shows("their-peer", ofBoth));
  const endpoints = new Map([...gone.endpoints].filter(([each]) => each !== name));
  const back = withTurn({ ...gone, endpoints }, name, own);
  const ended = begin(back)
    .apply(withCrashing, name, sickMs)
    .apply(withPod, name, { status: { ...CRASHING, conditions: [] } }).snapshot;
  return withSeen(ended, { peer: { is: "unknown", why: "secrets is forbidden" } });
}

testPlans("src/cluster/update", [
  {
    name: "makes a backup before an update to a newer minor, with a schedule",
    given: { ...wanting(NEXT_MINOR), schedules: [etcdBackupSchedule()] },
    expect: "backup-first: createBackup",
  },
  {
    name: "forces raft snapshots before the first member moves to a release that cannot read entries of 3.5",
    given: { ...unread, schedules: [etcdBackupSchedule()] },
    expect: "raft-snapshot-first: enableDowngrade",
  },
  {
    name: "waits until all members have a raft snapshot",
    given: recorded(downgrading(unread), "my-etcd-0", "my-etcd-1"),
    expect: "wait: raft-snapshot-first",
  },
  {
    name: "cancels the downgrade once all members have a raft snapshot",
    given: recorded(downgrading(unread), "my-etcd-0", "my-etcd-1", "my-etcd-2"),
    expect: "cancel-downgrade: cancelDowngrade",
  },
  {
    name: "cancels the downgrade that forces raft snapshots when a member joins",
    given: begin(unread).apply(withArrival, "my-etcd-3", "added").apply(downgrading).snapshot,
    expect: "cancel-downgrade: cancelDowngrade",
  },
  {
    name: "moves the leadership to the member with the newest minor before a member joins",
    given: begin(wanting(NEXT_MINOR))
      .apply(saying, "my-etcd-2", { version: "3.7.1" })
      .apply(withArrival, "my-etcd-3", "intended").snapshot,
    expect: "move-leader-to-newest: moveLeader my-etcd-0 to my-etcd-2",
  },
  {
    name: "changes nothing when spec.version is unreachable",
    given: cluster({ spec: { version: "3.4.1" } }),
    expect: "settled",
  },
  {
    name: "enables the downgrade before any member restarts",
    given: back,
    expect: "enable-downgrade: enableDowngrade",
  },
  {
    name: "enables no downgrade for a refused spec",
    given: wanting({ ...BEFORE, etcd: { extraArgs: { "max-txn-op": "1" } } }),
    expect: "settled",
  },
  {
    name: "waits until all data has been converted",
    given: begin(back).apply(downgrading).apply(saying, "my-etcd-0", { storageVersion: "3.6.0" }).snapshot,
    expect: "wait: enable-downgrade",
  },
  {
    name: "downgrades the last member first once all data has been converted",
    given: downgrading(back),
    expect: turn("my-etcd-2"),
  },
  {
    name: "drops the previous template of a working member",
    given: withPeer(cluster(), "my-etcd-1", { spec: { previous: BEFORE } }),
    expect: "drop-previous-template: replacePeer my-etcd-1 fenced",
  },
  {
    name: "updates the next member before it drops previous templates",
    given: begin(back).apply(downgrading).apply(withUpdated, "my-etcd-2").snapshot,
    expect: turn("my-etcd-1"),
  },
  {
    name: "cancels the downgrade when the spec changes",
    given: downgrading(cluster()),
    expect: "cancel-downgrade: cancelDowngrade",
  },
  {
    name: "cancels the downgrade for a joining member",
    given: begin(back).apply(withArrival, "my-etcd-3", "added").apply(downgrading).snapshot,
    expect: "cancel-downgrade: cancelDowngrade",
  },
  {
    name: "cancels the downgrade before it cleans up a removed member",
    given: begin(cluster()).apply(withoutMember, "my-etcd-2").apply(downgrading).snapshot,
    expect: "cancel-downgrade: cancelDowngrade",
  },
  {
    name: "disarms a blocking alarm before it cancels the downgrade",
    given: begin(cluster()).apply(downgrading).apply(withAlarms, { type: "CORRUPT", id: "abc" }).snapshot,
    expect: "disarm-alarm: disarmAlarm",
  },
  {
    name: "adds missing members before it enables the downgrade",
    given: wanting(BEFORE, { spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "warns and creates no member when the spec of a new cluster is refused",
    given: cluster({ stage: "new", spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }),
    expect: "warn: refused-spec",
  },
  {
    name: "updates no member with a refused spec",
    given: wanting({ ...NEWER, etcd: { extraArgs: { "data-dir": "/tmp" } } }),
    expect: "settled",
  },
  {
    name: "cancels a pending restart when the spec is refused",
    given: begin(wanted).apply(withTurn, "my-etcd-2").apply(refusing).snapshot,
    expect: turn("my-etcd-2"),
  },
  {
    name: "stops the update of the only member, also when the spec is refused",
    given: begin(wanting(NEWER, { replicas: 1 }))
      .apply(withCanary, "my-etcd-0")
      .apply(silentFor, "my-etcd-0", 600_000)
      .apply(refusing).snapshot,
    expect: "stop-update: stopUpdate",
  },
  {
    name: "rolls the only member back, also when the spec is refused",
    given: begin(wanting(NEWER, { replicas: 1 }))
      .apply(withCanary, "my-etcd-0")
      .apply(withStop, "my-etcd-0")
      .apply(refusing).snapshot,
    expect: "roll-back-member: replacePeer my-etcd-0 fenced",
  },
  { name: "updates the last member first while the first member leads", given: wanted, expect: turn("my-etcd-2") },
  {
    name: "updates the leader last",
    given: withUpdated(wanting(NEWER, { leader: "my-etcd-2" }), "my-etcd-1"),
    expect: turn("my-etcd-0"),
  },
  {
    name: "blocks evictions before a member restarts",
    given: { ...withTurn(wanted, "my-etcd-2"), budget: wanted.budget },
    expect: "disruption-budget: replaceBudget",
  },
  {
    name: "waits until the ReplicaSet has the template",
    given: withTurn(wanted, "my-etcd-2", NEWER, { isTakenOver: false }),
    expect: "wait: restart-member",
  },
  {
    name: "restarts the member with the pending restart",
    given: withTurn(wanted, "my-etcd-2"),
    expect: "restart-member: restartPod",
  },
  {
    name: "allows evictions again after the restart",
    given: { ...withCanary(wanted, "my-etcd-2"), budget: withTurn(wanted, "my-etcd-2").budget },
    expect: "disruption-budget: replaceBudget",
  },
  {
    name: "waits until the restarted member is fit",
    given: withCanary(wanted, "my-etcd-2"),
    expect: "wait: update-member",
  },
  {
    name: "updates the next member when the first one is fit",
    given: withUpdated(wanted, "my-etcd-2"),
    expect: turn("my-etcd-1"),
  },
  {
    name: "moves the leadership to an updated member before the leader restarts",
    given: begin(wanted).apply(withUpdated, "my-etcd-1", "my-etcd-2").apply(withTurn, "my-etcd-0").snapshot,
    expect: "restart-member: moveLeader my-etcd-0 to my-etcd-1",
  },
  {
    name: "is settled when all members run the wanted template",
    given: withUpdated(wanted, "my-etcd-0", "my-etcd-1", "my-etcd-2"),
    expect: "settled",
  },
  {
    name: "restarts the member with the pending restart for the next minor",
    given: withTurn(wanting(NEXT_MINOR), "my-etcd-2"),
    expect: "restart-member: restartPod",
  },
  {
    name: "restarts no member while another is down",
    given: withTurn(wanting(NEWER, { replicas: 5, down: ["my-etcd-1"] }), "my-etcd-2"),
    expect: "warn: one-at-a-time",
  },
  {
    name: "updates no member while another is down",
    given: wanting(NEWER, { down: ["my-etcd-1"] }),
    expect: "wait: update-member",
  },
  {
    name: "updates no member while another serves no clients yet",
    given: unpublished(wanted, "my-etcd-1"),
    expect: "wait: update-member",
  },
  {
    name: "adds members before an update begins",
    given: wanting(NEWER, { spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "removes members before an update begins",
    given: wanting(NEWER, { spec: { replicas: 2 } }),
    expect: "scale-down: markRemoval my-etcd-2 scale-down",
  },
  {
    name: "finishes a restart before a member is added",
    given: withTurn(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-1"),
    expect: "restart-member: restartPod",
  },
  {
    name: "updates no member while a member is joining",
    given: withArrival(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-3", "added"),
    expect: "wait: await-learner",
  },
  {
    name: "updates no member while a member is leaving",
    given: begin(wanting(NEWER, { spec: { replicas: 2 } }))
      .apply(withRemoval, "my-etcd-2", "scale-down")
      .apply(withBudget).snapshot,
    expect: "remove-member: removeMember my-etcd-2",
  },
  {
    name: "replaces the template of a pending restart first",
    given: withTurn(wanting({ ...OLD, version: "3.6.18" }), "my-etcd-1", NEWER),
    expect: turn("my-etcd-1"),
  },
  {
    name: "cancels a pending restart when the old template is wanted again",
    given: withTurn(cluster(), "my-etcd-1", NEWER),
    expect: turn("my-etcd-1"),
  },
  {
    name: "restarts the only member of a cluster",
    given: withTurn(one, "my-etcd-0"),
    expect: "restart-member: restartPod",
  },
  { name: "waits for the canary until its start timeout", given: late(599_999), expect: "wait: update-member" },
  { name: "stops the update when the canary takes too long", given: late(600_000), expect: "stop-update: stopUpdate" },
  {
    name: "does not stop a proven update",
    given: begin(wanted)
      .apply(withUpdated, "my-etcd-1")
      .apply(withCanary, "my-etcd-2")
      .apply(sickFor, "my-etcd-2", 600_000).snapshot,
    expect: "replace-lost: markRemoval my-etcd-2 replacement",
  },
  {
    name: "stops the update when the only member takes too long",
    given: begin(one).apply(withCanary, "my-etcd-0").apply(silentFor, "my-etcd-0", 600_000).snapshot,
    expect: "stop-update: stopUpdate",
  },
  { name: "rolls the canary back", given: stopped, expect: "roll-back-member: replacePeer my-etcd-2 fenced" },
  {
    name: "rolls back the only member after its update was stopped",
    given: begin(one).apply(withCanary, "my-etcd-0").apply(withStop, "my-etcd-0").snapshot,
    expect: "roll-back-member: replacePeer my-etcd-0 fenced",
  },
  {
    name: "restarts the only member when it hangs with the failed template",
    given: begin(dead)
      .apply(withCanary, "my-etcd-0")
      .apply(withStop, "my-etcd-0")
      .apply(withTurn, "my-etcd-0", OLD)
      .apply(silentFor, "my-etcd-0", 600_000).snapshot,
    expect: "restart-stopped: restartPod",
  },
  {
    name: "updates the only member when it hangs",
    given: begin(wanting(NEXT_MINOR, { replicas: 1, down: ["my-etcd-0"] }))
      .apply(madeFrom, "my-etcd-0", NEWER)
      .apply(withTurn, "my-etcd-0", NEWER)
      .apply(silentFor, "my-etcd-0", 600_000).snapshot,
    expect: "update-stopped: replacePeer my-etcd-0 fenced",
  },
  {
    name: "recreates the pod of a rolled-back member, although others cannot be rolled back yet",
    given: begin(bothTried)
      .apply(withTurn, "my-etcd-1", OLD)
      .apply(withPeer, "my-etcd-1", { spec: { previous: undefined } as never }).snapshot,
    expect: "restart-stopped: restartPod",
  },
  {
    name: "recreates the pod of a rolled-back member",
    given: withTurn(stopped, "my-etcd-2", OLD),
    expect: "restart-stopped: restartPod",
  },
  {
    name: "changes nothing after a stopped update when all members run the old template",
    given: withStop(wanted, "my-etcd-2"),
    expect: "settled",
  },
  {
    name: "restarts no member when pods have no recorded revision after an upgrade of the operator",
    given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce((each, name) => madeFrom(each, name, undefined), cluster()),
    expect: "settled",
  },
  {
    name: "updates a member that is down before all other members",
    given: withCrashing(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1"),
    expect: "update-stopped: replacePeer my-etcd-1 fenced",
  },
  {
    name: "updates members that are down, also without a quorum",
    given: withCrashing(wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
    expect: "update-stopped: replacePeer my-etcd-2 fenced",
  },
  {
    name: "recreates the pod of a member that is down, also without a quorum",
    given: begin(wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] }))
      .apply(withCrashing, "my-etcd-2")
      .apply(withTurn, "my-etcd-2").snapshot,
    expect: "restart-stopped: restartPod",
  },
  {
    name: "replaces a lost member although its pod may not be recreated",
    given: unshown(600_000),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "removes a lost member when scaling down although its pod may not be recreated",
    given: wantingFewer(unshown(60_000), 2),
    expect: "scale-down: markRemoval my-etcd-1 scale-down",
  },
  {
    name: "warns about a pod that may not be recreated until its member counts as lost",
    given: unshown(60_000),
    expect: "warn: certificate-is-trusted",
  },
  {
    name: "removes no member while the restart of a running member waits for another member",
    given: wantingFewer(withTurn(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-2"), 2),
    expect: "warn: restart-keeps-quorum",
  },
  {
    name: "updates a member when its pod cannot be created",
    given: begin(wanting(NEWER, { down: ["my-etcd-1"] }))
      .apply(withoutPod, "my-etcd-1")
      .apply(sickFor, "my-etcd-1", 10_001).snapshot,
    expect: "update-stopped: replacePeer my-etcd-1 fenced",
  },
  {
    name: "waits for a member that has not caught up",
    given: saying(wanted, "my-etcd-0", { raftIndex: 1_012 }),
    expect: "wait: update-member",
  },
  {
    name: "restarts no member with OnDelete",
    given: withTurns(asked),
    expect: "wait: update-member",
  },
  {
    name: "gives the next member its template without waiting with OnDelete",
    given: withTurn(asked, "my-etcd-2"),
    expect: turn("my-etcd-1"),
  },
  {
    name: "adds members while pending restarts wait with OnDelete",
    given: withTurns(wanting(NEWER, { spec: { ...ON_DELETE, replicas: 5 } })),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "replaces a lost member while pending restarts wait with OnDelete",
    given: sickFor(withTurns(wanting(NEWER, { spec: ON_DELETE, down: ["my-etcd-1"] })), "my-etcd-1", 300_000),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "waits for a member that a person restarted",
    given: withCanary(withTurns(asked), "my-etcd-2"),
    expect: "wait: await-health",
  },
  {
    name: "stops the update with OnDelete when the restarted member fails",
    given: begin(asked)
      .apply(withTurn, "my-etcd-1")
      .apply(withCanary, "my-etcd-2")
      .apply(silentFor, "my-etcd-2", 600_000).snapshot,
    expect: "stop-update: stopUpdate",
  },
  {
    name: "restarts members with pending restarts after a change from OnDelete to RollingUpdate",
    given: withTurns(wanted),
    expect: "restart-member: restartPod",
  },
  {
    name: "restarts no second member after a change from OnDelete while the first is not up",
    given: withCanary(withTurns(wanted), "my-etcd-2"),
    expect: "warn: restart-keeps-quorum",
  },
  {
    name: "restarts a member for its first certificates",
    given: turnedTo(switching({}, ["nothing", "nothing", "nothing"]), "my-etcd-2", "both"),
    expect: "restart-member: restartPod",
  },
  {
    name: "changes the peer URL of a member before its restart",
    given: turnedTo(switching({}, ["both", "both", "both"]), "my-etcd-2", "reached"),
    expect: "restart-member: updateMember https://my-etcd-2.my-etcd.foo.svc:2380",
  },
  {
    name: "restarts a member after its peer URL has changed",
    given: begin(switching({}, ["both", "both", "both"]))
      .apply(turnedTo, "my-etcd-2", "reached")
      .apply(listedBy, "https", ["my-etcd-2"]).snapshot,
    expect: "restart-member: restartPod",
  },
  {
    name: "updates the peer URL of a member that was restarted by hand",
    given: listedBy(switching({}, ["both", "both", "reached"]), "http", ["my-etcd-2"]),
    expect: "update-member-url: updateMember https://my-etcd-2.my-etcd.foo.svc:2380",
  },
  {
    name: "updates the next member once one member has an https peer URL",
    given: switching({}, ["both", "both", "reached"]),
    expect: turn("my-etcd-1"),
  },
  {
    name: "updates no member while the revision of a pod is unknown",
    given: madeFrom(wanted, "my-etcd-1", undefined),
    expect: "wait: update-member",
  },
]);

function turn(name: string): string {
  return `update-member: replacePeer ${name} fenced`;
}
