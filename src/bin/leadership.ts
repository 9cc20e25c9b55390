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

/** Lease or leases that permit this process to make changes. */
type Leadership = Pick<Election, "mayAct" | "run">;

/** Lease of this installation together with that of the whole Kubernetes cluster: see kube/lease-pair.ts. */
export function leadershipOf(client: KubeClient, flags: Flags, { clock, log }: { clock: Clock; log: Log }): Leadership {
  const { operatorNamespace: namespace, clusterLeaseNamespace, identity } = flags;
  const own = new Election({ client, namespace, name: OPERATOR, identity, clock, log });
  if (namespace === clusterLeaseNamespace) return own; // Both would be the same lease.
  const cluster = new Election({
    client,
    namespace: clusterLeaseNamespace,
    name: OPERATOR,
    identity: `${namespace}/${identity}`,
    clock,
    log,
    onRival: logRival(namespace, log),
  });
  return new LeasePair(own, cluster);
}

/** These two leases, shared by all processes with the same number of shards, and a lease for each shard. */
export function shardLeadershipOf(client: KubeClient, flags: Flags, { clock, log }: { clock: Clock; log: Log }) {
  const { operatorNamespace: namespace, clusterLeaseNamespace, identity, shards } = flags;
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
    onRival: logRival(namespace, log),
  });
  const electionOf = (shard: number): Election =>
    new Election({ client, namespace, name: shardLeaseName(shard), identity, clock, log });
  return {
    group: new Group(namespace === clusterLeaseNamespace ? [own] : [own, cluster]),
    elections: Array.from({ length: shards }, (_, shard) => electionOf(shard)),
  };
}

function logRival(namespace: string, log: Log) {
  return (holder: string): void => {
    if (holder.startsWith(`${namespace}/`)) return; // A replica of this installation is no rival.
    const advice =
      "an operator of another installation leads in this Kubernetes cluster, so this one waits; uninstall one of them";
    log.warn({ name: holder }, advice);
  };
}
