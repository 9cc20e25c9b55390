import { describe, expect, test } from "vitest";
import { ROLE_REMEDIES, USER_REMEDIES } from "./access.ts";
import { CLUSTER_REMEDIES, PEER_REMEDIES } from "./cluster.ts";
import { BACKUP_REMEDIES, RESTORE_REMEDIES, SCHEDULE_REMEDIES } from "./jobs.ts";

// The compiler requires a remedy for each reason; the page is generated from them, and test/unit/links.test.ts follows
// their links.

const REMEDIES = Object.entries({
  CLUSTER_REMEDIES,
  PEER_REMEDIES,
  BACKUP_REMEDIES,
  SCHEDULE_REMEDIES,
  RESTORE_REMEDIES,
  ROLE_REMEDIES,
  USER_REMEDIES,
}).flatMap(([kind, remedies]) => Object.entries(remedies).map(([reason, care]) => ({ kind, reason, care })));

describe.each(REMEDIES)("remedy of $reason in $kind", ({ care }) => {
  test("has whole sentences that fit into a cell", () => {
    if (care === "well") return;
    for (const text of [care.itself, care.you]) {
      expect(text.length).toBeLessThanOrEqual(160);
      expect(text).toMatch(/^([A-Z`-]|cert-manager)[\s\S]*\.$|^Nothing$/);
    }
  });
});

test("reasons of failed backups and restores have a remedy", () => {
  const final = REMEDIES.filter(
    ({ kind, reason }) => /^(BACKUP|RESTORE)/.test(kind) && /Wrong|Denied|NoSuch|BadKey/.test(reason),
  );
  expect(final.length).toBeGreaterThan(8);
  expect(final.filter(({ care }) => care === "well")).toEqual([]);
});
