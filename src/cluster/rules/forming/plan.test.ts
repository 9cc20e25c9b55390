import { present } from "#base/observed.ts";
import { cluster, endpointStatus } from "#kit/cluster.ts";
import { withoutPeers, withStraggler } from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";

// How the first members come into being.

const starting = cluster({ stage: "starting" });
const identity = starting.cluster.status!.identity!;
const [first, second] = identity.initialMembers;
/** Two of three have joined; the third is listed, and has never started. */
const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false });

testPlans("forming", [
  {
    name: "creates the members of the frozen list",
    given: cluster({ stage: "recorded", with: { headlessService: starting.headlessService } }),
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "creates only what is missing of the frozen list",
    given: withoutPeers(starting, "my-etcd-1"),
    expect: "bootstrap: createPeer my-etcd-1 New",
  },
  {
    name: "keeps to the frozen list when replicas is edited while forming",
    given: cluster({ stage: "starting", spec: { replicas: 5 } }),
    expect: "warn: await-members",
  },
  { name: "waits for members to join", given: starting, expect: "warn: await-members" },
  {
    name: "does not take a member without a leader for joined",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, first!.id, undefined))]]),
    },
    expect: "warn: await-members",
  },
  {
    name: "does not believe a member of another cluster",
    given: { ...starting, endpoints: new Map([[first!.name, present(endpointStatus("abc", first!.id, first!.id))]]) },
    expect: "warn: await-members",
  },
  {
    name: "does not believe a member that answers as another one",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, second!.id, first!.id))]]),
    },
    expect: "warn: await-members",
  },
  {
    name: "a first member that never came, and whose EtcdPeer is gone, may still come",
    given: withoutPeers(straggler, "my-etcd-2"),
    expect: "bootstrap: createPeer my-etcd-2 New",
  },
]);
