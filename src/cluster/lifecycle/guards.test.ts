import { joiningPeer, newPeer } from "#cluster/members/desired/peer.ts";
import { cluster, LATER_ID, withArrival } from "#kit/snapshots/cluster.ts";
import { withJoined, withStraggler } from "#kit/snapshots/cluster-changes.ts";
import { asleep, tired, wanted } from "#kit/snapshots/cluster-sleep.ts";
import { identity, learner, STEPS, settled } from "#kit/snapshots/cluster-steps.ts";
import { type GuardCase, promised } from "#kit/tables/guard-promises.ts";
import * as guards from "./guards.ts";

const tiredOut = tired();

promised(guards, {
  "sleep-is-asked": [
    { name: "a cluster with spec.replicas 3 does not sleep", given: settled, step: STEPS.fallAsleep, is: "forbidden" },
    { name: "a cluster with spec.replicas 0 may sleep", given: tiredOut, step: STEPS.fallAsleep, is: "allowed" },
    {
      name: "a forming cluster does not sleep",
      given: withJoined(tiredOut, 1),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "a cluster with an unfenced member does not sleep",
      given: cluster({ stage: "joined", spec: { replicas: 0 } }),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "a cluster may sleep with an unfenced first member that has not joined",
      given: withStraggler(tiredOut, { started: false }),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    {
      name: "a cluster may sleep with an unfenced later member that is joining",
      given: withArrival(tiredOut, learner.name, "started"),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    { name: "a cluster with spec.replicas 0 does not wake up", given: asleep(), step: STEPS.wakeUp, is: "forbidden" },
    {
      name: "a cluster with spec.replicas 1 may wake up",
      given: wanted(asleep(), 1),
      step: STEPS.wakeUp,
      is: "allowed",
    },
    { name: "the guard does not apply to other steps", given: settled, step: STEPS.createService, is: "allowed" },
  ],
  "sleep-keeps-members": [
    ...Object.values(STEPS).flatMap((step): readonly GuardCase[] => {
      const isKept = [
        ...[
          "recordIdentity",
          "addLearner",
          "promote",
          "updateMember",
          "removeMember",
          "markRemoval",
          "releaseClaim",
          "deletePeer",
        ],
        ...["disarmAlarm", "moveLeader", "enableDowngrade", "cancelDowngrade"],
      ].includes(step.do);
      const is = isKept ? "forbidden" : "allowed";
      return [
        { name: `${step.do} is ${is} with spec.replicas 0`, given: tiredOut, step, is },
        { name: `${step.do} is allowed with spec.replicas 3`, given: settled, step, is: "allowed" },
      ];
    }),
    {
      name: "no EtcdPeer of a joining member is created with spec.replicas 0",
      given: tiredOut,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "forbidden",
    },
    {
      name: "no EtcdPeer gets the ID of an added member with spec.replicas 0",
      given: tiredOut,
      step: { ...STEPS.replacePeer, peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "forbidden",
    },
    {
      name: "the EtcdPeer of a first member may be created while the cluster forms",
      given: cluster({ stage: "starting", spec: { replicas: 0 } }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
  ],
});
