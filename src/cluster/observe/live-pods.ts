import { CLIENT_PORT, clusterSelector, ETCD_CONTAINER, METRICS_PORT, selectorText } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { absent, type Observed } from "#base/observed.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import { type KnownMember, memberById, ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf, isFounder } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { isHarmless } from "#cluster/touched.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { type EndpointStatus, hexOf, type MemberId } from "#etcd/types.ts";
import type { KubeClient } from "#kube/client.ts";
import { PODS, type Pod } from "#kube/kinds.ts";
import { notSeenYet, outOfDate } from "#kube/out-of-date.ts";
import { currentPods, dialAddress, isReady } from "#kube/pod.ts";
import { MEMBER_DEADLINE_MS } from "./member-answer.ts";

// Live reads of pods and members right before a step that depends on them. A cache may be stale, and an observation as
// old as the longest pass.

type Kube = Pick<KubeClient, "list">;

/** The current pod of each member that has one, by peer name. */
async function livePods(
  kube: Kube,
  { cluster }: ClusterSnapshot,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Pod>> {
  const { namespace, name } = cluster.metadata;
  const query = { namespace, labelSelector: selectorText(clusterSelector(name)) };
  return currentPods((await kube.list(PODS, query, { signal })).items);
}

/**
 * Before a rollback: the member still has the pod that the cache shows. If the cache shows none, or one without an
 * address, a different pod without an address is no reason to stop. A pod that fails to start may be recreated often.
 */
export async function needPodAsSeen(
  kube: Kube,
  snapshot: ClusterSnapshot,
  { name }: { name: string },
  signal: AbortSignal,
): Promise<void> {
  const cached = snapshot.pods.get(name);
  const live = (await livePods(kube, snapshot, signal)).get(name);
  const [before, now] = [cached?.metadata, live?.metadata];
  if (now?.uid === before?.uid && now?.resourceVersion === before?.resourceVersion) return;
  if (!mayBeAsked(cached) && !mayBeAsked(live)) return;
  if (before !== undefined) throw outOfDate(PODS, before, `the pod of ${name} has changed`);
  throw notSeenYet(`pod ${now?.name} exists`);
}

function mayBeAsked(pod: Pod | undefined): boolean {
  return pod !== undefined && (isReady(pod) || dialAddress(pod, ETCD_CONTAINER, CLIENT_PORT) !== undefined);
}

/**
 * Before a removal: queries the silent member again, in its current pod and at both ports. It may just have come back
 * while the cache shows its previous pod: if it answers, the next observation decides again. A member that answered
 * before is removed for another reason.
 */
export async function needSilence(
  { kube, etcd, identities }: Asks,
  snapshot: ClusterSnapshot,
  { name, id }: { name: string; id: MemberId },
  signal: AbortSignal,
): Promise<void> {
  const recorded = identityOf(snapshot)?.clusterID;
  const isOurs = (answer: Observed<EndpointStatus>) =>
    answer.is === "present" && hexOf(answer.value.clusterId) === recorded;
  if (isOurs(snapshot.endpoints.get(name) ?? absent) || snapshot.unpublished.get(name) === id) return;
  const pod = (await livePods(kube, snapshot, signal)).get(name);
  const endpoint = pod && endpointOf(pod, identities);
  if (pod === undefined || endpoint?.is !== "present") return;
  const options = { signal, deadlineMs: MEMBER_DEADLINE_MS };
  const metrics = isFounder(snapshot.cluster, hexOf(id)) ? undefined : dialAddress(pod, ETCD_CONTAINER, METRICS_PORT);
  const [status, health] = await Promise.all([
    etcd.probe(endpoint.value, options),
    metrics === undefined ? absent : etcd.health(metrics, options),
  ]);
  if (!isOurs(status) && !(health.is === "present" && health.value === id)) return;
  const [cached, live] = [snapshot.pods.get(name)?.metadata, pod.metadata];
  if (cached === undefined) throw notSeenYet(`${name} answers, in pod ${live.name}`);
  if (cached.uid !== live.uid || cached.resourceVersion !== live.resourceVersion)
    throw outOfDate(PODS, cached, `${name} answers, in pod ${live.name}`);
  throw new OperatorError("EtcdNotNow", `${name} answers again`);
}

interface Asks {
  readonly kube: Kube;
  readonly etcd: Pick<EtcdClient, "probe" | "health">;
  readonly identities: Identities;
}

/**
 * Before a restart: queries the members that the restart relies on again, in parallel, and the API server for their
 * pods. They must still participate in the quorum. A pod in which no etcd runs is recreated regardless.
 */
export async function needOthers(
  asks: Asks,
  snapshot: ClusterSnapshot,
  step: Extract<ClusterStep, { do: "restartPod" }>,
  signal: AbortSignal,
): Promise<void> {
  if (isHarmless(snapshot, step)) return;
  const others = ownVoters(snapshot).filter((member) => member.name !== step.name && member.participatesInQuorum);
  if (others.length === 0) return;
  const [live, now] = await Promise.all([
    livePods(asks.kube, snapshot, signal),
    askedAgain(asks, snapshot, others, signal),
  ]);
  for (const { name } of others) {
    const cached = snapshot.pods.get(name)?.metadata;
    const by = live.get(name)?.metadata;
    if (cached === undefined || (by?.uid === cached.uid && by.deletionTimestamp === cached.deletionTimestamp)) continue;
    throw outOfDate(PODS, cached, `the pod of ${name} is gone, or being deleted`);
  }
  const missing = others.find(({ id }) => memberById(now, id)?.participatesInQuorum !== true);
  // A conflict, like any change since the observation: the next one follows at once.
  if (missing !== undefined)
    throw new OperatorError("KubeConflict", `${missing.name} no longer participates in the quorum`);
}

/** The snapshot with new answers of these members, queried in the same way as before. */
async function askedAgain(
  { etcd, identities }: Asks,
  snapshot: ClusterSnapshot,
  members: readonly KnownMember[],
  signal: AbortSignal,
): Promise<ClusterSnapshot> {
  const endpoints = new Map(snapshot.endpoints);
  const unpublished = new Map(snapshot.unpublished);
  const options = { signal, deadlineMs: MEMBER_DEADLINE_MS };
  const ask = async ({ name }: KnownMember) => {
    const pod = snapshot.pods.get(name);
    if (unpublished.delete(name)) {
      const metrics = pod && dialAddress(pod, ETCD_CONTAINER, METRICS_PORT);
      const health = metrics === undefined ? absent : await etcd.health(metrics, options);
      if (health.is === "present") unpublished.set(name, health.value);
      return;
    }
    const endpoint = pod === undefined ? absent : endpointOf(pod, identities);
    endpoints.set(name, endpoint.is === "present" ? await etcd.probe(endpoint.value, options) : endpoint);
  };
  await Promise.all(members.map(ask));
  return { ...snapshot, endpoints, unpublished };
}
