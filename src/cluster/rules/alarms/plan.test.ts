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
    name: "a full database is in nobody's way",
    given: withAlarms(cluster({ spec: { replicas: 5 } }), { type: "NOSPACE", id: m1Id }),
    expect: "scale-up: createPeer my-etcd-3 Existing",
  },
]);
