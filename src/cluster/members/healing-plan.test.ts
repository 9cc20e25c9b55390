import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, sickFor, unpublished } from "#kit/snapshots/cluster.ts";
import {
  withAlarms,
  withIntent,
  withoutClaim,
  withStraggler,
  withUnboundClaim,
} from "#kit/snapshots/cluster-changes.ts";
import { testPlans } from "#kit/tables/cluster-plan.ts";
import type { Pod } from "#kube/kinds.ts";

// When the operator waits for a member, and when it replaces it.

const m1Id = cluster().cluster.status!.identity!.initialMembers[1]!.id;
const lost = sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000);
/** Two of three have joined. The third is listed, has never started, and its claim has no volume. */
const stragglerLost = begin(cluster({ down: ["my-etcd-2"] }))
  .apply(withStraggler, { started: false })
  .apply(withUnboundClaim, "my-etcd-2")
  .apply(sickFor, "my-etcd-2", 300_000).snapshot;

/** The member's container has stopped at the fence. */
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

testPlans(
  "src/cluster/members",
  [
    {
      name: "waits for a participating member to serve clients",
      given: unpublished(cluster(), "my-etcd-1"),
      expect: "wait: await-health",
    },
    {
      name: "waits for an initial member that is not known to have joined, although a process with its ID participates",
      given: { ...unpublished(cluster(), "my-etcd-1"), cluster: cluster().cluster, pods: new Map() },
      expect: "wait: await-health",
    },
    {
      name: "replaces a corrupt member although it participates",
      given: begin(cluster()).apply(sickFor, "my-etcd-1", 10_000).apply(unpublished, "my-etcd-1").apply(withAlarms, {
        type: "CORRUPT",
        id: m1Id,
      }).snapshot,
      expect: "replace-lost: markRemoval my-etcd-1 replacement",
    },
    {
      name: "never replaces a participating member, however long it serves no clients",
      given: begin(cluster()).apply(sickFor, "my-etcd-1", 3_000_000).apply(unpublished, "my-etcd-1").snapshot,
      expect: "warn: await-health",
    },
    {
      name: "waits for a lost member until spec.replacement.after is over",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 299_000),
      expect: "wait: await-health",
    },
    {
      name: "replaces a lost member once spec.replacement.after is over",
      given: sickFor(cluster({ down: ["my-etcd-1"] }), "my-etcd-1", 300_000),
      expect: "replace-lost: markRemoval my-etcd-1 replacement",
    },
    {
      name: "deletes an intent, which waits for the lost member, before it replaces the member",
      given: begin(cluster({ spec: { replicas: 5 }, down: ["my-etcd-1"] }))
        .apply(sickFor, "my-etcd-1", 300_000)
        .apply(withIntent).snapshot,
      expect: "replace-lost: deletePeer my-etcd-3",
    },
    {
      name: "replaces a lost member without a claim after ten seconds",
      given: begin(cluster({ down: ["my-etcd-1"] }))
        .apply(sickFor, "my-etcd-1", 10_000)
        .apply(withoutClaim, "my-etcd-1").snapshot,
      expect: "replace-lost: markRemoval my-etcd-1 replacement",
    },
    {
      name: "replaces a corrupt member after ten seconds",
      given: begin(cluster()).apply(sickFor, "my-etcd-1", 10_000).apply(withAlarms, { type: "CORRUPT", id: m1Id })
        .snapshot,
      expect: "replace-lost: markRemoval my-etcd-1 replacement",
    },
    {
      name: "replaces a lost member that stopped on an empty volume after ten seconds",
      given: begin(cluster({ down: ["my-etcd-1"] }))
        .apply(sickFor, "my-etcd-1", 10_000)
        .apply(withLastWords, "my-etcd-1").snapshot,
      expect: "replace-lost: markRemoval my-etcd-1 replacement",
    },
    { name: "waits for a member that is down", given: cluster({ down: ["my-etcd-1"] }), expect: "wait: await-health" },
    {
      name: "replaces an initial member that never joined after the majority formed the cluster",
      given: stragglerLost,
      expect: "replace-lost: markRemoval my-etcd-2 never-started",
    },
    {
      name: "never replaces a member that the kubelet reports Ready",
      given: { ...lost, pods: cluster().pods },
      expect: "wait: await-health",
    },
    {
      name: "never replaces a member with raft traffic to the leader",
      given: { ...lost, heard: new Set([m1Id]) },
      expect: "wait: await-health",
    },
  ],
  ["await-health", "replace-lost"],
);
