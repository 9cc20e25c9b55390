import { expect, test } from "vitest";
import { planCluster } from "#cluster/plan.ts";
import { hexOf } from "#etcd/types.ts";
import { cluster, sickFor } from "#kit/cluster.ts";
import { withAlarms } from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";

// What is done about alarms that etcd raises.

const m1Id = cluster().cluster.status!.identity!.initialMembers[1]!.id;

testPlans("alarms", [
  {
    name: "changes nothing while the members' data differs and nobody knows whose is right",
    given: withAlarms(sickFor(cluster({ spec: { replicas: 1 } }), "my-etcd-1", 300_000), { type: "CORRUPT" }),
    expect: "warn: await-verdict",
  },
  {
    name: "lowers the alarm of a corrupt member that has left",
    given: withAlarms(cluster(), { type: "CORRUPT", id: "abc" }),
    expect: "disarm-alarm: disarmAlarm",
  },
  {
    name: "lowers the alarm of a full member that has left, or was one of a snapshot's",
    given: withAlarms(cluster(), { type: "NOSPACE", id: "abc" }, { type: "NOSPACE", id: m1Id }),
    expect: "disarm-alarm: disarmAlarm",
  },
  {
    name: "a full database is in nobody's way",
    given: withAlarms(cluster({ spec: { replicas: 5 } }), { type: "NOSPACE", id: m1Id }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
]);

test("of alarms that are over, those by which etcd refuses most are lowered first, and each is told by its reason", () => {
  const [full, corrupt] = [{ type: "NOSPACE", id: "abc" } as const, { type: "CORRUPT", id: "def" } as const];
  const planOf = (...alarms: Parameters<typeof withAlarms>[1][]) => {
    const plan = planCluster(withAlarms(cluster(), ...alarms));
    if (plan.next !== "step" || plan.step.do !== "disarmAlarm") throw new Error(JSON.stringify(plan.next));
    return `${plan.step.type} ${hexOf(plan.step.id)}: ${plan.because}`;
  };
  expect(planOf(full, corrupt)).toBe(
    "CORRUPT def: member def, whose data was corrupt, is none of this cluster's any more",
  );
  expect(planOf(full)).toBe("NOSPACE abc: member abc, whose database was full, is none of this cluster's any more");
});
