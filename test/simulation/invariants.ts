import { isDeepStrictEqual } from "node:util";
import { PEER_SCHEME_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { memberNamed } from "#cluster/members.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { hexOf } from "#etcd/types.ts";
import { memberKey } from "#kit/world-etcd.ts";
import { variablesOf } from "#kit/world-flags.ts";
import { whyNotThisVersion } from "#kit/world-version.ts";
import { controllerOf, PODS, type Pod, REPLICA_SETS, type ReplicaSet } from "#kube/kinds.ts";
import { grantedAsSaid, peoplesNamesStay, revokedFirst } from "./access-invariants.ts";
import { askedLast, nobodyLockedOut, passwordsStay, toldAsItIs, usersAreAsked } from "./auth-invariants.ts";
import {
  alarmStays,
  evictionsKeepQuorum,
  healthyStays,
  memberIsGone,
  oneAtATime,
  patience,
  quorumKept,
  restartsKeepQuorum,
  seenFirst,
  voteAfterFence,
} from "./membership-invariants.ts";
import { type Invariant, identityOf, memberOf, ownerIn, templateCanStartEmpty, withoutJoined } from "./memory.ts";
import {
  claimFirst,
  claimsArePaidFor,
  claimsStay,
  claimsTell,
  dyingClaimsAreHeld,
  emptyClaims,
  foreignStays,
  goingIsLeft,
  leaderOnly,
  namesFirst,
  pausedIsLeft,
} from "./object-invariants.ts";
import { sleepersStay, stopIsAsked, wakingIsAwaited } from "./sleep-invariants.ts";
import { availableIsTrue, readyIsTrue, settledIsTrue } from "./status-invariants.ts";
import {
  applicationsAreServed,
  authoritiesStay,
  clientsHaveAWay,
  givenUpForMore,
  keysStayInSecrets,
  membersBelieve,
  trustedFirst,
} from "./tls-invariants.ts";

const identityFirst: Invariant = {
  name: "identity first",
  promise: "Nothing of a cluster is made before its identity is on record.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.verb !== "create") return undefined;
    const cluster = ownerIn(world, event.after);
    if (cluster === undefined || identityOf(cluster) !== undefined) return undefined;
    return `${event.resource.kind} ${event.after?.metadata.name} was made for a cluster without identity`;
  },
};

const identityStays: Invariant = {
  name: "identity stays",
  promise: "A cluster is bootstrapped once in its life: its identity is written once and never changes.",
  breaks(event) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_CLUSTERS) return undefined;
    const [before, after] = [identityOf(event.before), identityOf(event.after)];
    if (before === undefined) return undefined;
    const isSame =
      after !== undefined && JSON.stringify(withoutJoined(before)) === JSON.stringify(withoutJoined(after));
    if (!isSame) return `the identity ${before.clusterID} became ${after?.clusterID ?? "nothing"}`;
    const forgotten = before.initialMembers.find(({ joined }, n) => joined && after.initialMembers[n]?.joined !== true);
    return forgotten === undefined ? undefined : `${forgotten.name} had joined, and that was forgotten`;
  },
};

const joinedIsTrue: Invariant = {
  name: "joined is true",
  promise:
    "A member counts as joined only after it has answered as part of this very cluster, or when its claim was kept.",
  breaks(event, world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_CLUSTERS) return undefined;
    const [before, after] = [identityOf(event.before), identityOf(event.after)];
    const everLed = world.etcd.truth.named(after?.clusterID)?.everLed ?? new Set();
    const hasBeen = new Set([...everLed].map((id) => hexOf(id)));
    const wrong = after?.initialMembers.find(({ id, joined }, n) => {
      if (!joined || before?.initialMembers[n]?.joined === true || hasBeen.has(id)) return false;
      return before !== undefined || !memory.claimed.has(`${after.clusterID}/${id}`);
    });
    return wrong === undefined ? undefined : `${wrong.name} is on record as joined and never was`;
  },
};

const recordedIsThere: Invariant = {
  name: "recorded is there",
  promise: "Who comes back by a claim has it: no cluster is put on record by claims that only a cache still shows.",
  breaks(event, _world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_CLUSTERS) return undefined;
    const [before, after] = [identityOf(event.before), identityOf(event.after)];
    if (before !== undefined || after === undefined) return undefined;
    const joined = after.initialMembers.filter((member) => member.joined);
    const decisions = memory.claimedWhenDecided.get(after.clusterID) ?? [];
    const isTrue = decisions.some((claimed) => joined.every(({ id }) => claimed.has(id)));
    return isTrue
      ? undefined
      : `${joined.map(({ name }) => name).join(", ")} joined, and not all of their claims are there`;
  },
};

const oneCluster: Invariant = {
  name: "one cluster",
  promise: "No fork: every member that is started for a cluster is part of the one cluster on record.",
  breaks(event, world, memory) {
    if (event.is === "started") {
      const { clusterUid, data, peer } = event.process;
      const cluster = world.api.byUid(ETCD_CLUSTERS, clusterUid);
      const recorded = identityOf(cluster)?.clusterID;
      if (cluster === undefined || recorded === hexOf(data.clusterId)) return undefined;
      return `${peer} is part of ${hexOf(data.clusterId)}, while ${recorded ?? "nothing"} is on record`;
    }
    if (event.is !== "elected" || event.process.clusterUid === undefined) return undefined;
    const { clusterUid, data } = event.process;
    const led = memory.led.get(clusterUid) ?? new Set();
    memory.led.set(clusterUid, led.add(data.clusterId));
    return led.size > 1 ? `one EtcdCluster has leaders of ${[...led].map(hexOf).join(" and ")}` : undefined;
  },
};

const frozenList: Invariant = {
  name: "frozen list",
  promise:
    "Until a majority of its first members has joined, nothing outside the frozen list of its first members is made.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== ETCD_PEERS) return undefined;
    const identity = identityOf(ownerIn(world, event.after));
    const name = event.after?.metadata.name;
    if (identity === undefined || event.verb !== "create") return undefined;
    const { initialMembers } = identity;
    const isForming = initialMembers.filter(({ joined }) => joined).length < quorumOf(initialMembers.length);
    if (!isForming || initialMembers.some((member) => member.name === name)) return undefined;
    return `${name} was made while the cluster forms`;
  },
};

const fence: Invariant = {
  name: "fence",
  promise: "A member that is known to have joined never gets flags with which it can start on an empty disk.",
  breaks(event, world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.after === undefined) return undefined;
    if (event.resource === ETCD_PEERS) {
      const { metadata, spec } = event.after as EtcdPeer;
      const members = identityOf(ownerIn(world, event.after))?.initialMembers;
      const member = members?.find(({ name, id }) => name === metadata.name && id === spec.memberID);
      const isGiven =
        spec.bootstrap !== undefined && (event.before as EtcdPeer | undefined)?.spec.bootstrap === undefined;
      return isGiven && member?.joined === true
        ? `${metadata.name} has joined and was told how to bootstrap`
        : undefined;
    }
    if (event.resource !== REPLICA_SETS) return undefined;
    const key = memberOf(event.after as ReplicaSet, world);
    if (key === undefined || !memory.fenced.has(key) || !templateCanStartEmpty(event.after as ReplicaSet))
      return undefined;
    return `the fence of ${event.after.metadata.name} was taken away`;
  },
};

const noAmnesia: Invariant = {
  name: "no amnesia",
  promise: "A member that comes back with an empty disk fails at once instead of voting without remembering.",
  breaks(event, _world, memory) {
    if (event.is !== "started" || !event.amnesia) return undefined;
    const { podUid, peer, data } = event.process;
    return memory.windowPods.has(podUid) ? undefined : `${peer} (${memberKey(data)}) started over on an empty disk`;
  },
};

const nothingLost: Invariant = {
  name: "nothing lost",
  promise: "No acknowledged write is lost while no more than a minority of disks is.",
  breaks(event, world, memory) {
    if (event.is !== "elected" || event.lostWrites.length === 0) return undefined;
    const { clusterId } = event.process.data;
    const { hasLostMajority, lostDisks } = world.etcd.truth.of(clusterId);
    if (memory.excused.has(clusterId) || hasLostMajority) return undefined;
    return `writes ${event.lostWrites} are gone, while ${lostDisks.size} disks were lost`;
  },
};

const plannedVersion: Invariant = {
  name: "planned version",
  promise:
    "No member ever runs a release that nobody asked for, nor one that etcd cannot go to from what the cluster speaks.",
  breaks(event, world, memory) {
    if (event.is !== "started") return undefined;
    const { data, peer, version } = event.process;
    if (!memory.versions.has(version)) return `${peer} runs ${version}, and nobody ever asked for that`;
    const why = whyNotThisVersion(version, world.etcd.truth.of(data.clusterId).minor, data.storage);
    return why === undefined ? undefined : `${peer} runs ${version}: ${why}`;
  },
};

const restartsForSomething: Invariant = {
  name: "restarts for something",
  promise:
    "A member is restarted only to become something else than it is: what a person asked for, or what it was before.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== PODS || event.verb !== "delete")
      return undefined;
    const pod = event.before as Pod;
    const set = world.api.byUid(REPLICA_SETS, controllerOf(pod)?.uid);
    const template = set?.spec?.template;
    const isSame = isDeepStrictEqual(wishesIn(pod), wishesIn(template ?? {}));
    return isSame ? `pod ${pod.metadata.name} was made from what its ReplicaSet has` : undefined;
  },
};

const peopleRestart: Invariant = {
  name: "people restart",
  promise: "Where people restart members, the operator restarts none that runs and has run, unless it puts it back.",
  breaks(event, world) {
    if (event.is !== "acts" || event.step.do !== "restartPod" || !("cluster" in event.snapshot)) return undefined;
    const { spec, status } = event.snapshot.cluster;
    const { name } = event.step;
    // Who has never run, as far as anybody can tell, loses nothing by it.
    const hasRun = memberNamed(event.snapshot, name)?.hasStarted === true;
    const runs = hasRun && [...world.etcd.processes.values()].some(({ peer }) => peer === name);
    const isPutBack = status?.update?.stopped !== undefined;
    return spec.updateStrategy.type === "OnDelete" && runs && !isPutBack ? `${name} is restarted` : undefined;
  },
};

/** What of a pod, or a template of one, people decide in this world. */
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

/** THE promises. Each is asked about everything that happens. */
export const INVARIANTS: readonly Invariant[] = [
  identityFirst,
  identityStays,
  joinedIsTrue,
  recordedIsThere,
  oneCluster,
  frozenList,
  fence,
  noAmnesia,
  nothingLost,
  plannedVersion,
  restartsForSomething,
  peopleRestart,
  seenFirst,
  restartsKeepQuorum,
  quorumKept,
  oneAtATime,
  patience,
  healthyStays,
  evictionsKeepQuorum,
  voteAfterFence,
  memberIsGone,
  alarmStays,
  claimsStay,
  claimsTell,
  dyingClaimsAreHeld,
  namesFirst,
  emptyClaims,
  claimFirst,
  claimsArePaidFor,
  foreignStays,
  leaderOnly,
  goingIsLeft,
  pausedIsLeft,
  stopIsAsked,
  sleepersStay,
  wakingIsAwaited,
  availableIsTrue,
  readyIsTrue,
  settledIsTrue,
  membersBelieve,
  clientsHaveAWay,
  applicationsAreServed,
  trustedFirst,
  authoritiesStay,
  givenUpForMore,
  keysStayInSecrets,
  usersAreAsked,
  askedLast,
  nobodyLockedOut,
  toldAsItIs,
  passwordsStay,
  peoplesNamesStay,
  grantedAsSaid,
  revokedFirst,
];
