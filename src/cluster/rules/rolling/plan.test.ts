import { templateOf } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, sickFor, unpublished, withArrival, withBudget, withoutMember, withRemoval } from "#kit/cluster.ts";
import { withAlarms } from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";
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
  withRestarted,
  withStop,
  withTurn,
  withUpdated,
} from "#kit/cluster-rolling.ts";
import { wanted as wantingFewer } from "#kit/cluster-sleep.ts";
import { certified } from "#kit/cluster-steps.ts";
import { switching, turnedTo } from "#kit/cluster-switch.ts";
import { listedBy, running, withSeen } from "#kit/cluster-tls.ts";
import { ofBoth, shows } from "#kit/cluster-turn.ts";
import { etcdBackupSchedule } from "#kit/schedule.ts";

// How a running cluster is changed, member by member, and how that is stopped and taken back.

const wanted = wanting(NEWER);
/** The first member that got something new has not answered for so long. */
const late = (ms: number) => silentFor(withCanary(wanted, "my-etcd-2"), "my-etcd-2", ms);
const stopped = withStop(withCrashing(late(700_000), "my-etcd-2"), "my-etcd-2");
const asked = wanting(NEWER, { spec: ON_DELETE });
/** All members have what is wanted on record, and run what they ran. */
const allTurned = (snapshot: ClusterSnapshot) =>
  ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce((given, name) => withTurn(given, name), snapshot);
/** People have restarted two: one crashes, and is put back, and the other one serves with something beside etcd that does not become ready. */
const bothTried = withStop(
  withPod(
    withRestarted(
      withCrashing(
        withCanary(wanting(NEWER, { spec: ON_DELETE, down: ["my-etcd-1"] }), "my-etcd-1"),
        "my-etcd-1",
        700_000,
      ),
      "my-etcd-2",
    ),
    "my-etcd-2",
    UNREADY_BESIDE,
  ),
  "my-etcd-1",
);
const back = wanting(BEFORE);
const one = wanting(NEWER, { replicas: 1 });
const dead = wanting(NEWER, { replicas: 1, down: ["my-etcd-0"] });

/** One is to show again what all others do, which cannot be read, and its container has ended for so long with what it went over to. */
function unshown(sickMs: number): ClusterSnapshot {
  const name = "my-etcd-1";
  const own = templateOf(certified.peers.find(({ metadata }) => metadata.name === name)!);
  const gone = running(certified, [name], shows("their-peer", ofBoth));
  const endpoints = new Map([...gone.endpoints].filter(([each]) => each !== name));
  const back = withTurn({ ...gone, endpoints }, name, own);
  const ended = withPod(withCrashing(back, name, sickMs), name, { status: { ...CRASHING, conditions: [] } });
  return withSeen(ended, { peer: { is: "unknown", why: "secrets is forbidden" } });
}

testPlans("rolling", [
  {
    name: "makes a backup before anybody goes to a newer minor release, where a schedule says how",
    given: { ...wanting(NEXT_MINOR), schedules: [etcdBackupSchedule()] },
    expect: "backup-first: createBackup",
  },
  {
    name: "goes on while a version is asked for that members cannot go to",
    given: cluster({ spec: { version: "3.4.1" } }),
    expect: "settled",
  },
  { name: "asks etcd to go back before any member does", given: back, expect: "enable-downgrade: enableDowngrade" },
  {
    name: "asks etcd for nothing before it is known that members could run with it",
    given: wanting({ ...BEFORE, etcd: { extraArgs: { "max-txn-op": "1" } } }),
    expect: "settled",
  },
  {
    name: "waits until all data has been converted",
    given: saying(downgrading(back), "my-etcd-0", { storageVersion: "3.6.0" }),
    expect: "wait: enable-downgrade",
  },
  { name: "then sends the last one back first", given: downgrading(back), expect: turn("my-etcd-2") },
  {
    name: "forgets what a member had that is well with what it got",
    given: withPeer(cluster(), "my-etcd-1", { spec: { previous: BEFORE } }),
    expect: "forget-previous: replacePeer my-etcd-1 fenced",
  },
  {
    name: "and the others after it",
    given: withUpdated(downgrading(back), "my-etcd-2"),
    expect: turn("my-etcd-1"),
  },
  {
    name: "cancels it when something else is wanted",
    given: downgrading(cluster()),
    expect: "cancel-downgrade: cancelDowngrade",
  },
  {
    name: "cancels it for somebody who is to join",
    given: downgrading(withArrival(back, "my-etcd-3", "added")),
    expect: "cancel-downgrade: cancelDowngrade",
  },
  {
    name: "cancels it before what is left of a member is cleared away",
    given: downgrading(withoutMember(cluster(), "my-etcd-2")),
    expect: "cancel-downgrade: cancelDowngrade",
  },
  {
    name: "but not before an alarm is lowered that keeps etcd from serving anybody",
    given: withAlarms(downgrading(cluster()), { type: "CORRUPT", id: "abc" }),
    expect: "disarm-alarm: disarmAlarm",
  },
  {
    name: "asks etcd to go back only when as many members are there as are wanted",
    given: wanting(BEFORE, { spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "makes nothing from what no member could run",
    given: cluster({ stage: "new", spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } }),
    expect: "warn: refused-spec",
  },
  {
    name: "gives nobody a turn with what no member could run",
    given: wanting({ ...NEWER, etcd: { extraArgs: { "data-dir": "/tmp" } } }),
    expect: "settled",
  },
  {
    name: "takes a turn back that nobody has used when the spec is refused",
    given: refusing(withTurn(wanted, "my-etcd-2")),
    expect: turn("my-etcd-2"),
  },
  {
    name: "stops the update for the only member that does not come up, also when the spec is refused by then",
    given: refusing(silentFor(withCanary(wanting(NEWER, { replicas: 1 }), "my-etcd-0"), "my-etcd-0", 600_000)),
    expect: "stop-update: stopUpdate",
  },
  {
    name: "and puts it back",
    given: refusing(withStop(withCanary(wanting(NEWER, { replicas: 1 }), "my-etcd-0"), "my-etcd-0")),
    expect: "put-back: replacePeer my-etcd-0 fenced",
  },
  { name: "gives the last one its turn first, while the first one leads", given: wanted, expect: turn("my-etcd-2") },
  {
    name: "gives the leader its turn last",
    given: withUpdated(wanting(NEWER, { leader: "my-etcd-2" }), "my-etcd-1"),
    expect: turn("my-etcd-0"),
  },
  {
    name: "makes room in the budget before a member restarts",
    given: { ...withTurn(wanted, "my-etcd-2"), budget: wanted.budget },
    expect: "disruption-budget: replaceBudget",
  },
  {
    name: "waits until the ReplicaSet has taken over what the member is to run",
    given: withTurn(wanted, "my-etcd-2", NEWER, { isTakenOver: false }),
    expect: "wait: restart-member",
  },
  { name: "restarts whose turn it is", given: withTurn(wanted, "my-etcd-2"), expect: "restart-member: restartPod" },
  {
    name: "takes the room in the budget back once the member has restarted",
    given: { ...withCanary(wanted, "my-etcd-2"), budget: withTurn(wanted, "my-etcd-2").budget },
    expect: "disruption-budget: replaceBudget",
  },
  { name: "waits for who has restarted", given: withCanary(wanted, "my-etcd-2"), expect: "wait: give-turn" },
  {
    name: "gives the next one its turn when the first one is well",
    given: withUpdated(wanted, "my-etcd-2"),
    expect: turn("my-etcd-1"),
  },
  {
    name: "moves the leadership before the leader restarts, to one that runs what is wanted",
    given: withTurn(withUpdated(wanted, "my-etcd-1", "my-etcd-2"), "my-etcd-0"),
    expect: "restart-member: moveLeader my-etcd-0 to my-etcd-1",
  },
  {
    name: "is done when all run what is wanted",
    given: withUpdated(wanted, "my-etcd-0", "my-etcd-1", "my-etcd-2"),
    expect: "settled",
  },
  {
    name: "takes a cluster to the next minor in the same way",
    given: withTurn(wanting(NEXT_MINOR), "my-etcd-2"),
    expect: "restart-member: restartPod",
  },
  {
    name: "restarts nobody while another one is down",
    given: withTurn(wanting(NEWER, { replicas: 5, down: ["my-etcd-1"] }), "my-etcd-2"),
    expect: "warn: one-at-a-time",
  },
  {
    name: "gives nobody a turn while another one is down",
    given: wanting(NEWER, { down: ["my-etcd-1"] }),
    expect: "wait: give-turn",
  },
  {
    name: "gives nobody a turn while somebody serves no clients yet",
    given: unpublished(wanted, "my-etcd-1"),
    expect: "wait: give-turn",
  },
  {
    name: "adds members before it begins",
    given: wanting(NEWER, { spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "removes members before it begins",
    given: wanting(NEWER, { spec: { replicas: 2 } }),
    expect: "scale-down: markRemoval my-etcd-2 scale-down",
  },
  {
    name: "finishes a turn before anybody is added",
    given: withTurn(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-1"),
    expect: "restart-member: restartPod",
  },
  {
    name: "begins nothing while a member is on its way in",
    given: withArrival(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-3", "added"),
    expect: "wait: await-learner",
  },
  {
    name: "begins nothing while a member is on its way out",
    given: withBudget(withRemoval(wanting(NEWER, { spec: { replicas: 2 } }), "my-etcd-2", "scale-down")),
    expect: "remove-member: removeMember my-etcd-2",
  },
  {
    name: "gives who was about to restart the new wish first",
    given: withTurn(wanting({ ...OLD, version: "3.6.18" }), "my-etcd-1", NEWER),
    expect: turn("my-etcd-1"),
  },
  {
    name: "takes a turn back when the old is wanted again",
    given: withTurn(cluster(), "my-etcd-1", NEWER),
    expect: turn("my-etcd-1"),
  },
  {
    name: "restarts the only member of a cluster",
    given: withTurn(one, "my-etcd-0"),
    expect: "restart-member: restartPod",
  },
  { name: "gives the first one time", given: late(599_999), expect: "wait: give-turn" },
  { name: "stops the update when the first one takes longer", given: late(600_000), expect: "stop-update: stopUpdate" },
  {
    name: "stops nothing when somebody is well with it",
    given: sickFor(withCanary(withUpdated(wanted, "my-etcd-1"), "my-etcd-2"), "my-etcd-2", 600_000),
    expect: "replace-lost: markRemoval my-etcd-2 replacement",
  },
  {
    name: "stops the update also when the only member does not come up",
    given: silentFor(withCanary(one, "my-etcd-0"), "my-etcd-0", 600_000),
    expect: "stop-update: stopUpdate",
  },
  { name: "puts the first one back", given: stopped, expect: "put-back: replacePeer my-etcd-2 fenced" },
  {
    name: "also when it is the only one",
    given: withStop(withCanary(one, "my-etcd-0"), "my-etcd-0"),
    expect: "put-back: replacePeer my-etcd-0 fenced",
  },
  {
    name: "restarts the only one, which hangs with what it was put back from",
    given: silentFor(
      withTurn(withStop(withCanary(dead, "my-etcd-0"), "my-etcd-0"), "my-etcd-0", OLD),
      "my-etcd-0",
      600_000,
    ),
    expect: "restart-stopped: restartPod",
  },
  {
    name: "gives the only one, which hangs, what is wanted by now",
    given: silentFor(
      withTurn(
        madeFrom(wanting(NEXT_MINOR, { replicas: 1, down: ["my-etcd-0"] }), "my-etcd-0", NEWER),
        "my-etcd-0",
        NEWER,
      ),
      "my-etcd-0",
      600_000,
    ),
    expect: "renew-stopped: replacePeer my-etcd-0 fenced",
  },
  {
    name: "makes the pod of the one that was put back anew, although who was tried beside it cannot go back before",
    given: withPeer(withTurn(bothTried, "my-etcd-1", OLD), "my-etcd-1", { spec: { previous: undefined } as never }),
    expect: "restart-stopped: restartPod",
  },
  {
    name: "makes the pod of the one that was put back anew",
    given: withTurn(stopped, "my-etcd-2", OLD),
    expect: "restart-stopped: restartPod",
  },
  {
    name: "goes on as it was after an update was stopped",
    given: withStop(wanted, "my-etcd-2"),
    expect: "settled",
  },
  {
    name: "restarts nobody because the operator was upgraded: what pods were made from is noted first",
    given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce((each, name) => madeFrom(each, name, undefined), cluster()),
    expect: "settled",
  },
  {
    name: "gives a member that does not run what is wanted by now, whatever its turn",
    given: withCrashing(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1"),
    expect: "renew-stopped: replacePeer my-etcd-1 fenced",
  },
  {
    name: "does so for all of them, also without a quorum",
    given: withCrashing(wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
    expect: "renew-stopped: replacePeer my-etcd-2 fenced",
  },
  {
    name: "and makes its pod anew, also without a quorum",
    given: withTurn(withCrashing(wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"), "my-etcd-2"),
    expect: "restart-stopped: restartPod",
  },
  {
    name: "replaces who is lost although its pod may not be made anew: nobody knows what it would show",
    given: unshown(600_000),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "and has it go where fewer are wanted",
    given: wantingFewer(unshown(60_000), 2),
    expect: "scale-down: markRemoval my-etcd-1 scale-down",
  },
  {
    name: "begins nothing else before, while as many are wanted as there are",
    given: unshown(60_000),
    expect: "warn: shown-when-trusted",
  },
  {
    name: "nor while one that runs has to wait for another one, however many are wanted",
    given: wantingFewer(withTurn(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-2"), 2),
    expect: "warn: restart-keeps-quorum",
  },
  {
    name: "gives a member whose pod nobody may make what is wanted by now",
    given: sickFor(withoutPod(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1"), "my-etcd-1", 10_001),
    expect: "renew-stopped: replacePeer my-etcd-1 fenced",
  },
  {
    name: "waits for who has yet to catch up",
    given: saying(wanted, "my-etcd-0", { raftIndex: 1_012 }),
    expect: "wait: give-turn",
  },
  {
    name: "restarts nobody where people do",
    given: allTurned(asked),
    expect: "wait: give-turn",
  },
  {
    name: "gives all of them what is wanted there, side by side",
    given: withTurn(asked, "my-etcd-2"),
    expect: turn("my-etcd-1"),
  },
  {
    name: "scales there, however long people wait",
    given: allTurned(wanting(NEWER, { spec: { ...ON_DELETE, replicas: 5 } })),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "replaces the lost there",
    given: sickFor(allTurned(wanting(NEWER, { spec: ON_DELETE, down: ["my-etcd-1"] })), "my-etcd-1", 300_000),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "waits for who was restarted by a person",
    given: withCanary(allTurned(asked), "my-etcd-2"),
    expect: "wait: await-health",
  },
  {
    name: "stops the update there when that one does not come up",
    given: silentFor(withCanary(withTurn(asked, "my-etcd-1"), "my-etcd-2"), "my-etcd-2", 600_000),
    expect: "stop-update: stopUpdate",
  },
  {
    name: "goes on by itself once people need not restart members any more",
    given: allTurned(wanted),
    expect: "restart-member: restartPod",
  },
  {
    name: "restarts one after another then, too",
    given: withCanary(allTurned(wanted), "my-etcd-2"),
    expect: "warn: restart-keeps-quorum",
  },
  {
    name: "restarts who is to get its first certificates",
    given: turnedTo(switching({}, ["nothing", "nothing", "nothing"]), "my-etcd-2", "both"),
    expect: "restart-member: restartPod",
  },
  {
    name: "changes the URL of a member before it restarts to be reached otherwise",
    given: turnedTo(switching({}, ["both", "both", "both"]), "my-etcd-2", "reached"),
    expect: "restart-member: updateMember https://my-etcd-2.my-etcd.foo.svc:2380",
  },
  {
    name: "then restarts it",
    given: listedBy(turnedTo(switching({}, ["both", "both", "both"]), "my-etcd-2", "reached"), "https", ["my-etcd-2"]),
    expect: "restart-member: restartPod",
  },
  {
    name: "lists a member as it listens that somebody else has restarted",
    given: listedBy(switching({}, ["both", "both", "reached"]), "http", ["my-etcd-2"]),
    expect: "member-url: updateMember https://my-etcd-2.my-etcd.foo.svc:2380",
  },
  {
    name: "goes on with the next one",
    given: switching({}, ["both", "both", "reached"]),
    expect: turn("my-etcd-1"),
  },
  {
    name: "gives nobody a turn while a pod does not say what it was made from",
    given: madeFrom(wanted, "my-etcd-1", undefined),
    expect: "wait: give-turn",
  },
]);

function turn(name: string): string {
  return `give-turn: replacePeer ${name} fenced`;
}
