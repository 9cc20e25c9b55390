import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TOO_LARGE } from "#api/beyond.ts";
import { converted } from "#api/conversion.ts";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND, GROUP } from "#api/names.ts";
import { askedIn, revisionOf } from "#api/revision.ts";
import { whyNotShape } from "#api/shape.ts";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import { clusterSpecSchema as alphaSpec } from "#api/v1alpha1/cluster-schema.ts";
import { peerSpecSchema as alphaPeerSpec } from "#api/v1alpha1/peer-schema.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import { restoreSpecSchema } from "#api/v1beta1/restore-schema.ts";

type Json = Readonly<Record<string, unknown>>;

function as(version: string, kind: string, spec: Json, metadata: Json = {}): Json {
  return {
    apiVersion: `${GROUP}/${version}`,
    kind,
    metadata: { name: "my-etcd", ...metadata },
    spec,
    status: { a: 1 },
  };
}

function up(object: Json, kind = "EtcdCluster"): Json {
  return converted(object, kind, "v1beta1", GROUP);
}

function down(object: Json, kind = "EtcdCluster"): Json {
  return converted(object, kind, "v1alpha1", GROUP);
}

const resources = fc.record({ limits: fc.constant({ cpu: "1" }) }, { requiredKeys: [] });
const affinity = fc.constantFrom({}, { nodeAffinity: { a: [1] } });
const container = fc.record({ resources, env: fc.constant([{ name: "A", value: "1" }]) }, { requiredKeys: [] });
const podTemplate = fc.record(
  {
    metadata: fc.record(
      { labels: fc.constantFrom({}, { team: "db" }), annotations: fc.constantFrom({}, { a: "1" }) },
      { requiredKeys: [] },
    ),
    spec: fc.record(
      {
        containers: fc
          .uniqueArray(fc.constantFrom("etcd", "shipper", "proxy"), { maxLength: 3 })
          .chain((names) => fc.tuple(...names.map((name) => container.map((rest) => ({ name, ...rest }))))),
        affinity,
        priorityClassName: fc.constant("important"),
        tolerations: fc.constant([{ key: "a", operator: "Exists" }]),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);
const storage = fc.record(
  {
    size: fc.constantFrom("1Gi", 5),
    accessModes: fc.constant(["ReadWriteOnce"]),
    storageClassName: fc.constantFrom("", "fast"),
    selector: fc.constant({ matchLabels: { a: "b" } }),
    volumeAttributesClassName: fc.constant("gold"),
  },
  { requiredKeys: ["size", "accessModes"] },
);
const etcd = fc.record(
  {
    backendQuota: fc.constantFrom({ mode: "Auto" }, { mode: "Fixed", size: "4Gi" }),
    extraArgs: fc.constantFrom({}, { "max-txn-ops": "256" }),
  },
  { requiredKeys: [] },
);
const image = fc.record(
  { repository: fc.constant("r/etcd"), pullSecrets: fc.constant([{ name: "s" }]) },
  { requiredKeys: [] },
);
const template = { version: fc.constantFrom("3.5.35", "3.6.16"), image, etcd, podTemplate };
const clusterTls = fc.constantFrom<object>(
  {},
  NO_TLS,
  { ...NO_TLS, minVersion: "TLS1.3" },
  DEFAULT_TLS,
  { peer: { provider: "None" }, minVersion: "TLS1.3" },
  {
    peer: { provider: "Secret", secret: { name: "peers" } },
    client: { provider: "CertManager", certManager: { issuerRef: { name: "corp" } }, extraNames: ["etcd.example.com"] },
  },
);
const side = {
  secretName: "my-etcd-peer-tls",
  trust: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
};
const memberTls = fc.constantFrom<object>(
  {},
  { peer: side },
  { client: { ...side, clientCertificates: "NotRequired" } },
);
const betaCluster = fc
  .record(
    {
      replicas: fc.integer({ min: 1, max: 7 }),
      ...template,
      tls: clusterTls,
      storage,
      clientService: fc.constantFrom(
        { spec: { type: "ClusterIP" } },
        { spec: { type: "LoadBalancer" }, metadata: { labels: { a: "b" } } },
      ),
      updateStrategy: fc.constantFrom({ type: "RollingUpdate" }, { type: "OnDelete", memberTimeout: "5m" }),
      replacement: fc.constantFrom({ policy: "Never" }, { after: "5m" }, {}),
      disruptionBudget: fc.constantFrom({ policy: "Quorum" }, { policy: "None" }),
      monitoring: fc.constantFrom({}, { podMonitor: { enabled: true, metadata: { labels: { release: "a" } } } }),
      paused: fc.boolean(),
    },
    { requiredKeys: ["replicas", "version"] },
  )
  .map((spec) => clusterSpecSchema.parse(spec) as Json);
const betaPeer = fc
  .record(
    {
      clusterName: fc.constant("my-etcd"),
      clusterID: fc.constant("1d7f0a5bb4fdd2f0"),
      memberID: fc.constant("8e9e05c52164694d"),
      ...template,
      tls: memberTls,
      storage,
      previous: fc.record({ ...template, tls: memberTls }, { requiredKeys: ["version"] }),
    },
    { requiredKeys: ["clusterName", "version"] },
  )
  .map((spec) => peerSpecSchema.parse(spec) as Json);
const metadata = fc.constantFrom({}, { annotations: { a: "1" }, labels: { b: "2" } }, { annotations: {} });

/** Drops an empty map of annotations: the API server stores none. */
function stored(object: Json): Json {
  const { annotations, ...metadata } = object.metadata as { annotations?: object };
  const isEmpty = annotations === undefined || Object.keys(annotations).length === 0;
  return { ...object, metadata: isEmpty ? metadata : { ...metadata, annotations } };
}

describe("an object is unchanged after a conversion to the other version and back", () => {
  test.each([
    { kind: "EtcdCluster", specs: betaCluster },
    { kind: "EtcdPeer", specs: betaPeer },
  ])("when v1beta1 wrote the $kind", ({ kind, specs }) => {
    fc.assert(
      fc.property(specs, metadata, (spec, meta) => {
        const object = as("v1beta1", kind, spec, meta);
        expect(up(down(object, kind), kind)).toEqual(stored(object));
      }),
      { numRuns: 1_000 },
    );
  });

  const alphaTemplate = fc.record(
    {
      metadata: fc.record({ annotations: fc.constantFrom({}, { a: "1" }) }, { requiredKeys: [] }),
      resources,
      affinity,
    },
    { requiredKeys: [] },
  );
  const claim = fc.record(
    { storageClassName: fc.constantFrom("", "fast"), selector: fc.constant({ matchLabels: { a: "b" } }) },
    { requiredKeys: [] },
  );
  const alphaCluster = fc
    .record(
      {
        replicas: fc.integer({ min: 1, max: 7 }),
        version: fc.constantFrom("3.5.35", "3.6.16"),
        podTemplate: alphaTemplate,
        storage: fc.record({ volumeClaimTemplate: claim }, { requiredKeys: [] }),
      },
      { requiredKeys: ["replicas"] },
    )
    .map((spec) => alphaSpec.parse(spec) as Json);

  test("when v1alpha1 wrote the EtcdCluster, and no annotation is added", () => {
    fc.assert(
      fc.property(alphaCluster, metadata, (spec, meta) => {
        const object = as("v1alpha1", "EtcdCluster", spec, meta);
        expect(down(up(object))).toEqual(stored(object));
      }),
      { numRuns: 1_000 },
    );
  });

  test("and keeps fields that v1alpha1 lacks after any edit in v1alpha1", () => {
    fc.assert(
      fc.property(betaCluster, alphaCluster, (before, edit) => {
        const seen = down(as("v1beta1", "EtcdCluster", before));
        const spec = up({ ...seen, spec: edit }).spec as Json;
        for (const field of [
          "image",
          "etcd",
          "clientService",
          "updateStrategy",
          "replacement",
          "disruptionBudget",
          "monitoring",
          "paused",
          "tls",
        ])
          expect(spec[field]).toEqual(before[field]);
        expect(down({ ...seen, spec: edit }).spec).toEqual(edit);
      }),
    );
  });
});

test("fields of v1alpha1 are converted to v1beta1 fields with the same effect on members", () => {
  const spec = {
    replicas: 3,
    version: "3.5.35",
    podTemplate: { metadata: { annotations: { a: "1" } }, resources: { limits: { cpu: 2 } }, affinity: { a: [1] } },
  };
  const { spec: converted } = up(as("v1alpha1", "EtcdCluster", alphaSpec.parse(spec))) as { spec: never };
  expect(clusterSpecSchema.parse(converted)).toEqual(converted);
  expect(converted).toMatchObject({ tls: NO_TLS });
  expect(converted).toMatchObject({
    storage: { size: "8Gi", accessModes: ["ReadWriteOnce"] },
    podTemplate: {
      metadata: { annotations: { a: "1" } },
      spec: { containers: [{ name: "etcd", resources: { limits: { cpu: 2 } } }], affinity: { a: [1] } },
    },
  });
  expect(revisionOf(askedIn(converted, undefined))).toMatch(/^[0-9a-f]{16}$/);
});

test("the annotation has the fields that v1alpha1 lacks, and no others", () => {
  const spec = clusterSpecSchema.parse({
    replicas: 3,
    version: "3.6.16",
    etcd: { backendQuota: { mode: "Auto" } },
    tls: NO_TLS,
  });
  const { metadata } = down(as("v1beta1", "EtcdCluster", spec));
  expect(metadata).toEqual({ name: "my-etcd", annotations: { [BEYOND]: '{"etcd":{"backendQuota":{"mode":"Auto"}}}' } });
});

test("the annotation of a cluster without spec.tls records that, since v1alpha1 means no TLS", () => {
  const spec = clusterSpecSchema.parse({ replicas: 3, version: "3.6.16" });
  const { metadata } = down(as("v1beta1", "EtcdCluster", spec));
  expect(metadata).toEqual({ name: "my-etcd", annotations: { [BEYOND]: '{"tls":null}' } });
  for (const tls of [{}, { tls: NO_TLS }, { tls: DEFAULT_TLS }]) {
    const clusterTemplate = { clusterName: "b", spec: { ...spec, ...tls } };
    const wanted = restoreSpecSchema.parse({ source: { backupName: "nightly" }, clusterTemplate }) as Json;
    const restore = as("v1beta1", "EtcdRestore", wanted);
    expect(up(down(restore, "EtcdRestore"), "EtcdRestore").spec).toEqual(wanted);
  }
});

/** Unknown fields of a newer operator, at each depth that is taken apart. */
function withNewer(spec: Json, at: string): Json {
  const newer = { newer: { a: [1] } };
  const inside = (value: unknown) => ({ ...(value as Json), ...newer });
  const template = (spec.podTemplate ?? {}) as Json;
  const podSpec = (template.spec ?? {}) as Json;
  const previous = (spec.previous ?? { version: "3.6.15" }) as Json;
  const inTemplate: Readonly<Record<string, Json>> = {
    template: inside(template),
    metadata: { ...template, metadata: inside(template.metadata) },
    spec: { ...template, spec: inside(podSpec) },
    container: { ...template, spec: { ...podSpec, containers: [{ name: "etcd", ...newer }] } },
  };
  if (at === "whole") return inside(spec);
  if (at === "storage") return { ...spec, storage: inside(spec.storage) };
  if (at === "previous") return { ...spec, previous: inside(previous) };
  if (at.startsWith("previous."))
    return { ...spec, previous: { ...previous, podTemplate: inTemplate[at.slice("previous.".length)] } };
  return { ...spec, podTemplate: inTemplate[at] };
}

const ANYWHERE = ["whole", "storage", "template", "metadata", "spec", "container"];
const OF_PEER = ["previous", "previous.template", "previous.metadata", "previous.spec", "previous.container"];

describe("unknown fields of a newer operator survive the conversion to v1alpha1 and back", () => {
  test.each([
    ...ANYWHERE.map((at) => ({ kind: "EtcdCluster", specs: betaCluster, at, schema: alphaSpec })),
    ...[...ANYWHERE, ...OF_PEER].map((at) => ({ kind: "EtcdPeer", specs: betaPeer, at, schema: alphaPeerSpec })),
  ])("in $at of an $kind", ({ kind, specs, at, schema }) => {
    fc.assert(
      fc.property(specs, (spec) => {
        const object = as("v1beta1", kind, withNewer(spec, at));
        const alpha = down(object, kind);
        // The API server prunes its unknown fields.
        const pruned = { ...alpha, spec: schema.parse(alpha.spec) as Json };
        expect(pruned).toEqual({ ...alpha, spec: { ...(alpha.spec as Json), ...pruned.spec } });
        expect(up(alpha, kind)).toEqual(stored(object));
        expect(JSON.stringify(up(pruned, kind))).toContain('"newer":{"a":[1]}');
      }),
      { numRuns: 50 },
    );
  });
});

describe("an annotation that no conversion wrote", () => {
  const withText = (text: unknown, spec: Json = { replicas: 3 }) =>
    as("v1alpha1", "EtcdCluster", spec, { annotations: { [BEYOND]: text, a: "1" } });
  const deep = (levels: number) => `{"podTemplate":{"spec":{"x":${'{"a":'.repeat(levels)}1${"}".repeat(levels + 3)}`;
  test.each(
    [
      "",
      "{",
      "null",
      "5",
      "[]",
      '"text"',
      '{"podTemplate":{"spec":{"containers":[null]}}}',
      '{"podTemplate":{"spec":{"containers":"x"}}}',
      '{"paused":"maybe"}',
      '{"updateStrategy":{"type":"Nonsense"}}',
      '{"etcd":{"extraArgs":null}}',
      '{"etcd":{"snapshotCount":5},"paused":true}',
      deep(3_000),
      deep(9_000),
      TOO_LARGE,
    ].map((text) => ({ text, is: text.slice(0, 60) })),
  )("stays on the object, and its fields are converted without it: $is", ({ text }) => {
    const object = withText(text, alphaSpec.parse({ replicas: 3 }) as Json);
    const beta = up(object);
    expect(beta.metadata).toEqual(object.metadata);
    expect(beta.spec).toEqual(clusterSpecSchema.parse({ replicas: 3, version: "3.6.16", tls: NO_TLS }));
    expect(down(beta)).toEqual(object);
    // Fields of v1beta1 replace it.
    const { metadata } = down({ ...beta, spec: { ...(beta.spec as Json), paused: true } });
    expect(metadata).toEqual({ name: "my-etcd", annotations: { [BEYOND]: '{"paused":true}', a: "1" } });
  });

  test("and that was written into a v1beta1 object is dropped in v1alpha1", () => {
    const spec = clusterSpecSchema.parse({ replicas: 3, version: "3.6.16", tls: NO_TLS }) as Json;
    const object = as("v1beta1", "EtcdCluster", spec, { annotations: { [BEYOND]: '{"paused":true}' } });
    expect(down(object).metadata).toEqual({ name: "my-etcd" });
  });

  test("changes neither fields that both versions have nor a member's bootstrap", () => {
    const bootstrap = { initialClusterState: "New", static: { initialCluster: [{ host: "x" }] } };
    const planted = {
      clusterName: "b",
      bootstrap,
      memberID: "2",
      clusterID: "3",
      clusterToken: "4",
      version: "3.5.35",
      replicas: 5,
      storage: { size: "9Gi", accessModes: ["ReadWriteOncePod"], storageClassName: "slow" },
      podTemplate: { metadata: { annotations: { b: "2" } }, spec: { affinity: { a: 1 } } },
      previous: { version: "3.5.34" },
    };
    const spec = alphaPeerSpec.parse({ clusterName: "a" }) as Json;
    const annotations = { [BEYOND]: JSON.stringify(planted) };
    expect(up(as("v1alpha1", "EtcdPeer", spec, { annotations }), "EtcdPeer").spec).toEqual({
      clusterName: "a",
      version: "3.6.16",
      storage: { size: "8Gi", accessModes: ["ReadWriteOnce"] },
      podTemplate: { metadata: {}, spec: {} },
    });
  });
});

describe("fields that are too large for an annotation", () => {
  const LIMIT = 262_144;
  const sizeOf = ({ metadata }: Json) => {
    const entries = Object.entries((metadata as { annotations?: Record<string, string> }).annotations ?? {});
    return entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  };
  const large = (bytes: number, annotations: Json = {}) => {
    const spec = clusterSpecSchema.parse({
      replicas: 3,
      version: "3.6.16",
      podTemplate: { spec: { x: "ü".repeat(bytes / 2) } },
    }) as Json;
    return as("v1beta1", "EtcdCluster", spec, { annotations });
  };

  test("are missing in v1alpha1, and the annotation reports that", () => {
    const annotations = { a: "y".repeat(100_000) };
    expect(up(down(large(100_000, annotations)))).toEqual(large(100_000, annotations));
    expect(down(large(300_000)).metadata).toMatchObject({ annotations: { [BEYOND]: TOO_LARGE } });
    const other = down(large(160_000, annotations)).metadata;
    expect(other).toMatchObject({ annotations: { ...annotations, [BEYOND]: TOO_LARGE } });
  });

  test("never make annotations exceed the API server's limit", () => {
    for (const bytes of [1_000, 155_900, 200_000, 262_100])
      for (const own of [10, 100_000, 255_980, 262_142])
        expect(sizeOf(down(large(bytes, { a: "y".repeat(own) })))).toBeLessThanOrEqual(LIMIT);
  });
});

test("every object is converted, and its v1beta1 form fits the schema, whatever its annotation is", () => {
  const words = ["spec", "storage", "podTemplate", "containers", "metadata", "annotations", "previous", "resources"];
  const key = fc.constantFrom(...words, "volumeClaimTemplate", "requests", BEYOND, "__proto__", "constructor", "x");
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6, withCrossShrink: true },
      fc.jsonValue(),
      fc.dictionary(key, tie("tree"), { maxKeys: 5 }),
      fc.array(tie("tree"), { maxLength: 2 }),
    ),
  }));
  const text = fc.oneof(
    tree,
    tree.map((each) => JSON.stringify(each)),
  );
  fc.assert(
    fc.property(tree, text, fc.constantFrom("EtcdCluster", "EtcdPeer", "Pod"), (spec, annotation, kind) => {
      for (const from of ["v1alpha1", "v1beta1"] as const) {
        const object = { ...as(from, kind, spec as Json), metadata: { annotations: { [BEYOND]: annotation } } };
        const to = from === "v1alpha1" ? "v1beta1" : "v1alpha1";
        const result = converted(JSON.parse(JSON.stringify(object)) as Json, kind, to, GROUP);
        expect(() => JSON.stringify(result)).not.toThrow();
        const { annotations } = result.metadata as { annotations?: Json };
        const isTaken = to === "v1beta1" && annotations?.[BEYOND] === undefined;
        if (isTaken) expect(whyNotShape(result.spec, kind)).toBeUndefined();
      }
      expect(() => up({ spec, metadata: spec }, kind)).not.toThrow();
      expect(() => down({ spec, metadata: spec }, kind)).not.toThrow();
    }),
    { numRuns: 2_000 },
  );
});
