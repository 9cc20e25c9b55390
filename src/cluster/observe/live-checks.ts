import { CLAIM_MEMBER_ID_ANNOTATION, clusterSelector, selectorText, WAIVE_ANNOTATION } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { OperatorError } from "#base/error.ts";
import { isSameData } from "#base/hash.ts";
import { identityOnClaim, keptClaims } from "#cluster/identity/desired/identity.ts";
import { ownVoters, votersOf } from "#cluster/members/members.ts";
import { begunAtMs, type ClusterSnapshot } from "#cluster/snapshot.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { previousTls } from "#cluster-tls/effective/previous.ts";
import { seen } from "#cluster-tls/read/usable.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, PERSISTENT_VOLUME_CLAIMS, SECRETS } from "#kube/kinds.ts";
import { liveAt, liveOf } from "#kube/live.ts";
import { notSeenYet, outOfDate } from "#kube/out-of-date.ts";

// Live checks right before a write that cannot be undone. The snapshot may be stale, and not every write has a
// precondition that would detect it. A check throws when something has changed; the next observation decides again.

type Kube = Pick<KubeClient, "get">;

/**
 * Age up to which a cluster counts as just created, in milliseconds: none of its EtcdPeers has been deleted yet.
 * Longer: a recreated EtcdPeer could bootstrap without a live check. Shorter: more requests.
 */
const YOUNG_MS = 30_000;

/**
 * A create has no precondition that would detect a stale cache. So a second EtcdPeer that may bootstrap needs
 * confirmation from the API server that its member never joined.
 * The first one is recognised by the age of the cluster and by the missing claim, and costs no request.
 */
export async function needNotJoined(
  kube: Kube,
  snapshot: ClusterSnapshot,
  peer: Draft<EtcdPeer>,
  signal: AbortSignal,
): Promise<void> {
  if (peer.spec?.bootstrap?.initialClusterState !== "New") return;
  const { name } = snapshot.cluster.metadata;
  // A Service may be recreated, and Ready may change: neither makes an old cluster young.
  const ready = snapshot.cluster.status?.conditions?.find(({ type }) => type === "Ready");
  const readyAtMs = ready === undefined ? Infinity : Date.parse(ready.lastTransitionTime);
  const ageMs = snapshot.takenAtMs - Math.min(begunAtMs(snapshot), readyAtMs);
  if (
    ageMs >= -YOUNG_MS &&
    ageMs < YOUNG_MS &&
    !snapshot.claims.some(({ metadata }) => metadata.name === peer.metadata.name)
  )
    return;
  const live = await liveOf(kube, ETCD_CLUSTERS, snapshot.cluster, signal);
  const member = live?.status?.identity?.initialMembers.find((initial) => initial.name === peer.metadata.name);
  if (member?.joined === false) return;
  const what = member === undefined ? `EtcdCluster ${name} has changed` : `${peer.metadata.name} has joined`;
  throw outOfDate(ETCD_CLUSTERS, snapshot.cluster.metadata, what);
}

/**
 * A write to another object has no precondition on the EtcdCluster. So a live read checks that the EtcdCluster still
 * asks for it. An edit or waiver may have been withdrawn, or the cluster paused or deleted.
 */
export async function needAsked(kube: Kube, { cluster }: ClusterSnapshot, signal: AbortSignal): Promise<void> {
  const { name, generation, annotations } = cluster.metadata;
  const live = await liveOf(kube, ETCD_CLUSTERS, cluster, signal);
  const isAsSeen = live?.metadata.generation === generation && live?.metadata.deletionTimestamp === undefined;
  // The generation does not count annotations.
  const isWaivedAsSeen = live?.metadata.annotations?.[WAIVE_ANNOTATION] === annotations?.[WAIVE_ANNOTATION];
  if (live !== undefined && isAsSeen && isWaivedAsSeen && pausedBy(live) === undefined) return;
  throw outOfDate(ETCD_CLUSTERS, cluster.metadata, `EtcdCluster ${name} has changed`);
}

/**
 * The recorded identity is permanent. It comes from the claims, or from their absence, which a cache cannot prove. So
 * the API server is asked for all claims in one request: once in a cluster's life.
 */
export async function needKeptClaims(
  kube: Pick<KubeClient, "list">,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = snapshot.cluster.metadata;
  const labelSelector = selectorText(clusterSelector(name));
  const { items } = await kube.list(PERSISTENT_VOLUME_CLAIMS, { namespace, labelSelector }, { signal });
  const known = keptClaims(snapshot);
  for (const claim of known) {
    const live = items.find(({ metadata }) => metadata.name === claim.metadata.name);
    if (live !== undefined && isSameData(identityOnClaim(live), identityOnClaim(claim))) continue;
    throw outOfDate(
      PERSISTENT_VOLUME_CLAIMS,
      claim.metadata,
      `claim ${claim.metadata.name} is gone, or its annotations have changed`,
    );
  }
  const names = known.map(({ metadata }) => metadata.name);
  const unseen = keptClaims({ ...snapshot, claims: items }).find(({ metadata }) => !names.includes(metadata.name));
  if (unseen !== undefined) throw notSeenYet(`claim ${unseen.metadata.name} exists`);
}

/**
 * A removal is final. So the EtcdCluster is read again: a person may have asked for more members, paused it, or
 * disabled replacement. A removed voter takes a copy of the data with it: the other claims must be as the cache shows
 * them.
 */
export async function needRemoval(
  kube: Kube,
  snapshot: ClusterSnapshot,
  { id }: { id: MemberId },
  signal: AbortSignal,
): Promise<void> {
  await needAsked(kube, snapshot, signal);
  if (votersOf(snapshot).some((member) => member.id === hexOf(id))) await needClaimsAsSeen(kube, snapshot, signal);
}

/**
 * Asks the API server whether the claim of a lost member is really gone: a cache drops a claim that loses its labels.
 */
export async function needClaimGone(
  kube: Kube,
  snapshot: ClusterSnapshot,
  { name, id }: { name: string; id: MemberId },
  signal: AbortSignal,
): Promise<void> {
  if (snapshot.claims.some(({ metadata }) => metadata.name === name)) return;
  const { namespace } = snapshot.cluster.metadata;
  const claim = await liveAt(kube, PERSISTENT_VOLUME_CLAIMS, { namespace, name }, signal);
  if (claim?.metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION] !== hexOf(id)) return;
  throw new OperatorError("KubeConflict", `claim ${name} exists; the cache does not have it`);
}

/**
 * Asks the API server for the claim of each voter. A claim that is being deleted is lost when its pod stops, or leaves
 * the others without the data that they count on. The guard has judged claims that the cache shows as being deleted;
 * voters not added by the operator have no claim here.
 */
export async function needClaimsAsSeen(kube: Kube, snapshot: ClusterSnapshot, signal: AbortSignal): Promise<void> {
  const { namespace } = snapshot.cluster.metadata;
  await Promise.all(
    ownVoters(snapshot).map(async ({ name, id }) => {
      const cached = snapshot.claims.find(({ metadata }) => metadata.name === name)?.metadata;
      if (cached?.deletionTimestamp !== undefined) return;
      const live = (await liveAt(kube, PERSISTENT_VOLUME_CLAIMS, { namespace, name }, signal))?.metadata;
      const isGoing = live?.deletionTimestamp !== undefined;
      const isOwn = live?.annotations?.[CLAIM_MEMBER_ID_ANNOTATION] === id;
      if (cached === undefined ? !(isOwn && isGoing) : live?.uid === cached.uid && !isGoing) return;
      if (cached !== undefined)
        throw outOfDate(PERSISTENT_VOLUME_CLAIMS, cached, `claim ${name} is gone, or being deleted`);
      throw new OperatorError("KubeConflict", `claim ${name}, which the cache does not have, is being deleted`);
    }),
  );
}

/**
 * No watch reports a change of a Secret, and at rest it is read only occasionally. A removal or restart may depend on
 * the peer certificates: they must be those of the decision.
 */
export async function needShownAsSeen(kube: Kube, snapshot: ClusterSnapshot, signal: AbortSignal): Promise<void> {
  const managed = effectiveTls(snapshot);
  const shown = [managed, previousTls(managed)].flatMap((view) => (view && seen(view, "peer")) ?? []);
  for (const { secretName: name, uid, resourceVersion } of shown) {
    const { namespace } = snapshot.cluster.metadata;
    const live = (await liveAt(kube, SECRETS, { namespace, name }, signal))?.metadata;
    if (live?.uid === uid && live.resourceVersion === resourceVersion) continue;
    throw new OperatorError("KubeConflict", `Secret ${name} with the peer certificates has changed since it was read`);
  }
}
