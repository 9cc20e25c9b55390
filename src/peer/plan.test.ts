import { expect, test } from "vitest";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_RELEASE_ANNOTATION,
  CLEANUP_FINALIZER,
  FENCE,
  INITIAL_CLUSTER_ANNOTATION,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_FINALIZER,
  QUARANTINE_LABEL,
  REMOVAL_ANNOTATION,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { revisionOf, templateIn } from "#api/revision.ts";
import { present, unknown } from "#base/observed.ts";
import { clusterId, type EndpointStatus, memberId } from "#etcd/types.ts";
import { born, claim, NOW, pod } from "#kit/snapshots/cluster.ts";
import { BOOTSTRAP, peer } from "#kit/snapshots/peer.ts";
import { OWN_PEM } from "#kit/tables/authorities.ts";
import { planText } from "#kit/tables/plan-text.ts";
import type { PersistentVolumeClaim, Pod, ReplicaSet, StorageClass } from "#kube/kinds.ts";
import { startAnnotations } from "#peer/desired/etcd-flags.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { PEER_RULES, planPeer } from "#peer/plan.ts";
import { awaitMember } from "#peer/rules/pod.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import { peerStatus } from "#peer/status.ts";
import type { PeerStep } from "#peer/step.ts";
import type { Condition } from "#runtime/conditions.ts";
import type { Rest } from "#runtime/decide.ts";

function stepText(step: PeerStep): string {
  return `${step.do}${flagsIn(step)}`;
}

function flagsIn(step: PeerStep): string {
  if (!("replicaSet" in step)) return "";
  const list = step.replicaSet.spec?.template?.metadata?.annotations?.[INITIAL_CLUSTER_ANNOTATION];
  return list === FENCE ? " fenced" : ` of ${list?.split(",").length}`;
}

/** A member that etcd has not added yet. */
const intended = peer({
  stage: "new",
  spec: { bootstrap: { ...BOOTSTRAP, initialClusterState: "Existing" }, memberID: undefined },
});

/** A deleted peer, with the finalizer for its claim. */
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

/** The member with a pod that has lost its revision annotation. */
function unsaid(metadata: object, spec: object = {}): PeerSnapshot {
  const snapshot = peer({ spec });
  const its = snapshot.pod!;
  const { [REVISION_ANNOTATION]: _, ...annotations } = its.metadata.annotations!;
  return { ...snapshot, pod: { ...its, metadata: { ...its.metadata, annotations, ...metadata } } as Pod };
}

/** The member with other metadata on its own claim. */
function claimWith(metadata: object): PeerSnapshot {
  const { claim: own } = peer();
  return peer({ with: { claim: { ...own, metadata: { ...own?.metadata, ...metadata } } as PersistentVolumeClaim } });
}

const starting = peer({ stage: "starting" });
const joined = peer({ stage: "joined" });
/** The ReplicaSet has 0 replicas. */
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
/** Storage classes by name; the one with a star is the default. */
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
  { name: "a healthy member is settled", given: peer(), expect: "settled" },
  {
    name: "a deleted peer without a finalizer is not changed",
    given: peer({ stage: "new", deleting: true }),
    expect: "settled",
  },
  {
    name: "no step is made while the cluster is paused",
    given: peer({ stage: "new", with: { pausedBy: "spec.paused is true" } }),
    expect: "wait: paused",
  },
  {
    name: "a peer without an EtcdCluster is not started",
    given: peer({ stage: "new", spec: { clusterID: undefined } }),
    expect: "warn: await-membership",
    because: "create an EtcdCluster",
  },
  { name: "a member that etcd has not added is not started", given: intended, expect: "wait: await-membership" },
  {
    name: "the claim is deleted after a scale-down",
    given: leaving(CLEANUP_FINALIZER),
    expect: "release-claim: deleteClaim",
  },
  {
    name: "the claim of a member that never ran is deleted",
    given: leaving(CLEANUP_FINALIZER, {}, "never-started"),
    expect: "release-claim: deleteClaim",
  },
  {
    name: "a claim with the quarantine label is kept",
    given: leaving(CLEANUP_FINALIZER, { labels: { [QUARANTINE_LABEL]: "true" } }),
    expect: "release-claim: releasePeer",
  },
  {
    name: "the claim is kept when the finalizer has no reason",
    given: leaving(CLEANUP_FINALIZER, {}, ""),
    expect: "release-claim: releasePeer",
  },
  {
    name: "the finalizer is removed once the claim is being deleted",
    given: leaving(CLEANUP_FINALIZER, { deletionTimestamp: "2026-01-01T12:00:00Z" }),
    expect: "release-claim: releasePeer",
  },
  {
    name: "the claim of a lost member is quarantined",
    given: leaving(QUARANTINE_FINALIZER),
    expect: "release-claim: quarantineClaim",
  },
  {
    name: "the finalizer is removed once the claim is quarantined",
    given: leaving(QUARANTINE_FINALIZER, { labels: { [QUARANTINE_LABEL]: "true" } }),
    expect: "release-claim: releasePeer",
  },
  {
    name: "another member's claim is not changed",
    given: peer({ deleting: true, finalizers: [CLEANUP_FINALIZER], with: { claim: claim("my-etcd-0") } }),
    expect: "release-claim: releasePeer",
  },
  {
    name: "the claim is annotated when members switch to TLS",
    given: {
      ...joined,
      peer: { ...joined.peer, spec: { ...joined.peer.spec, tls: { peer: { secretName: "a", trust: "b" } } } },
    },
    expect: "annotate-claim: annotateClaim",
  },
  {
    name: "the annotation is removed when members no longer use TLS",
    given: claimWith({ annotations: { ...joined.claim?.metadata.annotations, [PEER_SCHEME_ANNOTATION]: "https" } }),
    expect: "annotate-claim: annotateClaim",
  },
  {
    name: "the claim is annotated with the release that answered",
    given: claimWith({ annotations: { ...joined.claim?.metadata.annotations, [CLAIM_RELEASE_ANNOTATION]: "3.5.35" } }),
    expect: "record-release: annotateClaim",
  },
  {
    name: "labels that were removed from the claim are restored",
    given: claimWith({ labels: {} }),
    expect: "label-claim: labelClaim",
  },
  {
    name: "annotations that were removed from the claim are reported",
    given: claimWith({ annotations: {} }),
    expect: "warn: claim-disowned",
  },
  {
    name: "the ReplicaSet of a member on a replaced claim is fenced before the claim is reported",
    given: { ...claimWith({ annotations: {} }), replicaSet: joined.replicaSet },
    expect: "replica-set: replaceReplicaSet fenced",
  },
  {
    name: "a member is not started on a replaced claim",
    given: { ...claimWith({ annotations: {} }), replicaSet: undefined, pod: undefined },
    expect: "warn: claim-disowned",
  },
  {
    name: "the running pod is fenced after the ReplicaSet",
    given: peer({ with: { pod: pod("my-etcd-0", { ready: true, fenced: false }) } }),
    expect: "fence-pod: annotatePod",
  },
  {
    name: "a member that did not answer is called again soon",
    given: peer({ with: { endpoint: unknown("no answer within 1 s") } }),
    expect: "wait: await-member",
  },
  {
    name: "the claim of a new member is created first",
    given: peer({ stage: "new" }),
    expect: "create-claim: createClaim",
  },
  {
    name: "a new member is not started on a claim of another cluster",
    given: peer({ stage: "new", with: { claim: claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" }) } }),
    expect: "warn: claims-unclear",
    because: "claim my-etcd-0 holds data of cluster abc",
  },
  {
    name: "a new member is not started on a claim of unknown origin",
    given: peer({ stage: "new", with: { claim: claim("my-etcd-0") } }),
    expect: "warn: claims-unclear",
    because: "of unknown origin",
  },
  {
    name: "no empty claim is created for a member that has joined",
    given: peer({ with: { claim: undefined } }),
    expect: "warn: claim-lost",
    because: "the claim of my-etcd-0 does not exist",
  },
  {
    name: "the ReplicaSet is created once the claim exists",
    given: peer({ stage: "claimed" }),
    expect: "replica-set: createReplicaSet of 3",
  },
  {
    name: "a ReplicaSet of another owner is not changed",
    given: peer({ stage: "claimed", with: { replicaSet: foreignReplicaSet } }),
    expect: "warn: replica-set-taken",
    because: "it has no controller",
  },
  {
    name: "the ReplicaSet gets flags with which a joined member cannot bootstrap",
    given: peer({ with: { replicaSet: joined.replicaSet, pod: joined.pod } }),
    expect: "replica-set: replaceReplicaSet fenced",
    because: "can restart the member but never bootstrap it",
  },
  {
    name: "a deleted ReplicaSet of a joined member is recreated with flags that cannot bootstrap",
    given: peer({ with: { replicaSet: undefined } }),
    expect: "replica-set: createReplicaSet fenced",
  },
  { name: "the plan waits for a missing pod", given: { ...starting, pod: undefined }, expect: "wait: await-pod" },
  {
    name: "the plan waits for a pod that is not ready",
    given: starting,
    expect: "wait: await-pod",
    because: "not ready yet",
  },
  {
    name: "a container that is being created is not reported",
    given: { ...starting, pod: waiting("ContainerCreating") },
    expect: "wait: await-pod",
  },
  {
    name: "a failed image pull is reported",
    given: { ...starting, pod: waiting("ErrImagePull", "not found") },
    expect: "warn: await-pod",
    because: "container etcd waits: ErrImagePull (not found)",
  },
  {
    name: "a failed image pull of a pod younger than ten seconds is not reported",
    given: { ...starting, pod: waiting("ErrImagePull"), takenAtMs: NOW - 3_600_000 + 9_000 },
    expect: "wait: await-pod",
  },
  {
    name: "a pod that fits on no node is reported",
    given: { ...starting, pod: unscheduled("0/3 nodes match"), claim: pendingClaim("fast") },
    expect: "warn: await-pod",
    because: /^pod cannot be scheduled: 0\/3 nodes match$/,
  },
  {
    name: "a missing volume is reported with its claim and storage class",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast") },
    expect: "warn: await-pod",
    because: "claim my-etcd-0 of storage class fast is Pending; pod cannot be scheduled: pod has unbound",
  },
  {
    name: "a pending claim without a storage class is reported",
    given: { ...starting, pod: volumeless, claim: pendingClaim() },
    expect: "warn: await-pod",
    because: "claim my-etcd-0 without a storage class is Pending",
  },
  {
    name: "a missing storage class is reported with the existing classes",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast"), storageClasses: classes("slow", "local*") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 is Pending: storage class fast does not exist; there are: local, slow$/,
  },
  {
    name: "a missing storage class is reported when there is none at all",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast"), storageClasses: classes() },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 is Pending: storage class fast does not exist; there is none$/,
  },
  {
    name: "a missing default storage class is reported with the existing classes",
    given: { ...starting, pod: volumeless, claim: pendingClaim(), storageClasses: classes("slow", "local") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 is Pending: there is no default storage class; there are: local, slow$/,
  },
  {
    name: "at most ten storage classes are reported",
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
    name: "the scheduler's message is reported when the storage class exists",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast"), storageClasses: classes("fast") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 of storage class fast is Pending; pod cannot be scheduled/,
  },
  {
    name: "the scheduler's message is reported when a default storage class exists now",
    given: { ...starting, pod: volumeless, claim: pendingClaim(), storageClasses: classes("local*") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 without a storage class is Pending; pod cannot be scheduled/,
  },
  {
    name: "a pending claim with an empty storageClassName is reported without a class",
    given: { ...starting, pod: volumeless, claim: pendingClaim(""), storageClasses: classes("local*") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 without a storage class is Pending; pod cannot be scheduled/,
  },
  {
    name: "the scheduler's message is reported when the storage classes could not be read",
    given: { ...starting, pod: volumeless, claim: pendingClaim("fast"), storageClasses: unknown("forbidden") },
    expect: "warn: await-pod",
    because: /^claim my-etcd-0 of storage class fast is Pending; pod cannot be scheduled/,
  },
  {
    name: "a pod that has lost its revision is annotated with it",
    given: unsaid({}),
    expect: "note-revision: annotatePod",
  },
  {
    name: "a pod that has lost its revision is not annotated while it may run the previous template",
    given: unsaid({}, { previous: templateIn(peer().peer.spec) }),
    expect: "settled",
  },
  {
    name: "the pod's revision is recorded before the etcd release",
    given: {
      ...unsaid({}),
      claim: claimWith({ annotations: { ...joined.claim?.metadata.annotations, [CLAIM_RELEASE_ANNOTATION]: "3.5.35" } })
        .claim,
    },
    expect: "note-revision: annotatePod",
  },
  {
    name: "a terminating pod is not annotated",
    given: unsaid({ deletionTimestamp: "2026-01-01T12:00:00Z" }),
    expect: "settled",
  },
  {
    name: "a member is stopped when its cluster sleeps",
    given: peer({ with: { isAsleep: true } }),
    expect: "replica-set: replaceReplicaSet fenced",
    because: "the pod of my-etcd-0 stops: spec.replicas of its EtcdCluster is 0",
  },
  {
    name: "the plan waits until the pod of a sleeping member has stopped",
    given: sleeping,
    expect: "wait: asleep",
    because: "its cluster sleeps; pod my-etcd-0-abcde has yet to stop",
  },
  { name: "a member that sleeps is settled", given: { ...sleeping, pod: undefined }, expect: "settled" },
  {
    name: "a failed pod of a sleeping member is not waited for",
    given: { ...sleeping, pod: { ...sleeping.pod!, status: { ...sleeping.pod!.status, phase: "Failed" } } },
    expect: "settled",
  },
  {
    name: "a deleted ReplicaSet of a sleeping member is recreated without replicas",
    given: { ...sleeping, pod: undefined, replicaSet: undefined },
    expect: "replica-set: createReplicaSet fenced",
  },
  {
    name: "a member is started when its cluster wakes up",
    given: { ...sleeping, pod: undefined, isAsleep: false },
    expect: "replica-set: replaceReplicaSet fenced",
    because: "can restart the member but never bootstrap it",
  },
  {
    name: "the ReplicaSet of a sleeping member is fenced",
    given: { ...sleeping, pod: undefined, replicaSet: born<ReplicaSet>(replicaSet({ ...joined, isAsleep: true })) },
    expect: "replica-set: replaceReplicaSet fenced",
    because: "can restart the member but never bootstrap it",
  },
  {
    name: "no claim is created for a sleeping member",
    given: { ...starting, isAsleep: true, claim: undefined, pod: undefined, replicaSet: undefined },
    expect: "settled",
  },
  {
    name: "a pod that the ReplicaSet may not create is reported with the quota",
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

test("peer plan: a ReplicaSet with 0 replicas on a replaced claim is fenced and keeps 0 replicas", () => {
  const stopped = { ...joined.replicaSet!, spec: { ...joined.replicaSet!.spec!, replicas: 0 } };
  const plan = planPeer({ ...claimWith({ annotations: {} }), replicaSet: stopped });
  expect(planText(plan, stepText)).toBe("replica-set: replaceReplicaSet fenced");
  expect(plan).toMatchObject({ step: { replicaSet: { spec: { replicas: 0 } } } });
  expect(planText(planPeer({ ...peer(), replicaSet: stopped }), stepText)).toBe(
    "replica-set: replaceReplicaSet fenced",
  );
});

test("peer plan: a member on a replaced claim is stopped when its cluster sleeps, and is not started again", () => {
  const given = claimWith({ annotations: {} });
  const plan = planPeer({ ...given, isAsleep: true });
  expect(plan).toMatchObject({ rule: "replica-set", step: { replicaSet: { spec: { replicas: 0 } } } });
  const woken = planPeer({ ...given, replicaSet: sleeping.replicaSet });
  expect(woken).toMatchObject({ rule: "replica-set", step: { replicaSet: { spec: { replicas: 0 } } } });
});

test("peer plan: the reason for an update of a running member's ReplicaSet does not mention sleep", () => {
  const stale = { ...peer().replicaSet!, metadata: { ...peer().replicaSet!.metadata, annotations: {} } };
  const because = "the next pods of my-etcd-0 can restart the member but never bootstrap it";
  expect(planPeer({ ...peer(), replicaSet: stale })).toMatchObject({ rule: "replica-set", because });
});

test("peer plan: every rule decides at least one case", () => {
  const deciding = new Set(
    cases.map(({ given }) => planPeer(given)).flatMap((plan) => (plan.next === "settled" ? [] : [plan.rule])),
  );
  // `deleting` decides by settling, which leaves no name.
  expect(PEER_RULES.map(({ name }) => name).filter((name) => !deciding.has(name) && name !== "deleting")).toEqual([]);
});

const bootstrapping: PeerStep = { do: "createReplicaSet", replicaSet: replicaSet(starting) };
const forbidden: { name: string; guard: string; given: PeerSnapshot; step: PeerStep }[] = [
  {
    name: "a pod for an EtcdPeer that was copied from another namespace",
    guard: "token-is-here",
    given: peer({ spec: { clusterToken: "prod/my-etcd/uid" } }),
    step: { do: "replaceReplicaSet", live: peer().replicaSet!, replicaSet: replicaSet(peer()) },
  },
  {
    name: "a pod when its claim does not exist",
    guard: "claim-first",
    given: peer({ stage: "new" }),
    step: bootstrapping,
  },
  {
    name: "a pod on another cluster's claim",
    guard: "claim-first",
    given: peer({ stage: "new", with: { claim: claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" }) } }),
    step: bootstrapping,
  },
  {
    name: "a new claim for a member that has joined",
    guard: "never-twice",
    given: peer({ with: { claim: undefined } }),
    step: { do: "createClaim", claim: { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "x" } } },
  },
  {
    name: "bootstrap flags in a new ReplicaSet of a joined member",
    guard: "never-twice",
    given: peer(),
    step: bootstrapping,
  },
  {
    name: "bootstrap flags in an existing ReplicaSet of a joined member",
    guard: "never-twice",
    given: peer(),
    step: { do: "replaceReplicaSet", live: joined.replicaSet!, replicaSet: replicaSet(starting) },
  },
  {
    name: "stopping a member of a cluster that does not sleep",
    guard: "stop-is-asked",
    given: peer(),
    step: { do: "replaceReplicaSet", live: peer().replicaSet!, replicaSet: replicaSet(sleeping) },
  },
  {
    name: "deleting the claim of a member that is not being deleted",
    guard: "asked-to-delete",
    given: peer(),
    step: { do: "deleteClaim", claim: peer().claim! },
  },
  {
    name: "deleting a claim that is to be quarantined",
    guard: "asked-to-delete",
    given: leaving(QUARANTINE_FINALIZER),
    step: { do: "deleteClaim", claim: peer().claim! },
  },
  {
    name: "deleting a claim for a finalizer without a removal reason",
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
    name: "bootstrap flags on the pod of a joined member",
    guard: "never-twice",
    given: peer(),
    step: { do: "annotatePod", pod: peer().pod!, annotations: startAnnotations(starting) },
  },
  {
    name: "a Secret that only an EtcdPeer names",
    guard: "known-secrets",
    given: peer(),
    step: {
      do: "createReplicaSet",
      replicaSet: replicaSet(peer({ spec: { tls: { peer: { secretName: "others", trust: OWN_PEM } } } })),
    },
  },
  {
    name: "replacing a ReplicaSet of another owner",
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

test("peer guards: every guard forbids at least one step", () => {
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
/** The member with another answer. @param recorded the condition in its EtcdPeer */
function answering(other: Partial<EndpointStatus>, recorded?: Condition): PeerSnapshot {
  const { endpoint, ...snapshot } = peer(recorded === undefined ? {} : { status: { conditions: [recorded] } });
  const answer = endpoint?.is === "present" ? endpoint.value : undefined;
  return { ...snapshot, endpoint: present({ ...answer!, ...other }) };
}
const verdicts: {
  name: string;
  given: PeerSnapshot;
  /** Steps in backoff, by the name of their rule. */
  resting?: Readonly<Record<string, Rest>>;
  expect: string;
  message?: string;
}[] = [
  { name: "a healthy member", given: peer(), expect: "True MemberHealthy" },
  { name: "a peer that is being deleted", given: peer({ deleting: true }), expect: "False Deleting" },
  { name: "a member with a foreign claim", given: decidedBy("claims-unclear"), expect: "False ClaimTaken" },
  { name: "a member with a foreign ReplicaSet", given: decidedBy("replica-set-taken"), expect: "False NameTaken" },
  { name: "a member with a lost claim", given: peer({ with: { claim: undefined } }), expect: "False ClaimLost" },
  { name: "a member with an unready pod", given: starting, expect: "False PodPending" },
  {
    name: "a member with a refused claim",
    given: peer({ stage: "new" }),
    resting: { "create-claim": REFUSED },
    expect: "False StepRefused",
    message: "create-claim: exceeded quota: q",
  },
  {
    name: "a member with a ReplicaSet that exists already",
    given: { ...starting, replicaSet: undefined, pod: undefined },
    resting: { "replica-set": TAKEN },
    expect: "False NameTaken",
    message: "replica-set: replicasets my-etcd-0 already exists",
  },
  {
    name: "a healthy member with a step that is retried soon",
    given: peer({ with: { replicaSet: undefined } }),
    resting: { "replica-set": { ...REFUSED, isBrief: true } },
    expect: "True MemberHealthy",
  },
  {
    name: "a member that does not answer",
    given: peer({ with: { endpoint: unknown("refused") } }),
    expect: "False MemberUnreachable",
  },
  {
    name: "a pod that answers as part of another cluster",
    given: answering({ clusterId: clusterId(0xabcn) }),
    expect: "False MemberUnreachable",
    message: "it answers as part of cluster abc instead of 1d7f0a5bb4fdd2f0",
  },
  {
    name: "a pod that answers as another member",
    given: answering({ memberId: memberId(0xdefn) }, READY),
    expect: "False MemberUnreachable",
    message: "it answers as member def instead of 8e9e05c52164694d",
  },
  {
    name: "a healthy first member without a known ID",
    given: peer({ stage: "joined", spec: { memberID: undefined } }),
    expect: "True MemberHealthy",
  },
  {
    name: "a member that never had a leader",
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
    name: "a member without a leader, with another condition that is True,",
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
  test(`peer status: ${name} is Ready=${wanted}, with a message`, () => {
    const plan = planPeer(given, (rule) => resting[rule]);
    const ready = peerStatus(given, plan).conditions?.find(({ type }) => type === "Ready");
    expect(`${ready?.status} ${ready?.reason}`).toBe(wanted);
    expect(ready?.message).toMatch(message ?? /./);
  });
}

test("peer status: serverVersion is in the status only while the member answers", () => {
  expect(peerStatus(peer(), planPeer(peer()))).toMatchObject({
    serverVersion: "3.6.16",
    memberID: peer().peer.spec.memberID,
    clusterID: peer().peer.spec.clusterID,
  });
  expect(peerStatus(starting, planPeer(starting))).not.toHaveProperty("serverVersion");
  expect(starting.peer.spec.bootstrap).toEqual(BOOTSTRAP);
});

test("peer plan: a pod that has lost its revision gets that of its EtcdPeer", () => {
  const planned = (snapshot: PeerSnapshot) => planPeer(snapshot);
  const { spec } = peer().peer;
  const now = { [REVISION_ANNOTATION]: revisionOf(spec) };
  expect(planned(unsaid({}))).toMatchObject({ step: { annotations: now } });
});

test("peer status: the revision is in the status once the ReplicaSet controller has observed the template", () => {
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

test("peer status: the revision is that of the ReplicaSet, even when the EtcdPeer is newer", () => {
  const turned = peer({ spec: { version: "3.6.17" } });
  const old = peer().replicaSet!;
  const given = { ...turned, replicaSet: { ...old, status: { replicas: 1, observedGeneration: 1 } } as ReplicaSet };
  expect(peerStatus(given, planPeer(given))).toMatchObject({ revision: revisionOf(peer().peer.spec) });
});

test("annotate-claim: the claim is annotated with the scheme https, and not with http", () => {
  const secured = { ...joined.peer, spec: { ...joined.peer.spec, tls: { peer: { secretName: "a", trust: "b" } } } };
  const annotations = { ...joined.claim?.metadata.annotations, [PEER_SCHEME_ANNOTATION]: "https" };
  expect(planPeer({ ...joined, peer: secured })).toMatchObject({
    step: { annotations: { [PEER_SCHEME_ANNOTATION]: "https" } },
  });
  expect(planPeer(claimWith({ annotations }))).toMatchObject({
    step: { annotations: { [PEER_SCHEME_ANNOTATION]: null } },
  });
});

test("peer plan: the message about a running member's claim does not suggest deleting the claim", () => {
  const plan = planPeer(claimWith({ annotations: {} }));
  expect(plan).toMatchObject({ because: expect.stringContaining("set its annotations") });
  expect(plan).toMatchObject({ because: expect.not.stringContaining("delete") });
});

test("await-member: a member is called again every two seconds for a young pod, later every ten", () => {
  const silent = (madeAt: string) => {
    const its = pod("my-etcd-0", { ready: true });
    const made = { ...its, metadata: { ...its.metadata, creationTimestamp: madeAt } };
    return awaitMember.decide(peer({ with: { endpoint: unknown("no answer within 1 s"), pod: made } }));
  };
  expect(silent("2026-01-01T12:00:00Z")).toMatchObject({ next: "wait", recheckAfterMs: 2_000 });
  expect(silent("2026-01-01T11:00:00Z")).toMatchObject({ next: "wait", recheckAfterMs: 10_000 });
});
