import { etcdContainerOf } from "#api/pod-template/etcd-container.ts";
import { MIN_GRACE_SECONDS } from "#api/pod-template/reserved-ending.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { record } from "#base/json.ts";

// Why does etcd run on for a moment when its pod is to go?
//   The pod leaves the client Service when its deletion is known: to the controller that keeps the Service's endpoints, and then to each
//   node's kube-proxy. etcd stops listening at once. Whoever is led to it in between is refused.
// Who says otherwise in spec.podTemplate is heard: another hook, none (null), or so short a grace period that etcd needs all of it.

/** Time to end in, to hand leadership over and to flush, in seconds; etcd needs one or two. */
export const GRACE_SECONDS = 30;
/**
 * In seconds. kube-proxy changes its rules once a second at most (`minSyncPeriod`), and takes a moment until it has heard, and for the change.
 * Too short: connections are refused. Each restart of a member takes longer by it.
 */
const PAUSE_SECONDS = 2;

/** What etcd's container does before it ends; the grace period begins with it. */
export function lifecycle({ podTemplate }: Pick<EtcdPeerSpec, "podTemplate">) {
  const seconds = podTemplate.spec?.terminationGracePeriodSeconds;
  const isHurried = typeof seconds === "number" && seconds < MIN_GRACE_SECONDS + PAUSE_SECONDS;
  const said = record(etcdContainerOf(podTemplate)?.lifecycle);
  return isHurried || Object.hasOwn(said, "preStop")
    ? {}
    : { lifecycle: { preStop: { sleep: { seconds: PAUSE_SECONDS } } } };
}
