import { isDeepStrictEqual } from "node:util";
import { PEER_SCHEME_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { memberNamed } from "#cluster/members/members.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { hexOf } from "#etcd/types.ts";
import { memberKey } from "#kit/world/etcd.ts";
import { variablesOf } from "#kit/world/flags.ts";
import { whyNotThisVersion } from "#kit/world/version.ts";
import { controllerOf, PODS, type Pod, REPLICA_SETS, type ReplicaSet } from "#kube/kinds.ts";
import { grantsFollowObjects, peoplesNamesStay, revokedFirst } from "./access-invariants.ts";
import { authFollowsSpec, authIsEnabledLast, authStatusIsTrue, noLockout, passwordsStay } from "./auth-invariants.ts";
import {
  alarmStays,
  confirmedListFirst,
  evictionsKeepQuorum,
  healthyMembersStay,
  memberIsGone,
  oneAtATime,
  patience,
  quorumKept,
  restartsKeepQuorum,
  voteAfterFence,
} from "./membership-invariants.ts";
import { type Invariant, identityOf, memberOf, ownerIn, templateCanStartEmpty, withoutJoined } from "./memory.ts";
import {
  claimFirst,
  claimsStay,
  dyingClaimsAreHeld,
  emptyClaims,
  foreignObjectsStay,
  freeNamesFirst,
  identityFollowsClaims,
  leaderOnly,
  noSurplusClaims,
  noWorkForDeletion,
  pauseStopsChanges,
} from "./object-invariants.ts";
import { sleepKeepsMembers, stopIsRequested, wakeUpIsAwaited } from "./sleep-invariants.ts";
import { availableIsTrue, readyIsTrue, settledIsTrue } from "./status-invariants.ts";
import {
  applicationsAreServed,
  caKeysStay,
  clientsHaveAScheme,
  keysStayInSecrets,
  membersTrustEachOther,
  noRemovalOverTrust,
  trustedFirst,
} from "./tls-invariants.ts";

const identityFirst: Invariant = {
  name: "identity first",
  promise: "No object of a cluster is created before its identity is recorded.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.verb !== "create") return undefined;
    const cluster = ownerIn(world, event.after);
    if (cluster === undefined || identityOf(cluster) !== undefined) return undefined;
    return `${event.resource.kind} ${event.after?.metadata.name} was created for a cluster without an identity`;
  },
};

const identityStays: Invariant = {
  name: "identity stays",
  promise: "A cluster bootstraps once in its life: its identity is recorded once and never changes.",
  breaks(event) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_CLUSTERS) return undefined;
    const [before, after] = [identityOf(event.before), identityOf(event.after)];
    if (before === undefined) return undefined;
    // Claims that appear later add members to an identity that was adopted from claims.
    const kept = before.adopting === true ? before.initialMembers.length : Number.POSITIVE_INFINITY;
    const first = after && { ...after, initialMembers: after.initialMembers.slice(0, kept) };
    const isSame =
      after !== undefined &&
      first !== undefined &&
      JSON.stringify(withoutJoined(before)) === JSON.stringify(withoutJoined(first));
    if (!isSame) return `the identity ${before.clusterID} became ${after?.clusterID ?? "nothing"}`;
    const forgotten = before.initialMembers.find(({ joined }, n) => joined && after.initialMembers[n]?.joined !== true);
    return forgotten === undefined ? undefined : `${forgotten.name} had joined, and the record was lost`;
  },
};

const joinedMembersJoined: Invariant = {
  name: "joined members joined",
  promise: "A member is recorded as joined only after it followed a leader of this cluster, or if its claim exists.",
  breaks(event, world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_CLUSTERS) return undefined;
    const [before, after] = [identityOf(event.before), identityOf(event.after)];
    const everLed = world.etcd.truth.named(after?.clusterID)?.everLed ?? new Set();
    const hasBeen = new Set([...everLed].map((id) => hexOf(id)));
    const wrong = after?.initialMembers.find(({ id, joined }, n) => {
      if (!joined || before?.initialMembers[n]?.joined === true || hasBeen.has(id)) return false;
      return before !== undefined || !memory.claimed.has(`${after.clusterID}/${id}`);
    });
    return wrong === undefined ? undefined : `${wrong.name} is recorded as joined and never joined`;
  },
};

const recordedClaimsExist: Invariant = {
  name: "recorded claims exist",
  promise: "An adopted member has a claim: no identity is recorded from claims that only a cache still shows.",
  breaks(event, _world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_CLUSTERS) return undefined;
    const [before, after] = [identityOf(event.before), identityOf(event.after)];
    if (before !== undefined || after === undefined) return undefined;
    const joined = after.initialMembers.filter((member) => member.joined);
    const decisions = memory.claimedWhenDecided.get(after.clusterID) ?? [];
    const isTrue = decisions.some((claimed) => joined.every(({ id }) => claimed.has(id)));
    return isTrue
      ? undefined
      : `${joined.map(({ name }) => name).join(", ")} are recorded as joined, and not all of their claims exist`;
  },
};

const oneCluster: Invariant = {
  name: "one cluster",
  promise: "No fork: every member that starts for an EtcdCluster belongs to its recorded cluster ID.",
  breaks(event, world, memory) {
    if (event.is === "started") {
      const { clusterUid, data, peer } = event.process;
      const cluster = world.api.byUid(ETCD_CLUSTERS, clusterUid);
      const recorded = identityOf(cluster)?.clusterID;
      if (cluster === undefined || recorded === hexOf(data.clusterId)) return undefined;
      return `${peer} belongs to ${hexOf(data.clusterId)}, and the recorded cluster ID is ${recorded ?? "missing"}`;
    }
    if (event.is !== "elected" || event.process.clusterUid === undefined) return undefined;
    const { clusterUid, data } = event.process;
    const led = memory.led.get(clusterUid) ?? new Set();
    memory.led.set(clusterUid, led.add(data.clusterId));
    return led.size > 1 ? `one EtcdCluster has leaders of ${[...led].map(hexOf).join(" and ")}` : undefined;
  },
};

const onePlace: Invariant = {
  name: "one place",
  promise: "No two EtcdClusters of different namespaces or names run members of one cluster ID.",
  breaks(event, world, { places }) {
    if (event.is !== "started") return undefined;
    const { clusterUid, data, peer } = event.process;
    const cluster = world.api.byUid(ETCD_CLUSTERS, clusterUid);
    if (cluster === undefined) return undefined;
    const place = `${cluster.metadata.namespace}/${cluster.metadata.name}`;
    const first = places.get(data.clusterId) ?? place;
    places.set(data.clusterId, first);
    return first === place ? undefined : `${peer} of ${place} is a member of the cluster of ${first}`;
  },
};

const frozenList: Invariant = {
  name: "frozen list",
  promise: "Until a majority of the initial members has joined, no EtcdPeer outside the frozen list is created.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_PEERS) return undefined;
    const identity = identityOf(ownerIn(world, event.after));
    const name = event.after?.metadata.name;
    if (identity === undefined || event.verb !== "create") return undefined;
    const { initialMembers } = identity;
    const isForming = initialMembers.filter(({ joined }) => joined).length < quorumOf(initialMembers.length);
    if (!isForming || initialMembers.some((member) => member.name === name)) return undefined;
    return `${name} was created while the cluster forms`;
  },
};

const fence: Invariant = {
  name: "fence",
  promise: "A member that is recorded as joined never gets flags that can start on an empty disk.",
  breaks(event, world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.after === undefined) return undefined;
    if (event.resource === ETCD_PEERS) {
      const { metadata, spec } = event.after as EtcdPeer;
      const members = identityOf(ownerIn(world, event.after))?.initialMembers;
      const member = members?.find(({ name, id }) => name === metadata.name && id === spec.memberID);
      const isGiven =
        spec.bootstrap !== undefined && (event.before as EtcdPeer | undefined)?.spec.bootstrap === undefined;
      return isGiven && member?.joined === true ? `${metadata.name} has joined and got spec.bootstrap` : undefined;
    }
    if (event.resource !== REPLICA_SETS) return undefined;
    const key = memberOf(event.after as ReplicaSet, world);
    if (key === undefined || !memory.fenced.has(key) || !templateCanStartEmpty(event.after as ReplicaSet))
      return undefined;
    return `the fence of ${event.after.metadata.name} was removed`;
  },
};

const noAmnesia: Invariant = {
  name: "no amnesia",
  promise: "A member with an emptied disk fails at once instead of voting without its memory.",
  breaks(event, _world, memory) {
    if (event.is !== "started" || !event.amnesia) return undefined;
    const { podUid, peer, data } = event.process;
    return memory.windowPods.has(podUid) ? undefined : `${peer} (${memberKey(data)}) started over on an empty disk`;
  },
};

const nothingLost: Invariant = {
  name: "nothing lost",
  promise: "No acknowledged write is lost while at most a minority of disks is lost.",
  breaks(event, world, memory) {
    if (event.is !== "elected" || event.lostWrites.length === 0) return undefined;
    const { clusterId } = event.process.data;
    const { hasLostMajority, lostDisks } = world.etcd.truth.of(clusterId);
    if (memory.excused.has(clusterId) || hasLostMajority) return undefined;
    return `writes ${event.lostWrites} are lost, and only ${lostDisks.size} disks are`;
  },
};

const plannedVersion: Invariant = {
  name: "planned version",
  promise: "Members run only requested releases, and only those that are reachable from the cluster version.",
  breaks(event, world, memory) {
    if (event.is !== "started") return undefined;
    const { data, peer, version } = event.process;
    if (!memory.versions.has(version)) return `${peer} runs ${version}, which was never requested`;
    const why = whyNotThisVersion(version, world.etcd.truth.of(data.clusterId).minor, data.storage);
    return why === undefined ? undefined : `${peer} runs ${version}: ${why}`;
  },
};

const restartsChangeSomething: Invariant = {
  name: "restarts change something",
  promise: "A member restarts only with a changed template: the requested one, or the previous one.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== PODS || event.verb !== "delete")
      return undefined;
    const pod = event.before as Pod;
    const set = world.api.byUid(REPLICA_SETS, controllerOf(pod)?.uid);
    const template = set?.spec?.template;
    const isSame = isDeepStrictEqual(wishesIn(pod), wishesIn(template ?? {}));
    return isSame ? `pod ${pod.metadata.name} already matches its ReplicaSet` : undefined;
  },
};

const onDeleteIsRespected: Invariant = {
  name: "OnDelete is respected",
  promise: "With updateStrategy OnDelete the operator restarts no running member, except for a rollback.",
  breaks(event, world) {
    if (event.is !== "acts" || event.step.do !== "restartPod" || !("cluster" in event.snapshot)) return undefined;
    const { spec, status } = event.snapshot.cluster;
    const { name } = event.step;
    // A restart costs nothing if the member has never run, as far as the operator knows.
    const hasRun = memberNamed(event.snapshot, name)?.hasStarted === true;
    const runs = hasRun && [...world.etcd.processes.values()].some(({ peer }) => peer === name);
    const isPutBack = status?.update?.stopped !== undefined;
    return spec.updateStrategy.type === "OnDelete" && runs && !isPutBack ? `${name} is restarted` : undefined;
  },
};

/** Parts of a pod or template that follow from the spec in this world. */
function wishesIn({
  metadata,
  spec,
}: {
  readonly metadata?: Pod["metadata"] | object;
  readonly spec?: Pod["spec"];
}): object {
  const all = (metadata as Partial<Pod["metadata"]> | undefined)?.annotations ?? {};
  const wished = (key: string) => /-(trust|signer)$/.test(key) || key === PEER_SCHEME_ANNOTATION;
  const get = variablesOf({ metadata: metadata ?? {}, spec });
  const ours = (key: string) => key.startsWith("etcd.improbable.io/") && !wished(key);
  const annotations = Object.entries(all).filter(([key]) => !ours(key));
  const essence = (containers: NonNullable<Pod["spec"]>["containers"] | undefined) =>
    (containers ?? []).map(({ name, image, resources }) => ({ name, image, resources }));
  return {
    annotations: Object.fromEntries(annotations),
    clients: [get("ETCD_LISTEN_CLIENT_URLS"), get("ETCD_CLIENT_CERT_AUTH")],
    containers: essence(spec?.containers),
    initContainers: essence(spec?.initContainers),
    secrets: (spec?.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []),
    configMaps: (spec?.volumes ?? []).flatMap(({ configMap }) => configMap?.name ?? []),
  };
}

/** Promises that are checked at every event. */
export const INVARIANTS: readonly Invariant[] = [
  identityFirst,
  identityStays,
  joinedMembersJoined,
  recordedClaimsExist,
  oneCluster,
  onePlace,
  frozenList,
  fence,
  noAmnesia,
  nothingLost,
  plannedVersion,
  restartsChangeSomething,
  onDeleteIsRespected,
  confirmedListFirst,
  restartsKeepQuorum,
  quorumKept,
  oneAtATime,
  patience,
  healthyMembersStay,
  evictionsKeepQuorum,
  voteAfterFence,
  memberIsGone,
  alarmStays,
  claimsStay,
  identityFollowsClaims,
  dyingClaimsAreHeld,
  freeNamesFirst,
  emptyClaims,
  claimFirst,
  noSurplusClaims,
  foreignObjectsStay,
  leaderOnly,
  noWorkForDeletion,
  pauseStopsChanges,
  stopIsRequested,
  sleepKeepsMembers,
  wakeUpIsAwaited,
  availableIsTrue,
  readyIsTrue,
  settledIsTrue,
  membersTrustEachOther,
  clientsHaveAScheme,
  applicationsAreServed,
  trustedFirst,
  caKeysStay,
  noRemovalOverTrust,
  keysStayInSecrets,
  authFollowsSpec,
  authIsEnabledLast,
  noLockout,
  authStatusIsTrue,
  passwordsStay,
  peoplesNamesStay,
  grantsFollowObjects,
  revokedFirst,
];
