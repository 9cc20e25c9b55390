import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { pod, withArrival, withRemoval } from "#kit/snapshots/cluster.ts";
import { identity, learner, lost, m1, peerOf, STEPS, settled } from "#kit/snapshots/cluster-steps.ts";
import { promised } from "#kit/tables/guard-promises.ts";
import type { Pod } from "#kube/kinds.ts";
import * as guards from "./vote-guards.ts";

function replacing(snapshot: ClusterSnapshot): ClusterStep {
  return { do: "markRemoval", peer: peerOf(snapshot, "my-etcd-1"), removal: "replacement" };
}

/** The snapshot with this pod, or none, for the joining member. */
function withPod(snapshot: ClusterSnapshot, its: Pod | undefined): ClusterSnapshot {
  const others = [...snapshot.pods].filter(([name]) => name !== learner.name);
  return { ...snapshot, pods: new Map(its === undefined ? others : [...others, [learner.name, its]]) };
}

promised(guards, {
  "fence-before-vote": [
    {
      name: "a member that may bootstrap is not promoted",
      given: withArrival(settled, "my-etcd-3", "started"),
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "a fenced member is promoted",
      given: withArrival(settled, "my-etcd-3", "synced"),
      step: STEPS.promote,
      is: "allowed",
    },
    {
      name: "a member with a pod that may bootstrap is not promoted",
      given: begin(settled)
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(withPod, pod("my-etcd-3", { ready: true, fenced: false })).snapshot,
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "a member without a pod is not promoted",
      given: begin(settled).apply(withArrival, "my-etcd-3", "synced").apply(withPod, undefined).snapshot,
      step: STEPS.promote,
      is: "forbidden",
    },
    {
      name: "a member without an EtcdPeer is not promoted",
      given: withArrival(settled, "my-etcd-3", "synced", { peer: false }),
      step: STEPS.promote,
      is: "forbidden",
    },
  ],
  "no-sign-of-life": [
    { name: "a lost member without a sign of life may be replaced", given: lost, step: replacing(lost), is: "allowed" },
    { name: "a participating member is not replaced", given: settled, step: replacing(settled), is: "forbidden" },
    {
      name: "a member that the kubelet reports Ready is not replaced",
      given: { ...lost, pods: settled.pods },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "a member with raft traffic to the leader is not replaced",
      given: { ...lost, heard: new Set([identity.initialMembers[1]!.id]) },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "a member without a claim is not replaced while the kubelet reports it Ready",
      given: {
        ...lost,
        pods: settled.pods,
        claims: settled.claims.filter(({ metadata }) => metadata.name !== m1!.name),
      },
      step: replacing(lost),
      is: "forbidden",
    },
    {
      name: "a member without a claim is not replaced while it participates",
      given: { ...settled, claims: settled.claims.filter(({ metadata }) => metadata.name !== m1!.name) },
      step: replacing(settled),
      is: "forbidden",
    },
    {
      name: "a removal may always be cancelled",
      given: settled,
      step: { ...STEPS.markRemoval, removal: undefined },
      is: "allowed",
    },
    {
      name: "a healthy member may be removed by scaling down",
      given: settled,
      step: { ...STEPS.markRemoval, removal: "scale-down" },
      is: "allowed",
    },
    {
      name: "a member with a recorded replacement is not removed once it participates again",
      given: withRemoval(settled, "my-etcd-2", "replacement"),
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "a healthy member with a recorded scale-down may be removed",
      given: withRemoval(settled, "my-etcd-2", "scale-down"),
      step: STEPS.removeMember,
      is: "allowed",
    },
    {
      name: "a participating voter is not removed without a recorded reason",
      given: settled,
      step: STEPS.removeMember,
      is: "forbidden",
    },
    {
      name: "a participating learner with a recorded replacement may be removed",
      given: begin(settled).apply(withArrival, "my-etcd-3", "synced").apply(withRemoval, "my-etcd-3", "replacement")
        .snapshot,
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
  ],
  "alarm-is-over": [
    {
      name: "the alarm of a current member is not disarmed",
      given: settled,
      step: { do: "disarmAlarm", id: m1!.id, type: "NOSPACE" },
      is: "forbidden",
    },
    { name: "the alarm of a removed member is disarmed", given: settled, step: STEPS.disarmAlarm, is: "allowed" },
  ],
});
