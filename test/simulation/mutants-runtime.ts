import { letsQuorumGo } from "#cluster/exposure/desired/disruption-budget.ts";
import { knownMembers, ownVoters, votersOf } from "#cluster/members/members.ts";
import { isSettled } from "#cluster/observe/rest.ts";
import { type ClusterSnapshot, identityOf, peerNamed } from "#cluster/snapshot.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import type { Mutation } from "#kit/world/operator.ts";
import { step, wait } from "#runtime/decide.ts";
import { FORMED, FORMING, SCALED } from "./leanings.ts";
import { doing, type Edit, type Mutant, replaced, seeing } from "./mutant.ts";
import type { Leaning } from "./profile.ts";

// Mutants of deferred steps, resting steps, forming, and the identification of members.

/** Writes that are refused or undone while steps are pending. */
const REFUSED: Leaning = {
  ...FORMED,
  often: { placeForeign: 8, deleteService: 4, deleteBudget: 4, editReplicas: 3 },
  isTidied: false,
  steps: 120,
};

/** Makes every resting step block the rules after it. */
const holding: Edit = (plans) => ({
  ...plans,
  clusterRules: plans.clusterRules.map((rule) => ({ ...rule, holds: true })),
  peerRules: plans.peerRules.map((rule) => ({ ...rule, holds: true })),
});

/** Retries a refused or undone step at once. */
export const restless: NonNullable<Mutation["cluster"]> = (real) => ({
  ...real,
  plan: (snapshot) => real.plan(snapshot, () => undefined),
});

/** Rechecks every wait twice a second, however long it lasts. */
const hurried: NonNullable<Mutation["cluster"]> = (real) => ({
  ...real,
  plan: (snapshot, resting) => {
    const plan = real.plan(snapshot, resting);
    return plan.next === "wait" ? { ...plan, recheckAfterMs: 500 } : plan;
  },
});

/** Checks only the EtcdPeer for the fence, not the running pod. */
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

/** The surplus member when members of other owners are counted. */
function crowdedOut(snapshot: ClusterSnapshot) {
  const isCrowded = votersOf(snapshot).length > snapshot.cluster.spec.replicas;
  const member = isCrowded ? ownVoters(snapshot).at(-1) : undefined;
  return { member, peer: member === undefined ? undefined : peerNamed(snapshot, member.name) };
}

/** EtcdPeers with the member IDs that belong to their names. */
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
    name: "a deferred step blocks all other steps",
    edits: [holding],
    leaning: REFUSED,
  },
  {
    name: "no repeated step is deferred",
    parts: {
      cluster: restless,
      peer: (real) => ({ ...real, plan: (snapshot) => real.plan(snapshot, () => undefined) }),
    },
    leaning: REFUSED,
  },
  {
    name: "every wait is rechecked twice a second without backoff",
    promise: "rests",
    parts: { cluster: hurried },
    leaning: { ...FORMING, obstacle: "noVolume", steps: 10 },
  },
  {
    name: "a settled cluster is observed only once an hour",
    parts: {
      cluster: (real) => ({
        ...real,
        restMs: (given, plan) => (isSettled(given) ? 60 * 60_000 : real.restMs(given, plan)),
      }),
    },
    leaning: { ...FORMED, often: { fillMember: 6 }, isTidied: false, onlyThat: true, steps: 60 },
  },
  {
    name: "the budget ignores learners",
    edits: [
      doing("disruption-budget", (real, snapshot) => {
        if (real.do !== "createBudget" && real.do !== "replaceBudget") return real;
        const voters = votersOf(snapshot).length;
        const minAvailable = quorumOf(Math.max(voters, 1)) - (letsQuorumGo(snapshot, voters) ? 1 : 0);
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
        return isForming ? wait("mutant", 5_000) : real.decide(snapshot);
      }),
    ],
    leaning: { ...FORMING, often: { emptyDisk: 3, deleteClaim: 2, deletePod: 3 }, hasStrictEtcd: true },
  },
  {
    name: "recreate-peer uses spec.version",
    edits: [
      doing("recreate-peer", (real, { cluster }) =>
        real.do === "createPeer" && real.peer.spec !== undefined
          ? { ...real, peer: { ...real.peer, spec: { ...real.peer.spec, version: cluster.spec.version } } }
          : real,
      ),
    ],
    leaning: { ...FORMED, often: { editVersion: 3, deletePeer: 3 } },
    covered: "guard version-path forbids unreachable versions; a reachable one is the member's next version anyway",
  },
  {
    name: "scale-down counts members of other owners",
    edits: [
      replaced("scale-down", (real, snapshot) => {
        const { member, peer } = crowdedOut(snapshot);
        if (member === undefined || peer === undefined || member.removal !== undefined) return real.decide(snapshot);
        return step("mutant", { do: "markRemoval", peer, removal: "scale-down" });
      }),
      replaced("remove-member", (real, snapshot) => {
        const { member } = crowdedOut(snapshot);
        if (member?.removal === undefined) return real.decide(snapshot);
        const { name, id } = member;
        return step("mutant", { do: "removeMember", name, id: memberIdFromHex(id) });
      }),
    ],
    leaning: { ...FORMED, often: { addOwnVoter: 3 }, replicas: 5, isTidied: false },
  },
  {
    name: "identify-member ignores members without a name",
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
    name: "delete-peer-of-removed identifies members by name",
    edits: [seeing("delete-peer-of-removed", namesakes)],
    leaning: { ...SCALED, often: { editReplicas: 3, etcd: 20, deletePeer: 3 } },
    covered: "a member gets a name only when no EtcdPeer has it; only etcdctl could add a member under an old URL",
  },
  {
    name: "identify-member resumes a terminating intent",
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
    covered: "an intent has no finalizer, and rule delete-peer-of-removed comes first",
  },
  {
    name: "a promotion checks the fence on the EtcdPeer and not on the running pod",
    edits: [byRecordAlone],
    leaning: SCALED,
  },
];
