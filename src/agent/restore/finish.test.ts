import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, test } from "vitest";
import { bboltFile, etcdBuckets } from "#kit/etcd/bbolt.ts";
import { asAgentError } from "../copy.ts";
import type { FinishTask } from "../task.ts";
import { finishRestore } from "./finish.ts";
import { makeWorkDir } from "./work-dir.ts";

let home: string;
let task: FinishTask;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "finish-test-"));
  const workDir = join(home, ".restore-uid");
  task = { kind: "finish", workDir, restored: join(workDir, "data"), dataDir: join(home, "data"), restoreUID: "uid" };
});
afterEach(() => rmSync(home, { recursive: true }));

/** Files as `etcdutl snapshot restore` leaves them. */
function restore({ workDir, restored } = task, host = hostname(), sha256 = "ab"): void {
  mkdirSync(join(restored, "member/snap"), { recursive: true });
  mkdirSync(join(restored, "member/wal"));
  writeFileSync(join(workDir, "snapshot.db"), "a snapshot");
  writeFileSync(join(workDir, "expected.json"), JSON.stringify({ key: "db.db", revision: "7", sha256, host }));
  writeFileSync(join(restored, "member/snap/db"), bboltFile(etcdBuckets({ revisions: [2, 1_000_000_007] })));
  writeFileSync(join(restored, "member/wal/0.wal"), "a log");
}

async function refusal(change: Partial<FinishTask> = {}): Promise<string> {
  const thrown = await finishRestore({ ...task, ...change }).then(
    () => assert.fail("it went well"),
    (thrown: unknown) => asAgentError(thrown),
  );
  return `${thrown.reason}: ${thrown.message}`;
}

const DONE = { moved: true, revision: "1000000007", sha256: "ab" };

describe("a restored data directory", () => {
  test.each(["absent", "empty"])("is moved to its final path when that path is %s", async (is) => {
    restore();
    if (is === "empty") mkdirSync(task.dataDir);
    const { ino } = statSync(join(task.restored, "member/snap/db"));
    assert.deepEqual(await finishRestore(task), DONE);
    assert.deepEqual(readdirSync(home), ["data"]);
    assert.equal(statSync(join(task.dataDir, "member/snap/db")).ino, ino, "it is moved, not copied");
    assert.equal(readFileSync(join(task.dataDir, "member/wal/0.wal"), "utf8"), "a log");
  });

  test("stays unchanged when the restore finishes again", async () => {
    restore();
    await finishRestore(task);
    writeFileSync(join(task.dataDir, "member/snap/db"), "etcd is at work");
    assert.deepEqual(await finishRestore(task), { ...DONE, moved: false });
    restore();
    assert.deepEqual(await finishRestore(task), { ...DONE, moved: false });
    assert.deepEqual(readdirSync(home), ["data"]);
    assert.equal(readFileSync(join(task.dataDir, "member/snap/db"), "utf8"), "etcd is at work");
  });

  test("is reported with the snapshot that filled it, even when another was fetched since", async () => {
    restore();
    await finishRestore(task);
    restore(task, hostname(), "cd");
    assert.deepEqual(await finishRestore(task), { ...DONE, moved: false });
  });
});

test("the data directory is complete or absent when another pod begins during the move", async () => {
  const wal = Array.from({ length: 30 }, (_, at) => `${at}.wal`).sort();
  const outcomes = new Set<string>();
  for (let round = 0; round < 60; round++) {
    restore();
    for (const name of wal) writeFileSync(join(task.restored, "member/wal", name), "a log");
    const finishing = finishRestore(task).then(
      () => "finished",
      () => "begun again",
    );
    for (let turn = 0; turn < round; turn++) await setImmediate();
    await makeWorkDir(task.workDir);
    const outcome = await finishing;
    outcomes.add(outcome);
    assert.equal(existsSync(task.dataDir), outcome === "finished");
    if (outcome === "finished") {
      assert.deepEqual(readdirSync(join(task.dataDir, "member/wal")).sort(), wal);
      assert.deepEqual(readdirSync(join(task.dataDir, "member")).sort(), ["restored.json", "snap", "wal"]);
    }
    rmSync(home, { recursive: true });
    mkdirSync(home);
  }
  assert.deepEqual([...outcomes].sort(), ["begun again", "finished"], "both have come first");
});

describe("finishing is refused, and changes nothing, for", () => {
  test("a data directory without a restore's marker", async () => {
    restore();
    mkdirSync(join(task.dataDir, "member"), { recursive: true });
    assert.match(
      await refusal(),
      /^DataExists: .*\/data holds data that no restore has marked \(member\); it must be empty/,
    );
    assert.deepEqual(readdirSync(task.dataDir), ["member"]);
    assert.ok(existsSync(join(task.restored, "member/snap/db")));
  });

  test("a data directory of another restore", async () => {
    restore();
    await finishRestore({ ...task, restoreUID: "another" });
    restore();
    assert.match(await refusal(), /^DataExists: .*data that the restore with uid another has made/);
    assert.ok(existsSync(join(task.dataDir, "member/snap/db")));
  });

  test("a data directory with an invalid marker", async () => {
    restore();
    await finishRestore(task);
    for (const text of ["", "{}", '{"restoreUID":1}', "null"]) {
      writeFileSync(join(task.dataDir, "member/restored.json"), text);
      assert.match(await refusal(), /^DataExists: /);
    }
  });

  test("a work directory that belongs to another pod", async () => {
    restore(task, "another-pod");
    assert.match(await refusal(), /^AnotherAttempt: .*\.restore-uid belongs to the pod another-pod/);
    assert.deepEqual(readdirSync(home), [".restore-uid"]);
    assert.ok(existsSync(join(task.restored, "member/snap/db")));
  });

  test("missing or incomplete output of etcdutl", async () => {
    assert.match(await refusal(), /^Internal: .*\.restore-uid: ENOENT/);
    restore();
    rmSync(task.restored, { recursive: true });
    assert.match(await refusal(), /^Internal: there is no database .*etcdutl snapshot restore/);
    restore();
    writeFileSync(join(task.restored, "member/snap/db"), "half of it");
    assert.match(await refusal(), /^SnapshotCorrupt: /);
    assert.ok(!existsSync(task.dataDir));
  });
});
