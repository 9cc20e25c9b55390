import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { otherReach } from "#backup/reach.ts";
import { targetOf } from "#backup/target.ts";
import { mountedIn } from "#cluster-tls/check/trusted.ts";
import { backup, overTls } from "#kit/snapshots/etcd-backup.ts";
import type { PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet } from "#kube/kinds.ts";
import { tlsVolumes } from "#peer/desired/tls.ts";
import { beginningOf } from "#schedule/snapshot.ts";
import {
  ofAnotherShard,
  whatMatters,
  withEvictionsAlone,
  withPhaseAndSize,
  withSecretsAlone,
  withTaskAlone,
} from "./kept.ts";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "db-0-x", namespace: "foo", uid: "1", resourceVersion: "7", labels: { a: "b" } },
  spec: {
    hostname: "db-0",
    nodeName: "node-1",
    containers: [{ name: "etcd", image: "etcd" }],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "db-0" } },
      {
        name: "peer-tls",
        projected: {
          defaultMode: 288,
          sources: [{ configMap: { name: "x" } }, { secret: { name: "shown", items: [] } }],
        },
      },
    ],
  },
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }],
    hostIP: "10.0.0.9",
    qosClass: "Burstable",
    reason: "Evicted",
    message: "for want of memory",
    conditions: [
      { type: "Initialized", status: "True" },
      { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no node" },
      { type: "Ready", status: "True" },
    ],
    initContainerStatuses: [
      { name: "before", ready: true, restartCount: 0, state: { terminated: { exitCode: 0 } }, image: "i" },
    ],
    containerStatuses: [
      {
        name: "etcd",
        ready: true,
        restartCount: 2,
        state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
        lastState: { terminated: { exitCode: 1, message: "no" } },
        image: "etcd",
        imageID: "sha256:0",
      },
      { name: "beside", ready: false, restartCount: 0, state: {}, lastState: {} },
    ],
  },
} as unknown as Pod;

test("a cached pod has its member, its Secrets and its health", () => {
  expect(whatMatters(POD)).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: POD.metadata,
    spec: {
      hostname: "db-0",
      volumes: [{ name: "peer-tls", projected: { sources: [{ secret: { name: "shown" } }] } }],
    },
    status: {
      phase: "Running",
      podIP: "10.0.0.1",
      reason: "Evicted",
      message: "for want of memory",
      conditions: [
        { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no node" },
        { type: "Ready", status: "True" },
      ],
      initContainerStatuses: [{ name: "before", ready: true, restartCount: 0, state: { terminated: { exitCode: 0 } } }],
      containerStatuses: [
        {
          name: "etcd",
          ready: true,
          restartCount: 2,
          state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
          lastState: { terminated: { exitCode: 1, message: "no" } },
        },
        { name: "beside", ready: false, restartCount: 0, state: {} },
      ],
    },
  });
});

test("a cached pod may have no status", () => {
  const { status: _, spec: __, ...bare } = POD;
  expect(whatMatters(bare as Pod)).toEqual({ ...bare, spec: {} });
});

test.each(["peer", "client"] as const)("a cached pod shows the Secret of its %s certificates", (side) => {
  const tls = { peer: { secretName: "shown-peer", trust: "a" }, client: { secretName: "shown-client", trust: "b" } };
  const volumes = tlsVolumes({ tls } as Parameters<typeof tlsVolumes>[0]);
  const pod = { ...POD, spec: { ...POD.spec, volumes } } as Pod;
  expect(mountedIn(whatMatters(pod), side)).toBe(`shown-${side}`);
});

test("a cached Job shows its agent's task and Secret, so a new way to reach the cluster is noticed", () => {
  const archive = { spec: { archive: {} } };
  const plain = backup(archive);
  const secured = backup({ ...archive, with: { cluster: overTls() } });
  const keptIn = (snapshot: typeof plain) => {
    const { job, pods } = snapshot.taking!;
    return { ...snapshot, taking: { pods, job: withTaskAlone(job) } };
  };
  for (const snapshot of [plain, secured]) {
    expect(otherReach(keptIn(snapshot))).toBeUndefined();
    expect(JSON.stringify(withTaskAlone(snapshot.taking!.job))).not.toMatch(/securityContext|credentials-|"image"/);
    expect(targetOf(keptIn(snapshot))).toEqual(targetOf(snapshot));
  }
  const over =
    "EtcdCluster my-etcd is now reached over TLS with Secret my-etcd-operator-tls instead of over plain HTTP";
  expect(otherReach({ ...keptIn(plain), cluster: secured.cluster })).toBe(over);
  const secret = { server: { name: "theirs" }, operator: { name: "mine" } };
  const brought = overTls({ client: { provider: "Secret", secret } });
  expect(otherReach({ ...keptIn(secured), cluster: brought })).toContain("with Secret mine instead of");
});

test("a cached Job without an agent has only its metadata and any status", () => {
  const { job } = backup().taking!;
  const { apiVersion, kind, metadata } = job;
  for (const spec of [undefined, { template: { spec: { containers: [{ name: "agent" }] } } }])
    expect(withTaskAlone({ ...job, spec } as never)).toStrictEqual({ apiVersion, kind, metadata });
  const status = { conditions: [] };
  expect(withTaskAlone({ ...job, spec: undefined, status } as never)).toStrictEqual({
    apiVersion,
    kind,
    metadata,
    status,
  });
});

test("a cached ReplicaSet has its number of pods and their Secrets", () => {
  const metadata = { name: "db-0", namespace: "foo", uid: "1", resourceVersion: "7" };
  const template = { metadata: { labels: { a: "b" } }, spec: POD.spec };
  const whole = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata, spec: { replicas: 1, selector: {}, template } };
  const kept = withSecretsAlone(whole as unknown as ReplicaSet);
  expect(kept).toEqual({
    ...whole,
    spec: {
      replicas: 1,
      template: { spec: { volumes: [{ name: "peer-tls", projected: { sources: [{ secret: { name: "shown" } }] } }] } },
    },
  });
  const bare = { ...whole, spec: { replicas: 0, template: { spec: { containers: [] } } } } as unknown as ReplicaSet;
  expect(withSecretsAlone(bare).spec).toEqual({ replicas: 0 });
});

test("a cached EtcdCluster of another shard has only its identity, readiness, sleep, replicas and pause", () => {
  const metadata = { name: "db", namespace: "foo", uid: "1", resourceVersion: "7" };
  const about = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", metadata };
  const spec = { replicas: 3, paused: false, version: "3.6.16", storage: { size: "1Gi" } };
  const ready = { type: "Ready", status: "True" };
  const [sleep, identity] = [{ startTime: "2026-01-01T00:00:00Z" }, { clusterID: "1" }];
  const status = { sleep, identity, conditions: [{ type: "Degraded", status: "False" }, ready], members: [{}] };
  const of = (cluster: object) => ofAnotherShard(cluster as EtcdCluster);
  expect(of({ ...about, spec, status })).toStrictEqual({
    ...about,
    spec: { replicas: 3, paused: false },
    status: { sleep, identity, conditions: [ready] },
  });
  expect(of({ ...about, spec: { replicas: 0, paused: true }, status: {} })).toStrictEqual({
    ...about,
    spec: { replicas: 0, paused: true },
    status: { sleep: undefined, identity: undefined, conditions: [] },
  });
  expect(of({ ...about, spec })).toStrictEqual({ ...about, spec: { replicas: 3, paused: false } });
});

test("a cached EtcdCluster of another shard has its bootstrap source until its etcd cluster exists", () => {
  const bootstrap = { fromBackup: { source: { backupName: "nightly" } } };
  const metadata = { name: "copy", namespace: "foo", uid: "1" };
  const copy = { metadata, spec: { replicas: 3, bootstrap } } as unknown as EtcdCluster;
  expect(beginningOf(ofAnotherShard(copy))).toBe("nightly");
  expect(ofAnotherShard(copy).spec.bootstrap).toEqual(bootstrap);
  const begun = { ...copy, status: { identity: { clusterID: "1" } } } as EtcdCluster;
  expect(ofAnotherShard(begun).spec).not.toHaveProperty("bootstrap");
});

test("cached objects have no counters of other controllers, so a changed counter starts no pass", () => {
  const metadata = { name: "db-0", namespace: "foo", uid: "1", resourceVersion: "7" };
  const conditions = [{ type: "ReplicaFailure", status: "True", message: "quota" }];
  const counters = { observedGeneration: 3, conditions };
  const counted = { replicas: 1, readyReplicas: 1, availableReplicas: 1, fullyLabeledReplicas: 1 };
  const set = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata, spec: { replicas: 1 } };
  expect(withSecretsAlone({ ...set, status: { ...counters, ...counted } } as unknown as ReplicaSet)).toEqual({
    ...set,
    status: counters,
  });
  expect(withSecretsAlone(set as unknown as ReplicaSet)).toEqual(set);
  const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec: { minAvailable: 2 } };
  const evicted = { observedGeneration: 2, disruptedPods: { "db-0-x": "2026-01-01T00:00:00Z" } };
  const counts = { currentHealthy: 3, disruptionsAllowed: 1, conditions: [] };
  expect(
    withEvictionsAlone({ ...budget, status: { ...evicted, ...counts } } as unknown as PodDisruptionBudget),
  ).toEqual({
    ...budget,
    status: evicted,
  });
  expect(withEvictionsAlone(budget as unknown as PodDisruptionBudget)).toEqual(budget);
  const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: { volumeName: "pv" } };
  const status = { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
  expect(withPhaseAndSize({ ...claim, status } as unknown as PersistentVolumeClaim)).toEqual({
    ...claim,
    status: { phase: "Bound", capacity: { storage: "1Gi" } },
  });
  const small = { ...claim, status: { phase: "Pending" } } as unknown as PersistentVolumeClaim;
  expect(withPhaseAndSize(small)).toEqual(small);
  expect(withPhaseAndSize(claim as unknown as PersistentVolumeClaim)).toEqual(claim);
});
