import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import * as guards from "#cluster/guards/ownership.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { born } from "#kit/cluster.ts";
import { certified, issuing, ownCA, STEPS, settled } from "#kit/cluster-steps.ts";
import { withMade } from "#kit/cluster-tls.ts";
import { type GuardCase, promised } from "#kit/guard-promises.ts";
import type { NetworkPolicy, PodDisruptionBudget, Service } from "#kube/kinds.ts";

const theirSecret = withMade(certified, { peer: { isOurs: false } });

function disowned<T extends EtcdPeer | NetworkPolicy | Service | PodDisruptionBudget>(object: T): T {
  return born({ ...object, metadata: { ...object.metadata, ownerReferences: [] } } as never) as T;
}

promised(guards, {
  "own-only": [
    { name: "the cluster's own Secret is written", given: certified, step: STEPS.spreadTrust, is: "allowed" },
    { name: "somebody else's is not", given: theirSecret, step: issuing(theirSecret), is: "forbidden" },
    {
      name: "nor that of an earlier cluster of the name",
      given: certified,
      step: issuing(certified, { ownerUid: "earlier" }),
      is: "forbidden",
    },
    {
      name: "one that is not there may be made",
      given: certified,
      step: { do: "issueLeaf", purpose: "peer", authority: ownCA, facts: undefined },
      is: "allowed",
    },
    {
      name: "an authority of somebody else is not followed",
      given: certified,
      step: { do: "rotateAuthority", side: "peer", phase: "add", facts: { ...ownCA, ownerUid: undefined } },
      is: "forbidden",
    },
    ...(["markRemoval", "releaseClaim", "deletePeer"] as const).map(
      (kind): GuardCase => ({
        name: `${kind} is not for a peer that another owner manages`,
        given: settled,
        step: { ...STEPS[kind], peer: disowned(settled.peers[2]!) } as ClusterStep,
        is: "forbidden",
      }),
    ),
    {
      name: "a peer that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replacePeer, live: disowned(settled.peers[0]!) },
      is: "forbidden",
    },
    {
      name: "a Service that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replaceService, live: disowned<Service>(settled.clientService!) },
      is: "forbidden",
    },
    {
      name: "a budget that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replaceBudget, live: disowned<PodDisruptionBudget>(settled.budget!) },
      is: "forbidden",
    },
    {
      name: "nor is it deleted",
      given: settled,
      step: { ...STEPS.deleteBudget, live: disowned<PodDisruptionBudget>(settled.budget!) },
      is: "forbidden",
    },
    {
      name: "a NetworkPolicy that another owner manages is not replaced",
      given: settled,
      step: { ...STEPS.replaceNetworkPolicy, live: disowned(STEPS.replaceNetworkPolicy.live) },
      is: "forbidden",
    },
    {
      name: "and is not deleted",
      given: settled,
      step: { ...STEPS.deleteNetworkPolicy, live: disowned(STEPS.deleteNetworkPolicy.live) },
      is: "forbidden",
    },
    ...Object.values(STEPS).map(
      (step): GuardCase => ({
        name: `${step.do} is for what is the cluster's own`,
        given: settled,
        step,
        is: "allowed",
      }),
    ),
  ],
  // Every kind of step, when nobody knows who is a member.
});
