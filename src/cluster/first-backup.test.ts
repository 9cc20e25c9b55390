import { describe, expect, test } from "vitest";
import { FIRST_BACKUP_ANNOTATION, firstBackupName, WAIVE_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { unknown } from "#base/observed.ts";
import { firstBackup } from "#cluster/desired/first-backup.ts";
import { nameOfFirstBackup } from "#cluster/first-backup.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { lacksFirstBackup, whyNotYet } from "#cluster/version-path.ts";
import { NOW } from "#kit/cluster.ts";
import { NEWER, NEXT_MINOR, wanting, withUpdated } from "#kit/cluster-rolling.ts";
import { etcdBackup } from "#kit/etcd-backup.ts";
import { planText } from "#kit/plan-text.ts";
import { etcdBackupSchedule } from "#kit/schedule.ts";

// A backup before the first member goes to a newer minor release.

const schedule = etcdBackupSchedule();
const asleep = etcdBackupSchedule({ spec: { suspend: true } });
const other = {
  ...etcdBackupSchedule({ spec: { backupTemplate: { ...schedule.spec.backupTemplate, compression: "Zstd" } } }),
};
const upgrade = wanting(NEXT_MINOR);
const asked = { ...upgrade, schedules: [schedule] };
const uid = upgrade.cluster.metadata.uid;

function made(status: EtcdBackup["status"], of = uid): EtcdBackup {
  const { status: _, ...backup } = etcdBackup();
  const metadata = {
    ...backup.metadata,
    name: nameOfFirstBackup(upgrade.cluster),
    annotations: { [FIRST_BACKUP_ANNOTATION]: of },
    creationTimestamp: new Date(NOW - 60_000).toISOString(),
  };
  return { ...backup, metadata, ...(status === undefined ? {} : { status }) };
}

function withBackup(status: EtcdBackup["status"], of = uid, atMs = NOW): ClusterSnapshot {
  return { ...asked, firstBackup: made(status, of), takenAtMs: atMs };
}

function waived(snapshot: ClusterSnapshot, text: string): ClusterSnapshot {
  const { cluster } = snapshot;
  const annotations = { ...cluster.metadata.annotations, [WAIVE_ANNOTATION]: text };
  return { ...snapshot, cluster: { ...cluster, metadata: { ...cluster.metadata, annotations } } };
}

const failed = {
  phase: "Failed" as const,
  conditions: [{ type: "Failed", status: "True" as const, reason: "NoSpace", message: "the bucket is full", observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" }],
}; // biome-ignore format: one thing
const TURN = "give-turn: replacePeer my-etcd-2";

function told(snapshot: ClusterSnapshot): string {
  return planText(planCluster(snapshot), (step) =>
    "peer" in step ? `${step.do} ${step.peer.metadata.name}` : step.do,
  );
}

describe("before the first member goes to a newer minor release", () => {
  test.each<[string, ClusterSnapshot, string]>([
    ["nothing is asked for without a schedule", upgrade, TURN],
    ["nor when each is suspended", { ...upgrade, schedules: [asleep] }, TURN],
    ["a backup is made", asked, "backup-first: createBackup"],
    ["also when one schedule of two is suspended", { ...upgrade, schedules: [asleep, schedule] }, "backup-first: createBackup"],
    ["not for a patch", { ...wanting(NEWER), schedules: [schedule] }, TURN],
    ["not when a member runs it already", { ...withUpdated(upgrade, "my-etcd-2"), schedules: [schedule] }, "give-turn: replacePeer my-etcd-1"],
    ["members wait until it is stored", withBackup({ phase: "BackingUp" }), "wait: backup-first"],
    ["also when nobody has looked at it", withBackup(undefined), "wait: backup-first"],
    ["and after half an hour a person hears of it", withBackup({ phase: "BackingUp" }, uid, NOW + 29 * 60_000), "warn: backup-first"],
    ["but not before", withBackup({ phase: "BackingUp" }, uid, NOW + 29 * 60_000 - 1), "wait: backup-first"],
    ["when it is stored, the first one has its turn", withBackup({ phase: "Completed" }), TURN],
    ["when it has failed, a person hears of it", withBackup(failed), "warn: backup-first"],
    ["one of another cluster is not taken for it", withBackup({ phase: "Completed" }, "another"), "warn: backup-first"],
    ["nobody waits when that is waived", waived(asked, "backup-first until 2026-01-01T13:00:00Z"), TURN],
    ["which has its end", waived(asked, "backup-first until 2026-01-01T12:00:00Z"), "backup-first: createBackup"],
    ["another waiver is none of it", waived(asked, "members-ready until 2026-01-01T13:00:00Z"), "backup-first: createBackup"],
    ["and none is made for a release that nobody can go to", { ...wanting({ ...NEXT_MINOR, version: "3.9.1" }), schedules: [schedule] }, "settled"],
  ])("%s", (_, snapshot, expected) => expect(told(snapshot)).toBe(expected)); // biome-ignore format: a table

  test("it is said why", () => {
    expect(planCluster(asked)).toMatchObject({
      because:
        "EtcdBackup my-etcd-before-3.7-1 is made before members go to 3.7.1, as EtcdBackupSchedule nightly has it",
    });
    expect(planCluster(withBackup(failed))).toMatchObject({
      because:
        "EtcdBackup my-etcd-before-3.7-1 has failed: the bucket is full; when it is deleted, another one is made; members go to 3.7.1 when one is stored, or backup-first is waived",
    });
    expect(planCluster(withBackup({ phase: "Completed" }, "another"))).toMatchObject({
      because:
        "EtcdBackup my-etcd-before-3.7-1 exists, and is not of this cluster; members go to 3.7.1 when it is gone",
    });
    expect(planCluster(withBackup(undefined))).toMatchObject({
      because: "members go to 3.7.1 when EtcdBackup my-etcd-before-3.7-1 is stored",
    });
  });

  test("nobody is given the newer release before, whichever rule would do so", () => {
    const why = "EtcdBackup my-etcd-before-3.7-1, of the moment before, is not stored";
    expect(whyNotYet(asked, "my-etcd-2", "3.7.1")).toBe(why);
    expect(whyNotYet(withBackup({ phase: "Failed" }), "my-etcd-2", "3.7.1")).toBe(why);
    expect(whyNotYet(withBackup({ phase: "Completed" }), "my-etcd-2", "3.7.1")).toBeUndefined();
    expect(whyNotYet(asked, "my-etcd-2", "3.6.17")).toBeUndefined();
  });

  test("a backup that is missing is told as such, of the release that is asked for alone", () => {
    expect(lacksFirstBackup(asked)).toBe(true);
    expect(lacksFirstBackup(withBackup({ phase: "Completed" }))).toBe(false);
    expect(lacksFirstBackup({ ...wanting(NEWER), schedules: [schedule] })).toBe(false);
    const { status: _, ...unformed } = asked.cluster;
    const nobody = { ...asked, cluster: unformed, peers: [], pods: new Map(), members: unknown("nobody was asked") };
    expect(lacksFirstBackup(nobody)).toBe(false);
  });
});

test("it is what the first schedule makes, belongs to the cluster by its uid, and to no schedule", () => {
  expect(firstBackup(asked, other)).toEqual({
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdBackup",
    metadata: {
      namespace: "foo",
      name: "my-etcd-before-3.7-1",
      labels: { "app.kubernetes.io/managed-by": "etcd-cluster-operator" },
      annotations: { [FIRST_BACKUP_ANNOTATION]: uid },
    },
    spec: { ...schedule.spec.backupTemplate, compression: "Zstd" },
  });
});

test("its name holds release and generation, and always fits", () => {
  expect(firstBackupName("orders", "3.7", 12)).toBe("orders-before-3.7-12");
  expect(firstBackupName("a".repeat(50), "3.7", 1)).toHaveLength(63);
  const long = firstBackupName("a".repeat(51), "3.7", 1);
  expect(long).toMatch(/^cluster-[0-9a-f]{16}-before-3[.]7-1$/);
  expect(firstBackupName("a".repeat(52), "3.7", 1)).not.toBe(long);
  const { cluster } = upgrade;
  expect(nameOfFirstBackup({ ...cluster, spec: { ...cluster.spec, version: "soon" } })).toBe("my-etcd-before-none-1");
  const { generation: _, ...metadata } = cluster.metadata;
  expect(nameOfFirstBackup({ ...cluster, metadata })).toBe("my-etcd-before-3.7-0");
});
