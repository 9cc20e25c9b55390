import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ALERTS, ruleGroups } from "../../scripts/monitoring/rules.ts";

const ROOT = join(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/runbooks.md"), "utf8");
const entries = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((entry) => [entry.slice(0, entry.indexOf("\n")), entry] as const),
);
const all = Object.values(ALERTS).flat();

test("the runbooks have an entry for each alert, in its order, and no other", () => {
  expect([...entries.keys()]).toEqual([...new Set(all.map(({ name }) => name))]);
});

test.each([...entries])(
  "the entry of %s states what is seen, why, what happens by itself and what to do",
  (_, entry) => {
    const parts = [...entry.matchAll(/^- \*\*(.+?)\*\*: \S/gm)].map(([, part]) => part);
    expect(parts).toEqual(["You see", "Why", "By itself", "You do"]);
  },
);

describe.each(all)("$name ($severity)", ({ name, severity, for: lasts, summary, description, expr }) => {
  test("is named and described in whole sentences, and names its object", () => {
    expect(name).toMatch(/^Etcd([A-Z][A-Za-z]+)+$/);
    expect(lasts).toMatch(/^\d+[mh]$/);
    expect(["critical", "warning", "info"]).toContain(severity);
    expect(summary).toMatch(/^[A-Z].*\.$/);
    expect(summary).not.toContain("{{");
    expect(description).toMatch(/\.$/);
  });

  test("never reads a label `cluster` but the one of certificates, and names no label that its expression drops", () => {
    const named = [...description.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label ?? "");
    const kept = new Set([...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(/, */)));
    expect(named.filter((label) => !kept.has(label))).toEqual([]);
    expect(kept.has("cluster")).toBe(name === "EtcdCertificateExpired");
  });
});

test("each rule has a link to the entry with its name in lower case", () => {
  const urls = ruleGroups("https://docs.example").flatMap(({ rules }) => rules);
  for (const { alert, annotations } of urls)
    expect(annotations.runbook_url).toBe(`https://docs.example/runbooks.html#${alert.toLowerCase()}`);
});
