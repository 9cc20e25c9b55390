import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as names from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { bindingTexts } from "#user/desired/binding.ts";
import { BINDING_KEYS } from "../../scripts/compatibility-page.ts";
import {
  FINALIZERS,
  KEPT,
  LABELS,
  unlistedNames,
  YOUR_ANNOTATIONS,
  YOUR_LABELS,
} from "../../scripts/promised-names.ts";
import { lostNames, namesIn, PROMISES, promisedNames } from "../../scripts/promises.ts";
import { readFlags } from "../../src/bin/flags.ts";

const PAGE = readFileSync("docs/reference/compatibility.md", "utf8");

test("every label, annotation and finalizer of the code is promised, or named as not promised", () => {
  expect(unlistedNames()).toEqual([]);
  expect(PAGE).toContain(`\`${names.PAUSED_ANNOTATION}\``);
  expect(PAGE).toContain(`\`${names.CLAIM_CLUSTER_ID_ANNOTATION}\``);
});

test("no name is both promised and not promised, and none is listed twice", () => {
  const promised = [...YOUR_ANNOTATIONS, ...LABELS, ...FINALIZERS].map(([name]) => name);
  const kept = KEPT.flatMap(([, all]) => all);
  const all = [
    ...promised,
    ...kept,
    ...YOUR_LABELS.map(([name]) => name).filter((name) => name !== names.CLUSTER_LABEL),
  ];
  expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
});

test("the keys of a binding are those of the Secret", () => {
  const user = { metadata: { name: "shop" }, spec: { keyPrefix: "shop/" } } as EtcdUser;
  const metadata = { namespace: "foo", name: "my-etcd" };
  const cluster = { metadata, spec: { tls: { client: { provider: "Operator" } } } } as EtcdCluster;
  expect(Object.keys(bindingTexts(user, cluster, "CAs") ?? {}).toSorted()).toEqual(BINDING_KEYS.toSorted());
});

test("the page names the flags that the operator accepts", () => {
  const row = PAGE.split("\n").find((line) => line.startsWith("| flags |")) ?? "";
  const flags = [...row.matchAll(/`(--[a-z-]+)`/g)].map(([, flag = ""]) => flag);
  expect(flags).toContain("--replace-after");
  for (const flag of flags) {
    // A flag that is unknown is refused with another error than a value that is missing.
    expect(() => readFlags([`${flag}=`], {})).not.toThrow(/Unknown option/);
  }
});

test("a reason of an event and a metric are promised names, and a renamed one is reported as lost", () => {
  const page = (name: string) => readFileSync(`docs/reference/${name}.md`, "utf8");
  const pages = (events: string) => ({
    "docs/reference/events.md": events,
    "docs/reference/metrics.md": page("metrics"),
  });
  const promised = namesIn(pages(page("events")));
  expect(promised).toContain("metrics: etcd_operator_backup_duration_seconds");
  const renamed = namesIn(pages(page("events").replace("| `RestartMember` |", "| `RestartOneMember` |")));
  expect(lostNames(promised, renamed)).toEqual(["events, About an EtcdCluster: RestartMember"]);
  expect(lostNames(promised.slice(1), promised)).toEqual([]);
});

test("a list of promised names may be absent, but an unreadable one is an error", async () => {
  const root = mkdtempSync(join(tmpdir(), "promises-"));
  const pages = { "docs/reference/events.md": "| `Restart` | now |" };
  try {
    expect(await promisedNames(root, pages)).toBe("events: Restart\n");
    mkdirSync(join(root, PROMISES), { recursive: true });
    await expect(promisedNames(root, pages)).rejects.toThrow("EISDIR");
  } finally {
    rmSync(root, { recursive: true });
  }
});
