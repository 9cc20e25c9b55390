import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";
import { etcdSnapshot } from "#kit/etcd/bbolt.ts";
import { PATIENCE } from "#objectstore/patience.ts";
import { readKey } from "./archive/key.ts";
import { PATIENCE_MS } from "./perform.ts";
import { ProgressBoard, serveProgress } from "./progress.ts";
import { progressIn, reportIn } from "./report.ts";
import { runAgent } from "./run.ts";
import { PROGRESS_PATH, SNAPSHOT_FILE } from "./task.ts";

const home = mkdtempSync(join(tmpdir(), "agent-test-"));
afterAll(() => rmSync(home, { recursive: true }));
const volume = join(home, "volume");
mkdirSync(volume);

const deletion = { kind: "delete", backupUID: "uid", destination: { store: "volume", path: volume }, key: "db.db" };
const backup = {
  ...deletion,
  kind: "backup",
  source: { endpoints: ["http://127.0.0.1:1"] },
  compression: "None",
  about: { namespace: "default", backupName: "daily" },
};

const workDir = join(home, ".restore-uid");
const fetching = { kind: "fetch", from: deletion.destination, key: "db.db", workDir };
const finishing = {
  kind: "finish",
  workDir,
  restored: join(workDir, "data"),
  dataDir: join(home, "data"),
  restoreUID: "uid",
};

let count = 0;
/** The report in the file, and the log. */
async function run(task: unknown, signal = new AbortController().signal) {
  const reportFile = join(home, `report-${++count}`);
  let log = "";
  const { ok, ...rest } = await runAgent({
    task: typeof task === "string" || task === undefined ? task : JSON.stringify(task),
    reportFile,
    progressPort: 0,
    signal,
    clock: systemClock,
    log: createLog("info", {
      write(line) {
        log += line;
      },
    }),
  });
  const isLast = !ok && "retry" in rest && !rest.retry;
  return { report: reportIn(readFileSync(reportFile, "utf8")), log, isLast };
}

async function failure(task: unknown, signal?: AbortSignal): Promise<string> {
  const { report, log } = await run(task, signal);
  assert.ok(report?.ok === false, JSON.stringify(report));
  assert.ok(log.includes(report.reason) && log.includes('"level":"error"'));
  return `${report.reason}: ${report.message}`;
}

test("a corrupt stored snapshot is not retried, and an unreachable etcd is", async () => {
  writeFileSync(join(volume, "odd.db"), Buffer.alloc(5_000, "x"));
  const odd = await run({ ...fetching, key: "odd.db" });
  rmSync(join(volume, "odd.db"));
  assert.deepEqual([odd.report?.ok === false && odd.report.reason, odd.isLast], ["SnapshotCorrupt", true]);
  const away = await run(backup);
  assert.deepEqual([away.report?.ok, away.isLast], [false, false]);
});

test("a Secret that does not exist yet is retried, and wrong credentials are not", async () => {
  const empty = mkdtempSync(join(tmpdir(), "no-credentials-"));
  const destination = { store: "s3", bucket: "backups", region: "eu-1" };
  const late = await run({ ...deletion, destination, credentialsDir: empty, needsCredentials: true });
  assert.deepEqual([late.report?.ok === false && late.report.reason, late.isLast], ["WrongCredentials", false]);
  writeFileSync(join(empty, "AWS_ACCESS_KEY_ID"), "x");
  const wrong = await run({ ...deletion, destination, credentialsDir: empty, needsCredentials: true });
  rmSync(empty, { recursive: true });
  assert.deepEqual([wrong.report?.ok === false && wrong.report.reason, wrong.isLast], ["WrongCredentials", true]);
});

describe("a task", () => {
  test.each<[string, unknown, RegExp]>([
    ["that is missing", undefined, /^BadTask: AGENT_TASK is not set/],
    ["that is not JSON", "{", /^BadTask: AGENT_TASK is not JSON/],
    ["of an unknown kind", { ...deletion, kind: "format" }, /^BadTask: .* kind: /],
    ["without a uid", { ...deletion, backupUID: undefined }, /^BadTask: .* backupUID: .*expected string/],
    ["with an unknown field", { ...deletion, recursive: true }, /^BadTask: .*"recursive"/],
    ["for an unknown store", { ...deletion, destination: { store: "tape" } }, /^BadTask: .* destination\.store: /],
    [
      "for a volume with a relative path",
      { ...deletion, destination: { store: "volume", path: "../etc" } },
      /^BadTask: .* destination\.path: /,
    ],
    ["for a key outside the volume", { ...deletion, key: "../db.db" }, /^BadTask: .*\.\.\/db\.db/],
    [
      "with a password for an endpoint without TLS",
      { ...backup, source: { endpoints: ["https://127.0.0.1:1", "http://127.0.0.1:1"], authDir: home } },
      /^BadTask: .*http:\/\/127\.0\.0\.1:1.* https:\/\//,
    ],
    ["without source endpoints", { ...backup, source: { endpoints: [] } }, /^BadTask: .* source\.endpoints: /],
    [
      "with an invalid URL",
      { ...backup, source: { endpoints: ["etcd-0:2379"] } },
      /^BadTask: .* source\.endpoints\.0: /,
    ],
    [
      "with an invalid cluster ID",
      { ...backup, source: { ...backup.source, clusterID: "0" } },
      /^BadTask: .* source\.clusterID: /,
    ],
    ["with another name of workDir", { ...fetching, workDir: home }, /^BadTask: .* workDir: .*\.restore-/],
    [
      "with a workDir that is not normalized",
      { ...fetching, workDir: `${workDir}/../data/.restore-` },
      /^BadTask: .* workDir: is not a normalized path/,
    ],
    [
      "with a restored directory elsewhere",
      { ...finishing, restored: join(home, "elsewhere") },
      /^BadTask: .* restored: must be below workDir/,
    ],
    [
      "with dataDir below workDir",
      { ...finishing, dataDir: join(workDir, "here") },
      /^BadTask: .* dataDir: must not be below workDir/,
    ],
    ["with an invalid hash", { ...fetching, expect: { sha256: "0" } }, /^BadTask: .* expect\.sha256: /],
    ["with an unknown compression", { ...backup, compression: "Gzip" }, /^BadTask: .* compression: /],
  ])("%s is refused, with the field in the message", async (_what, task, expected) => {
    assert.match(await failure(task), expected);
  });

  test("without user name and password in its auth directory fails with SourceAuth", async () => {
    const authDir = join(home, "basic-auth");
    mkdirSync(authDir);
    for (const name of ["username", "password"]) writeFileSync(join(authDir, name), "postgres");
    const source = { endpoints: ["https://127.0.0.1:1"], authDir };
    assert.match(await failure({ ...backup, source }), /^SourceAuth: .*both ETCD_USERNAME and ETCD_PASSWORD/);
    for (const name of ["ETCD_USERNAME", "ETCD_PASSWORD"]) {
      assert.match(await failure({ ...backup, source }), /^SourceAuth: /);
      writeFileSync(join(authDir, name), "root");
    }
    assert.match(await failure({ ...backup, source }), /^SourceUnreachable: /);
  });

  test("for a missing volume is refused", async () => {
    assert.match(
      await failure({ ...deletion, destination: { store: "volume", path: join(home, "none") } }),
      /^NoSuchBucket: /,
    );
  });

  test("that deletes an object that does not exist succeeds", async () => {
    const { report, log } = await run(deletion);
    assert.deepEqual(report, { ok: true, kind: "delete", deleted: false });
    assert.ok(log.includes("db.db") && !log.includes('"level":"error"'), log);
  });

  test("that checks a stored object reports what is missing, and is not retried", async () => {
    const check = { kind: "check", from: deletion.destination, key: "gone.db", expect: { backupUID: "uid" } };
    const { report, isLast } = await run(check);
    assert.deepEqual(report, {
      ok: false,
      reason: "NoSuchObject",
      message: "there is no object gone.db",
      retry: false,
    });
    assert.ok(isLast);
    writeFileSync(join(volume, "odd.db"), "x");
    writeFileSync(join(volume, "odd.db.manifest.json"), "{}");
    const odd = await run({ ...check, key: "odd.db" });
    for (const file of ["odd.db", "odd.db.manifest.json"]) rmSync(join(volume, file));
    assert.deepEqual([odd.report?.ok === false && odd.report.reason, odd.isLast], ["SnapshotCorrupt", true]);
    assert.match(await failure({ ...check, expect: undefined }), /^BadTask: .* expect: /);
  });

  test("that fetches a snapshot succeeds, and the next one moves its data to its final path", async () => {
    writeFileSync(join(volume, "plain.db"), etcdSnapshot());
    const { report } = await run({ ...fetching, key: "plain.db" });
    assert.ok(
      report?.ok === true && report.kind === "fetch" && report.snapshot.revision === "7",
      JSON.stringify(report),
    );
    mkdirSync(join(finishing.restored, "member/snap"), { recursive: true });
    writeFileSync(
      join(finishing.restored, "member/snap/db"),
      readFileSync(join(workDir, SNAPSHOT_FILE)).subarray(0, -32),
    );
    const done = { ok: true, kind: "finish", revision: "7", sha256: report.snapshot.sha256 } as const;
    assert.deepEqual((await run(finishing)).report, { ...done, moved: true });
    assert.deepEqual((await run(finishing)).report, { ...done, moved: false });
    assert.match(await failure({ ...finishing, restoreUID: "another" }), /^DataExists: /);
    rmSync(join(volume, "plain.db"));
  });

  test("that is cancelled before it begins reports Stopped", async () => {
    assert.match(await failure(backup, AbortSignal.abort()), /^Stopped: /);
  });

  test("that fails because it is cancelled reports Stopped", async () => {
    const stop = new AbortController();
    const keyFile = join(home, "key-of-the-stopped");
    const running = failure({ ...backup, encryption: { keyFile } }, stop.signal);
    stop.abort();
    assert.match(await running, /^Stopped: .*ENOENT/);
  });

  test("that backs up an etcd that does not answer reports its address", async () => {
    assert.match(await failure(backup), /^SourceUnreachable: .*127\.0\.0\.1:1/);
    assert.deepEqual(
      readdirSync(volume).filter((name) => !name.startsWith(".")),
      [],
    );
  });

  test("without a free port for its progress fails with Internal", async () => {
    const server = createServer().listen(0);
    const { port } = server.address() as { port: number };
    const reportFile = join(home, "report-port");
    const report = await runAgent({
      task: JSON.stringify(deletion),
      reportFile,
      progressPort: port,
      signal: new AbortController().signal,
      clock: systemClock,
      log: createLog("error", { write: () => undefined }),
    });
    server.close();
    assert.ok(!report.ok && report.reason === "Internal" && /EADDRINUSE/.test(report.message), JSON.stringify(report));
  });
});

describe("the encryption key of a backup", () => {
  const keyFile = join(home, "key");
  const secret = "3fa1".repeat(16);

  test.each<[string, string | undefined, object, RegExp]>([
    ["that is missing", undefined, {}, /^BadKey: .*ENOENT/],
    ["that is invalid", "correct horse", {}, /^BadKey: .*\/key holds 13 bytes that are no key/],
    [
      "with another ID",
      secret,
      { keyID: "00000000" },
      /^BadKey: .*\/key holds the key [0-9a-f]{8}; it must be the key 00000000/,
    ],
  ])("%s is refused before any request, and never logged", async (_what, content, more, expected) => {
    rmSync(keyFile, { force: true });
    if (content !== undefined) writeFileSync(keyFile, content);
    const { report, log } = await run({ ...backup, encryption: { keyFile, ...more } });
    assert.ok(report?.ok === false);
    assert.match(`${report.reason}: ${report.message}`, expected);
    assert.ok(content === undefined || !`${log}${report.message}`.includes(content));
  });

  test("is accepted with the expected ID", async () => {
    writeFileSync(keyFile, secret);
    const { id } = readKey(Buffer.from(secret), "");
    assert.match(await failure({ ...backup, encryption: { keyFile, keyID: id } }), /^SourceUnreachable: /);
  });
});

test("progress is served at its path by GET only", async () => {
  const board = new ProgressBoard(Date.UTC(2026, 10, 22, 11));
  const server = await serveProgress(board, 0);
  try {
    const { port } = server.address() as { port: number };
    const asked = async (path: string, method = "GET") => await fetch(`http://127.0.0.1:${port}${path}`, { method });
    Object.assign(board, { phase: "Copying", bytesRead: 5, bytesStored: 3, bytesExpected: 10 });
    assert.deepEqual(progressIn(await (await asked(PROGRESS_PATH)).text()), {
      phase: "Copying",
      bytesRead: 5,
      bytesStored: 3,
      bytesExpected: 10,
      since: "2026-11-22T11:00:00.000Z",
    });
    assert.equal((await asked("/")).status, 404);
    assert.equal((await asked(PROGRESS_PATH, "POST")).status, 404);
  } finally {
    server.close();
  }
});

test("the error of an unreachable store is reported: retries and cleanup end before the agent's own time limit", () => {
  const { giveUpMs, answerMs, cleanUpMs } = PATIENCE;
  // Retries, the last attempt, a check whether the object exists after all, and the cleanup.
  assert.ok(giveUpMs + answerMs + 2 * cleanUpMs <= PATIENCE_MS);
});
