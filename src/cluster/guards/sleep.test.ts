import { joiningPeer, newPeer } from "#cluster/desired/peer.ts";
import * as guards from "#cluster/guards/sleep.ts";
import { cluster, LATER_ID, withArrival } from "#kit/cluster.ts";
import { withJoined, withStraggler } from "#kit/cluster-changes.ts";
import { asleep, tired, wanted } from "#kit/cluster-sleep.ts";
import { identity, learner, STEPS, settled } from "#kit/cluster-steps.ts";
import { type GuardCase, promised } from "#kit/guard-promises.ts";

const tiredOut = tired();

promised(guards, {
  "sleep-is-asked": [
    { name: "nobody sleeps while somebody is wanted", given: settled, step: STEPS.fallAsleep, is: "forbidden" },
    { name: "a cluster of which nobody is wanted sleeps", given: tiredOut, step: STEPS.fallAsleep, is: "allowed" },
    {
      name: "one that forms does so first",
      given: withJoined(tiredOut, 1),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "who has joined is fenced first",
      given: cluster({ stage: "joined", spec: { replicas: 0 } }),
      step: STEPS.fallAsleep,
      is: "forbidden",
    },
    {
      name: "who has yet to join need not be",
      given: withStraggler(tiredOut, { started: false }),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    {
      name: "nor a later one that is joining",
      given: withArrival(tiredOut, learner.name, "started"),
      step: STEPS.fallAsleep,
      is: "allowed",
    },
    { name: "nobody wakes while nobody is wanted", given: asleep(), step: STEPS.wakeUp, is: "forbidden" },
    { name: "all wake when somebody is", given: wanted(asleep(), 1), step: STEPS.wakeUp, is: "allowed" },
    { name: "other steps are for others to judge", given: settled, step: STEPS.createService, is: "allowed" },
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
        { name: `${step.do} is ${is} while nobody is wanted`, given: tiredOut, step, is },
        { name: `${step.do} is for others to judge while somebody is`, given: settled, step, is: "allowed" },
      ];
    }),
    {
      name: "nobody comes while nobody is wanted",
      given: tiredOut,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "forbidden",
    },
    {
      name: "a first member may, while the cluster forms",
      given: cluster({ stage: "starting", spec: { replicas: 0 } }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
  ],
});
