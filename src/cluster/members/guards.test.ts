import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { cluster, sickFor, unpublished, withArrival } from "#kit/snapshots/cluster.ts";
import { THEIRS, withMember } from "#kit/snapshots/cluster-changes.ts";
import { withCrashing } from "#kit/snapshots/cluster-rolling.ts";
import {
  asking,
  crashing,
  giving,
  learner,
  lost,
  m1,
  m2,
  restarting,
  STEPS,
  settled,
  withoutList,
} from "#kit/snapshots/cluster-steps.ts";
import { bundle, OWN, running, THEIRS as SOMEBODY, secured, withMade } from "#kit/snapshots/cluster-tls.ts";
import { type GuardCase, promised } from "#kit/tables/guard-promises.ts";
import * as guards from "./guards.ts";

const STOPPED: GuardCase = {
  name: "without a member list a pod that is down may be recreated",
  given: withoutList(crashing),
  step: restarting(crashing, "my-etcd-2"),
  is: "allowed",
};

function idIn(snapshot: ClusterSnapshot, name: string) {
  return memberIdFromHex(snapshot.cluster.status!.identity!.initialMembers.find((each) => each.name === name)!.id);
}

/** More members are wanted, and all shall trust one more CA. @param names in the certificate */
function extraTrust(have: number, replicas: number, names: readonly string[], down: readonly string[] = []) {
  const peer = { provider: "Secret", secret: { secretName: "theirs" } };
  const given = asking(secured({ replicas: have, down }, { peer }), { replicas });
  const hosts = names.map((name) => `${name}.my-etcd.foo.svc`);
  return withMade(given, { peer: { isOurs: false, names: hosts, trust: bundle(OWN, SOMEBODY) } });
}

promised(guards, {
  "need-member-list": (
    [
      ["recordIdentity", "allowed"],
      ["recordJoined", "allowed"],
      ["createService", "allowed"],
      ["replaceService", "allowed"],
      ["createBudget", "allowed"],
      ["replaceBudget", "allowed"],
      ["deleteBudget", "allowed"],
      ["createPeer", "allowed"],
      ["replacePeer", "allowed"],
      ["restartPod", "forbidden"],
      ["stopUpdate", "allowed"],
      ["markRemoval", "forbidden"],
      ["releaseClaim", "forbidden"],
      ["deletePeer", "forbidden"],
      ["addLearner", "forbidden"],
      ["promote", "forbidden"],
      ["removeMember", "forbidden"],
      ["disarmAlarm", "forbidden"],
      ["enableDowngrade", "forbidden"],
      ["cancelDowngrade", "forbidden"],
      ["moveLeader", "forbidden"],
      ["updateMember", "forbidden"],
      ["createRootSecret", "allowed"],
      ["setRootPassword", "forbidden"],
      ["addUser", "forbidden"],
      ["grantRole", "forbidden"],
      ["enableAuth", "forbidden"],
      ["disableAuth", "forbidden"],
    ] as const
  ).flatMap(([kind, is]): readonly GuardCase[] => [
    { name: `without a member list ${kind} is ${is}`, given: withoutList(settled), step: STEPS[kind], is },
    { name: `with a member list ${kind} is for others to judge`, given: settled, step: STEPS[kind], is: "allowed" },
    ...(kind === "restartPod" ? [STOPPED] : []),
  ]),
  "keep-quorum": [
    {
      name: "a learner may be removed without a spare voter",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
    {
      name: "promoting a silent learner may not cost the quorum",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "promoting a silent learner may not take the last spare voter",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a promotion is allowed when it makes a sick cluster no weaker",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "promote", ...learner },
      is: "allowed",
    },
    {
      name: "the fifth voter needs no more healthy voters than the fourth",
      given: withArrival(cluster({ replicas: 4, down: ["my-etcd-1"] }), "my-etcd-4", "added"),
      step: { do: "promote", name: "my-etcd-4", id: learner.id },
      is: "allowed",
    },
    {
      name: "of two members one may be removed when one is wanted",
      given: cluster({ replicas: 2, spec: { replicas: 1 } }),
      step: { do: "removeMember", name: "my-etcd-1", id: idIn(cluster({ replicas: 2 }), "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "the last member may not be removed",
      given: cluster({ replicas: 1 }),
      step: { do: "removeMember", name: "my-etcd-0", id: idIn(cluster({ replicas: 1 }), "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "a member that answers now is healthy, whatever was seen before",
      given: sickFor(settled, "my-etcd-1", 60_000),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "a member silent for less than five seconds may be healthy",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 4_999),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "removing a member silent for five seconds takes none away",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 5_000),
      step: { do: "removeMember", ...m1! },
      is: "allowed",
    },
    {
      name: "with two wanted, the last spare voter may be removed",
      given: asking(settled, { replicas: 2 }),
      step: { do: "removeMember", ...m2! },
      is: "allowed",
    },
    {
      name: "an unlisted member is neither removed nor promoted",
      given: settled,
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
  ],
  "restart-keeps-quorum": [
    {
      name: "of three one may restart, and take the last spare voter for a while",
      given: settled,
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "of three none may restart while a second one is down",
      given: lost,
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "a member that is down may restart",
      given: lost,
      step: restarting(lost, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "a pod that is down may be recreated, whatever else is down",
      given: withCrashing(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "no update that could not be finished: foreign voters do not count",
      given: withMember(settled, THEIRS),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "of two one may restart for a new CA when no member can join before",
      given: extraTrust(2, 3, ["my-etcd-0", "my-etcd-1"]),
      step: restarting(extraTrust(2, 3, []), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "of two none may restart for a new CA when a member can join",
      given: extraTrust(2, 3, ["*"]),
      step: restarting(extraTrust(2, 3, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "of two none may restart without a pending change of TLS",
      given: running(extraTrust(2, 3, ["my-etcd-0", "my-etcd-1"])),
      step: restarting(extraTrust(2, 3, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "of three none may restart for a new CA with one down",
      given: extraTrust(3, 4, ["my-etcd-0", "my-etcd-1", "my-etcd-2"], ["my-etcd-0"]),
      step: restarting(extraTrust(3, 4, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a participating member counts, although it serves no clients yet",
      given: unpublished(settled, "my-etcd-1"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a learner may restart, whatever is down",
      given: withArrival(lost, "my-etcd-3", "synced"),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "a learner may restart also without a quorum",
      given: withArrival(
        { ...cluster({ down: ["my-etcd-1", "my-etcd-2"] }), members: settled.members },
        "my-etcd-3",
        "synced",
      ),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "a voter that was added by hand, and is not dialled, may be the missing one",
      given: withMember(settled, THEIRS),
      step: restarting(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "of two both may, one after another, with two wanted",
      given: cluster({ replicas: 2 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "of two none may restart while a third one is wanted",
      given: asking(cluster({ replicas: 2 }), { replicas: 3 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "of three none may restart with one down",
      given: asking(lost, { replicas: 2 }),
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
  ],
});
