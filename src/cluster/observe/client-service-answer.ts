import { clientServiceName } from "#api/names.ts";
import type { Clock } from "#base/clock.ts";
import type { Observed } from "#base/observed.ts";
import { endpointAt, type Identities } from "#certificates/dial.ts";
import { type KnownMember, knownMembers } from "#cluster/members/members.ts";
import { isChanging } from "#cluster/readiness/change.ts";
import { type ClusterSnapshot, isForming, isPaused } from "#cluster/snapshot.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { isReady } from "#kube/pod.ts";
import { clientAddress, isCalledReady } from "./client-address.ts";

// Why does the operator connect as a client before it reports Ready?
//   After a pod becomes ready, the EndpointSlice controller and kube-proxy on each node have to react before the
//   Service leads to it. By default kube-proxy waits a second between two changes. Nothing in the API reports when it
//   is done. A connection made too early is refused, or its first packet is dropped. etcd's client then waits from one
//   second up to twenty.

/**
 * Longest test of the client Service in one pass, in milliseconds: kube-proxy usually takes less. Shorter: Ready comes
 * a pass later. Longer: a Service that does not work blocks the pass.
 */
const PATIENCE_MS = 3_000;
/**
 * Timeout of the first connection, in milliseconds; doubled for each later one. A dropped packet is not sent again
 * before.
 */
const FIRST_TRY_MS = 250;
/** Longest timeout of one connection, in milliseconds. */
const LONGEST_TRY_MS = 1_000;
/**
 * Pause after the first attempt, in milliseconds; doubled after each later one. A Service without endpoints thus causes
 * few attempts.
 */
const AGAIN_MS = 50;

/**
 * The address to test now, when nothing else keeps the cluster from being Ready. A cluster that is Ready already is not
 * tested.
 */
export function askedAt(snapshot: ClusterSnapshot): string | undefined {
  return isCalledReady(snapshot) || !isWhole(snapshot) ? undefined : clientAddress(snapshot);
}

/**
 * Whether all wanted members serve. Every joined member must be fenced first: that must not wait for the client
 * Service.
 */
function isWhole(snapshot: ClusterSnapshot): boolean {
  if (isForming(snapshot) || isChanging(snapshot)) return false;
  return knownMembers(snapshot)
    .filter(({ isOurs }) => isOurs)
    .every((member) => {
      const pod = snapshot.pods.get(member.name);
      const isServing = member.health.is === "healthy" && pod !== undefined && isReady(pod);
      return isServing && (isPaused(snapshot) || !canBootstrap(snapshot, member));
    });
}

/** Whether the EtcdPeer still has the means to bootstrap. */
function canBootstrap({ peers }: ClusterSnapshot, { id }: KnownMember): boolean {
  return peers.some(({ spec }) => spec.memberID === id && spec.bootstrap !== undefined);
}

/**
 * Connects as a client does: over TLS if members use it, with the Service's own name. @param address of the Service,
 * host and port
 */
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
 * Whether the client Service serves a request; retries for a while.
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
