import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BlobServiceClient, StorageSharedKeyCredential } from "@azure/storage-blob";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { ensureAzurite } from "#dev/azurite.ts";
import { ensureComponents } from "#dev/components.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { fill } from "#kit/e2e/fill.ts";
import { killEtcd } from "#kit/e2e/load-accidents.ts";
import { killOperator } from "#kit/e2e/loaded-cluster.ts";
import { restored, UserBackups } from "#kit/e2e/user-backups.ts";
import { flagFiles, newAuthority } from "#kit/etcd/authority.ts";
import { planEtcd, until as untilSo } from "#kit/etcd/etcd.ts";
import { peakUntilEnd, processesOf } from "#kit/pods/pod-process.ts";
import { AZURE_ACCESS, startAzurite } from "#kit/servers/azurite.ts";
import { newServiceAccount, startFakeGCS } from "#kit/servers/fake-gcs.ts";
import { startGCSSessions } from "#kit/servers/gcs-sessions.ts";
import { type HoldingProxy, startHoldingProxy } from "#kit/servers/holding-proxy.ts";
import { credentialsDir, removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/servers/versitygw.ts";
import { etcdTool } from "#kit/snapshots/backup.ts";
import type { Pod } from "#kube/kinds.ts";
import type { StoreLocation } from "#objectstore/location.ts";
import { openStore } from "#objectstore/open.ts";

// Backups of a cluster in Kubernetes to every kind of store, of an unmanaged etcd, of a gigabyte, and with a process
// killed in mid-stream.

/** This machine's address as pods see it: the first node's gateway. */
const HERE = "10.88.1.1";
/** More than the buffers between a member and a stalled store, and more than one part. */
const MEGABYTES = 40;
/** Within the snapshot, and after its first part. */
const MID_STREAM = 12_000_000;
const KEYS = ["known-0", "known-1"];
const EXPECTED = { "known-0": "value of known-0", "known-1": "value of known-1" };
const source = { cluster: { name: "my-etcd" } };

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let backups: UserBackups;
let s3: Versitygw;

beforeAll(async () => {
  await ensureComponents(["versitygw", "fake-gcs-server"], (_sentence, work) => work(() => undefined));
  await ensureAzurite((_sentence, work) => work(() => undefined));
  namespace = await testNamespace("backups");
  cluster = new UserCluster(namespace.name);
  backups = new UserBackups(cluster);
  await cluster.create({ replicas: 3 });
  s3 = await startVersitygw();
  s3.bucket("backups");
  await backups.secret("s3", { AWS_ACCESS_KEY_ID: S3_ACCESS.id, AWS_SECRET_ACCESS_KEY: S3_ACCESS.secret });
  await cluster.untilReady(180_000);
  for (const key of KEYS) await cluster.put("my-etcd-0", key, `value of ${key}`);
  await fill(cluster, MEGABYTES);
});
afterAll(async () => {
  await s3?.stop();
  removeTemporaryDirs();
  await namespace?.[Symbol.asyncDispose]();
});

/** A proxy from pods to a server on loopback, held when `isEnough` returns true. */
async function wayTo(port: () => number, isEnough: Parameters<typeof startHoldingProxy>[1] = () => false) {
  const way = await startHoldingProxy(port, isEnough, "0.0.0.0");
  onTestFinished(() => way.stop());
  return way;
}

/** Expects that the stored object matches the status, and that etcd's own tools restore it. */
async function expectStored(location: StoreLocation, credentials: Record<string, string>, { status }: EtcdBackup) {
  const store = await openStore(location, { credentialsDir: credentialsDir(credentials) });
  const parts: Uint8Array[] = [];
  for await (const part of store.get(status?.objectKey ?? "", { signal: AbortSignal.timeout(60_000) }))
    parts.push(part);
  await store.close();
  const content = Buffer.concat(parts);
  expect(createHash("sha256").update(content).digest("hex")).toBe(status?.object?.sha256);
  const file = join(temporaryDir("snapshot"), "snapshot.db");
  writeFileSync(file, content);
  expect(await restored(file, KEYS)).toEqual(EXPECTED);
}

/** Expects that a cluster restored from the backup has the earlier acknowledged writes. */
async function expectClusterOf(backupName: string): Promise<void> {
  const begun = new UserCluster(namespace.name, `of-${backupName}`);
  await begun.create({ replicas: 1, bootstrap: { fromBackup: { source: { backupName } } } });
  await begun.untilReady(240_000);
  for (const key of KEYS) expect(await begun.read(`${begun.name}-0`, key)).toBe(`value of ${key}`);
  await begun.kubectl("delete", "etcdcluster", begun.name, "--cascade=foreground", "--timeout=120s");
  await begun.kubectl("delete", "pvc", "-l", `etcd.improbable.io/cluster-name=${begun.name}`, "--timeout=120s");
}

describe("a backup is stored completely", () => {
  test("in Google Cloud Storage, with a key of a service account", async () => {
    const fake = await startFakeGCS();
    const server = await startGCSSessions(fake.port);
    onTestFinished(async () => void (await Promise.all([server.stop(), fake.stop()])));
    const here = `http://127.0.0.1:${server.port}`;
    await fetch(`${here}/storage/v1/b`, { method: "POST", body: JSON.stringify({ name: "backups" }) });
    const toStore = await wayTo(() => server.port);
    const credentials = { "credentials.json": newServiceAccount().file };
    await backups.secret("gcs", credentials);
    const gcs = { bucket: "backups", endpoint: `http://${HERE}:${toStore.port}`, credentials: { secretName: "gcs" } };
    await backups.backUp("to-google", { source, destination: { gcs } });
    const backup = await backups.until("to-google", "Completed");
    await expectStored({ store: "gcs", bucket: "backups", endpoint: here }, credentials, backup);
    await expectClusterOf("to-google");
  });

  test("in Azure Blob, with an account's key", async () => {
    const server = await startAzurite();
    onTestFinished(() => server.stop());
    const { account, key } = AZURE_ACCESS;
    const here = `http://127.0.0.1:${server.port}/${account}`;
    await new BlobServiceClient(here, new StorageSharedKeyCredential(account, key)).createContainer("backups");
    const way = await wayTo(() => server.port);
    await backups.secret("azure", { AZURE_STORAGE_KEY: key });
    const there = { account, container: "backups", endpoint: `http://${HERE}:${way.port}/${account}` };
    const azure = { ...there, credentials: { secretName: "azure" } };
    await backups.backUp("to-azure", { source, destination: { azure } });
    const backup = await backups.until("to-azure", "Completed");
    await expectStored({ store: "azure", ...there, endpoint: here }, { AZURE_STORAGE_KEY: key }, backup);
    await expectClusterOf("to-azure");
  });

  test("of an unmanaged etcd with TLS and a root user in S3", async () => {
    const authority = await newAuthority();
    const [server, client] = [await authority.issue("etcd.example"), await authority.issue("nobody")];
    const etcd = await planEtcd({ version: "3.6.16", members: 1 });
    onTestFinished(() => etcd.stop());
    const member = etcd.members[0]!;
    const { clientPort, dir } = member.plan;
    await member.start({ initialCluster: etcd.initialCluster, state: "new" }, [
      `--listen-client-urls=https://0.0.0.0:${clientPort}`,
      `--advertise-client-urls=https://${HERE}:${clientPort}`,
      "--client-cert-auth",
      ...flagFiles(`${dir}-tls`, {
        "trusted-ca-file": authority.pem,
        "cert-file": server.cert,
        "key-file": server.key,
      }),
    ]);
    await untilSo("the member is ready", async () => (await member.httpStatus("/health")) === 200);
    const files = { "ca.crt": authority.pem, "tls.crt": client.cert, "tls.key": client.key };
    const folder = credentialsDir(files);
    const flags = [`--cacert=${folder}/ca.crt`, `--cert=${folder}/tls.crt`, `--key=${folder}/tls.key`];
    const etcdctl = (...args: readonly string[]) =>
      etcdTool(
        "3.6.16",
        "etcdctl",
        `--endpoints=127.0.0.1:${clientPort}`,
        ...flags,
        "--insecure-skip-tls-verify",
        ...args,
      );
    await etcdctl("put", "theirs", "yes");
    await etcdctl("user", "add", "root:hunter2");
    await etcdctl("user", "grant-role", "root", "root");
    await etcdctl("auth", "enable");
    await backups.secret("their-tls", files);
    await backups.secret("their-root", { ETCD_USERNAME: "root", ETCD_PASSWORD: "hunter2" });
    const theirs = {
      endpoints: [`https://${HERE}:${clientPort}`],
      tls: { secretName: "their-tls", serverName: "etcd.example" },
      auth: { secretName: "their-root" },
    };
    const way = await wayTo(() => s3.port);
    await backups.backUp("external", { source: { external: theirs }, destination: { s3: s3By(way) } });
    const { status } = await backups.until("external", "Completed");
    expect(status?.objectKey).toContain(`/external/${HERE}/`);
    expect(status?.object?.etcdVersion).toBe("3.6.16");
    await expectWhole(status);
    expect(JSON.stringify(await backups.read("external"))).not.toContain("hunter2");
  });
});

function s3By({ port }: Pick<HoldingProxy, "port">): object {
  const endpoint = `http://${HERE}:${port}`;
  return { bucket: "backups", endpoint, region: "us-east-1", pathStyle: true, credentials: { secretName: "s3" } };
}

/** Expects the complete object with its manifest, valid for etcd's own tool. */
async function expectWhole(status: EtcdBackup["status"]): Promise<string> {
  const file = join(s3.root, "backups", status?.objectKey ?? "");
  expect([readFileSync(file).length, existsSync(`${file}.manifest.json`)]).toEqual([status?.object?.bytes, true]);
  await etcdTool(DEFAULT_VERSION as "3.6.16", "etcdutl", "snapshot", "status", file);
  return file;
}

describe("during a backup", () => {
  /** Starts a backup and holds it in the middle of its object. */
  async function held(name: string): Promise<HoldingProxy> {
    const way = await wayTo(
      () => s3.port,
      (bytes) => bytes > MID_STREAM,
    );
    await backups.backUp(name, { source, destination: { s3: s3By(way) } });
    await way.held;
    await expectNothing(name);
    return way;
  }

  /** Expects that neither object nor manifest is visible. */
  async function expectNothing(name: string): Promise<void> {
    const { objectKey = "" } = (await backups.read(name)).status ?? {};
    expect(objectKey).not.toBe("");
    const file = join(s3.root, "backups", objectKey);
    expect([existsSync(file), existsSync(`${file}.manifest.json`)]).toEqual([false, false]);
  }

  async function podsOf(name: string): Promise<readonly Pod[]> {
    return (await cluster.json<{ items: Pod[] }>("get", "pods", "-l", `etcd.improbable.io/backup-name=${name}`)).items;
  }

  async function expectCompleted(name: string): Promise<EtcdBackup["status"]> {
    const { status } = await backups.until(name, "Completed");
    expect(await restored(await expectWhole(status), KEYS)).toEqual(EXPECTED);
    return status;
  }

  test("when the operator is killed, the agent continues, and the next operator reports the object", async () => {
    const way = await held("operator");
    await killOperator();
    way.resume();
    await expectCompleted("operator");
    expect(await podsOf("operator")).toHaveLength(1);
  });

  test("when the agent is killed, another attempt stores the object", async () => {
    const way = await held("agent");
    const [pod] = await podsOf("agent");
    for (const { pid } of processesOf(pod!.metadata.uid)) process.kill(pid, "SIGKILL");
    await backups.untilReason("agent", "Complete", "Retrying");
    await expectNothing("agent");
    way.resume();
    await expectCompleted("agent");
  });

  test("when the agent's pod is deleted, another pod stores the object", async () => {
    const way = await held("pod");
    const [pod] = await podsOf("pod");
    await cluster.kubectl("delete", "pod", pod!.metadata.name, "--grace-period=0", "--force");
    await eventually(async () =>
      expect((await podsOf("pod")).map(({ metadata }) => metadata.uid)).not.toContain(pod!.metadata.uid),
    );
    await expectNothing("pod");
    way.resume();
    await expectCompleted("pod");
  });

  test("when the store is killed, the attempt reports it, and a later attempt stores the object", async () => {
    const way = await held("store");
    await s3.stop();
    way.resume();
    const why = await backups.untilReason("store", "Complete", "Retrying", 120_000);
    expect(why).toContain("StoreUnreachable");
    await expectNothing("store");
    s3 = await startVersitygw({ root: s3.root });
    await expectCompleted("store");
  });

  test("when the member that sends the snapshot is killed, another member sends it", async () => {
    const way = await held("member");
    const [pod] = await podsOf("member");
    const log = await cluster.kubectl("logs", pod!.metadata.name);
    const address = /"address":"(my-etcd-\d)\./.exec(log)?.[1];
    expect(address).toBeDefined();
    const member = await cluster.json<Pod>("get", "pod", await cluster.podOf(address!));
    await killEtcd(member.metadata.uid);
    way.resume();
    const status = await expectCompleted("member");
    const first = (await cluster.get()).status?.members?.find(({ name }) => name === address);
    expect(status?.object?.memberID).not.toBe(first?.id);
    expect(await podsOf("member")).toHaveLength(1);
    await cluster.untilReady();
  });
});

test("verification reports an object with a changed byte as corrupt, without a retry", async () => {
  const way = await wayTo(() => s3.port);
  await backups.backUp("spoiled", { source, destination: { s3: s3By(way) } });
  const { status } = await backups.until("spoiled", "Completed");
  const file = join(s3.root, "backups", status?.objectKey ?? "");
  const content = readFileSync(file);
  content.writeUInt8(content.readUInt8(content.length / 2) ^ 1, content.length / 2);
  writeFileSync(file, content);
  await cluster.kubectl(
    "patch",
    "etcdbackup",
    "spoiled",
    "--type=merge",
    "-p",
    '{"spec":{"verification":{"mode":"Restore"}}}',
  );
  const message = await backups.untilReason("spoiled", "Verified", "SnapshotCorrupt", 280_000);
  expect(message).toMatch(/checksum|sha256/);
  const { status: found } = await backups.read("spoiled");
  expect(found?.conditions?.find(({ type }) => type === "Verified")?.status).toBe("False");
  expect(found?.phase).toBe("Completed");
});

test("a backup of a gigabyte takes no more memory than a small one", { timeout: 900_000 }, async () => {
  const large = new UserCluster(namespace.name, "large");
  await large.create({ replicas: 1 });
  await large.untilReady();
  await fill(large, 1_100);
  const way = await wayTo(() => s3.port);
  const startedAtMs = performance.now();
  await backups.backUp("gigabyte", { source: { cluster: { name: "large" } }, destination: { s3: s3By(way) } });
  const agent = await eventually(async () => {
    const { items } = await cluster.json<{ items: Pod[] }>(
      "get",
      "pods",
      "-l",
      "etcd.improbable.io/backup-name=gigabyte",
    );
    const [found] = items.flatMap(({ metadata }) => processesOf(metadata.uid));
    if (found === undefined) throw new Error("the agent does not run yet");
    return found;
  });
  const peak = await peakUntilEnd(agent);
  const { status } = await backups.until("gigabyte", "Completed", 300_000);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const bytes = status?.object?.bytes ?? 0;
  const megabytes = (count: number) => Math.round(count / 1e6);
  console.log(
    `a backup of ${megabytes(bytes)} MB took ${Math.round(seconds)} s; at most ${megabytes(peak.residentBytes)} MB of the agent in memory, ${megabytes(peak.podBytes)} MB of its pod`,
  );
  expect(bytes).toBeGreaterThan(1024 ** 3);
  expect(peak.residentBytes).toBeGreaterThan(0);
  expect(peak.residentBytes).toBeLessThan(150e6);
  const file = await expectWhole(status);
  rmSync(file);
});
