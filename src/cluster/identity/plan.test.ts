import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  PAUSED_ANNOTATION,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_LABEL,
  RESTORED_FROM,
} from "#api/names.ts";
import { present } from "#base/observed.ts";
import { born, claim, claimIdentity, cluster, endpointStatus, open, withArrival } from "#kit/snapshots/cluster.ts";
import { withStraggler } from "#kit/snapshots/cluster-changes.ts";
import { etcdRestore } from "#kit/snapshots/etcd-restore.ts";
import { rulesIn, testPlans } from "#kit/tables/cluster-plan.ts";
import type { PersistentVolumeClaim, Service } from "#kube/kinds.ts";

// Plans that record the identity of a cluster and protect it.

const starting = cluster({ stage: "starting" });
const identity = starting.cluster.status!.identity!;
const [first] = identity.initialMembers;
const foreignService = born<Service>({
  ...starting.headlessService!,
  metadata: { ...starting.headlessService!.metadata, ownerReferences: [] },
});

/** A cluster adopted from claims, with all members down and these later claims. */
function withoutQuorum(more: readonly PersistentVolumeClaim[]) {
  const down = cluster({ down: ["my-etcd-0", "my-etcd-1", "my-etcd-2"] });
  const status = { ...down.cluster.status, identity: { ...down.cluster.status!.identity!, adopting: true } };
  return { ...down, claims: [...down.claims, ...more], cluster: { ...down.cluster, status } };
}

const RESTORED = { [RESTORED_FROM]: "uid-of-restore" };
const FROM_BACKUP = { bootstrap: { fromBackup: { source: { backupName: "nightly" } } } };

/** The EtcdRestore that this cluster created. */
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

testPlans(
  "src/cluster/identity",
  [
    {
      name: "records the identity before anything else",
      given: cluster({ stage: "new" }),
      expect: "record-identity: recordIdentity",
    },
    {
      name: "writes default TLS into a new cluster's spec before it records the identity",
      given: open(cluster({ stage: "new" })),
      expect: "default-tls: writeTls",
    },
    {
      name: "writes default TLS into the spec before it creates an EtcdRestore",
      given: open(cluster({ stage: "new", spec: FROM_BACKUP })),
      expect: "default-tls: writeTls",
    },
    {
      name: "writes no default TLS during a pause",
      given: open(cluster({ stage: "new", annotations: { [PAUSED_ANNOTATION]: "true" } })),
      expect: "wait: paused",
    },
    {
      name: "writes no default TLS while spec.replicas is 0",
      given: open(cluster({ stage: "new", spec: { replicas: 0 } })),
      expect: "settled",
    },
    {
      name: "writes no default TLS while another owner has the cluster's Service name",
      given: open(cluster({ stage: "new", with: { headlessService: foreignService } })),
      expect: "warn: name-taken",
    },
    {
      name: "writes no default TLS into the spec of an existing cluster",
      given: open(cluster()),
      expect: "settled",
    },
    {
      name: "adopts claims with http without writing default TLS",
      given: open(cluster({ stage: "new", with: { claims: claimsOf("abc") } })),
      expect: "adopt-claims: recordIdentity",
    },
    {
      name: "writes default TLS before it adopts claims with https",
      given: open(cluster({ stage: "new", with: { claims: claimsOf("abc", HTTPS) } })),
      expect: "default-tls: writeTls",
    },
    {
      name: "writes no default TLS while the claims have different schemes",
      given: open(
        cluster({
          stage: "new",
          with: { claims: [...claimsOf("abc", HTTPS).slice(1), ...claimsOf("abc").slice(0, 1)] },
        }),
      ),
      expect: "warn: claims-unclear",
    },
    {
      name: "writes no default TLS when a restore without TLS has created a claim",
      given: open(
        cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: asked(), claims: [claim("my-etcd-0")] } }),
      ),
      expect: "wait: await-restore",
    },
    {
      name: "writes no default TLS when a restore without TLS has not created a claim yet",
      given: open(cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: asked() } })),
      expect: "wait: await-restore",
    },
    {
      name: "writes no default TLS after the identity is recorded",
      given: open(cluster({ stage: "recorded" })),
      expect: "headless-service: createService my-etcd",
    },
    {
      name: "writes default TLS despite an EtcdRestore with another owner",
      given: open(cluster({ stage: "new", with: { restore: etcdRestore() } })),
      expect: "default-tls: writeTls",
    },
    {
      name: "writes default TLS despite quarantined claims with http",
      given: open(
        cluster({
          stage: "new",
          with: { claims: claimsOf("abc").map((each) => labelled(each, QUARANTINE_LABEL)) },
        }),
      ),
      expect: "default-tls: writeTls",
    },
    {
      name: "warns and records no identity when a kept claim has no member ID",
      given: cluster({
        stage: "new",
        with: { claims: [claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" })] },
      }),
      expect: "warn: claims-unclear",
    },
    {
      name: "warns and does not take over a Service with another owner",
      given: cluster({ stage: "new", with: { headlessService: foreignService } }),
      expect: "warn: name-taken",
    },
    {
      name: "records that a first member has joined when it answers with its IDs",
      given: {
        ...starting,
        endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, first!.id, first!.id))]]),
      },
      expect: "record-joined: recordJoined my-etcd-0",
    },
    {
      name: "fences a member that is recorded as joined",
      given: cluster({ stage: "joined" }),
      expect: "fence: replacePeer my-etcd-0 fenced",
    },
    {
      name: "adopts the identity from claims of an earlier cluster with the same name",
      given: cluster({
        stage: "new",
        with: { claims: [0, 1, 2].map((n) => claim(`my-etcd-${n}`, claimIdentity("abc", `${n + 1}`))) },
      }),
      expect: "adopt-claims: recordIdentity",
    },
    {
      name: "adopts a claim of the same cluster that appears before the members have a quorum",
      given: withoutQuorum([claim("my-etcd-3", claimIdentity(identity.clusterID, "f00"))]),
      expect: "adopt-claims: recordIdentity",
    },
    {
      name: "waits for a quorum while no further claim of an adopted cluster appears",
      given: withoutQuorum([]),
      expect: "warn: await-quorum",
    },
    {
      name: "warns and adopts no identity from claims of two clusters",
      given: cluster({
        stage: "new",
        with: {
          claims: [claim("my-etcd-0", claimIdentity("abc", "1")), claim("my-etcd-1", claimIdentity("def", "2"))],
        },
      }),
      expect: "warn: claims-unclear",
    },
    {
      name: "fences a learner that has started before it is promoted",
      given: withArrival(cluster({ spec: { replicas: 5 } }), "my-etcd-3", "started"),
      expect: "fence: replacePeer my-etcd-3 fenced",
    },
    {
      name: "records a first member that etcd lists as started, even if it never answered",
      given: withStraggler(cluster({ down: ["my-etcd-2"] }), { started: true }),
      expect: "record-joined: recordJoined my-etcd-2",
    },
    {
      name: "creates an EtcdRestore when spec.bootstrap names a backup",
      given: cluster({ stage: "new", spec: FROM_BACKUP }),
      expect: "create-restore: createRestore my-etcd",
    },
    {
      name: "creates no EtcdRestore while spec.replicas is 0",
      given: cluster({ stage: "new", spec: { ...FROM_BACKUP, replicas: 0 } }),
      expect: "settled",
    },
    {
      name: "creates no EtcdRestore when a claim of an earlier cluster was kept",
      given: cluster({
        stage: "new",
        spec: FROM_BACKUP,
        with: { claims: [claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" })] },
      }),
      expect: "warn: claims-unclear",
    },
    {
      name: "waits until the EtcdRestore has filled the claims",
      given: cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: asked(), claims: [claim("my-etcd-0")] } }),
      expect: "wait: await-restore",
    },
    {
      name: "adopts the identity from claims that the EtcdRestore has filled",
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
      name: "does not start empty when the restore has failed",
      given: cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: asked({ status: { phase: "Failed" } }) } }),
      expect: "warn: restore-failed",
    },
    {
      name: "warns about an EtcdRestore with another owner and does not use it",
      given: cluster({ stage: "new", spec: FROM_BACKUP, with: { restore: etcdRestore() } }),
      expect: "warn: restore-failed",
    },
    {
      name: "does not start empty when the claims of a restored cluster are gone",
      given: cluster({ stage: "new", annotations: RESTORED }),
      expect: "warn: restore-failed",
    },
    {
      name: "adopts the identity from the claims of a restored cluster",
      given: cluster({ stage: "new", annotations: RESTORED, with: { claims: claimsOf("abc") } }),
      expect: "adopt-claims: recordIdentity",
    },
    {
      name: "warns when a claim of a restored cluster has no cluster and member ID",
      given: cluster({ stage: "new", annotations: RESTORED, with: { claims: [claim("my-etcd-0")] } }),
      expect: "warn: claims-unclear",
    },
    {
      name: "creates an EtcdRestore for spec.bootstrap also in a restored cluster",
      given: cluster({ stage: "new", annotations: RESTORED, spec: FROM_BACKUP }),
      expect: "create-restore: createRestore my-etcd",
    },
    {
      name: "continues to form a restored cluster after its identity is recorded",
      given: cluster({ stage: "recorded", annotations: RESTORED }),
      expect: "headless-service: createService my-etcd",
    },
    {
      name: "starts empty without spec.bootstrap despite a failed EtcdRestore",
      given: cluster({ stage: "new", with: { restore: asked({ status: { phase: "Failed" } }) } }),
      expect: "record-identity: recordIdentity",
    },
    {
      name: "starts empty without spec.bootstrap despite an unfinished EtcdRestore",
      given: cluster({ stage: "new", with: { restore: asked() } }),
      expect: "record-identity: recordIdentity",
    },
    {
      name: "does not wait for an EtcdRestore once the cluster exists",
      given: cluster({ spec: FROM_BACKUP, with: { restore: asked() } }),
      expect: "settled",
    },
    {
      name: "ignores a failed EtcdRestore once the cluster exists",
      given: cluster({ spec: FROM_BACKUP, with: { restore: asked({ status: { phase: "Failed" } }) } }),
      expect: "settled",
    },
  ],
  rulesIn("src/cluster/identity").filter((name) => !["await-members", "bootstrap"].includes(name)),
);
