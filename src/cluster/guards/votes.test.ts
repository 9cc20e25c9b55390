import * as guards from "#cluster/guards/votes.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { pod, withArrival, withRemoval } from "#kit/cluster.ts";
import { identity, learner, lost, m1, peerOf, STEPS, settled } from "#kit/cluster-steps.ts";
import { promised } from "#kit/guard-promises.ts";
import type { Pod } from "#kube/kinds.ts";

function replacing(snapshot: ClusterSnapshot): ClusterStep {
  return { do: "markRemoval", peer: peerOf(snapshot, "my-etcd-1"), removal: "replacement" };
}

/** The snapshot with this pod, or none, for the member that joins. */
function withPod(snapshot: ClusterSnapshot, its: Pod | undefined): ClusterSnapshot {
  const others = [...snapshot.pods].filter(([name]) => name !== learner.name);
  return { ...snapshot, pods: new Map(its === undefined ? others : [...others, [learner.name, its]]) };
}

promised(guards, {
  "fence-before-vote": [
    {
      name: "who could bootstrap gets no vote",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who may only restart gets a vote",
      given: withArrival(settled, "my-etcd-3", "synced"),
      step: STEPS.promote,
      is: "allowed",
    },
    {
      name: "whose running pod could still bootstrap gets no vote",
      given: withPod(withArrival(settled, "my-etcd-3", "synced"), pod("my-etcd-3", { ready: true, fenced: false })),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who has no pod gets no vote",
      given: withPod(withArrival(settled, "my-etcd-3", "synced"), undefined),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "who has no peer gets no vote",
      given: withArrival(settled, "my-etcd-3", "synced", { peer: false }),
      step: STEPS.promote,
      is: "forbidden",
    },
  ],
  "nobody-vouches": [
    { name: "who is lost and silent is given up", given: lost, step: replacing(lost), is: "allowed" },
    { name: "who takes part is not given up", given: settled, step: replacing(settled), is: "forbidden" },
    {
      name: "whom the kubelet calls ready is not given up",
      given: { ...lost, pods: settled.pods },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "from whom the leader hears is not given up",
      given: { ...lost, heard: new Set([identity.initialMembers[1]!.id]) },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "a claim that the cache does not know is no reason while the kubelet calls the member ready",
      given: {
        ...lost,
        pods: settled.pods,
        claims: settled.claims.filter(({ metadata }) => metadata.name !== m1!.name),
      },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "nor while it takes part",
      given: { ...settled, claims: settled.claims.filter(({ metadata }) => metadata.name !== m1!.name) },
      step: replacing(settled),
      is: "forbidden",
    },
    {
      name: "a removal may always be taken back",
      given: settled,
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "when fewer are wanted the healthy may go",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "who takes part again is not removed on the word of yesterday",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "whose removal was asked for is removed",
      given: withRemoval(settled, "my-etcd-2", "scale-down"),
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "a removal without a reason is for others to judge",
      given: settled,
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "a learner costs no vote",
      given: withRemoval(withArrival(settled, "my-etcd-3", "synced"), "my-etcd-3", "replacement"),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
  ],
  "alarm-is-over": [
    {
      name: "the alarm of a member stays",
      given: settled,
      step: { do: "disarmAlarm", id: m1!.id, type: "NOSPACE" },
      is: "forbidden",
    },
    { name: "the alarm of who has left is lowered", given: settled, step: STEPS.disarmAlarm, is: "allowed" },
  ],
});
