import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { readKey } from "#agent/archive/key.ts";
import { PackedSnapshot } from "#agent/archive/pack.ts";
import { type AgentReport, reportIn } from "#agent/report.ts";
import { AGENT_COMMAND, type FetchTask, TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_BUNDLE, bundle } from "#dev/bundle.ts";
import { ENVIRONMENT } from "#dev/operator-image.ts";
import { bboltFile, etcdBuckets } from "#kit/etcd/bbolt.ts";
import { until } from "#kit/etcd/etcd.ts";
import { TestVolume } from "#kit/snapshots/backup.ts";
import { fetchTask } from "#kit/snapshots/restore.ts";

const MEGABYTES = 128;
/** Memory limit of the agent's pod, minus what the kubelet itself needs. */
const PEAK_RSS_KB = 150 * 1024;

describe("the agent that fetches a large snapshot", () => {
  const volume = new TestVolume();
  const keyFile = join(volume.path, ".key");
  const data = join(volume.path, ".data");
  const task = fetchTask(volume, "large.db", data, { encryption: { keyFile } });
  let sha256 = "";
  /** The program as bundled into the image. */
  let program = "";

  /** A database of one page of etcd's and many unused pages, with its checksum. */
  async function* largeSnapshot() {
    const hash = createHash("sha256");
    const whole = createHash("sha256");
    const chunks = [bboltFile(etcdBuckets()), ...Array.from({ length: MEGABYTES }, () => undefined)];
    for (const chunk of chunks) {
      const bytes = chunk ?? randomBytes(1024 ** 2);
      hash.update(bytes);
      whole.update(bytes);
      yield await Promise.resolve(bytes);
    }
    const trailer = hash.digest();
    sha256 = whole.update(trailer).digest("hex");
    yield trailer;
  }

  beforeAll(async () => {
    const { files } = await bundle(process.cwd(), AGENT_BUNDLE);
    program = files.find(({ to }) => to === AGENT_BUNDLE.program)?.from ?? "";
    mkdirSync(data);
    writeFileSync(keyFile, randomBytes(32));
    const packed = new PackedSnapshot({ compression: "Zstd", key: readKey(readFileSync(keyFile), keyFile) });
    await pipeline(packed.pass(largeSnapshot()), createWriteStream(join(volume.path, task.key)));
  });
  afterAll(() => volume[Symbol.dispose]());

  function start(what: FetchTask) {
    const reportFile = join(volume.path, ".report");
    rmSync(reportFile, { force: true });
    const child = spawn(
      process.execPath,
      [...AGENT_COMMAND.slice(1, -1), program, `--report-file=${reportFile}`, "--progress-port=0"],
      { env: { ...ENVIRONMENT, [TASK_VARIABLE]: JSON.stringify(what) }, stdio: ["ignore", "ignore", "inherit"] },
    );
    const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
    return { child, ended, report: (): AgentReport | undefined => reportIn(readFileSync(reportFile, "utf8")) };
  }

  const part = join(task.workDir, "snapshot.db.part");
  const hasBegun = () => Promise.resolve((statSync(part, { throwIfNoEntry: false })?.size ?? 0) > 1_000_000);

  test("leaves no snapshot when it is killed in mid-stream, and the next attempt fetches it", async () => {
    const { child, ended } = start(task);
    await until("bytes have come", hasBegun);
    child.kill("SIGKILL");
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    assert.deepEqual(readdirSync(task.workDir), ["snapshot.db.part"]);

    const second = start(task);
    assert.deepEqual(await second.ended, [0, null]);
    const report = second.report();
    assert.ok(
      report?.ok === true && report.kind === "fetch" && report.snapshot.sha256 === sha256,
      JSON.stringify(report),
    );
    assert.deepEqual(readdirSync(task.workDir), ["expected.json", "snapshot.db"]);
  });

  test("stays within its memory limit", async () => {
    const { child, ended, report } = start(task);
    let peak = 0;
    const watch = setInterval(() => {
      const found = /VmHWM:\s+(\d+) kB/.exec(statusOf(child.pid));
      peak = Math.max(peak, Number(found?.[1] ?? 0));
    }, 20);
    await ended;
    clearInterval(watch);
    assert.equal(report()?.ok, true);
    assert.ok(peak > 0 && peak <= PEAK_RSS_KB, `${peak} kB`);
  });

  test("ends on SIGTERM without leaving files, and another attempt succeeds", async () => {
    const { child, ended, report } = start(task);
    await until("bytes have come", hasBegun);
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [1, null]);
    const told = report();
    assert.ok(told?.ok === false && told.reason === "Stopped" && told.retry, JSON.stringify(told));
    assert.deepEqual(readdirSync(data), []);
  });
});

function statusOf(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return ""; // The process has just ended.
  }
}
