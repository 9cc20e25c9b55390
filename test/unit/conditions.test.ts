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

/** Reasons while all passes of an object fail. They come from the shared runtime, so no package names them. */
const OF_FAILURES = ["InternalError", "ObjectTooLarge"];

async function sourcesOf(name: string): Promise<string> {
  const folder = join(import.meta.dirname, "../../src", name);
  const files = (await readdir(folder, { recursive: true })).filter((path) => /(?<!\.test)\.ts$/.test(path));
  return (await Promise.all(files.map((path) => readFile(join(folder, path), "utf8")))).join("\n");
}

/** Documented reasons that no source of these packages uses. The compiler checks that every used reason is documented. */
async function unused(names: readonly string[], reasons: object): Promise<readonly string[]> {
  const sources = (await Promise.all(names.map(sourcesOf))).join("\n");
  return Object.keys(reasons).filter((reason) => !OF_FAILURES.includes(reason) && !sources.includes(`"${reason}"`));
}

test("every declared reason of an EtcdCluster is used in the code", async () => {
  expect(await unused(["cluster", "cluster-tls"], REASONS)).toEqual([]);
});

test("every declared reason of an EtcdPeer is used in the code", async () => {
  expect(await unused(["peer"], PEER_REASONS)).toEqual([]);
});

/** Reasons in reports of the agent. */
async function agentsReasons(): Promise<readonly (string | undefined)[]> {
  const source = await readFile(join(import.meta.dirname, "../../src/agent/failure.ts"), "utf8");
  const reasons = [...source.matchAll(/^ {2}(\w+): \{ retry: (?:true|false) \},$/gm)].map(([, reason]) => reason);
  expect(reasons.length).toBeGreaterThan(10);
  return reasons;
}

test("every declared reason of an EtcdBackup is used in the code of the operator or of the agent", async () => {
  const agents = await agentsReasons();
  expect((await unused(["backup", "agent-job"], BACKUP_REASONS)).filter((reason) => !agents.includes(reason))).toEqual(
    [],
  );
});

test("every declared reason of an EtcdRestore is used in the code of the operator or of the agent", async () => {
  const agents = await agentsReasons();
  expect(
    (await unused(["restore", "agent-job"], RESTORE_REASONS)).filter((reason) => !agents.includes(reason)),
  ).toEqual([]);
});

test("every declared reason of an EtcdBackupSchedule is used in the code", async () => {
  expect(await unused(["schedule"], SCHEDULE_REASONS)).toEqual([]);
});

test("every declared reason of an EtcdRole and of an EtcdUser is used in its package or in the shared one", async () => {
  const [byRole, byUser, common] = await Promise.all([
    unused(["role"], ROLE_REASONS),
    unused(["user"], USER_REASONS),
    unused(["access"], { ...ROLE_REASONS, ...USER_REASONS }),
  ]);
  expect(byRole.filter((reason) => common.includes(reason))).toEqual([]);
  expect(byUser.filter((reason) => common.includes(reason))).toEqual([]);
});
