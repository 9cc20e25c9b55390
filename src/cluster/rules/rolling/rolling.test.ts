import { describe, expect, test } from "vitest";
import { templateIn } from "#api/revision.ts";
import { unknown } from "#base/observed.ts";
import { memberNamed } from "#cluster/members.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { ALWAYS_WELL, changedPeer, cluster, sickFor, unpublished, withArrival, withoutMember } from "#kit/cluster.ts";
import { THEIRS, withMember, withoutClaims, withoutPeers, withStraggler } from "#kit/cluster-changes.ts";
import {
  answering,
  BEFORE,
  downgrading,
  madeFrom,
  NEWER,
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
  withRestarted,
  withRunning,
  withStop,
  withTurn,
  withUpdate,
  withUpdated,
} from "#kit/cluster-rolling.ts";
import { withSleep } from "#kit/cluster-sleep.ts";
import { HAS } from "#kit/cluster-switch.ts";
import { bundle, NEXT, OWN, secured, withMade } from "#kit/cluster-tls.ts";
import { BOOTSTRAP } from "#kit/peer.ts";
import { withResources } from "#kit/pod-template.ts";

// What each rule says when it is asked alone: what other rules would have said before is no excuse.

interface Case {
  readonly name: string;
  readonly given: ClusterSnapshot;
  /** Part of what the rule says, and under `lacks` the path of what it does not say; `undefined`: nothing. */
  readonly says: object | undefined;
}

/** The snapshot in which the member had something else before. */
function hadBefore(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withPeer(snapshot, "my-etcd-1", { spec: { previous: { ...OLD, version: "3.6.15" } } });
}

/** A step that gives this version to a member. */
function gives(name: string, version: string, previous?: string): object {
  const spec = { version, ...(previous === undefined ? {} : { previous: { version: previous } }) };
  return { next: "step", step: { do: "replacePeer", live: { metadata: { name } }, peer: { spec } } };
}

const PREVIOUS = "step.peer.spec.previous";

/** The snapshot in which this process has found the member healthy, and not fit to be counted on for so long. */
function unfitFor(snapshot: ClusterSnapshot, name: string, ms: number): ClusterSnapshot {
  const { id } = memberNamed(snapshot, name)!;
  const history = { ...ALWAYS_WELL, unfitForMs: ms };
  return { ...snapshot, histories: new Map(snapshot.histories).set(id, history) };
}

/** The snapshot in which the member has lacked nothing but the readiness of its pod for so long. */
function unreadyFor(snapshot: ClusterSnapshot, name: string, ms: number): ClusterSnapshot {
  const unfit = unfitFor(withPod(snapshot, name, UNREADY_BESIDE), name, ms);
  const { id } = memberNamed(snapshot, name)!;
  return { ...unfit, histories: new Map(unfit.histories).set(id, { ...unfit.histories.get(id)!, unreadyForMs: ms }) };
}

/** The snapshot in which the member's pod was made half a minute ago. */
function remade(snapshot: ClusterSnapshot): ClusterSnapshot {
  return withPod(snapshot, "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:59:30Z" } });
}

/** The snapshot in which the member has been found unfit for so long with what is wanted. */
function triedFor(snapshot: ClusterSnapshot, name: string, ms: number): ClusterSnapshot {
  const { id } = memberNamed(snapshot, name)!;
  const histories = new Map(snapshot.histories).set(id, { ...snapshot.histories.get(id)!, triedForMs: ms });
  return { ...snapshot, histories };
}

/** The snapshot in which the member has had no pod for so long. */
function podlessFor(snapshot: ClusterSnapshot, ms: number): ClusterSnapshot {
  const { id } = memberNamed(snapshot, "my-etcd-2")!;
  const histories = new Map(snapshot.histories).set(id, { ...snapshot.histories.get(id)!, podlessForMs: ms });
  return { ...withoutPod(snapshot, "my-etcd-2"), histories };
}

function restarts(name: string): object {
  return { next: "step", step: { do: "restartPod", name, pod: { metadata: { name: `${name}-abcde` } } } };
}

const WOKEN = { since: "2026-01-01T11:30:00Z", wokenAt: "2026-01-01T11:59:00Z" };
const SLEPT_LONG_AGO = { ...WOKEN, wokenAt: "2026-01-01T11:50:00Z" };
const UNSCHEDULED = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes" }];

const NOT_READY = { status: { conditions: [{ type: "Ready", status: "False" }] } };

const settled = cluster();
const asked = wanting(NEWER, { spec: ON_DELETE });
const each = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
/** All members have what is wanted on record, and run what they ran. */
const allTurned = (snapshot: ClusterSnapshot) => each.reduce((given, name) => withTurn(given, name), snapshot);
const notReady = { status: { conditions: [{ type: "Ready", status: "False" }] } };
const back = wanting(BEFORE);
const wanted = wanting(NEWER);
const turned = withTurn(wanted, "my-etcd-2");
const canary = withCanary(wanted, "my-etcd-2");
const late = silentFor(canary, "my-etcd-2", 600_000);
const ran = (snapshot: ClusterSnapshot) => recording(snapshot, OLD.version, OLD.version, OLD.version);
const down = withCrashing(ran(wanting(NEWER, { down: ["my-etcd-1"] })), "my-etcd-1");
/** Something else is wanted by now than what one has just restarted with; it does not come up. */
const NEWEST = { ...OLD, version: "3.6.18" };
const tried = withPod(
  madeFrom(withTurn(wanting(NEWEST, { down: ["my-etcd-1"] }), "my-etcd-1", NEWER), "my-etcd-1", NEWER),
  "my-etcd-1",
  { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } },
);
/** Members are to trust the authority that follows. */
const trusting = withMade(secured(), { clientCA: { next: NEXT }, server: { trust: bundle(OWN, NEXT) } });
/** One alone did not come up with what was wanted, and its authority has been followed by another one since. */
function followed(version: string, by = NEXT): ClusterSnapshot {
  const before = secured({ replicas: 1, down: ["my-etcd-0"] });
  const previous = templateIn(before.peers[0]!.spec);
  const trust = bundle(OWN, NEXT);
  const tls = { ...previous.tls, peer: { ...previous.tls!.peer!, trust, signer: by.id } };
  const template = { ...previous, version, tls };
  const asked = wantingToo(withMade(before, { peer: { by, trust } }), { version });
  const tried = madeFrom(withPeer(asked, "my-etcd-0", { spec: { ...template, previous } }), "my-etcd-0", template);
  return withStop(tried, "my-etcd-0");
}
const wantingToo = (snapshot: ClusterSnapshot, spec: object): ClusterSnapshot => ({
  ...snapshot,
  cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, ...spec } },
});
/** The last member has just been restarted with what was wanted before, and is not up yet. */
function comingUp(snapshot: ClusterSnapshot, sinceText = "2026-01-01T11:59:31Z"): ClusterSnapshot {
  const name = "my-etcd-2";
  const { previous: _, ...template } = snapshot.peers.find(({ metadata }) => metadata.name === name)!.spec;
  const restarted = withPeer(snapshot, name, { spec: { previous: templateIn(template) } });
  const endpoints = new Map(restarted.endpoints).set(name, unknown("connection refused"));
  return withPod({ ...restarted, endpoints }, name, { metadata: { creationTimestamp: sinceText }, status: STARTING });
}
/** The first member has been put back, and its pod from before hangs for so long. */
const hanging = (ms: number, replicas = 1) =>
  silentFor(
    withTurn(
      withStop(
        withCanary(withRunning(wanting(NEWER, { replicas, down: ["my-etcd-0"] }), "my-etcd-0"), "my-etcd-0"),
        "my-etcd-0",
      ),
      "my-etcd-0",
      OLD,
    ),
    "my-etcd-0",
    ms,
  );
/** The first one has restarted with what is wanted, and serves clients; its pod does not become ready for so long. */
const unready = (ms: number) =>
  unfitFor(withUpdate(withPod(withRestarted(wanted, "my-etcd-2"), "my-etcd-2", NOT_READY)), "my-etcd-2", ms);
const stopped = withStop(canary, "my-etcd-2");
/** What a member had before TLS was switched off. */
const LIMITED = withResources({ limits: { cpu: "1" } });
const HAD_TLS = { ...OLD, version: "3.6.15", tls: HAS.both };
/** The member waits for a restart with what was asked for before, and shows until then what nobody has any more. */
const leftShowing = (snapshot: ClusterSnapshot, name: string) =>
  withTurn(madeFrom(snapshot, name, HAD_TLS), name, { ...OLD, version: "3.6.15" }, { previous: HAD_TLS });
const ended = (containerStatuses: readonly object[]) => ({ status: { containerStatuses } });
/** The snapshot in which the container of the first one has ended with these words. */
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

/** What is wanted has been asked for since then, and the data of one member has yet to be converted. */
const converting = (since: string) => withUpdate(downgrading(downgrading(back), ["my-etcd-1"], "3.6.0"), { since });

const cases: Readonly<Record<string, readonly Case[]>> = {
  "no-version-path": [
    { name: "a patch back is a way", given: cluster({ spec: { version: "3.6.1" } }), says: undefined },
    { name: "a minor back is one, too", given: cluster({ spec: { version: "3.5.35" } }), says: undefined },
    {
      name: "it says why there is no way, and what it is about",
      given: cluster({ spec: { version: "3.4.1" } }),
      says: {
        next: "remark",
        because:
          "spec.version is refused: from 3.6.16 to 3.4.1 goes back by more than one minor version; go to 3.5 first; it is 3.4.1, and the cluster runs 3.6.16",
      },
    },
  ],
  "enable-downgrade": [
    { name: "what members run is no way back", given: settled, says: undefined },
    {
      name: "it asks etcd for the minor before",
      given: back,
      says: {
        next: "step",
        because: "members can go back to etcd 3.5 once etcd itself does",
        step: { do: "enableDowngrade", to: "3.5" },
      },
    },
    {
      name: "as long as a member runs that minor, nobody has to ask",
      given: answering(back, "3.5.30"),
      says: undefined,
    },
    {
      name: "what was tried in vain is not asked for again",
      given: withStop(back, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "what no member could run is not asked for",
      given: wanting({ ...BEFORE, etcd: { extraArgs: { "max-txn-op": "1" } } }),
      says: undefined,
    },
    {
      name: "who joins is waited for, whoever has added it",
      given: withArrival(back, "my-etcd-3", "started"),
      says: {
        next: "wait",
        because: "the cluster goes back to etcd 3.5 once my-etcd-3 has its vote",
        recheckAfterMs: 10_000,
      },
    },
    {
      name: "who is about to be added is, too",
      given: withArrival(back, "my-etcd-3", "intended"),
      says: {
        next: "wait",
        because: "the cluster goes back to etcd 3.5 once my-etcd-3 has its vote",
        recheckAfterMs: 10_000,
      },
    },
    {
      name: "who has lacked only what is beside etcd for long is not: the way back may be what mends it",
      given: unreadyFor(back, "my-etcd-1", 600_000),
      says: { next: "step", step: { do: "enableDowngrade", to: "3.5" } },
    },
    {
      name: "who is not ready is waited for",
      given: unfitFor(withPod(back, "my-etcd-1", NOT_READY), "my-etcd-1", 20_000),
      says: {
        next: "wait",
        because: "the cluster goes back to etcd 3.5 once my-etcd-1 is ready by the kubelet's word",
        recheckAfterMs: 2_000,
        warn: false,
      },
    },
    {
      name: "who has just restarted is looked at again soon",
      given: unfitFor(withPod(back, "my-etcd-1", NOT_READY), "my-etcd-1", 0),
      says: { next: "wait", recheckAfterMs: 500 },
    },
    {
      name: "who is not for long is told to people",
      given: unfitFor(withPod(back, "my-etcd-1", NOT_READY), "my-etcd-1", 600_000),
      says: { next: "wait", warn: true },
    },
    {
      name: "it waits for data that is not converted, and says whose",
      given: downgrading(downgrading(back), ["my-etcd-1"], "3.6.0"),
      says: {
        next: "wait",
        because:
          "members go back to etcd 3.5 when their data has been converted: my-etcd-1 has its data in the format of 3.6.0",
        recheckAfterMs: 500,
        warn: false,
      },
    },
    {
      name: "at first it looks often",
      given: converting("2026-01-01T12:00:00Z"),
      says: { next: "wait", recheckAfterMs: 500, warn: false },
    },
    {
      name: "later more rarely",
      given: converting("2026-01-01T11:59:40Z"),
      says: { next: "wait", recheckAfterMs: 2_000, warn: false },
    },
    {
      name: "people are told when it takes long",
      given: converting("2026-01-01T11:50:00Z"),
      says: { next: "wait", recheckAfterMs: 10_000, warn: true },
    },
    {
      name: "not before, and a clock that is behind changes nothing",
      given: converting("2026-01-01T12:09:59Z"),
      says: { next: "wait", warn: false },
    },
    {
      name: "an edit from before tells nothing",
      given: withUpdate(converting("2026-01-01T11:50:00Z"), { revision: "0", since: "2026-01-01T11:00:00Z" }),
      says: { next: "wait", recheckAfterMs: 500, warn: false },
    },
    { name: "it is done when all of it is", given: downgrading(back), says: undefined },
    {
      name: "a downgrade that leads elsewhere is cancelled first",
      given: saying(back, "my-etcd-0", { downgradeTo: "3.4.0" }),
      says: undefined,
    },
  ],
  "cancel-downgrade": [
    { name: "there is none", given: settled, says: undefined },
    { name: "what the spec asks for goes on", given: downgrading(back), says: undefined },
    {
      name: "what it does not ask for is over, if only one member tells of it",
      given: downgrading(settled, ["my-etcd-2"]),
      says: {
        next: "step",
        because: "the downgrade to etcd 3.5 is cancelled: spec.version is 3.6.16",
        step: { do: "cancelDowngrade", to: "3.5" },
      },
    },
    {
      name: "who says so without a leader may be wrong",
      given: saying(downgrading(settled, ["my-etcd-2"]), "my-etcd-2", { leaderId: undefined }),
      says: undefined,
    },
    {
      name: "what cannot be read is left alone",
      given: saying(settled, "my-etcd-2", { downgradeTo: "there" }),
      says: undefined,
    },
    {
      name: "a version that is refused changes nothing",
      given: downgrading(cluster({ spec: { version: "3.9.0" } })),
      says: undefined,
    },
    {
      name: "nor does a flag that is",
      given: downgrading(cluster({ spec: { etcd: { extraArgs: { "max-txn-op": "1" } } } })),
      says: undefined,
    },
    {
      name: "nobody could join",
      given: downgrading(withArrival(back, "my-etcd-3", "added")),
      says: {
        next: "step",
        because: "the downgrade to etcd 3.5 is cancelled: etcd lets nobody join meanwhile, and my-etcd-3 is to",
      },
    },
    {
      name: "that is true of who is about to be added, too",
      given: downgrading(withArrival(back, "my-etcd-3", "intended")),
      says: { next: "step", because: /and my-etcd-3 is to$/ },
    },
    {
      name: "and whatever else is refused",
      given: downgrading(withArrival(cluster({ spec: { version: "3.9.0" } }), "my-etcd-3", "added")),
      says: { next: "step", because: /and my-etcd-3 is to$/ },
    },
  ],
  "refused-spec": [
    { name: "what members can run is none of its business", given: cluster(), says: undefined },
    {
      name: "nothing is made from a template that touches what is the operator's own",
      given: cluster({ stage: "new", spec: { podTemplate: { spec: { hostNetwork: true } } } }),
      says: {
        next: "wait",
        because:
          "spec.podTemplate.spec.hostNetwork is true; it must be false or left out: members on one node would take each other's ports",
      },
    },
    {
      name: "what is not of the right shape is told as that",
      given: cluster({ spec: { etcd: { extraArgs: { "max-txn-ops": 5 as never } } } }),
      says: { next: "remark", because: "spec.etcd.extraArgs.max-txn-ops is 5; it must be a text" },
    },
    {
      name: "members that run keep what they have, and go on",
      given: cluster({ spec: { etcd: { extraArgs: { "max-txn-op": "1" } } } }),
      says: {
        next: "remark",
        because: 'spec.etcd.extraArgs: "max-txn-op" is not a flag of etcd 3.6; did you mean max-txn-ops?',
      },
    },
    {
      name: "flags are judged by the release that members would run: they cannot go to this one",
      given: cluster({ spec: { version: "3.8.0", etcd: { extraArgs: { "watch-progress-notify-interval": "10m" } } } }),
      says: undefined,
    },
  ],
  "forget-previous": [
    {
      name: "a member that is well with what it got has nothing to go back to",
      given: hadBefore(cluster()),
      says: {
        ...gives("my-etcd-1", OLD.version),
        lacks: PREVIOUS,
        because: "my-etcd-1 is well with what it got, and does not go back",
      },
    },
    { name: "nobody is asked about who has nothing", given: cluster(), says: undefined },
    { name: "not before it has restarted", given: withTurn(wanting(NEWER), "my-etcd-1"), says: undefined },
    { name: "not while it is not fit", given: withPod(hadBefore(cluster()), "my-etcd-1", NOT_READY), says: undefined },
    {
      name: "not while it does not answer",
      given: hadBefore(cluster({ down: ["my-etcd-1"] })),
      says: undefined,
    },
    {
      name: "not before it is on record that somebody is well with the update",
      given: hadBefore(withUpdate(withUpdated(wanting(NEWER), "my-etcd-1"))),
      says: undefined,
    },
    {
      name: "and then it is",
      given: hadBefore(withUpdate(withUpdated(wanting(NEWER), "my-etcd-1"), { proven: true })),
      says: { ...gives("my-etcd-1", NEWER.version), lacks: PREVIOUS },
    },
    {
      name: "it is well with what was wanted before another update began",
      given: hadBefore(withUpdate(wanting(NEWER))),
      says: { ...gives("my-etcd-1", OLD.version), lacks: PREVIOUS },
    },
    {
      name: "one that is no member has no data to go back with",
      given: hadBefore(withoutMember(cluster(), "my-etcd-1")),
      says: undefined,
    },
  ],
  "stop-update": [
    { name: "nobody has restarted yet", given: turned, says: undefined },
    { name: "one member is given time", given: silentFor(canary, "my-etcd-2", 599_999), says: undefined },
    {
      name: "then the update is stopped, and why",
      given: late,
      says: {
        because:
          "my-etcd-2 did not become healthy and ready within 600 s of its restart: it has no running pod; it is put back",
        step: { do: "stopUpdate", name: "my-etcd-2", message: "it has no running pod" },
      },
    },
    { name: "it is stopped once", given: withStop(late, "my-etcd-2"), says: undefined },
    {
      name: "who has lost its claim says nothing of what it got",
      given: withoutClaims(late, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "and hides nobody else who does not come up",
      given: withoutClaims(withCanary(late, "my-etcd-1"), "my-etcd-1"),
      says: { step: { do: "stopUpdate", name: "my-etcd-2" } },
    },
    {
      name: "time before the update does not count",
      given: withUpdate(late, { since: "2026-01-01T11:50:01Z" }),
      says: undefined,
    },
    {
      name: "nor does time before its pod was made, whoever restarted it",
      given: withPod(late, "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } }),
      says: undefined,
    },
    {
      name: "but all of that in which it had what is wanted, whatever pods it was in",
      given: triedFor(remade(late), "my-etcd-2", 600_000),
      says: { step: { do: "stopUpdate", name: "my-etcd-2" } },
    },
    {
      name: "which is as long as for one whose pod stays",
      given: triedFor(remade(late), "my-etcd-2", 599_999),
      says: undefined,
    },
    {
      name: "all of the time does",
      given: withUpdate(late, { since: "2026-01-01T11:50:00Z" }),
      says: { next: "step" },
    },
    {
      name: "a clock that is behind changes nothing",
      given: withUpdate(late, { since: "2026-01-01T12:09:59Z" }),
      says: undefined,
    },
    {
      name: "one that is far behind does not stop time",
      given: withUpdate(late, { since: "2026-01-01T12:10:00Z" }),
      says: { next: "step" },
    },
    {
      name: "that somebody has been well with it stands on record",
      given: withUpdate(late, { proven: true }),
      says: undefined,
    },
    {
      name: "whom the kubelet calls ready is well, and only the operator cannot see it",
      given: withPod(late, "my-etcd-2", { status: { conditions: [{ type: "Ready", status: "True" }] } }),
      says: undefined,
    },
    {
      name: "no pod, and not for long",
      given: withoutPod(silentFor(canary, "my-etcd-2", 599_999), "my-etcd-2"),
      says: undefined,
    },
    {
      name: "no pod at all",
      given: podlessFor(late, 600_000),
      says: { step: { message: "its pod is not created" } },
    },
    {
      name: "no pod for almost as long as it may take, and what was amiss before its restart does not count",
      given: podlessFor(late, 599_999),
      says: undefined,
    },
    {
      name: "nor does what was tried before its pod went, which may be something else",
      given: triedFor(podlessFor(late, 10_000), "my-etcd-2", 600_000),
      says: undefined,
    },
    {
      name: "no pod for all of the time, and the update has begun later",
      given: withUpdate(podlessFor(late, 600_000), { since: "2026-01-01T11:50:01Z" }),
      says: undefined,
    },
    {
      name: "no pod, and somebody knows why",
      given: withPeer(podlessFor(late, 600_000), "my-etcd-2", { status: say("exceeded quota: few") }),
      says: { step: { message: "exceeded quota: few" } },
    },
    {
      name: "who has a pod is not asked for why it has none",
      given: withPeer(late, "my-etcd-2", { status: say("exceeded quota: few") }),
      says: { step: { message: "it has no running pod" } },
    },
    {
      name: "a container that has ended, with its last words",
      given: withWords(late, "unknown flag"),
      says: {
        step: {
          message:
            "container etcd ended: no reason given with exit code 1 (unknown flag); its last words: unknown flag",
        },
      },
    },
    {
      name: "a container that has ended without a word",
      given: withWords(late, ""),
      says: { step: { message: "container etcd ended: no reason given with exit code 1 ()" } },
    },
    {
      name: "the last of many words",
      given: withWords(late, `${"x".repeat(500)}${"y".repeat(499)}.`),
      says: { step: { message: expect.stringMatching(/its last words: y{499}\.$/) } },
    },
    {
      name: "a container that runs, and does not answer",
      given: { ...late, endpoints: new Map(late.endpoints).set("my-etcd-2", unknown("connection refused")) },
      says: { step: { message: "connection refused" } },
    },
    {
      name: "a member that answers, and stays far behind the others",
      given: withUpdate(
        unfitFor(
          saying(
            saying(withRestarted(wanted, "my-etcd-2"), "my-etcd-2", { raftIndex: 0, raftAppliedIndex: 0 }),
            "my-etcd-0",
            { raftIndex: 1_001 },
          ),
          "my-etcd-2",
          600_000,
        ),
      ),
      says: { step: { message: "it has not caught up" } },
    },
    { name: "a member that answers, and is not ready yet", given: unready(599_999), says: undefined },
    {
      name: "a member that answers, and never becomes ready",
      given: unready(600_000),
      says: { step: { message: "it answers, and is not ready by the kubelet's word" } },
    },
  ],
  "put-back": [
    { name: "no update was stopped", given: canary, says: undefined },
    {
      name: "who did not come up gets back what it ran before",
      given: stopped,
      says: {
        ...gives("my-etcd-2", "3.6.16"),
        because: "my-etcd-2 did not come up, and gets back what it ran before: etcd 3.6.16",
      },
    },
    {
      name: "what that was is written on its EtcdPeer, whatever the others run",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.15" } } }),
      says: gives("my-etcd-2", "3.6.15"),
    },
    {
      name: "when nothing is written there, it is what somebody runs who is well",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: undefined } }),
      says: {
        ...gives("my-etcd-2", "3.6.16"),
        because: "my-etcd-2 did not come up, and gets what others are well with: etcd 3.6.16",
      },
    },
    {
      name: "what somebody runs who is well, where a Secret that it had before is nobody's any more",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: HAD_TLS } }),
      says: { ...gives("my-etcd-2", "3.6.16"), lacks: "step.peer.spec.tls" },
    },
    {
      name: "where there is nothing else, it is told why not",
      given: withPeer(withStop(withCanary(wanting(NEWER, { replicas: 1 }), "my-etcd-0"), "my-etcd-0"), "my-etcd-0", {
        spec: { previous: HAD_TLS },
      }),
      says: {
        next: "remark",
        because:
          "my-etcd-0 did not come up, and gets back what it ran before: etcd 3.6.15; that is held back: Secret my-etcd-peer-tls is not known to be for EtcdClusters",
      },
    },
    {
      name: "where an authority has been followed by another one since, that as well, and whom the member has come to trust",
      given: followed(NEWER.version),
      says: {
        step: { peer: { spec: { version: "3.6.16", tls: { peer: { trust: bundle(OWN, NEXT) } } } } },
        because: "my-etcd-0 did not come up, and gets back what it ran before: etcd 3.6.16",
      },
    },
    {
      name: "while the one that is to follow has signed nothing, what it ran before, as it was",
      given: followed(NEWER.version, OWN),
      says: { step: { peer: { spec: { version: "3.6.16", tls: { peer: { trust: OWN.pem } } } } } },
    },
    {
      name: "who ran the same, and has only come to trust somebody since, gets back what it had, or it is told why not",
      given: followed(OLD.version),
      says: {
        next: "remark",
        because:
          "my-etcd-0 did not come up, and gets back what it ran before: etcd 3.6.16; that is held back: my-etcd-0 would not trust who has signed Secret my-etcd-peer-tls, which is in use",
      },
    },
    {
      name: "who has it back is left alone, and everybody learns why",
      given: withTurn(stopped, "my-etcd-2", OLD),
      says: {
        next: "remark",
        because:
          "the update has stopped, because my-etcd-2 did not come up: it ended; it is tried anew once the spec is changed",
      },
    },
    {
      name: "who waits for a restart with what was asked for before keeps what it runs, and is in nobody's way",
      given: withTurn(stopped, "my-etcd-0", { ...OLD, version: "3.6.15" }),
      says: gives("my-etcd-0", "3.6.16"),
    },
    {
      name: "unless a Secret that it shows is nobody's any more: it waits for nobody, and nobody for it",
      given: leftShowing(stopped, "my-etcd-0"),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "nor does that one get what others are well with: it did not fail",
      given: withTurn(leftShowing(stopped, "my-etcd-0"), "my-etcd-2", OLD),
      says: { next: "remark", because: /^the update has stopped, because my-etcd-2 did not come up/ },
    },
    {
      name: "another one that runs what was tried in vain waits until that one is back",
      given: withStop(withCanary(canary, "my-etcd-1"), "my-etcd-2"),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "and goes back, too, when that one is",
      given: withTurn(withStop(withCanary(canary, "my-etcd-1"), "my-etcd-2"), "my-etcd-2", OLD),
      says: {
        ...gives("my-etcd-1", "3.6.16"),
        because: "my-etcd-1 did not come up, and gets back what it ran before: etcd 3.6.16",
      },
    },
    {
      name: "who has never run was well with nothing, and gets what others are well with first",
      given: withPeer(
        withStop(
          withCanary(withStraggler(wanting(NEWER, { down: ["my-etcd-2"] }), { started: false }), "my-etcd-2"),
          "my-etcd-2",
        ),
        "my-etcd-2",
        { spec: { previous: { ...OLD, version: "3.6.15" } } },
      ),
      says: {
        ...gives("my-etcd-2", "3.6.16"),
        because: "my-etcd-2 did not come up, and gets what others are well with: etcd 3.6.16",
      },
    },
    {
      name: "unless nobody knows what it runs",
      given: withTurn(stopped, "my-etcd-0", { ...OLD, version: "3.6.15" }, { previous: { ...OLD, version: "3.6.14" } }),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "nor does what it runs change when it runs what was tried in vain",
      given: withTurn(
        madeFrom(stopped, "my-etcd-0", NEWER),
        "my-etcd-0",
        { ...OLD, version: "3.6.15" },
        { previous: NEWER },
      ),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "who is well at last keeps what it has",
      given: withStop(withUpdated(wanted, "my-etcd-2"), "my-etcd-2"),
      says: { next: "remark" },
    },
    {
      name: "who answers and never becomes ready gets back what it ran before",
      given: withStop(unready(600_000), "my-etcd-2"),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "who has been well with it keeps it, also when it is not for a moment",
      given: withUpdate(unready(600_000), { proven: true, stopped: { member: "my-etcd-2", message: "it ended" } }),
      says: { next: "remark" },
    },
    {
      name: "not when it takes no part any more",
      given: withUpdate(canary, { proven: true, stopped: { member: "my-etcd-2", message: "it ended" } }),
      says: gives("my-etcd-2", "3.6.16"),
    },
    {
      name: "who is gone needs nothing back",
      given: withoutPeers(stopped, "my-etcd-2"),
      says: { next: "remark" },
    },
    {
      name: "a stop is forgotten when something else is wanted",
      given: {
        ...stopped,
        cluster: { ...stopped.cluster, spec: { ...stopped.cluster.spec, version: "3.6.18" } },
      },
      says: undefined,
    },
  ],
  "renew-stopped": [
    { name: "everybody runs", given: wanted, says: undefined },
    {
      name: "who does not run gets what is wanted",
      given: down,
      says: {
        ...gives("my-etcd-1", "3.6.17", "3.6.16"),
        because: "my-etcd-1 does not do its work; its next pod is to be etcd 3.6.17 as the spec has it by now",
      },
    },
    { name: "who has it already needs nothing", given: withTurn(down, "my-etcd-1"), says: undefined },
    {
      name: "who has it already goes back when the spec is refused",
      given: refusing(withTurn(down, "my-etcd-1")),
      says: {
        ...gives("my-etcd-1", "3.6.16"),
        because: "my-etcd-1 does not do its work; its next pod is to be etcd 3.6.16, and not as the spec has it by now",
      },
    },
    {
      name: "of a release to which nobody can go, it gets the rest alone",
      given: withCrashing(
        ran(wanting({ ...OLD, version: "3.4.1", podTemplate: LIMITED }, { down: ["my-etcd-1"] })),
        "my-etcd-1",
      ),
      says: {
        ...gives("my-etcd-1", "3.6.16"),
        because: "my-etcd-1 does not do its work; its next pod is to be etcd 3.6.16, and not as the spec has it by now",
      },
    },
    {
      name: "who answers runs, whatever the kubelet says",
      given: withCrashing(wanted, "my-etcd-1"),
      says: undefined,
    },
    {
      name: "who takes part runs, too",
      given: withCrashing(unpublished(wanted, "my-etcd-1"), "my-etcd-1"),
      says: undefined,
    },
    {
      name: "an EtcdPeer that is going is left alone",
      given: changedPeer(down, "my-etcd-1", { deletionTimestamp: "2026-01-01T12:00:00Z" }),
      says: undefined,
    },
    {
      name: "who runs and gives no answer is not stopped",
      given: sickFor(withRunning(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1"), "my-etcd-1", 60_000),
      says: undefined,
    },
    {
      name: "a pod in which etcd waits for something else gets on with what is wanted",
      given: withPod(sickFor(ran(wanting(NEWER, { down: ["my-etcd-1"] })), "my-etcd-1", 10_000), "my-etcd-1", {
        status: STARTING,
      }),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "a pod that is not there may be on its way",
      given: sickFor(withoutPod(down, "my-etcd-1"), "my-etcd-1", 9_999),
      says: undefined,
    },
    {
      name: "not for ever",
      given: sickFor(withoutPod(down, "my-etcd-1"), "my-etcd-1", 10_000),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "a container that has ended just now is started again",
      given: withCrashing(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1", 9_999),
      says: undefined,
    },
    {
      name: "of those who slept nobody gets anything new for lack of a pod",
      given: sickFor(withoutPod(withSleep(down, WOKEN), "my-etcd-1"), "my-etcd-1", 60_000),
      says: undefined,
    },
    {
      name: "nor for waiting for a volume",
      given: withPod(sickFor(withSleep(down, WOKEN), "my-etcd-1", 60_000), "my-etcd-1", { status: STARTING }),
      says: undefined,
    },
    {
      name: "nor for waiting for a node",
      given: withPod(withSleep(down, WOKEN), "my-etcd-1", { status: { conditions: UNSCHEDULED } }),
      says: undefined,
    },
    {
      name: "but whoever of them cannot start with what it has",
      given: withSleep(down, WOKEN),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "and when they have had their time, as ever",
      given: sickFor(withoutPod(withSleep(down, SLEPT_LONG_AGO), "my-etcd-1"), "my-etcd-1", 60_000),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "who has never answered is tried, too",
      given: recording(down, OLD.version, undefined, OLD.version),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "of whom nobody knows what its pod was made from waits until that is noted",
      given: madeFrom(down, "my-etcd-1", undefined),
      says: undefined,
    },
    {
      name: "who is no member gets nothing",
      given: withCrashing(
        { ...wanted, members: unknown("no leader"), cluster: withoutFounder(wanted, "my-etcd-1") },
        "my-etcd-1",
      ),
      says: undefined,
    },
    {
      name: "while somebody is on trial, nobody else is tried",
      given: withCrashing(
        withCanary(wanting(NEWER, { replicas: 5, down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
        "my-etcd-1",
      ),
      says: undefined,
    },
    {
      name: "without a quorum all of them may as well be",
      given: withCrashing(
        withCanary(ran(wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] })), "my-etcd-2"),
        "my-etcd-1",
      ),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "nor an EtcdPeer that stands for another member of the name",
      given: withPeer(down, "my-etcd-1", { spec: { memberID: "abc" } }),
      says: undefined,
    },
    {
      name: "one that is told how to form a cluster, and may not any more, is not written",
      given: withPeer(down, "my-etcd-1", { spec: { bootstrap: BOOTSTRAP } }),
      says: undefined,
    },
    {
      name: "one that still may is, at once",
      given: withPod(withRunning(cluster({ stage: "starting", spec: NEWER }), "my-etcd-0"), "my-etcd-1", {
        status: STARTING,
      }),
      says: gives("my-etcd-1", "3.6.17"),
    },
    {
      name: "one that is told how to join a cluster is",
      given: withPeer(down, "my-etcd-1", { spec: { bootstrap: { ...BOOTSTRAP, initialClusterState: "Existing" } } }),
      says: gives("my-etcd-1", "3.6.17"),
    },
    {
      name: "when the update was stopped, nobody gets it",
      given: withStop(down, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "the next wish leaves on record what the member ran before the first one",
      given: withTurn(withCrashing(ran(wanting(NEWEST, { down: ["my-etcd-1"] })), "my-etcd-1"), "my-etcd-1", NEWER),
      says: gives("my-etcd-1", "3.6.18", "3.6.16"),
    },
    {
      name: "it goes back to what it was last well with, however long it has run something else in vain",
      given: withPeer(down, "my-etcd-1", { spec: { previous: { ...OLD, version: "3.6.15" } } }),
      says: gives("my-etcd-1", "3.6.17", "3.6.15"),
    },
    {
      name: "nor when nobody makes its pod, for which that may be the reason",
      given: sickFor(
        withoutPod(withPeer(down, "my-etcd-1", { spec: { previous: { ...OLD, version: "3.6.15" } } }), "my-etcd-1"),
        "my-etcd-1",
        10_000,
      ),
      says: gives("my-etcd-1", "3.6.17", "3.6.15"),
    },
    {
      name: "who goes back does not go forth again",
      given: withPeer(ran(withCrashing(stopped, "my-etcd-2")), "my-etcd-2", { spec: { previous: undefined } }),
      says: { ...gives("my-etcd-2", "3.6.16"), lacks: PREVIOUS },
    },
  ],
  "restart-stopped": [
    {
      name: "a person restarts members, whatever runs in their pods",
      given: withTurn(
        withCrashing(ran(wanting(NEWER, { spec: ON_DELETE, down: ["my-etcd-1"] })), "my-etcd-1"),
        "my-etcd-1",
      ),
      says: undefined,
    },
    {
      name: "who is put back goes, although a person restarts members",
      given: withCrashing(
        withStop(withTurn(withCanary(asked, "my-etcd-2"), "my-etcd-2", OLD), "my-etcd-2"),
        "my-etcd-2",
      ),
      says: restarts("my-etcd-2"),
    },
    { name: "who runs is left alone", given: turned, says: undefined },
    { name: "who has no pod is", given: withoutPod(turned, "my-etcd-2"), says: undefined },
    { name: "a pod in which nothing runs goes", given: withTurn(down, "my-etcd-1"), says: restarts("my-etcd-1") },
    {
      name: "so does one in which etcd waits for something else",
      given: withPod(withTurn(down, "my-etcd-1"), "my-etcd-1", { status: STARTING }),
      says: restarts("my-etcd-1"),
    },
    {
      name: "one that was made from what its EtcdPeer says stays",
      given: withCrashing(canary, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "also one in which etcd waits for something else, however long",
      given: withPod(canary, "my-etcd-2", { status: STARTING }),
      says: undefined,
    },
    {
      name: "one whose ReplicaSet would make the same again stays for now",
      given: withTurn(down, "my-etcd-1", NEWER, { isTakenOver: false }),
      says: undefined,
    },
    {
      name: "one whose member is to get something else first stays for now",
      given: withTurn(down, "my-etcd-1", { ...OLD, version: "3.6.18" }),
      says: undefined,
    },
    { name: "the only member, which hangs, restarts", given: hanging(600_000), says: restarts("my-etcd-0") },
    { name: "not before its time is over", given: hanging(599_999), says: undefined },
    {
      name: "nor before its pod has had that time",
      given: withPod(hanging(600_000), "my-etcd-0", { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } }),
      says: undefined,
    },
    {
      name: "nor when the kubelet calls it ready",
      given: withPod(hanging(600_000), "my-etcd-0", { status: { conditions: [{ type: "Ready", status: "True" }] } }),
      says: undefined,
    },
    {
      name: "nor one of two, who may be what the other one waits for",
      given: hanging(600_000, 2),
      says: undefined,
    },
    {
      name: "the first of whom that is true",
      given: withTurn(
        withTurn(
          withCrashing(withCrashing(wanting(NEWER, { down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-1"), "my-etcd-2"),
          "my-etcd-1",
          NEWER,
          { isTakenOver: false },
        ),
        "my-etcd-2",
      ),
      says: restarts("my-etcd-2"),
    },
  ],
  "restart-member": [
    { name: "a person restarts members", given: withTurn(asked, "my-etcd-2"), says: undefined },
    { name: "a person restarts members, all of which have their turns", given: allTurned(asked), says: undefined },
    {
      name: "who is put back restarts, although a person restarts members",
      given: withTurn(withStop(madeFrom(asked, "my-etcd-2", NEWER), "my-etcd-2"), "my-etcd-2", OLD),
      says: {
        ...restarts("my-etcd-2"),
        because: "my-etcd-2 restarts with etcd 3.6.16, and not as the spec has it by now",
      },
    },
    {
      name: "of all that have their turns the last, when people restart members no more",
      given: allTurned(wanted),
      says: { ...restarts("my-etcd-2"), because: "my-etcd-2 restarts with etcd 3.6.17 as the spec has it by now" },
    },
    {
      name: "then the next one, once this one is ready",
      given: withPod(madeFrom(allTurned(wanted), "my-etcd-2", NEWER), "my-etcd-2", notReady),
      says: { next: "wait", because: /^my-etcd-1 restarts once my-etcd-2 is ready by the kubelet's word$/ },
    },
    {
      name: "who takes no part comes first",
      given: allTurned(wanting(NEWER, { down: ["my-etcd-1"] })),
      says: restarts("my-etcd-1"),
    },
    {
      name: "who is not ready itself restarts",
      given: withPod(turned, "my-etcd-2", notReady),
      says: restarts("my-etcd-2"),
    },
    { name: "nobody has a turn", given: wanted, says: undefined },
    { name: "who has it restarts", given: turned, says: restarts("my-etcd-2") },
    {
      name: "once its ReplicaSet has taken over what it is to run",
      given: withTurn(wanted, "my-etcd-2", NEWER, { isTakenOver: false }),
      says: {
        next: "wait",
        because: "ReplicaSet my-etcd-2 has yet to take over what my-etcd-2 is to run next",
        warn: false,
      },
    },
    {
      name: "and is looked at again soon, though no event comes",
      given: withUpdate(notTakenOver, { since: "2026-01-01T11:59:41Z" }),
      says: { next: "wait", recheckAfterMs: 2_000 },
    },
    {
      name: "also when no update is on record",
      given: notTakenOver,
      says: { next: "wait", recheckAfterMs: 2_000 },
    },
    {
      name: "ever more rarely, and each ten seconds at last",
      given: withUpdate(notTakenOver, { since: "2026-01-01T11:59:10Z" }),
      says: { next: "wait", recheckAfterMs: 5_000 },
    },
    {
      name: "however long that lasts",
      given: withUpdate(notTakenOver, { since: "2026-01-01T11:00:00Z" }),
      says: { next: "wait", recheckAfterMs: 10_000 },
    },
    {
      name: "of which its EtcdPeer tells what is in the way",
      given: withPeer(notTakenOver, "my-etcd-2", { status: say("replica-set: denied", "StepRefused", "11:50:01") }),
      says: {
        next: "wait",
        because: "ReplicaSet my-etcd-2 has yet to take over what my-etcd-2 is to run next: replica-set: denied",
        warn: false,
      },
    },
    {
      name: "for long",
      given: withPeer(notTakenOver, "my-etcd-2", { status: say("replica-set: denied", "StepRefused", "11:50:00") }),
      says: { next: "wait", warn: true },
    },
    {
      name: "what else is told of it is not in the way",
      given: withPeer(notTakenOver, "my-etcd-2", {
        status: {
          conditions: say("all is well", "StepRefused").conditions.map((each) => ({ ...each, type: "Other" })),
        },
      }),
      says: { next: "wait", because: /to run next$/ },
    },
    {
      name: "what its pod is waiting for is not in the way",
      given: withPeer(notTakenOver, "my-etcd-2", { status: say("no node") }),
      says: { next: "wait", because: /to run next$/, warn: false },
    },
    {
      name: "nor is what was there before it was well",
      given: withPeer(notTakenOver, "my-etcd-2", {
        status: {
          conditions: say("all is well", "MemberHealthy").conditions.map((each) => ({ ...each, status: "True" })),
        },
      }),
      says: { next: "wait", because: /to run next$/, warn: false },
    },
    {
      name: "who takes part, and whose pod has not been ready for long, is not waited for: its own turn may be what helps",
      given: unreadyFor(turned, "my-etcd-1", 600_000),
      says: restarts("my-etcd-2"),
    },
    {
      name: "for a while it is",
      given: unreadyFor(turned, "my-etcd-1", 599_999),
      says: { next: "wait", because: "my-etcd-2 restarts once my-etcd-1 is ready by the kubelet's word" },
    },
    {
      name: "so it is whose etcd is not ready, however long",
      given: withPod(unreadyFor(turned, "my-etcd-1", 600_000), "my-etcd-1", {
        status: { containerStatuses: [{ name: "etcd", ready: false, state: { running: {} } }] },
      }),
      says: { next: "wait", because: "my-etcd-2 restarts once my-etcd-1 is ready by the kubelet's word" },
    },
    {
      name: "of all that have their turns such a one is the first",
      given: unreadyFor(allTurned(wanted), "my-etcd-1", 600_000),
      says: restarts("my-etcd-1"),
    },
    {
      name: "who is put back waits for nobody who has not been ready for long with what it was before",
      given: unreadyFor(
        withStop(withTurn(madeFrom(wanted, "my-etcd-2", NEWER), "my-etcd-2", OLD), "my-etcd-2"),
        "my-etcd-1",
        600_000,
      ),
      says: restarts("my-etcd-2"),
    },
    {
      name: "nobody restarts with what was tried in vain",
      given: withPeer(withStop(turned, "my-etcd-1"), "my-etcd-2", { spec: { previous: undefined } }),
      says: undefined,
    },
    {
      name: "once Kubernetes has seen the budget",
      given: { ...turned, budget: { ...turned.budget!, metadata: { ...turned.budget!.metadata, generation: 2 } } },
      says: { next: "wait", because: /no member may be evicted/ },
    },
    {
      name: "the one is not waited for when more members are wanted",
      given: withTurn(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-2", NEWER, { isTakenOver: false }),
      says: undefined,
    },
    {
      name: "not while somebody is about to join",
      given: withArrival(turned, "my-etcd-3", "intended"),
      says: undefined,
    },
    {
      name: "not while it is to get something else first",
      given: withTurn(wanted, "my-etcd-2", { ...OLD, version: "3.6.18" }),
      says: undefined,
    },
    { name: "who has restarted has had its turn", given: canary, says: undefined },
    {
      name: "a pod that is going is not deleted again",
      given: withPod(turned, "my-etcd-2", { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } }),
      says: undefined,
    },
    {
      name: "a member without an EtcdPeer has no turn",
      given: withoutPeers(turned, "my-etcd-2"),
      says: undefined,
    },
    {
      name: "one of two waits until the third one that is wanted is there",
      given: withTurn(wanting(NEWER, { replicas: 2, spec: { replicas: 3 } }), "my-etcd-1"),
      says: undefined,
    },
    {
      name: "one of two does not when no more are wanted",
      given: withTurn(wanting(NEWER, { replicas: 2 }), "my-etcd-1"),
      says: restarts("my-etcd-1"),
    },
    {
      name: "nor one of three when five are wanted",
      given: withTurn(wanting(NEWER, { spec: { replicas: 5 } }), "my-etcd-2"),
      says: restarts("my-etcd-2"),
    },
    {
      name: "the leader hands the leadership on first",
      given: withTurn(wanting(NEWER, { leader: "my-etcd-2" }), "my-etcd-2"),
      says: { step: { do: "moveLeader", from: "my-etcd-2", to: "my-etcd-0" } },
    },
    {
      name: "a leader that gives no answer restarts all the same",
      given: unanswered(withTurn(wanting(NEWER, { leader: "my-etcd-2" }), "my-etcd-2"), "my-etcd-2"),
      says: restarts("my-etcd-2"),
    },
    {
      name: "to whom runs what is wanted, although another one knows more",
      given: saying(withTurn(withUpdated(wanted, "my-etcd-2"), "my-etcd-0"), "my-etcd-1", { raftAppliedIndex: 20 }),
      says: { step: { do: "moveLeader", from: "my-etcd-0", to: "my-etcd-2" } },
    },
    {
      name: "of those to whom knows most",
      given: saying(withTurn(withUpdated(wanted, "my-etcd-1", "my-etcd-2"), "my-etcd-0"), "my-etcd-2", {
        raftAppliedIndex: 20,
      }),
      says: { step: { do: "moveLeader", to: "my-etcd-2" } },
    },
    {
      name: "of equals to the lowest ordinal",
      given: withTurn(withUpdated(wanted, "my-etcd-1", "my-etcd-2"), "my-etcd-0"),
      says: { step: { do: "moveLeader", to: "my-etcd-1" } },
    },
    {
      name: "of whom nobody is healthy to nobody",
      given: withTurn(wanting(NEWER, { replicas: 1 }), "my-etcd-0"),
      says: restarts("my-etcd-0"),
    },
    {
      name: "of two that have their turns the leader is the last",
      given: withTurn(withTurn(wanting(NEWER, { leader: "my-etcd-2" }), "my-etcd-2"), "my-etcd-0"),
      says: restarts("my-etcd-0"),
    },
  ],
  "give-turn": [
    { name: "nothing else is wanted", given: settled, says: undefined },
    {
      name: "the last one is the first, and what it ran before stands on record",
      given: wanted,
      says: {
        ...gives("my-etcd-2", "3.6.17", "3.6.16"),
        because: "it is the turn of my-etcd-2, which gets etcd 3.6.17 instead of 3.6.16; 2 more will follow",
      },
    },
    {
      name: "of the same release, what else is new is told",
      given: wanting({
        ...OLD,
        image: { repository: "example.test/other" },
        podTemplate: withResources({ limits: { cpu: "1" } }),
        etcd: { extraArgs: { "max-txn-ops": "5" } },
      }),
      says: {
        because: "it is the turn of my-etcd-2, which gets its new image and etcd and podTemplate; 2 more will follow",
      },
    },
    {
      name: "whom to trust is told by the field in which it stands",
      given: withMade(secured(), { clientCA: { next: NEXT }, server: { trust: bundle(OWN, NEXT) } }),
      says: { because: "it is the turn of my-etcd-2, which gets its new tls; 2 more will follow" },
    },
    {
      name: "a turn that nobody has used is taken back when the spec is refused",
      given: refusing(withTurn(wanted, "my-etcd-2")),
      says: {
        ...gives("my-etcd-2", "3.6.16"),
        because: "my-etcd-2 does not restart with what was asked for before, and keeps what it runs: etcd 3.6.16",
      },
    },
    {
      name: "then the one before",
      given: withUpdated(wanted, "my-etcd-2"),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "the leader is the last",
      given: withUpdated(wanting(NEWER, { leader: "my-etcd-1" }), "my-etcd-2"),
      says: gives("my-etcd-0", "3.6.17", "3.6.16"),
    },
    {
      name: "a leader that a person added is in nobody's way",
      given: withMember(wanting(NEWER), THEIRS),
      says: gives("my-etcd-2", "3.6.17", "3.6.16"),
    },
    {
      name: "who has no EtcdPeer is passed over",
      given: withoutPeers(wanted, "my-etcd-2"),
      says: gives("my-etcd-1", "3.6.17"),
    },
    {
      name: "nobody gets half of what is asked for, as long as its data is not brought back",
      given: wanting({ ...BEFORE, podTemplate: withResources({ limits: { cpu: "1" } }) }),
      says: undefined,
    },
    {
      name: "who is unfit is waited for, often at first",
      given: canary,
      says: { next: "wait", because: "my-etcd-1 has its turn once my-etcd-2 is healthy", recheckAfterMs: 500 },
    },
    {
      name: "and more rarely later",
      given: silentFor(canary, "my-etcd-2", 599_999),
      says: { next: "wait", recheckAfterMs: 10_000, warn: false },
    },
    {
      name: "who is unfit for longer than the first one may be is warned of",
      given: withUpdate(unready(600_000), { proven: true }),
      says: {
        next: "wait",
        because: "my-etcd-1 has its turn once my-etcd-2 is ready by the kubelet's word",
        recheckAfterMs: 10_000,
        warn: true,
      },
    },
    {
      name: "who was about to restart learns first that something else is wanted, and has what it ran on record",
      given: withTurn(wanting(NEWEST), "my-etcd-0", NEWER),
      says: gives("my-etcd-0", "3.6.18", "3.6.16"),
    },
    {
      name: "and goes back to what it was last well with",
      given: withPeer(wanted, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.15" } } }),
      says: gives("my-etcd-2", "3.6.17", "3.6.15"),
    },
    {
      name: "who is unfit waits for itself",
      given: withPod(wanted, "my-etcd-2", NOT_READY),
      says: { next: "wait", because: "my-etcd-2 has its turn once my-etcd-2 is ready by the kubelet's word" },
    },
    {
      name: "not for ever, when that is all that it lacks",
      given: unreadyFor(wanted, "my-etcd-2", 600_000),
      says: gives("my-etcd-2", "3.6.17", "3.6.16"),
    },
    {
      name: "it is the first then",
      given: unreadyFor(wanted, "my-etcd-0", 600_000),
      says: gives("my-etcd-0", "3.6.17", "3.6.16"),
    },
    {
      name: "although the others are no better off",
      given: each.reduce((given, name) => unreadyFor(given, name, 600_000), wanted),
      says: gives("my-etcd-2", "3.6.17", "3.6.16"),
    },
    {
      name: "who has what is wanted, and is not ready with it, is waited for",
      given: unreadyFor(withUpdate(withUpdated(wanted, "my-etcd-2"), { proven: true }), "my-etcd-2", 600_000),
      says: { next: "wait", because: "my-etcd-1 has its turn once my-etcd-2 is ready by the kubelet's word" },
    },
    {
      name: "who was restarted a while ago, takes part and is not ready gets the next wish before anybody else",
      given: withPod(madeFrom(withTurn(wanting(NEWEST), "my-etcd-1", NEWER), "my-etcd-1", NEWER), "my-etcd-1", {
        ...NOT_READY,
        metadata: { creationTimestamp: "2026-01-01T11:50:01Z" },
      }),
      says: gives("my-etcd-1", "3.6.18", "3.6.16"),
    },
    {
      name: "who was restarted a while ago and is ready has its place like all others",
      given: withPod(madeFrom(withTurn(wanting(NEWEST), "my-etcd-1", NEWER), "my-etcd-1", NEWER), "my-etcd-1", {
        metadata: { creationTimestamp: "2026-01-01T11:50:01Z" },
      }),
      says: gives("my-etcd-2", "3.6.18", "3.6.16"),
    },
    {
      name: "who was restarted a while ago and takes no part gets the next wish before anybody else, and what it was well with stays on record",
      given: tried,
      says: gives("my-etcd-1", "3.6.18", "3.6.16"),
    },
    {
      name: "also before who was about to restart with what is wanted no more: its restart waits for the first one",
      given: withTurn(tried, "my-etcd-2", NEWER),
      says: gives("my-etcd-1", "3.6.18", "3.6.16"),
    },
    {
      name: "who has got nothing new and is unfit for a minute does, however long one may take to come up",
      given: {
        ...unfitFor(withPeer(tried, "my-etcd-1", { spec: { previous: undefined } }), "my-etcd-1", 60_000),
        memberTimeoutMs: 86_400_000,
      },
      says: gives("my-etcd-1", "3.6.18", "3.6.17"),
    },
    {
      name: "and for a tenth of that where it is short",
      given: {
        ...unfitFor(
          withPod(withPeer(tried, "my-etcd-1", { spec: { previous: undefined } }), "my-etcd-1", {
            metadata: { creationTimestamp: "2026-01-01T11:59:00Z" },
          }),
          "my-etcd-1",
          10_000,
        ),
        memberTimeoutMs: 100_000,
      },
      says: gives("my-etcd-1", "3.6.18", "3.6.17"),
    },
    {
      name: "who is coming up with one stage of what is exchanged of certificates has its time before it gets the next one",
      given: comingUp(trusting),
      says: { next: "wait", because: "my-etcd-2 has its turn once my-etcd-2 is healthy" },
    },
    {
      name: "as much as most take",
      given: comingUp(trusting, "2026-01-01T11:59:30Z"),
      says: {
        step: { do: "replacePeer" },
        because: "it is the turn of my-etcd-2, which gets its new tls; 2 more will follow",
      },
    },
    {
      name: "unless it has ended",
      given: withCrashing(comingUp(trusting), "my-etcd-2"),
      says: { step: { do: "replacePeer" } },
    },
    {
      name: "or is not made yet",
      given: withoutPod(comingUp(trusting), "my-etcd-2"),
      says: { next: "wait", because: "my-etcd-2 has its turn once my-etcd-2 is healthy" },
    },
    {
      name: "whatever else is new may be what mends it",
      given: comingUp(wanting(NEWEST)),
      says: gives("my-etcd-2", "3.6.18"),
    },
    {
      name: "beside certificates, too",
      given: comingUp(wantingToo(trusting, { podTemplate: withResources({ limits: { cpu: "1" } }) })),
      says: { because: "it is the turn of my-etcd-2, which gets its new tls and podTemplate; 2 more will follow" },
    },
    {
      name: "so may another release beside certificates",
      given: comingUp(wantingToo(trusting, { version: NEWEST.version })),
      says: { because: "it is the turn of my-etcd-2, which gets etcd 3.6.18 instead of 3.6.16; 2 more will follow" },
    },
    {
      name: "not while another one is unfit",
      given: withPod(tried, "my-etcd-0", NOT_READY),
      says: { next: "wait", because: "my-etcd-1 has its turn once my-etcd-0 is ready by the kubelet's word" },
    },
    {
      name: "who was restarted long ago and takes no part is waited for",
      given: withPod(tried, "my-etcd-1", { metadata: { creationTimestamp: "2026-01-01T11:50:00Z" } }),
      says: { next: "wait", because: "my-etcd-2 has its turn once my-etcd-1 is healthy" },
    },
    {
      name: "so is who has got nothing new, whatever others have got, and is just coming up",
      given: unfitFor(
        withPeer(withPeer(tried, "my-etcd-1", { spec: { previous: undefined } }), "my-etcd-0", {
          spec: { previous: NEWER },
        }),
        "my-etcd-1",
        59_999,
      ),
      says: { next: "wait", because: "my-etcd-2 has its turn once my-etcd-1 is healthy" },
    },
    {
      name: "when that takes long, it gets what is asked for all the same: it may be what helps",
      given: unfitFor(withPeer(tried, "my-etcd-1", { spec: { previous: undefined } }), "my-etcd-1", 60_000),
      says: { next: "step", step: { do: "replacePeer", live: { metadata: { name: "my-etcd-1" } } } },
    },
    {
      name: "where people restart members, what a member gets is told otherwise",
      given: asked,
      says: {
        ...gives("my-etcd-2", "3.6.17", "3.6.16"),
        because:
          "the next pod of my-etcd-2 gets etcd 3.6.17 instead of 3.6.16, when somebody deletes the one that runs; 2 more will follow",
      },
    },
    {
      name: "and nobody waits for the ones before",
      given: withTurn(asked, "my-etcd-2"),
      says: gives("my-etcd-1", "3.6.17", "3.6.16"),
    },
    {
      name: "whose pods are to be deleted is told",
      given: allTurned(asked),
      says: {
        next: "wait",
        because:
          "my-etcd-0, my-etcd-1, my-etcd-2 get what the spec asks for when somebody deletes their pods: spec.updateStrategy.type is OnDelete",
        recheckAfterMs: 10_000,
      },
    },
    {
      name: "of one, too",
      given: withTurn(withUpdated(asked, "my-etcd-1", "my-etcd-2"), "my-etcd-0"),
      says: { next: "wait", because: /^my-etcd-0 gets what the spec asks for when somebody deletes its pod: / },
    },
    {
      name: "but not while somebody is down",
      given: allTurned(wanting(NEWER, { spec: ON_DELETE, down: ["my-etcd-1"] })),
      says: undefined,
    },
    {
      name: "a turn is taken back also while somebody is down",
      given: withTurn(cluster({ down: ["my-etcd-1"] }), "my-etcd-0", NEWER),
      says: gives("my-etcd-0", "3.6.16"),
    },
    {
      name: "when the update was stopped, those that wait get back what they run",
      given: withStop(madeFrom(allTurned(asked), "my-etcd-2", NEWER), "my-etcd-2"),
      says: gives("my-etcd-1", "3.6.16"),
    },
    {
      name: "when the update was stopped, nobody gets a turn",
      given: withStop(wanted, "my-etcd-2"),
      says: undefined,
    },
  ],
};

/** The cluster, of which this member was not one of the first. */
function withoutFounder({ cluster: object }: ClusterSnapshot, name: string): ClusterSnapshot["cluster"] {
  const identity = object.status!.identity!;
  const initialMembers = identity.initialMembers.filter((member) => member.name !== name);
  return { ...object, status: { ...object.status, identity: { ...identity, initialMembers } } };
}

for (const [rule, said] of Object.entries(cases)) {
  describe(`${rule} alone`, () => {
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
