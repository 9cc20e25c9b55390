import { createHash } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { BACKUP_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { eventually, instance, kubectl, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { Load } from "#kit/e2e/load.ts";
import { restored, UserBackups } from "#kit/e2e/user-backups.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/servers/versitygw.ts";
import type { Pod } from "#kube/kinds.ts";

// Backups as people use them: an EtcdBackup, a Job with the operator's own image, and an object that etcd's own tools
// restore.

const KEYS = Array.from({ length: 8 }, (_, n) => `known-${n}`);

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let backups: UserBackups;

beforeAll(async () => {
  namespace = await testNamespace("backup");
  cluster = new UserCluster(namespace.name);
  backups = new UserBackups(cluster);
  await cluster.create({ replicas: 3 });
  await backups.claim();
  await cluster.untilReady();
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

/** The folder on this machine that holds the claim's data. */
async function folderOf(claim: string): Promise<string> {
  const { spec } = await cluster.json<{ spec: { volumeName: string } }>("get", "pvc", claim);
  const nodes = ["node-1", "node-2", "node-3"].map((node) =>
    join(instance.folder, "nodes", node, "volumes", spec.volumeName),
  );
  const found = nodes.find((folder) => existsSync(folder));
  if (found === undefined) throw new Error(`no node holds ${spec.volumeName}`);
  return found;
}

/** A policy that adds a container to pods of backups in the namespace, as service meshes do. */
function addedContainer(name: string, namespace: string): readonly object[] {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const proxy = `[JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{
    name: 'proxy', image: object.spec.containers[0].image, command: ['node', '-e', 'setInterval(() => {}, 1000)'],
    securityContext: Object.spec.containers.securityContext{
      allowPrivilegeEscalation: false,
      capabilities: Object.spec.containers.securityContext.capabilities{drop: ['ALL']}}}}]`;
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
  const spec = {
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: "backup", expression: `'${BACKUP_LABEL}' in object.metadata.labels` }],
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: proxy } }],
  };
  const selected = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } };
  const binding = { policyName: name, matchResources: selected };
  return [
    { apiVersion, kind: "MutatingAdmissionPolicy", metadata: { name }, spec },
    { apiVersion, kind: "MutatingAdmissionPolicyBinding", metadata: { name }, spec: binding },
  ];
}

/** A pod with the label of backups, to see when the policy has an effect. */
const PROBE = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "probe", labels: { [BACKUP_LABEL]: "probe" } },
  spec: {
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "probe",
        image: "registry.example/none",
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
  },
};

const volume = { volume: { claimName: "backups", path: "nightly" } };
const source = { cluster: { name: "my-etcd" } };

describe("a backup to a volume", () => {
  test("under load contains all writes acknowledged before, and etcdutl can restore it", async () => {
    await Promise.all(KEYS.map((key) => cluster.put("my-etcd-0", key, `value of ${key}`)));
    const { revision } = (
      JSON.parse(await cluster.etcdctl("my-etcd-0", "get", "known-0", "-w", "json")) as { header: { revision: number } }
    ).header;
    await using load = new Load(namespace.name, "my-etcd");
    await load.untilServed();
    await backups.backUp("nightly", { source, destination: volume, deletionPolicy: "Delete" });
    const { status, metadata } = await backups.until("nightly", "Completed");
    expect(metadata.finalizers).toEqual(["etcdbackup.etcd.improbable.io/object-cleanup"]);
    expect(status).toMatchObject({
      source: "my-etcd",
      jobName: "nightly",
      object: { etcdVersion: DEFAULT_VERSION, compression: "None", encrypted: false },
    });
    expect(status?.objectURL).toBe(`volume://backups/${status?.objectKey}`);
    expect(Number(status?.object?.revision)).toBeGreaterThanOrEqual(revision);
    expect(Date.parse(status?.completionTime ?? "")).toBeGreaterThanOrEqual(Date.parse(status?.startTime ?? ""));
    expect(status?.conditions?.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`)).toEqual([
      "Complete True Completed",
      "Failed False Completed",
      "Ready True Completed",
    ]);
    const { identity } = (await cluster.get()).status ?? {};
    expect(status?.object?.clusterID).toBe(identity?.clusterID);

    const file = join(await folderOf("backups"), status?.objectKey ?? "");
    const content = readFileSync(file);
    expect(content.length).toBe(status?.object?.bytes);
    expect(createHash("sha256").update(content).digest("hex")).toBe(status?.object?.sha256);
    const expected = Object.fromEntries(KEYS.map((key) => [key, `value of ${key}`]));
    expect(await restored(file, KEYS)).toEqual(expected);
  });

  test("is shown by kubectl get with phase, source, size and revision", async () => {
    const lines = (await cluster.kubectl("get", "etcdbackup", "nightly"))
      .trim()
      .split("\n")
      .map((line) => line.split(/\s+/));
    expect(lines[0]).toEqual(["NAME", "PHASE", "SOURCE", "BYTES", "REVISION", "AGE"]);
    const { object } = (await backups.read("nightly")).status ?? {};
    expect(lines[1]?.slice(0, 5)).toEqual(["nightly", "Completed", "my-etcd", String(object?.bytes), object?.revision]);
  });

  test("is not repeated when its Job is deleted", async () => {
    await cluster.kubectl("delete", "job", "nightly");
    const { status } = await backups.read("nightly");
    await backups.backUp("other", { source, destination: volume, compression: "Zstd" });
    await backups.until("other", "Completed");
    expect((await backups.read("nightly")).status).toEqual(status);
    expect(await cluster.kubectl("get", "jobs", "-o", "name")).toBe("job.batch/other\n");
  });

  test("deletes its object together with the EtcdBackup only with deletionPolicy Delete", async () => {
    const { status } = await backups.read("nightly");
    const file = join(await folderOf("backups"), status?.objectKey ?? "");
    expect([existsSync(file), existsSync(`${file}.manifest.json`)]).toEqual([true, true]);
    await cluster.kubectl("delete", "etcdbackup", "nightly", "--timeout=90s");
    expect([existsSync(file), existsSync(`${file}.manifest.json`)]).toEqual([false, false]);
    const kept = (await backups.read("other")).status?.objectKey ?? "";
    await cluster.kubectl("delete", "etcdbackup", "other", "--timeout=30s");
    expect(existsSync(join(await folderOf("backups"), kept))).toBe(true);
  });

  test("is stored, verified and deleted in pods with an added container that never ends", async () => {
    const policy = `proxy.${namespace.name}`;
    for (const object of addedContainer(policy, namespace.name))
      await kubectl.run(["create", "-f", "-"], { input: JSON.stringify(object) });
    try {
      await eventually(async () => {
        const args = ["create", "-n", namespace.name, "--dry-run=server", "-o", "json", "-f", "-"];
        const { stdout } = await kubectl.run(args, { input: JSON.stringify(PROBE) });
        expect((JSON.parse(stdout) as Pod).spec?.containers).toHaveLength(2);
      });
      const verification = { mode: "Restore" } as const;
      await backups.backUp("proxied", { source, destination: volume, deletionPolicy: "Delete", verification });
      const { metadata } = await eventually(async () => {
        const [pod] = (
          await cluster.json<{ items: Pod[] }>("get", "pods", "-l", "batch.kubernetes.io/job-name=proxied")
        ).items;
        if (pod === undefined) throw new Error(`the pod is not created yet: ${await cluster.kubectl("get", "events")}`);
        return pod;
      });
      const names = await cluster.kubectl("get", "pod", metadata.name, "-o", "jsonpath={.spec.containers[*].name}");
      expect(names).toBe("agent proxy");
      await backups.until("proxied", "Completed", 200_000);
      await eventually(async () => {
        const { status } = await backups.read("proxied");
        expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Verified", status: "True" }));
        const { items } = await cluster.json<{ items: Pod[] }>("get", "pods", "-l", `${BACKUP_LABEL}=proxied`);
        expect(items).toEqual([]);
      }, 200_000);
      const file = join(await folderOf("backups"), (await backups.read("proxied")).status?.objectKey ?? "");
      expect(existsSync(file)).toBe(true);
      await cluster.kubectl("delete", "etcdbackup", "proxied", "--timeout=120s");
      expect(existsSync(file)).toBe(false);
    } finally {
      await kubectl.run(["delete", "mutatingadmissionpolicies,mutatingadmissionpolicybindings", policy]);
    }
  });

  test("waits for a missing encryption Secret, names it in the condition, and continues when the Secret exists", async () => {
    await backups.backUp("locked", {
      source,
      destination: volume,
      encryption: { keySecretRef: { name: "backup-key" } },
    });
    const waiting = await eventually(async () => {
      const { status } = await backups.read("locked");
      const complete = status?.conditions?.find(({ type }) => type === "Complete");
      if (complete?.reason !== "SecretMissing") throw new Error(`the condition is ${JSON.stringify(complete)}`);
      return complete;
    });
    expect(waiting.message).toContain('secret "backup-key" not found');
    await cluster.kubectl(
      "create",
      "secret",
      "generic",
      "backup-key",
      `--from-literal=key=${"0123456789abcdef".repeat(4)}`,
    );
    const { status } = await backups.until("locked", "Completed", 200_000);
    expect(status?.object).toMatchObject({ encrypted: true, keyID: expect.stringMatching(/^[0-9a-f]{8}$/) });
    const file = join(await folderOf("backups"), status?.objectKey ?? "");
    expect(readFileSync(file).subarray(0, 8).toString()).toBe("ECOSNAP1");
  });
});

test("a backup that stored no object because its Secret is missing can be deleted at once", async () => {
  const destination = { s3: { bucket: "backups", credentials: { secretName: "nobody" } } };
  await backups.backUp("nothing", { source, destination, deletionPolicy: "Delete" });
  await backups.untilReason("nothing", "Complete", "SecretMissing");
  expect((await backups.read("nothing")).status).toMatchObject({ jobName: "nothing", nothingStored: true });
  await cluster.kubectl("delete", "etcdbackup", "nothing", "--timeout=60s");
});

describe("a backup to S3", () => {
  let store: Versitygw;
  let s3: object;

  beforeAll(async () => {
    store = await startVersitygw({ host: "0.0.0.0" });
    store.bucket("backups");
    // Pods reach this machine, which is the instance's network, through the first node's gateway.
    const endpoint = `http://10.88.1.1:${store.port}`;
    s3 = { bucket: "backups", prefix: "shop", endpoint, region: "us-east-1", pathStyle: true };
    const { id, secret } = S3_ACCESS;
    for (const [name, access] of Object.entries({ s3: secret, wrong: "another" }))
      await cluster.kubectl(
        "create",
        "secret",
        "generic",
        name,
        `--from-literal=AWS_ACCESS_KEY_ID=${id}`,
        `--from-literal=AWS_SECRET_ACCESS_KEY=${access}`,
      );
  });
  afterAll(async () => await store?.stop());

  test("stores a compressed object with credentials from a Secret, and deletes it with deletionPolicy Delete", async () => {
    const destination = { s3: { ...s3, credentials: { secretName: "s3" } } };
    await backups.backUp("remote", { source, destination, compression: "Zstd", deletionPolicy: "Delete" });
    const { status } = await backups.until("remote", "Completed");
    const file = join(store.root, "backups", status?.objectKey ?? "");
    const stored = readFileSync(file);
    expect(stored.length).toBe(status?.object?.storedBytes);
    const content = zstdDecompressSync(stored);
    expect(createHash("sha256").update(content).digest("hex")).toBe(status?.object?.sha256);
    expect(JSON.stringify(await backups.read("remote"))).not.toContain(S3_ACCESS.secret);
    await cluster.kubectl("delete", "etcdbackup", "remote", "--timeout=90s");
    expect([existsSync(file), existsSync(`${file}.manifest.json`)]).toEqual([false, false]);
  });

  test("fails at once with a wrong access key, and the condition names the Secret", async () => {
    await backups.backUp("mistaken", { source, destination: { s3: { ...s3, credentials: { secretName: "wrong" } } } });
    const { status } = await backups.until("mistaken", "Failed", 60_000);
    const failed = status?.conditions?.find(({ type }) => type === "Failed");
    expect(failed).toMatchObject({ reason: "WrongCredentials", message: expect.stringContaining("(Secret wrong)") });
    const pods = await cluster.kubectl("get", "pods", "-l", "etcd.improbable.io/backup-name=mistaken", "-o", "name");
    expect(pods.trim().split("\n")).toHaveLength(1);
  });

  test("of v1alpha1 takes credentials from the Secret with the default name in its namespace", async () => {
    const { id, secret } = S3_ACCESS;
    await cluster.kubectl(
      "create",
      "secret",
      "generic",
      "etcd-backup-credentials",
      `--from-literal=AWS_ACCESS_KEY_ID=${id}`,
      `--from-literal=AWS_SECRET_ACCESS_KEY=${secret}`,
    );
    const query = `endpoint=10.88.1.1:${store.port}&disableSSL=true&s3ForcePathStyle=true&region=us-east-1`;
    const spec = {
      source: { clusterURL: "http://my-etcd:2379" },
      destination: { objectURLTemplate: `s3://backups/{{ .Namespace }}/{{ .Name }}.db?${query}` },
    };
    await cluster.makeV1alpha1("EtcdBackup", "slide", spec);
    const { status } = await backups.until("slide", "Completed");
    const file = join(store.root, "backups", namespace.name, "slide.db");
    expect(readFileSync(file).length).toBe(status?.object?.bytes);
    expect(await restored(file, KEYS.slice(0, 2))).toEqual({
      "known-0": "value of known-0",
      "known-1": "value of known-1",
    });
  });

  test("of v1alpha1 to a bucket that does not exist fails at once, and both versions report it", async () => {
    const query = `endpoint=10.88.1.1:${store.port}&disableSSL=true&s3ForcePathStyle=true&region=us-east-1`;
    const objectURLTemplate = `s3://nowhere/{{ .Namespace }}/{{ .Name }}-{{ .UID }}.db?${query}`;
    const spec = { source: { clusterURL: "http://my-etcd:2379" }, destination: { objectURLTemplate } };
    await cluster.makeV1alpha1("EtcdBackup", "old", spec);
    const { status, metadata } = await backups.until("old", "Failed", 60_000);
    expect(status?.objectURL).toContain(`s3://nowhere/${namespace.name}/old-${metadata.uid}.db?`);
    expect(status?.conditions).toMatchObject([
      { type: "Complete" },
      { type: "Failed", reason: "NoSuchBucket" },
      { type: "Ready", status: "False" },
      { type: "Stalled", status: "True" },
    ]);
    const alpha = await cluster.json<EtcdBackup>("get", "etcdbackups.v1alpha1.etcd.improbable.io", "old");
    expect(alpha).toMatchObject({ spec, status: { phase: "Failed" } });
  });
});

describe("a backup with verification", () => {
  async function untilVerified(name: string, verdict: "True" | "False", says: RegExp): Promise<EtcdBackup["status"]> {
    return await eventually(async () => {
      const { status } = await backups.read(name);
      const verified = status?.conditions?.find(({ type }) => type === "Verified");
      if (verified?.status === verdict && says.test(verified.message)) return status;
      throw new Error(`${name}: ${JSON.stringify(verified)}`);
    }, 120_000);
  }

  test("starts an etcd from the object and compares keys, revision and hash with the member", async () => {
    const encryption = { keySecretRef: { name: "backup-key" } };
    await backups.backUp("proven", {
      source,
      destination: volume,
      compression: "Zstd",
      encryption,
      verification: { mode: "Restore" },
    });
    const status = await untilVerified("proven", "True", /with the manifest's hash/);
    expect(status?.phase).toBe("Completed");
    const { verification, object } = status ?? {};
    expect(BigInt(verification?.revision ?? 0)).toBeGreaterThanOrEqual(BigInt(object?.revision ?? 0));
    expect(verification?.keys).toBeGreaterThanOrEqual(KEYS.length);
    // Both pods have ended, so none of the data stays on the node.
    const { items } = await cluster.json<{ items: { status: { phase: string } }[] }>(
      "get",
      "pods",
      "-l",
      "etcd.improbable.io/backup-name=proven",
    );
    expect(items.map(({ status: { phase } }) => phase)).toEqual(["Succeeded", "Succeeded"]);
  });

  test("requested after completion reports an object with a changed byte as corrupt", async () => {
    await backups.backUp("spoiled", { source, destination: volume });
    const { status } = await backups.until("spoiled", "Completed");
    const file = join(await folderOf("backups"), status?.objectKey ?? "");
    const content = readFileSync(file);
    content.writeUInt8(content.readUInt8(5_000) ^ 1, 5_000);
    chmodSync(file, 0o600);
    writeFileSync(file, content);
    await cluster.kubectl(
      "patch",
      "etcdbackup",
      "spoiled",
      "--type=merge",
      "-p",
      '{"spec":{"verification":{"mode":"Restore"}}}',
    );
    const found = await untilVerified("spoiled", "False", /./);
    expect(found?.conditions?.find(({ type }) => type === "Verified")?.reason).toBe("SnapshotCorrupt");
    expect(found?.phase).toBe("Completed");
    expect(found?.object).toEqual(status?.object);
  });
});

test("a backup reports PodRefused when a quota refuses its pod", async () => {
  await using other = await testNamespace("backup-quota");
  const elsewhere = new UserCluster(other.name);
  await elsewhere.kubectl("create", "quota", "nothing", "--hard=pods=0");
  const spec = {
    source: { external: { endpoints: ["http://10.255.255.1:2379"] } },
    destination: { s3: { bucket: "none" } },
  };
  await elsewhere.make("EtcdBackup", "refused", spec);
  await eventually(async () => {
    const { status } = await elsewhere.json<EtcdBackup>("get", "etcdbackup", "refused");
    const complete = status?.conditions?.find(({ type }) => type === "Complete");
    expect(complete).toMatchObject({
      reason: "PodRefused",
      message: expect.stringContaining("exceeded quota: nothing"),
    });
  });
});

test("a backup waits for a missing cluster, and refuses a destination claim without the label or of a member", async () => {
  await backups.backUp("early", { source: { cluster: { name: "nobody" } }, destination: volume });
  await eventually(async () => {
    const { status } = await backups.read("early");
    expect(new Set(status?.conditions?.map(({ reason }) => reason))).toEqual(new Set(["ClusterNotFound"]));
    expect(status?.phase).toBe("BackingUp");
  });
  await backups.backUp("unlabelled", { source, destination: { volume: { claimName: "nothing" } } });
  await eventually(async () => {
    const { status } = await backups.read("unlabelled");
    expect(new Set(status?.conditions?.map(({ reason }) => reason))).toEqual(new Set(["ClaimNotAllowed"]));
  });
  await backups.backUp("wrong", { source, destination: { volume: { claimName: "my-etcd-0" } } });
  const { status } = await backups.until("wrong", "Failed");
  expect(status?.conditions?.find(({ type }) => type === "Failed")).toMatchObject({
    reason: "SpecRefused",
    message: expect.stringContaining("it must be another claim"),
  });
});
