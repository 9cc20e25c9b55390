import { describe, expect, test } from "vitest";
import { FIRST_BACKUP_ANNOTATION, firstBackupName, WAIVE_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { unknown } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { firstBackup } from "#cluster/update/desired/first-backup.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { NEWER, NEXT_MINOR, ON_DELETE, wanting, withStop, withUpdated } from "#kit/snapshots/cluster-rolling.ts";
import { etcdBackup } from "#kit/snapshots/etcd-backup.ts";
import { etcdBackupSchedule, TEMPLATE } from "#kit/snapshots/schedule.ts";
import { planText } from "#kit/tables/plan-text.ts";
import { nameOfFirstBackup, nextSchedule } from "./first-backup.ts";
import { lacksFirstBackup, whyNotYet } from "./version-path.ts";

// The backup before the first update to a newer minor release.

const schedule = etcdBackupSchedule();
const asleep = etcdBackupSchedule({ spec: { suspend: true } });
const other = {
  ...etcdBackupSchedule({ spec: { backupTemplate: { spec: { ...TEMPLATE, compression: "Zstd" } } } }),
};
const upgrade = wanting(NEXT_MINOR);
const asked = { ...upgrade, schedules: [schedule] };
const uid = upgrade.cluster.metadata.uid;

function made(status: EtcdBackup["status"], of = uid): EtcdBackup {
  const { status: _, ...backup } = etcdBackup();
  const metadata = {
    ...backup.metadata,
    name: nameOfFirstBackup(upgrade),
    annotations: { [FIRST_BACKUP_ANNOTATION]: of },
    creationTimestamp: new Date(NOW - 60_000).toISOString(),
  };
  return { ...backup, metadata, ...(status === undefined ? {} : { status }) };
}

function withBackup(status: EtcdBackup["status"], of = uid, atMs = NOW): ClusterSnapshot {
  return { ...asked, sourceBackups: [made(status, of)], takenAtMs: atMs };
}

function withOnes(...sourceBackups: readonly EtcdBackup[]): ClusterSnapshot {
  return { ...asked, sourceBackups };
}

function numbered(status: EtcdBackup["status"], name: string): EtcdBackup {
  const backup = made(status);
  return { ...backup, metadata: { ...backup.metadata, name } };
}

function deleted(backup: EtcdBackup): EtcdBackup {
  return { ...backup, metadata: { ...backup.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
}

function verified(status: "True" | "False" | "Unknown", reason: string): NonNullable<EtcdBackup["status"]> {
  return { ...STORED, conditions: [{ ...WRONG, status, reason }] };
}

function edited(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster } = snapshot;
  return { ...snapshot, cluster: { ...cluster, metadata: { ...cluster.metadata, generation: 9 } } };
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
const HOUR = 3_600_000;
const STORED = { phase: "Completed" as const, completionTime: "2026-01-01T12:00:00Z" };
const WRONG = { type: "Verified", status: "False" as const, reason: "VerificationFailed", message: "the hash differs", observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" }; // biome-ignore format: one thing
/** A schedule with another template and a later name. */
const later = etcdBackupSchedule({
  name: "weekly",
  spec: { backupTemplate: { spec: { ...TEMPLATE, compression: "Zstd" } } },
});
const TURN = "update-member: replacePeer my-etcd-2";

/** An hour after the backup, while no member can be updated. */
const late = withBackup(STORED, uid, NOW + HOUR + 1);

const { pods, endpoints } = wanting(NEXT_MINOR, { down: ["my-etcd-1"] });
const unfit = { pods, endpoints };

function told(snapshot: ClusterSnapshot): string {
  return planText(planCluster(snapshot), (step) =>
    "peer" in step ? `${step.do} ${step.peer.metadata.name}` : step.do,
  );
}

describe("before the first update to a newer minor release", () => {
  test.each<[string, ClusterSnapshot, string]>([
    ["needs no backup without an EtcdBackupSchedule", upgrade, TURN],
    ["needs no backup when each schedule is suspended", { ...upgrade, schedules: [asleep] }, TURN],
    ["makes a backup", asked, "backup-first: createBackup"],
    ["makes a backup when one schedule of two is suspended", { ...upgrade, schedules: [asleep, schedule] }, "backup-first: createBackup"],
    ["makes no backup for a patch release", { ...wanting(NEWER), schedules: [schedule] }, TURN],
    ["makes no backup when a member already runs the release", { ...withUpdated(upgrade, "my-etcd-2"), schedules: [schedule] }, "update-member: replacePeer my-etcd-1"],
    ["waits until the backup is stored", withBackup({ phase: "BackingUp" }), "wait: backup-first"],
    ["waits for a backup without a status", withBackup(undefined), "wait: backup-first"],
    ["warns when the backup takes half an hour", withBackup({ phase: "BackingUp" }, uid, NOW + 29 * 60_000), "warn: backup-first"],
    ["does not warn while the backup takes less than half an hour", withBackup({ phase: "BackingUp" }, uid, NOW + 29 * 60_000 - 1), "wait: backup-first"],
    ["updates the first member once the backup is stored", withBackup(STORED), TURN],
    ["warns when the backup has failed", withBackup(failed), "warn: backup-first"],
    ["does not count a backup of another cluster", withBackup(STORED, "another"), "backup-first: createBackup"],
    ["counts a backup that is an hour old", withBackup(STORED, uid, NOW + HOUR), TURN],
    ["makes a new backup when the stored one is older than an hour", withBackup(STORED, uid, NOW + HOUR + 1), "backup-first: createBackup"],
    ["counts a backup of any age with OnDelete", { ...withBackup(STORED, uid, NOW + 30 * 24 * HOUR), cluster: wanting(NEXT_MINOR, { spec: ON_DELETE }).cluster }, TURN],
    ["does not count a backup that is being deleted", withOnes(deleted(made(STORED))), "backup-first: createBackup"],
    ["does not count a backup with a failed verification", withBackup(verified("False", "VerificationFailed")), "warn: backup-first"],
    ["does not count a backup with a corrupt snapshot", withBackup(verified("False", "SnapshotCorrupt")), "warn: backup-first"],
    ["does not count a backup that cannot be restored", withBackup(verified("False", "RestoreToolFailed")), "warn: backup-first"],
    ["does not count a backup without its data", withBackup(verified("False", "NoSuchObject")), "warn: backup-first"],
    ["counts a backup with an unknown result of verification", withBackup(verified("Unknown", "VerificationFailed")), TURN],
    ["makes a backup from the next schedule after a failure, also while a member is unfit", { ...withBackup(failed), ...unfit, schedules: [schedule, later] }, "backup-first: createBackup"],
    ["counts a backup that could not be verified", withBackup(verified("False", "PodPending")), TURN],
    ["counts a backup that is being verified", withBackup(verified("Unknown", "Verifying")), TURN],
    ["counts a verified backup", withBackup(verified("True", "Verified")), TURN],
    ["ignores other conditions of the backup", withBackup({ ...STORED, conditions: [{ ...WRONG, type: "ObjectDeleted" }] }), TURN],
    ["makes no new backup after another edit of the spec", edited(withBackup(STORED)), TURN],
    ["makes no backup while a backup for another release is active", withOnes(numbered({ phase: "BackingUp" }, "my-etcd-before-3.6-1")), "wait: backup-first"],
    ["does not count a backup for another release", withOnes(numbered(STORED, "my-etcd-before-3.6-1")), "backup-first: createBackup"],
    ["does not count a backup with a name that a person chose", withOnes(numbered(STORED, "mine-1")), "backup-first: createBackup"],
    ["does not wait for a backup that is being deleted", withOnes(deleted(made({ phase: "BackingUp" }))), "backup-first: createBackup"],
    ["does not wait for a person's backup", withOnes(made({ phase: "BackingUp" }, "")), "backup-first: createBackup"],
    ["uses the next schedule after a failure", { ...withBackup(failed), schedules: [schedule, later] }, "backup-first: createBackup"],
    ["stops after each schedule has failed", { ...withOnes(made(failed), { ...numbered(failed, "my-etcd-before-3.7-2"), spec: later.spec.backupTemplate.spec }), schedules: [schedule, later] }, "warn: backup-first"],
    ["counts a stored backup when backups before and after it failed", { ...withOnes(made(failed), numbered(STORED, "my-etcd-before-3.7-2"), numbered(failed, "my-etcd-before-3.7-3")) }, TURN],
    ["makes no new backup after a stopped update", { ...late, cluster: withStop(late, "my-etcd-2").cluster }, "settled"],
    ["makes no new backup while a member is unfit", { ...late, ...unfit }, "wait: backup-first"],
    ["needs no backup when the only schedule is being deleted", { ...upgrade, schedules: [etcdBackupSchedule({ deleting: true })] }, TURN],
    ["needs no backup when BackupFirst is waived", waived(asked, "BackupFirst until 2026-01-01T13:00:00Z"), TURN],
    ["needs a backup after the waiver has expired", waived(asked, "BackupFirst until 2026-01-01T12:00:00Z"), "backup-first: createBackup"],
    ["ignores other waivers", waived(asked, "MembersReady until 2026-01-01T13:00:00Z"), "backup-first: createBackup"],
    ["makes no backup for an unreachable release", { ...wanting({ ...NEXT_MINOR, version: "3.9.1" }), schedules: [schedule] }, "settled"],
  ])("%s", (_, snapshot, expected) => expect(told(snapshot)).toBe(expected)); // biome-ignore format: a table

  test("names the latest failed backup in the warning", () => {
    const [first, second] = [made(failed), numbered(failed, "my-etcd-before-3.7-2")];
    const because = expect.stringMatching(/^EtcdBackup my-etcd-before-3.7-2 has failed/);
    for (const snapshot of [withOnes(first, second), withOnes(second, first)])
      expect(planCluster(snapshot)).toMatchObject({ because });
  });

  test("reports which backup is made, has failed, is too old or is awaited", () => {
    expect(planCluster(asked)).toMatchObject({
      because:
        "EtcdBackup my-etcd-before-3.7-1 is made before the update to 3.7.1, from the template of EtcdBackupSchedule nightly",
    });
    expect(planCluster(withBackup(failed))).toMatchObject({
      because:
        "EtcdBackup my-etcd-before-3.7-1 has failed: the bucket is full; delete it to make a new one, or waive BackupFirst; the update to 3.7.1 waits",
    });
    expect(planCluster(withBackup(verified("False", "VerificationFailed")))).toMatchObject({
      because: expect.stringMatching(/^EtcdBackup my-etcd-before-3.7-1 has failed: the hash differs; delete it/),
    });
    expect(planCluster({ ...late, ...unfit })).toMatchObject({
      because: expect.stringMatching(/^EtcdBackup my-etcd-before-3.7-1 is too old; a new one is made once my-etcd-1 /),
    });
    expect(planCluster(withBackup(undefined))).toMatchObject({
      because: "the update to 3.7.1 waits until EtcdBackup my-etcd-before-3.7-1 is stored",
    });
  });

  test("no member may move to the newer release without a stored backup", () => {
    const why = "no recent EtcdBackup is stored";
    expect(whyNotYet(asked, "my-etcd-2", "3.7.1")).toBe(why);
    expect(whyNotYet(withBackup({ phase: "Failed" }), "my-etcd-2", "3.7.1")).toBe(why);
    expect(whyNotYet(withBackup(STORED), "my-etcd-2", "3.7.1")).toBeUndefined();
    expect(whyNotYet(asked, "my-etcd-2", "3.6.17")).toBeUndefined();
  });

  test("lacksFirstBackup is true only for a newer minor without a stored backup", () => {
    expect(lacksFirstBackup(asked)).toBe(true);
    expect(lacksFirstBackup(withBackup(STORED))).toBe(false);
    expect(lacksFirstBackup({ ...wanting(NEWER), schedules: [schedule] })).toBe(false);
    const { status: _, ...unformed } = asked.cluster;
    const withoutMembers = {
      ...asked,
      cluster: unformed,
      peers: [],
      pods: new Map(),
      members: unknown("no member was asked"),
    };
    expect(lacksFirstBackup(withoutMembers)).toBe(false);
  });
});

test("the first backup has the schedule's template, the cluster's uid and no owner", () => {
  expect(firstBackup(asked, other)).toEqual({
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdBackup",
    metadata: {
      namespace: "foo",
      name: "my-etcd-before-3.7-1",
      labels: { "app.kubernetes.io/managed-by": "etcd-cluster-operator" },
      annotations: { [FIRST_BACKUP_ANNOTATION]: uid },
    },
    spec: { ...schedule.spec.backupTemplate.spec, compression: "Zstd" },
  });
});

test("the first backup gets the template's labels and annotations, and keeps the operator's own", () => {
  const labels = { team: "shop", "app.kubernetes.io/managed-by": "another" };
  const annotations = { "example.com/cost": "7", [FIRST_BACKUP_ANNOTATION]: "another" };
  const backupTemplate = { ...other.spec.backupTemplate, metadata: { labels, annotations } };
  expect(firstBackup(asked, { ...other, spec: { ...other.spec, backupTemplate } }).metadata).toMatchObject({
    labels: { team: "shop", "app.kubernetes.io/managed-by": "etcd-cluster-operator" },
    annotations: { "example.com/cost": "7", [FIRST_BACKUP_ANNOTATION]: uid },
  });
});

test("nextSchedule prefers a schedule with good backups, then a Ready one, then the first by name", () => {
  const named = (name: string, conditions: object) =>
    etcdBackupSchedule({
      name,
      status: { conditions: Object.entries(conditions).map(([type, status]) => ({ ...WRONG, type, status })) },
    });
  const [broken, goes, good] = [named("a", { Ready: "False" }), named("b", { Ready: "True", BackupReady: "False" }), named("c", { BackupReady: "True" })]; // biome-ignore format: a list
  const chosen = (...schedules: EtcdBackupSchedule[]) => nextSchedule({ ...upgrade, schedules })?.metadata.name;
  expect([chosen(broken, goes, good), chosen(broken, goes), chosen(broken, named("d", {})), chosen()]).toEqual(["c", "b", "a", undefined]); // biome-ignore format: a list
  expect(chosen(etcdBackupSchedule({ name: "c", deleting: true }), broken)).toBe("a");
  expect(chosen(good, named("d", { BackupReady: "True" }))).toBe("c");
});

test("the name of the next backup has the next free number", () => {
  const next = (...names: string[]) => nameOfFirstBackup(withOnes(...names.map((name) => numbered(STORED, name))));
  expect(next("my-etcd-before-3.7-2", "my-etcd-before-3.7-1")).toBe("my-etcd-before-3.7-3");
  expect(next("my-etcd-before-3.6-7", "my-etcd-before-3.7-01", "nightly-9", "my-etcd-before-3.7")).toBe(
    "my-etcd-before-3.7-1",
  );
  expect(nameOfFirstBackup(withOnes(deleted(made(STORED, "another"))))).toBe("my-etcd-before-3.7-2");
});

test("the name of a first backup has release and number, and at most 63 characters", () => {
  expect(firstBackupName("orders", "3.7", 12)).toBe("orders-before-3.7-12");
  expect(firstBackupName("a".repeat(50), "3.7", 1)).toHaveLength(63);
  const long = firstBackupName("a".repeat(51), "3.7", 1);
  expect(long).toMatch(/^cluster-[0-9a-f]{16}-before-3[.]7-1$/);
  expect(firstBackupName("a".repeat(52), "3.7", 1)).not.toBe(long);
  const { cluster } = upgrade;
  const soon = { ...upgrade, cluster: { ...cluster, spec: { ...cluster.spec, version: "soon" } } };
  expect(nameOfFirstBackup(soon)).toBe("my-etcd-before-none-1");
});
