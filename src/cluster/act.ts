import { REMOVAL_ANNOTATION } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { type ClusterIdentity, ETCD_CLUSTERS, type EtcdCluster, type EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { Identities } from "#certificates/dial.ts";
import type { Issuer } from "#certificates/issue.ts";
import { type AuthChange, actOnAuth } from "#cluster/auth/act.ts";
import { newRootSecret } from "#cluster/auth/root-secret.ts";
import { monitorPut } from "#cluster/exposure/desired/pod-monitor.ts";
import { servicePut } from "#cluster/exposure/desired/services.ts";
import { answeringVoter, downgradeReporter, leader, ofThisCluster } from "#cluster/observe/addressee.ts";
import {
  needAsked,
  needClaimGone,
  needClaimsAsSeen,
  needKeptClaims,
  needNotJoined,
  needRemoval,
  needShownAsSeen,
} from "#cluster/observe/live-checks.ts";
import { needOthers, needPodAsSeen, needSilence } from "#cluster/observe/live-pods.ts";
import { updateStatus } from "#cluster/update/update-status.ts";
import { runningVersion } from "#cluster/update/versions.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { issuedTls } from "#cluster-tls/effective/previous.ts";
import {
  issueAuthority,
  issueLeaf,
  needAsSeen,
  publishClientSecret,
  rotateAuthority,
  spreadTrust,
} from "#cluster-tls/issue/act.ts";
import { trustMapPut } from "#cluster-tls/issue/desired/certificates.ts";
import { sideOf } from "#cluster-tls/read/purposes.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { refusalOf } from "#etcd/error.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  CERTIFICATES,
  CONFIG_MAPS,
  type Draft,
  type KubeObject,
  NETWORK_POLICIES,
  POD_DISRUPTION_BUDGETS,
  POD_MONITORS,
  PODS,
  type Resource,
  SECRETS,
  SERVICES,
} from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";
import type { Written } from "#runtime/controller.ts";
import { wait } from "#runtime/decide.ts";
import { writeStatus } from "#runtime/status-writer.ts";
import { patchFinalizers, patchMetadata, stored } from "#runtime/writes.ts";
import { type ClusterSnapshot, identityOf, isForming } from "./snapshot.ts";
import { clusterStatus } from "./status.ts";
import type { ClusterStep } from "./step.ts";

/** The clients that this controller writes with. */
export interface ClusterWrites {
  readonly kube: Pick<KubeClient, "get" | "list" | "create" | "replace" | "patch" | "delete">;
  readonly etcd: Pick<
    EtcdClient,
    | "probe"
    | "health"
    | "addLearner"
    | "promote"
    | "updateMember"
    | "removeMember"
    | "moveLeader"
    | "disarmAlarm"
    | "downgrade"
    | AuthChange
  >;
  readonly identities: Identities;
  readonly issuer: Issuer;
}

/** Executes one step: exactly one write, with its precondition. */
export async function actOnCluster(
  { kube, etcd, identities, issuer }: ClusterWrites,
  step: ClusterStep,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  const record = (status: EtcdClusterStatus) => writeStatus(kube, ETCD_CLUSTERS, snapshot.cluster, status, signal);
  const replace = async <T extends KubeObject>(resource: Resource<T>, object: T) =>
    stored(resource, await kube.replace(resource, object, { signal }));
  const tls = (side: Side) => ({ kube, issuer, snapshot: issuing(snapshot, side), signal });
  const voter = () => answeringVoter(snapshot, identities);
  const options = () => ofThisCluster(snapshot, signal);
  switch (step.do) {
    case "writeTls":
      return await patchSpec(kube, snapshot, { tls: step.tls }, signal);
    case "recordIdentity":
      await needKeptClaims(kube, snapshot, signal);
      return await record(firstStatus(snapshot, step.identity));
    case "recordJoined":
      return await record({ ...snapshot.cluster.status, identity: withJoined(snapshot, step.names) });
    case "createRestore":
      return await create(kube, ETCD_RESTORES, step.restore, signal);
    case "fallAsleep":
      await needClaimsAsSeen(kube, snapshot, signal);
      return await record({ ...snapshot.cluster.status, sleep: { startTime: rfc3339(snapshot.takenAtMs) } });
    case "wakeUp":
      return await record(wokenStatus(snapshot));
    case "createService":
      return await create(kube, SERVICES, step.service, signal);
    case "replaceService":
      return await replace(SERVICES, servicePut(step.live, step.service));
    case "createBudget":
      return await create(kube, POD_DISRUPTION_BUDGETS, step.budget, signal);
    case "replaceBudget":
      return await replace(POD_DISRUPTION_BUDGETS, replacing(step.live, step.budget));
    case "deleteBudget":
      return await deleteAsRead(kube, POD_DISRUPTION_BUDGETS, step.live, signal);
    case "createNetworkPolicy":
      return await create(kube, NETWORK_POLICIES, step.policy, signal);
    case "replaceNetworkPolicy":
      return await replace(NETWORK_POLICIES, replacing(step.live, step.policy));
    case "deleteNetworkPolicy":
      return await deleteAsRead(kube, NETWORK_POLICIES, step.live, signal);
    case "createMonitor":
      return await changed(kube.create(POD_MONITORS, step.monitor, { signal }));
    case "replaceMonitor":
      return await changed(kube.replace(POD_MONITORS, monitorPut(step.live, step.monitor), { signal }));
    case "deleteMonitor":
      await deleteAsRead(kube, POD_MONITORS, step.live, signal);
      return { kind: "external" }; // No cache holds PodMonitors.
    case "issueAuthority":
      return await unwatched(issueAuthority(tls(step.side), step.side, step.trust));
    case "rotateAuthority":
      return await unwatched(rotateAuthority(tls(step.side), step.side, step.phase, step.facts));
    case "issueLeaf":
      return await unwatched(issueLeaf(tls(sideOf(step.purpose)), step.purpose, step.authority, step.facts));
    case "spreadTrust":
      return await unwatched(spreadTrust(tls(sideOf(step.purpose)), step.authority, step.facts));
    case "publishClientSecret":
      return await unwatched(publishClientSecret({ kube, issuer, snapshot: effectiveTls(snapshot), signal }, step));
    case "createTrustMap":
      return await unwatched(kube.create(CONFIG_MAPS, step.map, { signal }));
    case "replaceTrustMap":
      return await unwatched(kube.replace(CONFIG_MAPS, trustMapPut(step.live, step.map), { signal }));
    case "createRequest":
      return await unwatched(kube.create(CERTIFICATES, step.request, { signal }));
    case "replaceRequest":
      return await unwatched(kube.replace(CERTIFICATES, replacing(step.live, step.request), { signal }));
    case "createRootSecret":
      return await unwatched(kube.create(SECRETS, newRootSecret(snapshot), { signal }));
    case "setRootPassword":
    case "addUser":
    case "grantRole":
    case "enableAuth":
    case "disableAuth":
      if (step.do === "enableAuth" || step.do === "disableAuth") await needAsked(kube, snapshot, signal);
      return await changed(actOnAuth({ kube, etcd, identities, issuer }, step, snapshot, signal));
    case "createPeer":
      await needNotJoined(kube, snapshot, step.peer, signal);
      return await create(kube, ETCD_PEERS, step.peer, signal);
    case "replacePeer":
      return await replace(ETCD_PEERS, replacing(step.live, step.peer));
    case "markRemoval":
      if (step.removal !== undefined && step.removal !== "scale-down") await needShownAsSeen(kube, snapshot, signal);
      return await patchMetadata(
        kube,
        ETCD_PEERS,
        step.peer,
        { annotations: { [REMOVAL_ANNOTATION]: step.removal ?? null } },
        signal,
      );
    case "releaseClaim":
      await needAsked(kube, snapshot, signal);
      return await patchFinalizers(
        kube,
        ETCD_PEERS,
        step.peer,
        [...(step.peer.metadata.finalizers ?? []), step.finalizer],
        signal,
      );
    case "deletePeer":
      await needAsked(kube, snapshot, signal);
      return await deleteAsRead(kube, ETCD_PEERS, step.peer, signal);
    case "createBackup":
      await needAsked(kube, snapshot, signal);
      return await create(kube, ETCD_BACKUPS, step.backup, signal);
    case "restartPod":
      await needAsked(kube, snapshot, signal);
      await needShownAsSeen(kube, snapshot, signal);
      await needAsSeen({ kube, issuer, snapshot: effectiveTls(snapshot), signal }, step);
      await needClaimsAsSeen(kube, snapshot, signal);
      // Last, so that the members' answers are as recent as possible.
      await needOthers({ kube, etcd, identities }, snapshot, step, signal);
      return await deleteAsRead(kube, PODS, step.pod, signal);
    case "stopUpdate":
      await needPodAsSeen(kube, snapshot, step, signal);
      return await record(stoppedStatus(snapshot, step));
    case "addLearner":
      return await changed(etcd.addLearner(voter(), [step.peerUrl], options()));
    case "promote":
      return await changed(etcd.promote(voter(), step.id, options()));
    case "updateMember":
      return await changed(etcd.updateMember(voter(), step.id, [step.peerUrl], options()));
    case "removeMember":
      await needClaimGone(kube, snapshot, step, signal);
      await needRemoval(kube, snapshot, step, signal);
      // Last, so that the member's answer is as recent as possible.
      await needSilence({ kube, etcd, identities }, snapshot, step, signal);
      return await changed(etcd.removeMember(voter(), step.id, options()));
    case "disarmAlarm":
      return await changed(etcd.disarmAlarm(voter(), { memberId: step.id, type: step.type }, options()));
    case "enableDowngrade":
      await changed(etcd.downgrade(voter(), "VALIDATE", step.to, options()));
      return await changed(etcd.downgrade(voter(), "ENABLE", step.to, options()));
    case "cancelDowngrade":
      return await changed(etcd.downgrade(downgradeReporter(snapshot, identities), "CANCEL", step.to, options()));
    case "moveLeader":
      return await changed(etcd.moveLeader(leader(snapshot, identities), step.id, options()));
  }
}

/** The snapshot with the TLS configuration by which the operator issues certificates on this side. */
function issuing(snapshot: ClusterSnapshot, side: Side): ClusterSnapshot {
  return issuedTls(effectiveTls(snapshot), side);
}

/** The first status also has the conditions of a cluster that is forming: one write instead of two. */
function firstStatus(snapshot: ClusterSnapshot, identity: ClusterIdentity): EtcdClusterStatus {
  // The release is recorded with the identity: otherwise first members could start with one release and restart with
  // another.
  const known: EtcdClusterStatus = { ...snapshot.cluster.status, identity };
  const version = runningVersion({ ...snapshot, cluster: { ...snapshot.cluster, status: known } });
  const recorded: EtcdClusterStatus = { ...known, version };
  // Counts as begun now, however long the EtcdCluster has waited in the queue.
  const metadata = { ...snapshot.cluster.metadata, creationTimestamp: rfc3339(snapshot.takenAtMs) };
  const next: ClusterSnapshot = { ...snapshot, cluster: { ...snapshot.cluster, metadata, status: recorded } };
  if (!isForming(next)) return recorded;
  return clusterStatus(next, { rule: "await-members", ...wait("members are starting", 0) });
}

function wokenStatus({ cluster: { status }, takenAtMs }: ClusterSnapshot): EtcdClusterStatus {
  invariant(status?.sleep !== undefined, "only a cluster that sleeps is woken");
  return { ...status, sleep: { ...status.sleep, wakeTime: rfc3339(takenAtMs) } };
}

function withJoined(snapshot: ClusterSnapshot, names: readonly string[]): ClusterIdentity {
  const identity = identityOf(snapshot);
  invariant(identity !== undefined, "members join a cluster that has an identity");
  const initialMembers = identity.initialMembers.map((member) =>
    names.includes(member.name) ? { ...member, joined: true } : member,
  );
  return { ...identity, initialMembers };
}

/** Creates with POST and not with apply: the server then refuses a name that was taken since, instead of merging. */
async function create<T extends KubeObject>(
  kube: ClusterWrites["kube"],
  resource: Resource<T>,
  draft: Draft<T>,
  signal: AbortSignal,
): Promise<Written> {
  return stored(resource, await kube.create(resource, draft, { signal }));
}

/** Patches only this very cluster, and only as it was read: a later edit by a person wins. */
async function patchSpec(
  kube: ClusterWrites["kube"],
  { cluster: { metadata } }: ClusterSnapshot,
  spec: Partial<EtcdCluster["spec"]>,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const options = { signal, type: "merge" as const, preconditions: { uid, resourceVersion } };
  return stored(ETCD_CLUSTERS, await kube.patch(ETCD_CLUSTERS, { namespace, name }, { spec }, options));
}

/**
 * Deletes only this very object, and only as it was read. An EtcdPeer recreated under the same name may hold a live
 * member's data, and a pod may have changed since.
 */
async function deleteAsRead<T extends KubeObject>(
  kube: ClusterWrites["kube"],
  resource: Resource<T>,
  { metadata }: T,
  signal: AbortSignal,
): Promise<Written> {
  const { name, uid, resourceVersion } = metadata;
  const ref = metadata.namespace === undefined ? { name } : { namespace: metadata.namespace, name };
  await kube.delete(resource, ref, { signal, preconditions: { uid, resourceVersion } });
  return { kind: "deleted", resource, ref, uid };
}

function stoppedStatus(
  snapshot: ClusterSnapshot,
  { name, message }: { name: string; message: string },
): EtcdClusterStatus {
  const update = updateStatus(snapshot);
  invariant(update !== undefined, "an update that is stopped is under way");
  return { ...snapshot.cluster.status, update: { ...update, stopped: { member: name, message } } };
}

/** A refusal that etcd is known to give while the cluster changes causes a requeue, not a failure. */
async function changed(call: Promise<unknown>): Promise<Written> {
  try {
    await call;
    return { kind: "external" };
  } catch (thrown) {
    if (refusalOf(thrown) === undefined) throw thrown;
    throw new OperatorError("EtcdNotNow", thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
  }
}

/** For objects that no cache holds. */
async function unwatched(write: Promise<KubeObject>): Promise<Written> {
  return { kind: "unwatched", object: await write };
}
