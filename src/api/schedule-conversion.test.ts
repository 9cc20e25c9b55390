import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_BACKUP_SPEC } from "#api/backup-conversion.ts";
import { converted } from "#api/conversion.ts";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND, GROUP } from "#api/names.ts";
import { whyNotShape } from "#api/shape.ts";
import { scheduleSpecSchema as alphaSpec } from "#api/v1alpha1/schedule-schema.ts";
import { scheduleSpecSchema } from "#api/v1beta1/schedule-schema.ts";

type Json = Readonly<Record<string, unknown>>;

const KIND = "EtcdBackupSchedule";

function as(version: string, spec: Json, annotations?: Json): Json {
  const metadata = { name: "s", ...(annotations && { annotations }) };
  return { apiVersion: `${GROUP}/${version}`, kind: KIND, metadata, spec, status: { runs: 3 } };
}

function up(object: Json): Json {
  return converted(object, KIND, "v1beta1", GROUP);
}

function down(object: Json): Json {
  return converted(object, KIND, "v1alpha1", GROUP);
}

const template = fc.record(
  {
    source: fc.constantFrom(
      { cluster: { name: "orders" } },
      { external: { endpoints: ["http://a:1", "http://b:1"] } },
      { external: { endpoints: ["http://a:1"] } },
    ),
    destination: fc.constantFrom(
      { s3: { bucket: "backups", prefix: "shop", credentials: { secretName: "s" } } },
      { url: { template: "s3://b/{{ .UID }}" } },
    ),
    compression: fc.constantFrom("None", "Zstd"),
    deletionPolicy: fc.constantFrom("Retain", "Delete"),
    podTemplate: fc.constantFrom<object>({}, { spec: { serviceAccountName: "backup" } }),
  },
  { requiredKeys: ["source", "destination"] },
);
/** Result as the API server stores it. */
const beta = fc
  .record(
    {
      schedule: fc.constantFrom("@daily", "0 3 * * *"),
      backupTemplate: fc.record(
        {
          metadata: fc.constantFrom({}, { labels: { team: "shop" } }, { annotations: { "example.com/cost": "7" } }),
          spec: template,
        },
        { requiredKeys: ["spec"] },
      ),
      timeZone: fc.constantFrom("UTC", "Europe/Berlin"),
      suspend: fc.boolean(),
      immediate: fc.boolean(),
      startingDeadlineSeconds: fc.constant(60),
      concurrencyPolicy: fc.constantFrom("Forbid", "Allow", "Replace"),
      retention: fc.constantFrom({ keepLast: 1 }, { keepFor: "30d", keepMonthly: 12 }),
      failedBackupsHistoryLimit: fc.constantFrom(0, 3),
      verification: fc.constant({ every: 7 }),
    },
    { requiredKeys: ["schedule", "backupTemplate"] },
  )
  .map((spec) => JSON.parse(JSON.stringify(scheduleSpecSchema.parse(spec))) as Json);

test("a v1beta1 EtcdBackupSchedule is unchanged after a conversion to v1alpha1 and back", () => {
  fc.assert(
    fc.property(beta, (spec) => {
      const object = as("v1beta1", spec);
      const shown = down(object);
      expect(alphaSpec.parse(shown.spec)).toEqual(shown.spec);
      expect(Object.keys(shown.spec as Json).sort()).toEqual(["backupTemplate", "schedule"]);
      expect(up(shown)).toEqual(object);
      expect(up(down(up(shown)))).toEqual(object);
    }),
    { numRuns: 300 },
  );
});

const ALPHA = {
  schedule: "@every 1h",
  backupTemplate: {
    source: { clusterURL: "http://my-cluster:2379" },
    destination: { objectURLTemplate: "s3://b/{{ .Name }}.db" },
  },
};

test("a v1alpha1 EtcdBackupSchedule of 2020 gets all defaults, and is unchanged after the way back", () => {
  const whole = up(as("v1alpha1", ALPHA));
  expect(whole.spec).toEqual({
    schedule: "@every 1h",
    timeZone: "UTC",
    suspend: false,
    immediate: false,
    concurrencyPolicy: "Forbid",
    failedBackupsHistoryLimit: 3,
    backupTemplate: {
      spec: {
        ...DEFAULT_BACKUP_SPEC,
        source: { external: { endpoints: ["http://my-cluster:2379"] } },
        destination: { url: { template: "s3://b/{{ .Name }}.db" } },
      },
    },
  });
  expect(scheduleSpecSchema.parse(whole.spec)).toEqual(whole.spec);
  expect(whyNotShape(whole.spec, KIND)).toBeUndefined();
  expect(down(whole)).toEqual(as("v1alpha1", ALPHA));
});

test("fields that are edited in v1alpha1 replace those in the annotation, and other fields stay", () => {
  const spec = scheduleSpecSchema.parse({
    schedule: "@daily",
    suspend: true,
    retention: { keepLast: 3 },
    backupTemplate: {
      metadata: { labels: { team: "shop" } },
      spec: {
        source: { cluster: { name: "orders" } },
        destination: { gcs: { bucket: "backups" } },
        compression: "Zstd",
      },
    },
  }) as Json;
  const shown = down(as("v1beta1", spec));
  const edited = up({ ...shown, spec: { ...(shown.spec as Json), schedule: "@weekly" } });
  expect(edited.spec).toEqual({ ...spec, schedule: "@weekly" });
  const elsewhere = { ...ALPHA.backupTemplate, source: { clusterURL: "http://other:2379" } };
  expect(up({ ...shown, spec: { schedule: "@daily", backupTemplate: elsewhere } }).spec).toMatchObject({
    suspend: true,
    backupTemplate: {
      metadata: { labels: { team: "shop" } },
      spec: {
        source: { external: { endpoints: ["http://other:2379"] } },
        destination: { url: { template: "s3://b/{{ .Name }}.db" } },
        compression: "Zstd",
      },
    },
  });
});

test("an annotation with invalid fields is ignored", () => {
  const odd = as("v1alpha1", ALPHA, { [BEYOND]: JSON.stringify({ retention: { keepLast: "many" } }) });
  expect(up(odd).spec).toEqual(up(as("v1alpha1", ALPHA)).spec);
});

test("every EtcdBackupSchedule is converted without an error", () => {
  fc.assert(
    fc.property(fc.object({ maxDepth: 3 }), fc.json(), (spec, text) => {
      expect(() => down(up(as("v1alpha1", spec as Json, { [BEYOND]: text })))).not.toThrow();
      expect(() => up(down(as("v1beta1", spec as Json)))).not.toThrow();
    }),
    { numRuns: 200 },
  );
});
