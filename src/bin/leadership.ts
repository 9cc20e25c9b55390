import { OPERATOR, shardLeaseName } from "#api/names.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { KubeClient } from "#kube/client.ts";
import { Election } from "#kube/lease.ts";
import { LeasePair } from "#kube/lease-pair.ts";
import { groupName } from "#shards/belonging.ts";
import { Group } from "#shards/group.ts";
import { GroupLease } from "#shards/group-lease.ts";
import type { Flags } from "./flags.ts";

/** What decides whether this process may change anything. */
type Leadership = Pick<Election, "mayAct" | "run">;

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
    onRival: rivalTold(namespace, log),
  });
  return new LeasePair(own, cluster);
}

/** The same two leases, held by all processes with as many shards; and the lease of each shard. */
export function shardLeadershipOf(client: KubeClient, flags: Flags, { clock, log }: { clock: Clock; log: Log }) {
  const { namespace, clusterLeaseNamespace, identity, shards } = flags;
  const group = groupName(shards);
  const common = { client, process: identity, name: OPERATOR, clock, log };
  const own = new GroupLease({
    ...common,
    namespace,
    group,
    onRival: (holder) => {
      const advice = `a replica with another number of shards leads; this one, with ${shards}, waits until the last of them has ended`;
      log.info({ name: holder }, advice);
    },
  });
  const cluster = new GroupLease({
    ...common,
    namespace: clusterLeaseNamespace,
    group: `${namespace}/${group}`,
    onRival: rivalTold(namespace, log),
  });
  const electionOf = (shard: number): Election =>
    new Election({ client, namespace, name: shardLeaseName(shard), identity, clock, log });
  return {
    group: new Group(namespace === clusterLeaseNamespace ? [own] : [own, cluster]),
    elections: Array.from({ length: shards }, (_, shard) => electionOf(shard)),
  };
}

function rivalTold(namespace: string, log: Log) {
  return (holder: string): void => {
    if (holder.startsWith(`${namespace}/`)) return; // of this installation: that is what replicas are for
    const advice =
      "an operator that is installed elsewhere leads in this Kubernetes cluster; this one waits: uninstall one";
    log.warn({ name: holder }, advice);
  };
}
