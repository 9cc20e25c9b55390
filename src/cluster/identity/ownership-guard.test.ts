import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { born } from "#kit/snapshots/cluster.ts";
import { certified, issuing, ownCA, STEPS, settled } from "#kit/snapshots/cluster-steps.ts";
import { withMade } from "#kit/snapshots/cluster-tls.ts";
import { type GuardCase, promised } from "#kit/tables/guard-promises.ts";
import type { NetworkPolicy, PodDisruptionBudget, Service } from "#kube/kinds.ts";
import * as guards from "./ownership-guard.ts";

const theirSecret = withMade(certified, { peer: { isOurs: false } });

function disowned<T extends EtcdPeer | NetworkPolicy | Service | PodDisruptionBudget>(object: T): T {
  return born({ ...object, metadata: { ...object.metadata, ownerReferences: [] } } as never) as T;
}

promised(guards, {
  "own-only": [
    { name: "the cluster's own Secret may be written", given: certified, step: STEPS.spreadTrust, is: "allowed" },
    {
      name: "a Secret with another owner is not written",
      given: theirSecret,
      step: issuing(theirSecret),
      is: "forbidden",
    },
    {
      name: "a Secret of an earlier EtcdCluster with the same name is not written",
      given: certified,
      step: issuing(certified, { ownerUid: "earlier" }),
      is: "forbidden",
    },
    {
      name: "a missing Secret may be created",
      given: certified,
      step: { do: "issueLeaf", purpose: "peer", authority: ownCA, facts: undefined },
      is: "allowed",
    },
    {
      name: "a CA with another owner is not rotated",
      given: certified,
      step: { do: "rotateAuthority", side: "peer", phase: "add", facts: { ...ownCA, ownerUid: undefined } },
      is: "forbidden",
    },
    ...(["markRemoval", "releaseClaim", "deletePeer"] as const).map(
      (kind): GuardCase => ({
        name: `${kind} is refused for an EtcdPeer with another owner`,
        given: settled,
        step: { ...STEPS[kind], peer: disowned(settled.peers[2]!) } as ClusterStep,
        is: "forbidden",
      }),
    ),
    {
      name: "an EtcdPeer with another owner is not replaced",
      given: settled,
      step: { ...STEPS.replacePeer, live: disowned(settled.peers[0]!) },
      is: "forbidden",
    },
    {
      name: "a Service with another owner is not replaced",
      given: settled,
      step: { ...STEPS.replaceService, live: disowned<Service>(settled.clientService!) },
      is: "forbidden",
    },
    {
      name: "a PodDisruptionBudget with another owner is not replaced",
      given: settled,
      step: { ...STEPS.replaceBudget, live: disowned<PodDisruptionBudget>(settled.budget!) },
      is: "forbidden",
    },
    {
      name: "a PodDisruptionBudget with another owner is not deleted",
      given: settled,
      step: { ...STEPS.deleteBudget, live: disowned<PodDisruptionBudget>(settled.budget!) },
      is: "forbidden",
    },
    {
      name: "a NetworkPolicy with another owner is not replaced",
      given: settled,
      step: { ...STEPS.replaceNetworkPolicy, live: disowned(STEPS.replaceNetworkPolicy.live) },
      is: "forbidden",
    },
    {
      name: "a NetworkPolicy with another owner is not deleted",
      given: settled,
      step: { ...STEPS.deleteNetworkPolicy, live: disowned(STEPS.deleteNetworkPolicy.live) },
      is: "forbidden",
    },
    ...(["replaceMonitor", "deleteMonitor", "replaceTrustMap", "replaceRequest"] as const).map(
      (kind): GuardCase => ({
        name: `${kind} is refused for an object with another owner`,
        given: settled,
        step: { ...STEPS[kind], live: disowned(STEPS[kind].live as NetworkPolicy) } as ClusterStep,
        is: "forbidden",
      }),
    ),
    ...(["spreadTrust", "publishClientSecret"] as const).map(
      (kind): GuardCase => ({
        name: `${kind} is refused for a Secret of an earlier EtcdCluster with the same name`,
        given: certified,
        step: { ...STEPS[kind], facts: { ...STEPS[kind].facts!, ownerUid: "earlier" } },
        is: "forbidden",
      }),
    ),
    ...Object.values(STEPS).map(
      (step): GuardCase => ({
        name: `${step.do} is allowed for the cluster's own objects`,
        given: settled,
        step,
        is: "allowed",
      }),
    ),
  ],
});
