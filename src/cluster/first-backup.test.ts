import { describe, expect, test } from "vitest";
import { FIRST_BACKUP_ANNOTATION, firstBackupName, WAIVE_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { unknown } from "#base/observed.ts";
import { firstBackup } from "#cluster/desired/first-backup.ts";
import { nameOfFirstBackup, nextSchedule } from "#cluster/first-backup.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { lacksFirstBackup, whyNotYet } from "#cluster/version-path.ts";
import { NOW } from "#kit/cluster.ts";
import { NEWER, NEXT_MINOR, ON_DELETE, wanting, withStop, withUpdated } from "#kit/cluster-rolling.ts";
import { etcdBackup } from "#kit/etcd-backup.ts";
import { planText } from "#kit/plan-text.ts";
import { etcdBackupSchedule, TEMPLATE } from "#kit/schedule.ts";

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
/** One that says something else, and comes later by its name. */
const later = etcdBackupSchedule({ name: "weekly", spec: { backupTemplate: { ...TEMPLATE, compression: "Zstd" } } });
const TURN = "give-turn: replacePeer my-etcd-2";

/** An hour after the backup, while nobody could go. */
const late = withBackup(STORED, uid, NOW + HOUR + 1);

const { pods, endpoints } = wanting(NEXT_MINOR, { down: ["my-etcd-1"] });
const nobodyGoes = { pods, endpoints };

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
    ["when it is stored, the first one has its turn", withBackup(STORED), TURN],
    ["when it has failed, a person hears of it", withBackup(failed), "warn: backup-first"],
    ["one of another cluster is not taken for it", withBackup(STORED, "another"), "backup-first: createBackup"],
    ["also one that is an hour old", withBackup(STORED, uid, NOW + HOUR), TURN],
    ["but no older one: another one is made", withBackup(STORED, uid, NOW + HOUR + 1), "backup-first: createBackup"],
    ["with OnDelete it is of the edit", { ...withBackup(STORED, uid, NOW + 30 * 24 * HOUR), cluster: wanting(NEXT_MINOR, { spec: ON_DELETE }).cluster }, TURN],
    ["one that is being deleted is none", withOnes(deleted(made(STORED))), "backup-first: createBackup"],
    ["nor is one whose data was found to be wrong", withBackup(verified("False", "VerificationFailed")), "warn: backup-first"],
    ["nor one that cannot be made whole", withBackup(verified("False", "SnapshotCorrupt")), "warn: backup-first"],
    ["nor one of which no data directory can be made", withBackup(verified("False", "RestoreToolFailed")), "warn: backup-first"],
    ["nor one that is not there any more", withBackup(verified("False", "NoSuchObject")), "warn: backup-first"],
    ["a verdict that is open says nothing", withBackup(verified("Unknown", "VerificationFailed")), TURN],
    ["after a failure nobody waits until all are fit", { ...withBackup(failed), ...nobodyGoes, schedules: [schedule, later] }, "backup-first: createBackup"],
    ["one that could not be verified is", withBackup(verified("False", "PodPending")), TURN],
    ["and one that is being verified", withBackup(verified("Unknown", "Verifying")), TURN],
    ["and one that was verified", withBackup(verified("True", "Verified")), TURN],
    ["what another condition says is not its data", withBackup({ ...STORED, conditions: [{ ...WRONG, type: "ObjectDeleted" }] }), TURN],
    ["an edit of something else makes no other one", edited(withBackup(STORED)), TURN],
    ["none is made while one before another release goes on", withOnes(numbered({ phase: "BackingUp" }, "my-etcd-before-3.6-1")), "wait: backup-first"],
    ["one before another release is none before this one", withOnes(numbered(STORED, "my-etcd-before-3.6-1")), "backup-first: createBackup"],
    ["nor one that a person has named", withOnes(numbered(STORED, "mine-1")), "backup-first: createBackup"],
    ["one that is being deleted holds nobody up", withOnes(deleted(made({ phase: "BackingUp" }))), "backup-first: createBackup"],
    ["what a person makes meanwhile does not, either", withOnes(made({ phase: "BackingUp" }, "")), "backup-first: createBackup"],
    ["after a failure the next schedule says how", { ...withBackup(failed), schedules: [schedule, later] }, "backup-first: createBackup"],
    ["until each has had its turn", { ...withOnes(made(failed), { ...numbered(failed, "my-etcd-before-3.7-2"), spec: later.spec.backupTemplate }), schedules: [schedule, later] }, "warn: backup-first"],
    ["one that is stored counts, whoever failed before and after", { ...withOnes(made(failed), numbered(STORED, "my-etcd-before-3.7-2"), numbered(failed, "my-etcd-before-3.7-3")) }, TURN],
    ["no other one is made while the update has stopped", { ...late, cluster: withStop(late, "my-etcd-2").cluster }, "settled"],
    ["nor while somebody is unfit", { ...late, ...nobodyGoes }, "wait: backup-first"],
    ["nothing is asked for when the only schedule is being deleted", { ...upgrade, schedules: [etcdBackupSchedule({ deleting: true })] }, TURN],
    ["nobody waits when that is waived", waived(asked, "backup-first until 2026-01-01T13:00:00Z"), TURN],
    ["which has its end", waived(asked, "backup-first until 2026-01-01T12:00:00Z"), "backup-first: createBackup"],
    ["another waiver is none of it", waived(asked, "members-ready until 2026-01-01T13:00:00Z"), "backup-first: createBackup"],
    ["and none is made for a release that nobody can go to", { ...wanting({ ...NEXT_MINOR, version: "3.9.1" }), schedules: [schedule] }, "settled"],
  ])("%s", (_, snapshot, expected) => expect(told(snapshot)).toBe(expected)); // biome-ignore format: a table

  test("the latest that has failed is named, in whatever order they come", () => {
    const [first, second] = [made(failed), numbered(failed, "my-etcd-before-3.7-2")];
    const because = expect.stringMatching(/^EtcdBackup my-etcd-before-3.7-2 has failed/);
    for (const snapshot of [withOnes(first, second), withOnes(second, first)])
      expect(planCluster(snapshot)).toMatchObject({ because });
  });

  test("it is said why", () => {
    expect(planCluster(asked)).toMatchObject({
      because:
        "EtcdBackup my-etcd-before-3.7-1 is made before members go to 3.7.1, as EtcdBackupSchedule nightly has it",
    });
    expect(planCluster(withBackup(failed))).toMatchObject({
      because:
        "EtcdBackup my-etcd-before-3.7-1 has failed: the bucket is full; when it is deleted, another one is made; members go to 3.7.1 when one is stored, or backup-first is waived",
    });
    expect(planCluster(withBackup(verified("False", "VerificationFailed")))).toMatchObject({
      because: expect.stringMatching(
        /^EtcdBackup my-etcd-before-3.7-1 has failed: the hash differs; when it is deleted/,
      ),
    });
    expect(planCluster({ ...late, ...nobodyGoes })).toMatchObject({
      because: expect.stringMatching(
        /^EtcdBackup my-etcd-before-3.7-1 is too old by now; another one is made once my-etcd-1 /,
      ),
    });
    expect(planCluster(withBackup(undefined))).toMatchObject({
      because: "members go to 3.7.1 when EtcdBackup my-etcd-before-3.7-1 is stored",
    });
  });

  test("nobody is given the newer release before, whichever rule would do so", () => {
    const why = "no EtcdBackup of the moment before is stored";
    expect(whyNotYet(asked, "my-etcd-2", "3.7.1")).toBe(why);
    expect(whyNotYet(withBackup({ phase: "Failed" }), "my-etcd-2", "3.7.1")).toBe(why);
    expect(whyNotYet(withBackup(STORED), "my-etcd-2", "3.7.1")).toBeUndefined();
    expect(whyNotYet(asked, "my-etcd-2", "3.6.17")).toBeUndefined();
  });

  test("a backup that is missing is told as such, of the release that is asked for alone", () => {
    expect(lacksFirstBackup(asked)).toBe(true);
    expect(lacksFirstBackup(withBackup(STORED))).toBe(false);
    expect(lacksFirstBackup({ ...wanting(NEWER), schedules: [schedule] })).toBe(false);
    const { status: _, ...unformed } = asked.cluster;
    const nobody = { ...asked, cluster: unformed, peers: [], pods: new Map(), members: unknown("nobody was asked") };
    expect(lacksFirstBackup(nobody)).toBe(false);
  });
});

test("it is what the schedule makes, belongs to the cluster by its uid, and to no schedule", () => {
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

test("the schedule that has left good backups says how, then one that goes on, then the first by name", () => {
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

test("the next one has the next number, whoever has the others", () => {
  const next = (...names: string[]) => nameOfFirstBackup(withOnes(...names.map((name) => numbered(STORED, name))));
  expect(next("my-etcd-before-3.7-2", "my-etcd-before-3.7-1")).toBe("my-etcd-before-3.7-3");
  expect(next("my-etcd-before-3.6-7", "my-etcd-before-3.7-01", "nightly-9", "my-etcd-before-3.7")).toBe(
    "my-etcd-before-3.7-1",
  );
  expect(nameOfFirstBackup(withOnes(deleted(made(STORED, "another"))))).toBe("my-etcd-before-3.7-2");
});

test("its name holds release and number, and always fits", () => {
  expect(firstBackupName("orders", "3.7", 12)).toBe("orders-before-3.7-12");
  expect(firstBackupName("a".repeat(50), "3.7", 1)).toHaveLength(63);
  const long = firstBackupName("a".repeat(51), "3.7", 1);
  expect(long).toMatch(/^cluster-[0-9a-f]{16}-before-3[.]7-1$/);
  expect(firstBackupName("a".repeat(52), "3.7", 1)).not.toBe(long);
  const { cluster } = upgrade;
  const soon = { ...upgrade, cluster: { ...cluster, spec: { ...cluster.spec, version: "soon" } } };
  expect(nameOfFirstBackup(soon)).toBe("my-etcd-before-none-1");
});
