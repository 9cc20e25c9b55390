import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as conditions from "#api/conditions.ts";
import { failuresPage } from "../../scripts/failures-page.ts";

const KINDS = {
  EtcdCluster: conditions.REASONS,
  EtcdPeer: conditions.PEER_REASONS,
  EtcdBackup: conditions.BACKUP_REASONS,
  EtcdBackupSchedule: conditions.SCHEDULE_REASONS,
  EtcdRestore: conditions.RESTORE_REASONS,
  EtcdRole: conditions.ROLE_REASONS,
  EtcdUser: conditions.USER_REASONS,
};
const page = readFileSync("docs/when-something-fails.md", "utf8");

test.each(Object.entries(KINDS))("docs/when-something-fails.md has each reason of an %s once", (kind, reasons) => {
  const [, section = ""] = page.split(`\n## ${kind}\n`);
  const own = section.split("\n## ")[0] ?? "";
  const shown = [...own.matchAll(/<a id="([^"]+)"><\/a>`(\w+)`/g)].map(([, id, reason]) => ({ id, reason }));
  expect(shown.map(({ reason }) => reason).sort()).toEqual(Object.keys(reasons).sort());
  for (const { id, reason } of shown) expect(id).toBe(`${kind}-${reason}`.toLowerCase());
});

test("the page leads to the runbook of every alert", () => {
  const made = failuresPage("# Runbooks\n\n## EtcdNoLeader\n\n- a\n\n## EtcdLate\n");
  expect(made).toContain("[EtcdNoLeader](runbooks.md#etcdnoleader), [EtcdLate](runbooks.md#etcdlate).");
  expect(failuresPage("")).not.toContain("Alerts");
});

test("every kind with reasons is on the page", () => {
  const lists = Object.keys(conditions).filter((name) => name === "REASONS" || name.endsWith("_REASONS"));
  expect(Object.keys(KINDS)).toHaveLength(lists.length);
});
