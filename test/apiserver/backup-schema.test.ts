import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import { serveKinds } from "#kit/servers/shipped.ts";
import { POD_TEMPLATE } from "#kit/snapshots/etcd-backup.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Draft, Resource } from "#kube/kinds.ts";

// The API server accepts, completes or refuses the spec of a backup before the operator sees it.

const { signal } = new AbortController();
const OPTIONS = { signal };
const namespace = "default";
let kube: KubeClient;

/** The version before v1beta1. Nothing converts it here, so none of it can be stored. */
const ALPHA: Resource<EtcdBackup> = { ...ETCD_BACKUPS, version: "v1alpha1" };

serveKinds([ETCD_BACKUPS], ({ client }) => {
  kube = client;
});

let count = 0;

async function made(spec: unknown, of = ETCD_BACKUPS, name = `b-${count++}`): Promise<EtcdBackup> {
  const apiVersion = `${of.group}/${of.version}`;
  const draft = { apiVersion, kind: of.kind, metadata: { namespace, name }, spec } as unknown as Draft<EtcdBackup>;
  // A v1alpha1 object would need a conversion to be stored. The schema refuses it before that.
  return await kube.create(of, draft, OPTIONS);
}

const SOURCE = { cluster: { name: "orders" } };
const DESTINATION = { s3: { bucket: "backups" } };

function to(destination: object): object {
  return { source: SOURCE, destination };
}

function from(source: object): object {
  return { source, destination: DESTINATION };
}

function external(etcd: object): object {
  return from({ external: etcd });
}

function template(text: string): object {
  return to({ url: { template: text } });
}

function tags(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, "v"]));
}

function kms(kmsKeyID: string): object {
  return to({ s3: { bucket: "bb", serverSideEncryption: "aws:kms", kmsKeyID } });
}

function labelled(key: string): object {
  return { ...from(SOURCE), podTemplate: { metadata: { labels: { [key]: "a" } } } };
}

function owned(key: string): [string, object, string[]] {
  return [`the label ${key}`, labelled(key), [`${key} is a label that the operator or the Job controller sets`]];
}

test("a backup with only a source and a destination gets every default", async () => {
  expect((await made({ source: SOURCE, destination: DESTINATION })).spec).toEqual({
    source: SOURCE,
    destination: { s3: { bucket: "backups", pathStyle: false } },
    compression: "None",
    verification: { mode: "None" },
    deletionPolicy: "Retain",
  });
});

describe("is accepted:", () => {
  test.each([
    ["another etcd with TLS and a user", external({
      endpoints: ["https://etcd.example.com:2379", "https://[fd00::1]:2379/"],
      tls: { secretName: "tls", serverName: "etcd.example.com" },
      auth: { secretName: "root" },
    })],
    ["every field of S3", to({ s3: {
      bucket: "backups", prefix: "shop/orders", endpoint: "http://10.0.0.1:9000", region: "eu-west-1", pathStyle: true,
      credentials: { secretName: "s3" }, serverSideEncryption: "aws:kms", kmsKeyID: "k".repeat(512),
      storageClass: "GLACIER_IR", tags: { ["k".repeat(128)]: "v".repeat(256), "a b": "" },
    } })],
    ["S3 with the store's own encryption", to({ s3: { bucket: "backups", serverSideEncryption: "AES256" } })],
    ["ten tags", to({ s3: { bucket: "backups", tags: tags(10) } })],
    ["Google Cloud Storage", to({ gcs: { bucket: "backups", credentials: { secretName: "gcs" } } })],
    ["Azure Blob Storage", to({ azure: { account: "mine", container: "$root", endpoint: "http://10.0.0.1:10000/mine" } })],
    ["a volume", to({ volume: { claimName: "backups", path: "a.b/c" } })],
    ["a URL", template("s3://b/{{ .Namespace }}/{{.Name}}-{{ .UID}}-{{- .CreationTimestamp -}}.db?region=eu-1")],
    ["encryption, with the usual key", {
      source: SOURCE, destination: DESTINATION, compression: "Zstd", deletionPolicy: "Delete",
      encryption: { keySecretRef: { name: "key" } }, podTemplate: POD_TEMPLATE, activeDeadlineSeconds: 600,
    }],
    ["empty parts of a pod template", { ...from(SOURCE), podTemplate: { metadata: {}, spec: {} } }],
    ["a label of a similar name", labelled("app.kubernetes.io/version")],
  ])("%s", async (_, spec) => expect((await made(spec)).metadata.uid).toBeTruthy()); // biome-ignore format: a table
});

describe("is refused with the field, the value and what is allowed:", () => {
  test.each<[string, unknown, readonly string[]]>([
    ["no source", { destination: DESTINATION }, ["spec.source: Required value"]],
    ["an empty source", from({}), ["source must have exactly one of cluster and external"]],
    [
      "two sources",
      from({ ...SOURCE, external: { endpoints: ["http://a:2379"] } }),
      ["exactly one of cluster and external"],
    ],
    ["a cluster without a name", from({ cluster: {} }), ["spec.source.cluster.name: Required value"]],
    ["another etcd without endpoints", external({ tls: {} }), ["spec.source.external.endpoints: Required value"]],
    ["no endpoint", external({ endpoints: [] }), ["spec.source.external.endpoints", "at least 1 items"]],
    [
      "TLS with an http endpoint",
      external({ endpoints: ["https://a:1", "http://b:1"], tls: {} }),
      ["every endpoint must begin with https://"],
    ],
    [
      "a password with an http endpoint",
      external({ endpoints: ["https://a:1", "http://b:1"], auth: { secretName: "s" } }),
      ["with auth, every endpoint must begin with https://"],
    ],
    [
      "an endpoint without a scheme",
      external({ endpoints: ["a:2379"] }),
      ["it is a:2379; it must be http:// or https://, a host and a port"],
    ],
    [
      "an endpoint with a path",
      external({ endpoints: ["http://a:2379/v3"] }),
      ["spec.source.external.endpoints[0]", "it is http://a:2379/v3"],
    ],
    ["an endpoint with a password", external({ endpoints: ["http://u:p@a:2379"] }), ["it must be http:// or https://"]],
    ["no destination", to({}), ["destination must have exactly one of s3, gcs, azure, volume and url"]],
    [
      "two destinations",
      to({ ...DESTINATION, gcs: { bucket: "b2" } }),
      ["exactly one of s3, gcs, azure, volume and url"],
    ],
    ["another encryption", to({ s3: { bucket: "bb", serverSideEncryption: "none" } }), ["AES256", "aws:kms"]],
    ["a key of KMS without its encryption", to({ s3: { bucket: "bb", kmsKeyID: "k" } }), ["must be aws:kms"]],
    [
      "a key of KMS with another encryption",
      to({ s3: { bucket: "bb", kmsKeyID: "k", serverSideEncryption: "AES256" } }),
      ["with kmsKeyID, serverSideEncryption must be aws:kms"],
    ],
    ["an empty key of KMS", kms(""), ["kmsKeyID", "at least 1 chars"]],
    ["a key of KMS that is too long", kms("k".repeat(513)), ["kmsKeyID"]],
    ["a key of KMS with a space", kms("a b"), ["kmsKeyID is a b; it must be the ID"]],
    ["a class to thaw", to({ s3: { bucket: "bb", storageClass: "GLACIER" } }), ["STANDARD_IA"]],
    ["eleven tags", to({ s3: { bucket: "bb", tags: tags(11) } }), ["tags", "10"]],
    ["a tag without a key", to({ s3: { bucket: "bb", tags: { "": "v" } } }), ["keys of tags must have 1 to 128"]],
    ["a long key of a tag", to({ s3: { bucket: "bb", tags: { ["k".repeat(129)]: "" } } }), ["keys of tags must have"]],
    ["a long tag", to({ s3: { bucket: "bb", tags: { k: "v".repeat(257) } } }), ["256"]],
    ["a tag of Amazon's", to({ s3: { bucket: "bb", tags: { "aws:k": "v" } } }), ["not begin with aws:"]],
    ["a tag with a line break", to({ s3: { bucket: "bb", tags: { k: "a\nb" } } }), ["letters, digits, spaces"]],
    ["an invalid bucket", to({ s3: { bucket: "a/b" } }), ["bucket is a/b; it must be 2 to 222 letters"]],
    [
      "a prefix with ..",
      to({ s3: { bucket: "bb", prefix: "a/../b" } }),
      ["prefix is a/../b; it must be names of letters"],
    ],
    ["a prefix that begins with /", to({ gcs: { bucket: "bb", prefix: "/a" } }), ["prefix is /a; it must be"]],
    ["a prefix that ends with /", to({ gcs: { bucket: "bb", prefix: "a/" } }), ["prefix is a/; it must be"]],
    ["a path that leaves the volume", to({ volume: { claimName: "c", path: ".." } }), ["path is ..; it must be"]],
    [
      "an endpoint of a store with a query",
      to({ s3: { bucket: "bb", endpoint: "http://a?b" } }),
      ["it is http://a?b; it must be"],
    ],
    [
      "an invalid account",
      to({ azure: { account: "Mine", container: "con" } }),
      ["account is Mine; it must be 3 to 24"],
    ],
    [
      "an unknown placeholder",
      template("s3://b/{{ .Name }}/{{ .Labels }}"),
      ["the template has {{ .Labels }}; it may have {{ .Namespace }}, {{ .Name }}"],
    ],
    [
      "a function in the template",
      template("s3://b/{{ printf .Name }}"),
      ["the template has {{ printf .Name }}; it may have"],
    ],
    ["a brace outside of a placeholder", template("s3://b/{ .Name }"), ["a brace that belongs to no placeholder"]],
    [
      "an invalid compression",
      { ...from(SOURCE), compression: "Gzip" },
      ['spec.compression: Unsupported value: "Gzip"'],
    ],
    [
      "a way of verification that does not exist",
      { ...from(SOURCE), verification: { mode: "Read" } },
      ['spec.verification.mode: Unsupported value: "Read"'],
    ],
    [
      "a deadline of zero",
      { ...from(SOURCE), activeDeadlineSeconds: 0 },
      ["spec.activeDeadlineSeconds", "greater than or equal to 1"],
    ],
    [
      "a label of the operator's group",
      labelled("etcd.improbable.io/cluster-name"),
      ["etcd.improbable.io/cluster-name is a label that the operator or the Job controller sets; leave it out"],
    ],
    ...["app.kubernetes.io/name", "app.kubernetes.io/managed-by", "app.kubernetes.io/component"].map(owned),
    owned("app.kubernetes.io/instance"),
    ...["batch.kubernetes.io/job-name", "controller-uid", "job-name"].map(owned),
    [
      "an annotation of the operator's group",
      { ...from(SOURCE), podTemplate: { metadata: { annotations: { "etcd.improbable.io/a": "b" } } } },
      ["etcd.improbable.io/a is a reserved annotation; leave it out"],
    ],
    [
      "an annotation that confines less",
      {
        ...from(SOURCE),
        podTemplate: {
          metadata: { annotations: { "container.apparmor.security.beta.kubernetes.io/agent": "unconfined" } },
        },
      },
      ["container.apparmor.security.beta.kubernetes.io/agent is a reserved annotation"],
    ],
    [
      "a priority of Kubernetes' own components",
      { ...from(SOURCE), podTemplate: { spec: { priorityClassName: "system-node-critical" } } },
      ["priorityClassName is system-node-critical; it must not begin with system-"],
    ],
    [
      "an invalid effect of a toleration",
      { ...from(SOURCE), podTemplate: { spec: { tolerations: [{ effect: "Never" }] } } },
      ['spec.podTemplate.spec.tolerations[0].effect: Unsupported value: "Never"'],
    ],
    [
      "the same pull secret twice",
      { ...from(SOURCE), podTemplate: { spec: { imagePullSecrets: [{ name: "a" }, { name: "a" }] } } },
      ["spec.podTemplate.spec.imagePullSecrets[1]: Duplicate value"],
    ],
    ["encryption without a key", { ...from(SOURCE), encryption: {} }, ["spec.encryption.keySecretRef: Required value"]],
  ])("%s", async (_, spec, says) => {
    // biome-ignore format: a table
    const refusal = await made(spec).then(() => "it was accepted", String);
    for (const words of says) expect(refusal).toContain(words);
  });

  test("a name that is too long for a label value", async () => {
    const spec = { source: SOURCE, destination: DESTINATION };
    await expect(made(spec, ETCD_BACKUPS, "a".repeat(64))).rejects.toThrow(
      "metadata.name is too long; it may have at most 63",
    );
    expect((await made(spec, ETCD_BACKUPS, "a".repeat(63))).metadata.uid).toBeTruthy();
  });

  test("an unknown placeholder in v1alpha1", async () => {
    const spec = { source: { clusterURL: "http://a:2379" }, destination: { objectURLTemplate: "s3://b/{{ .Foo }}" } };
    await expect(made(spec, ALPHA)).rejects.toThrow("the template has {{ .Foo }}; it may have {{ .Namespace }}");
  });
});

test("the example is accepted", async () => {
  const { spec } = parse(readFileSync("examples/backup.yaml", "utf8")) as { spec: object };
  expect((await made(spec)).spec).toMatchObject(spec);
});

const LASTS = "only spec.verification can be changed after creation; create another EtcdBackup";

test.each<[what: string, change: object]>([
  ["a source", { source: { cluster: { name: "other" } } }],
  ["a destination", { destination: { s3: { bucket: "another" } } }],
  ["a compression", { compression: "Zstd" }],
  ["a policy", { deletionPolicy: "Delete" }],
  ["an encryption", { encryption: { keySecretRef: { name: "k" } } }],
  ["a pod template", { podTemplate: POD_TEMPLATE }],
  ["a deadline", { activeDeadlineSeconds: 1 }],
])("%s cannot be changed or removed after creation, not even together with verification", async (_, change) => {
  const [bare, full] = [
    await made({ source: SOURCE, destination: DESTINATION }),
    await made({ source: SOURCE, destination: DESTINATION, ...change }),
  ];
  const edit = ({ metadata }: EtcdBackup, spec: object) =>
    kube.patch(ETCD_BACKUPS, metadata, { spec }, { signal, type: "merge" });
  await expect(edit(bare, { ...change, verification: { mode: "Restore" } })).rejects.toThrow(LASTS);
  const optional = Object.keys(change).filter((field) =>
    ["encryption", "podTemplate", "activeDeadlineSeconds"].includes(field),
  );
  for (const field of optional) await expect(edit(full, { [field]: null })).rejects.toThrow(LASTS);
  expect((await edit(full, { verification: { mode: "Restore" } })).spec).toMatchObject({
    ...change,
    verification: { mode: "Restore" },
  });
});

test("spec.verification may be set at creation or later, and not removed", async () => {
  const spec = { source: SOURCE, destination: DESTINATION };
  expect((await made({ ...spec, verification: { mode: "Restore" } })).spec.verification).toEqual({ mode: "Restore" });
  const { metadata } = await made(spec);
  const verify = (verification: object | null) =>
    kube.patch(ETCD_BACKUPS, metadata, { spec: { verification } }, { signal, type: "merge" });
  expect((await verify({ mode: "None" })).spec.verification).toEqual({ mode: "None" });
  expect((await verify({ mode: "Restore" })).spec.verification).toEqual({ mode: "Restore" });
  for (const value of [{ mode: "None" }, { mode: null }, null])
    await expect(verify(value)).rejects.toThrow("verification cannot be taken back");
});

test("after creation the rest of the spec cannot be changed, and metadata can", async () => {
  const { metadata } = await made({ source: SOURCE, destination: DESTINATION });
  const edit = (change: object) => kube.patch(ETCD_BACKUPS, metadata, change, { signal, type: "merge" });
  await expect(edit({ spec: { compression: "Zstd" } })).rejects.toThrow(LASTS);
  const { metadata: edited } = await edit({ metadata: { annotations: { a: "1" } } });
  expect(edited.annotations).toEqual({ a: "1" });
});

test("the schema of the status accepts every field that the operator writes", async () => {
  const backup = await made({ source: SOURCE, destination: DESTINATION });
  const status: EtcdBackup["status"] = {
    observedGeneration: 1,
    phase: "Completed",
    source: "orders",
    objectURL: "s3://backups/x.db",
    objectKey: "x.db",
    jobName: backup.metadata.name,
    startTime: "2026-01-01T12:00:00Z",
    completionTime: "2026-01-01T12:00:10Z",
    object: {
      bytes: 9_000_000_000, storedBytes: 1, sha256: "ab", revision: "9223372036854775807", etcdVersion: "3.6.16",
      clusterID: "ab", memberID: "cd", compression: "Zstd", encrypted: true,
    },
    nothingStored: true,
    verification: {
      jobName: "verify-u", startTime: "2026-01-01T12:00:10Z", completionTime: "2026-01-01T12:00:20Z", revision: "9223372036854775807", keys: 1,
    },
    progress: { phase: "Copying", bytesRead: 1, bytesStored: 1, bytesExpected: 2 },
  }; // biome-ignore format: a list
  const stored = await kube.replace(ETCD_BACKUPS, { ...backup, status }, { signal, subresource: "status" });
  expect(stored.status).toEqual(status);
});
