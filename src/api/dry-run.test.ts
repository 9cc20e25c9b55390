import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editIn } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import { cluster } from "#kit/snapshots/cluster.ts";

const SPEC = clusterSpecSchema.parse({
  replicas: 3,
  version: "3.6.16",
  replacement: { policy: "WhenLost", after: "5m" },
  etcd: { snapshotCount: 1_000 },
});

function asking(text: string, spec: EtcdCluster["spec"] = SPEC): Pick<EtcdCluster, "metadata" | "spec"> {
  const { metadata } = cluster().cluster;
  return { metadata: { ...metadata, annotations: { [DRY_RUN_ANNOTATION]: text } }, spec };
}

function edited(patch: unknown) {
  return editIn(asking(JSON.stringify(patch)));
}

test("dry run: an EtcdCluster without the annotation has no edit", () => {
  expect(editIn(cluster().cluster)).toBeUndefined();
});

describe("dry run: the edit is a merge patch of spec", () => {
  const cases: readonly { readonly name: string; readonly patch: object; readonly spec: object }[] = [
    { name: "an empty edit changes nothing", patch: {}, spec: SPEC },
    {
      name: "given values replace the old ones",
      patch: { replicas: 5, version: "3.7.3" },
      spec: { ...SPEC, replicas: 5, version: "3.7.3" },
    },
    {
      name: "maps are merged",
      patch: { etcd: { heartbeatInterval: "200ms" } },
      spec: { ...SPEC, etcd: { snapshotCount: 1_000, heartbeatInterval: "200ms" } },
    },
    {
      name: "the size of volumes may be written in other words",
      patch: { storage: { size: "8192Mi" } },
      spec: { ...SPEC, storage: { ...SPEC.storage, size: "8192Mi" } },
    },
    { name: "null removes a value", patch: { etcd: { snapshotCount: null } }, spec: { ...SPEC, etcd: {} } },
    {
      name: "null within a new value is dropped",
      patch: { podTemplate: { metadata: { labels: null } } },
      spec: { ...SPEC, podTemplate: { metadata: {} } },
    },
    {
      name: "a removed value gets its default",
      patch: { clientService: null, podTemplate: null, updateStrategy: { type: null, memberTimeout: "1m" } },
      spec: { ...SPEC, updateStrategy: { type: "RollingUpdate", memberTimeout: "1m" } },
    },
    ...[{ metadata: { labels: { a: "b" } } }, { spec: { type: null, trafficDistribution: "PreferClose" } }].map(
      (clientService) => ({
        name: `a client Service with only ${Object.keys(clientService).join()} gets its default type`,
        patch: { clientService },
        spec: {
          ...SPEC,
          clientService: {
            ...clientService,
            spec: { type: "ClusterIP", ...("spec" in clientService && { trafficDistribution: "PreferClose" }) },
          },
        },
      }),
    ),
    {
      name: "a missing value within a new one gets its default",
      patch: {
        networkPolicy: { enabled: true, clients: { policy: "Namespace" } },
        replacement: { policy: null, after: "1m" },
      },
      spec: {
        ...SPEC,
        networkPolicy: { enabled: true, clients: { policy: "Namespace" }, metrics: { policy: "Listed" } },
        replacement: { policy: "WhenLost", after: "1m" },
      },
    },
    ...[{ mode: "Periodic", period: "1h" }, { mode: "Revision", revisions: 1 }, { mode: "None" }].map(
      (autoCompaction) => ({
        name: `compaction may be ${autoCompaction.mode}`,
        patch: { etcd: { autoCompaction } },
        spec: { ...SPEC, etcd: { ...SPEC.etcd, autoCompaction } },
      }),
    ),
    {
      name: "policy Never replaces the time",
      patch: { replacement: { policy: "Never", after: null } },
      spec: { ...SPEC, replacement: { policy: "Never" } },
    },
    {
      name: "lists are replaced",
      patch: { podTemplate: { spec: { containers: [{ name: "beside" }] } } },
      spec: { ...SPEC, podTemplate: { spec: { containers: [{ name: "beside" }] } } },
    },
  ];
  test.each(cases)("$name", ({ patch, spec }) => expect(edited(patch)).toEqual({ is: "edit", spec }));

  test("a removed value without a default is missing", () => {
    const made = edited({ replacement: null, etcd: null });
    expect(made?.is === "edit" && Object.keys(made.spec).sort()).toEqual(
      Object.keys(SPEC)
        .filter((field) => field !== "replacement" && field !== "etcd")
        .sort(),
    );
  });
});

describe("dry run: an annotation that is no edit is refused with a message", () => {
  const may = "it must be a JSON object, a merge patch of spec such as";
  const cases: readonly { readonly text: string; readonly why: string }[] = [
    { text: "true", why: `it is "true"; ${may}` },
    { text: "", why: `it is ""; ${may}` },
    { text: "[]", why: `it is "[]"; ${may}` },
    { text: "replicas: 5", why: `it is "replicas: 5"; ${may}` },
    { text: "null", why: `it is "null"; ${may}` },
    {
      text: '{"replica":5}',
      why: 'it names "replica"; what it names must be a field of spec: replicas, version, image,',
    },
    { text: '{"replicas":9}', why: "with it, spec.replicas is 9; it must be at most 7" },
    { text: '{"replicas":null}', why: "with it, spec.replicas is missing; it must be given" },
    {
      text: '{"version":null}',
      why: "with it, spec.version is missing; it must be given",
    },
    {
      text: '{"version":"4.0.0"}',
      why: 'with it, spec.version is "4.0.0"; it must be an etcd release without a leading v',
    },
    { text: '{"version":"3.5.10"}', why: 'with it, spec.version is "3.5.10"; it must be' },
    {
      text: '{"storage":{"size":"9Gi"}}',
      why: "with it, spec.storage.size differs; it must stay as it is after creation",
    },
    { text: '{"storage":{"storageClassName":"fast"}}', why: "with it, spec.storage.storageClassName differs" },
    { text: '{"storage":null}', why: "with it, spec.storage.size differs" },
    {
      text: '{"tls":{"minVersion":"TLS1.4"}}',
      why: 'with it, spec.tls.minVersion is "TLS1.4"; it must be',
    },
    {
      text: '{"bootstrap":{"fromBackup":{"source":{"backupName":"nightly"}}}}',
      why: "with it, spec.bootstrap differs; it can only be removed after creation",
    },
    { text: '{"replacement":{"policy":"Never"}}', why: "with it, spec.replacement has after and the policy Never" },
    { text: '{"etcd":{"backendQuota":{"mode":"Fixed"}}}', why: "with it, spec.etcd.backendQuota does not fit" },
    {
      text: '{"etcd":{"backendQuota":{"mode":"Auto","size":"4Gi"}}}',
      why: "with it, spec.etcd.backendQuota does not fit",
    },
    ...[
      '{"mode":"Periodic"}',
      '{"mode":"Revision"}',
      '{"mode":"None","period":"1h"}',
      '{"mode":"None","revisions":1}',
    ].map((each) => ({
      text: `{"etcd":{"autoCompaction":${each}}}`,
      why: "with it, spec.etcd.autoCompaction does not fit",
    })),
    {
      text: '{"networkPolicy":{"enabled":true}}',
      why: "with it, spec.networkPolicy.clients is missing; it must be given",
    },
    { text: '{"auth":{}}', why: "with it, spec.auth.enabled is missing; it must be given" },
    { text: '{"tls":{"peer":{"provider":"Vault"}}}', why: 'with it, spec.tls.peer.provider is "Vault"; it must be' },
  ];
  test.each(cases)("$text", ({ text, why }) => {
    const made = editIn(asking(text));
    expect(made?.is === "refused" ? made.why.slice(0, why.length) : made).toBe(why);
  });

  test("a value that is nested too deeply is refused", () => {
    const depth = 40_000;
    const text = `{"podTemplate":{"spec":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}}`;
    expect(editIn(asking(text))).toMatchObject({ is: "refused", why: expect.stringContaining("levels deep") });
  });
});

test("dry run: an edit that removes spec.tls is refused while members use TLS", () => {
  const { metadata, spec } = asking('{"tls":null}');
  const given = { metadata, spec: { ...spec, tls: clusterTlsSchema.parse({ peer: { provider: "None" } }) } };
  const why =
    "with it, spec.tls is missing, but members use TLS (client); set it as it was, or set provider None to turn TLS off";
  expect(editIn(given)).toEqual({ is: "refused", why });
});

describe("dry run: the provider of certificates may be edited", () => {
  const given = (side: string, provider: string, patch: object) => {
    const { metadata, spec } = asking(JSON.stringify({ tls: { [side]: patch } }));
    return editIn({ metadata, spec: { ...spec, tls: clusterTlsSchema.parse({ [side]: made(provider) }) } });
  };
  const made = (provider: string) => ({
    provider,
    ...(provider === "Secret" ? { secret: { name: "a", server: { name: "a" }, operator: { name: "b" } } } : {}),
    ...(provider === "CertManager" ? { certManager: { issuerRef: { name: "corp" } } } : {}),
  });

  test.each([
    ["peer", "Operator", "Operator"],
    ["client", "Operator", "Operator"],
    ["peer", "Secret", "None"],
    ["client", "None", "Operator"],
    ["peer", "Operator", "Secret"],
    ["peer", "Operator", "CertManager"],
    ["client", "Operator", "Secret"],
  ])("for %s certificates from %s to %s", (side, before, after) => {
    expect(given(side, before, { secret: null, ...made(after) })).toMatchObject({ is: "edit" });
  });
});

test("dry run: any annotation results in an edit or a message", () => {
  const field = fc.constantFrom(...Object.keys(SPEC), "image", "__proto__", "x");
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.dictionary(field, fc.jsonValue()).map((patch) => JSON.stringify(patch)),
  );
  fc.assert(
    fc.property(text, (each) => {
      const made = editIn(asking(each));
      expect(made?.is === "edit" || (made?.why ?? "").length > 0).toBe(true);
    }),
  );
});
