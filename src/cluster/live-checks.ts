import { CLAIM_MEMBER_ID_ANNOTATION, clusterSelector, selectorText, WAIVE_ANNOTATION } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { OperatorError } from "#base/error.ts";
import { isSameData } from "#base/hash.ts";
import { formerTls } from "#cluster/certificates/former.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { seen } from "#cluster/certificates/usable.ts";
import { keptClaims, toldBy } from "#cluster/desired/identity.ts";
import { ownVoters, votersOf } from "#cluster/members.ts";
import { begunAtMs, type ClusterSnapshot } from "#cluster/snapshot.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, PERSISTENT_VOLUME_CLAIMS, SECRETS } from "#kube/kinds.ts";
import { liveAt, liveOf } from "#kube/live.ts";
import { notSeenYet, outOfDate } from "#kube/out-of-date.ts";

// What is asked once more, live, right before a write that cannot be taken back: a snapshot may be older than the world, and not
// every write has a precondition that would tell. A check throws when the world has moved on; the next look decides anew.

type Kube = Pick<KubeClient, "get">;

/** So long after it was begun, in milliseconds, a cluster is just being formed: nobody has deleted an EtcdPeer of it yet. */
const YOUNG_MS = 30_000;

/**
 * A create has no precondition that could tell that the cache is behind. So an EtcdPeer that may bootstrap is made a second time
 * only after the API server itself has said that its member never joined. The first time is known by when the cluster was begun and
 * by a claim that is not there yet, and costs no request.
 */
export async function needNotJoined(
  kube: Kube,
  snapshot: ClusterSnapshot,
  peer: Draft<EtcdPeer>,
  signal: AbortSignal,
): Promise<void> {
  if (peer.spec?.bootstrap?.initialClusterState !== "New") return;
  const { name } = snapshot.cluster.metadata;
  // A Service may be made anew, and Ready may come and go: neither makes an old cluster young.
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
 * What is done to something else because the EtcdCluster asks for it has no precondition that would tell that it asks no more: whoever has just taken
 * an edit or a waiver back, paused the cluster, or deleted it, is heard.
 */
export async function needAsked(kube: Kube, { cluster }: ClusterSnapshot, signal: AbortSignal): Promise<void> {
  const { name, generation, annotations } = cluster.metadata;
  const live = await liveOf(kube, ETCD_CLUSTERS, cluster, signal);
  const isAsSeen = live?.metadata.generation === generation && live?.metadata.deletionTimestamp === undefined;
  // No generation counts annotations.
  const isWaivedAsSeen = live?.metadata.annotations?.[WAIVE_ANNOTATION] === annotations?.[WAIVE_ANNOTATION];
  if (live !== undefined && isAsSeen && isWaivedAsSeen && pausedBy(live) === undefined) return;
  throw outOfDate(ETCD_CLUSTERS, cluster.metadata, `EtcdCluster ${name} has changed`);
}

/**
 * Who the cluster is stands on record for good: it comes from what its claims tell, or from that there are none, and a cache alone knows neither. So the
 * API server is asked which claims there are and what they tell, in one request: once in a cluster's life.
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
    if (live !== undefined && isSameData(toldBy(live), toldBy(claim))) continue;
    throw outOfDate(
      PERSISTENT_VOLUME_CLAIMS,
      claim.metadata,
      `claim ${claim.metadata.name} is gone, or tells otherwise`,
    );
  }
  const names = known.map(({ metadata }) => metadata.name);
  const unseen = keptClaims({ ...snapshot, claims: items }).find(({ metadata }) => !names.includes(metadata.name));
  if (unseen !== undefined) throw notSeenYet(`claim ${unseen.metadata.name} is there`);
}

/**
 * Nobody takes a removal back. Whether the cluster is as it was when that was decided is asked once more: people may have asked for more members, paused
 * it, or said that nobody is given up. And a voter takes a copy of the data with it: whether the others' copies are there as the cache shows them, by
 * which it was chosen who goes.
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

/** Asks the API server whether the claim is really gone whose loss made its member a lost one: a cache may have lost it with its labels. */
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
  throw new OperatorError("KubeConflict", `claim ${name} is there; the cache does not show it`);
}

/**
 * Asks the API server for the claim of every voter of ours, whether or not the cache knows it: what is on one that is being deleted goes with the pod
 * that is about to be stopped, or is what the others were counted on for. Whom the cache shows as dying the guard has weighed. Of a voter that a person
 * has added there is none, and its name may be anything.
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
      if (cached !== undefined) throw outOfDate(PERSISTENT_VOLUME_CLAIMS, cached, `claim ${name} is gone, or going`);
      throw new OperatorError("KubeConflict", `claim ${name}, which no cache knows, is being deleted`);
    }),
  );
}

/**
 * Nothing tells when a Secret changes, and at rest it is read only now and then. Whoever is given up or restarted may be so for what members
 * show to each other: that is to be what it was when the step was decided.
 */
export async function needShownAsSeen(kube: Kube, given: ClusterSnapshot, signal: AbortSignal): Promise<void> {
  const kept = keptTls(given);
  const shown = [kept, formerTls(kept)].flatMap((view) => (view && seen(view, "peer")) ?? []);
  for (const { secretName: name, uid, resourceVersion } of shown) {
    const { namespace } = given.cluster.metadata;
    const live = (await liveAt(kube, SECRETS, { namespace, name }, signal))?.metadata;
    if (live?.uid === uid && live.resourceVersion === resourceVersion) continue;
    throw new OperatorError(
      "KubeConflict",
      `Secret ${name}, what members show to each other, has changed since it was looked at`,
    );
  }
}
