import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, sickFor, unpublished } from "#kit/cluster.ts";
import { withAlarms, withIntent, withoutClaim, withStraggler, withUnboundClaim } from "#kit/cluster-changes.ts";
import { testPlans } from "#kit/cluster-plan.ts";
import type { Pod } from "#kube/kinds.ts";

// Whom the operator waits for, and whom it gives up.

const m1Id = cluster().cluster.status!.identity!.initialMembers[1]!.id;
const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);
/** Two of three have joined; the third is listed, has never started, and its claim has no volume. */
const stragglerLost = sickFor(
  withUnboundClaim(withStraggler(cluster({ down: ["my-etcd-2"] }), { started: false }), "my-etcd-2"),
  "my-etcd-2",
  300_000,
);

/** The member's container has ended at the fence. */
function withLastWords(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const message =
    '{"level":"fatal","msg":"discovery failed","error":"couldn\'t find local name \\"my-etcd-1\\" in the initial cluster configuration"}';
  const pod = snapshot.pods.get(name)!;
  const status = {
    ...pod.status,
    containerStatuses: [
      {
        name: "etcd",
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: { exitCode: 1, message } },
      },
    ],
  };
  return { ...snapshot, pods: new Map([...snapshot.pods, [name, { ...pod, status } as unknown as Pod]]) };
}

testPlans("healing", [
  {
    name: "waits for one that takes part to serve clients",
    given: unpublished(cluster(), "my-etcd-1"),
    expect: "wait: await-health",
  },
  {
    name: "does not believe this of a first member: another cluster may have been formed with its ID",
    given: { ...unpublished(cluster(), "my-etcd-1"), cluster: cluster().cluster, pods: new Map() },
    expect: "wait: await-health",
  },
  {
    name: "nor of a member whose data is corrupt",
    given: withAlarms(unpublished(sickFor(cluster(), "my-etcd-1", 10_000), "my-etcd-1"), { type: "CORRUPT", id: m1Id }),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "never gives up one that takes part, however long it serves nobody",
    given: unpublished(sickFor(cluster(), "my-etcd-1", 3_000_000), "my-etcd-1"),
    expect: "warn: await-health",
  },
  {
    name: "waits for a lost member for the stated time",
    given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 299_000),
    expect: "wait: await-health",
  },
  {
    name: "then gives it up",
    given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "takes an intent back first, which waits for the lost member",
    given: withIntent(sickFor(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }), "my-etcd-1", 300_000)),
    expect: "replace-lost: deletePeer my-etcd-3",
  },
  {
    name: "gives a member up sooner whose claim is gone",
    given: withoutClaim(sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 10_000), "my-etcd-1"),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "gives a corrupt member up after the stated time",
    given: withAlarms(sickFor(cluster(), "my-etcd-1", 10_000), { type: "CORRUPT", id: m1Id }),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  {
    name: "gives a member up sooner that has stopped before an empty volume",
    given: withLastWords(sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 10_000), "my-etcd-1"),
    expect: "replace-lost: markRemoval my-etcd-1 replacement",
  },
  { name: "waits for a sick member", given: cluster({ down: ["my-etcd-1"] }), expect: "wait: await-health" },
  {
    name: "a cluster has formed when a majority has joined: the one that never came is lost like any other",
    given: stragglerLost,
    expect: "replace-lost: markRemoval my-etcd-2 never-started",
  },
  {
    name: "nobody is given up whom the kubelet calls ready",
    given: { ...lost, pods: cluster().pods },
    expect: "wait: await-health",
  },
  {
    name: "nobody is given up from whom the leader hears",
    given: { ...lost, heard: new Set([m1Id]) },
    expect: "wait: await-health",
  },
]);
