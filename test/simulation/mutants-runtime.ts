import { isLeaving, knownMembers, ownVoters, votersOf } from "#cluster/members.ts";
import { isSettled } from "#cluster/rest.ts";
import { type ClusterSnapshot, identityOf, peerNamed } from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import type { Mutation } from "#kit/world-operator.ts";
import { step, wait } from "#runtime/decide.ts";
import { FORMED, FORMING, SCALED } from "./leanings.ts";
import { doing, type Edit, type Mutant, replaced, seeing } from "./mutant.ts";
import type { Leaning } from "./profile.ts";

// What stands aside, what rests, when a cluster has formed, and who is meant: each broken once.

/** Writes that are refused or undone, while there is something to do. */
const REFUSED: Leaning = {
  ...FORMED,
  often: { placeForeign: 8, deleteService: 4, deleteBudget: 4, editReplicas: 3 },
  isTidied: false,
  steps: 120,
};

/** Nothing is asked while a step rests. */
const holding: Edit = (plans) => ({
  ...plans,
  clusterRules: plans.clusterRules.map((rule) => ({ ...rule, holds: true })),
  peerRules: plans.peerRules.map((rule) => ({ ...rule, holds: true })),
});

/** Whatever was refused or undone is tried again at once. */
export const restless: NonNullable<Mutation["cluster"]> = (real) => ({
  ...real,
  plan: (snapshot) => real.plan(snapshot, () => undefined),
});

/** Who waits looks again twice a second, however long it has waited. */
const hurried: NonNullable<Mutation["cluster"]> = (real) => ({
  ...real,
  plan: (snapshot, resting) => {
    const plan = real.plan(snapshot, resting);
    return plan.next === "wait" ? { ...plan, recheckAfterMs: 500 } : plan;
  },
});

/** The pod that runs is not asked whether it has been told. */
const byRecordAlone: Edit = (plans) => ({
  ...plans,
  clusterGuards: plans.clusterGuards.map((real) =>
    real.name === "fence-before-vote"
      ? {
          ...real,
          forbids: (snapshot, { do: what, ...target }) =>
            what === "promote" && "name" in target && peerNamed(snapshot, target.name)?.spec.bootstrap !== undefined
              ? "mutant"
              : undefined,
        }
      : real,
  ),
});

/** Who is one too many when members of somebody else are counted. */
function crowdedOut(snapshot: ClusterSnapshot) {
  const isCrowded = votersOf(snapshot).length > snapshot.cluster.spec.replicas;
  const member = isCrowded ? ownVoters(snapshot).at(-1) : undefined;
  return { member, peer: member === undefined ? undefined : peerNamed(snapshot, member.name) };
}

/** EtcdPeers as members of their names. */
function namesakes(snapshot: ClusterSnapshot): ClusterSnapshot {
  const ids = new Map(knownMembers(snapshot).map(({ name, id }) => [name, id]));
  const peers = snapshot.peers.map((peer) => {
    const id = ids.get(peer.metadata.name);
    return id === undefined ? peer : { ...peer, spec: { ...peer.spec, memberID: id } };
  });
  return { ...snapshot, peers };
}

export const RUNTIME_MUTANTS: readonly Mutant[] = [
  {
    name: "a step that rests holds up all others",
    edits: [holding],
    leaning: REFUSED,
  },
  {
    name: "nothing rests",
    parts: {
      cluster: restless,
      peer: (real) => ({ ...real, plan: (snapshot) => real.plan(snapshot, () => undefined) }),
    },
    leaning: REFUSED,
  },
  {
    name: "whoever waits looks twice a second for ever",
    promise: "rests",
    parts: { cluster: hurried },
    leaning: { ...FORMING, obstacle: "noVolume", steps: 10 },
  },
  {
    name: "who is at rest is looked at once in an hour",
    parts: {
      cluster: (real) => ({
        ...real,
        restMs: (given, plan) => (isSettled(given) ? 60 * 60_000 : real.restMs(given, plan)),
      }),
    },
    leaning: { ...FORMED, often: { fillMember: 6 }, isTidied: false, onlyThat: true, steps: 60 },
  },
  {
    name: "the budget counts voters only",
    edits: [
      doing("disruption-budget", (real, snapshot) => {
        if (real.do !== "createBudget" && real.do !== "replaceBudget") return real;
        const minAvailable = quorumOf(Math.max(votersOf(snapshot).length, 1));
        return { ...real, budget: { ...real.budget, spec: { ...real.budget.spec, minAvailable } } };
      }),
    ],
    leaning: { ...FORMED, often: { drain: 6, editReplicas: 4 }, steps: 160 },
  },
  {
    name: "a cluster forms until all its members have joined",
    edits: [
      replaced("await-members", (real, snapshot) => {
        const isForming = identityOf(snapshot)?.initialMembers.some(({ joined }) => !joined) ?? false;
        return isForming ? wait("await-members", "mutant", 5_000) : real.decide(snapshot);
      }),
    ],
    leaning: { ...FORMING, often: { emptyDisk: 3, deleteClaim: 2, deletePod: 3 }, hasStrictEtcd: true },
  },
  {
    name: "restore-peer goes by spec.version",
    edits: [
      doing("restore-peer", (real, { cluster }) =>
        real.do === "createPeer" && real.peer.spec !== undefined
          ? { ...real, peer: { ...real.peer, spec: { ...real.peer.spec, version: cluster.spec.version } } }
          : real,
      ),
    ],
    leaning: { ...FORMED, often: { editVersion: 3, deletePeer: 3 } },
    covered: "guard version-path forbids what the member cannot go to; what is left is what it is to get anyhow",
  },
  {
    name: "scale-down counts members of somebody else",
    edits: [
      replaced("scale-down", (real, snapshot) => {
        const { member, peer } = crowdedOut(snapshot);
        if (member === undefined || peer === undefined || isLeaving(snapshot, member.name))
          return real.decide(snapshot);
        return step("scale-down", "mutant", { do: "markRemoval", peer, removal: "scale-down" });
      }),
      replaced("remove-member", (real, snapshot) => {
        const { member } = crowdedOut(snapshot);
        if (member === undefined || !isLeaving(snapshot, member.name)) return real.decide(snapshot);
        const { name, id } = member;
        return step("remove-member", "mutant", { do: "removeMember", name, id: memberIdFromHex(id) });
      }),
    ],
    leaning: { ...FORMED, often: { addOwnVoter: 3 }, replicas: 5, isTidied: false },
  },
  {
    name: "identify-member knows members by the names that they tell",
    edits: [
      seeing("identify-member", (snapshot) => {
        const { members } = snapshot;
        if (members.is !== "present") return snapshot;
        const named = members.value.members.filter(({ name }) => name !== "");
        return { ...snapshot, members: { ...members, value: { ...members.value, members: named } } };
      }),
    ],
    leaning: SCALED,
  },
  {
    name: "retire-peer knows members by their names",
    edits: [seeing("retire-peer", namesakes)],
    leaning: { ...SCALED, often: { editReplicas: 3, etcd: 20, deletePeer: 3 } },
    covered: "a member is given a name only when no EtcdPeer has it; etcdctl alone could add one under an old URL",
  },
  {
    name: "identify-member resumes an intent that is on its way out",
    edits: [
      seeing("identify-member", (snapshot) => ({
        ...snapshot,
        peers: snapshot.peers.map(({ metadata: { deletionTimestamp: _, ...metadata }, ...peer }) => ({
          ...peer,
          metadata: { ...metadata, finalizers: [] },
        })),
      })),
    ],
    leaning: { ...SCALED, often: { editReplicas: 4, deletePeer: 4 } },
    covered: "an intent goes without a finalizer, and retire-peer is asked before",
  },
  {
    name: "a vote goes by the EtcdPeer alone",
    edits: [byRecordAlone],
    leaning: SCALED,
  },
];
