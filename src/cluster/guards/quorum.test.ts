import * as guards from "#cluster/guards/quorum.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { cluster, sickFor, unpublished, withArrival } from "#kit/cluster.ts";
import { THEIRS, withMember } from "#kit/cluster-changes.ts";
import { withCrashing } from "#kit/cluster-rolling.ts";
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
} from "#kit/cluster-steps.ts";
import { bundle, OWN, running, THEIRS as SOMEBODY, secured, withMade } from "#kit/cluster-tls.ts";
import { type GuardCase, promised } from "#kit/guard-promises.ts";

const STOPPED: GuardCase = {
  name: "without a member list a pod in which nothing runs may be made anew",
  given: withoutList(crashing),
  step: restarting(crashing, "my-etcd-2"),
  is: "allowed",
};

function idIn(snapshot: ClusterSnapshot, name: string) {
  return memberIdFromHex(snapshot.cluster.status!.identity!.initialMembers.find((each) => each.name === name)!.id);
}

/** More are wanted than there are, and all of them are to trust one authority more. @param names for whom it is good what they show */
function besides(have: number, replicas: number, names: readonly string[], down: readonly string[] = []) {
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
      name: "a learner has no vote: it may go although nobody is to spare",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "removeMember", ...learner },
      is: "allowed",
    },
    {
      name: "a vote for a learner that does not answer may not cost the quorum",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a vote for a learner that does not answer may not take the last spare voter",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a vote that makes a sick cluster no weaker may be given",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "promote", ...learner },
      is: "allowed",
    },
    {
      name: "the fifth vote needs no more than the fourth",
      given: withArrival(cluster({ replicas: 4, down: ["my-etcd-1"] }), "my-etcd-4", "added"),
      step: { do: "promote", name: "my-etcd-4", id: learner.id },
      is: "allowed",
    },
    {
      name: "of two members one may go when one is wanted",
      given: cluster({ replicas: 2, spec: { replicas: 1 } }),
      step: { do: "removeMember", name: "my-etcd-1", id: idIn(cluster({ replicas: 2 }), "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "the last member may not go",
      given: cluster({ replicas: 1 }),
      step: { do: "removeMember", name: "my-etcd-0", id: idIn(cluster({ replicas: 1 }), "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "who answers now is well, whatever was seen before",
      given: sickFor(settled, "my-etcd-1", 60_000),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "who has not answered for less than five seconds may be well",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 4_999),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "who has not answered for five seconds takes nothing away",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 5_000),
      step: { do: "removeMember", ...m1! },
      is: "allowed",
    },
    {
      name: "when two are wanted, the last spare voter may go",
      given: asking(settled, { replicas: 2 }),
      step: { do: "removeMember", ...m2! },
      is: "allowed",
    },
    {
      name: "who is no member is neither removed nor given a vote",
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
      name: "of three none may restart while another one is down",
      given: lost,
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "who is down itself takes nothing away",
      given: lost,
      step: restarting(lost, "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "nor does a pod in which nothing runs, whoever else is down",
      given: withCrashing(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "nobody gets a turn that could not be used: voters of somebody else are not counted on",
      given: withMember(settled, THEIRS),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "of two one may restart with whom to trust besides, when nobody can join before",
      given: besides(2, 3, ["my-etcd-0", "my-etcd-1"]),
      step: restarting(besides(2, 3, []), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "but not when somebody can",
      given: besides(2, 3, ["*"]),
      step: restarting(besides(2, 3, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor when nobody is to restart with other certificates",
      given: running(besides(2, 3, ["my-etcd-0", "my-etcd-1"])),
      step: restarting(besides(2, 3, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor of three, of whom one is down",
      given: besides(3, 4, ["my-etcd-0", "my-etcd-1", "my-etcd-2"], ["my-etcd-0"]),
      step: restarting(besides(3, 4, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "who takes part counts, although it serves no clients yet",
      given: unpublished(settled, "my-etcd-1"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a learner has no vote: it may restart whoever is down",
      given: withArrival(lost, "my-etcd-3", "synced"),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "also when there is no quorum",
      given: withArrival(
        { ...cluster({ down: ["my-etcd-1", "my-etcd-2"] }), members: settled.members },
        "my-etcd-3",
        "synced",
      ),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "a voter that a person added, and that nobody can ask, may be the one that is missing",
      given: withMember(settled, THEIRS),
      step: restarting(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "of two both may, one after another, when no more are wanted",
      given: cluster({ replicas: 2 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "but not while a third one is wanted",
      given: asking(cluster({ replicas: 2 }), { replicas: 3 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor while there are three still, one of them down",
      given: asking(lost, { replicas: 2 }),
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
  ],
});
