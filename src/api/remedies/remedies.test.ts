import { describe, expect, test } from "vitest";
import { SHAPES } from "#api/v1beta1/shapes.ts";
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

/** Advice for people, of all kinds. */
const ADVICE = REMEDIES.flatMap(({ kind, reason, care }) =>
  care === "well" ? [] : [{ what: `${kind} ${reason}`, you: care.you }],
);

function violating(isWrong: (you: string) => boolean): readonly string[] {
  return ADVICE.filter(({ you }) => isWrong(you)).map(({ what, you }) => `${what}: ${you}`);
}

test("no remedy deletes claims without a condition, or without naming quarantined ones", () => {
  const deletesClaims = (you: string) => /\bdelete\b[^.]*\bclaims?\b/i.test(you) && !/quarantined|only if/.test(you);
  expect(violating(deletesClaims)).toEqual([]);
});

test("no remedy deletes an EtcdCluster unless an EtcdRestore creates it again", () => {
  const deletesCluster = (you: string) =>
    /\bdelete\b[^.]*\bEtcdCluster\b/i.test(you) && !/create a new EtcdRestore/.test(you);
  expect(violating(deletesCluster)).toEqual([]);
});

test("no remedy renames objects or deletes stored ones", () => {
  expect(violating((you) => /\brename\b|\bdelete the object;/i.test(you))).toEqual([]);
});

/** Whether the shape has the field, such as "auth.enabled". */
function has(shape: unknown, path: string): boolean {
  const [first = "", ...rest] = path.split(".");
  const { properties } = shape as { readonly properties?: Readonly<Record<string, unknown>> };
  if (properties === undefined || !Object.hasOwn(properties, first)) return false;
  return rest.length === 0 || has(properties[first], rest.join("."));
}

test("fields of an EtcdCluster's spec that remedies name exist", () => {
  const named = Object.values(CLUSTER_REMEDIES).flatMap((care) =>
    care === "well" ? [] : [...`${care.itself} ${care.you}`.matchAll(/\bspec\.([A-Za-z]+(?:\.[A-Za-z]+)*)/g)],
  );
  const paths = named.map((match) => match[1] ?? "");
  expect(paths).toContain("tls.client.clientCertificates");
  expect(paths.filter((path) => !has(SHAPES.EtcdCluster, path))).toEqual([]);
});
