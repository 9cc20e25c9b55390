import { describe, expect, test } from "vitest";
import type { Reason } from "#api/conditions.ts";
import { FIRST_BACKUP_ANNOTATION, PAUSED_ANNOTATION, WAIVE_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { calm, cluster, NOW } from "#kit/snapshots/cluster.ts";
import {
  BEFORE,
  downgrading,
  NEWER,
  NEXT_MINOR,
  ON_DELETE,
  saying,
  wanting,
  withRestarted,
  withTurns,
  withUpdate,
  withUpdated,
} from "#kit/snapshots/cluster-rolling.ts";
import { etcdBackup } from "#kit/snapshots/etcd-backup.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { nameOfFirstBackup } from "./first-backup.ts";
import { pendingRelease } from "./pending-release.ts";

// A release that members cannot get yet, while all are fit with their own.

const HOUR_MS = 3_600_000;
const NAMES = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const schedules = [etcdBackupSchedule()];
const asked: ClusterSnapshot = { ...wanting(NEXT_MINOR), schedules };
const onDelete: ClusterSnapshot = { ...wanting(NEXT_MINOR, { spec: ON_DELETE }), schedules };
const FAILED = {
  phase: "Failed" as const,
  conditions: [{ type: "Failed", status: "True" as const, reason: "NoSpace", message: "the bucket is full", observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" }],
}; // biome-ignore format: one thing
const STORED = { phase: "Completed" as const, completionTime: "2026-01-01T12:00:00Z" };

/** The snapshot with the first backup in this state. */
function withBackup(status: EtcdBackup["status"], snapshot = asked): ClusterSnapshot {
  const { status: _, ...backup } = etcdBackup();
  const metadata = {
    ...backup.metadata,
    name: nameOfFirstBackup(snapshot),
    annotations: { [FIRST_BACKUP_ANNOTATION]: snapshot.cluster.metadata.uid },
    creationTimestamp: new Date(NOW - 60_000).toISOString(),
  };
  return { ...snapshot, sourceBackups: [{ ...backup, metadata, ...(status === undefined ? {} : { status }) }] };
}

/** The snapshot with a second, active backup. */
function withAnother(snapshot: ClusterSnapshot): ClusterSnapshot {
  const others = snapshot.sourceBackups;
  return { ...snapshot, sourceBackups: [...others, ...withBackup({ phase: "BackingUp" }, snapshot).sourceBackups] };
}

/** The snapshot with some data in the format of the previous minor. */
function olderData(snapshot: ClusterSnapshot): ClusterSnapshot {
  return saying(snapshot, "my-etcd-1", { storageVersion: "3.5.0" });
}

function annotated(snapshot: ClusterSnapshot, annotations: Record<string, string>): ClusterSnapshot {
  const { cluster: live } = snapshot;
  return { ...snapshot, cluster: { ...live, metadata: { ...live.metadata, annotations } } };
}

type Said = readonly [status: string, reason: Reason, words: string];

function said(given: ClusterSnapshot, type: string): readonly (string | undefined)[] {
  const { conditions } = clusterStatus(given, planCluster(given));
  const found = conditions?.find((each) => each.type === type);
  return [found?.status, found?.reason, found?.message];
}

const MADE =
  "EtcdBackup my-etcd-before-3.7-1 is made before the update to 3.7.1, from the template of EtcdBackupSchedule nightly";
const AWAITED = "the update to 3.7.1 waits until EtcdBackup my-etcd-before-3.7-1 is stored";
const LOST = "EtcdBackup my-etcd-before-3.7-1 has failed: the bucket is full; delete it to make a new one, or waive BackupFirst; the update to 3.7.1 waits"; // biome-ignore format: one thing
const OLDER = "the update to 3.7.1 waits: the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0";
const COUNT = "0 of 3 members run what the spec asks for";

const cases: {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly ready: Said;
  readonly upToDate: Said;
  readonly progressing: Said;
}[] = [
  {
    name: "the backup before the update does not exist yet",
    given: asked,
    ready: ["False", "BackupPending", MADE],
    upToDate: ["False", "BackupPending", `${COUNT}; ${MADE}`],
    progressing: ["True", "Acting", `backup-first: ${MADE}`],
  },
  {
    name: "the backup before the update is running",
    given: withBackup({ phase: "BackingUp" }),
    ready: ["False", "BackupPending", AWAITED],
    upToDate: ["False", "BackupPending", `${COUNT}; ${AWAITED}`],
    progressing: ["True", "Waiting", `backup-first: ${AWAITED}`],
  },
  {
    name: "the backup before the update has failed",
    given: withBackup(FAILED),
    ready: ["False", "BackupFailed", LOST],
    upToDate: ["False", "BackupFailed", `${COUNT}; ${LOST}`],
    progressing: ["False", "BackupFailed", LOST],
  },
  {
    name: "the first backup has failed and a second one is running",
    given: withAnother(withBackup(FAILED)),
    ready: ["False", "BackupPending", "the update to 3.7.1 waits until EtcdBackup my-etcd-before-3.7-2 is stored"],
    upToDate: ["False", "BackupPending", `${COUNT}; the update to 3.7.1 waits until EtcdBackup my-etcd-before-3.7-2 is stored`], // biome-ignore format: one thing
    progressing: ["True", "Waiting", "backup-first: the update to 3.7.1 waits until EtcdBackup my-etcd-before-3.7-2 is stored"], // biome-ignore format: one thing
  },
  {
    name: "the backup has failed and the recorded status is outdated",
    given: calm(
      withBackup(FAILED, {
        ...asked,
        cluster: { ...cluster().cluster, spec: asked.cluster.spec, status: asked.cluster.status! },
      }),
    ),
    ready: ["False", "BackupFailed", LOST],
    upToDate: ["False", "BackupFailed", `${COUNT}; ${LOST}`],
    progressing: ["False", "BackupFailed", LOST],
  },
  {
    name: "the backup became too old before a member was updated",
    given: withUpdate({ ...withBackup(STORED), takenAtMs: NOW + HOUR_MS + 1 }),
    ready: ["False", "BackupPending", "EtcdBackup my-etcd-before-3.7-2 is made before the update to 3.7.1, from the template of EtcdBackupSchedule nightly"], // biome-ignore format: one thing
    upToDate: ["False", "BackupPending", `${COUNT}; EtcdBackup my-etcd-before-3.7-2 is made before the update to 3.7.1, from the template of EtcdBackupSchedule nightly`], // biome-ignore format: one thing
    progressing: ["True", "Acting", "backup-first: EtcdBackup my-etcd-before-3.7-2 is made before the update to 3.7.1, from the template of EtcdBackupSchedule nightly"], // biome-ignore format: one thing
  },
  {
    name: "the backup is running and the pod template changes, too",
    given: withBackup({ phase: "BackingUp" }, { ...wanting({ ...NEXT_MINOR, podTemplate: { metadata: { labels: { a: "b" } } } }), schedules }), // biome-ignore format: one thing
    ready: ["False", "BackupPending", AWAITED],
    upToDate: ["False", "BackupPending", `${COUNT}; ${AWAITED}`],
    progressing: ["True", "Waiting", `backup-first: ${AWAITED}`],
  },
  {
    name: "the backup is running, with OnDelete",
    given: withBackup({ phase: "BackingUp" }, onDelete),
    ready: ["False", "BackupPending", AWAITED],
    upToDate: ["False", "BackupPending", `${COUNT}; ${AWAITED}`],
    progressing: ["True", "Waiting", `backup-first: ${AWAITED}`],
  },
  {
    name: "data of a member is in an older format",
    given: olderData(wanting(NEXT_MINOR)),
    ready: ["False", "Waiting", OLDER],
    upToDate: ["False", "Waiting", `${COUNT}; ${OLDER}`],
    progressing: ["True", "Waiting", OLDER],
  },
  {
    name: "data is in an older format and another update was running before",
    given: begin(wanting(NEXT_MINOR)).apply(olderData).apply(withUpdate, { revision: "former" }).snapshot,
    ready: ["False", "Waiting", OLDER],
    upToDate: ["False", "Waiting", `${COUNT}; ${OLDER}`],
    progressing: ["True", "Waiting", OLDER],
  },
  {
    name: "data is in an older format and one member is updated already",
    given: begin(wanting(NEXT_MINOR)).apply(withUpdated, "my-etcd-2").apply(olderData).snapshot,
    ready: ["False", "Waiting", OLDER],
    upToDate: ["False", "Waiting", `1 of 3 members run what the spec asks for; ${OLDER}`],
    progressing: ["True", "Waiting", OLDER],
  },
  {
    name: "data is not converted for a downgrade yet, with OnDelete",
    given: begin(wanting(BEFORE, { spec: ON_DELETE }))
      .apply(downgrading)
      .apply(saying, "my-etcd-0", { storageVersion: "3.6.0" }).snapshot,
    ready: ["False", "Waiting", "the update to 3.5.35 waits: my-etcd-0 has its data in the format of 3.6.0"],
    upToDate: ["False", "Rolling", COUNT],
    progressing: ["True", "Waiting", "enable-downgrade: members go back to etcd 3.5 when their data has been converted: my-etcd-0 has its data in the format of 3.6.0"], // biome-ignore format: one thing
  },
];

describe("conditions while members cannot get the requested release yet", () => {
  test.each(cases)(
    "Ready, UpToDate and Progressing report the wait when $name",
    ({ given, ready, upToDate, progressing }) => {
      expect(said(given, "Ready")).toEqual(ready);
      expect(said(given, "UpToDate")).toEqual(upToDate);
      expect(said(given, "Progressing")).toEqual(progressing);
      const isStalled = progressing[1] === "BackupFailed" || upToDate[1] === "NoVersionPath";
      expect(said(given, "Stalled")[0]).toBe(isStalled ? "True" : "False");
    },
  );

  test("Ready has the generation of the edit as observedGeneration", () => {
    const edited = withBackup(FAILED);
    const { metadata } = edited.cluster;
    const given = { ...edited, cluster: { ...edited.cluster, metadata: { ...metadata, generation: 7 } } };
    const { conditions } = clusterStatus(given, planCluster(given));
    expect(conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      reason: "BackupFailed",
      observedGeneration: 7,
    });
  });

  test("the plan warns once the backup has failed, and not while the backup is running", () => {
    expect(planCluster(withBackup(FAILED))).toMatchObject({ next: "wait", rule: "backup-first", warn: true });
    expect(planCluster(withBackup({ phase: "BackingUp" }))).toMatchObject({ next: "wait", warn: false });
  });

  test("Ready reports an unhealthy member before a running backup", () => {
    const { pods, endpoints } = wanting(NEXT_MINOR, { down: ["my-etcd-1"] });
    expect(said({ ...withBackup({ phase: "BackingUp" }), pods, endpoints }, "Ready")[1]).toBe("MembersUnhealthy");
  });

  test("Ready reports the pause first when the cluster is paused", () => {
    const pausing = { [PAUSED_ANNOTATION]: "true" };
    const held = (words: string) => `nothing is changed while the annotation ${PAUSED_ANNOTATION} is "true"; not done until then: ${words}`; // biome-ignore format: one thing
    const table: [ClusterSnapshot, string][] = [
      [asked, held(`backup-first: ${MADE}`)],
      [withBackup({ phase: "BackingUp" }), held(AWAITED)],
      [withBackup(FAILED), held(LOST)],
      [olderData(wanting(NEXT_MINOR)), held(OLDER)],
    ];
    for (const [given, words] of table)
      expect(said(annotated(given, pausing), "Ready")).toEqual(["False", "Paused", words]);
  });
});

const others: { readonly name: string; readonly given: ClusterSnapshot; readonly ready: readonly [string, Reason] }[] =
  [
    {
      name: "an update to a patch release waits for no backup",
      given: { ...wanting(NEWER), schedules },
      ready: ["False", "Rolling"],
    },
    {
      name: "the update does not wait once the backup is stored",
      given: withBackup(STORED),
      ready: ["False", "Rolling"],
    },
    {
      name: "the update does not wait when BackupFirst is waived",
      given: annotated(withBackup(FAILED), { [WAIVE_ANNOTATION]: "BackupFirst until 2026-01-01T13:00:00Z" }),
      ready: ["False", "Rolling"],
    },
    {
      name: "a running update has the reason Rolling",
      given: { ...withRestarted(asked, "my-etcd-2"), schedules },
      ready: ["False", "Rolling"],
    },
    {
      name: "a finished update makes the cluster Ready",
      given: { ...withUpdated(asked, ...NAMES), schedules },
      ready: ["True", "AllMembersHealthy"],
    },
    {
      name: "a cluster with data in an older format is Ready when the spec is unchanged",
      given: olderData(cluster()),
      ready: ["True", "AllMembersHealthy"],
    },
    {
      name: "a cluster that waits with OnDelete for deleted pods is Ready",
      given: withTurns(withBackup(STORED, onDelete)),
      ready: ["True", "AllMembersHealthy"],
    },
    {
      name: "an unreachable release is refused",
      given: { ...wanting({ ...NEXT_MINOR, version: "3.9.1" }), schedules },
      ready: ["False", "NoVersionPath"],
    },
  ];

test("pendingRelease is undefined for a release without an upgrade path, and reports a missing backup", () => {
  expect(pendingRelease({ ...wanting({ ...NEXT_MINOR, version: "3.9.1" }), schedules })).toBeUndefined();
  expect(pendingRelease(onDelete)).toMatchObject({ reason: "BackupPending" });
});

test.each(others)("Ready without a pending release: $name", ({ given, ready }) => {
  expect(said(given, "Ready").slice(0, 2)).toEqual(ready);
});
