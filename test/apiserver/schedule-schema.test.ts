import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { DEFAULT_BACKUP_SPEC } from "#api/backup-conversion.ts";
import { ETCD_BACKUP_SCHEDULES, type EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { serveKinds } from "#kit/servers/shipped.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Draft, Resource } from "#kube/kinds.ts";
import { calendarOf } from "#schedule/cron.ts";

// The API server accepts, completes or refuses the spec of a schedule before the operator sees it.

const { signal } = new AbortController();
const OPTIONS = { signal };
const namespace = "default";
let kube: KubeClient;

const ALPHA: Resource<EtcdBackupSchedule> = { ...ETCD_BACKUP_SCHEDULES, version: "v1alpha1" };

serveKinds([ETCD_BACKUP_SCHEDULES], ({ client }) => {
  kube = client;
});

let count = 0;

async function made(spec: unknown, of = ETCD_BACKUP_SCHEDULES, name = `s-${count++}`): Promise<EtcdBackupSchedule> {
  const apiVersion = `${of.group}/${of.version}`;
  const draft = { apiVersion, kind: of.kind, metadata: { namespace, name }, spec };
  return await kube.create(of, draft as unknown as Draft<EtcdBackupSchedule>, OPTIONS);
}

const TEMPLATE = { source: { cluster: { name: "orders" } }, destination: { gcs: { bucket: "backups" } } };
const LEAST = { schedule: "@daily", backupTemplate: { spec: TEMPLATE } };

function with_(change: object): object {
  return { ...LEAST, ...change };
}

test("a schedule with only a time, a source and a destination gets every default", async () => {
  expect((await made(LEAST)).spec).toEqual({
    schedule: "@daily",
    timeZone: "UTC",
    suspend: false,
    immediate: false,
    concurrencyPolicy: "Forbid",
    failedBackupsHistoryLimit: 3,
    backupTemplate: { spec: { ...TEMPLATE, ...DEFAULT_BACKUP_SPEC } },
  });
});

test("an archive gets every default", async () => {
  expect((await made(with_({ archive: {} }))).spec.archive).toEqual({ maxAge: "10s", keepFor: "7d" });
});

test.each(["1m", "30m", "1h30m", "24h"])("a window of the starts may be %s", async (startWindow) => {
  expect((await made(with_({ startWindow }))).spec.startWindow).toBe(startWindow);
});

test.each(["59s", "24h1m", "-30m", "1d", "30", ""])("a window of the starts must not be %s", async (startWindow) => {
  const refusal = await made(with_({ startWindow })).then(() => "it was accepted", String);
  expect(refusal).toContain(`spec.startWindow`);
  expect(refusal).toContain(`it is ${startWindow}; it must be a duration from 1m to 24h`);
});

const GOOD = [
  "0 3 * * *",
  "*/15 8-18 * * MON-FRI",
  "5/15 * * * *",
  "0 0 1,15 jan-jun/2 ?",
  "00 03 * * 0",
  "@hourly",
  "@midnight",
  "@every 1h30m",
  "@every 90s",
];
const BAD = [
  "",
  "0 3 * *",
  "0 3 * * * *",
  "60 3 * * *",
  "0 24 * * *",
  "0 3 32 * *",
  "0 3 0 * *",
  "0 3 * 13 *",
  "0 3 * * 7",
  "0 3 L * *",
  "*/0 * * * *",
  "@every",
  "@every 1d",
  "@never",
  "TZ=UTC 0 3 * * *",
  "CRON_TZ=UTC 0 3 * * *",
  "0 3 * * mo",
];

describe("is accepted:", () => {
  test.each(GOOD)("%s", async (schedule) => {
    expect((await made(with_({ schedule }))).spec.schedule).toBe(schedule);
    expect(typeof calendarOf({ schedule, timeZone: "UTC" }, 0)).toBe("object");
  });

  test.each<[string, object]>([
    ["a time zone", { timeZone: "America/Argentina/Buenos_Aires" }],
    ["every field of a retention", { retention: { keepLast: 1, keepFor: "30d12h", keepDaily: 7, keepWeekly: 4, keepMonthly: 12 } }],
    ["labels and annotations of EtcdBackups", { backupTemplate: { metadata: { labels: { "example.com/team": "shop" }, annotations: { cost: "7" } }, spec: TEMPLATE } }],
    ...[{ maxAge: "1s", keepFor: "1h" }, { maxAge: "1h", keepFor: "3650d" }, { maxAge: "59m60s", keepFor: "521w3d" }, { maxAge: "2s", keepFor: "168h" }].map((archive) => [`an archive with ${JSON.stringify(archive)}`, { archive }] as [string, object]),
    ["limits of the history", { successfulBackupsHistoryLimit: 1, failedBackupsHistoryLimit: 0 }],
    ["every other field", { suspend: true, immediate: true, startingDeadlineSeconds: 60, concurrencyPolicy: "Replace", verification: { every: 10 } }],
  ])("%s", async (_, change) => expect((await made(with_(change))).spec).toMatchObject(change)); // biome-ignore format: a table
});

describe("is refused with the field, the value and what is allowed:", () => {
  test.each(BAD)("schedule %j, which the operator also refuses", async (schedule) => {
    const refusal = await made(with_({ schedule })).then(() => "it was accepted", String);
    expect(refusal).toContain("spec.schedule");
    expect(refusal).toContain(`it is ${schedule}; it must be five fields`);
    expect(typeof calendarOf({ schedule, timeZone: "UTC" }, 0)).toBe("string");
  });

  test.each<[string, unknown, readonly string[]]>([
    ["no schedule", { backupTemplate: { spec: TEMPLATE } }, ["spec.schedule: Required value"]],
    ["no template", { schedule: "@daily" }, ["spec.backupTemplate: Required value"]],
    ["an unknown time zone", with_({ timeZone: "Mars/Phobos" }), ["spec.timeZone", "unknown time zone Mars/Phobos"]],
    ["an offset as time zone", with_({ timeZone: "+02:00" }), ["it is +02:00; it must be the name of a time zone, such as Europe/Berlin"]],
    ["the local time zone", with_({ timeZone: "Local" }), ["it is Local; it must be the name of a time zone"]],
    ["an empty retention", with_({ retention: {} }), ["retention must have at least one of keepLast, keepFor"]],
    ["a retention of no backup", with_({ retention: { keepLast: 0 } }), ["spec.retention.keepLast", "greater than or equal to 1"]],
    ["an invalid duration", with_({ retention: { keepFor: "1y" } }), ["it is 1y; it must be a duration such as 30d or 12h"]],
    ["a duration with a fraction", with_({ retention: { keepFor: "1.5d" } }), ["it is 1.5d; it must be a duration such as 30d or 12h, in weeks (w)"]],
    ["a duration of ten digits", with_({ retention: { keepFor: "1000000000s" } }), ["it is 1000000000s; it must be a duration such as 30d or 12h"]],
    ...["0s", "61m", "1h1s", "500ms", "1.5s", "10"].map((maxAge) => [`changes that may be as old as ${maxAge}`, with_({ archive: { maxAge } }), ["spec.archive.maxAge", `it is ${maxAge}; it must be a duration from 1s to 1h such as 10s, in weeks (w)`]] as [string, object, string[]]),
    ...["59m59s", "3650d1s", "522w", "forever", "1y", "7"].map((keepFor) => [`an archive of ${keepFor}`, with_({ archive: { keepFor } }), ["spec.archive.keepFor", `it is ${keepFor}; it must be a duration from 1h to 3650d such as 7d, in weeks (w)`]] as [string, object, string[]]),
    ["a duration of zero", with_({ retention: { keepFor: "0d" } }), ["it is 0d; it must be a duration such as 30d or 12h"]],
    ["a retention together with a history limit", with_({ retention: { keepLast: 1 }, successfulBackupsHistoryLimit: 1 }), ["retention and successfulBackupsHistoryLimit exclude each other"]],
    ["a history without good backups", with_({ successfulBackupsHistoryLimit: 0 }), ["spec.successfulBackupsHistoryLimit", "greater than or equal to 1"]],
    ["a verification of no number", with_({ verification: {} }), ["spec.verification.every: Required value"]],
    ["a verification of every 0th backup", with_({ verification: { every: 0 } }), ["spec.verification.every", "greater than or equal to 1"]],
    ["an invalid concurrency policy", with_({ concurrencyPolicy: "Queue" }), ['spec.concurrencyPolicy: Unsupported value: "Queue"']],
    ["a label of the operator", with_({ backupTemplate: { metadata: { labels: { "etcd.improbable.io/backup-schedule-name": "a" } }, spec: TEMPLATE } }), ["spec.backupTemplate.metadata.labels", "etcd.improbable.io/backup-schedule-name is one of the labels that the operator sets"]],
    ["an annotation of the operator", with_({ backupTemplate: { metadata: { annotations: { "etcd.improbable.io/schedule-uid": "a" } }, spec: TEMPLATE } }), ["spec.backupTemplate.metadata.annotations", "etcd.improbable.io/schedule-uid is one of the operator's own annotations"]],
    ["a template without a spec", with_({ backupTemplate: {} }), ["spec.backupTemplate.spec: Required value"]],
    ["an archive at a URL", with_({ archive: {}, backupTemplate: { spec: { ...TEMPLATE, destination: { url: { template: "s3://b/{{ .UID }}" } } } } }), ["with archive, backupTemplate.spec.destination must be one of s3, gcs, azure and volume"]],
    ["a template that is not a backup", with_({ backupTemplate: { spec: { source: {}, destination: TEMPLATE.destination } } }), ["source must have exactly one of cluster and external"]],
  ])("%s", async (_, spec, says) => {
    const refusal = await made(spec).then(() => "it was accepted", String);
    for (const words of says) expect(refusal).toContain(words);
  }); // biome-ignore format: a table

  test("a name that is too long to append a time", async () => {
    await expect(made(LEAST, ETCD_BACKUP_SCHEDULES, "a".repeat(48))).rejects.toThrow(
      "metadata.name is too long; it may have at most 47",
    );
    expect((await made(LEAST, ETCD_BACKUP_SCHEDULES, "a".repeat(47))).metadata.uid).toBeTruthy();
  });

  test("an invalid schedule in v1alpha1", async () => {
    const backupTemplate = { source: { clusterURL: "http://a:2379" }, destination: { objectURLTemplate: "s3://b/k" } };
    await expect(made({ schedule: "daily", backupTemplate }, ALPHA)).rejects.toThrow(
      "it is daily; it must be five fields",
    );
  });
});

test("the whole spec may be edited", async () => {
  const { metadata } = await made(LEAST);
  const backupTemplate = {
    metadata: { labels: { team: "shop" } },
    spec: { compression: "Zstd", source: { cluster: { name: "other" } } },
  };
  const edit = { spec: { schedule: "@every 1h", timeZone: "Europe/Berlin", suspend: true, backupTemplate } };
  const edited = await kube.patch(ETCD_BACKUP_SCHEDULES, metadata, edit, { signal, type: "merge" });
  expect(edited.spec).toMatchObject(edit.spec);
});

test("the example is accepted", async () => {
  const { spec } = parse(readFileSync("examples/backup-schedule.yaml", "utf8")) as { spec: object };
  expect((await made(spec)).spec).toMatchObject(spec);
});

test("the schema of the status accepts every field that the operator writes", async () => {
  const schedule = await made(LEAST);
  const time = "2026-01-01T12:00:00Z";
  const condition = {
    status: "True" as const,
    reason: "Scheduled",
    message: "m",
    observedGeneration: 1,
    lastTransitionTime: time,
  };
  const status: EtcdBackupSchedule["status"] = {
    observedGeneration: 1,
    counted: { schedule: "@daily", timeZone: "UTC", since: time },
    lastScheduleTime: time,
    nextScheduleTime: time,
    runs: 7,
    active: ["a"],
    lastSuccessful: { name: "a", creationTime: time, revision: "9223372036854775807", objectURL: "gs://backups/a" },
    lastVerified: { name: "a", creationTime: time },
    dryRun: {
      refused: [{ rule: "SpecRefused", message: "m" }],
      deletes: [{ name: "a", objectURL: "gs://backups/a" }, { name: "b" }],
      more: 3,
    },
    conditions: [{ ...condition, type: "Ready" }],
  };
  const options = { signal, subresource: "status" } as const;
  expect((await kube.replace(ETCD_BACKUP_SCHEDULES, { ...schedule, status }, options)).status).toEqual(status);
});
