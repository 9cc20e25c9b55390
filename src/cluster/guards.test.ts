import { expect, test } from "vitest";
import { CLEANUP_FINALIZER, QUARANTINE_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present } from "#base/observed.ts";
import type { Phase } from "#cluster/certificates/rotation.ts";
import { certificateRequest, trustMap } from "#cluster/desired/certificates.ts";
import { disruptionBudget } from "#cluster/desired/disruption-budget.ts";
import { firstBackup } from "#cluster/desired/first-backup.ts";
import { fencedPeer, intendedPeer, joiningPeer, newPeer, revisedPeer } from "#cluster/desired/peer.ts";
import { podMonitor } from "#cluster/desired/pod-monitor.ts";
import { restoreFor } from "#cluster/desired/restore.ts";
import { clientService } from "#cluster/desired/services.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import {
  type Arrival,
  born,
  changedPeer,
  cluster,
  endpointStatus,
  LATER_ID,
  pod,
  sickFor,
  unpublished,
  withArrival,
  withoutMember,
  withRemoval,
} from "#kit/cluster.ts";
import { stranger, THEIRS, withJoined, withMember, withStraggler, withUnboundLearner } from "#kit/cluster-changes.ts";
import {
  madeFrom,
  NEWER,
  OLD,
  ON_DELETE,
  recording,
  answering as saying,
  wanting,
  withCrashing,
  withPeer,
  withTurn,
  saying as words,
} from "#kit/cluster-rolling.ts";
import { asleep, tired, wanted } from "#kit/cluster-sleep.ts";
import { bundle, NEXT, OWN, running, secured, tlsSpec, unissued, withMade, withSeen } from "#kit/cluster-tls.ts";
import { etcdBackupSchedule } from "#kit/schedule.ts";
import type { Draft, Pod, PodDisruptionBudget, Service } from "#kube/kinds.ts";

const settled = cluster();
const identity = settled.cluster.status!.identity!;
const [m0, m1, m2] = identity.initialMembers.map(({ name, id }) => ({ name, id: memberIdFromHex(id) }));
const learner = { name: "my-etcd-3", id: memberIdFromHex(LATER_ID) };

/** The snapshot in which this member answers. */
function answering(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const id = identity.initialMembers.find((member) => member.name === name)!.id;
  const status = endpointStatus(identity.clusterID, id, id);
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints, [name, present(status)]]) };
}

function peerOf(snapshot: ClusterSnapshot, name: string): EtcdPeer {
  return snapshot.peers.find(({ metadata }) => metadata.name === name)!;
}

function asking(snapshot: ClusterSnapshot, spec: Partial<ClusterSnapshot["cluster"]["spec"]>): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, ...spec } } };
}

const FROM_BACKUP = { bootstrap: { fromBackup: { backupName: "nightly" } } };
const unjoined = { ...identity, initialMembers: identity.initialMembers.map((each) => ({ ...each, joined: false })) };
const partly = {
  ...identity,
  initialMembers: identity.initialMembers.map((each, n) => ({ ...each, joined: n === 0 })),
};

const certified = secured();
const seenOf = (snapshot: ClusterSnapshot, purpose: "peerCA" | "peer" | "server") => {
  const found = snapshot.certificates?.[purpose];
  if (found?.is !== "present") throw new Error("it is there");
  return found.value;
};
const [ownCA, ownLeaf] = [seenOf(certified, "peerCA"), seenOf(certified, "peer")];
const request = certificateRequest(certified, "peer");
const clientsMap = trustMap(certified, "");

/** One step of every kind, each about what is there. */
const STEPS: { readonly [Kind in ClusterStep["do"]]: Extract<ClusterStep, { do: Kind }> } = {
  recordIdentity: { do: "recordIdentity", identity },
  recordJoined: { do: "recordJoined", names: ["my-etcd-0"] },
  createRestore: { do: "createRestore", restore: restoreFor(settled, { backupName: "nightly" }) },
  fallAsleep: { do: "fallAsleep" },
  wakeUp: { do: "wakeUp" },
  createService: { do: "createService", service: clientService(settled) },
  replaceService: { do: "replaceService", live: settled.clientService!, service: clientService(settled) },
  createBudget: { do: "createBudget", budget: disruptionBudget(settled) },
  replaceBudget: { do: "replaceBudget", live: settled.budget!, budget: disruptionBudget(settled) },
  deleteBudget: { do: "deleteBudget", live: settled.budget! },
  createMonitor: { do: "createMonitor", monitor: podMonitor(settled) },
  replaceMonitor: { do: "replaceMonitor", live: born(podMonitor(settled)), monitor: podMonitor(settled) },
  deleteMonitor: { do: "deleteMonitor", live: born(podMonitor(settled)) },
  issueAuthority: { do: "issueAuthority", side: "peer", trust: "" },
  rotateAuthority: { do: "rotateAuthority", side: "peer", phase: "add", facts: ownCA },
  issueLeaf: { do: "issueLeaf", purpose: "peer", authority: ownCA, facts: ownLeaf },
  spreadTrust: { do: "spreadTrust", purpose: "peer", authority: ownCA, facts: ownLeaf },
  createTrustMap: { do: "createTrustMap", map: clientsMap },
  replaceTrustMap: { do: "replaceTrustMap", live: born(clientsMap), map: clientsMap },
  createRequest: { do: "createRequest", purpose: "peer", request },
  replaceRequest: { do: "replaceRequest", purpose: "peer", live: born(request), request },
  createPeer: { do: "createPeer", peer: fencedPeer(settled, identity, "my-etcd-0") },
  replacePeer: { do: "replacePeer", live: settled.peers[0]!, peer: fencedPeer(settled, identity, "my-etcd-0") },
  createBackup: { do: "createBackup", backup: firstBackup(settled, etcdBackupSchedule()) },
  restartPod: { do: "restartPod", name: "my-etcd-2", pod: settled.pods.get("my-etcd-2")! },
  stopUpdate: { do: "stopUpdate", name: "my-etcd-2", message: "it ended" },
  markRemoval: { do: "markRemoval", peer: settled.peers[2]!, removal: "replacement" },
  releaseClaim: { do: "releaseClaim", peer: settled.peers[2]!, finalizer: CLEANUP_FINALIZER },
  deletePeer: { do: "deletePeer", peer: settled.peers[2]! },
  addLearner: { do: "addLearner", name: "my-etcd-3", peerUrl: "http://my-etcd-3.my-etcd.foo.svc:2380" },
  promote: { do: "promote", ...learner },
  removeMember: { do: "removeMember", ...m2! },
  disarmAlarm: { do: "disarmAlarm", id: learner.id, type: "NOSPACE" },
  enableDowngrade: { do: "enableDowngrade", to: "3.5" },
  cancelDowngrade: { do: "cancelDowngrade", to: "3.5" },
  moveLeader: { do: "moveLeader", from: m0!.name, to: m1!.name, id: m1!.id },
};

const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);

function replacing(snapshot: ClusterSnapshot): ClusterStep {
  return { do: "markRemoval", peer: peerOf(snapshot, "my-etcd-1"), removal: "replacement" };
}

/** Two first members have joined; the third has not, as far as is on record, and does not answer. */
function straggling(given: { listed: boolean; started: boolean }): ClusterSnapshot {
  const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), given);
  return given.listed ? straggler : withoutMember(straggler, "my-etcd-2");
}

/** The restart of a member whose container runs, or has ended again and again. */
function restarting(snapshot: ClusterSnapshot, name: string): ClusterStep {
  return { do: "restartPod", name, pod: snapshot.pods.get(name)! };
}

/** Gives this to a member, which it would have to restart for. */
function giving(snapshot: ClusterSnapshot, name: string, version = NEWER.version): ClusterStep {
  const live = peerOf(snapshot, name);
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, version }, OLD) };
}

/** The snapshot with this pod, or none, for the member that joins. */
function withPod(snapshot: ClusterSnapshot, its: Pod | undefined): ClusterSnapshot {
  const others = [...snapshot.pods].filter(([name]) => name !== learner.name);
  return { ...snapshot, pods: new Map(its === undefined ? others : [...others, [learner.name, its]]) };
}

function fiveDown(down: readonly string[]): ClusterSnapshot {
  return cluster({ replicas: 5, down });
}

const five1Down = fiveDown(["my-etcd-1"]);
const five1DownTurned = withTurn(five1Down, "my-etcd-2", NEWER);
const turned = withTurn(wanting(NEWER), "my-etcd-1");
const asked = withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-1");

function arrivingPeer(stage: Arrival): EtcdPeer {
  return peerOf(withArrival(settled, learner.name, stage), learner.name);
}

interface Case {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly step: ClusterStep;
  readonly is: "forbidden" | "allowed";
}

function creating(spec: EtcdPeer["spec"] | undefined, name = "my-etcd-0"): ClusterStep {
  const { peer } = STEPS.createPeer;
  return { do: "createPeer", peer: { ...peer, metadata: { ...peer.metadata, name }, spec } } as ClusterStep;
}

/** The first member is down, and ran what nobody else runs any more. */
function lastOf(version: string): ClusterSnapshot {
  return recording(saying(cluster({ down: ["my-etcd-0"] }), undefined, "3.7.1", "3.7.1"), version, "3.7.1", "3.7.1");
}

/** The last one says that its data can be read by etcd 3.5. */
const converted = words(settled, "my-etcd-2", { downgradeTo: "3.5.0", storageVersion: "3.5.0" });
const sentBack = withPeer(settled, "my-etcd-2", { spec: { version: "3.5.35" } });

/** Nothing runs in the pod of the last one. */
const crashing = withCrashing(cluster({ down: ["my-etcd-2"] }), "my-etcd-2");

const STOPPED: Case = {
  name: "without a member list a pod in which nothing runs may be made anew",
  given: withoutList(crashing),
  step: restarting(crashing, "my-etcd-2"),
  is: "allowed",
};

/** What each guard says of a step, whatever the other guards say. */
const HARMFUL = { "force-new-cluster": "true" };

function withFlags(peer: Draft<EtcdPeer>, extraArgs: Readonly<Record<string, string>>): Draft<EtcdPeer> {
  return withOptions(peer, { extraArgs });
}

function withOptions(peer: Draft<EtcdPeer>, etcd: object): Draft<EtcdPeer> {
  return { ...peer, spec: { ...peer.spec!, etcd } };
}

const tiredOut = tired();

/** Gives the first member's EtcdPeer this of TLS. */
function speaking(snapshot: ClusterSnapshot, tls: NonNullable<EtcdPeer["spec"]["tls"]> | undefined): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-0");
  return { do: "replacePeer", live, peer: revisedPeer(live, { ...OLD, ...(tls === undefined ? {} : { tls }) }, OLD) };
}

/** The same for one that is made. */
function bornSpeaking(snapshot: ClusterSnapshot, tls: EtcdPeer["spec"]["tls"]): ClusterStep {
  const { tls: _, ...spec } = peerOf(snapshot, "my-etcd-0").spec;
  return creating({ ...spec, ...(tls === undefined ? {} : { tls }) }, "my-etcd-3");
}

const tlsOfAll = peerOf(certified, "my-etcd-0").spec.tls!;
const nobody = unissued({ stage: "recorded" });
const both = bundle(OWN, NEXT);
const withNext = withMade(certified, { peerCA: { next: NEXT }, peer: { trust: both } });
const trusting = running(withNext);
/** The next one signs by now, and the one before is still trusted. */
const switched = withMade(trusting, { peerCA: { by: NEXT, trust: both } });
const replaced = withMade(switched, { peer: { by: NEXT, trust: both } });
const lastTrusts = running(withNext, ["my-etcd-1", "my-etcd-2"]);
const swapped = withMade(certified, { peerCA: { by: NEXT } });
const noAuthority = withSeen(certified, { peerCA: { is: "absent" } });
const theirSecret = withMade(certified, { peer: { isOurs: false } });
const brokenCA = withMade(certified, { peerCA: { trouble: "its tls.key is not the key of its tls.crt" } });

/** Members show each other what somebody else has signed. */
const doubted = withMade(certified, { peer: { by: NEXT } });
const theirPeer = tlsSpec({ peer: { provider: "Secret", secret: { secretName: "their-peer" } } });
const doubtedElsewhere = withMade(asking(certified, { tls: theirPeer }), { peer: { by: NEXT } });
const unshown = withSeen(certified, { peer: { is: "absent" } });
const halved = withMade(certified, { peer: { trouble: "it has no tls.key" } });
const doubtedDown = withMade(secured({ down: ["my-etcd-2"] }), { peer: { by: NEXT } });

function rotating(snapshot: ClusterSnapshot, phase: Phase): ClusterStep {
  return { do: "rotateAuthority", side: "peer", phase, facts: seenOf(snapshot, "peerCA") };
}

/** A new pair by the authority that is there. */
function issuing(snapshot: ClusterSnapshot, given: object = {}): ClusterStep {
  const facts = { ...seenOf(snapshot, "peer"), ...given };
  return { do: "issueLeaf", purpose: "peer", authority: seenOf(snapshot, "peerCA"), facts };
}

const cases: Record<string, readonly Case[]> = {
  "tls-stays": [
    {
      name: "where one of the others has been made to speak otherwise, who comes later speaks",
      given: { ...certified, peers: [certified.peers[0]!, ...settled.peers.slice(1)] },
      step: bornSpeaking(certified, undefined),
      is: "forbidden",
    },
    { name: "a member keeps TLS", given: certified, step: speaking(certified, tlsOfAll), is: "allowed" },
    { name: "nobody loses it", given: certified, step: speaking(certified, undefined), is: "forbidden" },
    {
      name: "nor on one side",
      given: certified,
      step: speaking(certified, { peer: tlsOfAll.peer! }),
      is: "forbidden",
    },
    { name: "nobody gets it", given: settled, step: speaking(settled, tlsOfAll), is: "forbidden" },
    {
      name: "also when somebody got the spec past all checks",
      given: asking(settled, { tls: certified.cluster.spec.tls }),
      step: speaking(settled, tlsOfAll),
      is: "forbidden",
    },
    {
      name: "who comes later speaks as all do",
      given: certified,
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "and not otherwise", given: certified, step: bornSpeaking(certified, undefined), is: "forbidden" },
    { name: "nor so where nobody does", given: settled, step: bornSpeaking(settled, tlsOfAll), is: "forbidden" },
    {
      name: "whatever the spec says by now",
      given: asking(certified, { tls: undefined as never }),
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    {
      name: "the first one speaks as the spec asks for",
      given: nobody,
      step: bornSpeaking(certified, tlsOfAll),
      is: "allowed",
    },
    { name: "and is not made without", given: nobody, step: bornSpeaking(certified, undefined), is: "forbidden" },
    { name: "what is about no member is for others to judge", given: certified, step: STEPS.issueLeaf, is: "allowed" },
  ],
  "trusted-first": [
    { name: "who is trusted by all may sign", given: certified, step: issuing(certified), is: "allowed" },
    { name: "who is not may not", given: swapped, step: issuing(swapped), is: "forbidden" },
    {
      name: "not even where nothing is there: members would show what the others refuse",
      given: swapped,
      step: { do: "issueLeaf", purpose: "peer", authority: seenOf(swapped, "peerCA"), facts: undefined },
      is: "forbidden",
    },
    {
      name: "but where nobody is there yet",
      given: { ...swapped, peers: [] },
      step: issuing(swapped),
      is: "allowed",
    },
    {
      name: "who has signed what is there may sign the next one",
      given: withMade(swapped, { peer: { by: NEXT } }),
      step: issuing(withMade(swapped, { peer: { by: NEXT } })),
      is: "allowed",
    },
    { name: "whatever has signed what is there", given: swapped, step: rotating(swapped, "forget"), is: "allowed" },
    { name: "one that all trust may follow", given: trusting, step: rotating(trusting, "switch"), is: "allowed" },
    {
      name: "one that one does not trust may not",
      given: lastTrusts,
      step: rotating(lastTrusts, "switch"),
      is: "forbidden",
    },
    { name: "none may not", given: certified, step: rotating(certified, "switch"), is: "forbidden" },
    { name: "another one may always be made", given: certified, step: rotating(certified, "add"), is: "allowed" },
    {
      name: "the one before goes once nothing of its is in use",
      given: replaced,
      step: rotating(replaced, "drop"),
      is: "allowed",
    },
    { name: "and not before", given: switched, step: rotating(switched, "drop"), is: "forbidden" },
    {
      name: "nor while somebody does not trust the other one",
      given: withMade(swapped, { peer: { by: NEXT } }),
      step: rotating(withMade(swapped, { peer: { by: NEXT } }), "drop"),
      is: "forbidden",
    },
    {
      name: "what is about no authority is for others to judge",
      given: swapped,
      step: STEPS.createTrustMap,
      is: "allowed",
    },
  ],
  "still-believed": [
    {
      name: "what nobody shows yet is no matter",
      given: doubtedElsewhere,
      step: restarting(doubtedElsewhere, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member restarts while all believe each other",
      given: certified,
      step: restarting(certified, "my-etcd-2"),
      is: "allowed",
    },
    { name: "not while they do not", given: doubted, step: restarting(doubted, "my-etcd-2"), is: "forbidden" },
    { name: "nor gets what it would restart for", given: doubted, step: giving(doubted, "my-etcd-2"), is: "forbidden" },
    {
      name: "whose pod runs nothing may have it made anew",
      given: withCrashing(doubtedDown, "my-etcd-2"),
      step: restarting(withCrashing(doubtedDown, "my-etcd-2"), "my-etcd-2"),
      is: "allowed",
    },
    { name: "nobody is given up", given: doubted, step: STEPS.markRemoval, is: "forbidden" },
    { name: "but while all believe each other", given: certified, step: STEPS.markRemoval, is: "allowed" },
    {
      name: "who is not wanted may go",
      given: doubted,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "and a removal be taken back",
      given: doubted,
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    { name: "what restarts nobody is for others to judge", given: doubted, step: STEPS.createService, is: "allowed" },
    {
      name: "so is all, where nobody could look",
      given: withSeen(doubted, { peer: { is: "unknown", why: "no answer" } }),
      step: restarting(doubted, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody restarts without what members show",
      given: unshown,
      step: restarting(unshown, "my-etcd-2"),
      is: "forbidden",
    },
    { name: "nor with what is of no use", given: halved, step: restarting(halved, "my-etcd-2"), is: "forbidden" },
    { name: "who is lost meanwhile is given up", given: unshown, step: STEPS.markRemoval, is: "allowed" },
    { name: "also while it is of no use", given: halved, step: STEPS.markRemoval, is: "allowed" },
  ],
  "authority-kept": [
    { name: "one is made where there is none", given: noAuthority, step: STEPS.issueAuthority, is: "allowed" },
    { name: "and nowhere else", given: certified, step: STEPS.issueAuthority, is: "forbidden" },
    {
      name: "nor where it could not be read",
      given: withSeen(certified, { peerCA: { is: "unknown", why: "no answer" } }),
      step: STEPS.issueAuthority,
      is: "forbidden",
    },
    { name: "nor where nobody looked", given: settled, step: STEPS.issueAuthority, is: "forbidden" },
    {
      name: "one for members is none for clients",
      given: noAuthority,
      step: { do: "issueAuthority", side: "client", trust: "" },
      is: "forbidden",
    },
    { name: "one that is whole is followed", given: certified, step: STEPS.rotateAuthority, is: "allowed" },
    { name: "one that is not is left alone", given: brokenCA, step: rotating(brokenCA, "add"), is: "forbidden" },
    {
      name: "what is about no authority is for others to judge",
      given: certified,
      step: STEPS.issueLeaf,
      is: "allowed",
    },
  ],
  "sleep-is-asked": [
    { name: "nobody sleeps while somebody is wanted", given: settled, step: STEPS.fallAsleep, is: "forbidden" },
    { name: "a cluster of which nobody is wanted sleeps", given: tiredOut, step: STEPS.fallAsleep, is: "allowed" },
    {
      name: "one that forms does so first",
      given: withJoined(tiredOut, 1),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "who has joined is fenced first",
      given: cluster({ stage: "joined", spec: { replicas: 0 } }),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "who has yet to join need not be",
      given: withStraggler(tiredOut, { started: false }),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    {
      name: "nor a later one that is joining",
      given: withArrival(tiredOut, learner.name, "started"),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    { name: "nobody wakes while nobody is wanted", given: asleep(), step: STEPS.wakeUp, is: "forbidden" },
    { name: "all wake when somebody is", given: wanted(asleep(), 1), step: STEPS.wakeUp, is: "allowed" },
    { name: "other steps are for others to judge", given: settled, step: STEPS.createService, is: "allowed" },
  ],
  "sleep-keeps-members": [
    ...Object.values(STEPS).flatMap((step): readonly Case[] => {
      const isKept = [
        ...["recordIdentity", "addLearner", "promote", "removeMember", "markRemoval", "releaseClaim", "deletePeer"],
        ...["disarmAlarm", "moveLeader", "enableDowngrade", "cancelDowngrade"],
      ].includes(step.do);
      const is = isKept ? "forbidden" : "allowed";
      return [
        { name: `${step.do} is ${is} while nobody is wanted`, given: tiredOut, step, is },
        { name: `${step.do} is for others to judge while somebody is`, given: settled, step, is: "allowed" },
      ];
    }),
    {
      name: "nobody comes while nobody is wanted",
      given: tiredOut,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "forbidden",
    },
    {
      name: "a first member may, while the cluster forms",
      given: cluster({ stage: "starting", spec: { replicas: 0 } }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
  ],
  "identity-first": [
    {
      name: "the identity comes first",
      given: cluster({ stage: "new" }),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    { name: "there is no second identity", given: settled, step: STEPS.recordIdentity, is: "forbidden" },
    {
      name: "nothing is made without an identity",
      given: cluster({ stage: "new" }),
      step: STEPS.createService,
      is: "forbidden",
    },
    { name: "with an identity all the rest may be made", given: settled, step: STEPS.createService, is: "allowed" },
    {
      name: "data is asked for before there is an identity",
      given: cluster({ stage: "new" }),
      step: STEPS.createRestore,
      is: "allowed",
    },
    { name: "and never afterwards", given: settled, step: STEPS.createRestore, is: "forbidden" },
  ],
  "restored-first": [
    {
      name: "what is to begin with a snapshot does not begin with nothing",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: { do: "recordIdentity", identity: unjoined },
      is: "forbidden",
    },
    {
      name: "it begins with claims that hold data",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "one claim that holds data is enough: who has none forms the cluster with it",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: { do: "recordIdentity", identity: partly },
      is: "allowed",
    },
    {
      name: "all others may begin with nothing",
      given: cluster({ stage: "new" }),
      step: { do: "recordIdentity", identity: unjoined },
      is: "allowed",
    },
    {
      name: "all the rest is none of its business",
      given: asking(settled, FROM_BACKUP),
      step: STEPS.createService,
      is: "allowed",
    },
  ],
  "runnable-only": [
    {
      name: "what a member can run may reach it",
      given: settled,
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "flags that would break it reach nobody who is made",
      given: settled,
      step: { do: "createPeer", peer: withFlags(newPeer(settled, identity, "my-etcd-1"), HARMFUL) },
      is: "forbidden",
    },
    {
      name: "nor does what is not of the right shape",
      given: settled,
      step: { do: "createPeer", peer: withOptions(newPeer(settled, identity, "my-etcd-1"), { snapshotCount: "many" }) },
      is: "forbidden",
    },
    {
      name: "nor anybody who is there",
      given: settled,
      step: { do: "replacePeer", live: settled.peers[0]!, peer: withFlags(settled.peers[0]!, HARMFUL) },
      is: "forbidden",
    },
    {
      name: "who has them already is fenced all the same",
      given: settled,
      step: {
        do: "replacePeer",
        live: withFlags(settled.peers[0]!, HARMFUL) as EtcdPeer,
        peer: withFlags(settled.peers[0]!, HARMFUL),
      },
      is: "allowed",
    },
    { name: "what is no EtcdPeer is none of its business", given: settled, step: STEPS.createService, is: "allowed" },
  ],
  "bootstrap-once": [
    {
      name: "a first member that has never joined may bootstrap",
      given: cluster({ stage: "starting" }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "whose peer is replaced, having joined, may not bootstrap again",
      given: settled,
      step: { ...STEPS.replacePeer, peer: newPeer(settled, identity, "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "whose peer is made again, having joined, may not bootstrap again",
      given: settled,
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "who joins a cluster that is there does not bootstrap",
      given: settled,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "allowed",
    },
    {
      name: "when the cluster has formed without it, a first member may still come while etcd lists it as not started",
      given: straggling({ listed: true, started: false }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "whom etcd lists as started may not bootstrap, whatever is on record",
      given: straggling({ listed: true, started: true }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "whom the formed cluster does not list may not bootstrap",
      given: straggling({ listed: false, started: false }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "when nobody knows whom the formed cluster lists, nobody bootstraps",
      given: withoutList(straggling({ listed: true, started: false })),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "nobody outside the frozen list may bootstrap",
      given: cluster({ stage: "starting", spec: { replicas: 5 } }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-3") },
      is: "forbidden",
    },
  ],
  "joined-is-seen": [
    {
      name: "who has answered has joined",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-0"] },
      is: "allowed",
    },
    {
      name: "each is asked by its own name",
      given: answering(cluster({ stage: "starting" }), "my-etcd-1"),
      step: { do: "recordJoined", names: ["my-etcd-1"] },
      is: "allowed",
    },
    {
      name: "whom etcd lists as started has joined, also when it is silent",
      given: straggling({ listed: true, started: true }),
      step: { do: "recordJoined", names: ["my-etcd-2"] },
      is: "allowed",
    },
    {
      name: "that one has answered says nothing of another",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-0", "my-etcd-1"] },
      is: "forbidden",
    },
    {
      name: "who is not in the frozen list has not joined",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-3"] },
      is: "forbidden",
    },
  ],
  "keep-quorum": [
    {
      name: "a learner has no vote: it may go although nobody is to spare",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
    {
      name: "a vote for a learner that does not answer may not cost the quorum",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a vote for a learner that does not answer may not take the last spare voter",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a vote that makes a sick cluster no weaker may be given",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "promote", ...learner },
      is: "allowed",
    },
    {
      name: "the fifth vote needs no more than the fourth",
      given: withArrival(cluster({ replicas: 4, down: ["my-etcd-1"] }), "my-etcd-4", "added"),
      step: { do: "promote", name: "my-etcd-4", id: learner.id },
      is: "allowed",
    },
    {
      name: "of two members one may go when one is wanted",
      given: cluster({ replicas: 2, spec: { replicas: 1 } }),
      step: { do: "removeMember", name: "my-etcd-1", id: idIn(cluster({ replicas: 2 }), "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "the last member may not go",
      given: cluster({ replicas: 1 }),
      step: { do: "removeMember", name: "my-etcd-0", id: idIn(cluster({ replicas: 1 }), "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "who answers now is well, whatever was seen before",
      given: sickFor(settled, "my-etcd-1", 60_000),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "who has not answered for less than five seconds may be well",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 4_999),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "who has not answered for five seconds takes nothing away",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 5_000),
      step: { do: "removeMember", ...m1! },
      is: "allowed",
    },
    {
      name: "when two are wanted, the last spare voter may go",
      given: asking(settled, { replicas: 2 }),
      step: { do: "removeMember", ...m2! },
      is: "allowed",
    },
    {
      name: "who is no member is neither removed nor given a vote",
      given: settled,
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
  ],
  "one-at-a-time": [
    {
      name: "nobody is to join while another one is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "createPeer", peer: intendedPeer(settled, identity, "my-etcd-4") },
      is: "forbidden",
    },
    {
      name: "who is joining may get its peer back",
      given: withArrival(settled, "my-etcd-3", "added", { peer: false }),
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "allowed",
    },
    {
      name: "a member may get its peer back while another one is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "createPeer", peer: fencedPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "who was intended is added",
      given: withArrival(settled, "my-etcd-3", "intended"),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "nobody goes while somebody is about to join",
      given: withArrival(settled, "my-etcd-3", "intended"),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "nobody is marked to go while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.markRemoval,
      is: "forbidden",
    },
    {
      name: "a removal may be taken back while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "what a person adds under another URL holds nobody back",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"], isLearner: true })),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "who has left is not leaving any more",
      given: withoutMember(withRemoval(settled, "my-etcd-2", "replacement"), "my-etcd-2"),
      step: STEPS.addLearner,
      is: "allowed",
    },
    {
      name: "nobody is added while somebody is leaving",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.addLearner,
      is: "forbidden",
    },
    {
      name: "who is leaving is removed",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.removeMember,
      is: "allowed",
    },
    { name: "one member restarts", given: settled, step: STEPS.restartPod, is: "allowed" },
    {
      name: "nobody restarts while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "who is joining may restart",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: restarting(withArrival(settled, "my-etcd-3", "started"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "nobody restarts while another one is down",
      given: five1Down,
      step: restarting(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is down may restart",
      given: five1Down,
      step: restarting(five1Down, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a pod in which nothing runs is made anew at any time",
      given: withCrashing(fiveDown(["my-etcd-1", "my-etcd-2"]), "my-etcd-2"),
      step: restarting(five1Down, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "not while it answers: a kubelet may tell late",
      given: withCrashing(five1Down, "my-etcd-2"),
      step: restarting(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    { name: "one member gets its turn", given: settled, step: giving(settled, "my-etcd-2"), is: "allowed" },
    {
      name: "nobody gets a turn while somebody is joining",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is leaving may get a turn",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: giving(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody gets a turn while another one is down",
      given: five1Down,
      step: giving(five1Down, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "nobody gets a turn while another one has it",
      given: turned,
      step: giving(turned, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a turn that waits for a person is in nobody's way",
      given: asked,
      step: giving(asked, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "who has its turn may get another wish",
      given: five1DownTurned,
      step: giving(five1DownTurned, "my-etcd-2", "3.6.18"),
      is: "allowed",
    },
    {
      name: "what changes nothing of what it runs is no turn",
      given: turned,
      step: { do: "replacePeer", live: peerOf(turned, "my-etcd-2"), peer: fencedPeer(turned, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "nor while its pod does not say what it was made from",
      given: madeFrom(turned, "my-etcd-2", undefined),
      step: { do: "replacePeer", live: peerOf(turned, "my-etcd-2"), peer: fencedPeer(turned, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "who takes no part loses nothing",
      given: fiveDown(["my-etcd-1", "my-etcd-2"]),
      step: giving(fiveDown(["my-etcd-1", "my-etcd-2"]), "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a learner has no turn",
      given: withArrival(five1Down, "my-etcd-5", "started"),
      step: giving(withArrival(five1Down, "my-etcd-5", "started"), "my-etcd-5"),
      is: "allowed",
    },
    {
      name: "nor has who is no member",
      given: withoutMember(five1Down, "my-etcd-2"),
      step: giving(five1Down, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "an EtcdPeer of which nothing is said is for others to judge",
      given: turned,
      step: { ...STEPS.replacePeer, peer: { ...STEPS.replacePeer.peer, spec: undefined } } as never,
      is: "allowed",
    },
  ],
  "restart-keeps-quorum": [
    {
      name: "of three one may restart, and take the last spare voter for a while",
      given: settled,
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "of three none may restart while another one is down",
      given: lost,
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is down itself takes nothing away",
      given: lost,
      step: restarting(lost, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "nor does a pod in which nothing runs, whoever else is down",
      given: withCrashing(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody gets a turn that could not be used: voters of somebody else are not counted on",
      given: withMember(settled, THEIRS),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who takes part counts, although it serves no clients yet",
      given: unpublished(settled, "my-etcd-1"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a learner has no vote: it may restart whoever is down",
      given: withArrival(lost, "my-etcd-3", "synced"),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "also when there is no quorum",
      given: withArrival(
        { ...cluster({ down: ["my-etcd-1", "my-etcd-2"] }), members: settled.members },
        "my-etcd-3",
        "synced",
      ),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "a voter that a person added, and that nobody can ask, may be the one that is missing",
      given: withMember(settled, THEIRS),
      step: restarting(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "of two both may, one after another, when no more are wanted",
      given: cluster({ replicas: 2 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "but not while a third one is wanted",
      given: asking(cluster({ replicas: 2 }), { replicas: 3 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor while there are three still, one of them down",
      given: asking(lost, { replicas: 2 }),
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
  ],
  "version-path": [
    {
      name: "a member restarts with the release that it has",
      given: settled,
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a member without an EtcdPeer is for others to judge",
      given: { ...settled, peers: [] },
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with a release that there is no way to any more",
      given: withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "what another member is to run is its own business",
      given: withPeer(settled, "my-etcd-1", { spec: { version: "3.4.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a member may get the next minor",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.7.1"),
      is: "allowed",
    },
    {
      name: "a member may not get the minor before the one before",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.4.35"),
      is: "forbidden",
    },
    {
      name: "who has a release already may get something else with it, whether or not there is a way",
      given: withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }),
      step: giving(withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }), "my-etcd-2", "3.4.35"),
      is: "allowed",
    },
    {
      name: "nobody gets an EtcdPeer with a release that there is no way to",
      given: settled,
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.4.35" }),
      is: "forbidden",
    },
    {
      name: "who ran the minor before last gets it back with its EtcdPeer",
      given: lastOf("3.5.35"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }),
      is: "allowed",
    },
    {
      name: "nobody else gets it",
      given: lastOf("3.5.35"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "what is on record is no reason to give it to a member that has an EtcdPeer",
      given: recording(settled, "3.6.16", "3.6.16", "3.4.35"),
      step: giving(settled, "my-etcd-2", "3.4.35"),
      is: "forbidden",
    },
    { name: "everybody gets one with what the cluster runs", given: settled, step: STEPS.createPeer, is: "allowed" },
    {
      name: "a new EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: creating(undefined),
      is: "allowed",
    },
    { name: "what is about no EtcdPeer is for others to judge", given: settled, step: STEPS.stopUpdate, is: "allowed" },
    {
      name: "an EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: { ...STEPS.replacePeer, peer: { ...STEPS.replacePeer.peer, spec: undefined } } as never,
      is: "allowed",
    },
  ],
  "downgrade-enabled": [
    { name: "a member restarts with the release that it has", given: settled, step: STEPS.restartPod, is: "allowed" },
    {
      name: "a member without an EtcdPeer is for others to judge",
      given: { ...settled, peers: [] },
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with the minor before",
      given: sentBack,
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "unless its data can be read by it",
      given: withPeer(converted, "my-etcd-2", { spec: { version: "3.5.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with the next minor while data is in the format of the one before",
      given: withPeer(converted, "my-etcd-1", { spec: { version: "3.7.1" } }),
      step: restarting(converted, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor is anybody given it",
      given: converted,
      step: giving(converted, "my-etcd-1", "3.7.1"),
      is: "forbidden",
    },
    {
      name: "what another member is to run is its own business",
      given: withPeer(settled, "my-etcd-1", { spec: { version: "3.5.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a pod in which nothing runs is made anew all the same",
      given: withPeer(recording(crashing, "3.6.16", "3.6.16", "3.6.16"), "my-etcd-2", { spec: { version: "3.5.35" } }),
      step: restarting(crashing, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member may not get the minor before",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.5.35"),
      is: "forbidden",
    },
    {
      name: "unless its data can be read by it by now",
      given: converted,
      step: giving(converted, "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "what another one says does not count",
      given: converted,
      step: giving(converted, "my-etcd-1", "3.5.35"),
      is: "forbidden",
    },
    {
      name: "as long as a member runs that minor, the others may get it",
      given: saying(settled, "3.5.30", "3.6.16", "3.6.16"),
      step: giving(saying(settled, "3.5.30", "3.6.16", "3.6.16"), "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "a member may get the next minor",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.7.1"),
      is: "allowed",
    },
    {
      name: "who has a release already may get something else with it",
      given: sentBack,
      step: giving(sentBack, "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "who ran the minor before gets it back with its EtcdPeer",
      given: lastOf("3.6.16"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.16" }),
      is: "allowed",
    },
    {
      name: "nobody else gets it",
      given: lastOf("3.6.16"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.16" }, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor does who is to join",
      given: settled,
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }, "my-etcd-3"),
      is: "forbidden",
    },
    {
      name: "unless a member runs it",
      given: saying(settled, "3.6.16", "3.7.1", "3.7.1"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.17" }, "my-etcd-3"),
      is: "allowed",
    },
    { name: "everybody gets one with what the cluster runs", given: settled, step: STEPS.createPeer, is: "allowed" },
    {
      name: "a new EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: creating(undefined),
      is: "allowed",
    },
    { name: "what is about no EtcdPeer is for others to judge", given: settled, step: STEPS.stopUpdate, is: "allowed" },
  ],
  "fence-before-vote": [
    {
      name: "who could bootstrap gets no vote",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who may only restart gets a vote",
      given: withArrival(settled, "my-etcd-3", "synced"),
      step: STEPS.promote,
      is: "allowed",
    },
    {
      name: "whose running pod could still bootstrap gets no vote",
      given: withPod(withArrival(settled, "my-etcd-3", "synced"), pod("my-etcd-3", { ready: true, fenced: false })),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who has no pod gets no vote",
      given: withPod(withArrival(settled, "my-etcd-3", "synced"), undefined),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who has no peer gets no vote",
      given: withArrival(settled, "my-etcd-3", "synced", { peer: false }),
      step: STEPS.promote,
      is: "forbidden",
    },
  ],
  "nobody-vouches": [
    { name: "who is lost and silent is given up", given: lost, step: replacing(lost), is: "allowed" },
    { name: "who takes part is not given up", given: settled, step: replacing(settled), is: "forbidden" },
    {
      name: "whom the kubelet calls ready is not given up",
      given: { ...lost, pods: settled.pods },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "from whom the leader hears is not given up",
      given: { ...lost, heard: new Set([identity.initialMembers[1]!.id]) },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "a claim that the cache does not know is no reason while the kubelet calls the member ready",
      given: {
        ...lost,
        pods: settled.pods,
        claims: settled.claims.filter(({ metadata }) => metadata.name !== m1!.name),
      },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "nor while it takes part",
      given: { ...settled, claims: settled.claims.filter(({ metadata }) => metadata.name !== m1!.name) },
      step: replacing(settled),
      is: "forbidden",
    },
    {
      name: "a removal may always be taken back",
      given: settled,
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "when fewer are wanted the healthy may go",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "who takes part again is not removed on the word of yesterday",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "whose removal was asked for is removed",
      given: withRemoval(settled, "my-etcd-2", "scale-down"),
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "a removal without a reason is for others to judge",
      given: settled,
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "a learner costs no vote",
      given: withRemoval(withArrival(settled, "my-etcd-3", "synced"), "my-etcd-3", "replacement"),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
  ],
  "not-a-member": [
    {
      name: "an intent goes also when etcd has added its member meanwhile, which gets an EtcdPeer again",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "allowed",
    },
    {
      name: "an intent has no claim to let go of",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: intent("my-etcd-3") },
      is: "forbidden",
    },
    {
      name: "a member that was added again under its old URL is another one",
      given: withoutMember(settled, "my-etcd-2"),
      step: { do: "deletePeer", peer: { ...settled.peers[2]!, spec: { ...settled.peers[2]!.spec, memberID: "abc" } } },
      is: "allowed",
    },
    {
      name: "whom etcd lists under another URL stays",
      given: withMember(
        withoutMember(settled, "my-etcd-2"),
        stranger({ id: m2!.id, peerUrls: ["http://elsewhere:2380"] }),
      ),
      step: STEPS.releaseClaim,
      is: "forbidden",
    },
    { name: "who is a member stays", given: settled, step: STEPS.deletePeer, is: "forbidden" },
    {
      name: "who has left may go",
      given: withoutMember(settled, "my-etcd-2"),
      step: STEPS.releaseClaim,
      is: "allowed",
    },
    {
      name: "without a member list nobody goes",
      given: withoutList(settled),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "forbidden",
    },
  ],
  "alarm-is-over": [
    {
      name: "the alarm of a member stays",
      given: settled,
      step: { do: "disarmAlarm", id: m1!.id, type: "NOSPACE" },
      is: "forbidden",
    },
    { name: "the alarm of who has left is lowered", given: settled, step: STEPS.disarmAlarm, is: "allowed" },
  ],
  "asked-to-delete": [
    {
      name: "the claim of who was lost is kept",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement") },
      is: "forbidden",
    },
    {
      name: "fewer members were asked for: the claim goes",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("scale-down") },
      is: "allowed",
    },
    {
      name: "no etcd ever ran on it: the claim goes",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("never-started") },
      is: "allowed",
    },
    {
      name: "to put the claim of who was lost aside nobody has to ask",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: marked("replacement"), finalizer: QUARANTINE_FINALIZER },
      is: "allowed",
    },
    {
      name: "nobody is marked as one too many while there are no more than are wanted",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "one too many is marked",
      given: asking(settled, { replicas: 2 }),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "a voter that a person added does not make one of ours too many",
      given: withMember(settled, stranger({ name: "theirs", peerUrls: ["http://elsewhere:2380"] })),
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "a learner that is not wanted any more is marked as one too many",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "a learner that is wanted is not marked as one too many",
      given: asking(withArrival(settled, "my-etcd-3", "started"), { replicas: 4 }),
      step: { do: "markRemoval", peer: arrivingPeer("started"), removal: "scale-down" },
      is: "forbidden",
    },
    {
      name: "who may hold data is not marked as never started",
      given: lost,
      step: { ...STEPS.markRemoval, removal: "never-started" },
      is: "forbidden",
    },
    {
      name: "whose claim never got a volume is marked as never started",
      given: withUnboundLearner(withArrival(settled, "my-etcd-3", "added")),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "never-started" },
      is: "allowed",
    },
    {
      name: "who is no member is not marked for a reason that costs the claim",
      given: asking(settled, { replicas: 1 }),
      step: { do: "markRemoval", peer: arrivingPeer("added"), removal: "scale-down" },
      is: "forbidden",
    },
    { name: "who is lost is marked, and keeps the claim", given: settled, step: STEPS.markRemoval, is: "allowed" },
  ],
  "own-only": [
    { name: "the cluster's own Secret is written", given: certified, step: STEPS.spreadTrust, is: "allowed" },
    { name: "somebody else's is not", given: theirSecret, step: issuing(theirSecret), is: "forbidden" },
    {
      name: "nor that of an earlier cluster of the name",
      given: certified,
      step: issuing(certified, { ownerUid: "earlier" }),
      is: "forbidden",
    },
    {
      name: "one that is not there may be made",
      given: certified,
      step: { do: "issueLeaf", purpose: "peer", authority: ownCA, facts: undefined },
      is: "allowed",
    },
    {
      name: "an authority of somebody else is not followed",
      given: certified,
      step: { do: "rotateAuthority", side: "peer", phase: "add", facts: { ...ownCA, ownerUid: undefined } },
      is: "forbidden",
    },
    ...(["markRemoval", "releaseClaim", "deletePeer"] as const).map(
      (kind): Case => ({
        name: `${kind} is not for a peer that another owner manages`,
        given: settled,
        step: { ...STEPS[kind], peer: disowned(settled.peers[2]!) } as ClusterStep,
        is: "forbidden",
      }),
    ),
    {
      name: "a peer that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replacePeer, live: disowned(settled.peers[0]!) },
      is: "forbidden",
    },
    {
      name: "a Service that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replaceService, live: disowned<Service>(settled.clientService!) },
      is: "forbidden",
    },
    {
      name: "a budget that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replaceBudget, live: disowned<PodDisruptionBudget>(settled.budget!) },
      is: "forbidden",
    },
    {
      name: "nor is it deleted",
      given: settled,
      step: { ...STEPS.deleteBudget, live: disowned<PodDisruptionBudget>(settled.budget!) },
      is: "forbidden",
    },
    ...Object.values(STEPS).map(
      (step): Case => ({ name: `${step.do} is for what is the cluster's own`, given: settled, step, is: "allowed" }),
    ),
  ],
  // Every kind of step, when nobody knows who is a member.
  "need-member-list": (
    [
      ["recordIdentity", "allowed"],
      ["recordJoined", "allowed"],
      ["createService", "allowed"],
      ["replaceService", "allowed"],
      ["createBudget", "allowed"],
      ["replaceBudget", "allowed"],
      ["deleteBudget", "allowed"],
      ["createPeer", "allowed"],
      ["replacePeer", "allowed"],
      ["restartPod", "forbidden"],
      ["stopUpdate", "allowed"],
      ["markRemoval", "forbidden"],
      ["releaseClaim", "forbidden"],
      ["deletePeer", "forbidden"],
      ["addLearner", "forbidden"],
      ["promote", "forbidden"],
      ["removeMember", "forbidden"],
      ["disarmAlarm", "forbidden"],
      ["enableDowngrade", "forbidden"],
      ["cancelDowngrade", "forbidden"],
      ["moveLeader", "forbidden"],
    ] as const
  ).flatMap(([kind, is]): readonly Case[] => [
    { name: `without a member list ${kind} is ${is}`, given: withoutList(settled), step: STEPS[kind], is },
    { name: `with a member list ${kind} is for others to judge`, given: settled, step: STEPS[kind], is: "allowed" },
    ...(kind === "restartPod" ? [STOPPED] : []),
  ]),
};

function withoutList(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, members: { is: "unknown", why: "nobody has a leader" } };
}

function idIn(snapshot: ClusterSnapshot, name: string) {
  return memberIdFromHex(snapshot.cluster.status!.identity!.initialMembers.find((each) => each.name === name)!.id);
}

function intent(name: string): EtcdPeer {
  return peerOf(withArrival(settled, name, "intended"), name);
}

function marked(removal: string): EtcdPeer {
  return peerOf(changedPeer(settled, "my-etcd-2", { annotations: { [REMOVAL_ANNOTATION]: removal } }), "my-etcd-2");
}

function disowned<T extends EtcdPeer | Service | PodDisruptionBudget>(object: T): T {
  return born({ ...object, metadata: { ...object.metadata, ownerReferences: [] } } as never) as T;
}

for (const [guard, promises] of Object.entries(cases)) {
  for (const { name, given, step, is } of promises) {
    test(`cluster guards: ${guard}: ${name}`, () => {
      const why = CLUSTER_GUARDS.find((each) => each.name === guard)!.forbids(given, step);
      expect(why === undefined ? "allowed" : "forbidden", why).toBe(is);
    });
  }
}

test("cluster guards: each has promises above, and each of its answers is among them", () => {
  expect(Object.keys(cases).sort()).toEqual(CLUSTER_GUARDS.map(({ name }) => name).sort());
  for (const [guard, promises] of Object.entries(cases))
    expect([guard, ...new Set(promises.map(({ is }) => is))].sort()).toEqual([guard, "allowed", "forbidden"].sort());
});
