import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { converted } from "#api/conversion.ts";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND, GROUP } from "#api/names.ts";
import { whyNotShape } from "#api/shape.ts";
import { restoreSpecSchema as alphaSpec } from "#api/v1alpha1/restore-schema.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { restoreSpecSchema } from "#api/v1beta1/restore-schema.ts";

type Json = Readonly<Record<string, unknown>>;

const KIND = "EtcdRestore";

function as(version: string, spec: Json, kind = KIND): Json {
  return { apiVersion: `${GROUP}/${version}`, kind, metadata: { name: "r" }, spec, status: { phase: "Pending" } };
}

function up(object: Json, kind = KIND): Json {
  return converted(object, kind, "v1beta1", GROUP);
}

function down(object: Json, kind = KIND): Json {
  return converted(object, kind, "v1alpha1", GROUP);
}

const URLS = ["s3://b/k.db?region=eu-1", "gs://b/k.db", "backup://nightly", "gs://b/a/k"];
const credentials = fc.option(fc.constant({ secretName: "s" }), { nil: undefined });
const encryption = fc.option(fc.constant({ keySecretRef: { name: "k", key: "key" } }), { nil: undefined });
const store = fc.oneof(
  fc
    .record({ bucket: fc.constant("b"), key: fc.constant("a/k"), endpoint: fc.constant("https://m:9000"), credentials })
    .map((s3) => ({ s3 })),
  fc.record({ bucket: fc.constant("b"), key: fc.constant("a/k"), credentials }).map((gcs) => ({ gcs })),
  fc
    .record({ account: fc.constant("acc"), container: fc.constant("con"), key: fc.constant("k") })
    .map((azure) => ({ azure })),
  fc.record({ claimName: fc.constant("c"), key: fc.constant("k") }).map((volume) => ({ volume })),
  fc.record({ url: fc.constantFrom(...URLS), credentials }).map((url) => ({ url })),
);
const source = fc.oneof(
  fc.constant({ backupName: "nightly" }),
  fc.constant({ backupName: "nightly", encryption: { keySecretRef: { name: "old", key: "key" } } }),
  fc.tuple(store, encryption).map(([where, key]) => ({ object: { ...where, encryption: key } })),
);
const cluster = fc.record(
  {
    replicas: fc.constantFrom(1, 3),
    version: fc.constant("3.5.35"),
    image: fc.constant({ repository: "example.test/etcd" }),
    paused: fc.boolean(),
    disruptionBudget: fc.constantFrom({ policy: "Quorum" }, { policy: "None" }),
    storage: fc.constantFrom({ size: "1Gi" }, { size: "2Gi", storageClassName: "fast" }),
    podTemplate: fc.constantFrom({}, { spec: { affinity: { a: 1 }, tolerations: [{ key: "etcd" }] } }),
  },
  { requiredKeys: ["replicas", "version"] },
);
/** Result as the API server stores it: without undefined values. */
const betaSpec = fc
  .record(
    {
      source,
      clusterTemplate: fc.record({ clusterName: fc.constant("restored"), spec: cluster }),
      podTemplate: fc.constantFrom<object>(
        {},
        { spec: { serviceAccountName: "cloud", resources: { limits: { memory: "1Gi" } } } },
        { metadata: { labels: { a: "b" } }, spec: {} },
      ),
    },
    { requiredKeys: ["source", "clusterTemplate"] },
  )
  .map((spec) => JSON.parse(JSON.stringify(restoreSpecSchema.parse(spec))) as Json);
const alpha = fc
  .record({
    source: fc.record({ objectURL: fc.constantFrom(...URLS) }),
    clusterTemplate: fc.record({
      clusterName: fc.constant("restored"),
      spec: fc.record({
        replicas: fc.constantFrom(1, 3),
        podTemplate: fc.constantFrom({}, { resources: { limits: { cpu: "1" } } }),
      }),
    }),
  })
  .map((spec) => alphaSpec.parse(spec) as Json);

describe("an EtcdRestore is unchanged after a conversion to the other version and back", () => {
  test("when v1beta1 wrote it, and its v1alpha1 form fits the v1alpha1 schema", () => {
    fc.assert(
      fc.property(betaSpec, (spec) => {
        const object = as("v1beta1", spec);
        const seen = down(object);
        expect(alphaSpec.parse(seen.spec)).toEqual(seen.spec);
        expect(up(seen)).toEqual(object);
      }),
      { numRuns: 500 },
    );
  });

  test("when v1alpha1 wrote it, and no annotation is added", () => {
    fc.assert(
      fc.property(alpha, (spec) => {
        const object = as("v1alpha1", spec);
        const beta = up(object);
        expect(restoreSpecSchema.parse(beta.spec)).toEqual(beta.spec);
        expect(down(beta)).toEqual(object);
      }),
      { numRuns: 200 },
    );
  });

  test("when it has unknown fields of a newer operator at any depth", () => {
    const newer = { newer: { a: [1] } };
    const inside = (value: unknown) => ({ ...(value as Json), ...newer });
    fc.assert(
      fc.property(betaSpec, fc.constantFrom("whole", "source", "template", "cluster"), (spec, at) => {
        const template = spec.clusterTemplate as Json;
        const written: Json = {
          whole: inside(spec),
          source: { ...spec, source: inside(spec.source) },
          template: { ...spec, clusterTemplate: inside(template) },
          cluster: { ...spec, clusterTemplate: { ...template, spec: inside(template.spec) } },
        };
        const object = as("v1beta1", written[at] as Json);
        const seen = down(object);
        expect(alphaSpec.parse(seen.spec)).toEqual(seen.spec);
        expect(up(seen)).toEqual(object);
      }),
      { numRuns: 300 },
    );
  });
});

test("fields that are edited in v1alpha1 replace those in the annotation", () => {
  fc.assert(
    fc.property(betaSpec, alpha, (before, edit) => {
      const { metadata, ...rest } = down(as("v1beta1", before));
      const whole = up({ ...rest, metadata, spec: edit });
      expect(down({ ...rest, ...whole }).spec).toEqual(edit);
      expect(whyNotShape(whole.spec, KIND)).toBeUndefined();
      expect((whole.spec as Json).podTemplate).toEqual(before.podTemplate);
    }),
  );
});

test("a v1alpha1 EtcdRestore of 2020 becomes an object URL and a cluster with defaults", () => {
  const spec = {
    source: { objectURL: "s3://backups/snapshot.db?disableSSL=true" },
    clusterTemplate: { clusterName: "restored-cluster", spec: { replicas: 3 } },
  };
  const { spec: meant } = up(as("v1alpha1", alphaSpec.parse(spec))) as { spec: Json };
  expect(meant).toMatchObject({
    source: { object: { url: { url: "s3://backups/snapshot.db?disableSSL=true" } } },
    clusterTemplate: {
      clusterName: "restored-cluster",
      spec: { replicas: 3, clientService: { spec: { type: "ClusterIP" } } },
    },
  });
  expect(whyNotShape(meant, KIND)).toBeUndefined();
});

test.each([
  [{ backupName: "nightly" }, "backup://nightly"],
  [{ object: { s3: { bucket: "b", key: "p/q" } } }, "s3://b/p/q"],
  [{ object: { gcs: { bucket: "b", key: "k" } } }, "gs://b/k"],
  [{ object: { azure: { account: "acc", container: "con", key: "p" } } }, "azblob://con/p"],
  [{ object: { volume: { claimName: "c", key: "p" }, encryption: { keySecretRef: { name: "k" } } } }, "volume://c/p"],
])("v1alpha1 shows the source %j as the URL %s", (from, objectURL) => {
  const template = { clusterName: "restored", spec: { replicas: 1, version: "3.5.35" } };
  const spec = restoreSpecSchema.parse({ source: from, clusterTemplate: template }) as Json;
  const { spec: seen, metadata } = down(as("v1beta1", spec)) as { spec: Json; metadata: { annotations: Json } };
  expect(seen).toMatchObject({ source: { objectURL } });
  expect(JSON.parse(metadata.annotations[BEYOND] as string)).toMatchObject({ source: from });
});

test("spec.bootstrap of an EtcdCluster is unchanged after a conversion to v1alpha1 and back", () => {
  const bootstrap = { fromBackup: { source: { backupName: "nightly" }, until: { revision: "12" } } };
  const object = as(
    "v1beta1",
    clusterSpecSchema.parse({ replicas: 3, version: "3.6.16", bootstrap }) as Json,
    "EtcdCluster",
  );
  const seen = down(object, "EtcdCluster");
  expect(seen.spec).not.toHaveProperty("bootstrap");
  expect((up(seen, "EtcdCluster").spec as Json).bootstrap).toEqual(bootstrap);
});

test("every EtcdRestore is converted without an error", () => {
  fc.assert(
    fc.property(fc.object({ maxDepth: 3 }), fc.constantFrom("v1alpha1", "v1beta1"), (spec, version) => {
      const object = as(version, spec as Json);
      expect(() => (version === "v1alpha1" ? up(object) : down(object))).not.toThrow();
    }),
  );
});
