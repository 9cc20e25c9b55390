import { describe, expect, test } from "vitest";
import { templateIn } from "#api/revision.ts";
import { unknown } from "#base/observed.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  ALWAYS_WELL,
  changedPeer,
  cluster,
  sickFor,
  unpublished,
  withArrival,
  withHistory,
  withoutMember,
} from "#kit/snapshots/cluster.ts";
import { THEIRS, withMember, withoutClaims, withoutPeers, withStraggler } from "#kit/snapshots/cluster-changes.ts";
import {
  answering,
  BEFORE,
  downgrading,
  madeFrom,
  NEWER,
  NEXT_MINOR,
  NOT_READY,
  OLD,
  ON_DELETE,
  recording,
  refusing,
  STARTING,
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
  withRunning,
  withStop,
  withTurn,
  withTurns,
  withUpdate,
  withUpdated,
} from "#kit/snapshots/cluster-rolling.ts";
import { withSleep } from "#kit/snapshots/cluster-sleep.ts";
import { bundle, NEXT, OWN, secured, withMade } from "#kit/snapshots/cluster-tls.ts";
import { BOOTSTRAP } from "#kit/snapshots/peer.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { HAS } from "#kit/snapshots/scheme-change.ts";

// Each rule by itself, without the rules before it.

interface Case {
  readonly name: string;
  readonly given: ClusterSnapshot;
  /** Part of the rule's proposal, and under `lacks` the path of an absent field; `undefined`: no proposal. */
  readonly says: object | undefined;
}

/** The snapshot in which the member has a previous template. */
function hadBefore(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withPeer(snapshot, "my-etcd-1", { spec: { previous: { ...OLD, version: "3.6.15" } } });
}

/** A step that gives this version to a member. */
function gives(name: string, version: string, previous?: string): object {
  const spec = { version, ...(previous === undefined ? {} : { previous: { version: previous } }) };
  return { next: "step", step: { do: "replacePeer", live: { metadata: { name } }, peer: { spec } } };
}

const PREVIOUS = "step.peer.spec.previous";

/** The snapshot in which the member has lacked only readiness for this long. */
function unreadyFor(snapshot: ClusterSnapshot, name: string, ms: number): ClusterSnapshot {
  const history = { ...ALWAYS_WELL, unfitForMs: ms, unreadyForMs: ms };
  return begin(snapshot).apply(withPod, name, UNREADY_BESIDE).apply(withHistory, name, history).snapshot;
}

/** The snapshot in which the member's pod is half a minute old. */
function remade(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withPod(snapshot, "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:59:30Z" } });
}

/** The snapshot in which the member has had no pod for this long. */
function podlessFor(snapshot: ClusterSnapshot, ms: number): ClusterSnapshot {
  return withHistory(withoutPod(snapshot, "my-etcd-2"), "my-etcd-2", { podlessForMs: ms });
}

function restarts(name: string): object {
  return { next: "step", step: { do: "restartPod", name, pod: { metadata: { name: `${name}-abcde` } } } };
}

const WOKEN = { startTime: "2026-01-01T11:30:00Z", wakeTime: "2026-01-01T11:59:00Z" };
const SLEPT_LONG_AGO = { ...WOKEN, wakeTime: "2026-01-01T11:50:00Z" };
const UNSCHEDULED = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes" }];

const settled = cluster();
const asked = wanting(NEWER, { spec: ON_DELETE });
const back = wanting(BEFORE);
/** A release is wanted that cannot read raft entries of 3.5, and no member is recorded as free of them. */
const unread = cluster({ spec: NEXT_MINOR });
/** The last member runs 3.7, and the first one leads with 3.6. */
const halfway = saying(wanting(NEXT_MINOR), "my-etcd-2", { version: "3.7.1" });
const FIRST = "every member takes a raft snapshot before the first one is updated to etcd 3.7";
const wanted = wanting(NEWER);
const turned = withTurn(wanted, "my-etcd-2");
const canary = withCanary(wanted, "my-etcd-2");
const late = silentFor(canary, "my-etcd-2", 600_000);
const ran = (snapshot: ClusterSnapshot) => recording(snapshot, OLD.version, OLD.version, OLD.version);
const down = withCrashing(ran(wanting(NEWER, { down: ["my-etcd-1"] })), "my-etcd-1");
/** The wanted template has changed since one member restarted; it does not become healthy. */
const NEWEST = { ...OLD, version: "3.6.18" };
const tried = begin(wanting(NEWEST, { down: ["my-etcd-1"] }))
  .apply(withTurn, "my-etcd-1", NEWER)
  .apply(madeFrom, "my-etcd-1", NEWER)
  .apply(withPod, "my-etcd-1", { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } }).snapshot;
/** Members shall trust the next CA. */
const trusting = withMade(secured(), { clientCA: { next: NEXT }, server: { trust: bundle(OWN, NEXT) } });
/** One member failed with the wanted template, and its CA has been rotated since. */
function followed(version: string, by = NEXT): ClusterSnapshot {
  const before = secured({ replicas: 1, down: ["my-etcd-0"] });
  const previous = templateIn(before.peers[0]!.spec);
  const trust = bundle(OWN, NEXT);
  const tls = { ...previous.tls, peer: { ...previous.tls!.peer!, trust, signer: by.id } };
  const template = { ...previous, version, tls };
  const asked = begin(before).apply(withMade, { peer: { by, trust } }).apply(wantingToo, { version }).snapshot;
  const tried = begin(asked)
    .apply(withPeer, "my-etcd-0", { spec: { ...template, previous } })
    .apply(madeFrom, "my-etcd-0", template).snapshot;
  return withStop(tried, "my-etcd-0");
}
const wantingToo = (snapshot: ClusterSnapshot, spec: object): ClusterSnapshot => ({
  ...snapshot,
  cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, ...spec } },
});
/** The last member has just restarted with an outdated template, and is not up yet. */
function comingUp(snapshot: ClusterSnapshot, sinceText = "2026-01-01T11:59:31Z"): ClusterSnapshot {
  const name = "my-etcd-2";
  const { previous: _, ...template } = snapshot.peers.find(({ metadata }) => metadata.name === name)!.spec;
  const restarted = withPeer(snapshot, name, { spec: { previous: templateIn(template) } });
  const endpoints = new Map(restarted.endpoints).set(name, unknown("connection refused"));
  return withPod({ ...restarted, endpoints }, name, { metadata: { creationTimestamp: sinceText }, status: STARTING });
}
/** The first member is rolled back, and its old pod has been hanging for this long. */
const hanging = (ms: number, replicas = 1) =>
  begin(wanting(NEWER, { replicas, down: ["my-etcd-0"] }))
    .apply(withRunning, "my-etcd-0")
    .apply(withCanary, "my-etcd-0")
    .apply(withStop, "my-etcd-0")
    .apply(withTurn, "my-etcd-0", OLD)
    .apply(silentFor, "my-etcd-0", ms).snapshot;
/**
 * The first member has restarted with the wanted template and serves clients, but its pod has not been Ready for this
 * long.
 */
const unready = (ms: number) =>
  begin(wanted)
    .apply(withRestarted, "my-etcd-2")
    .apply(withPod, "my-etcd-2", NOT_READY)
    .apply(withUpdate)
    .apply(withHistory, "my-etcd-2", { ...ALWAYS_WELL, unfitForMs: ms }).snapshot;
const stopped = withStop(canary, "my-etcd-2");
/** The template from before TLS was switched off. */
const LIMITED = withResources({ limits: { cpu: "1" } });
const HAD_TLS = { ...OLD, version: "3.6.15", tls: HAS.both };
/** The member has an outdated pending restart, and still shows a Secret that is gone. */
const leftShowing = (snapshot: ClusterSnapshot, name: string) =>
  begin(snapshot)
    .apply(madeFrom, name, HAD_TLS)
    .apply(withTurn, name, { ...OLD, version: "3.6.15" }, { previous: HAD_TLS }).snapshot;
const ended = (containerStatuses: readonly object[]) => ({ status: { containerStatuses } });
/** The snapshot in which the container of the first member has ended with this output. */
const withWords = (snapshot: ClusterSnapshot, message: string) =>
  withPod(snapshot, "my-etcd-2", ended([{ name: "etcd", state: { terminated: { exitCode: 1, message } } }]));
const say = (message: string, reason = "PodPending", since = "11:00:00") => ({
  conditions: [
    {
      type: "Ready",
      status: "False" as "True" | "False",
      reason,
      message,
      observedGeneration: 1,
      lastTransitionTime: `2026-01-01T${since}Z`,
    },
  ],
});
const notTakenOver = withTurn(wanted, "my-etcd-2", NEWER, { isTakenOver: false });

function unanswered(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints].filter(([each]) => each !== name)) };
}

/** A learner that was added by hand and has started. */
const LEARNER = { ...THEIRS, isLearner: true };

/** The update began at this time, and one member's data is not converted yet. */
const converting = (startTime: string) =>
  begin(back).apply(downgrading).apply(downgrading, ["my-etcd-1"], "3.6.0").apply(withUpdate, { startTime }).snapshot;

const cases: Readonly<Record<string, readonly Case[]>> = {
  "no-version-path": [
    { name: "allows an older patch release", given: cluster({ spec: { version: "3.6.1" } }), says: undefined },
    { name: "allows the previous minor", given: cluster({ spec: { version: "3.5.35" } }), says: undefined },
    {
      name: "reports why there is no path, and for which release",
      given: cluster({ spec: { version: "3.4.1" } }),
      says: {
        next: "notice",
        because:
          "spec.version is refused: from 3.6.16 to 3.4.1 is a downgrade by more than one minor version; go to 3.5 first; it is 3.4.1, and the cluster runs 3.6.16",
      },
    },
  ],
  "raft-snapshot-first": [
    { name: "needs no snapshots within a minor", given: settled, says: undefined },
    { name: "needs no snapshots when all members have them", given: wanting(NEXT_MINOR), says: undefined },
    {
      name: "enables etcd's downgrade to force snapshots",
      given: unread,
      says: {
        next: "step",
        because: `${FIRST}: the raft log of my-etcd-0 may have entries of etcd 3.5, which etcd 3.7 cannot read; etcd's downgrade to 3.5 forces the snapshots, and is cancelled then`,
        step: { do: "enableDowngrade", to: "3.5" },
      },
    },
    {
      name: "needs no snapshots after the update to that release was stopped",
      given: withStop(unread, "my-etcd-2"),
      says: undefined,
    },
    { name: "needs no snapshots for a refused spec", given: refusing(unread), says: undefined },
    {
      name: "waits until a joining member is a voter",
      given: withArrival(unread, "my-etcd-3", "started"),
      says: { next: "wait", because: `${FIRST} once my-etcd-3 has its vote`, recheckAfterMs: 10_000 },
    },
    {
      name: "waits for a member that is not Ready, and warns after the start timeout",
      given: begin(unread)
        .apply(withPod, "my-etcd-1", NOT_READY)
        .apply(withHistory, "my-etcd-1", { ...ALWAYS_WELL, unfitForMs: 600_000 }).snapshot,
      says: { next: "wait", because: `${FIRST} once my-etcd-1 has a Ready pod`, warn: true },
    },
    {
      name: "waits for data in the older format, which would look like converted data",
      given: saying(unread, "my-etcd-1", { storageVersion: "3.5.0" }),
      says: {
        next: "wait",
        because: `${FIRST}; that begins when the data of my-etcd-1 is in the format of the release that it runs`,
        recheckAfterMs: 500,
      },
    },
    {
      name: "names the member without a snapshot while the downgrade is enabled",
      given: begin(unread).apply(downgrading).apply(withReadableEntries, ["my-etcd-0"]).snapshot,
      says: {
        next: "wait",
        because: `${FIRST}; not done yet: the raft log of my-etcd-1 may have entries of etcd 3.5, which etcd 3.7 cannot read`,
        recheckAfterMs: 500,
      },
    },
  ],
  "move-leader-to-newest": [
    { name: "keeps the leader when no member joins", given: halfway, says: undefined },
    {
      name: "moves the leadership to 3.7 for a joining member",
      given: withArrival(halfway, "my-etcd-3", "added"),
      says: {
        next: "step",
        because:
          "my-etcd-3 is joining and may not get raft entries of etcd 3.5 from my-etcd-0, which leads with etcd 3.6; my-etcd-2 takes over",
        step: { do: "moveLeader", from: "my-etcd-0", to: "my-etcd-2" },
      },
    },
    {
      name: "moves the leadership to 3.7 for an intent",
      given: withArrival(halfway, "my-etcd-3", "intended"),
      says: { next: "step", step: { do: "moveLeader", from: "my-etcd-0", to: "my-etcd-2" } },
    },
    {
      name: "keeps the leader when no member runs 3.7",
      given: withArrival(unread, "my-etcd-3", "added"),
      says: undefined,
    },
    {
      name: "keeps a leader that runs 3.7",
      given: begin(halfway).apply(saying, "my-etcd-0", { version: "3.7.1" }).apply(withArrival, "my-etcd-3", "added")
        .snapshot,
      says: undefined,
    },
    {
      name: "keeps a leader with an unknown release",
      given: begin(halfway).apply(saying, "my-etcd-0", { version: "mine" }).apply(withArrival, "my-etcd-3", "added")
        .snapshot,
      says: undefined,
    },
    {
      name: "does not choose an unhealthy member",
      given: begin(halfway).apply(saying, "my-etcd-2", { leaderId: undefined }).apply(withArrival, "my-etcd-3", "added")
        .snapshot,
      says: undefined,
    },
  ],
  "enable-downgrade": [
    { name: "does nothing for the running release", given: settled, says: undefined },
    {
      name: "enables the downgrade to the previous minor",
      given: back,
      says: {
        next: "step",
        because: "members can go back to etcd 3.5 once etcd's own downgrade is enabled",
        step: { do: "enableDowngrade", to: "3.5" },
      },
    },
    {
      name: "needs no downgrade while a member runs that minor",
      given: answering(back, "3.5.30"),
      says: undefined,
    },
    {
      name: "enables nothing for a stopped update",
      given: withStop(back, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "enables nothing for a refused spec",
      given: wanting({ ...BEFORE, etcd: { extraArgs: { "max-txn-op": "1" } } }),
      says: undefined,
    },
    {
      name: "waits until a joining member is a voter",
      given: withArrival(back, "my-etcd-3", "started"),
      says: {
        next: "wait",
        because: "the downgrade to etcd 3.5 begins once my-etcd-3 has its vote",
        recheckAfterMs: 10_000,
        warn: false,
      },
    },
    {
      name: "warns when a joining member is no voter for long",
      given: begin(back)
        .apply(withArrival, "my-etcd-3", "started")
        .apply(withUpdate, { startTime: "2026-01-01T11:50:00Z" }).snapshot,
      says: { next: "wait", because: /once my-etcd-3 has its vote$/, recheckAfterMs: 10_000, warn: true },
    },
    {
      name: "does not wait for a started learner that was added by hand",
      given: withMember(back, LEARNER),
      says: { next: "step", step: { do: "enableDowngrade", to: "3.5" } },
    },
    {
      name: "waits for a learner that was added by hand and has not started",
      given: withMember(back, { ...LEARNER, name: "", clientUrls: [] }),
      says: { next: "wait", because: /has its vote$/, warn: false },
    },
    {
      name: "waits for data in the older format, which would look like converted data",
      given: saying(back, "my-etcd-1", { storageVersion: "3.5.0" }),
      says: {
        next: "wait",
        because:
          "the downgrade to etcd 3.5 begins when the data of my-etcd-1 is in the format of the release that it runs",
        recheckAfterMs: 500,
      },
    },
    {
      name: "waits until the member of an intent is a voter",
      given: withArrival(back, "my-etcd-3", "intended"),
      says: {
        next: "wait",
        because: "the downgrade to etcd 3.5 begins once my-etcd-3 has its vote",
        recheckAfterMs: 10_000,
        warn: false,
      },
    },
    {
      name: "does not wait for a member that an update may fix",
      given: unreadyFor(back, "my-etcd-1", 600_000),
      says: { next: "step", step: { do: "enableDowngrade", to: "3.5" } },
    },
    {
      name: "waits for a member that is not Ready",
      given: begin(back)
        .apply(withPod, "my-etcd-1", NOT_READY)
        .apply(withHistory, "my-etcd-1", { ...ALWAYS_WELL, unfitForMs: 20_000 }).snapshot,
      says: {
        next: "wait",
        because: "the downgrade to etcd 3.5 begins once my-etcd-1 has a Ready pod",
        recheckAfterMs: 2_000,
        warn: false,
      },
    },
    {
      name: "rechecks after 500 ms when a member has just become unfit",
      given: begin(back)
        .apply(withPod, "my-etcd-1", NOT_READY)
        .apply(withHistory, "my-etcd-1", { ...ALWAYS_WELL, unfitForMs: 0 }).snapshot,
      says: { next: "wait", recheckAfterMs: 500 },
    },
    {
      name: "warns about a member that is unfit for long",
      given: begin(back)
        .apply(withPod, "my-etcd-1", NOT_READY)
        .apply(withHistory, "my-etcd-1", { ...ALWAYS_WELL, unfitForMs: 600_000 }).snapshot,
      says: { next: "wait", warn: true },
    },
    {
      name: "waits for unconverted data, and names the member",
      given: begin(back).apply(downgrading).apply(downgrading, ["my-etcd-1"], "3.6.0").snapshot,
      says: {
        next: "wait",
        because:
          "members go back to etcd 3.5 when their data has been converted: my-etcd-1 has its data in the format of 3.6.0",
        recheckAfterMs: 500,
        warn: false,
      },
    },
    {
      name: "rechecks every 500 ms at the start of the conversion",
      given: converting("2026-01-01T12:00:00Z"),
      says: { next: "wait", recheckAfterMs: 500, warn: false },
    },
    {
      name: "rechecks less often later in the conversion",
      given: converting("2026-01-01T11:59:40Z"),
      says: { next: "wait", recheckAfterMs: 2_000, warn: false },
    },
    {
      name: "warns when the conversion takes long",
      given: converting("2026-01-01T11:50:00Z"),
      says: { next: "wait", recheckAfterMs: 10_000, warn: true },
    },
    {
      name: "does not warn when the clock is behind the start of the update",
      given: converting("2026-01-01T12:09:59Z"),
      says: { next: "wait", warn: false },
    },
    {
      name: "does not count the time of an earlier update",
      given: withUpdate(converting("2026-01-01T11:50:00Z"), { revision: "0", startTime: "2026-01-01T11:00:00Z" }),
      says: { next: "wait", recheckAfterMs: 500, warn: false },
    },
    { name: "is done when all data is converted", given: downgrading(back), says: undefined },
    {
      name: "does nothing while a downgrade to another minor is enabled",
      given: saying(back, "my-etcd-0", { downgradeTo: "3.4.0" }),
      says: undefined,
    },
  ],
  "cancel-downgrade": [
    { name: "does nothing without an enabled downgrade", given: settled, says: undefined },
    { name: "keeps the downgrade that the spec asks for", given: downgrading(back), says: undefined },
    {
      name: "cancels a downgrade that the spec does not ask for, when any member reports it",
      given: downgrading(settled, ["my-etcd-2"]),
      says: {
        next: "step",
        because: "the downgrade to etcd 3.5 is cancelled: spec.version is 3.6.16",
        step: { do: "cancelDowngrade", to: "3.5" },
      },
    },
    {
      name: "cancels a downgrade that the spec does not ask for, although a voter runs its minor",
      given: begin(settled).apply(downgrading).apply(answering, "3.5.30").snapshot,
      says: { next: "step", step: { do: "cancelDowngrade", to: "3.5" } },
    },
    {
      name: "ignores the report of a member without a leader",
      given: begin(settled).apply(downgrading, ["my-etcd-2"]).apply(saying, "my-etcd-2", { leaderId: undefined })
        .snapshot,
      says: undefined,
    },
    {
      name: "ignores a reported downgrade that is no release",
      given: saying(settled, "my-etcd-2", { downgradeTo: "there" }),
      says: undefined,
    },
    {
      name: "cancels a downgrade for raft snapshots when spec.version is unreachable",
      given: downgrading(cluster({ spec: { version: "3.9.0" } })),
      says: { next: "step", step: { do: "cancelDowngrade", to: "3.5" } },
    },
    {
      name: "cancels a downgrade for raft snapshots when a flag is refused",
      given: begin(unread).apply(refusing).apply(downgrading).snapshot,
      says: { next: "step", step: { do: "cancelDowngrade", to: "3.5" } },
    },
    {
      name: "keeps the downgrade when spec.version is unreachable and a voter runs the older minor",
      given: begin(cluster({ spec: { version: "3.9.0" } }))
        .apply(downgrading)
        .apply(answering, "3.5.30").snapshot,
      says: undefined,
    },
    {
      name: "keeps the downgrade when spec.version is unreachable and older than the running release",
      given: downgrading(cluster({ spec: { version: "3.4.1" } })),
      says: undefined,
    },
    {
      name: "keeps the downgrade when a flag is refused and the spec asks for the older minor",
      given: begin(back).apply(refusing).apply(downgrading).snapshot,
      says: undefined,
    },
    {
      name: "keeps the downgrade when a flag is refused and a voter runs the older minor",
      given: begin(settled).apply(refusing).apply(downgrading).apply(answering, "3.5.30").snapshot,
      says: undefined,
    },
    {
      name: "keeps a downgrade with a refused flag while one member runs a newer minor than the spec asks for",
      given: begin(settled).apply(refusing).apply(downgrading).apply(answering, "3.7.1").snapshot,
      says: undefined,
    },
    {
      name: "keeps the downgrade beside a started learner that was added by hand",
      given: begin(back).apply(downgrading).apply(withMember, LEARNER).snapshot,
      says: undefined,
    },
    {
      name: "cancels the downgrade for a learner that has not started",
      given: begin(back)
        .apply(downgrading)
        .apply(withMember, { ...LEARNER, name: "", clientUrls: [] }).snapshot,
      says: { next: "step", because: /etcd lets no member join during a downgrade/ },
    },
    {
      name: "cancels the downgrade for a joining member",
      given: begin(back).apply(withArrival, "my-etcd-3", "added").apply(downgrading).snapshot,
      says: {
        next: "step",
        because:
          "the downgrade to etcd 3.5 is cancelled: etcd lets no member join during a downgrade, and my-etcd-3 has to join",
      },
    },
    {
      name: "cancels the downgrade for an intent",
      given: begin(back).apply(withArrival, "my-etcd-3", "intended").apply(downgrading).snapshot,
      says: { next: "step", because: /and my-etcd-3 has to join$/ },
    },
    {
      name: "cancels the downgrade for a joining member, also when spec.version is unreachable",
      given: begin(cluster({ spec: { version: "3.9.0" } }))
        .apply(withArrival, "my-etcd-3", "added")
        .apply(downgrading).snapshot,
      says: { next: "step", because: /and my-etcd-3 has to join$/ },
    },
  ],
  "refused-spec": [
    { name: "does nothing for a valid spec", given: cluster(), says: undefined },
    {
      name: "refuses a pod template with reserved fields",
      given: cluster({ stage: "new", spec: { podTemplate: { spec: { hostNetwork: true } } } }),
      says: {
        next: "wait",
        because:
          "spec.podTemplate.spec.hostNetwork is true; it must be false or left out: members on one node would take each other's ports",
      },
    },
    {
      name: "reports an invalid shape",
      given: cluster({ spec: { etcd: { extraArgs: { "max-txn-ops": 5 as never } } } }),
      says: { next: "notice", because: "spec.etcd.extraArgs.max-txn-ops is 5; it must be a text" },
    },
    {
      name: "only reports a refused flag when the cluster runs",
      given: cluster({ spec: { etcd: { extraArgs: { "max-txn-op": "1" } } } }),
      says: {
        next: "notice",
        because: 'spec.etcd.extraArgs: "max-txn-op" is not a flag of etcd 3.6; did you mean max-txn-ops?',
      },
    },
    {
      name: "checks flags against the release that members would run",
      given: cluster({ spec: { version: "3.8.0", etcd: { extraArgs: { "watch-progress-notify-interval": "10m" } } } }),
      says: undefined,
    },
  ],
  "drop-previous-template": [
    {
      name: "drops the previous template of a working member",
      given: hadBefore(cluster()),
      says: {
        ...gives("my-etcd-1", OLD.version),
        lacks: PREVIOUS,
        because: "my-etcd-1 works with its new template: the previous one is dropped",
      },
    },
    { name: "does nothing without a previous template", given: cluster(), says: undefined },
    {
      name: "keeps the previous template before the restart",
      given: withTurn(wanting(NEWER), "my-etcd-1"),
      says: undefined,
    },
    {
      name: "keeps the previous template while the member is unfit",
      given: begin(cluster()).apply(hadBefore).apply(withPod, "my-etcd-1", NOT_READY).snapshot,
      says: undefined,
    },
    {
      name: "keeps the previous template while the member does not answer",
      given: hadBefore(cluster({ down: ["my-etcd-1"] })),
      says: undefined,
    },
    {
      name: "keeps the previous template until the update is recorded as proven",
      given: begin(wanting(NEWER)).apply(withUpdated, "my-etcd-1").apply(withUpdate).apply(hadBefore).snapshot,
      says: undefined,
    },
    {
      name: "drops the previous template once the update is proven",
      given: begin(wanting(NEWER)).apply(withUpdated, "my-etcd-1").apply(withUpdate, { proven: true }).apply(hadBefore)
        .snapshot,
      says: { ...gives("my-etcd-1", NEWER.version), lacks: PREVIOUS },
    },
    {
      name: "drops the previous template of an earlier update while a new update runs",
      given: begin(wanting(NEWER)).apply(withUpdate).apply(hadBefore).snapshot,
      says: { ...gives("my-etcd-1", OLD.version), lacks: PREVIOUS },
    },
    {
      name: "keeps the previous template when the EtcdPeer has no member",
      given: begin(cluster()).apply(withoutMember, "my-etcd-1").apply(hadBefore).snapshot,
      says: undefined,
    },
  ],
  "stop-update": [
    { name: "does nothing before the first restart", given: turned, says: undefined },
    { name: "gives the canary its start timeout", given: silentFor(canary, "my-etcd-2", 599_999), says: undefined },
    {
      name: "stops the update, with the reason",
      given: late,
      says: {
        because:
          "my-etcd-2 did not become healthy and ready within 600 s of its restart: it has no running pod; it is rolled back",
        step: { do: "stopUpdate", name: "my-etcd-2", message: "it has no running pod" },
      },
    },
    { name: "stops the update only once", given: withStop(late, "my-etcd-2"), says: undefined },
    {
      name: "does not judge the update by a member without a claim",
      given: withoutClaims(late, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "judges the update by the next failing member when the first one has no claim",
      given: begin(late).apply(withCanary, "my-etcd-1").apply(withoutClaims, "my-etcd-1").snapshot,
      says: { step: { do: "stopUpdate", name: "my-etcd-2" } },
    },
    {
      name: "does not count time before the update",
      given: withUpdate(late, { startTime: "2026-01-01T11:50:01Z" }),
      says: undefined,
    },
    {
      name: "does not count time before the pod was created",
      given: withPod(late, "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } }),
      says: undefined,
    },
    {
      name: "stops the update when several pods together had the wanted template for the start timeout",
      given: begin(late).apply(remade).apply(withHistory, "my-etcd-2", { triedForMs: 600_000 }).snapshot,
      says: { step: { do: "stopUpdate", name: "my-etcd-2" } },
    },
    {
      name: "does not stop the update before several pods together had the start timeout",
      given: begin(late).apply(remade).apply(withHistory, "my-etcd-2", { triedForMs: 599_999 }).snapshot,
      says: undefined,
    },
    {
      name: "stops the update once it has run for the start timeout",
      given: withUpdate(late, { startTime: "2026-01-01T11:50:00Z" }),
      says: { next: "step" },
    },
    {
      name: "does not stop the update when the clock is behind its start by less than the start timeout",
      given: withUpdate(late, { startTime: "2026-01-01T12:09:59Z" }),
      says: undefined,
    },
    {
      name: "stops the update when the clock is behind its start by the start timeout",
      given: withUpdate(late, { startTime: "2026-01-01T12:10:00Z" }),
      says: { next: "step" },
    },
    {
      name: "does nothing for a proven update",
      given: withUpdate(late, { proven: true }),
      says: undefined,
    },
    {
      name: "does nothing while the kubelet reports the canary Ready",
      given: withPod(late, "my-etcd-2", { status: { conditions: [{ type: "Ready", status: "True" }] } }),
      says: undefined,
    },
    {
      name: "gives a canary without a pod its start timeout",
      given: begin(canary).apply(silentFor, "my-etcd-2", 599_999).apply(withoutPod, "my-etcd-2").snapshot,
      says: undefined,
    },
    {
      name: "reports that the pod is not created",
      given: podlessFor(late, 600_000),
      says: { step: { message: "its pod is not created" } },
    },
    {
      name: "does not stop the update before the pod has been missing for the start timeout",
      given: podlessFor(late, 599_999),
      says: undefined,
    },
    {
      name: "does not count the time of earlier pods when the pod is missing",
      given: begin(late).apply(podlessFor, 10_000).apply(withHistory, "my-etcd-2", { triedForMs: 600_000 }).snapshot,
      says: undefined,
    },
    {
      name: "does not count time without a pod from before the update",
      given: begin(late).apply(podlessFor, 600_000).apply(withUpdate, { startTime: "2026-01-01T11:50:01Z" }).snapshot,
      says: undefined,
    },
    {
      name: "reports why there is no pod",
      given: begin(late)
        .apply(podlessFor, 600_000)
        .apply(withPeer, "my-etcd-2", { status: say("exceeded quota: few") }).snapshot,
      says: { step: { message: "exceeded quota: few" } },
    },
    {
      name: "does not report the reason for a missing pod when the pod exists",
      given: withPeer(late, "my-etcd-2", { status: say("exceeded quota: few") }),
      says: { step: { message: "it has no running pod" } },
    },
    {
      name: "reports the exit code and output of a container that has ended",
      given: withWords(late, "unknown flag"),
      says: {
        step: {
          message: "container etcd ended: no reason given with exit code 1 (unknown flag)",
        },
      },
    },
    {
      name: "reports the exit code of a container that has ended without output",
      given: withWords(late, ""),
      says: { step: { message: "container etcd ended: no reason given with exit code 1" } },
    },
    {
      name: "shortens long output of a container to one line",
      given: withWords(late, `first\n${"y ".repeat(500)}`),
      says: { step: { message: expect.stringMatching(/exit code 1 \((y ){149}y…\)$/) } },
    },
    {
      name: "reports the connection error when the container runs and etcd does not answer",
      given: { ...late, endpoints: new Map(late.endpoints).set("my-etcd-2", unknown("connection refused")) },
      says: { step: { message: "connection refused" } },
    },
    {
      name: "reports a canary that answers and stays far behind the other members",
      given: begin(wanted)
        .apply(withRestarted, "my-etcd-2")
        .apply(saying, "my-etcd-2", { raftIndex: 0, raftAppliedIndex: 0 })
        .apply(saying, "my-etcd-0", { raftIndex: 1_001 })
        .apply(withHistory, "my-etcd-2", { ...ALWAYS_WELL, unfitForMs: 600_000 })
        .apply(withUpdate).snapshot,
      says: { step: { message: "it has not caught up" } },
    },
    {
      name: "does not stop before a canary that answers has been unready for the start timeout",
      given: unready(599_999),
      says: undefined,
    },
    {
      name: "reports a canary that answers and never becomes Ready",
      given: unready(600_000),
      says: { step: { message: "it answers, but its pod is not Ready" } },
    },
  ],
  "roll-back-member": [
    { name: "does nothing when no update was stopped", given: canary, says: undefined },
    {
      name: "rolls back to the previous template",
      given: stopped,
      says: {
        ...gives("my-etcd-2", "3.6.16"),
        because: "my-etcd-2 did not come up, and is rolled back to its previous template: etcd 3.6.16",
      },
    },
    {
      name: "uses the previous template of the EtcdPeer, not that of another member",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.15" } } }),
      says: gives("my-etcd-2", "3.6.15"),
    },
    {
      name: "uses the template of a healthy member without a previous one",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: undefined } }),
      says: {
        ...gives("my-etcd-2", "3.6.16"),
        because: "my-etcd-2 did not come up, and gets the template of a healthy member: etcd 3.6.16",
      },
    },
    {
      name: "uses the template of a healthy member when a Secret of the previous template is gone",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: HAD_TLS } }),
      says: { ...gives("my-etcd-2", "3.6.16"), lacks: "step.peer.spec.tls" },
    },
    {
      name: "reports why no rollback is possible",
      given: begin(wanting(NEWER, { replicas: 1 }))
        .apply(withCanary, "my-etcd-0")
        .apply(withStop, "my-etcd-0")
        .apply(withPeer, "my-etcd-0", {
          spec: { previous: HAD_TLS },
        }).snapshot,
      says: {
        next: "notice",
        because:
          "my-etcd-0 did not come up, and is rolled back to its previous template: etcd 3.6.15; that is held back: Secret my-etcd-peer-tls is not known to be for EtcdClusters",
      },
    },
    {
      name: "keeps trusting the new CA after a rotation",
      given: followed(NEWER.version),
      says: {
        step: { peer: { spec: { version: "3.6.16", tls: { peer: { trust: bundle(OWN, NEXT) } } } } },
        because: "my-etcd-0 did not come up, and is rolled back to its previous template: etcd 3.6.16",
      },
    },
    {
      name: "restores the old trust while the new CA has signed no certificate",
      given: followed(NEWER.version, OWN),
      says: { step: { peer: { spec: { version: "3.6.16", tls: { peer: { trust: OWN.pem } } } } } },
    },
    {
      name: "reports a rollback that is held back because it would drop trust in the CA in use",
      given: followed(OLD.version),
      says: {
        next: "notice",
        because:
          "my-etcd-0 did not come up, and is rolled back to its previous template: etcd 3.6.16; that is held back: my-etcd-0 would not trust the CA that signed the certificate in Secret my-etcd-peer-tls, which is in use",
      },
    },
    {
      name: "reports the stop after the rollback",
      given: withTurn(stopped, "my-etcd-2", OLD),
      says: {
        next: "notice",
        because:
          "the update has stopped, because my-etcd-2 did not come up: it ended; to start another update, edit what members run, such as spec.version or spec.podTemplate",
      },
    },
    {
      name: "cancels outdated pending restarts",
      given: withTurn(stopped, "my-etcd-0", { ...OLD, version: "3.6.15" }),
      says: gives("my-etcd-0", "3.6.16"),
    },
    {
      name: "rolls the failed member back although another pending restart cannot be cancelled for a missing Secret",
      given: leftShowing(stopped, "my-etcd-0"),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "gives a member that did not fail no template of another member",
      given: withTurn(leftShowing(stopped, "my-etcd-0"), "my-etcd-2", OLD),
      says: { next: "notice", because: /^the update has stopped, because my-etcd-2 did not come up/ },
    },
    {
      name: "rolls back the blamed member before other failed members",
      given: begin(canary).apply(withCanary, "my-etcd-1").apply(withStop, "my-etcd-2").snapshot,
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "rolls back other failed members once the blamed member is rolled back",
      given: begin(canary).apply(withCanary, "my-etcd-1").apply(withStop, "my-etcd-2").apply(withTurn, "my-etcd-2", OLD)
        .snapshot,
      says: {
        ...gives("my-etcd-1", "3.6.16"),
        because: "my-etcd-1 did not come up, and is rolled back to its previous template: etcd 3.6.16",
      },
    },
    {
      name: "gives a member that never ran the template of a healthy one",
      given: begin(wanting(NEWER, { down: ["my-etcd-2"] }))
        .apply(withStraggler, { started: false })
        .apply(withCanary, "my-etcd-2")
        .apply(withStop, "my-etcd-2")
        .apply(withPeer, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.15" } } }).snapshot,
      says: {
        ...gives("my-etcd-2", "3.6.16"),
        because: "my-etcd-2 did not come up, and gets the template of a healthy member: etcd 3.6.16",
      },
    },
    {
      name: "cancels no pending restart when the template of the pod is not recorded",
      given: withTurn(stopped, "my-etcd-0", { ...OLD, version: "3.6.15" }, { previous: { ...OLD, version: "3.6.14" } }),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "cancels no pending restart of a pod with the failed template",
      given: begin(stopped)
        .apply(madeFrom, "my-etcd-0", NEWER)
        .apply(withTurn, "my-etcd-0", { ...OLD, version: "3.6.15" }, { previous: NEWER }).snapshot,
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "keeps the template when the member works after all",
      given: begin(wanted).apply(withUpdated, "my-etcd-2").apply(withStop, "my-etcd-2").snapshot,
      says: { next: "notice" },
    },
    {
      name: "rolls back a member that never becomes Ready",
      given: withStop(unready(600_000), "my-etcd-2"),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "keeps a proven template of a briefly unfit member",
      given: withUpdate(unready(600_000), { proven: true, stopped: { member: "my-etcd-2", message: "it ended" } }),
      says: { next: "notice" },
    },
    {
      name: "rolls back a member outside the quorum, also when the update was proven",
      given: withUpdate(canary, { proven: true, stopped: { member: "my-etcd-2", message: "it ended" } }),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "skips a removed member",
      given: withoutPeers(stopped, "my-etcd-2"),
      says: { next: "notice" },
    },
    {
      name: "forgets the stop when the spec changes",
      given: {
        ...stopped,
        cluster: { ...stopped.cluster, spec: { ...stopped.cluster.spec, version: "3.6.18" } },
      },
      says: undefined,
    },
  ],
  "update-stopped": [
    { name: "does nothing when every member runs", given: wanted, says: undefined },
    {
      name: "updates a member that is down",
      given: down,
      says: {
        ...gives("my-etcd-1", "3.6.17", "3.6.16"),
        because: "my-etcd-1 is down; its next pod runs etcd 3.6.17 as the spec asks",
      },
    },
    { name: "does nothing for a member with the wanted template", given: withTurn(down, "my-etcd-1"), says: undefined },
    {
      name: "gives a member that is down its previous template when the spec is refused",
      given: begin(down).apply(withTurn, "my-etcd-1").apply(refusing).snapshot,
      says: {
        ...gives("my-etcd-1", "3.6.16"),
        because: "my-etcd-1 is down; its next pod runs etcd 3.6.16, which is not what the spec asks for",
      },
    },
    {
      name: "gives all changes but an unreachable release",
      given: withCrashing(
        ran(wanting({ ...OLD, version: "3.4.1", podTemplate: LIMITED }, { down: ["my-etcd-1"] })),
        "my-etcd-1",
      ),
      says: {
        ...gives("my-etcd-1", "3.6.16"),
        because: "my-etcd-1 is down; its next pod runs etcd 3.6.16, which is not what the spec asks for",
      },
    },
    {
      name: "skips a member that answers, whatever the kubelet reports",
      given: withCrashing(wanted, "my-etcd-1"),
      says: undefined,
    },
    {
      name: "skips a member that participates in the quorum",
      given: begin(wanted).apply(unpublished, "my-etcd-1").apply(withCrashing, "my-etcd-1").snapshot,
      says: undefined,
    },
    {
      name: "skips an EtcdPeer that is being deleted",
      given: changedPeer(down, "my-etcd-1", { deletionTimestamp: "2026-01-01T12:00:00Z" }),
      says: undefined,
    },
    {
      name: "skips a member that runs and does not answer",
      given: begin(wanting(NEWER, { down: ["my-etcd-1"] }))
        .apply(withRunning, "my-etcd-1")
        .apply(sickFor, "my-etcd-1", 60_000).snapshot,
      says: undefined,
    },
    {
      name: "updates a member with a stuck pod",
      given: begin(ran(wanting(NEWER, { down: ["my-etcd-1"] })))
        .apply(sickFor, "my-etcd-1", 10_000)
        .apply(withPod, "my-etcd-1", {
          status: STARTING,
        }).snapshot,
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "waits 10 s for a missing pod",
      given: begin(down).apply(withoutPod, "my-etcd-1").apply(sickFor, "my-etcd-1", 9_999).snapshot,
      says: undefined,
    },
    {
      name: "updates a member without a pod after 10 s",
      given: begin(down).apply(withoutPod, "my-etcd-1").apply(sickFor, "my-etcd-1", 10_000).snapshot,
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "waits 10 s for the restart of a container",
      given: withCrashing(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1", 9_999),
      says: undefined,
    },
    {
      name: "keeps the template of a waking member without a pod",
      given: begin(down).apply(withSleep, WOKEN).apply(withoutPod, "my-etcd-1").apply(sickFor, "my-etcd-1", 60_000)
        .snapshot,
      says: undefined,
    },
    {
      name: "keeps the template while a waking member waits for a volume",
      given: begin(down)
        .apply(withSleep, WOKEN)
        .apply(sickFor, "my-etcd-1", 60_000)
        .apply(withPod, "my-etcd-1", { status: STARTING }).snapshot,
      says: undefined,
    },
    {
      name: "keeps the template while a waking member waits for a node",
      given: begin(down)
        .apply(withSleep, WOKEN)
        .apply(withPod, "my-etcd-1", { status: { conditions: UNSCHEDULED } }).snapshot,
      says: undefined,
    },
    {
      name: "updates a waking member that cannot start",
      given: withSleep(down, WOKEN),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "updates a member without a pod when the cluster woke up long ago",
      given: begin(down)
        .apply(withSleep, SLEPT_LONG_AGO)
        .apply(withoutPod, "my-etcd-1")
        .apply(sickFor, "my-etcd-1", 60_000).snapshot,
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "updates an initial member that never answered",
      given: recording(down, OLD.version, undefined, OLD.version),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "waits until the revision of the pod is recorded",
      given: madeFrom(down, "my-etcd-1", undefined),
      says: undefined,
    },
    {
      name: "skips an EtcdPeer without a member",
      given: withCrashing(
        { ...wanted, members: unknown("no leader"), cluster: withoutFounder(wanted, "my-etcd-1") },
        "my-etcd-1",
      ),
      says: undefined,
    },
    {
      name: "updates no second member beside the canary",
      given: begin(wanting(NEWER, { replicas: 5, down: ["my-etcd-1", "my-etcd-2"] }))
        .apply(withCanary, "my-etcd-2")
        .apply(withCrashing, "my-etcd-1").snapshot,
      says: undefined,
    },
    {
      name: "updates members beside the canary when the quorum is lost",
      given: begin(ran(wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] })))
        .apply(withCanary, "my-etcd-2")
        .apply(withCrashing, "my-etcd-1").snapshot,
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "skips an EtcdPeer with another member ID",
      given: withPeer(down, "my-etcd-1", { spec: { memberID: "abc" } }),
      says: undefined,
    },
    {
      name: "skips an EtcdPeer with a New bootstrap section when its member may not bootstrap",
      given: withPeer(down, "my-etcd-1", { spec: { bootstrap: BOOTSTRAP } }),
      says: undefined,
    },
    {
      name: "updates an EtcdPeer with a New bootstrap section when its member may bootstrap",
      given: begin(cluster({ stage: "starting", spec: NEWER }))
        .apply(withRunning, "my-etcd-0")
        .apply(withPod, "my-etcd-1", {
          status: STARTING,
        }).snapshot,
      says: gives("my-etcd-1", "3.6.17"),
    },
    {
      name: "updates an EtcdPeer with an Existing bootstrap section",
      given: withPeer(down, "my-etcd-1", { spec: { bootstrap: { ...BOOTSTRAP, initialClusterState: "Existing" } } }),
      says: gives("my-etcd-1", "3.6.17"),
    },
    {
      name: "gives no member a template with which the update was stopped",
      given: withStop(down, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "keeps the first previous template across edits",
      given: begin(ran(wanting(NEWEST, { down: ["my-etcd-1"] })))
        .apply(withCrashing, "my-etcd-1")
        .apply(withTurn, "my-etcd-1", NEWER).snapshot,
      says: gives("my-etcd-1", "3.6.18", "3.6.16"),
    },
    {
      name: "keeps the last working template as the previous one",
      given: withPeer(down, "my-etcd-1", { spec: { previous: { ...OLD, version: "3.6.15" } } }),
      says: gives("my-etcd-1", "3.6.17", "3.6.15"),
    },
    {
      name: "keeps the last working template as the previous one when the pod is missing",
      given: begin(down)
        .apply(withPeer, "my-etcd-1", { spec: { previous: { ...OLD, version: "3.6.15" } } })
        .apply(withoutPod, "my-etcd-1")
        .apply(sickFor, "my-etcd-1", 10_000).snapshot,
      says: gives("my-etcd-1", "3.6.17", "3.6.15"),
    },
    {
      name: "records no previous template for a rollback",
      given: withPeer(ran(withCrashing(stopped, "my-etcd-2")), "my-etcd-2", { spec: { previous: undefined } }),
      says: { ...gives("my-etcd-2", "3.6.16"), lacks: PREVIOUS },
    },
  ],
  "restart-stopped": [
    {
      name: "leaves restarts to people with OnDelete",
      given: begin(ran(wanting(NEWER, { spec: ON_DELETE, down: ["my-etcd-1"] })))
        .apply(withCrashing, "my-etcd-1")
        .apply(withTurn, "my-etcd-1").snapshot,
      says: undefined,
    },
    {
      name: "restarts a member for a rollback with OnDelete",
      given: begin(asked)
        .apply(withCanary, "my-etcd-2")
        .apply(withTurn, "my-etcd-2", OLD)
        .apply(withStop, "my-etcd-2")
        .apply(withCrashing, "my-etcd-2").snapshot,
      says: restarts("my-etcd-2"),
    },
    { name: "does nothing for a running member", given: turned, says: undefined },
    { name: "does nothing without a pod", given: withoutPod(turned, "my-etcd-2"), says: undefined },
    { name: "restarts a pod that is down", given: withTurn(down, "my-etcd-1"), says: restarts("my-etcd-1") },
    {
      name: "restarts a pod that is stuck",
      given: begin(down).apply(withTurn, "my-etcd-1").apply(withPod, "my-etcd-1", { status: STARTING }).snapshot,
      says: restarts("my-etcd-1"),
    },
    {
      name: "keeps a pod with the current template",
      given: withCrashing(canary, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "keeps a stuck pod with the current template",
      given: withPod(canary, "my-etcd-2", { status: STARTING }),
      says: undefined,
    },
    {
      name: "waits until the ReplicaSet has the template",
      given: withTurn(down, "my-etcd-1", NEWER, { isTakenOver: false }),
      says: undefined,
    },
    {
      name: "waits until the EtcdPeer has the wanted template",
      given: withTurn(down, "my-etcd-1", { ...OLD, version: "3.6.18" }),
      says: undefined,
    },
    { name: "restarts the only member when it hangs", given: hanging(600_000), says: restarts("my-etcd-0") },
    { name: "does not restart the only member before its start timeout", given: hanging(599_999), says: undefined },
    {
      name: "does not restart the only member while its pod is younger than the start timeout",
      given: withPod(hanging(600_000), "my-etcd-0", { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } }),
      says: undefined,
    },
    {
      name: "does not restart the only member while its pod is Ready",
      given: withPod(hanging(600_000), "my-etcd-0", { status: { conditions: [{ type: "Ready", status: "True" }] } }),
      says: undefined,
    },
    {
      name: "does not restart one of two members that hangs, because the other may need it",
      given: hanging(600_000, 2),
      says: undefined,
    },
    {
      name: "restarts the first member with a ReplicaSet that has the template",
      given: begin(wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] }))
        .apply(withCrashing, "my-etcd-1")
        .apply(withCrashing, "my-etcd-2")
        .apply(withTurn, "my-etcd-1", NEWER, { isTakenOver: false })
        .apply(withTurn, "my-etcd-2").snapshot,
      says: restarts("my-etcd-2"),
    },
  ],
  "restart-member": [
    { name: "leaves restarts to people with OnDelete", given: withTurn(asked, "my-etcd-2"), says: undefined },
    { name: "leaves several pending restarts to people with OnDelete", given: withTurns(asked), says: undefined },
    {
      name: "restarts a member for a rollback with OnDelete",
      given: begin(asked)
        .apply(madeFrom, "my-etcd-2", NEWER)
        .apply(withStop, "my-etcd-2")
        .apply(withTurn, "my-etcd-2", OLD).snapshot,
      says: {
        ...restarts("my-etcd-2"),
        because: "my-etcd-2 restarts with etcd 3.6.16, which is not what the spec asks for",
      },
    },
    {
      name: "starts with the last member after a change from OnDelete",
      given: withTurns(wanted),
      says: { ...restarts("my-etcd-2"), because: "my-etcd-2 restarts with etcd 3.6.17 as the spec asks" },
    },
    {
      name: "waits until the restarted member is Ready",
      given: begin(withTurns(wanted)).apply(madeFrom, "my-etcd-2", NEWER).apply(withPod, "my-etcd-2", NOT_READY)
        .snapshot,
      says: { next: "wait", because: /^my-etcd-1 restarts once my-etcd-2 has a Ready pod$/ },
    },
    {
      name: "prefers a member outside the quorum",
      given: withTurns(wanting(NEWER, { down: ["my-etcd-1"] })),
      says: restarts("my-etcd-1"),
    },
    {
      name: "restarts a member that is not Ready itself",
      given: withPod(turned, "my-etcd-2", NOT_READY),
      says: restarts("my-etcd-2"),
    },
    { name: "does nothing without a pending restart", given: wanted, says: undefined },
    { name: "restarts the member with a pending restart", given: turned, says: restarts("my-etcd-2") },
    {
      name: "waits until the ReplicaSet has the template",
      given: withTurn(wanted, "my-etcd-2", NEWER, { isTakenOver: false }),
      says: {
        next: "wait",
        because: "ReplicaSet my-etcd-2 does not have the new pod template of my-etcd-2 yet",
        warn: false,
      },
    },
    {
      name: "rechecks the ReplicaSet every 2 s at first",
      given: withUpdate(notTakenOver, { startTime: "2026-01-01T11:59:41Z" }),
      says: { next: "wait", recheckAfterMs: 2_000 },
    },
    {
      name: "rechecks the ReplicaSet without a recorded update",
      given: notTakenOver,
      says: { next: "wait", recheckAfterMs: 2_000 },
    },
    {
      name: "rechecks the ReplicaSet less often after 50 s",
      given: withUpdate(notTakenOver, { startTime: "2026-01-01T11:59:10Z" }),
      says: { next: "wait", recheckAfterMs: 5_000 },
    },
    {
      name: "rechecks the ReplicaSet every 10 s after an hour",
      given: withUpdate(notTakenOver, { startTime: "2026-01-01T11:00:00Z" }),
      says: { next: "wait", recheckAfterMs: 10_000 },
    },
    {
      name: "reports what blocks the ReplicaSet",
      given: withPeer(notTakenOver, "my-etcd-2", { status: say("replica-set: denied", "StepRefused", "11:50:01") }),
      says: {
        next: "wait",
        because: "ReplicaSet my-etcd-2 does not have the new pod template of my-etcd-2 yet: replica-set: denied",
        warn: false,
      },
    },
    {
      name: "warns when the ReplicaSet is blocked for the start timeout",
      given: withPeer(notTakenOver, "my-etcd-2", { status: say("replica-set: denied", "StepRefused", "11:50:00") }),
      says: { next: "wait", warn: true },
    },
    {
      name: "ignores other conditions of the EtcdPeer",
      given: withPeer(notTakenOver, "my-etcd-2", {
        status: {
          conditions: say("all is well", "StepRefused").conditions.map((each) => ({ ...each, type: "Other" })),
        },
      }),
      says: { next: "wait", because: / does not have the new pod template of \S+ yet$/ },
    },
    {
      name: "does not report a pending pod as the cause",
      given: withPeer(notTakenOver, "my-etcd-2", { status: say("no node") }),
      says: { next: "wait", because: / does not have the new pod template of \S+ yet$/, warn: false },
    },
    {
      name: "does not report an earlier failure of the EtcdPeer",
      given: withPeer(notTakenOver, "my-etcd-2", {
        status: {
          conditions: say("all is well", "MemberHealthy").conditions.map((each) => ({ ...each, status: "True" })),
        },
      }),
      says: { next: "wait", because: / does not have the new pod template of \S+ yet$/, warn: false },
    },
    {
      name: "does not wait for a member that an update may fix",
      given: unreadyFor(turned, "my-etcd-1", 600_000),
      says: restarts("my-etcd-2"),
    },
    {
      name: "waits for a member that an update may fix until the start timeout",
      given: unreadyFor(turned, "my-etcd-1", 599_999),
      says: { next: "wait", because: "my-etcd-2 restarts once my-etcd-1 has a Ready pod" },
    },
    {
      name: "waits for a member with an etcd container that is not ready",
      given: begin(turned)
        .apply(unreadyFor, "my-etcd-1", 600_000)
        .apply(withPod, "my-etcd-1", {
          status: { containerStatuses: [{ name: "etcd", ready: false, state: { running: {} } }] },
        }).snapshot,
      says: { next: "wait", because: "my-etcd-2 restarts once my-etcd-1 has a Ready pod" },
    },
    {
      name: "restarts a member that an update may fix before other members",
      given: unreadyFor(withTurns(wanted), "my-etcd-1", 600_000),
      says: restarts("my-etcd-1"),
    },
    {
      name: "does not wait in a rollback for a member that an update may fix",
      given: begin(wanted)
        .apply(madeFrom, "my-etcd-2", NEWER)
        .apply(withTurn, "my-etcd-2", OLD)
        .apply(withStop, "my-etcd-2")
        .apply(unreadyFor, "my-etcd-1", 600_000).snapshot,
      says: restarts("my-etcd-2"),
    },
    {
      name: "never restarts with a failed template",
      given: begin(turned)
        .apply(withStop, "my-etcd-1")
        .apply(withPeer, "my-etcd-2", { spec: { previous: undefined } }).snapshot,
      says: undefined,
    },
    {
      name: "waits until the PodDisruptionBudget is observed",
      given: { ...turned, budget: { ...turned.budget!, metadata: { ...turned.budget!.metadata, generation: 2 } } },
      says: { next: "wait", because: /PodDisruptionBudget blocks evictions/ },
    },
    {
      name: "does not wait for the ReplicaSet when members have to be added",
      given: withTurn(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-2", NEWER, { isTakenOver: false }),
      says: undefined,
    },
    {
      name: "restarts no member while an intent has to join",
      given: withArrival(turned, "my-etcd-3", "intended"),
      says: undefined,
    },
    {
      name: "restarts no member while its EtcdPeer has an outdated template",
      given: withTurn(wanted, "my-etcd-2", { ...OLD, version: "3.6.18" }),
      says: undefined,
    },
    { name: "does nothing after the restart", given: canary, says: undefined },
    {
      name: "does not delete a terminating pod again",
      given: withPod(turned, "my-etcd-2", { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } }),
      says: undefined,
    },
    {
      name: "skips a member without an EtcdPeer",
      given: withoutPeers(turned, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "waits for the third member when three are wanted",
      given: withTurn(wanting(NEWER, { replicas: 2, spec: { replicas: 3 } }), "my-etcd-1"),
      says: undefined,
    },
    {
      name: "restarts one of two when two are wanted",
      given: withTurn(wanting(NEWER, { replicas: 2 }), "my-etcd-1"),
      says: restarts("my-etcd-1"),
    },
    {
      name: "restarts one of three when five are wanted",
      given: withTurn(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-2"),
      says: restarts("my-etcd-2"),
    },
    {
      name: "moves the leadership before the leader restarts",
      given: withTurn(wanting(NEWER, { leader: "my-etcd-2" }), "my-etcd-2"),
      says: { step: { do: "moveLeader", from: "my-etcd-2", to: "my-etcd-0" } },
    },
    {
      name: "restarts a leader that does not answer",
      given: begin(wanting(NEWER, { leader: "my-etcd-2" }))
        .apply(withTurn, "my-etcd-2")
        .apply(unanswered, "my-etcd-2").snapshot,
      says: restarts("my-etcd-2"),
    },
    {
      name: "moves the leadership to a member with the wanted template",
      given: begin(wanted)
        .apply(withUpdated, "my-etcd-2")
        .apply(withTurn, "my-etcd-0")
        .apply(saying, "my-etcd-1", { raftAppliedIndex: 20 }).snapshot,
      says: { step: { do: "moveLeader", from: "my-etcd-0", to: "my-etcd-2" } },
    },
    {
      name: "moves the leadership to the most advanced of several updated members",
      given: begin(wanted)
        .apply(withUpdated, "my-etcd-1", "my-etcd-2")
        .apply(withTurn, "my-etcd-0")
        .apply(saying, "my-etcd-2", {
          raftAppliedIndex: 20,
        }).snapshot,
      says: { step: { do: "moveLeader", to: "my-etcd-2" } },
    },
    {
      name: "moves the leadership to the lowest ordinal of equally advanced members",
      given: begin(wanted).apply(withUpdated, "my-etcd-1", "my-etcd-2").apply(withTurn, "my-etcd-0").snapshot,
      says: { step: { do: "moveLeader", to: "my-etcd-1" } },
    },
    {
      name: "restarts the only member without moving the leadership",
      given: withTurn(wanting(NEWER, { replicas: 1 }), "my-etcd-0"),
      says: restarts("my-etcd-0"),
    },
    {
      name: "restarts the leader last",
      given: begin(wanting(NEWER, { leader: "my-etcd-2" }))
        .apply(withTurn, "my-etcd-2")
        .apply(withTurn, "my-etcd-0").snapshot,
      says: restarts("my-etcd-0"),
    },
  ],
  "update-member": [
    { name: "does nothing without a change", given: settled, says: undefined },
    {
      name: "updates the last member first, and records its previous template",
      given: wanted,
      says: {
        ...gives("my-etcd-2", "3.6.17", "3.6.16"),
        because: "my-etcd-2 is updated next: it gets etcd 3.6.17 instead of 3.6.16; 2 more members follow",
      },
    },
    {
      name: "names the changed fields of the same release",
      given: wanting({
        ...OLD,
        image: { repository: "example.test/other" },
        podTemplate: withResources({ limits: { cpu: "1" } }),
        etcd: { extraArgs: { "max-txn-ops": "5" } },
      }),
      says: {
        because: "my-etcd-2 is updated next: it gets its new image and etcd and podTemplate; 2 more members follow",
      },
    },
    {
      name: "names changed trust as tls",
      given: withMade(secured(), { clientCA: { next: NEXT }, server: { trust: bundle(OWN, NEXT) } }),
      says: { because: "my-etcd-2 is updated next: it gets its new tls; 2 more members follow" },
    },
    {
      name: "cancels a pending restart when the spec is refused",
      given: begin(wanted).apply(withTurn, "my-etcd-2").apply(refusing).snapshot,
      says: {
        ...gives("my-etcd-2", "3.6.16"),
        because: "my-etcd-2 does not restart with its outdated template, and keeps the one that it runs: etcd 3.6.16",
      },
    },
    {
      name: "updates the next lower ordinal after the last member",
      given: withUpdated(wanted, "my-etcd-2"),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "updates the leader last",
      given: withUpdated(wanting(NEWER, { leader: "my-etcd-1" }), "my-etcd-2"),
      says: gives("my-etcd-0", "3.6.17", "3.6.16"),
    },
    {
      name: "ignores a leader that was added by hand",
      given: withMember(wanting(NEWER), THEIRS),
      says: gives("my-etcd-2", "3.6.17", "3.6.16"),
    },
    {
      name: "skips a member without an EtcdPeer",
      given: withoutPeers(wanted, "my-etcd-2"),
      says: gives("my-etcd-1", "3.6.17"),
    },
    {
      name: "gives no partial update while data is unconverted",
      given: wanting({ ...BEFORE, podTemplate: withResources({ limits: { cpu: "1" } }) }),
      says: undefined,
    },
    {
      name: "waits for an unfit member, rechecking often",
      given: canary,
      says: { next: "wait", because: "the update of my-etcd-1 waits until my-etcd-2 is healthy", recheckAfterMs: 500 },
    },
    {
      name: "rechecks an unfit member less often later",
      given: silentFor(canary, "my-etcd-2", 599_999),
      says: { next: "wait", recheckAfterMs: 10_000, warn: false },
    },
    {
      name: "warns about a member that is unfit for longer than the timeout",
      given: withUpdate(unready(600_000), { proven: true }),
      says: {
        next: "wait",
        because: "the update of my-etcd-1 waits until my-etcd-2 has a Ready pod",
        recheckAfterMs: 10_000,
        warn: true,
      },
    },
    {
      name: "replaces the template of a pending restart first, and keeps its previous one",
      given: withTurn(wanting(NEWEST), "my-etcd-0", NEWER),
      says: gives("my-etcd-0", "3.6.18", "3.6.16"),
    },
    {
      name: "keeps the previous template that is already recorded",
      given: withPeer(wanted, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.15" } } }),
      says: gives("my-etcd-2", "3.6.17", "3.6.15"),
    },
    {
      name: "waits until the next member is fit itself",
      given: withPod(wanted, "my-etcd-2", NOT_READY),
      says: { next: "wait", because: "the update of my-etcd-2 waits until my-etcd-2 has a Ready pod" },
    },
    {
      name: "updates a member that has lacked only readiness for the start timeout",
      given: unreadyFor(wanted, "my-etcd-2", 600_000),
      says: gives("my-etcd-2", "3.6.17", "3.6.16"),
    },
    {
      name: "updates a member that has long lacked only readiness before all others",
      given: unreadyFor(wanted, "my-etcd-0", 600_000),
      says: gives("my-etcd-0", "3.6.17", "3.6.16"),
    },
    {
      name: "updates the last member first when all members have long lacked only readiness",
      given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce((given, name) => unreadyFor(given, name, 600_000), wanted),
      says: gives("my-etcd-2", "3.6.17", "3.6.16"),
    },
    {
      name: "waits for an updated member that is not Ready",
      given: begin(wanted)
        .apply(withUpdated, "my-etcd-2")
        .apply(withUpdate, { proven: true })
        .apply(unreadyFor, "my-etcd-2", 600_000).snapshot,
      says: { next: "wait", because: "the update of my-etcd-1 waits until my-etcd-2 has a Ready pod" },
    },
    {
      name: "updates a recently restarted member that is not Ready first",
      given: begin(wanting(NEWEST))
        .apply(withTurn, "my-etcd-1", NEWER)
        .apply(madeFrom, "my-etcd-1", NEWER)
        .apply(withPod, "my-etcd-1", {
          ...NOT_READY,
          metadata: { creationTimestamp: "2026-01-01T11:50:01Z" },
        }).snapshot,
      says: gives("my-etcd-1", "3.6.18", "3.6.16"),
    },
    {
      name: "gives a recently restarted Ready member no precedence",
      given: begin(wanting(NEWEST))
        .apply(withTurn, "my-etcd-1", NEWER)
        .apply(madeFrom, "my-etcd-1", NEWER)
        .apply(withPod, "my-etcd-1", {
          metadata: { creationTimestamp: "2026-01-01T11:50:01Z" },
        }).snapshot,
      says: gives("my-etcd-2", "3.6.18", "3.6.16"),
    },
    {
      name: "updates a recently restarted member outside the quorum first, and keeps its working template",
      given: tried,
      says: gives("my-etcd-1", "3.6.18", "3.6.16"),
    },
    {
      name: "updates a recently restarted member outside the quorum before an outdated pending restart",
      given: withTurn(tried, "my-etcd-2", NEWER),
      says: gives("my-etcd-1", "3.6.18", "3.6.16"),
    },
    {
      name: "updates a member that is unfit for a minute with its old template, also with a long start timeout",
      given: {
        ...begin(tried)
          .apply(withPeer, "my-etcd-1", { spec: { previous: undefined } })
          .apply(withHistory, "my-etcd-1", { ...ALWAYS_WELL, unfitForMs: 60_000 }).snapshot,
        memberTimeoutMs: 86_400_000,
      },
      says: gives("my-etcd-1", "3.6.18", "3.6.17"),
    },
    {
      name: "updates a member that is unfit for a tenth of a short start timeout with its old template",
      given: {
        ...begin(tried)
          .apply(withPeer, "my-etcd-1", { spec: { previous: undefined } })
          .apply(withPod, "my-etcd-1", {
            metadata: { creationTimestamp: "2026-01-01T11:59:00Z" },
          })
          .apply(withHistory, "my-etcd-1", { ...ALWAYS_WELL, unfitForMs: 10_000 }).snapshot,
        memberTimeoutMs: 100_000,
      },
      says: gives("my-etcd-1", "3.6.18", "3.6.17"),
    },
    {
      name: "gives a member time to start before the next TLS stage",
      given: comingUp(trusting),
      says: { next: "wait", because: "the update of my-etcd-2 waits until my-etcd-2 is healthy" },
    },
    {
      name: "updates a member to the next TLS stage after it has been starting for 30 s",
      given: comingUp(trusting, "2026-01-01T11:59:30Z"),
      says: {
        step: { do: "replacePeer" },
        because: "my-etcd-2 is updated next: it gets its new tls; 2 more members follow",
      },
    },
    {
      name: "updates a starting member to the next TLS stage when its container has ended",
      given: begin(trusting).apply(comingUp).apply(withCrashing, "my-etcd-2").snapshot,
      says: { step: { do: "replacePeer" } },
    },
    {
      name: "waits for a member without a pod before the next TLS stage",
      given: begin(trusting).apply(comingUp).apply(withoutPod, "my-etcd-2").snapshot,
      says: { next: "wait", because: "the update of my-etcd-2 waits until my-etcd-2 is healthy" },
    },
    {
      name: "updates a starting member when the release changes",
      given: comingUp(wanting(NEWEST)),
      says: gives("my-etcd-2", "3.6.18"),
    },
    {
      name: "updates a starting member when TLS and podTemplate change",
      given: begin(trusting)
        .apply(wantingToo, { podTemplate: withResources({ limits: { cpu: "1" } }) })
        .apply(comingUp).snapshot,
      says: { because: "my-etcd-2 is updated next: it gets its new tls and podTemplate; 2 more members follow" },
    },
    {
      name: "updates a starting member when TLS and the release change",
      given: begin(trusting).apply(wantingToo, { version: NEWEST.version }).apply(comingUp).snapshot,
      says: { because: "my-etcd-2 is updated next: it gets etcd 3.6.18 instead of 3.6.16; 2 more members follow" },
    },
    {
      name: "waits while another member is unfit",
      given: withPod(tried, "my-etcd-0", NOT_READY),
      says: { next: "wait", because: "the update of my-etcd-1 waits until my-etcd-0 has a Ready pod" },
    },
    {
      name: "waits for a member that restarted long ago and left the quorum",
      given: withPod(tried, "my-etcd-1", { metadata: { creationTimestamp: "2026-01-01T11:50:00Z" } }),
      says: { next: "wait", because: "the update of my-etcd-2 waits until my-etcd-1 is healthy" },
    },
    {
      name: "waits for a member that is unfit for less than a minute with its old template",
      given: begin(tried)
        .apply(withPeer, "my-etcd-1", { spec: { previous: undefined } })
        .apply(withPeer, "my-etcd-0", {
          spec: { previous: NEWER },
        })
        .apply(withHistory, "my-etcd-1", { ...ALWAYS_WELL, unfitForMs: 59_999 }).snapshot,
      says: { next: "wait", because: "the update of my-etcd-2 waits until my-etcd-1 is healthy" },
    },
    {
      name: "updates a member that is unfit for a minute with its old template",
      given: begin(tried)
        .apply(withPeer, "my-etcd-1", { spec: { previous: undefined } })
        .apply(withHistory, "my-etcd-1", { ...ALWAYS_WELL, unfitForMs: 60_000 }).snapshot,
      says: { next: "step", step: { do: "replacePeer", live: { metadata: { name: "my-etcd-1" } } } },
    },
    {
      name: "reports with OnDelete that the next pod gets the new template",
      given: asked,
      says: {
        ...gives("my-etcd-2", "3.6.17", "3.6.16"),
        because:
          "the next pod of my-etcd-2 gets etcd 3.6.17 instead of 3.6.16 once its current pod is deleted; 2 more members follow",
      },
    },
    {
      name: "does not wait for pending restarts with OnDelete",
      given: withTurn(asked, "my-etcd-2"),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "names the pods that people have to delete",
      given: withTurns(asked),
      says: {
        next: "wait",
        because:
          "my-etcd-0, my-etcd-1, my-etcd-2 get what the spec asks for when their pods are deleted: spec.updateStrategy.type is OnDelete",
        recheckAfterMs: 10_000,
      },
    },
    {
      name: "names the only pod that people have to delete",
      given: begin(asked).apply(withUpdated, "my-etcd-1", "my-etcd-2").apply(withTurn, "my-etcd-0").snapshot,
      says: { next: "wait", because: /^my-etcd-0 gets what the spec asks for when its pod is deleted: / },
    },
    {
      name: "names no pods to delete while a member is down",
      given: withTurns(wanting(NEWER, { spec: ON_DELETE, down: ["my-etcd-1"] })),
      says: undefined,
    },
    {
      name: "cancels a pending restart while a member is down",
      given: withTurn(cluster({ down: ["my-etcd-1"] }), "my-etcd-0", NEWER),
      says: gives("my-etcd-0", "3.6.16"),
    },
    {
      name: "cancels pending restarts after the update was stopped",
      given: begin(withTurns(asked)).apply(madeFrom, "my-etcd-2", NEWER).apply(withStop, "my-etcd-2").snapshot,
      says: gives("my-etcd-1", "3.6.16"),
    },
    {
      name: "updates no member after the update was stopped",
      given: withStop(wanted, "my-etcd-2"),
      says: undefined,
    },
  ],
};

/** The cluster without this member among its initial ones. */
function withoutFounder({ cluster: object }: ClusterSnapshot, name: string): ClusterSnapshot["cluster"] {
  const identity = object.status!.identity!;
  const initialMembers = identity.initialMembers.filter((member) => member.name !== name);
  return { ...object, status: { ...object.status, identity: { ...identity, initialMembers } } };
}

for (const [rule, said] of Object.entries(cases)) {
  describe(`the rule ${rule}`, () => {
    for (const { name, given, says } of said) {
      test(name, () => {
        const opinion = CLUSTER_RULES.find((each) => each.name === rule)!.decide(given);
        if (says === undefined) return expect(opinion).toBeUndefined();
        const { because, lacks, ...rest } = says as { because?: string | RegExp; lacks?: string };
        expect(opinion).toMatchObject(rest);
        if (lacks !== undefined) expect(opinion).not.toHaveProperty(lacks);
        if (because !== undefined) expect(opinion).toMatchObject({ because: expect.stringMatching(because) });
      });
    }
  });
}
