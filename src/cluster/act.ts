import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { type ClusterIdentity, ETCD_CLUSTERS, type EtcdCluster, type EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import { issueAuthority, issueLeaf, rotateAuthority, spreadTrust } from "#cluster/certificates/act.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { servicePut } from "#cluster/desired/services.ts";
import { enabledDowngrade } from "#cluster/downgrade.ts";
import { needAsked, needClaimGone, needNotJoined, needNoVolume, needSilence } from "#cluster/live-checks.ts";
import { isHealthy, type KnownMember, leaderOf, votersOf } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf, isForming } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { updateStatus } from "#cluster/update-status.ts";
import type { CallOptions, EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { refusalOf } from "#etcd/error.ts";
import { clusterIdFromHex } from "#etcd/types.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  CERTIFICATES,
  CONFIG_MAPS,
  type Draft,
  type KubeObject,
  POD_DISRUPTION_BUDGETS,
  POD_MONITORS,
  PODS,
  type Resource,
  SERVICES,
} from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";
import type { Written } from "#runtime/controller.ts";
import { wait } from "#runtime/decide.ts";

/** What this room writes to. */
export interface ClusterWrites {
  readonly kube: Pick<KubeClient, "get" | "create" | "replace" | "patch" | "delete">;
  readonly etcd: Pick<
    EtcdClient,
    "probe" | "addLearner" | "promote" | "removeMember" | "moveLeader" | "disarmAlarm" | "downgrade"
  >;
  readonly identities: Identities;
}

/** A change of membership goes through raft twice and may have to wait for an election. */
const MEMBERSHIP_DEADLINE_MS = 5_000;

/** Does one step: exactly one write, with its precondition. */
export async function actOnCluster(
  { kube, etcd, identities }: ClusterWrites,
  step: ClusterStep,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  switch (step.do) {
    case "recordIdentity":
      await needNoVolume(kube, snapshot, step.identity, signal);
      return await writeStatus(kube, snapshot, firstStatus(snapshot, step.identity), signal);
    case "recordJoined":
      return await writeStatus(
        kube,
        snapshot,
        { ...snapshot.cluster.status, identity: withJoined(snapshot, step.names) },
        signal,
      );
    case "createRestore":
      return await create(kube, ETCD_RESTORES, step.restore, signal);
    case "fallAsleep":
      return await writeStatus(
        kube,
        snapshot,
        { ...snapshot.cluster.status, sleep: { since: rfc3339(snapshot.takenAtMs) } },
        signal,
      );
    case "wakeUp":
      return await writeStatus(kube, snapshot, wokenStatus(snapshot), signal);
    case "createService":
      return await create(kube, SERVICES, step.service, signal);
    case "replaceService":
      return stored(SERVICES, await kube.replace(SERVICES, servicePut(step.live, step.service), { signal }));
    case "createBudget":
      return await create(kube, POD_DISRUPTION_BUDGETS, step.budget, signal);
    case "replaceBudget":
      return stored(
        POD_DISRUPTION_BUDGETS,
        await kube.replace(POD_DISRUPTION_BUDGETS, replacing(step.live, step.budget), { signal }),
      );
    case "deleteBudget":
      return await deleteAsRead(kube, POD_DISRUPTION_BUDGETS, step.live, signal);
    case "createMonitor":
      return await changed(kube.create(POD_MONITORS, step.monitor, { signal }));
    case "replaceMonitor":
      return await changed(kube.replace(POD_MONITORS, replacing(step.live, step.monitor), { signal }));
    case "deleteMonitor":
      await deleteAsRead(kube, POD_MONITORS, step.live, signal);
      return { kind: "external" }; // No cache would ever show it.
    case "issueAuthority":
      return await unwatched(issueAuthority({ kube, snapshot: keptTls(snapshot), signal }, step.side, step.trust));
    case "rotateAuthority":
      return await unwatched(
        rotateAuthority({ kube, snapshot: keptTls(snapshot), signal }, step.side, step.phase, step.facts),
      );
    case "issueLeaf":
      return await unwatched(
        issueLeaf({ kube, snapshot: keptTls(snapshot), signal }, step.purpose, step.authority, step.facts),
      );
    case "spreadTrust":
      return await unwatched(spreadTrust({ kube, snapshot: keptTls(snapshot), signal }, step.authority, step.facts));
    case "createTrustMap":
      return await unwatched(kube.create(CONFIG_MAPS, step.map, { signal }));
    case "replaceTrustMap":
      return await unwatched(kube.replace(CONFIG_MAPS, replacing(step.live, step.map), { signal }));
    case "createRequest":
      return await unwatched(kube.create(CERTIFICATES, step.request, { signal }));
    case "replaceRequest":
      return await unwatched(kube.replace(CERTIFICATES, replacing(step.live, step.request), { signal }));
    case "createPeer":
      await needNotJoined(kube, snapshot, step.peer, signal);
      return await create(kube, ETCD_PEERS, step.peer, signal);
    case "replacePeer":
      return stored(ETCD_PEERS, await kube.replace(ETCD_PEERS, replacing(step.live, step.peer), { signal }));
    case "markRemoval":
      return await patchPeer(kube, step.peer, { annotations: { [REMOVAL_ANNOTATION]: step.removal ?? null } }, signal);
    case "releaseClaim":
      return await patchPeer(
        kube,
        step.peer,
        { finalizers: [...(step.peer.metadata.finalizers ?? []), step.finalizer] },
        signal,
      );
    case "deletePeer":
      return await deleteAsRead(kube, ETCD_PEERS, step.peer, signal);
    case "createBackup":
      await needAsked(kube, snapshot, signal);
      return await create(kube, ETCD_BACKUPS, step.backup, signal);
    case "restartPod":
      return await deleteAsRead(kube, PODS, step.pod, signal);
    case "stopUpdate":
      return await writeStatus(kube, snapshot, stoppedStatus(snapshot, step), signal);
    case "addLearner":
      return await changed(
        etcd.addLearner(follower(snapshot, identities), [step.peerUrl], membership(snapshot, signal)),
      );
    case "promote":
      return await changed(etcd.promote(follower(snapshot, identities), step.id, membership(snapshot, signal)));
    case "removeMember":
      await needSilence({ etcd, identities }, snapshot, step, signal);
      await needClaimGone(kube, snapshot, step, signal);
      return await changed(etcd.removeMember(follower(snapshot, identities), step.id, membership(snapshot, signal)));
    case "disarmAlarm":
      return await changed(
        etcd.disarmAlarm(
          follower(snapshot, identities),
          { memberId: step.id, type: step.type },
          membership(snapshot, signal),
        ),
      );
    case "enableDowngrade": {
      const [at, options] = [follower(snapshot, identities), membership(snapshot, signal)];
      await changed(etcd.downgrade(at, "VALIDATE", step.to, options));
      return await changed(etcd.downgrade(at, "ENABLE", step.to, options));
    }
    case "cancelDowngrade":
      return await changed(
        etcd.downgrade(teller(snapshot, identities), "CANCEL", step.to, membership(snapshot, signal)),
      );
    case "moveLeader":
      return await changed(etcd.moveLeader(leader(snapshot, identities), step.id, membership(snapshot, signal)));
  }
}

/** Writes the status of the object as it was read: whoever changed it since makes this a conflict. */
export async function writeStatus(
  kube: ClusterWrites["kube"],
  snapshot: Pick<ClusterSnapshot, "cluster">,
  status: EtcdClusterStatus,
  signal: AbortSignal,
): Promise<Written> {
  const cluster: EtcdCluster = { ...snapshot.cluster, status };
  return stored(ETCD_CLUSTERS, await kube.replace(ETCD_CLUSTERS, cluster, { signal, subresource: "status" }));
}

/** The first status says besides that the cluster is being formed, as the next look would: one write tells both. */
function firstStatus(snapshot: ClusterSnapshot, identity: ClusterIdentity): EtcdClusterStatus {
  // The release stands on record with the identity: who is started first is not to be started again on another one.
  const { version } = snapshot.cluster.spec;
  const recorded: EtcdClusterStatus = { ...snapshot.cluster.status, identity, version };
  const next: ClusterSnapshot = { ...snapshot, cluster: { ...snapshot.cluster, status: recorded } };
  if (!isForming(next)) return recorded;
  return clusterStatus(next, wait("await-members", "members are starting", 0));
}

function wokenStatus({ cluster: { status }, takenAtMs }: ClusterSnapshot): EtcdClusterStatus {
  invariant(status?.sleep !== undefined, "only a cluster that sleeps is woken");
  return { ...status, sleep: { ...status.sleep, wokenAt: rfc3339(takenAtMs) } };
}

function withJoined(snapshot: ClusterSnapshot, names: readonly string[]): ClusterIdentity {
  const identity = identityOf(snapshot);
  invariant(identity !== undefined, "members join a cluster that has an identity");
  const initialMembers = identity.initialMembers.map((member) =>
    names.includes(member.name) ? { ...member, joined: true } : member,
  );
  return { ...identity, initialMembers };
}

/** Creates with POST and not with apply: the server then refuses a name that somebody else took meanwhile, instead of merging. */
async function create<T extends KubeObject>(
  kube: ClusterWrites["kube"],
  resource: Resource<T>,
  draft: Draft<T>,
  signal: AbortSignal,
): Promise<Written> {
  return stored(resource, await kube.create(resource, draft, { signal }));
}

/** Patches only this very peer, and only as it was read. */
async function patchPeer(
  kube: ClusterWrites["kube"],
  { metadata }: EtcdPeer,
  change: object,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const options = { signal, type: "merge" as const, preconditions: { uid, resourceVersion } };
  return stored(ETCD_PEERS, await kube.patch(ETCD_PEERS, { namespace, name }, { metadata: change }, options));
}

/**
 * Deletes only this very object, and only as it was read. A peer made again under the same name is another peer, and may hold a live
 * member's data; what a pod says of itself may be over.
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

/** A transfer of the leadership must be asked of the leader itself. */
function leader(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const endpoint = answering(snapshot, leaderOf(snapshot), identities);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "the leader does not answer at this moment");
  return endpoint;
}

/** Only who says that a downgrade is enabled is asked to cancel it: etcd 3.5 does it, and never answers. */
function teller(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const endpoint = answering(snapshot, enabledDowngrade(snapshot)?.by, identities);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "nobody says any more that a downgrade is enabled");
  return endpoint;
}

/**
 * Changes of membership are asked of the leader, which need not ask another one; of any other member when the leader cannot be
 * reached from here: members pass them on.
 */
function follower(snapshot: ClusterSnapshot, identities: Identities): Endpoint {
  const voters = votersOf(snapshot).filter((member) => isHealthy(snapshot, member));
  const [endpoint] = [leaderOf(snapshot), ...voters].flatMap((member) => answering(snapshot, member, identities) ?? []);
  if (endpoint === undefined) throw new OperatorError("EtcdNotNow", "no voter with a leader answers at this moment");
  return endpoint;
}

function answering(
  snapshot: ClusterSnapshot,
  member: KnownMember | undefined,
  identities: Identities,
): Endpoint | undefined {
  if (member === undefined || snapshot.endpoints.get(member.name)?.is !== "present") return undefined;
  const pod = snapshot.pods.get(member.name);
  const endpoint = pod && endpointOf(pod, identities);
  return endpoint?.is === "present" ? endpoint.value : undefined;
}

/** With these options nothing is changed in another cluster than the recorded one. */
function membership(snapshot: ClusterSnapshot, signal: AbortSignal): CallOptions {
  const recorded = identityOf(snapshot)?.clusterID;
  invariant(recorded !== undefined, "membership changes in a cluster that has an identity");
  return { signal, deadlineMs: MEMBERSHIP_DEADLINE_MS, expectedClusterId: clusterIdFromHex(recorded) };
}

/** A refusal that etcd is known to give while the world moves on is a reason to look again, not a failure. */
async function changed(call: Promise<unknown>): Promise<Written> {
  try {
    await call;
    return { kind: "external" };
  } catch (thrown) {
    if (refusalOf(thrown) === undefined) throw thrown;
    throw new OperatorError("EtcdNotNow", thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
  }
}

/** No cache would ever show it. */
async function unwatched(write: Promise<unknown>): Promise<Written> {
  await write;
  return { kind: "external" };
}

function stored<T extends KubeObject>(resource: Resource<T>, object: T): Written {
  return { kind: "stored", resource, object };
}
