import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { converted } from "#api/conversion.ts";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND, GROUP } from "#api/names.ts";
import { whyNotShape } from "#api/shape.ts";
import { backupSpecSchema as alphaSpec } from "#api/v1alpha1/backup-schema.ts";
import { backupSpecSchema } from "#api/v1beta1/backup-schema.ts";

type Json = Readonly<Record<string, unknown>>;

const KIND = "EtcdBackup";

function as(version: string, spec: Json, annotations?: Json): Json {
  const metadata = { name: "b", ...(annotations && { annotations }) };
  return { apiVersion: `${GROUP}/${version}`, kind: KIND, metadata, spec, status: { phase: "BackingUp" } };
}

function up(object: Json): Json {
  return converted(object, KIND, "v1beta1", GROUP);
}

function down(object: Json): Json {
  return converted(object, KIND, "v1alpha1", GROUP);
}

const credentials = fc.option(fc.constant({ secretName: "s" }), { nil: undefined });
const prefix = fc.constantFrom("shop", "shop/orders");
const TEMPLATES = ["s3://b/{{ .Namespace }}/{{ .Name }}.db?region=eu-1", "gs://b/{{.UID}}.db", "s3://b/shop"];
const source = fc.oneof(
  fc.constant({ cluster: { name: "orders" } }),
  fc
    .record(
      {
        endpoints: fc.uniqueArray(fc.constantFrom("http://orders:2379", "https://a:1", "https://b:1"), {
          minLength: 1,
        }),
        tls: fc.constantFrom({ secretName: "tls" }, { serverName: "etcd" }, {}),
        auth: fc.constant({ secretName: "root" }),
      },
      { requiredKeys: ["endpoints"] },
    )
    .map((external) => ({ external })),
);
const destination = fc.oneof(
  fc
    .record({ bucket: fc.constant("b"), prefix, endpoint: fc.constant("https://m:9000"), credentials })
    .map((s3) => ({ s3 })),
  fc.record({ bucket: fc.constant("b"), prefix, credentials }).map((gcs) => ({ gcs })),
  fc.record({ account: fc.constant("acc"), container: fc.constant("con"), credentials }).map((azure) => ({ azure })),
  fc
    .record({ claimName: fc.constant("c"), path: prefix }, { requiredKeys: ["claimName"] })
    .map((volume) => ({ volume })),
  fc.record({ template: fc.constantFrom(...TEMPLATES), credentials }).map((url) => ({ url })),
);
/** Result as the API server stores it: without undefined values. */
const betaSpec = fc
  .record(
    {
      source,
      destination,
      compression: fc.constantFrom("None", "Zstd"),
      encryption: fc.constantFrom({ keySecretRef: { name: "k" } }, { keySecretRef: { name: "k", key: "other" } }),
      deletionPolicy: fc.constantFrom("Retain", "Delete"),
      verification: fc.constantFrom({ mode: "None" }, { mode: "Restore" }),
      podTemplate: fc.constantFrom<object>(
        {},
        { spec: { serviceAccountName: "backup", resources: { limits: { memory: "1Gi" } } } },
        { metadata: { labels: { a: "b" } }, spec: {} },
      ),
      activeDeadlineSeconds: fc.constant(600),
    },
    { requiredKeys: ["source", "destination"] },
  )
  .map((spec) => JSON.parse(JSON.stringify(backupSpecSchema.parse(spec))) as Json);
const alpha = fc
  .record({
    source: fc.record({ clusterURL: fc.constantFrom("http://orders:2379", "orders:2379", "https://a:1") }),
    destination: fc.record({ objectURLTemplate: fc.constantFrom(...TEMPLATES) }),
  })
  .map((spec) => alphaSpec.parse(spec) as Json);

describe("an EtcdBackup is unchanged after a conversion to the other version and back", () => {
  test("when v1beta1 wrote it, and its v1alpha1 form fits the v1alpha1 schema", () => {
    fc.assert(
      fc.property(betaSpec, fc.constantFrom(undefined, { a: "1" }), (spec, annotations) => {
        const object = as("v1beta1", spec, annotations);
        const seen = down(object);
        expect(alphaSpec.parse(seen.spec)).toEqual(seen.spec);
        expect(up(seen)).toEqual(object);
      }),
      { numRuns: 1_000 },
    );
  });

  test("when v1alpha1 wrote it, and no annotation is added", () => {
    fc.assert(
      fc.property(alpha, fc.constantFrom(undefined, { a: "1" }), (spec, annotations) => {
        const object = as("v1alpha1", spec, annotations);
        const beta = up(object);
        expect(backupSpecSchema.parse(beta.spec)).toEqual(beta.spec);
        expect(down(beta)).toEqual(object);
      }),
      { numRuns: 200 },
    );
  });

  test("when it has unknown fields of a newer operator at any depth", () => {
    const newer = { newer: { a: [1] } };
    fc.assert(
      fc.property(betaSpec, fc.constantFrom("whole", "source", "destination", "store"), (spec, at) => {
        const inside = (value: unknown) => ({ ...(value as Json), ...newer });
        const [[kind, store]] = Object.entries(spec.destination as Json) as [[string, unknown]];
        const written: Json = {
          whole: inside(spec),
          source: { ...spec, source: inside(spec.source) },
          destination: { ...spec, destination: inside(spec.destination) },
          store: { ...spec, destination: { [kind]: inside(store) } },
        };
        const object = as("v1beta1", written[at] as Json);
        const seen = down(object);
        expect(alphaSpec.parse(seen.spec)).toEqual(seen.spec); // the API server prunes it
        expect(up(seen)).toEqual(object);
      }),
      { numRuns: 300 },
    );
  });
});

test("URLs that are edited in v1alpha1 replace those in the annotation", () => {
  fc.assert(
    fc.property(betaSpec, alpha, (before, edit) => {
      const { metadata, ...rest } = down(as("v1beta1", before));
      const spec = up({ ...rest, metadata, spec: edit }).spec as Json;
      expect(down({ ...rest, ...up({ ...rest, metadata, spec: edit }) }).spec).toEqual(edit);
      expect(whyNotShape(spec, KIND)).toBeUndefined();
      for (const field of ["compression", "encryption", "deletionPolicy", "podTemplate", "verification"])
        expect(spec[field]).toEqual(before[field]);
    }),
  );
});

test("a v1alpha1 EtcdBackup of 2020 becomes one endpoint and a URL template", () => {
  const spec = {
    source: { clusterURL: "http://my-cluster:2379" },
    destination: { objectURLTemplate: "gs://my-bucket/{{ .UID }}.db" },
  };
  expect(up(as("v1alpha1", spec)).spec).toEqual({
    source: { external: { endpoints: ["http://my-cluster:2379"] } },
    destination: { url: { template: "gs://my-bucket/{{ .UID }}.db" } },
    compression: "None",
    deletionPolicy: "Retain",
    verification: { mode: "None" },
  });
});

test.each([
  [{ cluster: { name: "orders" } }, "http://orders:2379"],
  [{ external: { endpoints: ["https://b:1", "https://a:1"] } }, "https://b:1"],
])("v1alpha1 shows the source %j as the URL %s", (from, clusterURL) => {
  const spec = backupSpecSchema.parse({ source: from, destination: { url: { template: "s3://b/k" } } }) as Json;
  const { spec: seen, metadata } = down(as("v1beta1", spec));
  expect(seen).toMatchObject({ source: { clusterURL } });
  expect(metadata).toEqual({ name: "b", annotations: { [BEYOND]: JSON.stringify({ source: from }) } });
});

test.each([
  [{ s3: { bucket: "b", prefix: "p/q" } }, "s3://b/p/q"],
  [{ gcs: { bucket: "b" } }, "gs://b"],
  [{ azure: { account: "acc", container: "con", prefix: "p" } }, "azblob://con/p"],
  [{ volume: { claimName: "c", path: "p" } }, "volume://c/p"],
])("v1alpha1 shows the destination %j as the URL %s", (to, objectURLTemplate) => {
  const spec = backupSpecSchema.parse({ source: { cluster: { name: "orders" } }, destination: to }) as Json;
  expect(down(as("v1beta1", spec)).spec).toMatchObject({ destination: { objectURLTemplate } });
});

test("every EtcdBackup is converted, and its v1beta1 form fits the schema, whatever its annotation is", () => {
  const words = [
    "spec",
    "source",
    "destination",
    "clusterURL",
    "objectURLTemplate",
    "cluster",
    "name",
    "external",
    "endpoints",
  ];
  const key = fc.constantFrom(...words, "url", "template", "s3", "bucket", "volume", "__proto__", "x");
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
      fc.array(tie("tree"), { maxLength: 2 }),
    ),
  }));
  const text = fc.oneof(
    tree,
    tree.map((each) => JSON.stringify(each)),
  );
  fc.assert(
    fc.property(tree, text, (spec, annotation) => {
      for (const from of ["v1alpha1", "v1beta1"] as const) {
        const object = as(from, spec as Json, { [BEYOND]: annotation });
        const result = (from === "v1alpha1" ? up : down)(JSON.parse(JSON.stringify(object)) as Json);
        expect(() => JSON.stringify(result)).not.toThrow();
        const { annotations } = result.metadata as { annotations?: Json };
        const isTaken = from === "v1alpha1" && annotations?.[BEYOND] === undefined;
        if (isTaken) expect(whyNotShape(result.spec, KIND)).toBeUndefined();
      }
    }),
    { numRuns: 500 },
  );
});
