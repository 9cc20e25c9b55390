import { clientServiceName } from "#api/names.ts";
import type { Clock } from "#base/clock.ts";
import type { Observed } from "#base/observed.ts";
import { endpointAt, type Identities } from "#certificates/dial.ts";
import { clientAddress, isCalledReady } from "#cluster/client-address.ts";
import { isChanging } from "#cluster/conditions/change.ts";
import { isHealthy, type KnownMember, knownMembers } from "#cluster/members.ts";
import { type ClusterSnapshot, isForming, isPaused } from "#cluster/snapshot.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { isReady } from "#kube/pod.ts";

// Why does the operator connect as a client does, before it calls a cluster Ready?
//   From the kubelet's word that a pod is ready until the Service leads there, two others have to hear of it: the controller that
//   writes EndpointSlices, and kube-proxy on each node, which lets a second pass between two changes unless it is told otherwise.
//   Nothing in the API tells when they are done. A connection that is made too early is refused, or its first packet is dropped: etcd's
//   client then waits a second, or up to twenty.

/** Longest that one look waits for it, in milliseconds: more than kube-proxy takes as a rule. */
const PATIENCE_MS = 3_000;
/** The first connection gets so long, each later one twice as long, in milliseconds: a packet that was dropped is not sent again before. */
const FIRST_TRY_MS = 250;
/** The longest try, in milliseconds. */
const LONGEST_TRY_MS = 1_000;
/** Pause between the first two tries, in milliseconds; each later one is twice as long: a Service that leads nowhere costs little. */
const AGAIN_MS = 50;

/** Where to ask, if now is the time to: nothing else keeps the cluster from being Ready. One that is Ready already is not asked. */
export function askedAt(snapshot: ClusterSnapshot): string | undefined {
  return isCalledReady(snapshot) || !isWhole(snapshot) ? undefined : clientAddress(snapshot);
}

/** Whether the members that are wanted serve. Who has joined is fenced first, which is not to wait until somebody is served. */
function isWhole(snapshot: ClusterSnapshot): boolean {
  if (isForming(snapshot) || isChanging(snapshot)) return false;
  return knownMembers(snapshot)
    .filter(({ isOurs }) => isOurs)
    .every((member) => {
      const pod = snapshot.pods.get(member.name);
      const isServing = isHealthy(snapshot, member) && pod !== undefined && isReady(pod);
      return isServing && (isPaused(snapshot) || !canBootstrap(snapshot, member));
    });
}

/** Whether its EtcdPeer still has the means to bootstrap. */
function canBootstrap({ peers }: ClusterSnapshot, { id }: KnownMember): boolean {
  return peers.some(({ spec }) => spec.memberID === id && spec.bootstrap !== undefined);
}

/** The same as a client asks there: over TLS if the members speak it, by the Service's own name. @param address of the Service, host and port */
export function serviceEndpoint(
  { cluster, pods }: ClusterSnapshot,
  address: string,
  identities: Identities,
): Observed<Endpoint> {
  const { namespace, name } = cluster.metadata;
  const [pod] = pods.values();
  return endpointAt(address, pod, `${clientServiceName(name)}.${namespace}.svc`, identities);
}

/**
 * Whether a client that connects through the client Service is served; waits a while for it.
 * @throws OperatorError Cancelled
 */
export async function clientServiceAnswer(
  { etcd, clock }: { readonly etcd: EtcdClient; readonly clock: Clock },
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<Observed<true>> {
  const endMs = clock.monotonicMs() + PATIENCE_MS;
  for (let tries = 0; ; tries++) {
    const deadlineMs = Math.min(FIRST_TRY_MS * 2 ** tries, LONGEST_TRY_MS);
    const answer = await etcd.serves(endpoint, { signal, deadlineMs });
    const pauseMs = AGAIN_MS * 2 ** tries;
    if (answer.is === "present" || clock.monotonicMs() + pauseMs >= endMs) return answer;
    await clock.sleep(pauseMs, signal);
  }
}
