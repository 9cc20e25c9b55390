import { etcdContainerOf } from "#api/pod-template/etcd-container.ts";
import { MIN_GRACE_SECONDS } from "#api/pod-template/reserved-ending.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { record } from "#base/json.ts";

// Why does etcd run on for a moment when its pod is deleted?
//   The deletion removes the pod from the client Service in two steps: first in the endpoints, then in each node's
//   kube-proxy. But etcd stops listening at once. A client that is routed to it in between is refused.
// spec.podTemplate may override this with another hook or with none (null). A grace period so short that etcd needs all
// of it disables the pause, too.

/** Grace period in seconds, for transferring leadership and flushing; etcd needs one or two. */
export const GRACE_SECONDS = 30;
/**
 * Pause before etcd stops, in seconds. kube-proxy applies changes at most once a second (`minSyncPeriod`), after a
 * short delay. Shorter, and connections are refused; longer, and each restart of a member takes longer.
 */
const PAUSE_SECONDS = 2;

/** The preStop hook of etcd's container. The grace period includes it. */
export function lifecycle({ podTemplate }: Pick<EtcdPeerSpec, "podTemplate">) {
  const seconds = podTemplate.spec?.terminationGracePeriodSeconds;
  const isGraceTooShort = typeof seconds === "number" && seconds < MIN_GRACE_SECONDS + PAUSE_SECONDS;
  const lifecycleOfUser = record(etcdContainerOf(podTemplate)?.lifecycle);
  return isGraceTooShort || Object.hasOwn(lifecycleOfUser, "preStop")
    ? {}
    : { lifecycle: { preStop: { sleep: { seconds: PAUSE_SECONDS } } } };
}
