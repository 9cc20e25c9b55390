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
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import { bboltFile, etcdBuckets } from "#kit/bbolt.ts";
import { asAgentError } from "../copy.ts";
import type { FinishTask } from "../task.ts";
import { finishRestore } from "./finish.ts";

let home: string;
let task: FinishTask;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "finish-test-"));
  const workDir = join(home, ".restore-uid");
  task = { kind: "finish", workDir, restored: join(workDir, "data"), dataDir: join(home, "data"), restoreUID: "uid" };
});
afterEach(() => rmSync(home, { recursive: true }));

/** As `etcdutl snapshot restore` leaves it. */
function restore({ workDir, restored } = task): void {
  mkdirSync(join(restored, "member/snap"), { recursive: true });
  mkdirSync(join(restored, "member/wal"));
  writeFileSync(join(workDir, "snapshot.db"), "a snapshot");
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

const DONE = { moved: true, revision: "1000000007" };

describe("what was restored", () => {
  test.each(["absent", "empty"])("comes to its place, which is %s", async (is) => {
    restore();
    if (is === "empty") mkdirSync(task.dataDir);
    const { ino } = statSync(join(task.restored, "member/snap/db"));
    assert.deepEqual(await finishRestore(task), DONE);
    assert.deepEqual(readdirSync(home), ["data"]);
    assert.equal(statSync(join(task.dataDir, "member/snap/db")).ino, ino, "it is moved, not copied");
    assert.equal(readFileSync(join(task.dataDir, "member/wal/0.wal"), "utf8"), "a log");
  });

  test("stays where it is when it is finished again, whatever became of it", async () => {
    restore();
    await finishRestore(task);
    writeFileSync(join(task.dataDir, "member/snap/db"), "etcd is at work");
    assert.deepEqual(await finishRestore(task), { ...DONE, moved: false });
    restore();
    assert.deepEqual(await finishRestore(task), { ...DONE, moved: false });
    assert.deepEqual(readdirSync(home), ["data"]);
    assert.equal(readFileSync(join(task.dataDir, "member/snap/db"), "utf8"), "etcd is at work");
  });
});

describe("refused by name, with nothing touched, is", () => {
  test("a place with data that nobody has marked", async () => {
    restore();
    mkdirSync(join(task.dataDir, "member"), { recursive: true });
    assert.match(
      await refusal(),
      /^DataExists: .*\/data holds data that nobody has marked \(member\); it must be empty/,
    );
    assert.deepEqual(readdirSync(task.dataDir), ["member"]);
    assert.ok(existsSync(join(task.restored, "member/snap/db")));
  });

  test("the data of another restore", async () => {
    restore();
    await finishRestore({ ...task, restoreUID: "another" });
    restore();
    assert.match(await refusal(), /^DataExists: .*data that the restore with uid another has made/);
    assert.ok(existsSync(join(task.dataDir, "member/snap/db")));
  });

  test("a marker that is none", async () => {
    restore();
    await finishRestore(task);
    for (const text of ["", "{}", '{"restoreUID":1}', "null"]) {
      writeFileSync(join(task.dataDir, "member/restored.json"), text);
      assert.match(await refusal(), /^DataExists: /);
    }
  });

  test("a directory that etcdutl has not made, or not whole", async () => {
    assert.match(await refusal(), /^Internal: there is no database .*etcdutl snapshot restore/);
    restore();
    writeFileSync(join(task.restored, "member/snap/db"), "half of it");
    assert.match(await refusal(), /^SnapshotCorrupt: /);
    assert.ok(!existsSync(task.dataDir));
  });
});
