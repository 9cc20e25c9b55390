import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { bboltFile, etcdBuckets, etcdSnapshot, snapshotOf } from "#kit/etcd/bbolt.ts";
import { AgentError } from "../error.ts";
import { switchAuth } from "./auth-switch.ts";
import { factsOf } from "./snapshot-facts.ts";

const home = mkdtempSync(join(tmpdir(), "auth-switch-test-"));
afterAll(() => rmSync(home, { recursive: true }));
const path = join(home, "snapshot.db");

test("auth can be disabled and enabled in a snapshot, without any other change", async () => {
  for (const inline of [true, false]) {
    const [on, off] = [true, false].map((authEnabled) => etcdSnapshot({ authEnabled }, { inline }));
    writeFileSync(path, on!);
    await switchAuth(path, false);
    assert.equal((await factsOf(path)).authEnabled, false);
    assert.ok(readFileSync(path).equals(off!));
    await switchAuth(path, true);
    assert.ok(readFileSync(path).equals(on!));
  }
});

test("a snapshot of an etcd that never enabled auth is refused and left unchanged", async () => {
  for (const bytes of [
    etcdSnapshot(),
    snapshotOf(bboltFile({ ...etcdBuckets(), auth: new Map([[Buffer.from("authEnabled"), Buffer.from([1, 0])]]) })),
  ]) {
    writeFileSync(path, bytes);
    await assert.rejects(
      switchAuth(path, false),
      (thrown) => thrown instanceof AgentError && thrown.reason === "SnapshotCorrupt",
    );
    assert.ok(readFileSync(path).equals(bytes));
  }
});
