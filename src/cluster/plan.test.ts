import { expect, test } from "vitest";
import { CLAIM_CLUSTER_ID_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import { present } from "#base/observed.ts";
import { newPeer } from "#cluster/desired/peer.ts";
import { CLUSTER_GUARDS, keepQuorum } from "#cluster/guards.ts";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type AlarmType, hexOf, memberIdFromHex } from "#etcd/types.ts";
import {
  born,
  changedPeer,
  claim,
  claimIdentity,
  cluster,
  endpointStatus,
  knownFor,
  LATER_ID,
  pod,
  sickFor,
  unpublished,
  withArrival,
  withBudget,
  withoutMember,
  withRemoval,
} from "#kit/cluster.ts";
import type { PersistentVolumeClaim, Pod, Service } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";

/** A plan in a few words: what, by whose decision, and whether a person should hear of it. */
function said(plan: Plan<ClusterStep>): string {
  switch (plan.next) {
    case "settled":
      return "settled";
    case "wait":
      return `${plan.warn ? "warn" : "wait"}: ${plan.rule}`;
    case "step":
      return `${plan.rule}: ${nameOf(plan.step)}`;
  }
}

function nameOf(step: ClusterStep): string {
  if (step.do === "createPeer" || step.do === "replacePeer") {
    return `${step.do} ${step.peer.metadata.name} ${step.peer.spec?.bootstrap?.initialClusterState ?? "fenced"}`;
  }
  if (step.do === "markRemoval") return `markRemoval ${step.peer.metadata.name} ${step.removal ?? "none"}`;
  if (step.do === "releaseClaim") return `releaseClaim ${step.peer.metadata.name} ${step.finalizer.split("/")[1]}`;
  if (step.do === "deletePeer") return `deletePeer ${step.peer.metadata.name}`;
  if (step.do === "addLearner") return `addLearner ${step.peerUrl}`;
  if (step.do === "promote" || step.do === "removeMember") return `${step.do} ${step.name}`;
  if (step.do === "moveLeader") return `moveLeader ${step.from} to ${step.to}`;
  if (step.do === "recordJoined") return `recordJoined ${step.names.join(" ")}`;
  if (step.do === "createService" || step.do === "replaceService") return `${step.do} ${step.service.metadata.name}`;
  return step.do;
}

function without(snapshot: ClusterSnapshot, ...peers: readonly string[]): ClusterSnapshot {
  return { ...snapshot, peers: snapshot.peers.filter(({ metadata }) => !peers.includes(metadata.name)) };
}

function withoutClaim(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, claims: snapshot.claims.filter(({ metadata }) => metadata.name !== name) };
}

/** No quorum; by the record there is a learner my-etcd-3, of which etcd cannot tell. It has no peer. */
function withRecordedLearner(claims: readonly PersistentVolumeClaim[]): ClusterSnapshot {
  const snapshot = cluster({ down: ["my-etcd-1", "my-etcd-2"] });
  const voters = snapshot.cluster.status!.identity!.initialMembers.map(({ name, id }) => ({
    name,
    id,
    learner: false,
  }));
  const known = [...voters, { name: "my-etcd-3", id: LATER_ID, learner: true }];
  const members = known.map((member) => ({ ...member, healthy: false, leader: false }));
  const status = { ...snapshot.cluster.status, members };
  return { ...snapshot, cluster: { ...snapshot.cluster, status }, claims: [...snapshot.claims, ...claims] };
}

/** The intent of my-etcd-3, as it was before etcd added the member. */
function withIntent(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { peers } = withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "intended");
  return { ...snapshot, peers };
}

const m1Id = cluster().cluster.status!.identity!.initialMembers[1]!.id;

/** etcd has not heard of the later member's name yet. */
function unnamed(snapshot: ClusterSnapshot): ClusterSnapshot {
  if (snapshot.members.is !== "present") return snapshot;
  const members = snapshot.members.value.members.map((member) =>
    member.isLearner ? { ...member, name: "", clientUrls: [] } : member,
  );
  return { ...snapshot, members: present({ ...snapshot.members.value, members }) };
}

/** Every member tells of the alarm CORRUPT for this ID, or for nobody in particular. */
function withAlarm(snapshot: ClusterSnapshot, id?: string): ClusterSnapshot {
  return withAlarms(snapshot, "CORRUPT", id);
}

function withAlarms(snapshot: ClusterSnapshot, type: AlarmType, id?: string): ClusterSnapshot {
  const memberId = id === undefined ? undefined : memberIdFromHex(id);
  const endpoints = new Map(
    [...snapshot.endpoints].map(([name, answer]) => {
      const alarms = [{ memberId, type }];
      return [name, answer.is === "present" ? present({ ...answer.value, alarms }) : answer] as const;
    }),
  );
  return { ...snapshot, endpoints };
}

/** The member's container has ended at the fence. */
function withLastWords(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const message =
    '{"level":"fatal","msg":"discovery failed","error":"couldn\'t find local name \\"my-etcd-1\\" in the initial cluster configuration"}';
  const pod = snapshot.pods.get(name)!;
  const status = {
    ...pod.status,
    containerStatuses: [
      {
        name: "etcd",
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: { exitCode: 1, message } },
      },
    ],
  };
  return { ...snapshot, pods: new Map([...snapshot.pods, [name, { ...pod, status } as unknown as Pod]]) };
}

const starting = cluster({ stage: "starting" });
const identity = starting.cluster.status!.identity!;
const [first, second] = identity.initialMembers;
const foreignService = born<Service>({
  ...starting.headlessService!,
  metadata: { ...starting.headlessService!.metadata, ownerReferences: [] },
});

/** Two of three have joined; the third is listed, and has never started. */
const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false });
const stragglerLost = sickFor(withUnboundClaim(straggler, "my-etcd-2"), "my-etcd-2", 300_000);
const startedUnseen = withStraggler(cluster({ down: ["my-etcd-2"] }), { started: true });
const lost5 = sickFor(cluster({ replicas: 5, spec: { replicas: 6 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000);
const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);

function withStraggler(snapshot: ClusterSnapshot, { started }: { started: boolean }): ClusterSnapshot {
  const known = snapshot.cluster.status!.identity!;
  const initialMembers = known.initialMembers.map((member, n) => ({ ...member, joined: n < 2 }));
  const status = { ...snapshot.cluster.status, identity: { ...known, initialMembers } };
  const { members } = snapshot;
  if (members.is !== "present") throw new Error("the members are listed");
  const list = members.value.members.map((member, n) => (n < 2 || started ? member : { ...member, clientUrls: [] }));
  const next = {
    ...snapshot,
    cluster: { ...snapshot.cluster, status },
    members: present({ ...members.value, members: list }),
  };
  const third = born(newPeer(next, status.identity, "my-etcd-2"));
  return { ...next, peers: [...next.peers.slice(0, 2), third as EtcdPeer] };
}

function withUnboundClaim(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const claims = snapshot.claims.map((each) => (each.metadata.name === name ? { ...each, spec: {} } : each));
  return { ...snapshot, claims };
}

/** The arriving member's peer as it was before it learned its ID. */
function withIntentOf(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, peers: withIntent(snapshot).peers };
}

/** A learner whose claim has no volume, known for so long. */
function stuckLearner(knownMs: number): ClusterSnapshot {
  const arrival = withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added");
  const { clusterID } = arrival.cluster.status!.identity!;
  const unbound = claim("my-etcd-3", claimIdentity(clusterID, LATER_ID), { bound: false });
  return knownFor({ ...arrival, claims: [...arrival.claims, unbound] }, LATER_ID, knownMs);
}

/** The cluster was Ready for the last time so long ago, in milliseconds. */
function whole(snapshot: ClusterSnapshot, msAgo: number): ClusterSnapshot {
  const lastTransitionTime = new Date(snapshot.takenAtMs - msAgo).toISOString();
  const ready = {
    type: "Ready",
    status: "False" as const,
    reason: "Scaling",
    message: "",
    observedGeneration: 1,
    lastTransitionTime,
  };
  const status = { ...snapshot.cluster.status, conditions: [ready] };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

function withForeignVoter(snapshot: ClusterSnapshot): ClusterSnapshot {
  if (snapshot.members.is !== "present") throw new Error("the members are listed");
  const { value } = snapshot.members;
  const foreign = {
    id: memberIdFromHex("f00"),
    name: "theirs",
    peerUrls: ["http://10.1.2.3:2380"],
    clientUrls: ["http://10.1.2.3:2379"],
    isLearner: false,
  };
  const status = endpointStatus(hexOf(value.clusterId), "f00", m1Id);
  const listed = { ...snapshot, members: present({ ...value, members: [...value.members, foreign] }) };
  return withBudget({ ...listed, endpoints: new Map([...listed.endpoints, ["theirs", present(status)]]) });
}

/** Everybody that answers follows this member. */
function ledBy(snapshot: ClusterSnapshot, id: string): ClusterSnapshot {
  const endpoints = [...snapshot.endpoints]
    .filter(([name]) => name !== "theirs")
    .map(([name, answer]) => {
      const led = answer.is === "present" ? present({ ...answer.value, leaderId: memberIdFromHex(id) }) : answer;
      return [name, led] as const;
    });
  return { ...snapshot, endpoints: new Map(endpoints) };
}

/** The foreign voter calls itself as one of ours does. */
function withNamesake(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const grown = withForeignVoter(snapshot);
  if (grown.members.is !== "present") throw new Error("the members are listed");
  const { value } = grown.members;
  const members = value.members.map((member) => (member.name === "theirs" ? { ...member, name } : member));
  return { ...grown, members: present({ ...value, members: members.toReversed() }) };
}

function withForeignLearner(snapshot: ClusterSnapshot): ClusterSnapshot {
  const grown = withForeignVoter(snapshot);
  if (grown.members.is !== "present") throw new Error("the members are listed");
  const { value } = grown.members;
  const members = value.members.map((member) => (member.name === "theirs" ? { ...member, isLearner: true } : member));
  return withBudget({ ...grown, members: present({ ...value, members }) });
}

function withUnfencedPod(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  return { ...snapshot, pods: new Map([...snapshot.pods, [name, pod(name, { ready: false, fenced: false })]]) };
}

function withOtherUrl(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  if (snapshot.members.is !== "present") throw new Error("the members are listed");
  const { value } = snapshot.members;
  const members = value.members.map((member) =>
    member.name === name ? { ...member, name: "renamed", peerUrls: ["http://10.1.2.3:2380"] } : member,
  );
  return { ...snapshot, members: present({ ...value, members }) };
}

const cases: { name: string; given: ClusterSnapshot; expect: string }[] = [
  { name: "does nothing when all is well", given: cluster(), expect: "settled" },
  {
    name: "does nothing for a cluster that is being deleted",
    given: cluster({ stage: "new", deleting: true }),
    expect: "settled",
  },
  {
    name: "writes down who the cluster is before anything else",
    given: cluster({ stage: "new" }),
    expect: "record-identity: recordIdentity",
  },
  {
    name: "does not start over the claims of an earlier cluster",
    given: cluster({ stage: "new", with: { claims: [claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" })] } }),
    expect: "warn: claim-taken",
  },
  {
    name: "does not take over a Service of its name",
    given: cluster({ stage: "new", with: { headlessService: foreignService } }),
    expect: "warn: name-taken",
  },
  {
    name: "makes names resolvable before members",
    given: cluster({ stage: "recorded" }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "creates the members of the frozen list",
    given: cluster({ stage: "recorded", with: { headlessService: starting.headlessService } }),
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "creates only what is missing of the frozen list",
    given: without(starting, "my-etcd-1"),
    expect: "bootstrap: createPeer my-etcd-1 New",
  },
  {
    name: "keeps to the frozen list when replicas is edited while forming",
    given: cluster({ stage: "starting", spec: { replicas: 5 } }),
    expect: "warn: await-members",
  },
  {
    name: "makes the client Service after the members",
    given: cluster({ stage: "starting", with: { clientService: undefined } }),
    expect: "client-service: createService my-etcd-client",
  },
  {
    name: "makes the budget after the members",
    given: cluster({ stage: "starting", with: { budget: undefined } }),
    expect: "disruption-budget: createBudget",
  },
  { name: "waits for members to join", given: starting, expect: "warn: await-members" },
  {
    name: "records those that have joined",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, first!.id, first!.id))]]),
    },
    expect: "record-joined: recordJoined my-etcd-0",
  },
  {
    name: "does not take a member without a leader for joined",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, first!.id, undefined))]]),
    },
    expect: "warn: await-members",
  },
  {
    name: "does not believe a member of another cluster",
    given: { ...starting, endpoints: new Map([[first!.name, present(endpointStatus("abc", first!.id, first!.id))]]) },
    expect: "warn: await-members",
  },
  {
    name: "does not believe a member that answers as another one",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, second!.id, first!.id))]]),
    },
    expect: "warn: await-members",
  },
  {
    name: "fences members that have joined",
    given: cluster({ stage: "joined" }),
    expect: "fence: replacePeer my-etcd-0 fenced",
  },
  {
    name: "gives a joined member its peer back, fenced",
    given: without(cluster(), "my-etcd-2"),
    expect: "restore-peer: createPeer my-etcd-2 fenced",
  },
  {
    name: "gives it back without a quorum too",
    given: without(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
    expect: "restore-peer: createPeer my-etcd-2 fenced",
  },
  {
    name: "gives who was a learner when it was last asked its peer back, when nobody can be asked: it may have its vote",
    given: withRecordedLearner([claim("my-etcd-3")]),
    expect: "restore-peer: createPeer my-etcd-3 fenced",
  },
  {
    name: "but not when it has no claim, and so no data to return with",
    given: withRecordedLearner([]),
    expect: "warn: await-quorum",
  },
  {
    name: "puts a deleted Service back",
    given: cluster({ with: { headlessService: undefined } }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "repairs a Service that was made from another draft",
    given: cluster({
      with: {
        clientService: born<Service>({
          ...cluster().clientService!,
          metadata: { ...cluster().clientService!.metadata, annotations: {} },
        }),
      },
    }),
    expect: "client-service: replaceService my-etcd-client",
  },
  {
    name: "puts a Service back that somebody led elsewhere",
    given: cluster({
      with: {
        clientService: {
          ...cluster().clientService!,
          spec: { ...cluster().clientService!.spec, selector: { app: "other" } },
        },
      },
    }),
    expect: "client-service: replaceService my-etcd-client",
  },
  {
    name: "puts a budget back that somebody loosened",
    given: cluster({
      with: { budget: { ...cluster().budget!, spec: { ...cluster().budget!.spec, minAvailable: 0 } } },
    }),
    expect: "disruption-budget: replaceBudget",
  },
  {
    name: "touches nothing without quorum",
    given: cluster({ down: ["my-etcd-0", "my-etcd-2"] }),
    expect: "warn: await-quorum",
  },
  {
    name: "touches nothing without quorum, whatever replicas says",
    given: cluster({ down: ["my-etcd-0", "my-etcd-2"], spec: { replicas: 5 } }),
    expect: "warn: await-quorum",
  },
  {
    name: "waits, hands off, while it is paused",
    given: cluster({ spec: { replicas: 5 }, annotations: { "etcd.improbable.io/paused": "true" } }),
    expect: "wait: paused",
  },
  {
    name: "comes back from the claims that an earlier cluster of its name left",
    given: cluster({
      stage: "new",
      with: { claims: [0, 1, 2].map((n) => claim(`my-etcd-${n}`, claimIdentity("abc", `${n + 1}`))) },
    }),
    expect: "adopt-claims: recordIdentity",
  },
  {
    name: "does not come back from claims of two clusters",
    given: cluster({
      stage: "new",
      with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1")), claim("my-etcd-1", claimIdentity("def", "2"))] },
    }),
    expect: "warn: claim-taken",
  },
  {
    name: "asks for one more member before it adds one",
    given: cluster({ spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "adds the member that it asked for, as a learner",
    given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "intended"),
    expect: "scale-up: addLearner http://my-etcd-3.my-etcd.foo.svc:2380",
  },
  {
    name: "adds a member under the name of a first member that has left",
    given: withArrival(without(withoutMember(cluster(), "my-etcd-2"), "my-etcd-2"), "my-etcd-2", "intended"),
    expect: "scale-up: addLearner http://my-etcd-2.my-etcd.foo.svc:2380",
  },
  {
    name: "lets go of what it asked for when it is not wanted any more",
    given: withArrival(cluster(), "my-etcd-3", "intended"),
    expect: "scale-up: deletePeer my-etcd-3",
  },
  {
    name: "lets go of it also when fewer are wanted than there are",
    given: withIntent(cluster({ spec: { replicas: 1 } })),
    expect: "scale-down: deletePeer my-etcd-3",
  },
  {
    name: "adds nobody while a member is sick",
    given: withArrival(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-3", "intended"),
    expect: "wait: scale-up",
  },
  {
    name: "recognises the member that it asked for",
    given: withIntent(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added", { peer: false })),
    expect: "identify-member: replacePeer my-etcd-3 Existing",
  },
  {
    name: "gives a member that was added its peer back",
    given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added", { peer: false }),
    expect: "restore-learner: createPeer my-etcd-3 Existing",
  },
  {
    name: "adds no second one while one is on its way",
    given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added"),
    expect: "wait: await-learner",
  },
  {
    name: "fences a learner before it gets a vote",
    given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "started"),
    expect: "fence: replacePeer my-etcd-3 fenced",
  },
  {
    name: "gives a learner that has caught up its vote",
    given: withBudget(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced")),
    expect: "promote-learner: promote my-etcd-3",
  },
  {
    name: "gives it its vote also while its client port is silent: its own health check has read linearizably",
    given: withBudget(unpublished(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced"), "my-etcd-3")),
    expect: "promote-learner: promote my-etcd-3",
  },
  {
    name: "but not before it has told its name: a voter without one would be taken for one that has yet to start",
    given: unnamed(unpublished(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced"), "my-etcd-3")),
    expect: "wait: await-learner",
  },
  {
    name: "gives no vote to whoever else passes at its address",
    given: unpublished(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced"), "my-etcd-3", "abc"),
    expect: "wait: await-learner",
  },
  {
    name: "adds the next one while a member takes part and does not serve clients yet",
    given: unpublished(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "intended"), "my-etcd-2"),
    expect: "scale-up: addLearner http://my-etcd-3.my-etcd.foo.svc:2380",
  },
  {
    name: "waits for one that takes part to serve clients",
    given: unpublished(cluster(), "my-etcd-1"),
    expect: "wait: await-health",
  },
  {
    name: "does not believe this of a first member: another cluster may have been formed with its ID",
    given: { ...unpublished(cluster(), "my-etcd-1"), cluster: cluster().cluster, pods: new Map() },
    expect: "wait: await-health",
  },
  {
    name: "nor of a member whose data is corrupt",
    given: withAlarm(unpublished(sickFor(cluster(), "my-etcd-1", 10_000), "my-etcd-1"), m1Id),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "never gives up one that takes part, however long it serves nobody",
    given: unpublished(sickFor(cluster(), "my-etcd-1", 3_000_000), "my-etcd-1"),
    expect: "warn: await-health",
  },
  {
    name: "takes a removal back when the member takes part again",
    given: withRemoval(unpublished(cluster(), "my-etcd-1"), "my-etcd-1", "replacement"),
    expect: "remove-member: markRemoval my-etcd-1 none",
  },
  {
    name: "chooses one that does not serve clients before those that do",
    given: unpublished(cluster({ replicas: 5, spec: { replicas: 3 } }), "my-etcd-1"),
    expect: "scale-down: markRemoval my-etcd-1 scale-down",
  },
  {
    name: "and a sick one before that",
    given: unpublished(cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-2"] }), "my-etcd-1"),
    expect: "scale-down: markRemoval my-etcd-2 scale-down",
  },
  {
    name: "lets one go that does not serve clients",
    given: withRemoval(
      unpublished(cluster({ replicas: 5, spec: { replicas: 3 } }), "my-etcd-1"),
      "my-etcd-1",
      "scale-down",
    ),
    expect: "remove-member: removeMember my-etcd-1",
  },
  {
    name: "takes a learner back that does not arrive",
    given: knownFor(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added"), LATER_ID, 601_000),
    expect: "give-up-learner: markRemoval my-etcd-3 replacement",
  },
  {
    name: "gives a learner its time, however old its EtcdPeer looks by the clock of this node",
    given: knownFor(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added"), LATER_ID, 599_000),
    expect: "wait: await-learner",
  },
  {
    name: "chooses the highest ordinal to go",
    given: cluster({ replicas: 5, spec: { replicas: 3 } }),
    expect: "scale-down: markRemoval my-etcd-4 scale-down",
  },
  {
    name: "chooses a sick one to go before",
    given: cluster({ replicas: 5, spec: { replicas: 3 }, down: ["my-etcd-1"] }),
    expect: "scale-down: markRemoval my-etcd-1 scale-down",
  },
  {
    name: "removes whom it has chosen",
    given: withRemoval(cluster({ spec: { replicas: 2 } }), "my-etcd-2", "scale-down"),
    expect: "remove-member: removeMember my-etcd-2",
  },
  {
    name: "moves the leadership away first",
    given: withRemoval(cluster({ spec: { replicas: 2 }, leader: "my-etcd-2" }), "my-etcd-2", "scale-down"),
    expect: "remove-member: moveLeader my-etcd-2 to my-etcd-0",
  },
  {
    name: "takes a removal back that is not wanted any more",
    given: withRemoval(cluster(), "my-etcd-2", "scale-down"),
    expect: "remove-member: markRemoval my-etcd-2 none",
  },
  {
    name: "takes a removal back also while another member is about to come",
    given: withRemoval(
      withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "intended"),
      "my-etcd-2",
      "scale-down",
    ),
    expect: "remove-member: markRemoval my-etcd-2 none",
  },
  {
    name: "takes a second removal back, instead of letting two wait for each other",
    given: withRemoval(
      withRemoval(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] }), "my-etcd-1", "replacement"),
      "my-etcd-3",
      "replacement",
    ),
    expect: "remove-member: markRemoval my-etcd-3 none",
  },
  {
    name: "takes a replacement back when the member is healthy again",
    given: withRemoval(cluster(), "my-etcd-2", "replacement"),
    expect: "remove-member: markRemoval my-etcd-2 none",
  },
  {
    name: "lets a sick member go instead of the one that it had chosen",
    given: withRemoval(cluster({ replicas: 4, spec: { replicas: 3 }, down: ["my-etcd-0"] }), "my-etcd-3", "scale-down"),
    expect: "remove-member: markRemoval my-etcd-3 none",
  },
  {
    name: "has the claim of a surplus member deleted, only after etcd has let it go",
    given: withRemoval(withoutMember(cluster({ spec: { replicas: 2 } }), "my-etcd-2"), "my-etcd-2", "scale-down"),
    expect: "retire-peer: releaseClaim my-etcd-2 pvc-cleanup",
  },
  {
    name: "has the claim of a member kept that somebody else removed",
    given: withoutMember(cluster(), "my-etcd-2"),
    expect: "retire-peer: releaseClaim my-etcd-2 pvc-quarantine",
  },
  {
    name: "deletes the peer once its claim is seen to",
    given: changedPeer(withoutMember(cluster(), "my-etcd-2"), "my-etcd-2", {
      finalizers: ["etcdpeer.etcd.improbable.io/pvc-quarantine"],
    }),
    expect: "retire-peer: deletePeer my-etcd-2",
  },
  {
    name: "waits for a lost member for the stated time",
    given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 299_000),
    expect: "wait: await-health",
  },
  {
    name: "then gives it up",
    given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "takes an intent back first, which waits for the lost member",
    given: withIntent(sickFor(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000)),
    expect: "replace-lost: deletePeer my-etcd-3",
  },
  {
    name: "gives a member up sooner whose claim is gone",
    given: withoutClaim(sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 10_000), "my-etcd-1"),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "removes a lost member although none is to spare: nothing is lost by it",
    given: withRemoval(sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000), "my-etcd-1", "replacement"),
    expect: "remove-member: removeMember my-etcd-1",
  },
  {
    name: "gives a corrupt member up after the stated time",
    given: withAlarm(sickFor(cluster(), "my-etcd-1", 10_000), m1Id),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "changes nothing while the members' data differs and nobody knows whose is right",
    given: withAlarm(sickFor(cluster({ spec: { replicas: 1 } }), "my-etcd-1", 300_000)),
    expect: "warn: await-verdict",
  },
  {
    name: "lowers the alarm of a corrupt member that has left",
    given: withAlarm(cluster(), "abc"),
    expect: "disarm-alarm: disarmAlarm",
  },
  {
    name: "gives a member up sooner that has stopped before an empty volume",
    given: withLastWords(sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 10_000), "my-etcd-1"),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "gives nobody up without a quorum",
    given: sickFor(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-1", 3_000_000),
    expect: "warn: await-quorum",
  },
  { name: "waits for a sick member", given: cluster({ down: ["my-etcd-1"] }), expect: "wait: await-health" },
  // Versions
  {
    name: "goes on while another version is asked for",
    given: cluster({ spec: { version: "3.7.3" } }),
    expect: "settled",
  },
  // Forming ends with a majority
  {
    name: "a cluster has formed when a majority has joined: the one that never came is lost like any other",
    given: stragglerLost,
    expect: "replace-lost: markRemoval my-etcd-2 never-started",
  },
  {
    name: "a first member that never came is not started any more once etcd does not list it",
    given: without(withoutMember(straggler, "my-etcd-2"), "my-etcd-2"),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "a first member that never came, and whose EtcdPeer is gone, may still come",
    given: without(straggler, "my-etcd-2"),
    expect: "bootstrap: createPeer my-etcd-2 New",
  },
  {
    name: "a first member that etcd lists as started has joined, whether or not it was ever asked",
    given: startedUnseen,
    expect: "record-joined: recordJoined my-etcd-2",
  },
  // Evidence
  {
    name: "nobody is given up whom the kubelet calls ready",
    given: { ...lost, pods: cluster().pods },
    expect: "wait: await-health",
  },
  {
    name: "nobody is given up from whom the leader hears",
    given: { ...lost, heard: new Set([m1Id]) },
    expect: "wait: await-health",
  },
  {
    name: "a removal on record is taken back when the leader hears the member after all",
    given: withRemoval({ ...lost, heard: new Set([m1Id]) }, "my-etcd-1", "replacement"),
    expect: "remove-member: markRemoval my-etcd-1 none",
  },
  {
    name: "a process that has not seen enough of it removes nobody on the word of an earlier one",
    given: withRemoval(sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 20_000), "my-etcd-1", "replacement"),
    expect: "wait: remove-member",
  },
  {
    name: "a leader that has to go and gives no answer is removed through another member",
    given: withRemoval(
      cluster({ spec: { replicas: 2 }, leader: "my-etcd-2", down: ["my-etcd-2"] }),
      "my-etcd-2",
      "scale-down",
    ),
    expect: "remove-member: removeMember my-etcd-2",
  },
  {
    name: "a member of somebody else that bears the name of one of ours is not taken for it",
    given: without(withNamesake(cluster(), "my-etcd-1"), "my-etcd-1"),
    expect: "restore-peer: createPeer my-etcd-1 fenced",
  },
  // Finalizers
  {
    name: "an intent that was on its way out is not resumed, although etcd has added its member by now",
    given: changedPeer(
      withIntentOf(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "added")),
      "my-etcd-3",
      {
        finalizers: ["etcdpeer.etcd.improbable.io/pvc-cleanup"],
      },
    ),
    expect: "retire-peer: deletePeer my-etcd-3",
  },
  // Learners
  {
    name: "a learner that never ran is given up, and its claim with it",
    given: stuckLearner(601_000),
    expect: "give-up-learner: markRemoval my-etcd-3 never-started",
  },
  {
    name: "one that never ran is waited for as long as all tries before it took together",
    given: whole(stuckLearner(601_000), 2 * 3_600_000),
    expect: "wait: await-learner",
  },
  {
    name: "a learner that has run keeps its claim when it is given up",
    given: knownFor(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "started"), LATER_ID, 601_000),
    expect: "fence: replacePeer my-etcd-3 fenced",
  },
  {
    name: "a learner that is not wanted any more is taken back before it gets its vote: its claim goes, since somebody asked for fewer",
    given: withBudget(withArrival(cluster(), "my-etcd-3", "synced")),
    expect: "take-back-learner: markRemoval my-etcd-3 scale-down",
  },
  {
    name: "a learner that is on its way out gets no vote",
    given: withRemoval(withBudget(withArrival(cluster(), "my-etcd-3", "synced")), "my-etcd-3", "scale-down"),
    expect: "remove-member: removeMember my-etcd-3",
  },
  {
    name: "a learner gets its vote also while somebody else's member leads, whom nobody here can ask",
    given: withBudget(
      ledBy(withForeignVoter(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced")), "f00"),
    ),
    expect: "promote-learner: promote my-etcd-3",
  },
  {
    name: "of two that are to leave the learner goes first",
    given: withRemoval(
      withRemoval(withArrival(lost5, "my-etcd-5", "synced"), "my-etcd-1", "replacement"),
      "my-etcd-5",
      "replacement",
    ),
    expect: "remove-member: removeMember my-etcd-5",
  },
  {
    name: "a learner that nobody can fence is given up like any other",
    given: withUnfencedPod(
      knownFor(withBudget(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced")), LATER_ID, 3_600_000),
      "my-etcd-3",
    ),
    expect: "give-up-learner: markRemoval my-etcd-3 replacement",
  },
  // Members of somebody else
  {
    name: "a voter that a person added costs none of ours",
    given: withForeignVoter(cluster()),
    expect: "settled",
  },
  {
    name: "nor does it count as one that is wanted",
    given: withForeignVoter(cluster({ spec: { replicas: 4 } })),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "a learner that a person added takes the only place for one: it is waited for, and said",
    given: withForeignLearner(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "intended")),
    expect: "warn: scale-up",
  },
  {
    name: "a member is known by its ID, whatever somebody made of its peer URL",
    given: withOtherUrl(cluster(), "my-etcd-1"),
    expect: "settled",
  },
  // One thing never starves another
  {
    name: "a Service of somebody else is in nobody's way once the cluster is on record",
    given: cluster({ with: { clientService: foreignService }, spec: { replicas: 5 } }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
  {
    name: "a full database is in nobody's way",
    given: withAlarms({ ...cluster({ spec: { replicas: 5 } }) }, "NOSPACE", m1Id),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
];

for (const { name, given, expect: wanted } of cases) {
  test(`cluster plan: ${name}`, () => expect(said(planCluster(given))).toBe(wanted));
}

test("cluster plan: every rule decides at least one of the cases above", () => {
  const deciding = new Set(
    cases
      .map(({ given }) => planCluster(given))
      .flatMap((plan) => [
        ...(plan.next === "settled" ? [] : [plan.rule]),
        ...(plan.aside ?? []).map(({ rule }) => rule),
      ]),
  );
  // `deleting` decides by settling, which leaves no name.
  expect(CLUSTER_RULES.map(({ name }) => name).filter((name) => !deciding.has(name) && name !== "deleting")).toEqual(
    [],
  );
});

test("cluster plan: a bootstrap from nothing takes the same steps in the same order every time", () => {
  expect(planCluster(cluster({ stage: "new" }))).toEqual(planCluster(cluster({ stage: "new" })));
});

const draft = { apiVersion: "v1", kind: "Service", metadata: { name: "my-etcd" } } as const;
const recorded = cluster({ stage: "recorded" });
const newPeerStep: ClusterStep = planCluster(
  cluster({ stage: "recorded", with: { headlessService: starting.headlessService } }),
) as never;
const peerStep = (newPeerStep as unknown as { step: ClusterStep }).step;

const forbidden: { name: string; guard: string; given: ClusterSnapshot; step: ClusterStep }[] = [
  {
    name: "anything before the identity is on record",
    guard: "identity-first",
    given: cluster({ stage: "new" }),
    step: { do: "createService", service: draft },
  },
  { name: "a second identity", guard: "identity-first", given: recorded, step: { do: "recordIdentity", identity } },
  { name: "bootstrapping a member that has joined", guard: "bootstrap-once", given: cluster(), step: peerStep },
  {
    name: "bootstrapping a member outside the frozen list",
    guard: "bootstrap-once",
    given: recorded,
    step: {
      do: "createPeer",
      peer: { ...(peerStep as never as { peer: typeof draft }).peer, metadata: { name: "my-etcd-7" } } as never,
    },
  },
  {
    name: "recording a member as joined that has not answered",
    guard: "joined-is-seen",
    given: starting,
    step: { do: "recordJoined", names: ["my-etcd-0"] },
  },
  {
    name: "changing what another owner manages",
    guard: "own-only",
    given: cluster(),
    step: { do: "replaceService", live: foreignService, service: draft },
  },
];

const [m0, m1, m2] = cluster().cluster.status!.identity!.initialMembers.map(({ name, id }) => ({
  name,
  id: memberIdFromHex(id),
}));
const outage = cluster({ down: ["my-etcd-1", "my-etcd-2"] });
const arriving = withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "started");
forbidden.push(
  {
    name: "a change of membership without a member list",
    guard: "need-member-list",
    given: outage,
    step: { do: "removeMember", ...m2! },
  },
  {
    name: "giving a claim away without a member list",
    guard: "need-member-list",
    given: outage,
    step: { do: "deletePeer", peer: outage.peers[2]! },
  },
  {
    name: "removing a healthy member when the rest is no quorum",
    guard: "keep-quorum",
    given: cluster({ down: ["my-etcd-1"] }),
    step: { do: "removeMember", ...m0! },
  },
  {
    name: "removing the last member",
    guard: "keep-quorum",
    given: cluster({ replicas: 1 }),
    step: {
      do: "removeMember",
      name: "my-etcd-0",
      id: memberIdFromHex(cluster({ replicas: 1 }).cluster.status!.identity!.initialMembers[0]!.id),
    },
  },
  {
    name: "taking the last spare voter when three are wanted",
    guard: "keep-quorum",
    given: cluster(),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "taking a voter away that may be well, when it is the last spare one",
    guard: "keep-quorum",
    given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 4_000),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "a second learner",
    guard: "one-at-a-time",
    given: arriving,
    step: { do: "addLearner", name: "my-etcd-4", peerUrl: "http://my-etcd-4.my-etcd.foo.svc:2380" },
  },
  {
    name: "a removal while a member arrives",
    guard: "one-at-a-time",
    given: arriving,
    step: { do: "removeMember", ...m2! },
  },
  {
    name: "a second removal",
    guard: "one-at-a-time",
    given: withRemoval(cluster(), "my-etcd-1", "replacement"),
    step: { do: "markRemoval", peer: cluster().peers[2]!, removal: "scale-down" },
  },
  {
    name: "a vote for who is not fenced",
    guard: "fence-before-vote",
    given: arriving,
    step: { do: "promote", name: "my-etcd-3", id: memberIdFromHex("abcdef12345") },
  },
  {
    name: "letting go of a member that etcd lists",
    guard: "not-a-member",
    given: cluster(),
    step: { do: "releaseClaim", peer: cluster().peers[2]!, finalizer: "etcdpeer.etcd.improbable.io/pvc-quarantine" },
  },
  {
    name: "deleting the peer of a member that etcd lists",
    guard: "not-a-member",
    given: cluster(),
    step: { do: "deletePeer", peer: cluster().peers[2]! },
  },
  {
    name: "lowering the alarm of a member that is still there",
    guard: "alarm-is-over",
    given: cluster(),
    step: { do: "disarmAlarm", id: m1!.id },
  },
  {
    name: "a removal while the kubelet calls the member ready",
    guard: "nobody-vouches",
    given: withRemoval({ ...lost, pods: cluster().pods }, "my-etcd-1", "replacement"),
    step: { do: "removeMember", ...m1! },
  },
  {
    name: "giving up somebody who takes part",
    guard: "nobody-vouches",
    given: cluster(),
    step: { do: "markRemoval", peer: cluster().peers[1]!, removal: "replacement" },
  },
  {
    name: "a first start after the cluster has formed without the member",
    guard: "bootstrap-once",
    given: withoutMember(straggler, "my-etcd-2"),
    step: { do: "createPeer", peer: straggler.peers[2]! },
  },
  {
    name: "letting a voter go as surplus when nobody asked for fewer",
    guard: "asked-to-delete",
    given: withForeignVoter(cluster()),
    step: { do: "markRemoval", peer: cluster().peers[2]!, removal: "scale-down" },
  },
  {
    name: "calling a member unused that may hold data",
    guard: "asked-to-delete",
    given: lost,
    step: { do: "markRemoval", peer: cluster().peers[1]!, removal: "never-started" },
  },
  {
    name: "a vote while the pod that runs could bootstrap",
    guard: "fence-before-vote",
    given: withUnfencedPod(withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "synced"), "my-etcd-3"),
    step: { do: "promote", name: "my-etcd-3", id: memberIdFromHex("abcdef12345") },
  },
  {
    name: "deleting data that nobody asked to be deleted",
    guard: "asked-to-delete",
    given: withoutMember(cluster(), "my-etcd-2"),
    step: { do: "releaseClaim", peer: cluster().peers[2]!, finalizer: "etcdpeer.etcd.improbable.io/pvc-cleanup" },
  },
);

test("cluster guards: each of them forbids something above", () => {
  expect(
    CLUSTER_GUARDS.map(({ name }) => name).filter((name) => !forbidden.some(({ guard }) => guard === name)),
  ).toEqual([]);
});

for (const { name, guard, given, step } of forbidden) {
  test(`cluster guards: ${guard} forbids ${name}`, () => {
    expect(CLUSTER_GUARDS.filter((each) => each.forbids(given, step) !== undefined).map((each) => each.name)).toContain(
      guard,
    );
  });
}

test("keep-quorum: to remove a voter that has been sick for a while takes nothing away", () => {
  const given = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 5_000);
  expect(keepQuorum.forbids(given, { do: "removeMember", ...m1! })).toBeUndefined();
});
