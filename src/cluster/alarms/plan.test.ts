import { expect, test } from "vitest";
import { planCluster } from "#cluster/plan.ts";
import { hexOf } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, sickFor } from "#kit/snapshots/cluster.ts";
import { withAlarms } from "#kit/snapshots/cluster-changes.ts";
import { testPlans } from "#kit/tables/cluster-plan.ts";

// Steps for alarms of etcd.

const m1Id = cluster().cluster.status!.identity!.initialMembers[1]!.id;

testPlans("src/cluster/alarms", [
  {
    name: "changes nothing while members' data differs and no member is known to be corrupt",
    given: begin(cluster({ spec: { replicas: 1 } }))
      .apply(sickFor, "my-etcd-1", 300_000)
      .apply(withAlarms, { type: "CORRUPT" }).snapshot,
    expect: "warn: data-differs",
  },
  {
    name: "disarms the CORRUPT alarm of a member that was removed",
    given: withAlarms(cluster(), { type: "CORRUPT", id: "abc" }),
    expect: "disarm-alarm: disarmAlarm",
  },
  {
    name: "disarms the NOSPACE alarm of a member ID that etcd does not list",
    given: withAlarms(cluster(), { type: "NOSPACE", id: "abc" }, { type: "NOSPACE", id: m1Id }),
    expect: "disarm-alarm: disarmAlarm",
  },
  {
    name: "continues to scale up while a member has the alarm NOSPACE",
    given: withAlarms(cluster({ spec: { replicas: 5 } }), { type: "NOSPACE", id: m1Id }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
]);

test("disarm-alarm: disarms CORRUPT before NOSPACE and names the reason", () => {
  const [full, corrupt] = [{ type: "NOSPACE", id: "abc" } as const, { type: "CORRUPT", id: "def" } as const];
  const planOf = (...alarms: Parameters<typeof withAlarms>[1][]) => {
    const plan = planCluster(withAlarms(cluster(), ...alarms));
    if (plan.next !== "step" || plan.step.do !== "disarmAlarm") throw new Error(JSON.stringify(plan.next));
    return `${plan.step.type} ${hexOf(plan.step.id)}: ${plan.because}`;
  };
  expect(planOf(full, corrupt)).toBe("CORRUPT def: member def has left the cluster; its data was corrupt");
  expect(planOf(full)).toBe("NOSPACE abc: member abc has left the cluster; its database was full");
});
