import { present } from "#base/observed.ts";
import { cluster, endpointStatus } from "#kit/snapshots/cluster.ts";
import { withoutPeers, withStraggler } from "#kit/snapshots/cluster-changes.ts";
import { testPlans } from "#kit/tables/cluster-plan.ts";

// Plans that create the first members.

const starting = cluster({ stage: "starting" });
const identity = starting.cluster.status!.identity!;
const [first, second] = identity.initialMembers;
/** Two of three have joined; the third is listed, and has never started. */
const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false });

testPlans(
  "src/cluster/identity",
  [
    {
      name: "creates the EtcdPeers of the recorded first members",
      given: cluster({ stage: "recorded", with: { headlessService: starting.headlessService } }),
      expect: "bootstrap: createPeer my-etcd-0 New",
    },
    {
      name: "creates only EtcdPeers of first members that are missing",
      given: withoutPeers(starting, "my-etcd-1"),
      expect: "bootstrap: createPeer my-etcd-1 New",
    },
    {
      name: "keeps the recorded first members when spec.replicas is edited while the cluster forms",
      given: cluster({ stage: "starting", spec: { replicas: 5 } }),
      expect: "warn: await-members",
    },
    { name: "waits for the first members to join", given: starting, expect: "warn: await-members" },
    {
      name: "does not count a member without a leader as joined",
      given: {
        ...starting,
        endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, first!.id, undefined))]]),
      },
      expect: "warn: await-members",
    },
    {
      name: "does not count a member that answers with another cluster's ID as joined",
      given: { ...starting, endpoints: new Map([[first!.name, present(endpointStatus("abc", first!.id, first!.id))]]) },
      expect: "warn: await-members",
    },
    {
      name: "does not count a member that answers with another member's ID as joined",
      given: {
        ...starting,
        endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, second!.id, first!.id))]]),
      },
      expect: "warn: await-members",
    },
    {
      name: "recreates the EtcdPeer of a first member that never started",
      given: withoutPeers(straggler, "my-etcd-2"),
      expect: "bootstrap: createPeer my-etcd-2 New",
    },
  ],
  ["await-members", "bootstrap"],
);
