import {
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLEANUP_FINALIZER,
  clusterToken,
  peerName,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { askedIn } from "#api/revision.ts";
import { clientService } from "#cluster/exposure/desired/services.ts";
import { newIdentity } from "#cluster/identity/desired/identity.ts";
import { newPeer, revisedPeer } from "#cluster/members/desired/peer.ts";
import { knownMembers, votersOf } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf, peerNamed, urlOf } from "#cluster/snapshot.ts";
import { isOutdated, nextTemplate } from "#cluster/update/next-template.ts";
import { hasPendingRestart, isTemplateReady } from "#cluster/update/pending-restart.ts";
import { templateOf } from "#cluster/update/wanted-template.ts";
import { clusterIdFromHex, type EndpointStatus, memberIdFromHex } from "#etcd/types.ts";
import { step } from "#runtime/decide.ts";
import { BROKEN, COPIED, DELETED, FOREIGN, FORMED, FORMING, REPLACED, ROLLED, SCALED } from "./leanings.ts";
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
  withStep,
} from "./mutant.ts";
import { credulous } from "./mutants-rest.ts";

const NO_SWITCH =
  "TLS is not switched on or off in these histories; src/cluster-tls/plan.test.ts, src/cluster-tls/change/scheme-guards.test.ts";

/** Mutants that leave out one rule of the cluster each. */
const LEFT_OUT = leftOut("cluster", [
  { name: "deleting", leaning: DELETED },
  {
    name: "no-space",
    leaning: { ...FORMED, often: { fillMember: 2 }, isTidied: false },
    covered: "it only sends an event; the conditions read the alarm themselves",
  },
  { name: "paused", leaning: { ...FORMED, often: { pause: 3, editReplicas: 2, deleteService: 2 } } },
  { name: "name-taken", leaning: { ...FORMED, often: { createRival: 3 } } },
  { name: "adopt-claims", leaning: DELETED },
  { name: "claims-unclear", leaning: { ...DELETED, often: { deleteCluster: 3, createCluster: 4, placeForeign: 6 } } },
  { name: "record-identity", leaning: FORMING },
  { name: "record-joined", leaning: FORMING },
  { name: "fence", leaning: FORMING },
  { name: "headless-service", leaning: FORMING },
  { name: "bootstrap", leaning: FORMING },
  { name: "recreate-peer", leaning: { ...FORMED, often: { deletePeer: 2 } } },
  { name: "client-service", leaning: FORMING },
  { name: "disruption-budget", leaning: FORMING },
  { name: "await-members", leaning: { ...FORMING, obstacle: "noVolume" } },
  { name: "await-quorum", leaning: { ...FORMED, replicas: 1, hasLocalVolumes: true, obstacle: "nodeStaysDown" } },
  {
    name: "data-differs",
    leaning: { ...FORMED, often: { corruptMember: 1 }, steps: 40, isTidied: false },
  },
  { name: "disarm-alarm", leaning: { ...FORMED, often: { corruptMember: 1 }, steps: 40 } },
  { name: "delete-peer-of-removed", leaning: SCALED },
  { name: "identify-member", leaning: SCALED },
  { name: "recreate-learner", leaning: { ...SCALED, often: { editReplicas: 3, deletePeer: 6 }, steps: 160 } },
  {
    name: "withdraw-learner",
    leaning: SCALED,
    covered: "the learner is promoted, and scale-down removes it: that costs a copy and breaks no promise",
  },
  { name: "promote-learner", leaning: SCALED },
  {
    name: "give-up-learner",
    leaning: { ...SCALED, obstacle: "noVolume" },
  },
  { name: "remove-member", leaning: SCALED },
  { name: "await-learner", leaning: SCALED, covered: "guard one-at-a-time blocks all other steps" },
  { name: "replace-lost", leaning: REPLACED },
  { name: "scale-down", leaning: SCALED },
  { name: "scale-up", leaning: SCALED },
  {
    name: "default-tls",
    leaning: FORMING,
    covered: "every cluster in these histories is created without TLS; src/cluster/identity/plan.test.ts",
  },
  { name: "update-member-url", leaning: FORMED, covered: NO_SWITCH },
  { name: "switch-tls", leaning: FORMED, covered: NO_SWITCH },
  {
    name: "network-policy",
    leaning: FORMED,
    covered:
      "this world has no network policies; src/cluster/exposure/plan.test.ts, test/apiserver/network-policy.test.ts",
  },
  {
    name: "await-network-policy",
    leaning: FORMED,
    covered: "this world has no network policies; src/cluster/exposure/plan.test.ts",
  },
  {
    name: "pod-monitor",
    leaning: FORMED,
    covered: "this world has no pod monitors; test/apiserver/pod-monitor.test.ts asks a real API server",
  },
  {
    name: "create-restore",
    covered: "no cluster in these histories is restored from a backup; src/cluster/identity/plan.test.ts",
  },
  {
    name: "await-restore",
    covered: "no cluster in these histories is restored from a backup; src/cluster/identity/plan.test.ts",
  },
  {
    name: "restore-failed",
    covered: "no cluster in these histories is restored from a backup; src/cluster/identity/plan.test.ts",
  },
  {
    name: "backup-first",
    covered: "no cluster in these histories has a backup schedule; src/cluster/update/first-backup.test.ts",
  },
  { name: "no-version-path", leaning: { ...ROLLED, isTidied: false } },
  { name: "refused-spec", leaning: { ...FORMING, often: { editTemplate: 4 }, isTidied: false } },
  {
    name: "drop-previous-template",
    leaning: BROKEN,
    covered: "a previous template may still work much later; src/cluster/update/rolling-rules.test.ts",
  },
  { name: "stop-update", leaning: BROKEN },
  { name: "roll-back-member", leaning: BROKEN },
  { name: "update-stopped", leaning: { ...FORMING, often: { editTemplate: 2, editVersion: 2 } } },
  { name: "restart-stopped", leaning: { ...FORMING, often: { editTemplate: 2, editVersion: 2 } } },
  { name: "restart-member", leaning: { ...ROLLED, isTidied: false } },
  { name: "enable-downgrade", leaning: { ...ROLLED, isTidied: false } },
  {
    name: "move-leader-to-newest",
    leaning: ROLLED,
    covered: "members rarely join halfway from 3.6 to 3.7; the story newMembersGetOldEntries",
  },
  { name: "raft-snapshot-first", leaning: { ...ROLLED, isTidied: false } },
  { name: "cancel-downgrade", leaning: ROLLED },
  { name: "update-member", leaning: { ...ROLLED, isTidied: false } },
  {
    name: "await-health",
    leaning: { ...FORMED, often: { killContainer: 4 } },
  },
]);

/**
 * Mutants that leave out one guard of the cluster each. Most guards only block steps that no current rule makes: they
 * are for future rules.
 */
const UNGUARDED = leftUnguarded("cluster", [
  {
    name: "restored-first",
    covered: "no cluster in these histories is restored from a backup; src/cluster/identity/guards.test.ts",
  },
  {
    name: "identity-first",
    leaning: FORMING,
    covered: "rule record-identity comes first; see the pairs",
    promise: "identity first",
  },
  {
    name: "identity-is-here",
    leaning: COPIED,
    covered: "rule adopt-claims takes no claims of another namespace or name; see the pair",
    promise: "one place",
  },
  {
    name: "tls-is-decided",
    leaning: FORMING,
    covered: "every cluster in these histories is created without TLS; src/cluster/identity/guards.test.ts",
  },
  {
    name: "bootstrap-once",
    leaning: SCALED,
    covered: "rule bootstrap creates only members that have not joined; see the pairs",
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
    covered: "rule record-joined checks this itself; see the pairs",
    promise: "joined members joined",
  },
  {
    name: "need-member-list",
    leaning: SCALED,
    covered: "rule await-quorum comes first; see the pairs",
    promise: "confirmed list first",
  },
  {
    name: "keep-quorum",
    leaning: { ...FORMED, often: { editReplicas: 3, killContainer: 4, nodeDown: 2 }, steps: 160 },
  },
  {
    name: "restart-keeps-quorum",
    leaning: ROLLED,
    covered: "rule update-member and guard one-at-a-time check the other members, too; see the pair",
    promise: "restarts keep quorum",
  },
  {
    name: "version-path",
    leaning: ROLLED,
    covered: "the next template always has a reachable version; see the pair",
    promise: "planned version",
  },
  {
    name: "downgrade-enabled",
    leaning: ROLLED,
    covered: "the next template always has a reachable version; see the pair",
    promise: "planned version",
  },
  {
    name: "one-at-a-time",
    leaning: SCALED,
    covered: "rules await-learner and remove-member come first; see the pairs",
    promise: "one at a time",
  },
  {
    name: "fence-before-vote",
    leaning: SCALED,
    covered: "rule fence comes first; see the pairs",
    promise: "vote after fence",
  },
  {
    name: "no-sign-of-life",
    leaning: { ...FORMED, often: { hideMember: 4, killContainer: 2 } },
    covered: "rules replace-lost and remove-member check this themselves; see the pair",
    promise: "healthy members stay",
  },
  {
    name: "not-a-member",
    leaning: SCALED,
    covered: "rule delete-peer-of-removed checks this itself; see the pairs",
    promise: "member is gone",
  },
  {
    name: "alarm-is-over",
    leaning: SCALED,
    covered: "rule disarm-alarm checks this itself; see the pairs",
    promise: "alarm stays",
  },
  {
    name: "asked-to-delete",
    leaning: SCALED,
    covered: "rule delete-peer-of-removed and the peer's guard check this, too; see the pairs",
    promise: "claims stay",
  },
  {
    name: "dying-claim-is-held",
    leaning: { ...FORMED, replicas: 1, often: { deleteClaim: 6, editTemplate: 6, time: 10 } },
    promise: "dying claims are held",
  },
  {
    name: "own-only",
    leaning: SCALED,
    covered: "rule name-taken comes first; see the pairs",
    promise: "foreign objects stay",
  },
]);

/** Every endpoint that answers has the expected member ID and follows a leader. */
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

/** No initial member has joined. */
function forgetting(snapshot: ClusterSnapshot): ClusterSnapshot {
  const identity = identityOf(snapshot);
  if (identity === undefined) return snapshot;
  const initialMembers = identity.initialMembers.map((member) => ({ ...member, joined: false }));
  const status = { ...snapshot.cluster.status, identity: { ...identity, initialMembers } };
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

/** Removes the recorded identity. */
function unrecorded({ cluster, ...rest }: ClusterSnapshot): ClusterSnapshot {
  const { identity: _, ...status } = cluster.status ?? {};
  return { ...rest, cluster: { ...cluster, status } };
}

/** Takes the recorded members for a confirmed member list. */
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

/** A member that has joined gets flags that can start on an empty disk. */
export const RESTARTING: Pick<Mutant, "edits" | "parts"> = {
  edits: [
    doing("recreate-peer", (real, snapshot) => {
      const identity = identityOf(snapshot);
      if (real.do !== "createPeer" || identity === undefined) return real;
      return { ...real, peer: newPeer(snapshot, identity, real.peer.metadata.name) };
    }),
    unguarded("cluster", "bootstrap-once"),
  ],
  parts: { kube: credulous },
};
/** Gives the next template to a member without waiting for the others. */
const hasty = replaced("update-member", (_, snapshot) => {
  const live = snapshot.peers.find((peer) => isOutdated(snapshot, peer));
  if (live === undefined) return undefined;
  const peer = revisedPeer(live, nextTemplate(snapshot, live), templateOf(live));
  return step("mutant", { do: "replacePeer", live, peer });
});

/** Gives members the spec's template, whether or not they can reach its version. */
const uncritical = replaced("update-member", (_, snapshot) => {
  const { version } = snapshot.cluster.spec;
  const live = snapshot.peers.find(({ spec }) => spec.version !== version);
  if (live === undefined) return undefined;
  return step("mutant", {
    do: "replacePeer",
    live,
    peer: revisedPeer(live, askedIn(snapshot.cluster.spec, undefined), templateOf(live)),
  });
});

/** Restarts a member whatever its EtcdPeer has at that moment. */
export const credulousRestart = replaced("restart-member", (_, snapshot) => {
  const peer = snapshot.peers.find((each) => hasPendingRestart(snapshot, each) && isTemplateReady(each));
  const pod = snapshot.pods.get(peer?.metadata.name ?? "");
  if (peer === undefined || pod === undefined) return undefined;
  return step("mutant", { do: "restartPod", name: peer.metadata.name, pod });
});

/** Wrong rules, and pairs of a rule and the guard behind it. */
const WEAKENED: readonly Mutant[] = [
  {
    name: "updates do not wait for other members + without guard one-at-a-time + without guard restart-keeps-quorum",
    promise: "restarts keep quorum",
    edits: [hasty, unguarded("cluster", "one-at-a-time"), unguarded("cluster", "restart-keeps-quorum")],
    leaning: { ...ROLLED, steps: 250 },
  },
  {
    name: "members get the spec's template even without a version path + without guard version-path + without guard downgrade-enabled",
    promise: "planned version",
    // Most unreachable versions are older releases, which either guard blocks.
    edits: [
      uncritical,
      credulousRestart,
      unguarded("cluster", "version-path"),
      unguarded("cluster", "downgrade-enabled"),
    ],
    unasked: ["OnDelete is respected"],
    leaning: ROLLED,
  },
  {
    name: "members get the spec's template, and no downgrade is enabled + without guard downgrade-enabled",
    promise: "planned version",
    edits: [
      without("cluster", "enable-downgrade"),
      uncritical,
      credulousRestart,
      unguarded("cluster", "downgrade-enabled"),
    ],
    unasked: ["OnDelete is respected"],
    leaning: { ...ROLLED, hasStrictEtcd: false },
  },
  {
    name: "the operator restarts members despite OnDelete",
    promise: "OnDelete is respected",
    edits: [
      replaced("restart-member", (real, snapshot) => {
        const name = snapshot.peers.find((peer) => hasPendingRestart(snapshot, peer) && isTemplateReady(peer))?.metadata
          .name;
        const pod = snapshot.pods.get(name ?? "");
        if (name === undefined || pod === undefined) return real.decide(snapshot);
        return step("mutant", { do: "restartPod", name, pod });
      }),
    ],
    leaning: ROLLED,
  },
  {
    name: "an up-to-date pod is restarted",
    promise: "restarts change something",
    edits: [
      replaced("restart-member", (real, snapshot) => {
        const [name, pod] = [...snapshot.pods][0] ?? [];
        if (name === undefined || pod === undefined) return real.decide(snapshot);
        return step("mutant", { do: "restartPod", name, pod });
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
    name: "record-identity ignores the recorded identity + without guard identity-first",
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
    name: "record-joined counts every member that answers as joined",
    promise: "joined members joined",
    edits: [seeing("record-joined", believing)],
    leaning: FORMING,
    covered: "guard joined-is-seen checks again; see the pair",
  },
  {
    name: "record-joined counts every member that answers as joined + without guard joined-is-seen",
    promise: "joined members joined",
    edits: [seeing("record-joined", believing), unguarded("cluster", "joined-is-seen")],
    leaning: { ...FORMING, steps: 120 },
  },
  {
    name: "bootstrap ignores which members have joined",
    edits: [seeing("bootstrap", forgetting)],
    leaning: { ...FORMED, often: { deletePeer: 2 } },
  },
  {
    name: "bootstrap ignores which members have joined + without guard bootstrap-once",
    promise: "fence",
    edits: [seeing("bootstrap", forgetting), unguarded("cluster", "bootstrap-once")],
    parts: { kube: credulous }, // Otherwise the API server is asked once more.
    leaning: { ...FORMED, often: { deletePeer: 2 } },
  },
  {
    name: "recreate-peer lets the member bootstrap + without guard bootstrap-once",
    promise: "fence",
    ...RESTARTING,
    leaning: { ...FORMED, often: { deletePeer: 2 } },
  },
  // Shows what the fence prevents, with the promise about the fence itself left out.
  {
    name: "recreate-peer lets the member bootstrap + without guard bootstrap-once, and disks are emptied",
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
        return step("mutant", { do: "createPeer", peer: newPeer(snapshot, identity, name) });
      }),
      unguarded("cluster", "bootstrap-once"),
    ],
    leaning: { ...FORMING, often: { editReplicas: 4 } },
  },
  {
    name: "fence identifies members by name",
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
    name: "rules use the members recorded in the status + without rule await-quorum + without guard need-member-list",
    promise: "confirmed list first",
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
    name: "the fence comes after the promotion + without guard fence-before-vote",
    promise: "vote after fence",
    edits: [earlier("promote-learner", "fence"), unguarded("cluster", "fence-before-vote")],
    leaning: SCALED,
  },
  {
    name: "delete-peer-of-removed deletes any surplus EtcdPeer + without guard not-a-member",
    promise: "member is gone",
    edits: [
      replaced("delete-peer-of-removed", (real, snapshot) => {
        const last = snapshot.peers.at(-1);
        const isTooMany = snapshot.peers.length > snapshot.cluster.spec.replicas;
        if (last === undefined || !isTooMany) return real.decide(snapshot);
        return step("mutant", { do: "deletePeer", peer: last });
      }),
      unguarded("cluster", "not-a-member"),
    ],
    leaning: SCALED,
  },
  {
    name: "disarm-alarm does not wait for the removal + without guard alarm-is-over",
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
    name: "delete-peer-of-removed deletes claims of lost members",
    edits: [cleaning],
    leaning: REPLACED,
  },
  {
    name: "delete-peer-of-removed deletes claims of lost members + without guard asked-to-delete",
    promise: "claims stay",
    edits: [
      cleaning,
      unguarded("cluster", "asked-to-delete"),
      replacedInPeer("release-claim", (real, snapshot) => {
        const { claim, peer } = snapshot;
        const isTold = peer.metadata.finalizers?.includes(CLEANUP_FINALIZER) ?? false;
        if (claim === undefined || !isTold || peer.metadata.deletionTimestamp === undefined)
          return real.decide(snapshot);
        return step("mutant", { do: "deleteClaim", claim });
      }),
      unguarded("peer", "asked-to-delete"),
    ],
    leaning: { ...FORMED, often: { corruptMember: 2 }, steps: 60 },
  },
  {
    name: "client-service takes over a foreign Service + without guard own-only",
    promise: "foreign objects stay",
    edits: [
      without("cluster", "name-taken"),
      replaced("client-service", (real, snapshot) => {
        const live = snapshot.clientService;
        if (live === undefined) return real.decide(snapshot);
        const service = clientService(snapshot);
        return step("mutant", { do: "replaceService", live, service });
      }),
      unguarded("cluster", "own-only"),
    ],
    leaning: FOREIGN,
  },
  {
    name: "await-health does not wait until members serve clients",
    edits: [
      replaced("await-health", (real, snapshot) => {
        const plan = real.decide(snapshot);
        return plan?.next === "wait" && plan.because.endsWith("to serve clients") ? undefined : plan;
      }),
    ],
    leaning: { ...SCALED, often: { editReplicas: 2, etcd: 20, killContainer: 1 }, steps: 300 },
  },
  {
    name: "scale-down removes healthy members first + without guard keep-quorum",
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
        return step("mutant", {
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
    name: "adopt-claims takes claims of another namespace or name",
    promise: "one place",
    edits: [seeing("adopt-claims", withOwnTokens)],
    leaning: COPIED,
  },
  {
    name: "adopt-claims takes claims of another namespace or name + without guard identity-is-here + without peer guard token-is-here",
    promise: "one place",
    edits: [
      replaced("adopt-claims", (real, snapshot) =>
        withStep(real.decide(withOwnTokens(snapshot)), (each) =>
          each.do === "recordIdentity" ? { ...each, identity: { ...each.identity, token: tokenOf(snapshot) } } : each,
        ),
      ),
      unguarded("cluster", "identity-is-here"),
      unguarded("peer", "token-is-here"),
    ],
    leaning: COPIED,
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

/** Claims with this EtcdCluster's token. */
function withOwnTokens(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { namespace, name, uid } = snapshot.cluster.metadata;
  const own = { [CLAIM_CLUSTER_TOKEN_ANNOTATION]: clusterToken(namespace, name, uid) };
  const claims = snapshot.claims.map((claim) => {
    const annotations = { ...claim.metadata.annotations, ...own };
    return { ...claim, metadata: { ...claim.metadata, annotations } };
  });
  return { ...snapshot, claims };
}

/** Token of the cluster that the claims were copied from. */
function tokenOf({ claims }: ClusterSnapshot): string {
  return claims[0]?.metadata.annotations?.[CLAIM_CLUSTER_TOKEN_ANNOTATION] ?? "";
}

/** Every removal deletes the claim. */
function cleaning(plans: Parameters<ReturnType<typeof without>>[0]) {
  const edit = doing("delete-peer-of-removed", (real) =>
    real.do === "releaseClaim" ? { ...real, finalizer: CLEANUP_FINALIZER } : real,
  );
  return edit(plans);
}

export const CLUSTER_MUTANTS: readonly Mutant[] = [...LEFT_OUT, ...UNGUARDED, ...WEAKENED];
