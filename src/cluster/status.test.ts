import { expect, test } from "vitest";
import type { Reason } from "#api/conditions.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { present, unknown } from "#base/observed.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  born,
  claim,
  claimIdentity,
  cluster,
  endpointStatus,
  LATER_ID,
  NOW,
  pod,
  sickFor,
  unpublished,
  withArrival,
  withBudget,
  withoutMember,
  withRemoval,
} from "#kit/snapshots/cluster.ts";
import { THEIRS, withAlarms, withMember } from "#kit/snapshots/cluster-changes.ts";
import {
  NEWER,
  OLD,
  ON_DELETE,
  UNREADY_BESIDE,
  wanting,
  withCanary,
  withPod,
  withStop,
  withTurn,
  withTurns,
  withUpdate,
  withUpdated,
} from "#kit/snapshots/cluster-rolling.ts";
import type { Pod, Service } from "#kube/kinds.ts";
import type { Rest } from "#runtime/decide.ts";
import { planCluster } from "./plan.ts";
import type { ClusterSnapshot } from "./snapshot.ts";
import { clusterStatus, failingStatus, mayWait } from "./status.ts";

/** @param resting steps in backoff and the reason, by the name of their rule */
function statusOf(given: ClusterSnapshot, resting: Readonly<Record<string, Rest>> = {}): EtcdClusterStatus {
  return clusterStatus(
    given,
    planCluster(given, (rule) => resting[rule]),
  );
}

function conditionOf(status: EtcdClusterStatus, type: string) {
  return status.conditions?.find((condition) => condition.type === type);
}

/** Identity adopted from claims; etcd's member list has not been read since. */
function adopting(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { status } = snapshot.cluster;
  const identity = { ...status!.identity!, adopting: true };
  return { ...snapshot, cluster: { ...snapshot.cluster, status: { ...status, identity } } };
}

const settled = cluster();
const identity = settled.cluster.status!.identity!;

/** A claim of this name with the data of a member of the cluster. */
function copyOf(id: string, name: string) {
  return claim(name, claimIdentity(identity.clusterID, id));
}
const [first, second, third] = identity.initialMembers;
const starting = cluster({ stage: "starting" });
const foreign = born<Service>({
  ...settled.headlessService!,
  metadata: { ...settled.headlessService!.metadata, ownerReferences: [] },
});
const [own, other] = [identity.clusterID, "abc"].map((clusterID) =>
  present(endpointStatus(clusterID, second!.id, first!.id)),
);

/** No member answers, but two pods are Ready. */
const cutOff = cluster({
  down: ["my-etcd-0", "my-etcd-1", "my-etcd-2"],
  with: {
    members: unknown("connect: no route to host"),
    pods: new Map(["my-etcd-0", "my-etcd-1"].map((name) => [name, pod(name, { ready: true })])),
  },
});
const fourVoters = ["my-etcd-0", "my-etcd-1", "my-etcd-2", "my-etcd-3"].map((name, n) => {
  const id = cutOff.cluster.status!.identity!.initialMembers[n]?.id ?? LATER_ID;
  return { name, id, role: "Voter" as const, health: "Healthy" as const };
});
/** Records this many voters, or three, that a person added. */
function withTheirs(snapshot: ClusterSnapshot, count = 3): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const voter = { role: "Voter" as const, health: "Healthy" as const };
  const ours = identity.initialMembers.map(({ name, id }) => ({ ...voter, name, id }));
  const theirs = ["f01", "f02", "f03", "f04"].slice(0, count).map((id) => ({ ...voter, name: `theirs.${id}`, id }));
  return { ...snapshot, cluster: { ...live, status: { ...live.status, members: [...ours, ...theirs] } } };
}
const stuckPod = {
  ...pod("my-etcd-1", { ready: false }),
  status: {
    phase: "Pending",
    containerStatuses: [{ name: "etcd", state: { waiting: { reason: "ErrImagePull", message: "not found" } } }],
  },
} as unknown as Pod;

/** A member without a pod; its EtcdPeer has the reason. */
const refused = {
  ...starting,
  pods: new Map(),
  peers: starting.peers.map((peer) => {
    const condition = { type: "Ready", status: "False" as const, reason: "PodPending", message: "exceeded quota: few" };
    const told = { ...condition, observedGeneration: 1, lastTransitionTime: "2026-01-01T11:30:00Z" };
    return peer.metadata.name === "my-etcd-0" ? { ...peer, status: { conditions: [told] } } : peer;
  }),
};

const lost = cluster({ down: ["my-etcd-0", "my-etcd-2"] });
/** A fourth member that has its data, and no vote yet. */
const learning = begin(cluster({ spec: { replicas: 4 } }))
  .apply(withArrival, "my-etcd-3", "synced")
  .apply(withBudget).snapshot;
/** A voter that a person added and that the operator cannot dial. */
const oneTheirs = begin(settled).apply(withMember, THEIRS).apply(withBudget).snapshot;
const foreignClientService = born<Service>({
  ...settled.clientService!,
  metadata: { ...settled.clientService!.metadata, ownerReferences: [] },
});

const REFUSED: Rest = { because: "exceeded quota: few", code: "KubeForbidden", forMs: 500, isBrief: false };
const TAKEN: Rest = { ...REFUSED, because: "services my-etcd already exists", code: "KubeAlreadyExists" };
const UNDONE: Rest = { because: "done 3 times and wanted again: something undoes it", forMs: 500, isBrief: false };
const DELAYED: Rest = { because: "etcd elects a leader", forMs: 50, isBrief: true };

/** Expected condition: status, reason, and a pattern of its message. */
type Said = readonly [status: string, reason: Reason, words?: RegExp];
interface Case {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly resting?: Readonly<Record<string, Rest>>;
  readonly ready: Said;
  readonly available?: Said;
  readonly degraded?: Said;
  readonly clusterIDMismatch?: Said;
  readonly progressing?: Said;
  readonly paused?: Said;
}

/** The snapshot in which the client Service has this address. */
function addressed(clusterIP: string): ClusterSnapshot {
  const { clientService } = settled;
  return { ...settled, clientService: { ...clientService!, spec: { ...clientService!.spec, clusterIP } } };
}

/** The snapshot in which the cluster is Ready at this generation. */
function calledReady(snapshot: ClusterSnapshot, observedGeneration: number): ClusterSnapshot {
  const { cluster: object } = snapshot;
  const ready = {
    type: "Ready",
    status: "True" as const,
    reason: "AllMembersHealthy",
    message: "",
    observedGeneration,
    lastTransitionTime: "2026-01-01T11:30:00Z",
  };
  return { ...snapshot, cluster: { ...object, status: { ...object.status, conditions: [ready] } } };
}

const cases: readonly Case[] = [
  {
    name: "Ready is True (AllMembersHealthy) when all members are healthy",
    given: settled,
    ready: ["True", "AllMembersHealthy", /^3 of 3 members are healthy voters$/],
    available: ["True", "QuorumAvailable", /^3 of 3 voters are healthy$/],
    degraded: ["False", "FullStrength", /^all 3 members are healthy$/],
    progressing: ["False", "Settled"],
  },
  {
    name: "Ready is False (PodsNotReady) when a pod is not Ready",
    given: { ...settled, pods: new Map(settled.pods).set("my-etcd-1", pod("my-etcd-1", { ready: false })) },
    ready: ["False", "PodsNotReady", /does not lead to my-etcd-1 yet/],
    available: ["True", "QuorumAvailable"],
  },
  {
    name: "Ready is False (ClientServiceSilent) when no member answers through the client Service",
    given: { ...settled, throughService: unknown("connect: refused") },
    ready: ["False", "ClientServiceSilent", /^no member answers through the client Service yet: connect: refused$/],
    available: ["True", "QuorumAvailable"],
    progressing: ["False", "Settled"],
  },
  {
    name: "Ready is False (ClientServiceSilent) when the client Service has an address and was not dialled yet",
    given: addressed("10.1.2.3"),
    ready: ["False", "ClientServiceSilent", /^the client Service has not been tested yet$/],
    available: ["True", "QuorumAvailable"],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the cluster was Ready and the client Service is not dialled again",
    given: calledReady(addressed("10.1.2.3"), 1),
    ready: ["True", "AllMembersHealthy"],
    available: ["True", "QuorumAvailable"],
  },
  {
    name: "Ready is False (ClientServiceSilent) when the client Service was dialled before the last edit",
    given: calledReady(addressed("10.1.2.3"), 0),
    ready: ["False", "ClientServiceSilent"],
    available: ["True", "QuorumAvailable"],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the client Service has no cluster IP to dial",
    given: addressed("None"),
    ready: ["True", "AllMembersHealthy"],
    available: ["True", "QuorumAvailable"],
  },
  {
    name: "Ready is True (AllMembersHealthy) when a member answers through the address of the client Service",
    given: { ...addressed("10.1.2.3"), throughService: present(true) },
    ready: ["True", "AllMembersHealthy"],
    available: ["True", "QuorumAvailable"],
  },
  {
    name: "Ready is True (AllMembersHealthy) when a member answers through the client Service",
    given: { ...settled, throughService: present(true) },
    ready: ["True", "AllMembersHealthy"],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the number of members is even",
    given: cluster({ replicas: 4 }),
    ready: ["True", "AllMembersHealthy", /4 tolerate no more failures than 3/],
  },
  {
    name: "Ready is False (Forming) when the cluster has just been created",
    given: { ...starting, takenAtMs: NOW - 3_600_000 + 1_000 },
    ready: ["False", "Forming", /^0 of 3 members have joined$/],
    available: ["False", "Forming"],
    degraded: ["False", "Forming"],
    progressing: ["True", "Forming", /^members are starting$/],
  },
  {
    name: "Ready is False (Forming) when the cluster takes long to form, and a pod has the reason",
    given: { ...starting, pods: new Map([...starting.pods, ["my-etcd-1", stuckPod]]) },
    ready: ["False", "Forming"],
    progressing: ["True", "Forming", /await-members: .*my-etcd-1: container etcd waits: ErrImagePull \(not found\)/],
  },
  {
    name: "Ready is False (Forming) when the cluster takes long to form, and an EtcdPeer has the reason",
    given: refused,
    ready: ["False", "Forming"],
    progressing: [
      "True",
      "Forming",
      /my-etcd-0: exceeded quota: few; my-etcd-1: its pod is not created yet; my-etcd-2: its pod is not created yet$/,
    ],
  },
  {
    name: "Ready is False (MembersUnhealthy) when one of three members is down",
    given: cluster({ down: ["my-etcd-1"] }),
    ready: ["False", "MembersUnhealthy", /^my-etcd-1: /],
    available: ["True", "QuorumAvailable", /^2 of 3/],
    degraded: ["True", "MembersUnhealthy", /^my-etcd-1: /],
    progressing: ["True", "Waiting", /await-health: .*my-etcd-1/],
  },
  {
    name: "Ready is False (MembersUnhealthy) when a member answers, but has no leader",
    given: cluster({
      with: {
        endpoints: new Map([
          ...settled.endpoints,
          ["my-etcd-2", present(endpointStatus(identity.clusterID, third!.id, undefined))],
        ]),
      },
    }),
    ready: ["False", "MembersUnhealthy", /^my-etcd-2: it has no leader$/],
  },
  {
    name: "Ready is False (MembersUnhealthy) when a member participates and does not serve clients",
    given: unpublished(settled, "my-etcd-1"),
    ready: ["False", "MembersUnhealthy", /^my-etcd-1: it takes part in the quorum, but does not serve clients$/],
    available: ["True", "QuorumAvailable", /^2 of 3/],
    progressing: ["True", "Waiting", /^await-health: waiting for my-etcd-1 to serve clients$/],
  },
  {
    name: "Ready is False (MembersUnhealthy) when a member is down, and the spec forbids replacement",
    given: { ...cluster({ down: ["my-etcd-1"] }), replaceAfterMs: Number.POSITIVE_INFINITY },
    ready: ["False", "MembersUnhealthy"],
    degraded: [
      "True",
      "MembersUnhealthy",
      /^my-etcd-1: .+; my-etcd-1 is not replaced, because spec\.replacement\.policy is Never$/,
    ],
  },
  {
    name: "Ready is False (MembersUnhealthy) when another member ID answers at a member's address and does not serve clients",
    given: unpublished(settled, "my-etcd-1", "abc"),
    ready: ["False", "MembersUnhealthy", /^my-etcd-1: it runs as member abc instead of /],
    clusterIDMismatch: ["True", "OtherClusterAnswered", /^my-etcd-1: it runs as member abc/],
  },
  {
    name: "Ready is False (QuorumLost) when the quorum is lost",
    given: cluster({ down: ["my-etcd-0", "my-etcd-2"] }),
    ready: ["False", "QuorumLost"],
    available: ["False", "QuorumLost", /^2 of 3 voters are needed; missing: my-etcd-0 \(.+\), my-etcd-2 \(.+\)$/],
    degraded: ["True", "MembersUnhealthy", /my-etcd-0: .*my-etcd-2: /],
    progressing: ["True", "Waiting", /^await-quorum: /],
  },
  {
    name: "Ready is False (QuorumLost) when the quorum is lost, and claims of adopted members may be missing",
    given: adopting(cluster({ down: ["my-etcd-0", "my-etcd-2"] })),
    ready: ["False", "QuorumLost"],
    available: [
      "False",
      "QuorumLost",
      /^The members that came back from claims \(my-etcd-0, my-etcd-1, my-etcd-2\) have no quorum, .*restore their claims: .* Not healthy: my-etcd-0 \(.+\), my-etcd-2 \(.+\)$/,
    ],
  },
  {
    name: "Ready is False (QuorumLost) when the quorum is lost, and a later claim is not adopted",
    given: adopting(
      cluster({ down: ["my-etcd-0", "my-etcd-2"], with: { claims: [3, 4].map((n) => copyOf("f00", `my-etcd-${n}`)) } }),
    ),
    ready: ["False", "QuorumLost"],
    available: [
      "False",
      "QuorumLost",
      /as soon as they exist\. Claim my-etcd-3 is not adopted: .+\. Claim my-etcd-4 is not adopted: .+ Not healthy: my-etcd-0/,
    ],
  },
  {
    name: "Ready is False (MembersUnreachable) when no member answers although pods are Ready",
    given: cutOff,
    ready: ["False", "MembersUnreachable"],
    available: ["Unknown", "MembersUnreachable", /^2 pods are ready, but .*: connect: no route to host$/],
  },
  {
    name: "Ready is False (MembersUnreachable) when no member answers and two pods are Ready while four members may have become three",
    given: withRemoval(
      { ...cutOff, cluster: { ...cutOff.cluster, status: { ...cutOff.cluster.status, members: fourVoters } } },
      "my-etcd-2",
      "scale-down",
    ),
    ready: ["False", "MembersUnreachable"],
    available: ["Unknown", "MembersUnreachable", /^2 pods are ready, but /],
  },
  {
    name: "Ready is False (MembersUnreachable) when no member answers and voters added by hand may complete the quorum of two",
    given: withTheirs(cutOff),
    ready: ["False", "MembersUnreachable"],
    available: ["Unknown", "MembersUnreachable", /^2 pods are ready, but /],
  },
  {
    name: "Ready is False (MembersUnreachable) when no member answers, and three voters added by hand may complete the quorum of one",
    given: withTheirs({ ...cutOff, pods: new Map([["my-etcd-0", pod("my-etcd-0", { ready: true })]]) }),
    ready: ["False", "MembersUnreachable"],
    available: ["Unknown", "MembersUnreachable", /^1 pods are ready, but /],
  },
  {
    name: "Ready is False (QuorumLost) when no managed pod is Ready, and four voters added by hand may be a quorum",
    given: withTheirs({ ...cutOff, pods: new Map() }, 4),
    ready: ["False", "QuorumLost"],
    available: ["False", "QuorumLost", /^4 of 7 voters are needed; /],
  },
  {
    name: "Ready is False (QuorumLost) when no managed pod is Ready, and three voters added by hand are no quorum",
    given: withTheirs({ ...cutOff, pods: new Map() }),
    ready: ["False", "QuorumLost"],
    available: ["False", "QuorumLost", /^4 of 6 voters are needed; /],
  },
  {
    name: "Ready is False (NoVersionPath) when spec.version is refused because no path leads to it",
    given: cluster({ spec: { version: "3.4.1" } }),
    ready: [
      "False",
      "NoVersionPath",
      /spec\.version is refused: from 3\.6\.16 to 3\.4\.1 is a downgrade by more than one minor version; go to 3\.5 first/,
    ],
    available: ["True", "QuorumAvailable"],
    progressing: ["False", "NoVersionPath"],
  },
  {
    name: "Ready is False (SpecRefused) when spec.etcd.extraArgs has a flag that etcd does not have",
    given: cluster({ spec: { etcd: { extraArgs: { "max-txn-op": "1" } } } }),
    ready: ["False", "SpecRefused", /^spec\.etcd\.extraArgs: "max-txn-op" is not a flag of etcd 3\.6/],
    available: ["True", "QuorumAvailable"],
    progressing: ["False", "SpecRefused"],
  },
  {
    name: "Ready is False (QuorumLost) when all EtcdPeers are gone, and spec.etcd.extraArgs has a flag that etcd does not have",
    given: cluster({
      spec: { etcd: { extraArgs: { "max-txn-op": "1" } } },
      with: { peers: [], pods: new Map(), endpoints: new Map(), members: { is: "unknown", why: "nobody answers" } },
    }),
    ready: [
      "False",
      "QuorumLost",
      /^spec\.etcd\.extraArgs: "max-txn-op" is not a flag of .+; 2 of 3 voters are needed; /,
    ],
    progressing: ["False", "SpecRefused", /"max-txn-op" is not a flag of etcd 3\.6/],
  },
  {
    name: "Ready is False (SpecRefused) when nothing exists yet, and spec.etcd.extraArgs has a flag that etcd does not have",
    given: cluster({ stage: "new", spec: { etcd: { extraArgs: { "max-txn-op": "1" } } } }),
    ready: ["False", "SpecRefused", /^spec\.etcd\.extraArgs: "max-txn-op" is not a flag of etcd 3\.6/],
    available: ["False", "Forming"],
    progressing: ["False", "SpecRefused"],
  },
  {
    name: "Ready is False (Rolling) when spec.version has changed",
    given: wanting(NEWER),
    ready: ["False", "Rolling", /^0 of 3 members run what the spec asks for, etcd 3\.6\.17$/],
    available: ["True", "QuorumAvailable"],
    progressing: ["True", "Acting", /^update-member: my-etcd-2 is updated next: it gets etcd 3\.6\.17 instead of/],
  },
  {
    name: "Ready is False (Rolling) when spec.podTemplate has changed",
    given: wanting({ ...OLD, podTemplate: { metadata: { annotations: { a: "1" } } } }),
    ready: ["False", "Rolling", /^0 of 3 members run what the spec asks for, etcd 3\.6\.16$/],
    progressing: ["True", "Acting", /^update-member: my-etcd-2 is updated next: it gets its new podTemplate; 2 more/],
  },
  {
    name: "Ready is False (Rolling) when the canary has restarted and the next member waits until it is healthy",
    given: withCanary(wanting(NEWER), "my-etcd-2"),
    ready: ["False", "Rolling", /^0 of 3 members/],
    available: ["True", "QuorumAvailable"],
    progressing: ["True", "Rolling", /^update-member: the update of my-etcd-1 waits until my-etcd-2 is healthy$/],
  },
  {
    name: "Ready is False (Rolling) when the last member has a pending restart",
    given: begin(wanting(NEWER)).apply(withUpdated, "my-etcd-1", "my-etcd-2").apply(withTurn, "my-etcd-0").snapshot,
    ready: ["False", "Rolling", /^2 of 3 members run what the spec asks for/],
    progressing: ["True", "Acting", /^restart-member: my-etcd-0 leads and is about to restart; my-etcd-1 takes over$/],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the last members have pending restarts with strategy OnDelete",
    given: begin(wanting(NEWER, { spec: ON_DELETE }))
      .apply(withUpdated, "my-etcd-2")
      .apply(withTurn, "my-etcd-1")
      .apply(withTurn, "my-etcd-0").snapshot,
    ready: [
      "True",
      "AllMembersHealthy",
      /^3 of 3 members are healthy voters; my-etcd-0, my-etcd-1 get what the spec asks for when their pods are deleted$/,
    ],
    progressing: [
      "True",
      "Waiting",
      /^update-member: my-etcd-0, my-etcd-1 get .* spec\.updateStrategy\.type is OnDelete$/,
    ],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the cluster is paused while members have pending restarts with strategy OnDelete",
    given: withTurns(wanting(NEWER, { spec: { ...ON_DELETE, paused: true } })),
    ready: ["True", "AllMembersHealthy"],
    paused: ["True", "NoEditWaits", /^nothing is changed while spec\.paused is true$/],
  },
  {
    name: "Ready is False (MembersUnhealthy) when the canary is down with strategy OnDelete",
    given: begin(wanting(NEWER, { spec: ON_DELETE }))
      .apply(withTurn, "my-etcd-0")
      .apply(withCanary, "my-etcd-2").snapshot,
    ready: ["False", "MembersUnhealthy", /^my-etcd-2: /],
    progressing: ["True", "Waiting", /^update-member: the update of my-etcd-1 waits until my-etcd-2 is healthy$/],
  },
  {
    name: "Ready is True (AllMembersHealthy) when all members are up to date",
    given: withUpdated(wanting(NEWER), "my-etcd-0", "my-etcd-1", "my-etcd-2"),
    ready: ["True", "AllMembersHealthy"],
    progressing: ["False", "Settled"],
  },
  {
    name: "Ready is False (PodsNotReady) when the last updated member's pod is not Ready",
    given: begin(wanting(NEWER)).apply(withUpdated, "my-etcd-0", "my-etcd-1", "my-etcd-2").apply(withPod, "my-etcd-2", UNREADY_BESIDE).apply(withUpdate).snapshot, // biome-ignore format: one thing
    ready: ["False", "PodsNotReady"],
    progressing: ["True", "Waiting", /^the update to etcd 3\.6\.17 ends once my-etcd-2 has a Ready pod$/],
  },
  {
    name: "Ready is False (PodsNotReady) when a pod is not Ready while no update is in progress",
    given: withPod(settled, "my-etcd-2", UNREADY_BESIDE),
    ready: ["False", "PodsNotReady"],
    progressing: ["False", "Settled"],
  },
  {
    name: "Ready is False (Scaling) when spec.version and spec.replicas have changed",
    given: wanting(NEWER, { spec: { replicas: 5 } }),
    ready: ["False", "Scaling", /^0 of 5 members run/],
    progressing: ["True", "Acting", /^scale-up: /],
  },
  {
    name: "Ready is False (Replacing) when a lost member is replaced during an update",
    given: withRemoval(wanting(NEWER, { down: ["my-etcd-1"] }), "my-etcd-1", "replacement"),
    ready: ["False", "Replacing"],
  },
  {
    name: "Ready is False (UpdateStopped) when an update has stopped",
    given: withStop(wanting(NEWER), "my-etcd-2"),
    ready: [
      "False",
      "UpdateStopped",
      /^the update has stopped, because my-etcd-2 did not come up: it ended; to start another update, edit what members run, such as spec.version or spec.podTemplate$/,
    ],
    available: ["True", "QuorumAvailable"],
    progressing: ["False", "UpdateStopped"],
  },
  {
    name: "Ready is False (Scaling) when spec.replicas is larger than the number of members",
    given: cluster({ spec: { replicas: 5 } }),
    ready: ["False", "Scaling", /^3 healthy voters, 5 wanted$/],
    available: ["True", "QuorumAvailable"],
    degraded: ["True", "MembersMissing", /^3 of 5 wanted members have a vote$/],
  },
  {
    name: "Ready is False (Scaling) when spec.replicas was raised and an existing member is down",
    given: cluster({ down: ["my-etcd-1"], spec: { replicas: 5 } }),
    ready: ["False", "Scaling"],
    degraded: ["True", "MembersUnhealthy", /^my-etcd-1: /],
  },
  {
    name: "Ready is False (QuorumLost) when spec.replicas was raised and the quorum is lost",
    given: cluster({ down: ["my-etcd-0", "my-etcd-2"], spec: { replicas: 5 } }),
    ready: ["False", "QuorumLost"],
    progressing: ["True", "Waiting"],
  },
  {
    name: "Ready is False (Replacing) when etcd has removed a lost member",
    given: begin(settled)
      .apply(withRemoval, "my-etcd-2", "replacement")
      .apply(withoutMember, "my-etcd-2")
      .apply(withBudget).snapshot,
    ready: ["False", "Replacing", /^2 healthy voters, 3 wanted$/],
  },
  {
    name: "Ready is False (Replacing) when etcd has removed a member that could not start",
    given: begin(settled)
      .apply(withRemoval, "my-etcd-2", "never-started")
      .apply(withoutMember, "my-etcd-2")
      .apply(withBudget).snapshot,
    ready: ["False", "Replacing"],
  },
  {
    name: "Ready is False (Scaling) when a member was removed by a scale-down, and spec.replicas was raised again",
    given: begin(settled)
      .apply(withRemoval, "my-etcd-2", "scale-down")
      .apply(withoutMember, "my-etcd-2")
      .apply(withBudget).snapshot,
    ready: ["False", "Scaling"],
  },
  {
    name: "Ready is True (AllMembersHealthy) when a voter was added by hand",
    given: oneTheirs,
    ready: ["True", "AllMembersHealthy", /^3 of 3 members are healthy voters$/],
    available: ["True", "QuorumAvailable", /^3 of 4 voters are healthy$/],
    degraded: ["False", "FullStrength", /^all 3 members are healthy$/],
    progressing: ["False", "Settled"],
  },
  {
    name: "Ready is False (CorruptionAlarm) when a member has the alarm CORRUPT",
    given: withAlarms(settled, { type: "CORRUPT", id: "abc" }),
    ready: ["False", "CorruptionAlarm"],
    available: ["False", "CorruptionAlarm", /raised for member 0*abc: /],
  },
  {
    name: "Ready is False (CorruptionAlarm) when the alarm CORRUPT is raised for no member in particular",
    given: withAlarms(settled, { type: "CORRUPT" }),
    ready: ["False", "CorruptionAlarm"],
    available: ["False", "CorruptionAlarm", /raised for no member in particular: /],
  },
  {
    name: "Ready is False (NoSpaceAlarm) when a member has the alarm NOSPACE",
    given: withAlarms(settled, { type: "NOSPACE", id: "abc" }),
    ready: ["False", "NoSpaceAlarm"],
    available: ["False", "NoSpaceAlarm"],
  },
  {
    name: "Ready is False (QuorumLost) when the quorum is lost and alarms are raised",
    given: withAlarms(lost, { type: "CORRUPT", id: "abc" }, { type: "NOSPACE", id: "abc" }),
    ready: ["False", "QuorumLost"],
    available: ["False", "QuorumLost"],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the cluster is paused by its annotation",
    given: cluster({ annotations: { "etcd.improbable.io/paused": "true" } }),
    ready: ["True", "AllMembersHealthy"],
    progressing: ["False", "Paused"],
    paused: ["True", "NoEditWaits", /^nothing is changed while the annotation etcd\.improbable\.io\/paused is "true"$/],
  },
  {
    name: "Ready is False (Rolling) when the cluster is paused while a member has a pending restart",
    given: withTurn(wanting(NEWER, { annotations: { "etcd.improbable.io/paused": "true" } }), "my-etcd-2"),
    ready: ["False", "Rolling"],
    progressing: ["False", "Paused", /"true"; my-etcd-2 has yet to restart, and drains may have to wait for it$/],
    paused: ["True", "Paused", /"true"; my-etcd-2 has yet to restart, and drains may have to wait for it$/],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the cluster is paused by its spec",
    given: cluster({ spec: { paused: true } }),
    ready: ["True", "AllMembersHealthy"],
    progressing: ["False", "Paused", /^nothing is changed while spec\.paused is true$/],
    paused: ["True", "NoEditWaits", /^nothing is changed while spec\.paused is true$/],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the cluster is paused by both spec and annotation",
    given: cluster({ spec: { paused: true }, annotations: { "etcd.improbable.io/paused": "true" } }),
    ready: ["True", "AllMembersHealthy"],
    paused: ["True", "NoEditWaits", /^nothing is changed while spec\.paused is true and the annotation .* is "true"$/],
  },
  {
    name: "Ready is True (AllMembersHealthy) when the annotation for a pause is false",
    given: cluster({ annotations: { "etcd.improbable.io/paused": "false" } }),
    ready: ["True", "AllMembersHealthy"],
    progressing: ["False", "Settled"],
  },
  {
    name: "Ready is False (NameTaken) when the cluster is paused, and its client Service has another owner",
    given: cluster({
      annotations: { "etcd.improbable.io/paused": "true" },
      with: { clientService: foreignClientService },
    }),
    ready: ["False", "NameTaken", /Service my-etcd-client exists already/],
  },
  {
    name: "Ready is False (NameTaken) when the headless Service of a new cluster has another owner",
    given: cluster({ stage: "new", with: { headlessService: foreign } }),
    ready: ["False", "NameTaken", /Service my-etcd exists already.*it has no controller/],
    progressing: ["False", "NameTaken"],
  },
  {
    name: "Ready is False (NameTaken) when the API server refuses a Service because its name is taken",
    given: cluster({ stage: "recorded" }),
    resting: { "headless-service": TAKEN },
    ready: ["False", "NameTaken", /^headless-service: services my-etcd already exists$/],
    progressing: ["True", "Acting", /^bootstrap: .*; not done: headless-service: services my-etcd already exists$/],
  },
  {
    name: "Ready is False (StepRefused) when a step is refused while other steps are possible",
    given: cluster({ stage: "recorded" }),
    resting: { "headless-service": REFUSED },
    ready: ["False", "StepRefused", /^headless-service: exceeded quota: few$/],
    progressing: ["True", "Acting", /^bootstrap: .*; not done: headless-service: exceeded quota: few$/],
  },
  {
    name: "Ready is False (NameTaken) when two steps are refused and no other step is possible",
    given: cluster({ with: { headlessService: undefined, budget: undefined } }),
    resting: { "headless-service": TAKEN, "disruption-budget": REFUSED },
    ready: [
      "False",
      "NameTaken",
      /^headless-service: services my-etcd already exists; disruption-budget: exceeded quota: few$/,
    ],
    progressing: ["False", "NameTaken", /^headless-service: .*; disruption-budget: exceeded quota: few$/],
  },
  {
    name: "Ready is False (StepRefused) when another client undoes a step each time",
    given: cluster({ with: { budget: undefined } }),
    resting: { "disruption-budget": UNDONE },
    ready: ["False", "StepRefused", /^disruption-budget: done 3 times and wanted again: something undoes it$/],
    progressing: ["False", "StepRefused", /^disruption-budget: done 3 times/],
  },
  {
    name: "Ready is False (StepRefused) when a step is refused that all other steps wait for",
    given: cluster({ stage: "joined" }),
    resting: { fence: REFUSED },
    ready: ["False", "StepRefused", /^fence: exceeded quota: few$/],
    available: ["True", "QuorumAvailable"],
    progressing: ["False", "StepRefused", /^fence: exceeded quota: few$/],
  },
  {
    name: "Ready is False (Scaling) when etcd puts a promotion off briefly",
    given: learning,
    resting: { "promote-learner": DELAYED },
    ready: ["False", "Scaling", /^3 healthy voters, 4 wanted$/],
    available: ["True", "QuorumAvailable", /^3 of 3 voters are healthy$/],
    degraded: ["True", "MembersMissing", /^3 of 4 wanted members have a vote$/],
    progressing: ["True", "Scaling", /^await-learner: .*; not done: promote-learner: etcd elects a leader$/],
  },
  {
    name: "Ready is False (Scaling) when etcd puts the only step off briefly",
    given: withRemoval(cluster({ spec: { replicas: 2 } }), "my-etcd-2", "scale-down"),
    resting: { "remove-member": DELAYED },
    ready: ["False", "Scaling"],
    progressing: ["True", "Scaling", /^remove-member: not yet: etcd elects a leader$/],
  },
  {
    name: "Ready is False (Deleting) when the cluster is being deleted",
    given: cluster({ deleting: true }),
    ready: ["False", "Deleting"],
    available: ["True", "QuorumAvailable"],
    progressing: ["True", "Deleting", /claims are kept/],
  },
];

for (const { name, given, resting, ...wanted } of cases) {
  test(`cluster status: ${name}`, () => {
    const status = statusOf(given, resting);
    for (const [type, said] of Object.entries(wanted)) {
      const condition = conditionOf(status, `${type[0]?.toUpperCase()}${type.slice(1)}`);
      expect([condition?.status, condition?.reason], type).toEqual(said.slice(0, 2));
      expect(condition?.message, type).toMatch(said[2] ?? /./);
      expect(condition?.observedGeneration, type).toBe(1);
    }
  });
}

test("cluster status: an identity is marked as adopting until etcd's member list was read", () => {
  const silent = adopting(cluster({ down: ["my-etcd-0", "my-etcd-2"] }));
  const identityIn = (snapshot: ClusterSnapshot) => clusterStatus(snapshot, planCluster(snapshot)).identity;
  expect(identityIn(silent)).toEqual(silent.cluster.status?.identity);
  expect(identityIn(adopting(settled))).toEqual(settled.cluster.status?.identity);
  expect(identityIn(cluster({ down: ["my-etcd-0", "my-etcd-2"] }))).not.toHaveProperty("adopting");
});

test("cluster status: has replicas, readyReplicas, leader, version and members of a healthy cluster", () => {
  expect(statusOf(settled)).toMatchObject({
    observedGeneration: 1,
    replicas: 3,
    readyReplicas: 3,
    readyMembers: "3/3",
    leader: "my-etcd-0",
    version: "3.6.16",
    clusterVersion: "3.6.0",
    selector: expect.stringContaining("etcd.improbable.io/cluster-name=my-etcd"),
    members: identity.initialMembers.map(({ name, id }) => ({ name, id, health: "Healthy" })),
  });
  expect(conditionOf(statusOf(settled), "ClusterIDMismatch")).toBeUndefined();
});

test("cluster status: readyMembers and readyReplicas count only managed healthy voters", () => {
  const figures = (given: ClusterSnapshot) => {
    const { readyMembers, readyReplicas } = statusOf(given);
    return [readyMembers, readyReplicas];
  };
  expect(figures(cluster({ down: ["my-etcd-1"] }))).toEqual(["2/3", 2]);
  expect(figures(learning)).toEqual(["3/4", 3]);
  const { name } = statusOf(oneTheirs).members!.at(-1)!;
  const answer = present(endpointStatus(identity.clusterID, "f00", first!.id));
  const known = { ...oneTheirs, endpoints: new Map([...oneTheirs.endpoints, [name, answer]]) };
  expect(statusOf(known).members?.map(({ health }) => health)).toEqual(["Healthy", "Healthy", "Healthy", "Healthy"]);
  expect(figures(known)).toEqual(["3/3", 3]);
});

test("cluster status: the role is that of the leader, another voter or a learner", () => {
  const status = statusOf(cluster({ leader: "my-etcd-1" }));
  expect(status.leader).toBe("my-etcd-1");
  expect(status.members?.map(({ role }) => role)).toEqual(["Voter", "Leader", "Voter"]);
  expect(statusOf(learning).members?.map(({ role }) => role)).toEqual(["Leader", "Voter", "Voter", "Learner"]);
});

test("cluster status: the health of a member that a person added is Unknown", () => {
  expect(statusOf(oneTheirs).members?.map(({ health }) => health)).toEqual([
    "Healthy",
    "Healthy",
    "Healthy",
    "Unknown",
  ]);
});

test("cluster status: fields without a value are absent", () => {
  const status = statusOf(cluster({ stage: "new" }));
  for (const name of ["leader", "version", "identity"]) expect(status).not.toHaveProperty(name);
  expect(statusOf(settled).members?.[0]).not.toHaveProperty("message");
});

test("cluster status: the message of a voter that was added by hand states that the operator does not dial it", () => {
  expect(statusOf(oneTheirs).members?.map(({ message }) => message)).toEqual([
    undefined,
    undefined,
    undefined,
    "not added by the operator: its vote counts, and the operator does not dial it",
  ]);
});

test("cluster status: version is the oldest release of members, without custom builds", () => {
  const releases = ["3.6.16", "3.5.30", "3.7.3", "mine"];
  const given = cluster({ replicas: 4 });
  const { clusterID, initialMembers } = given.cluster.status!.identity!;
  const endpoints = new Map(
    initialMembers.map(({ name, id }, n) => [
      name,
      present({ ...endpointStatus(clusterID, id, initialMembers[0]!.id), version: releases[n]! }),
    ]),
  );
  const all = statusOf({ ...given, endpoints });
  expect(all).toMatchObject({ version: "3.5.30", clusterVersion: "3.5.0" });
  // The last known release of a member counts until a new one is read.
  const later = cluster({ replicas: 4, down: ["my-etcd-1", "my-etcd-2"], status: all });
  expect(statusOf(later).members?.map(({ version }) => version)).toEqual(["3.6.16", "3.5.30", "3.7.3", "3.6.16"]);
});

test("cluster status: observedGeneration is the generation, or 0 without one", () => {
  const { generation: _, ...metadata } = settled.cluster.metadata;
  const status = statusOf({ ...settled, cluster: { ...settled.cluster, metadata } });
  expect(status.observedGeneration).toBe(0);
  expect(status.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([0, 0, 0, 0, 0, 0]);
});

test("cluster status: Paused is False after a pause, and absent before the first one", () => {
  expect(conditionOf(statusOf(settled), "Paused")).toBeUndefined();
  const during = statusOf(cluster({ annotations: { "etcd.improbable.io/paused": "true" } }));
  const after = statusOf(cluster({ status: during }));
  expect(conditionOf(after, "Paused")).toMatchObject({ status: "False", reason: "NotPaused" });
});

test("mayWait: the status of a young cluster is not written again while all conditions have reason Forming", () => {
  const young = { ...starting, takenAtMs: NOW - 3_600_000 + 1_000 };
  const status = statusOf(young);
  const waits = (before: EtcdClusterStatus["conditions"], now = status, given = young) =>
    mayWait({ ...given, cluster: { ...given.cluster, status: { ...given.cluster.status, conditions: before } } }, now);
  const told = status.conditions!;
  const withReason = (reason: string) => told.map((condition) => ({ ...condition, reason }));
  expect(waits(told)).toBe(true);
  expect(waits(told, status, starting)).toBe(false); // no longer new
  expect(waits(undefined)).toBe(false);
  for (const { type } of told) expect(waits(told.filter((each) => each.type !== type)), type).toBe(false);
  expect(waits(withReason("StepRefused"))).toBe(false);
  expect(waits(withReason("StepRefused"), { ...status, conditions: withReason("StepRefused") })).toBe(false);
});

test("cluster status: a process of another cluster is reported in ClusterIDMismatch, which stays False afterwards", () => {
  const endpoints = (answer: typeof own) => new Map([...settled.endpoints, ["my-etcd-1", answer!]]);
  const during = statusOf({ ...settled, endpoints: endpoints(other) });
  expect(conditionOf(during, "ClusterIDMismatch")).toMatchObject({
    status: "True",
    reason: "OtherClusterAnswered",
    message: expect.stringMatching(/my-etcd-1: it answers as part of cluster 0*abc instead of/),
  });
  const strange = during.members?.find(({ name }) => name === "my-etcd-1");
  expect(strange).toMatchObject({ health: "Unhealthy", role: "Voter" });
  expect(strange).not.toHaveProperty("version");
  const after = { ...settled, cluster: { ...settled.cluster, status: during }, endpoints: endpoints(own) };
  expect(conditionOf(statusOf(after), "ClusterIDMismatch")).toMatchObject({ status: "False", reason: "SameCluster" });
});

test("cluster status: the message of a member that does not run comes from its EtcdPeer", () => {
  const messages = statusOf(refused).members?.map(({ message }) => message);
  expect(messages).toEqual(["exceeded quota: few", "it has no running pod", "it has no running pod"]);
});

test("cluster plan: await-members warns when the cluster has been forming for more than 30 s", () => {
  const planAt = (takenAtMs: number) => planCluster({ ...refused, takenAtMs });
  expect(planAt(NOW - 3_600_000 + 29_000)).toMatchObject({ rule: "await-members", warn: false });
  expect(planAt(NOW - 3_600_000 + 31_000)).toMatchObject({ rule: "await-members", warn: true });
});

test("cluster status: the identity is never dropped", () => {
  for (const { given } of cases.filter(({ given }) => given.cluster.status?.identity !== undefined))
    expect(statusOf(given).identity).toEqual(given.cluster.status?.identity);
});

test("cluster status: a member's since is when it was first seen unhealthy, and is absent when it is healthy", () => {
  const down = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 60_000);
  const since = (status: EtcdClusterStatus) => status.members?.find(({ name }) => name === "my-etcd-1")?.since;
  const before = statusOf(down);
  expect(since(before)).toBe("2026-01-01T11:59:00Z");
  const later = { ...down, cluster: { ...down.cluster, status: before } };
  expect(since(statusOf({ ...later, takenAtMs: NOW + 1_400 }))).toBe(since(before)); // the same moment, measured again
  expect(since(statusOf(sickFor(later, "my-etcd-1", 0)))).toBe("2026-01-01T12:00:00Z"); // healthy in between
  expect(since(statusOf({ ...settled, cluster: { ...settled.cluster, status: before } }))).toBeUndefined();
});

test("cluster status: a recorded since is kept up to two seconds before the member was last healthy", () => {
  const down = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 60_000);
  const later = { ...down, cluster: { ...down.cluster, status: statusOf(down) } };
  const since = (wellMsAgo: number) =>
    statusOf(sickFor(later, "my-etcd-1", wellMsAgo)).members?.find(({ name }) => name === "my-etcd-1")?.since;
  expect(since(58_000)).toBe("2026-01-01T11:59:00Z");
  expect(since(57_000)).toBe("2026-01-01T11:59:03Z");
});

test("cluster status: a participating member that does not serve clients has no since", () => {
  const member = statusOf(unpublished(settled, "my-etcd-1")).members?.find(({ name }) => name === "my-etcd-1");
  expect(member).toMatchObject({
    health: "Unhealthy",
    message: "it takes part in the quorum, but does not serve clients",
  });
  expect(member).not.toHaveProperty("since");
});

test("cluster status: a restarted operator keeps the recorded since", () => {
  const down = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 60_000);
  const before = statusOf(down);
  const later = { ...down, histories: new Map(), cluster: { ...down.cluster, status: before } };
  const since = statusOf(later).members?.find(({ name }) => name === "my-etcd-1")?.since;
  expect(since).toBe("2026-01-01T11:59:00Z");
});

test("cluster status: status.update has the progress of an update until the update ends", () => {
  expect(statusOf(settled)).not.toHaveProperty("update");
  const first = statusOf(wanting(NEWER));
  expect(first).toMatchObject({
    update: { from: "3.6.16", to: "3.6.17", updated: [], startTime: "2026-01-01T12:00:00Z" },
  });
  const half = begin(wanting(NEWER)).apply(withUpdate).apply(withUpdated, "my-etcd-2").snapshot;
  expect(statusOf(half)).toMatchObject({ update: { updated: ["my-etcd-2"], startTime: "2026-01-01T11:30:00Z" } });
  const done = begin(wanting(NEWER))
    .apply(withUpdate)
    .apply(withUpdated, "my-etcd-0", "my-etcd-1", "my-etcd-2").snapshot;
  expect(statusOf(done)).not.toHaveProperty("update");
});

test("cluster status: an unchanged cluster has an unchanged status", () => {
  const once = statusOf(settled);
  const again = { ...settled, takenAtMs: NOW + 60_000, cluster: { ...settled.cluster, status: once } };
  expect(statusOf(again)).toEqual(once);
});

test("failingStatus: conditions about the present become Unknown, and the rest of the status is kept", () => {
  const waiting = {
    ...settled.cluster,
    metadata: { ...settled.cluster.metadata, annotations: { "etcd.improbable.io/paused": "true" } },
  };
  const live = { ...waiting, status: statusOf({ ...settled, cluster: waiting }) };
  const failing = failingStatus(live, "it fails", NOW);
  const said = { reason: "InternalError", message: "it fails" };
  const stands = { type: "Progressing", status: "False", ...said };
  const unknown = { type: "Ready", status: "Unknown", ...said };
  const ofThePresent = ["Available", "Degraded", "Stalled", "UpToDate"].map((type) => ({ ...unknown, type }));
  expect(failing.members).toEqual(live.status.members);
  expect(failing.conditions).toHaveLength(live.status.conditions!.length);
  const paused = live.status.conditions!.find(({ type }) => type === "Paused");
  expect(paused).toBeDefined();
  expect(failing.conditions).toContainEqual(paused);
  for (const each of [stands, unknown, ...ofThePresent])
    expect(failing.conditions).toContainEqual(expect.objectContaining({ ...each, observedGeneration: 1 }));
  const { generation: _, ...metadata } = settled.cluster.metadata;
  const at = { observedGeneration: 0, lastTransitionTime: "1970-01-01T00:00:00Z" };
  expect(failingStatus({ ...settled.cluster, metadata, status: undefined } as never, "it fails", 0)).toEqual({
    conditions: [
      { ...stands, ...at },
      { ...unknown, ...at },
    ],
  });
});

test("cluster status: members of a cluster that is less than five seconds old have no message", () => {
  const words = (ageMs: number) => {
    const takenAtMs = Date.parse(starting.cluster.metadata.creationTimestamp ?? "") + ageMs;
    return statusOf({ ...starting, takenAtMs }).members?.map(({ message }) => message === undefined);
  };
  expect([words(4_999), words(5_000)]).toEqual([
    [true, true, true],
    [false, false, false],
  ]);
});
