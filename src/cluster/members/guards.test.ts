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
  name: "without a member list a crashing pod may be recreated",
  given: withoutList(crashing),
  step: restarting(crashing, "my-etcd-2"),
  is: "allowed",
};

function idIn(snapshot: ClusterSnapshot, name: string) {
  return memberIdFromHex(snapshot.cluster.status!.identity!.initialMembers.find((each) => each.name === name)!.id);
}

/** More members are wanted, and all shall trust one more CA. @param names in the certificate */
function extraTrust(have: number, replicas: number, names: readonly string[], down: readonly string[] = []) {
  const peer = { provider: "Secret", secret: { name: "theirs" } };
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
    { name: `with a member list ${kind} is allowed`, given: settled, step: STEPS[kind], is: "allowed" },
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
      name: "a silent learner may not be promoted when its vote would cost the quorum",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a silent learner may not be promoted when its vote would use up the last spare voter",
      given: withArrival(settled, "my-etcd-3", "added"),
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
    {
      name: "a healthy learner may be promoted while a voter is down",
      given: withArrival(cluster({ down: ["my-etcd-1"] }), "my-etcd-3", "synced"),
      step: { do: "promote", ...learner },
      is: "allowed",
    },
    {
      name: "a silent learner may become the fifth voter: five voters need the same quorum as four",
      given: withArrival(cluster({ replicas: 4, down: ["my-etcd-1"] }), "my-etcd-4", "added"),
      step: { do: "promote", name: "my-etcd-4", id: learner.id },
      is: "allowed",
    },
    {
      name: "one of two members may be removed when spec.replicas is 1",
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
      name: "a member that answers now counts as healthy, although it was sick before",
      given: sickFor(settled, "my-etcd-1", 60_000),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "a member that has been sick for less than five seconds counts as healthy",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 4_999),
      step: { do: "removeMember", ...m1! },
      is: "forbidden",
    },
    {
      name: "a member that has been sick for five seconds may be removed",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 5_000),
      step: { do: "removeMember", ...m1! },
      is: "allowed",
    },
    {
      name: "the last spare voter may be removed when spec.replicas is 2",
      given: asking(settled, { replicas: 2 }),
      step: { do: "removeMember", ...m2! },
      is: "allowed",
    },
    {
      name: "a member that etcd does not list may not be promoted",
      given: settled,
      step: { do: "promote", ...learner },
      is: "forbidden",
    },
  ],
  "restart-keeps-quorum": [
    {
      name: "one of three healthy members may restart, although no voter is to spare during the restart",
      given: settled,
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a healthy member of three may not restart while a second member is down",
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
      name: "a crashing pod may be recreated, although another member is down",
      given: withCrashing(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member may not be updated when the quorum would depend on a voter that was added by hand",
      given: withMember(settled, THEIRS),
      step: giving(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "one of two members may restart for a new CA when no member can join before",
      given: extraTrust(2, 3, ["my-etcd-0", "my-etcd-1"]),
      step: restarting(extraTrust(2, 3, []), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "neither of two members may restart for a new CA when a third member can join first",
      given: extraTrust(2, 3, ["*"]),
      step: restarting(extraTrust(2, 3, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "neither of two members may restart while a third is wanted and no TLS change is pending",
      given: running(extraTrust(2, 3, ["my-etcd-0", "my-etcd-1"])),
      step: restarting(extraTrust(2, 3, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a healthy member of three may not restart for a new CA while a second member is down",
      given: extraTrust(3, 4, ["my-etcd-0", "my-etcd-1", "my-etcd-2"], ["my-etcd-0"]),
      step: restarting(extraTrust(3, 4, []), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a member may restart while another member participates but does not serve clients yet",
      given: unpublished(settled, "my-etcd-1"),
      step: restarting(settled, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a learner may restart while a voter is down",
      given: withArrival(lost, "my-etcd-3", "synced"),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "a learner may restart without a quorum",
      given: withArrival(
        { ...cluster({ down: ["my-etcd-1", "my-etcd-2"] }), members: settled.members },
        "my-etcd-3",
        "synced",
      ),
      step: restarting(withArrival(lost, "my-etcd-3", "synced"), "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "a member may not restart when the quorum would depend on a voter that was added by hand",
      given: withMember(settled, THEIRS),
      step: restarting(settled, "my-etcd-2"),
      is: "forbidden",
    },
    {
      name: "one of two members may restart when spec.replicas is 2",
      given: cluster({ replicas: 2 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "allowed",
    },
    {
      name: "neither of two members may restart while spec.replicas is 3",
      given: asking(cluster({ replicas: 2 }), { replicas: 3 }),
      step: restarting(cluster({ replicas: 2 }), "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a healthy member of three may not restart while another is down, although spec.replicas is 2",
      given: asking(lost, { replicas: 2 }),
      step: restarting(lost, "my-etcd-2"),
      is: "forbidden",
    },
  ],
});
