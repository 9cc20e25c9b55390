import { OPERATOR } from "#api/names.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { KubeClient } from "#kube/client.ts";
import { Election } from "#kube/lease.ts";
import { LeasePair } from "#kube/lease-pair.ts";
import type { Flags } from "./flags.ts";

/** What decides whether this process may change anything. */
export type Leadership = Pick<Election, "mayAct" | "run">;

/** The lease of the whole Kubernetes cluster, and with it the one of this installation: see kube/lease-pair.ts. */
export function leadershipOf(client: KubeClient, flags: Flags, { clock, log }: { clock: Clock; log: Log }): Leadership {
  const { namespace, clusterLeaseNamespace, identity } = flags;
  const own = new Election({ client, namespace, name: OPERATOR, identity, clock, log });
  if (namespace === clusterLeaseNamespace) return own; // The two would be one and the same lease.
  const cluster = new Election({
    client,
    namespace: clusterLeaseNamespace,
    name: OPERATOR,
    identity: `${namespace}/${identity}`,
    clock,
    log,
    onRival: (holder) => {
      if (holder.startsWith(`${namespace}/`)) return; // of this installation: that is what replicas are for
      const advice =
        "an operator that is installed elsewhere leads in this Kubernetes cluster; this one waits: uninstall one";
      log.warn({ name: holder }, advice);
    },
  });
  return new LeasePair(own, cluster);
}
