import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION, CLUSTER_LABEL } from "#api/names.ts";
import { etcdResourcesOf } from "#api/pod-template/etcd-container.ts";
import type { MemberTemplate } from "#api/revision.ts";
import { type ClusterIdentity, ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { hexOf, type MemberId, memberIdFromHex } from "#etcd/types.ts";
import { CRASHES, isBrokenBeside, MOST_CPUS, UNPUBLISHED_PATCH } from "#kit/world/containers.ts";
import type { ListedMember } from "#kit/world/disk.ts";
import { minorOf } from "#kit/world/version.ts";
import type { World } from "#kit/world/world.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import type { Memory } from "./memory.ts";
import { isUncertifiable } from "./tls-invariants.ts";

/** Whether and how a cluster can become healthy at the end. */
export interface Prospects {
  readonly members: readonly ListedMember[];
  /** Members that run, follow a leader, and are reachable for the operator. */
  readonly well: ReadonlySet<MemberId>;
  /** Whether no obstacle remains that only a person or the world could remove. */
  readonly canHeal: boolean;
}

/** @param identity the recorded identity */
export function prospectsOf(world: World, identity: ClusterIdentity, memory: Memory): Prospects {
  const cluster = world.etcd.truth.named(identity.clusterID);
  const members =
    cluster === undefined || cluster.members.size === 0 ? asRecorded(identity) : [...cluster.members.values()];
  const well = new Set<MemberId>();
  for (const process of world.etcd.processes.values()) {
    const { data, isHidden } = process;
    if (hexOf(data.clusterId) !== identity.clusterID || isHidden || cluster?.alarms.has(data.memberId)) continue;
    if (world.etcd.leaderOf(process) !== undefined) well.add(data.memberId);
  }
  const voters = members.filter(({ isLearner }) => !isLearner);
  const able = voters.filter(({ id }) => isAble(world, identity, id));
  const joined = identity.initialMembers.filter((member) => member.joined).length;
  const isForming = joined < quorumOf(identity.initialMembers.length);
  const needed = quorumOf(voters.length);
  // A cluster that was deleted before a majority of its members ever met cannot form from its claims (docs/limits.md).
  const canForm = isForming || (cluster?.everLed.size ?? 0) > 0;
  const isUndecided = cluster?.alarms.has(undefined) ?? false;
  // The operator cannot observe voters that a person runs, and keeps a quorum without them: that may need more members
  // than there are. A learner of a person takes the only place for one.
  const hasForeign = members.some(isForeign);
  const canHeal =
    canForm &&
    !isUndecided &&
    !hasForeign &&
    able.length >= needed &&
    !isHeldByClaims(world, identity, voters) &&
    !isHindered(world);
  if (!canHeal) memory.excuses.add("hindered");
  return { members, well, canHeal };
}

/** Claims of these voters that are being deleted: they disappear with their pods. */
export function dyingClaims(
  { api }: World,
  { clusterID }: Pick<ClusterIdentity, "clusterID">,
  voters: readonly Pick<ListedMember, "id">[],
) {
  const ids = new Set(voters.map(({ id }) => hexOf(id)));
  return api.list(PERSISTENT_VOLUME_CLAIMS).filter(({ metadata: { annotations = {}, deletionTimestamp } }) => {
    const isOf = annotations[CLAIM_CLUSTER_ID_ANNOTATION] === clusterID;
    return isOf && ids.has(annotations[CLAIM_MEMBER_ID_ANNOTATION] ?? "") && deletionTimestamp !== undefined;
  });
}

/**
 * Whether members must keep running because more claims would be lost than the quorum can miss. That may be with one
 * pod, with all pods for sleep, or with the pods of a scale-down.
 */
export function isHeldByClaims(
  world: World,
  identity: Pick<ClusterIdentity, "clusterID">,
  voters: readonly Pick<ListedMember, "id">[],
): boolean {
  const { api } = world;
  const cluster = api.list(ETCD_CLUSTERS).find(({ status }) => status?.identity?.clusterID === identity.clusterID);
  const wanted = cluster?.spec.replicas ?? voters.length;
  const dying = dyingClaims(world, identity, voters).length;
  const members = api
    .list(PERSISTENT_VOLUME_CLAIMS)
    .map(({ metadata }) => metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION]);
  const without = voters.filter(({ id }) => !members.includes(hexOf(id))).length;
  // With more members each can be replaced.
  const isFewerNext = wanted > 0 && wanted < voters.length && wanted - 1 < quorumOf(wanted);
  if (isFewerNext && dying > 0 && voters.length - dying - without < quorumOf(wanted)) return true;
  const isAsleepNext = wanted === 0;
  const going = isAsleepNext ? dying : Math.min(dying, 1);
  // A member that sleeps without its claim has no data when it wakes.
  const gone = isAsleepNext ? without : 0;
  return going > 0 && voters.length - going - gone < quorumOf(voters.length);
}

/** Whether a person added the member and runs it elsewhere. */
export function isForeign({ peerUrl }: ListedMember): boolean {
  return peerUrl.startsWith("http://own-");
}

function asRecorded({ initialMembers }: ClusterIdentity): readonly ListedMember[] {
  return initialMembers.map(({ name, id }) => ({
    name,
    id: memberIdFromHex(id),
    isAnnounced: true,
    isLearner: false,
    peerUrl: "",
  }));
}

/** Whether the member has what it needs to run: its claim, its volume with its data, and a node. */
function isAble(world: World, { clusterID, initialMembers }: ClusterIdentity, id: MemberId): boolean {
  const claim = world.api
    .list(PERSISTENT_VOLUME_CLAIMS)
    .find(
      ({ metadata }) =>
        metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] === clusterID &&
        metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION] === hexOf(id),
    );
  const unjoined = initialMembers.find((member) => member.id === hexOf(id) && !member.joined);
  const isNameFree = !world.api.list(PERSISTENT_VOLUME_CLAIMS).some(({ metadata }) => metadata.name === unjoined?.name);
  if (unjoined !== undefined && isNameFree) return true;
  const disk = world.kubelets.disks.get(claim?.spec?.volumeName ?? "");
  if (claim === undefined || disk === undefined) return false;
  // A recreated cluster finds claims by their label.
  if (claim.metadata.labels?.[CLUSTER_LABEL] === undefined) return false;
  // A kubelet starts no pod with a terminating claim, and the claim remains while the pod exists. A person has to
  // delete the pod.
  if (claim.metadata.deletionTimestamp !== undefined && disk.heldBy === undefined) return false;
  const cluster = world.etcd.truth.named(clusterID);
  const hasForgotten = disk.data === undefined && world.etcd.isStrict && cluster?.announced.has(id) === true;
  // etcd refuses that the member starts over. It has to be replaced, which needs enough other members.
  if (unjoined !== undefined && hasForgotten) return false;
  return (disk.data?.memberId === id || unjoined !== undefined) && cluster?.alarms.has(id) !== true;
}

/**
 * Whether a member's name belongs to a claim of another cluster without labels. The operator does not see the claim
 * when it chooses the name, and the EtcdPeer reports what a person has to do.
 */
function isNameTakenUnseen(api: World["api"]): boolean {
  const claims = api
    .list(PERSISTENT_VOLUME_CLAIMS)
    .filter(({ metadata }) => metadata.labels?.[CLUSTER_LABEL] === undefined);
  return api.list(ETCD_PEERS).some(({ metadata, spec, status }) => {
    const claim = claims.find((each) => each.metadata.name === metadata.name);
    const isOthers = claim?.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] !== spec.clusterID;
    return (
      claim !== undefined && isOthers && status?.conditions?.some(({ reason }) => reason === "ClaimTaken") === true
    );
  });
}

/** Whether the template is refused for every member. The webhook that would reject it does not exist in this world. */
export function isRefused({ podTemplate }: Pick<MemberTemplate, "podTemplate">): boolean {
  return podTemplate.spec?.hostNetwork === true;
}

/** Whether no member can run with the template, or no pod with it becomes ready. */
export function isBroken({ version, podTemplate }: Pick<MemberTemplate, "version" | "podTemplate">): boolean {
  const isUnpublished = Number(version.split(".")[2]) >= UNPUBLISHED_PATCH;
  const isTooLarge = Number(etcdResourcesOf(podTemplate)?.requests?.cpu ?? 0) > MOST_CPUS;
  const isCrashing = podTemplate.metadata?.annotations?.[CRASHES] !== undefined;
  return isUnpublished || isTooLarge || isCrashing || isBrokenBeside(podTemplate);
}

/**
 * Whether a cluster without any joined member is asked to run an older minor than its data: the operator could not know
 * that.
 */
function isTakenBackUnseen({ api, etcd }: World): boolean {
  return api.list(ETCD_CLUSTERS).some(({ spec, status }) => {
    const { clusterID, initialMembers = [] } = status?.identity ?? {};
    const minor = etcd.truth.named(clusterID)?.minor;
    return minor !== undefined && minorOf(spec.version) < minor && initialMembers.every(({ joined }) => !joined);
  });
}

function isForming(api: World["api"]): boolean {
  return api.list(ETCD_CLUSTERS).some(({ status }) => status?.identity?.initialMembers.some(({ joined }) => !joined));
}

/**
 * Whether an obstacle keeps new members from starting, or hides running ones from the operator, until it is removed.
 */
export function isHindered(world: World): boolean {
  const { kubelets, etcd, api, people } = world;
  const hasForeign = [...people.foreign].some((uid) => api.exists(uid));
  const isHidden = [...etcd.processes.values()].some((process) => process.isHidden);
  return (
    hasForeign ||
    isHidden ||
    isNameTakenUnseen(api) ||
    isTakenBackUnseen(world) ||
    api.admission.size > 0 ||
    // A member is rolled back to its previous template once the cluster has formed. Before that no template has been
    // healthy.
    (api.list(ETCD_CLUSTERS).some(({ spec }) => isBroken(spec) || isRefused(spec)) &&
      api.list(ETCD_PEERS).some(({ spec }) => isBroken(spec) && (spec.previous === undefined || isForming(api)))) ||
    kubelets.isOutOfVolumes ||
    isUncertifiable(world) ||
    kubelets.nodes.some(({ isUp, cutSinceMs }) => !isUp || cutSinceMs !== undefined)
  );
}
