import { CLAIM_CLUSTER_ID_ANNOTATION } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { born, claim, claimIdentity, cluster, endpointStatus, withArrival } from "#kit/cluster.ts";
import { withStraggler } from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";
import { etcdRestore } from "#kit/etcd-restore.ts";
import type { Service } from "#kube/kinds.ts";

// Who the cluster is, and what keeps its members from being somebody else.

const starting = cluster({ stage: "starting" });
const identity = starting.cluster.status!.identity!;
const [first] = identity.initialMembers;
const foreignService = born<Service>({
  ...starting.headlessService!,
  metadata: { ...starting.headlessService!.metadata, ownerReferences: [] },
});

const FROM_BACKUP = { bootstrap: { fromBackup: { backupName: "nightly" } } };

/** The EtcdRestore that this cluster has asked for. */
function asked(given: Parameters<typeof etcdRestore>[0] = {}) {
  const restore = etcdRestore(given);
  const owner = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", name: "my-etcd", controller: true };
  const ownerReferences = [{ ...owner, uid: cluster().cluster.metadata.uid }];
  return { ...restore, metadata: { ...restore.metadata, ownerReferences } };
}

testPlans("identity", [
  {
    name: "writes down who the cluster is before anything else",
    given: cluster({ stage: "new" }),
    expect: "record-identity: recordIdentity",
  },
  {
    name: "does not start over the claims of an earlier cluster",
    given: cluster({ stage: "new", with: { claims: [claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" })] } }),
    expect: "warn: claim-taken",
  },
  {
    name: "does not take over a Service of its name",
    given: cluster({ stage: "new", with: { headlessService: foreignService } }),
    expect: "warn: name-taken",
  },
  {
    name: "records those that have joined",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, first!.id, first!.id))]]),
    },
    expect: "record-joined: recordJoined my-etcd-0",
  },
  {
    name: "fences members that have joined",
    given: cluster({ stage: "joined" }),
    expect: "fence: replacePeer my-etcd-0 fenced",
  },
  {
    name: "comes back from the claims that an earlier cluster of its name left",
    given: cluster({
      stage: "new",
      with: { claims: [0, 1, 2].map((n) => claim(`my-etcd-${n}`, claimIdentity("abc", `${n + 1}`))) },
    }),
    expect: "adopt-claims: recordIdentity",
  },
  {
    name: "does not come back from claims of two clusters",
    given: cluster({
      stage: "new",
      with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1")), claim("my-etcd-1", claimIdentity("def", "2"))] },
    }),
    expect: "warn: claim-taken",
  },
  {
    name: "fences a learner before it gets a vote",
    given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "started"),
    expect: "fence: replacePeer my-etcd-3 fenced",
  },
  {
    name: "a first member that etcd lists as started has joined, whether or not it was ever asked",
    given: withStraggler(cluster({ down: ["my-etcd-2"] }), { started: true }),
    expect: "record-joined: recordJoined my-etcd-2",
  },
  {
    name: "asks for the data with which it is to begin",
    given: cluster({ stage: "new", spec: FROM_BACKUP }),
    expect: "create-restore: createRestore my-etcd",
  },
  {
    name: "asks for none while it is to sleep",
    given: cluster({ stage: "new", spec: { ...FROM_BACKUP, replicas: 0 } }),
    expect: "settled",
  },
  {
    name: "asks for none when claims were kept",
    given: cluster({
      stage: "new",
      spec: FROM_BACKUP,
      with: { claims: [claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" })] },
    }),
    expect: "warn: claim-taken",
  },
  {
    name: "waits until its claims are filled",
    given: cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: asked(), claims: [claim("my-etcd-0")] } }),
    expect: "wait: await-restore",
  },
  {
    name: "begins with claims that are filled",
    given: cluster({
      stage: "new",
      spec: FROM_BACKUP,
      with: {
        restore: asked(),
        claims: [0, 1, 2].map((n) => claim(`my-etcd-${n}`, claimIdentity("abc", `${n + 1}`))),
      },
    }),
    expect: "adopt-claims: recordIdentity",
  },
  {
    name: "does not begin with nothing when that has failed",
    given: cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: asked({ status: { phase: "Failed" } }) } }),
    expect: "warn: restore-failed",
  },
  {
    name: "takes no EtcdRestore of somebody else for its own",
    given: cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: etcdRestore() } }),
    expect: "warn: restore-failed",
  },
  {
    name: "begins with nothing when nobody asks for more, whatever is restored",
    given: cluster({ stage: "new", with: { restore: asked({ status: { phase: "Failed" } }) } }),
    expect: "record-identity: recordIdentity",
  },
  {
    name: "nor does it wait for what is restored",
    given: cluster({ stage: "new", with: { restore: asked() } }),
    expect: "record-identity: recordIdentity",
  },
  {
    name: "waits for nothing of it once it is there",
    given: cluster({ spec: FROM_BACKUP, with: { restore: asked() } }),
    expect: "settled",
  },
  {
    name: "is past all that once it is there",
    given: cluster({ spec: FROM_BACKUP, with: { restore: asked({ status: { phase: "Failed" } }) } }),
    expect: "settled",
  },
]);
