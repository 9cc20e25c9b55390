import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { readManifest } from "#agent/archive/manifest.ts";
import { factsOf } from "#agent/bbolt/snapshot-facts.ts";
import { AgentError } from "#agent/error.ts";
import type { FailureReason } from "#agent/report.ts";
import type { EtcdSource } from "#agent/task.ts";
import { type Authority, flagFiles, newAuthority } from "#kit/etcd/authority.ts";
import { ETCD_VERSIONS, planEtcd, type RunningEtcd, until } from "#kit/etcd/etcd.ts";
import { backupTask, etcdTool, startBackup, TestVolume } from "#kit/snapshots/backup.ts";

const SERVER_NAME = "etcd.example";

function failed(reason: FailureReason): (thrown: unknown) => boolean {
  return (thrown) => thrown instanceof AgentError && thrown.reason === reason && !thrown.message.includes("hunter2");
}

describe.each(ETCD_VERSIONS)("a backup of an unmanaged etcd %s with TLS and auth", (version) => {
  let etcd: RunningEtcd;
  let volume: TestVolume;
  let authority: Authority;
  let source: (change?: Partial<EtcdSource>) => EtcdSource;
  /** Makes a directory with these files, as a Secret is mounted. */
  let secret: (name: string, files: Readonly<Record<string, string>>) => Promise<string>;

  beforeAll(async () => {
    volume = new TestVolume();
    secret = async (name, files) => {
      const dir = join(volume.path, `.${name}`);
      await mkdir(dir);
      for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text);
      return dir;
    };
    authority = await newAuthority();
    const server = await authority.issue(SERVER_NAME);
    const client = await authority.issue("nobody");
    etcd = await planEtcd({ version, members: 1 });
    const member = etcd.members[0]!;
    const url = `https://${member.endpoint.address}`;
    await member.start({ initialCluster: etcd.initialCluster, state: "new" }, [
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      "--client-cert-auth",
      ...flagFiles(`${member.plan.dir}-tls`, {
        "trusted-ca-file": authority.pem,
        "cert-file": server.cert,
        "key-file": server.key,
      }),
    ]);
    await until("the member is ready", async () => (await member.httpStatus("/health")) === 200);
    const tlsDir = await secret("tls", { "ca.crt": authority.pem, "tls.crt": client.cert, "tls.key": client.key });
    const files = [`--cacert=${tlsDir}/ca.crt`, `--cert=${tlsDir}/tls.crt`, `--key=${tlsDir}/tls.key`];
    const etcdctl = (...args: readonly string[]) =>
      etcdTool(
        version,
        "etcdctl",
        `--endpoints=${member.endpoint.address}`,
        ...files,
        "--insecure-skip-tls-verify",
        ...args,
      );
    await etcdctl("put", "small", "yes");
    await etcdctl("user", "add", "root:hunter2");
    await etcdctl("user", "grant-role", "root", "root");
    await etcdctl("user", "add", "reader:hunter2");
    await etcdctl("auth", "enable");
    const authDir = await secret("root", { ETCD_USERNAME: "root\n", ETCD_PASSWORD: "hunter2\n" });
    source = (change) => ({ endpoints: [url], serverName: SERVER_NAME, tlsDir, authDir, ...change });
  });
  afterAll(async () => {
    volume[Symbol.dispose]();
    await etcd.stop();
  });

  const backup = (key: string, from: EtcdSource) => startBackup(backupTask(volume, [], { key, source: from })).done;

  test("succeeds with the right credentials", async () => {
    const object = await backup("right.db", source());
    const file = join(volume.path, object.key);
    const status = JSON.parse(await etcdTool(version, "etcdutl", "snapshot", "status", file, "--write-out=json"));
    assert.ok(status.totalKey >= 1); // some releases count etcd's internal keys
    const { authEnabled, keys, hashKV } = readManifest(readFileSync(`${file}.manifest.json`, "utf8"), object.key);
    assert.deepEqual([authEnabled, keys, hashKV?.compactRevision], [true, 1, "-1"]);
    assert.equal((await factsOf(file)).authEnabled, true);
  });

  test("fails with wrong credentials, reports the cause, and leaves no object", async () => {
    const stranger = await newAuthority();
    const pair = await stranger.issue("stranger");
    const { authDir: _auth, ...withoutUser } = source();
    const { serverName: _name, ...withoutName } = source();
    const plain = source().endpoints.map((url) => url.replace("https", "http"));
    const cases: [string, FailureReason, EtcdSource][] = [
      [
        "password",
        "SourceAuth",
        source({ authDir: await secret("wrong", { ETCD_USERNAME: "root", ETCD_PASSWORD: "guess" }) }),
      ],
      [
        "user",
        "SourceAuth",
        source({ authDir: await secret("none", { ETCD_USERNAME: "nobody", ETCD_PASSWORD: "hunter2" }) }),
      ],
      [
        "role",
        "SourceAuth",
        source({ authDir: await secret("reader", { ETCD_USERNAME: "reader", ETCD_PASSWORD: "hunter2" }) }),
      ],
      ["half a user", "SourceAuth", source({ authDir: await secret("half", { ETCD_USERNAME: "root" }) })],
      ["no user", "SourceAuth", withoutUser],
      ["name", "SourceTLS", source({ serverName: "other.example" })],
      ["address instead of a name", "SourceTLS", withoutName],
      ["authority", "SourceTLS", source({ tlsDir: await secret("ca", { "ca.crt": stranger.pem }) })],
      ["no authority", "SourceTLS", source({ tlsDir: await secret("empty", {}) })],
      ["no certificate of ours", "SourceTLS", source({ tlsDir: await secret("no-cert", { "ca.crt": authority.pem }) })],
      [
        "a certificate that etcd does not know",
        "SourceTLS",
        source({
          tlsDir: await secret("cert", { "ca.crt": authority.pem, "tls.crt": pair.cert, "tls.key": pair.key }),
        }),
      ],
      ["half a certificate", "SourceTLS", source({ tlsDir: await secret("half-cert", { "tls.crt": pair.cert }) })],
      ["no certificate at all", "SourceTLS", source({ tlsDir: await secret("text", { "ca.crt": "certificate" }) })],
      ["no TLS", "SourceUnreachable", { ...withoutUser, endpoints: plain }],
      ["a user without TLS", "BadTask", source({ endpoints: plain })],
    ];
    const told = await Promise.all(
      cases.map(([what, , wrong]) =>
        backup(`${what.replaceAll(" ", "-")}.db`, wrong).catch((thrown: unknown) => thrown),
      ),
    );
    for (const [index, [what, reason]] of cases.entries()) {
      assert.ok(
        failed(reason)(told[index]),
        `${what}: ${(told[index] as AgentError).reason}: ${(told[index] as Error).message}`,
      );
    }
    assert.deepEqual(
      volume.keys.filter((key) => !key.startsWith("right.db")),
      [],
    );
  });
});
