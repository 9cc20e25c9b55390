import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  BACKUP_REASONS,
  PEER_REASONS,
  REASONS,
  RESTORE_REASONS,
  ROLE_REASONS,
  SCHEDULE_REASONS,
  USER_REASONS,
} from "#api/conditions.ts";

/** What the compiler cannot tell: that a reason which is documented can also come. That every one which comes is documented, it tells. */
async function unused(room: string, reasons: object): Promise<readonly string[]> {
  const folder = join(import.meta.dirname, "../../src", room);
  const files = (await readdir(folder, { recursive: true })).filter((path) => /(?<!\.test)\.ts$/.test(path));
  const sources = (await Promise.all(files.map((path) => readFile(join(folder, path), "utf8")))).join("\n");
  return Object.keys(reasons).filter((reason) => !sources.includes(`"${reason}"`));
}

test("every reason of an EtcdCluster is used", async () => {
  expect(await unused("cluster", REASONS)).toEqual([]);
});

test("every reason of an EtcdPeer is used", async () => {
  expect(await unused("peer", PEER_REASONS)).toEqual([]);
});

/** Reasons that the agent gives. */
async function agentsReasons(): Promise<readonly (string | undefined)[]> {
  const source = await readFile(join(import.meta.dirname, "../../src/agent/failure.ts"), "utf8");
  const reasons = [...source.matchAll(/^ {2}(\w+): \{ retry: (?:true|false) \},$/gm)].map(([, reason]) => reason);
  expect(reasons.length).toBeGreaterThan(10);
  return reasons;
}

test("every reason of an EtcdBackup is used, by the operator or by the agent's report", async () => {
  const agents = await agentsReasons();
  expect((await unused("backup", BACKUP_REASONS)).filter((reason) => !agents.includes(reason))).toEqual([]);
});

test("every reason of an EtcdRestore is used, by the operator or by the agent's report", async () => {
  const agents = await agentsReasons();
  expect((await unused("restore", RESTORE_REASONS)).filter((reason) => !agents.includes(reason))).toEqual([]);
});

test("every reason of an EtcdBackupSchedule is used", async () => {
  expect(await unused("schedule", SCHEDULE_REASONS)).toEqual([]);
});

test("every reason of an EtcdRole and of an EtcdUser is used, there or in what they have in common", async () => {
  const [byRole, byUser, common] = await Promise.all([
    unused("role", ROLE_REASONS),
    unused("user", USER_REASONS),
    unused("access", { ...ROLE_REASONS, ...USER_REASONS }),
  ]);
  expect(byRole.filter((reason) => common.includes(reason))).toEqual([]);
  expect(byUser.filter((reason) => common.includes(reason))).toEqual([]);
});
