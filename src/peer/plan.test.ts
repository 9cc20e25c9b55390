import { expect, test } from "vitest";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLEANUP_FINALIZER,
  FENCE,
  INITIAL_CLUSTER_ANNOTATION,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_FINALIZER,
  QUARANTINE_LABEL,
  REMOVAL_ANNOTATION,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { present, unknown } from "#base/observed.ts";
import { clusterId, type EndpointStatus, memberId } from "#etcd/types.ts";
import { OWN_PEM } from "#kit/authorities.ts";
import type { PersistentVolumeClaim, Pod, ReplicaSet, StorageClass } from "#kube/kinds.ts";
import { startAnnotations } from "#peer/desired/etcd-flags.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { PEER_RULES, planPeer } from "#peer/plan.ts";
import { awaitMember } from "#peer/rules/pod/await-member.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import { peerStatus } from "#peer/status.ts";
import type { PeerStep } from "#peer/step.ts";
import type { Condition } from "#runtime/conditions.ts";
import type { Rest } from "#runtime/decide.ts";
import { born, claim, NOW, pod } from "../../test/kit/cluster.ts";
import { BOOTSTRAP, peer } from "../../test/kit/peer.ts";
import { planText } from "../../test/kit/plan-text.ts";

function stepText(step: PeerStep): string {
  return `${step.do}${flagsIn(step)}`;
}

function flagsIn(step: PeerStep): string {
  if (!("replicaSet" in step)) return "";
  const list = step.replicaSet.spec?.template?.metadata?.annotations?.[INITIAL_CLUSTER_ANNOTATION];
  return list === FENCE ? " fenced" : ` of ${list?.split(",").length}`;
}

/** Asked for, and not added yet. */
const intended = peer({
  stage: "new",
  spec: { bootstrap: { ...BOOTSTRAP, initialClusterState: "Existing" }, memberID: undefined },
});

/** On its way out, with what is to become of its claim. */
function leaving(finalizer: string, claimIs: object = {}, removal = "scale-down"): PeerSnapshot {
  const snapshot = peer({ deleting: true, finalizers: [finalizer] });
  const { claim: own } = snapshot;
  const { metadata } = snapshot.peer;
  const annotations = { [REMOVAL_ANNOTATION]: removal };
  return {
    ...snapshot,
    peer: { ...snapshot.peer, metadata: { ...metadata, annotations } },
    claim: { ...own, metadata: { ...own?.metadata, ...claimIs } } as PersistentVolumeClaim,
  };
}

/** With a pod that an earlier release of the operator made, which does not say what it was made from. */
function unsaid(metadata: object, spec: object = {}): PeerSnapshot {
  const snapshot = peer({ spec });
  const its = snapshot.pod!;
  const { [REVISION_ANNOTATION]: _, ...annotations } = its.metadata.annotations!;
  return { ...snapshot, pod: { ...its, metadata: { ...its.metadata, annotations, ...metadata } } as Pod };
}

/** With other metadata on the member's own claim. */
function claimWith(metadata: object): PeerSnapshot {
  const { claim: own } = peer();
  return peer({ with: { claim: { ...own, metadata: { ...own?.metadata, ...metadata } } as PersistentVolumeClaim } });
}

const starting = peer({ stage: "starting" });
const joined = peer({ stage: "joined" });
/** Its ReplicaSet wants no pod any more. */
const sleeping = peer({
  with: { isAsleep: true, replicaSet: born<ReplicaSet>(replicaSet({ ...peer(), isAsleep: true })) },
});
const foreignReplicaSet = born<ReplicaSet>({
  ...replicaSet(peer()),
  metadata: { ...replicaSet(peer()).metadata, ownerReferences: [] },
});

/** The member's pod in another state. */
function podIn(status: object, metadata: object = {}): Pod {
  const base = pod("my-etcd-0", { ready: false });
  return { ...base, metadata: { ...base.metadata, ...metadata }, spec: {}, status } as unknown as Pod;
}
function waiting(reason: string, message?: string): Pod {
  return podIn({ phase: "Pending", containerStatuses: [{ name: "etcd", state: { waiting: { reason, message } } }] });
}
function unscheduled(message: string): Pod {
  return podIn({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] });
}
const volumeless = unscheduled("pod has unbound immediate PersistentVolumeClaims");
const pendingClaim = (storageClassName?: string): PersistentVolumeClaim =>
  ({
    ...starting.claim,
    spec: storageClassName === undefined ? {} : { storageClassName },
    status: { phase: "Pending" },
  }) as PersistentVolumeClaim;
/** Classes by name; the starred one is the default. */
const classes = (...names: readonly string[]) =>
  present(
    names.map((name) => {
      const annotations = { "storageclass.kubernetes.io/is-default-class": String(name.endsWith("*")) };
      return { metadata: { name: name.replace("*", ""), annotations } } as unknown as StorageClass;
    }),
  );
const overQuota = born<ReplicaSet>({
  ...starting.replicaSet!,
  status: {
    replicas: 0,
    conditions: [
      {
        type: "ReplicaFailure",
        status: "True",
        reason: "FailedCreate",
        message: "pods is forbidden: exceeded quota: q",
      },
    ],
  },
});

const cases: { name: string; given: PeerSnapshot; expect: string; because?: string | RegExp }[] = [
  { name: "does nothing when all is well", given: peer(), expect: "settled" },
  { name: "lets a peer go that is being deleted", given: peer({ stage: "new", deleting: true }), expect: "settled" },
  {
    name: "waits, hands off, while the cluster is paused",
    given: peer({ stage: "new", with: { pausedBy: "spec.paused is true" } }),
    expect: "wait: paused",
  },
  {
    name: "starts nothing of a member that no cluster has made",
    given: peer({ stage: "new", spec: { clusterID: undefined } }),
    expect: "warn: await-membership",
    because: "create one",
  },
  { name: "starts nothing of a member that etcd has not added", given: intended, expect: "wait: await-membership" },
  {
    name: "deletes the claim with a member that left because fewer are wanted",
    given: leaving(CLEANUP_FINALIZER),
    expect: "release-claim: deleteClaim",
  },
  {
    name: "deletes the claim with a member that never ran",
    given: leaving(CLEANUP_FINALIZER, {}, "never-started"),
    expect: "release-claim: deleteClaim",
  },
  {
    name: "leaves a claim alone that a person has put aside",
    given: leaving(CLEANUP_FINALIZER, { labels: { [QUARANTINE_LABEL]: "true" } }),
    expect: "release-claim: releasePeer",
  },
  {
    name: "keeps the claim when the finalizer has outlived its reason",
    given: leaving(CLEANUP_FINALIZER, {}, ""),
    expect: "release-claim: releasePeer",
  },
  {
    name: "lets the peer go once its claim is going",
    given: leaving(CLEANUP_FINALIZER, { deletionTimestamp: "2026-01-01T12:00:00Z" }),
    expect: "release-claim: releasePeer",
  },
  {
    name: "puts the claim of a lost member aside",
    given: leaving(QUARANTINE_FINALIZER),
    expect: "release-claim: quarantineClaim",
  },
  {
    name: "lets the peer go once its claim is put aside",
    given: leaving(QUARANTINE_FINALIZER, { labels: { [QUARANTINE_LABEL]: "true" } }),
    expect: "release-claim: releasePeer",
  },
  {
    name: "leaves the claim of another member alone, whatever is asked",
    given: peer({ deleting: true, finalizers: [CLEANUP_FINALIZER], with: { claim: claim("my-etcd-0") } }),
    expect: "release-claim: releasePeer",
  },
  {
    name: "has its claim say that it is reached over TLS from now on",
    given: {
      ...joined,
      peer: { ...joined.peer, spec: { ...joined.peer.spec, tls: { peer: { secretName: "a", trust: "b" } } } },
    },
    expect: "annotate-claim: annotateClaim",
  },
  {
    name: "and that it is so no more",
    given: claimWith({ annotations: { ...joined.claim?.metadata.annotations, [PEER_SCHEME_ANNOTATION]: "https" } }),
    expect: "annotate-claim: annotateClaim",
  },
  {
    name: "gives its claim the labels back that somebody took",
    given: claimWith({ labels: {} }),
    expect: "label-claim: labelClaim",
  },
  {
    name: "says what its own claim has to say, when somebody took that away",
    given: claimWith({ annotations: {} }),
    expect: "warn: claim-disowned",
  },
  {
    name: "fences the next pod of a member whose claim is another one now, before it tells",
    given: { ...claimWith({ annotations: {} }), replicaSet: joined.replicaSet },
    expect: "replica-set: replaceReplicaSet fenced",
  },
  {
    name: "starts nobody over a claim that is another one now",
    given: { ...claimWith({ annotations: {} }), replicaSet: undefined, pod: undefined },
    expect: "warn: claim-disowned",
  },
  {
    name: "fences the pod that runs, not only the next one",
    given: peer({ with: { pod: pod("my-etcd-0", { ready: true, fenced: false }) } }),
    expect: "fence-pod: annotatePod",
  },
  {
    name: "asks a member again soon that could not be asked",
    given: peer({ with: { endpoint: unknown("no answer within 1 s") } }),
    expect: "wait: await-member",
  },
  { name: "makes the claim before all else", given: peer({ stage: "new" }), expect: "create-claim: createClaim" },
  {
    name: "does not start over a claim of another cluster",
    given: peer({ stage: "new", with: { claim: claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" }) } }),
    expect: "warn: claim-taken",
    because: "claim my-etcd-0 holds data of cluster abc",
  },
  {
    name: "does not start over a claim of which nobody knows whose it is",
    given: peer({ stage: "new", with: { claim: claim("my-etcd-0") } }),
    expect: "warn: claim-taken",
    because: "of unknown origin",
  },
  {
    name: "makes no empty claim for a member that has joined",
    given: peer({ with: { claim: undefined } }),
    expect: "warn: claim-lost",
    because: "the claim of my-etcd-0 is gone",
  },
  {
    name: "asks for a pod once the claim is there",
    given: peer({ stage: "claimed" }),
    expect: "replica-set: createReplicaSet of 3",
  },
  {
    name: "does not take over a ReplicaSet of its name",
    given: peer({ stage: "claimed", with: { replicaSet: foreignReplicaSet } }),
    expect: "warn: replica-set-taken",
    because: "nobody manages it",
  },
  {
    name: "takes the means to bootstrap from the next pod, and leaves the running one alone",
    given: peer({ with: { replicaSet: joined.replicaSet, pod: joined.pod } }),
    expect: "replica-set: replaceReplicaSet fenced",
    because: "can restart the member but never bootstrap it",
  },
  {
    name: "gives a joined member its deleted ReplicaSet back, fenced",
    given: peer({ with: { replicaSet: undefined } }),
    expect: "replica-set: createReplicaSet fenced",
  },
  { name: "waits for the pod to be made", given: { ...starting, pod: undefined }, expect: "wait: await-pod" },
  { name: "waits for the pod to be ready", given: starting, expect: "wait: await-pod", because: "not ready yet" },
  {
    name: "takes an image on its way for granted",
    given: { ...starting, pod: waiting("ContainerCreating") },
    expect: "wait: await-pod",
  },
  {
    name: "warns of an image that cannot be pulled",
    given: { ...starting, pod: waiting("ErrImagePull", "not found") },
    expect: "warn: await-pod",
    because: "container etcd waits: ErrImagePull (not found)",
  },
  {
    name: "does not warn of a young pod",
    given: { ...starting, pod: waiting("ErrImagePull"), takenAtMs: NOW - 3_600_000 + 9_000 },
    expect: "wait: await-pod",
  },
  {
    name: "warns of a pod for which there is no node",
    given: { ...starting, pod: unscheduled("0/3 nodes match"), claim: pendingClaim("fast") },
    expect: "warn: await-pod",
    because: /^pod cannot be scheduled: 0\/3 nodes match$/,
  },
  {
    name: "names the claim and its class when no volume is found",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast") },
    expect: "warn: await-pod",
    because: "claim my-etcd-0 of storage class fast is Pending; pod cannot be scheduled: pod has unbound",
  },
  {
    name: "says that there is no default class",
    given: { ...starting, pod: volumeless, claim: pendingClaim() },
    expect: "warn: await-pod",
    because: "claim my-etcd-0 without a storage class is Pending",
  },
  {
    name: "names the storage class that does not exist, and those that do",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast"), storageClasses: classes("slow", "local*") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 is Pending: storage class fast does not exist; there are: local, slow$/,
  },
  {
    name: "says when there is no storage class at all",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast"), storageClasses: classes() },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 is Pending: storage class fast does not exist; there is none$/,
  },
  {
    name: "says that no storage class is the default one, and which there are",
    given: { ...starting, pod: volumeless, claim: pendingClaim(), storageClasses: classes("slow", "local") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 is Pending: there is no default storage class; there are: local, slow$/,
  },
  {
    name: "names ten of many storage classes",
    given: {
      ...starting,
      pod: volumeless,
      claim: pendingClaim("fast"),
      storageClasses: classes(...Array.from({ length: 12 }, (_, n) => `c${n}`)),
    },
    expect: "warn: await-pod",
    because: /there are: c0, c1, c10, c11, c2, c3, c4, c5, c6, c7 and 2 more$/,
  },
  {
    name: "tells what the scheduler says when the storage class exists",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast"), storageClasses: classes("fast") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 of storage class fast is Pending; pod cannot be scheduled/,
  },
  {
    name: "tells what the scheduler says when a default storage class exists by now",
    given: { ...starting, pod: volumeless, claim: pendingClaim(), storageClasses: classes("local*") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 without a storage class is Pending; pod cannot be scheduled/,
  },
  {
    name: "asks for no storage class on behalf of a claim that wants none",
    given: { ...starting, pod: volumeless, claim: pendingClaim(""), storageClasses: classes("local*") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 without a storage class is Pending; pod cannot be scheduled/,
  },
  {
    name: "tells what the scheduler says when the storage classes could not be read",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast"), storageClasses: unknown("forbidden") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 of storage class fast is Pending; pod cannot be scheduled/,
  },
  {
    name: "notes on a pod of an earlier release what it was made from",
    given: unsaid({}),
    expect: "note-revision: annotatePod",
  },
  {
    name: "notes nothing on a pod that is going",
    given: unsaid({ deletionTimestamp: "2026-01-01T12:00:00Z" }),
    expect: "settled",
  },
  {
    name: "stops a member whose cluster sleeps",
    given: peer({ with: { isAsleep: true } }),
    expect: "replica-set: replaceReplicaSet fenced",
    because: "the pod of my-etcd-0 stops: spec.replicas of its EtcdCluster is 0",
  },
  {
    name: "waits for the pod of a member that is to sleep",
    given: sleeping,
    expect: "wait: asleep",
    because: "its cluster sleeps; pod my-etcd-0-abcde has yet to stop",
  },
  { name: "does nothing about a member that sleeps", given: { ...sleeping, pod: undefined }, expect: "settled" },
  {
    name: "does not wait for a pod that has ended for good, and stays on record",
    given: { ...sleeping, pod: { ...sleeping.pod!, status: { ...sleeping.pod!.status, phase: "Failed" } } },
    expect: "settled",
  },
  {
    name: "keeps a ReplicaSet for a member that sleeps, without a pod",
    given: { ...sleeping, pod: undefined, replicaSet: undefined },
    expect: "replica-set: createReplicaSet fenced",
  },
  {
    name: "starts a member whose cluster was woken",
    given: { ...sleeping, pod: undefined, isAsleep: false },
    expect: "replica-set: replaceReplicaSet fenced",
    because: "can restart the member but never bootstrap it",
  },
  {
    name: "fences a member that sleeps",
    given: { ...sleeping, pod: undefined, replicaSet: born<ReplicaSet>(replicaSet({ ...joined, isAsleep: true })) },
    expect: "replica-set: replaceReplicaSet fenced",
    because: "can restart the member but never bootstrap it",
  },
  {
    name: "makes no claim for a member that sleeps, whether or not it has joined",
    given: { ...starting, isAsleep: true, claim: undefined, pod: undefined, replicaSet: undefined },
    expect: "settled",
  },
  {
    name: "warns of a pod that nobody may make",
    given: { ...starting, pod: undefined, replicaSet: overQuota },
    expect: "warn: await-pod",
    because: "its pod cannot be created: pods is forbidden: exceeded quota: q",
  },
];

for (const { name, given, expect: wanted, because = "" } of cases) {
  test(`peer plan: ${name}`, () => {
    const plan = planPeer(given);
    expect(planText(plan, stepText)).toBe(wanted);
    if (plan.next !== "settled") expect(plan.because).toMatch(because);
  });
}

/** The first of the cases above that this rule decides. */
function decidedBy(rule: string): PeerSnapshot {
  return cases.find(({ expect: wanted }) => wanted.endsWith(`: ${rule}`))!.given;
}

test("peer plan: a ReplicaSet that somebody has set to 0 over another claim is fenced and stays at 0", () => {
  const stopped = { ...joined.replicaSet!, spec: { ...joined.replicaSet!.spec!, replicas: 0 } };
  const plan = planPeer({ ...claimWith({ annotations: {} }), replicaSet: stopped });
  expect(planText(plan, stepText)).toBe("replica-set: replaceReplicaSet fenced");
  expect(plan).toMatchObject({ step: { replicaSet: { spec: { replicas: 0 } } } });
  expect(planText(planPeer({ ...peer(), replicaSet: stopped }), stepText)).toBe(
    "replica-set: replaceReplicaSet fenced",
  );
});

test("peer plan: a member over another claim sleeps like any other, and is not started again", () => {
  const given = claimWith({ annotations: {} });
  const plan = planPeer({ ...given, isAsleep: true });
  expect(plan).toMatchObject({ rule: "replica-set", step: { replicaSet: { spec: { replicas: 0 } } } });
  const woken = planPeer({ ...given, replicaSet: sleeping.replicaSet });
  expect(woken).toMatchObject({ rule: "replica-set", step: { replicaSet: { spec: { replicas: 0 } } } });
});

test("peer plan: of a member that is to run nobody says that it stops", () => {
  const stale = { ...peer().replicaSet!, metadata: { ...peer().replicaSet!.metadata, annotations: {} } };
  const because = "the next pods of my-etcd-0 can restart the member but never bootstrap it";
  expect(planPeer({ ...peer(), replicaSet: stale })).toMatchObject({ rule: "replica-set", because });
});

test("peer plan: every rule decides at least one of the cases above", () => {
  const deciding = new Set(
    cases.map(({ given }) => planPeer(given)).flatMap((plan) => (plan.next === "settled" ? [] : [plan.rule])),
  );
  // `deleting` decides by settling, which leaves no name.
  expect(PEER_RULES.map(({ name }) => name).filter((name) => !deciding.has(name) && name !== "deleting")).toEqual([]);
});

const bootstrapping: PeerStep = { do: "createReplicaSet", replicaSet: replicaSet(starting) };
const forbidden: { name: string; guard: string; given: PeerSnapshot; step: PeerStep }[] = [
  { name: "a pod without a claim", guard: "claim-first", given: peer({ stage: "new" }), step: bootstrapping },
  {
    name: "a pod on another cluster's claim",
    guard: "claim-first",
    given: peer({ stage: "new", with: { claim: claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" }) } }),
    step: bootstrapping,
  },
  {
    name: "an empty claim for a member that has joined",
    guard: "never-twice",
    given: peer({ with: { claim: undefined } }),
    step: { do: "createClaim", claim: { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "x" } } },
  },
  { name: "flags that bootstrap a joined member", guard: "never-twice", given: peer(), step: bootstrapping },
  {
    name: "flags that bootstrap in a ReplicaSet that is there",
    guard: "never-twice",
    given: peer(),
    step: { do: "replaceReplicaSet", live: joined.replicaSet!, replicaSet: replicaSet(starting) },
  },
  {
    name: "stopping a member that is not to sleep",
    guard: "stop-is-asked",
    given: peer(),
    step: { do: "replaceReplicaSet", live: peer().replicaSet!, replicaSet: replicaSet(sleeping) },
  },
  {
    name: "deleting the claim of a member that stays",
    guard: "asked-to-delete",
    given: peer(),
    step: { do: "deleteClaim", claim: peer().claim! },
  },
  {
    name: "deleting the claim of a member that is only put aside",
    guard: "asked-to-delete",
    given: leaving(QUARANTINE_FINALIZER),
    step: { do: "deleteClaim", claim: peer().claim! },
  },
  {
    name: "deleting a claim for which only a finalizer speaks, and no reason",
    guard: "asked-to-delete",
    given: leaving(CLEANUP_FINALIZER, {}, ""),
    step: { do: "deleteClaim", claim: peer().claim! },
  },
  {
    name: "deleting the claim of another member",
    guard: "asked-to-delete",
    given: leaving(CLEANUP_FINALIZER),
    step: { do: "deleteClaim", claim: claim("my-etcd-0") },
  },
  {
    name: "means to bootstrap for the pod of a joined member",
    guard: "never-twice",
    given: peer(),
    step: { do: "annotatePod", pod: peer().pod!, annotations: startAnnotations(starting) },
  },
  {
    name: "a Secret that somebody has named in an EtcdPeer",
    guard: "known-secrets",
    given: peer(),
    step: {
      do: "createReplicaSet",
      replicaSet: replicaSet(peer({ spec: { tls: { peer: { secretName: "others", trust: OWN_PEM } } } })),
    },
  },
  {
    name: "changing what another owner manages",
    guard: "own-only",
    given: peer(),
    step: { do: "replaceReplicaSet", live: foreignReplicaSet, replicaSet: replicaSet(peer()) },
  },
];
for (const { name, guard, given, step } of forbidden) {
  test(`peer guards: ${guard} forbids ${name}`, () => {
    const holding = PEER_GUARDS.filter((each) => each.forbids(given, step) !== undefined).map((each) => each.name);
    expect(holding).toEqual([guard]);
  });
}

test("peer guards: every guard forbids at least one of the steps above", () => {
  expect(PEER_GUARDS.map(({ name }) => name)).toEqual([...new Set(forbidden.map(({ guard }) => guard))]);
});

const REFUSED: Rest = { because: "exceeded quota: q", code: "KubeForbidden", forMs: 500, isBrief: false };
const TAKEN: Rest = { ...REFUSED, because: "replicasets my-etcd-0 already exists", code: "KubeAlreadyExists" };
const READY = {
  type: "Ready",
  status: "True",
  reason: "MemberHealthy",
  message: "the member answers",
  observedGeneration: 1,
  lastTransitionTime: "2026-01-01T11:30:00Z",
} as const;
/** The member says something else of itself. @param told what its EtcdPeer says by now */
function answering(other: Partial<EndpointStatus>, told?: Condition): PeerSnapshot {
  const { endpoint, ...snapshot } = peer(told === undefined ? {} : { status: { conditions: [told] } });
  const answer = endpoint?.is === "present" ? endpoint.value : undefined;
  return { ...snapshot, endpoint: present({ ...answer!, ...other }) };
}
const verdicts: {
  name: string;
  given: PeerSnapshot;
  /** By the name of their rule: steps that are left alone for now, and why. */
  resting?: Readonly<Record<string, Rest>>;
  expect: string;
  message?: string;
}[] = [
  { name: "a healthy member", given: peer(), expect: "True MemberHealthy" },
  { name: "a peer that goes", given: peer({ deleting: true }), expect: "False Deleting" },
  { name: "a foreign claim", given: decidedBy("claim-taken"), expect: "False ClaimTaken" },
  { name: "a foreign ReplicaSet", given: decidedBy("replica-set-taken"), expect: "False NameTaken" },
  { name: "a lost claim", given: peer({ with: { claim: undefined } }), expect: "False ClaimLost" },
  { name: "a pod that is not ready", given: starting, expect: "False PodPending" },
  {
    name: "a refused claim",
    given: peer({ stage: "new" }),
    resting: { "create-claim": REFUSED },
    expect: "False StepRefused",
    message: "create-claim: exceeded quota: q",
  },
  {
    name: "a ReplicaSet whose name turns out to be taken",
    given: { ...starting, replicaSet: undefined, pod: undefined },
    resting: { "replica-set": TAKEN },
    expect: "False NameTaken",
    message: "replica-set: replicasets my-etcd-0 already exists",
  },
  {
    name: "a healthy member one of whose steps is put off",
    given: peer({ with: { replicaSet: undefined } }),
    resting: { "replica-set": { ...REFUSED, isBrief: true } },
    expect: "True MemberHealthy",
  },
  {
    name: "a member without an answer",
    given: peer({ with: { endpoint: unknown("refused") } }),
    expect: "False MemberUnreachable",
  },
  {
    name: "a member of another cluster",
    given: answering({ clusterId: clusterId(0xabcn) }),
    expect: "False MemberUnreachable",
    message: "it answers as part of cluster abc instead of 1d7f0a5bb4fdd2f0",
  },
  {
    name: "another member",
    given: answering({ memberId: memberId(0xdefn) }, READY),
    expect: "False MemberUnreachable",
    message: "it answers as member def instead of 8e9e05c52164694d",
  },
  {
    name: "a first member of which no ID is known",
    given: peer({ stage: "joined", spec: { memberID: undefined } }),
    expect: "True MemberHealthy",
  },
  {
    name: "a member that has had no leader yet",
    given: answering({ leaderId: undefined }),
    expect: "False MemberUnreachable",
    message: "it has no leader",
  },
  {
    name: "a member that has lost its leader",
    given: answering({ leaderId: undefined }, { ...READY, status: "False", reason: "PodPending" }),
    expect: "False MemberUnreachable",
  },
  {
    name: "one of whom something else is True",
    given: answering({ leaderId: undefined }, { ...READY, type: "Other" }),
    expect: "False MemberUnreachable",
  },
  {
    name: "a ready member without a leader, as during an election,",
    given: answering({ leaderId: undefined }, READY),
    expect: "True MemberHealthy",
  },
];
for (const { name, given, resting = {}, expect: wanted, message } of verdicts) {
  test(`peer status: ${name} is Ready=${wanted}, with a word why`, () => {
    const plan = planPeer(given, (rule) => resting[rule]);
    const ready = peerStatus(given, plan).conditions?.find(({ type }) => type === "Ready");
    expect(`${ready?.status} ${ready?.reason}`).toBe(wanted);
    expect(ready?.message).toMatch(message ?? /./);
  });
}

test("peer status: what the member says of itself stands in it, and only while it answers", () => {
  expect(peerStatus(peer(), planPeer(peer()))).toMatchObject({
    serverVersion: "3.6.16",
    memberID: peer().peer.spec.memberID,
    clusterID: peer().peer.spec.clusterID,
  });
  expect(peerStatus(starting, planPeer(starting))).not.toHaveProperty("serverVersion");
  expect(starting.peer.spec.bootstrap).toEqual(BOOTSTRAP);
});

test("peer plan: a pod of an earlier release was made from the EtcdPeer as it is", () => {
  const noted = (snapshot: PeerSnapshot) => planPeer(snapshot);
  const { spec } = peer().peer;
  const now = { [REVISION_ANNOTATION]: revisionOf(spec) };
  expect(noted(unsaid({}))).toMatchObject({ step: { annotations: now } });
});

test("peer status: what the next pod is made from stands in it once the ReplicaSet controller has taken it over", () => {
  const statusAt = (generation: number | undefined, observedGeneration: number | undefined) => {
    const own = peer().replicaSet!;
    const metadata = { ...own.metadata, generation };
    const seen = observedGeneration === undefined ? {} : { status: { replicas: 1, observedGeneration } };
    const given = peer({ with: { replicaSet: { ...own, metadata, ...seen } as ReplicaSet } });
    return peerStatus(given, planPeer(given));
  };
  const revision = revisionOf(peer().peer.spec);
  expect(statusAt(2, 2)).toMatchObject({ revision });
  expect(statusAt(2, 3)).toMatchObject({ revision });
  expect(statusAt(2, 1)).not.toHaveProperty("revision");
  expect(statusAt(2, undefined)).not.toHaveProperty("revision");
  expect(statusAt(undefined, undefined)).not.toHaveProperty("revision");
  expect(statusAt(undefined, 1)).toMatchObject({ revision });
  expect(peerStatus(starting, planPeer({ ...starting, replicaSet: undefined }))).not.toHaveProperty("revision");
});

test("peer status: the revision is what the ReplicaSet has, not what the EtcdPeer asks for by now", () => {
  const turned = peer({ spec: { version: "3.6.17" } });
  const old = peer().replicaSet!;
  const given = { ...turned, replicaSet: { ...old, status: { replicas: 1, observedGeneration: 1 } } as ReplicaSet };
  expect(peerStatus(given, planPeer(given))).toMatchObject({ revision: revisionOf(peer().peer.spec) });
});

test("peer plan: nobody is told to delete the claim of a member that runs", () => {
  const plan = planPeer(claimWith({ annotations: {} }));
  expect(plan).toMatchObject({ because: expect.stringContaining("set its annotations") });
  expect(plan).toMatchObject({ because: expect.not.stringContaining("delete") });
});

test("await-member: it asks again every two seconds at first, and every ten at last", () => {
  const silent = (madeAt: string) => {
    const its = pod("my-etcd-0", { ready: true });
    const made = { ...its, metadata: { ...its.metadata, creationTimestamp: madeAt } };
    return awaitMember.decide(peer({ with: { endpoint: unknown("no answer within 1 s"), pod: made } }));
  };
  expect(silent("2026-01-01T12:00:00Z")).toMatchObject({ next: "wait", recheckAfterMs: 2_000 });
  expect(silent("2026-01-01T11:00:00Z")).toMatchObject({ next: "wait", recheckAfterMs: 10_000 });
});
