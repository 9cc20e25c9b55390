import { CLEANUP_FINALIZER, peerName, REMOVAL_ANNOTATION } from "#api/names.ts";
import { askedIn } from "#api/revision.ts";
import { newIdentity } from "#cluster/desired/identity.ts";
import { newPeer, revisedPeer } from "#cluster/desired/peer.ts";
import { clientService } from "#cluster/desired/services.ts";
import { knownMembers, votersOf } from "#cluster/members.ts";
import { hasTurn, isOutdated, isTemplateReady, nextTemplate, templateOf } from "#cluster/rolling.ts";
import { type ClusterSnapshot, identityOf, peerNamed, urlOf } from "#cluster/snapshot.ts";
import { clusterIdFromHex, type EndpointStatus, memberIdFromHex } from "#etcd/types.ts";
import { step } from "#runtime/decide.ts";
import { BROKEN, DELETED, FOREIGN, FORMED, FORMING, REPLACED, ROLLED, SCALED } from "./leanings.ts";
import {
  doing,
  earlier,
  leftOut,
  leftUnguarded,
  type Mutant,
  replaced,
  replacedInPeer,
  seeing,
  unguarded,
  without,
} from "./mutant.ts";
import { credulous } from "./mutants-rest.ts";

const NO_SWITCH =
  "nobody switches TLS on or off in these histories; src/cluster/rules/certificates/plan.test.ts, src/cluster/guards/tls-switch.test.ts";

/** Every rule of the cluster left out. */
const LEFT_OUT = leftOut("cluster", [
  { name: "deleting", leaning: DELETED },
  {
    name: "no-space",
    leaning: { ...FORMED, often: { fillMember: 2 }, isTidied: false },
    covered: "it only tells, by an event; the conditions look at the alarm themselves",
  },
  { name: "paused", leaning: { ...FORMED, often: { pause: 3, editReplicas: 2, deleteService: 2 } } },
  { name: "name-taken", leaning: { ...FORMED, often: { createRival: 3 } } },
  { name: "adopt-claims", leaning: DELETED },
  { name: "claim-taken", leaning: { ...DELETED, often: { deleteCluster: 3, createCluster: 4, placeForeign: 6 } } },
  { name: "record-identity", leaning: FORMING },
  { name: "record-joined", leaning: FORMING },
  { name: "fence", leaning: FORMING },
  { name: "headless-service", leaning: FORMING },
  { name: "bootstrap", leaning: FORMING },
  { name: "restore-peer", leaning: { ...FORMED, often: { deletePeer: 2 } } },
  { name: "client-service", leaning: FORMING },
  { name: "disruption-budget", leaning: FORMING },
  { name: "await-members", leaning: { ...FORMING, obstacle: "noVolume" } },
  { name: "await-quorum", leaning: { ...FORMED, replicas: 1, hasLocalVolumes: true, obstacle: "nodeStaysDown" } },
  {
    name: "await-verdict",
    leaning: { ...FORMED, often: { corruptMember: 1 }, steps: 40, isTidied: false },
  },
  { name: "disarm-alarm", leaning: { ...FORMED, often: { corruptMember: 1 }, steps: 40 } },
  { name: "retire-peer", leaning: SCALED },
  { name: "identify-member", leaning: SCALED },
  { name: "restore-learner", leaning: { ...SCALED, often: { editReplicas: 3, deletePeer: 6 }, steps: 160 } },
  {
    name: "take-back-learner",
    leaning: SCALED,
    covered: "the learner gets its vote, and scale-down takes it away again: a copy for nothing, and no promise",
  },
  { name: "promote-learner", leaning: SCALED },
  {
    name: "give-up-learner",
    leaning: { ...SCALED, obstacle: "noVolume" },
  },
  { name: "remove-member", leaning: SCALED },
  { name: "await-learner", leaning: SCALED, covered: "one-at-a-time holds everything else back" },
  { name: "replace-lost", leaning: REPLACED },
  { name: "scale-down", leaning: SCALED },
  { name: "scale-up", leaning: SCALED },
  {
    name: "default-tls",
    leaning: FORMING,
    covered:
      "whoever makes a cluster in these histories says that it has no TLS; src/cluster/rules/identity/plan.test.ts",
  },
  { name: "member-url", leaning: FORMED, covered: NO_SWITCH },
  { name: "switch-tls", leaning: FORMED, covered: NO_SWITCH },
  {
    name: "network-policy",
    leaning: FORMED,
    covered:
      "nobody asks for one in this world; src/cluster/rules/exposure/plan.test.ts, test/apiserver/network-policy.test.ts",
  },
  {
    name: "await-network-policy",
    leaning: FORMED,
    covered: "nobody asks for one in this world; src/cluster/rules/exposure/plan.test.ts",
  },
  {
    name: "pod-monitor",
    leaning: FORMED,
    covered: "nobody asks for one in this world; a real API server is asked in test/apiserver/pod-monitor.test.ts",
  },
  {
    name: "create-restore",
    covered: "nobody in these histories begins with a backup; src/cluster/rules/identity/plan.test.ts",
  },
  {
    name: "await-restore",
    covered: "nobody in these histories begins with a backup; src/cluster/rules/identity/plan.test.ts",
  },
  {
    name: "restore-failed",
    covered: "nobody in these histories begins with a backup; src/cluster/rules/identity/plan.test.ts",
  },
  {
    name: "backup-first",
    covered: "nobody in these histories has a schedule of backups; src/cluster/first-backup.test.ts",
  },
  { name: "no-version-path", leaning: { ...ROLLED, isTidied: false } },
  { name: "refused-spec", leaning: { ...FORMING, often: { editTemplate: 4 }, isTidied: false } },
  {
    name: "forget-previous",
    leaning: BROKEN,
    covered: "what a member had before may do for it long after; src/cluster/rules/rolling/rolling.test.ts",
  },
  { name: "stop-update", leaning: BROKEN },
  { name: "put-back", leaning: BROKEN },
  { name: "renew-stopped", leaning: { ...FORMING, often: { editTemplate: 2, editVersion: 2 } } },
  { name: "restart-stopped", leaning: { ...FORMING, often: { editTemplate: 2, editVersion: 2 } } },
  { name: "restart-member", leaning: { ...ROLLED, isTidied: false } },
  { name: "enable-downgrade", leaning: { ...ROLLED, isTidied: false } },
  { name: "cancel-downgrade", leaning: ROLLED },
  { name: "give-turn", leaning: { ...ROLLED, isTidied: false } },
  {
    name: "await-health",
    leaning: { ...FORMED, often: { killContainer: 4 } },
  },
]);

/** Every guard of the cluster left out. Most only hold back what the rules do not ask for anyway: they are for the rules to come. */
const UNGUARDED = leftUnguarded("cluster", [
  {
    name: "restored-first",
    covered: "nobody in these histories begins with a backup; src/cluster/guards/identity.test.ts",
  },
  {
    name: "identity-first",
    leaning: FORMING,
    covered: "record-identity is asked first; see the pairs",
    promise: "identity first",
  },
  {
    name: "tls-is-said",
    leaning: FORMING,
    covered: "whoever makes a cluster in these histories says that it has no TLS; src/cluster/guards/identity.test.ts",
  },
  {
    name: "bootstrap-once",
    leaning: SCALED,
    covered: "bootstrap asks for those only who have not joined; see the pairs",
    promise: "frozen list",
  },
  {
    name: "runnable-only",
    leaning: { ...FORMED, replicas: 1, often: { editTemplate: 4, deletePeer: 6 }, isTidied: false },
    promise: "ends well",
  },
  {
    name: "joined-is-seen",
    leaning: SCALED,
    covered: "record-joined looks itself; see the pairs",
    promise: "joined is true",
  },
  {
    name: "need-member-list",
    leaning: SCALED,
    covered: "await-quorum is asked before; see the pairs",
    promise: "seen first",
  },
  {
    name: "keep-quorum",
    leaning: { ...FORMED, often: { editReplicas: 3, killContainer: 4, nodeDown: 2 }, steps: 160 },
  },
  {
    name: "restart-keeps-quorum",
    leaning: ROLLED,
    covered: "give-turn and one-at-a-time look at the others, too; see the pair",
    promise: "restarts keep quorum",
  },
  {
    name: "version-path",
    leaning: ROLLED,
    covered: "what is wanted is something that members can go to; see the pair",
    promise: "planned version",
  },
  {
    name: "downgrade-enabled",
    leaning: ROLLED,
    covered: "what a member is to run next is something that it can go to; see the pair",
    promise: "planned version",
  },
  {
    name: "one-at-a-time",
    leaning: SCALED,
    covered: "await-learner and remove-member are asked before; see the pairs",
    promise: "one at a time",
  },
  {
    name: "fence-before-vote",
    leaning: SCALED,
    covered: "fence is asked before; see the pairs",
    promise: "vote after fence",
  },
  {
    name: "nobody-vouches",
    leaning: { ...FORMED, often: { hideMember: 4, killContainer: 2 } },
    covered: "replace-lost and remove-member look themselves; see the pair",
    promise: "the healthy stay",
  },
  {
    name: "not-a-member",
    leaning: SCALED,
    covered: "retire-peer looks itself; see the pairs",
    promise: "member is gone",
  },
  {
    name: "alarm-is-over",
    leaning: SCALED,
    covered: "disarm-alarm looks itself; see the pairs",
    promise: "alarm stays",
  },
  {
    name: "asked-to-delete",
    leaning: SCALED,
    covered: "retire-peer and the peer's own guard look too; see the pairs",
    promise: "claims stay",
  },
  {
    name: "dying-claim-is-held",
    leaning: { ...FORMED, replicas: 1, often: { deleteClaim: 6, editTemplate: 6, time: 10 } },
    promise: "dying claims",
  },
  { name: "own-only", leaning: SCALED, covered: "name-taken is asked before; see the pairs", promise: "foreign stays" },
]);

/** Everybody that answers is who they should be, and follows a leader. */
function believing(snapshot: ClusterSnapshot): ClusterSnapshot {
  const identity = identityOf(snapshot);
  const endpoints = new Map(snapshot.endpoints);
  for (const { name, id } of identity?.initialMembers ?? []) {
    const answer = endpoints.get(name);
    if (identity === undefined || answer?.is !== "present") continue;
    const value: EndpointStatus = {
      ...answer.value,
      clusterId: clusterIdFromHex(identity.clusterID),
      memberId: memberIdFromHex(id),
      leaderId: memberIdFromHex(id),
    };
    endpoints.set(name, { is: "present", value });
  }
  return { ...snapshot, endpoints };
}

/** Nobody of the frozen list has joined. */
function forgetting(snapshot: ClusterSnapshot): ClusterSnapshot {
  const identity = identityOf(snapshot);
  if (identity === undefined) return snapshot;
  const initialMembers = identity.initialMembers.map((member) => ({ ...member, joined: false }));
  const status = { ...snapshot.cluster.status, identity: { ...identity, initialMembers } };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

/** Without the record of who the cluster is. */
function unrecorded({ cluster, ...rest }: ClusterSnapshot): ClusterSnapshot {
  const { identity: _, ...status } = cluster.status ?? {};
  return { ...rest, cluster: { ...cluster, status } };
}

/** The member list as it is on record, taken for a confirmed one. */
export function listedByRecord(snapshot: ClusterSnapshot): ClusterSnapshot {
  const identity = identityOf(snapshot);
  if (snapshot.members.is === "present" || identity === undefined) return snapshot;
  const members = knownMembers(snapshot).map(({ name, id, isLearner }) => ({
    id: memberIdFromHex(id),
    name,
    peerUrls: [urlOf(snapshot, name)],
    clientUrls: [],
    isLearner,
  }));
  const answeredBy = members[0]?.id;
  if (answeredBy === undefined) return snapshot;
  const value = { clusterId: clusterIdFromHex(identity.clusterID), members, answeredBy, raftTerm: 1 };
  return { ...snapshot, members: { is: "present", value } };
}

/** Who has joined gets flags with which it may start over. */
export const RESTARTING: Pick<Mutant, "edits" | "parts"> = {
  edits: [
    doing("restore-peer", (real, snapshot) => {
      const identity = identityOf(snapshot);
      if (real.do !== "createPeer" || identity === undefined) return real;
      return { ...real, peer: newPeer(snapshot, identity, real.peer.metadata.name) };
    }),
    unguarded("cluster", "bootstrap-once"),
  ],
  parts: { kube: credulous },
};
/** The turn goes to the next member, whatever the others are doing. */
const hasty = replaced("give-turn", (_, snapshot) => {
  const live = snapshot.peers.find((peer) => isOutdated(snapshot, peer));
  if (live === undefined) return undefined;
  const peer = revisedPeer(live, nextTemplate(snapshot, live), templateOf(live));
  return step("give-turn", "mutant", { do: "replacePeer", live, peer });
});

/** Members get what the spec says, whether they can go there or not. */
const uncritical = replaced("give-turn", (_, snapshot) => {
  const { version } = snapshot.cluster.spec;
  const live = snapshot.peers.find(({ spec }) => spec.version !== version);
  if (live === undefined) return undefined;
  return step("give-turn", "mutant", {
    do: "replacePeer",
    live,
    peer: revisedPeer(live, askedIn(snapshot.cluster.spec, undefined), templateOf(live)),
  });
});

/** A member restarts whatever its EtcdPeer says by now. */
export const credulousRestart = replaced("restart-member", (_, snapshot) => {
  const peer = snapshot.peers.find((each) => hasTurn(snapshot, each) && isTemplateReady(each));
  const pod = snapshot.pods.get(peer?.metadata.name ?? "");
  if (peer === undefined || pod === undefined) return undefined;
  return step("restart-member", "mutant", { do: "restartPod", name: peer.metadata.name, pod });
});

/** Rules that are wrong, and pairs of a rule and the guard that stands behind it. */
const WEAKENED: readonly Mutant[] = [
  {
    name: "turns are given in haste + without guard one-at-a-time + without guard restart-keeps-quorum",
    promise: "restarts keep quorum",
    edits: [hasty, unguarded("cluster", "one-at-a-time"), unguarded("cluster", "restart-keeps-quorum")],
    leaning: { ...ROLLED, steps: 250 },
  },
  {
    name: "members get what the spec says + without guard version-path + without guard downgrade-enabled",
    promise: "planned version",
    // Most of what there is no way to is an older release, which either guard keeps away.
    edits: [
      uncritical,
      credulousRestart,
      unguarded("cluster", "version-path"),
      unguarded("cluster", "downgrade-enabled"),
    ],
    unasked: ["people restart"],
    leaning: ROLLED,
  },
  {
    name: "members get what the spec says, and etcd is not asked + without guard downgrade-enabled",
    promise: "planned version",
    edits: [
      without("cluster", "enable-downgrade"),
      uncritical,
      credulousRestart,
      unguarded("cluster", "downgrade-enabled"),
    ],
    unasked: ["people restart"],
    leaning: { ...ROLLED, hasStrictEtcd: false },
  },
  {
    name: "the operator restarts members for people",
    promise: "people restart",
    edits: [
      replaced("restart-member", (real, snapshot) => {
        const name = snapshot.peers.find((peer) => hasTurn(snapshot, peer) && isTemplateReady(peer))?.metadata.name;
        const pod = snapshot.pods.get(name ?? "");
        if (name === undefined || pod === undefined) return real.decide(snapshot);
        return step("restart-member", "mutant", { do: "restartPod", name, pod });
      }),
    ],
    leaning: ROLLED,
  },
  {
    name: "a pod is restarted that is what it should be",
    promise: "restarts for something",
    edits: [
      replaced("restart-member", (real, snapshot) => {
        const [name, pod] = [...snapshot.pods][0] ?? [];
        if (name === undefined || pod === undefined) return real.decide(snapshot);
        return step("restart-member", "mutant", { do: "restartPod", name, pod });
      }),
    ],
    leaning: FORMED,
  },
  {
    name: "identity is written after the Services + without guard identity-first",
    promise: "identity first",
    edits: [earlier("headless-service", "record-identity"), unguarded("cluster", "identity-first")],
    leaning: FORMING,
  },
  {
    name: "record-identity ignores the record + without guard identity-first",
    promise: "identity stays",
    edits: [seeing("record-identity", unrecorded), unguarded("cluster", "identity-first")],
    leaning: { ...FORMING, often: { editReplicas: 3 } },
  },
  {
    name: "bootstrap lets each member form a cluster of its own",
    promise: "one cluster",
    edits: [
      doing("bootstrap", (real, snapshot) => {
        const identity = identityOf(snapshot);
        if (real.do !== "createPeer" || identity === undefined) return real;
        const { name } = real.peer.metadata;
        const initialMembers = identity.initialMembers.filter((member) => member.name === name);
        return { ...real, peer: newPeer(snapshot, { ...identity, initialMembers }, name) };
      }),
    ],
    leaning: FORMING,
  },
  {
    name: "record-joined believes whoever answers",
    promise: "joined is true",
    edits: [seeing("record-joined", believing)],
    leaning: FORMING,
    covered: "joined-is-seen looks again; see the pair",
  },
  {
    name: "record-joined believes whoever answers + without guard joined-is-seen",
    promise: "joined is true",
    edits: [seeing("record-joined", believing), unguarded("cluster", "joined-is-seen")],
    leaning: { ...FORMING, steps: 120 },
  },
  {
    name: "bootstrap ignores who has joined",
    edits: [seeing("bootstrap", forgetting)],
    leaning: { ...FORMED, often: { deletePeer: 2 } },
  },
  {
    name: "bootstrap ignores who has joined + without guard bootstrap-once",
    promise: "fence",
    edits: [seeing("bootstrap", forgetting), unguarded("cluster", "bootstrap-once")],
    parts: { kube: credulous }, // otherwise the API server is asked once more
    leaning: { ...FORMED, often: { deletePeer: 2 } },
  },
  {
    name: "restore-peer lets the member bootstrap + without guard bootstrap-once",
    promise: "fence",
    ...RESTARTING,
    leaning: { ...FORMED, often: { deletePeer: 2 } },
  },
  // What the fence keeps from happening, seen when nobody asks about the fence itself.
  {
    name: "restore-peer lets the member bootstrap + without guard bootstrap-once, and disks are emptied",
    promise: "no amnesia",
    unasked: ["fence", "frozen list"],
    ...RESTARTING,
    leaning: { ...FORMED, often: { deletePeer: 3, emptyDisk: 2, killContainer: 3, etcd: 30 } },
  },
  {
    name: "bootstrap follows spec.replicas + without guard bootstrap-once",
    promise: "frozen list",
    edits: [
      replaced("bootstrap", (real, snapshot) => {
        const identity = identityOf(snapshot);
        const name = peerName(snapshot.cluster.metadata.name, snapshot.cluster.spec.replicas - 1);
        if (identity === undefined || peerNamed(snapshot, name) !== undefined) return real.decide(snapshot);
        return step("bootstrap", "mutant", { do: "createPeer", peer: newPeer(snapshot, identity, name) });
      }),
      unguarded("cluster", "bootstrap-once"),
    ],
    leaning: { ...FORMING, often: { editReplicas: 4 } },
  },
  {
    name: "fence knows members by their names",
    edits: [
      seeing("fence", (snapshot) => ({
        ...snapshot,
        peers: snapshot.peers.map((peer) => {
          const id = identityOf(snapshot)?.initialMembers.find(({ name }) => name === peer.metadata.name)?.id;
          return id === undefined ? peer : { ...peer, spec: { ...peer.spec, memberID: id } };
        }),
      })),
    ],
    leaning: REPLACED,
  },
  {
    name: "rules go by the members on record + without rule await-quorum + without guard need-member-list",
    promise: "seen first",
    edits: [
      without("cluster", "await-quorum"),
      unguarded("cluster", "need-member-list"),
      ...["replace-lost", "scale-down", "remove-member"].map((rule) => seeing(rule, listedByRecord)),
    ],
    leaning: { ...FORMED, often: { editReplicas: 3, killContainer: 5, nodeDown: 3 }, steps: 160 },
  },
  {
    name: "without rule await-learner + without guard one-at-a-time",
    promise: "one at a time",
    edits: [without("cluster", "await-learner"), unguarded("cluster", "one-at-a-time")],
    leaning: { ...SCALED, steps: 160 },
  },
  {
    name: "fence waits for the vote + without guard fence-before-vote",
    promise: "vote after fence",
    edits: [earlier("promote-learner", "fence"), unguarded("cluster", "fence-before-vote")],
    leaning: SCALED,
  },
  {
    name: "retire-peer goes by the number of members + without guard not-a-member",
    promise: "member is gone",
    edits: [
      replaced("retire-peer", (real, snapshot) => {
        const last = snapshot.peers.at(-1);
        const isTooMany = snapshot.peers.length > snapshot.cluster.spec.replicas;
        if (last === undefined || !isTooMany) return real.decide(snapshot);
        return step("retire-peer", "mutant", { do: "deletePeer", peer: last });
      }),
      unguarded("cluster", "not-a-member"),
    ],
    leaning: SCALED,
  },
  {
    name: "disarm-alarm does not wait + without guard alarm-is-over",
    promise: "alarm stays",
    edits: [
      seeing("disarm-alarm", (s) =>
        s.members.is === "present"
          ? { ...s, members: { ...s.members, value: { ...s.members.value, members: [] } } }
          : s,
      ),
      unguarded("cluster", "alarm-is-over"),
    ],
    leaning: { ...FORMED, often: { corruptMember: 1 }, steps: 60 },
  },
  {
    name: "retire-peer deletes the claims of the lost",
    edits: [cleaning],
    leaning: REPLACED,
  },
  {
    name: "retire-peer deletes the claims of the lost + without guard asked-to-delete",
    promise: "claims stay",
    edits: [
      cleaning,
      unguarded("cluster", "asked-to-delete"),
      replacedInPeer("release-claim", (real, snapshot) => {
        const { claim, peer } = snapshot;
        const isTold = peer.metadata.finalizers?.includes(CLEANUP_FINALIZER) ?? false;
        if (claim === undefined || !isTold || peer.metadata.deletionTimestamp === undefined)
          return real.decide(snapshot);
        return step("release-claim", "mutant", { do: "deleteClaim", claim });
      }),
      unguarded("peer", "asked-to-delete"),
    ],
    leaning: { ...FORMED, often: { corruptMember: 2 }, steps: 60 },
  },
  {
    name: "client-service takes over what is there + without guard own-only",
    promise: "foreign stays",
    edits: [
      without("cluster", "name-taken"),
      replaced("client-service", (real, snapshot) => {
        const live = snapshot.clientService;
        if (live === undefined) return real.decide(snapshot);
        const service = clientService(snapshot);
        return step("client-service", "mutant", { do: "replaceService", live, service });
      }),
      unguarded("cluster", "own-only"),
    ],
    leaning: FOREIGN,
  },
  {
    name: "await-health goes by who takes part",
    edits: [
      replaced("await-health", (real, snapshot) => {
        const plan = real.decide(snapshot);
        return plan?.next === "wait" && plan.because.endsWith("to serve clients") ? undefined : plan;
      }),
    ],
    leaning: { ...SCALED, often: { editReplicas: 2, etcd: 20, killContainer: 1 }, steps: 300 },
  },
  {
    name: "scale-down takes the healthy first + without guard keep-quorum",
    promise: "quorum kept",
    edits: [
      replaced("scale-down", (real, snapshot) => {
        const plan = real.decide(snapshot);
        const first = votersOf(snapshot).find(({ name }) => snapshot.endpoints.get(name)?.is === "present");
        const peer = first === undefined ? undefined : peerNamed(snapshot, first.name);
        if (plan?.next !== "step" || plan.step.do !== "markRemoval" || peer === undefined) return plan;
        return { ...plan, step: { ...plan.step, peer } };
      }),
      replaced("remove-member", (real, snapshot) => {
        const leaving = snapshot.peers.find(
          ({ metadata }) => metadata.annotations?.[REMOVAL_ANNOTATION] === "scale-down",
        );
        const id = leaving?.spec.memberID;
        if (leaving === undefined || id === undefined) return real.decide(snapshot);
        if (!knownMembers(snapshot).some((member) => member.id === id)) return real.decide(snapshot);
        return step("remove-member", "mutant", {
          do: "removeMember",
          name: leaving.metadata.name,
          id: memberIdFromHex(id),
        });
      }),
      unguarded("cluster", "keep-quorum"),
    ],
    leaning: { ...FORMED, often: { editReplicas: 4, killContainer: 4, nodeDown: 3 }, steps: 160 },
  },
  {
    name: "adopt-claims makes a new identity",
    edits: [
      doing("adopt-claims", (real, snapshot) =>
        real.do === "recordIdentity" ? { ...real, identity: newIdentity(snapshot) } : real,
      ),
    ],
    leaning: DELETED,
  },
];

/** Whoever goes takes the claim along. */
function cleaning(plans: Parameters<ReturnType<typeof without>>[0]) {
  const edit = doing("retire-peer", (real) =>
    real.do === "releaseClaim" ? { ...real, finalizer: CLEANUP_FINALIZER } : real,
  );
  return edit(plans);
}

export const CLUSTER_MUTANTS: readonly Mutant[] = [...LEFT_OUT, ...UNGUARDED, ...WEAKENED];
