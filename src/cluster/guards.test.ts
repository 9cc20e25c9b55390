import { expect, test } from "vitest";
import { CLEANUP_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import { present } from "#base/observed.ts";
import { disruptionBudget } from "#cluster/desired/disruption-budget.ts";
import { fencedPeer, intendedPeer, joiningPeer, newPeer } from "#cluster/desired/peer.ts";
import { clientService } from "#cluster/desired/services.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type Member, memberIdFromHex } from "#etcd/types.ts";
import {
  born,
  changedPeer,
  cluster,
  endpointStatus,
  LATER_ID,
  sickFor,
  withArrival,
  withoutMember,
  withRemoval,
} from "#kit/cluster.ts";
import type { PodDisruptionBudget, Service } from "#kube/kinds.ts";

const settled = cluster();
const identity = settled.cluster.status!.identity!;
const [m0, m1, m2] = identity.initialMembers.map(({ name, id }) => ({ name, id: memberIdFromHex(id) }));
const learner = { name: "my-etcd-3", id: memberIdFromHex(LATER_ID) };

/** The snapshot with one more member in etcd's list. */
function listing(snapshot: ClusterSnapshot, member: Partial<Member>): ClusterSnapshot {
  if (snapshot.members.is !== "present") throw new Error("there is no list");
  const { value } = snapshot.members;
  const more: Member = {
    id: memberIdFromHex("f00"),
    name: "",
    peerUrls: [],
    clientUrls: [],
    isLearner: false,
    ...member,
  };
  return { ...snapshot, members: present({ ...value, members: [...value.members, more] }) };
}

/** The snapshot in which this member answers. */
function answering(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const id = identity.initialMembers.find((member) => member.name === name)!.id;
  const status = endpointStatus(identity.clusterID, id, id);
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints, [name, present(status)]]) };
}

function peerOf(snapshot: ClusterSnapshot, name: string): EtcdPeer {
  return snapshot.peers.find(({ metadata }) => metadata.name === name)!;
}

function wanting(snapshot: ClusterSnapshot, spec: Partial<ClusterSnapshot["cluster"]["spec"]>): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, ...spec } } };
}

/** One step of every kind, each about what is there. */
const STEPS: { readonly [Kind in ClusterStep["do"]]: Extract<ClusterStep, { do: Kind }> } = {
  recordIdentity: { do: "recordIdentity", identity },
  recordJoined: { do: "recordJoined", names: ["my-etcd-0"] },
  createService: { do: "createService", service: clientService(settled) },
  replaceService: { do: "replaceService", live: settled.clientService!, service: clientService(settled) },
  createBudget: { do: "createBudget", budget: disruptionBudget(settled) },
  replaceBudget: { do: "replaceBudget", live: settled.budget!, budget: disruptionBudget(settled) },
  createPeer: { do: "createPeer", peer: fencedPeer(settled, identity, "my-etcd-0") },
  replacePeer: { do: "replacePeer", live: settled.peers[0]!, peer: fencedPeer(settled, identity, "my-etcd-0") },
  markRemoval: { do: "markRemoval", peer: settled.peers[2]!, removal: "replacement" },
  releaseClaim: { do: "releaseClaim", peer: settled.peers[2]!, finalizer: CLEANUP_FINALIZER },
  deletePeer: { do: "deletePeer", peer: settled.peers[2]! },
  addLearner: { do: "addLearner", name: "my-etcd-3", peerUrl: "http://my-etcd-3.my-etcd.foo.svc:2380" },
  promote: { do: "promote", ...learner },
  removeMember: { do: "removeMember", ...m2! },
  disarmAlarm: { do: "disarmAlarm", id: learner.id },
  moveLeader: { do: "moveLeader", from: m0!.name, to: m1!.name, id: m1!.id },
};

interface Case {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly step: ClusterStep;
  readonly is: "forbidden" | "allowed";
}

/** What each guard says of a step, whatever the other guards say. */
const cases: Record<string, readonly Case[]> = {
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
      given: wanting(settled, { replicas: 2 }),
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
      given: listing(settled, { name: "theirs", peerUrls: ["http://elsewhere:2380"], isLearner: true }),
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
      name: "who has no peer gets no vote",
      given: withArrival(settled, "my-etcd-3", "synced", { peer: false }),
      step: STEPS.promote,
      is: "forbidden",
    },
  ],
  "not-a-member": [
    {
      name: "an intent that etcd has added meanwhile stays",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "forbidden",
    },
    {
      name: "an intent that etcd does not list goes",
      given: settled,
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "allowed",
    },
    {
      name: "a member that was added again under its old URL is another one",
      given: settled,
      step: { do: "deletePeer", peer: { ...settled.peers[2]!, spec: { ...settled.peers[2]!.spec, memberID: "abc" } } },
      is: "allowed",
    },
    {
      name: "whom etcd lists under another URL stays",
      given: listing(withoutMember(settled, "my-etcd-2"), { id: m2!.id, peerUrls: ["http://elsewhere:2380"] }),
      step: STEPS.releaseClaim,
      is: "forbidden",
    },
    {
      name: "without a member list nobody goes",
      given: cluster({ down: ["my-etcd-1", "my-etcd-2"] }),
      step: { do: "deletePeer", peer: intent("my-etcd-3") },
      is: "forbidden",
    },
  ],
  "alarm-is-over": [
    { name: "the alarm of a member stays", given: settled, step: { do: "disarmAlarm", id: m1!.id }, is: "forbidden" },
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
      name: "who was never a member leaves no data",
      given: settled,
      step: { ...STEPS.releaseClaim, peer: intent("my-etcd-3") },
      is: "allowed",
    },
  ],
  "own-only": [
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
      ["createPeer", "allowed"],
      ["replacePeer", "allowed"],
      ["markRemoval", "forbidden"],
      ["releaseClaim", "forbidden"],
      ["deletePeer", "forbidden"],
      ["addLearner", "forbidden"],
      ["promote", "forbidden"],
      ["removeMember", "forbidden"],
      ["disarmAlarm", "forbidden"],
      ["moveLeader", "forbidden"],
    ] as const
  ).flatMap(([kind, is]): readonly Case[] => [
    { name: `without a member list ${kind} is ${is}`, given: withoutList(settled), step: STEPS[kind], is },
    { name: `with a member list ${kind} is for others to judge`, given: settled, step: STEPS[kind], is: "allowed" },
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
