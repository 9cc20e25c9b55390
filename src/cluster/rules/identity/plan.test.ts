import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  PAUSED_ANNOTATION,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_LABEL,
  RESTORED_FROM,
} from "#api/names.ts";
import { present } from "#base/observed.ts";
import { born, claim, claimIdentity, cluster, endpointStatus, open, withArrival } from "#kit/cluster.ts";
import { withStraggler } from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";
import { etcdRestore } from "#kit/etcd-restore.ts";
import type { PersistentVolumeClaim, Service } from "#kube/kinds.ts";

// Who the cluster is, and what keeps its members from being somebody else.

const starting = cluster({ stage: "starting" });
const identity = starting.cluster.status!.identity!;
const [first] = identity.initialMembers;
const foreignService = born<Service>({
  ...starting.headlessService!,
  metadata: { ...starting.headlessService!.metadata, ownerReferences: [] },
});

const RESTORED = { [RESTORED_FROM]: "uid-of-restore" };
const FROM_BACKUP = { bootstrap: { fromBackup: { backupName: "nightly" } } };

/** The EtcdRestore that this cluster has asked for. */
function asked(given: Parameters<typeof etcdRestore>[0] = {}) {
  const restore = etcdRestore(given);
  const owner = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", name: "my-etcd", controller: true };
  const ownerReferences = [{ ...owner, uid: cluster().cluster.metadata.uid }];
  return { ...restore, metadata: { ...restore.metadata, ownerReferences } };
}

const HTTPS = { [PEER_SCHEME_ANNOTATION]: "https" };

function claimsOf(clusterID: string, more: Record<string, string> = {}) {
  return [0, 1, 2].map((n) => claim(`my-etcd-${n}`, { ...claimIdentity(clusterID, `${n + 1}`), ...more }));
}

function labelled(object: PersistentVolumeClaim, label: string): PersistentVolumeClaim {
  return { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, [label]: "why" } } };
}

testPlans("identity", [
  {
    name: "writes down who the cluster is before anything else",
    given: cluster({ stage: "new" }),
    expect: "record-identity: recordIdentity",
  },
  {
    name: "speaks TLS when nobody has said otherwise, and says so first",
    given: open(cluster({ stage: "new" })),
    expect: "default-tls: writeTls",
  },
  {
    name: "does so before it asks for the data with which it begins",
    given: open(cluster({ stage: "new", spec: FROM_BACKUP })),
    expect: "default-tls: writeTls",
  },
  {
    name: "says nothing during a pause",
    given: open(cluster({ stage: "new", annotations: { [PAUSED_ANNOTATION]: "true" } })),
    expect: "wait: paused",
  },
  {
    name: "says nothing before anybody is wanted",
    given: open(cluster({ stage: "new", spec: { replicas: 0 } })),
    expect: "settled",
  },
  {
    name: "says nothing while its name is not its own",
    given: open(cluster({ stage: "new", with: { headlessService: foreignService } })),
    expect: "warn: name-taken",
  },
  {
    name: "goes on without TLS when it was made without",
    given: open(cluster()),
    expect: "settled",
  },
  {
    name: "comes back without TLS when the claims that it left say so",
    given: open(cluster({ stage: "new", with: { claims: claimsOf("abc") } })),
    expect: "adopt-claims: recordIdentity",
  },
  {
    name: "comes back with TLS when the claims that it left say so",
    given: open(cluster({ stage: "new", with: { claims: claimsOf("abc", HTTPS) } })),
    expect: "default-tls: writeTls",
  },
  {
    name: "says nothing as long as its claims do not agree on it",
    given: open(
      cluster({ stage: "new", with: { claims: [...claimsOf("abc", HTTPS).slice(1), ...claimsOf("abc").slice(0, 1)] } }),
    ),
    expect: "warn: claim-taken",
  },
  {
    name: "goes on without TLS when its data is being restored without",
    given: open(cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: asked(), claims: [claim("my-etcd-0")] } })),
    expect: "wait: await-restore",
  },
  {
    name: "and so before there is a claim for it",
    given: open(cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: asked() } })),
    expect: "wait: await-restore",
  },
  {
    name: "is made without TLS when it was begun without",
    given: open(cluster({ stage: "recorded" })),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "somebody else's EtcdRestore of its name says nothing about it",
    given: open(cluster({ stage: "new", with: { restore: etcdRestore() } })),
    expect: "default-tls: writeTls",
  },
  {
    name: "claims that were put aside say nothing about it",
    given: open(
      cluster({
        stage: "new",
        with: { claims: claimsOf("abc").map((each) => labelled(each, QUARANTINE_LABEL)) },
      }),
    ),
    expect: "default-tls: writeTls",
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
    name: "does not begin with nothing when the claims are gone that a restore has filled for it",
    given: cluster({ stage: "new", annotations: RESTORED }),
    expect: "warn: restore-failed",
  },
  {
    name: "begins with them while they are there",
    given: cluster({ stage: "new", annotations: RESTORED, with: { claims: claimsOf("abc") } }),
    expect: "adopt-claims: recordIdentity",
  },
  {
    name: "says what it knows of them when they do not tell",
    given: cluster({ stage: "new", annotations: RESTORED, with: { claims: [claim("my-etcd-0")] } }),
    expect: "warn: claim-taken",
  },
  {
    name: "asks for data of its own all the same",
    given: cluster({ stage: "new", annotations: RESTORED, spec: FROM_BACKUP }),
    expect: "create-restore: createRestore my-etcd",
  },
  {
    name: "is who it is on record once it has begun, whatever it was made of",
    given: cluster({ stage: "recorded", annotations: RESTORED }),
    expect: "headless-service: createService my-etcd",
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
