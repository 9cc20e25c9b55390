import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  BACKUP_CONDITION_TYPES,
  BACKUP_REASONS,
  CONDITION_TYPES,
  PEER_CONDITION_TYPES,
  PEER_REASONS,
  REASONS,
  RESTORE_CONDITION_TYPES,
  RESTORE_REASONS,
  ROLE_CONDITION_TYPES,
  ROLE_REASONS,
  SCHEDULE_CONDITION_TYPES,
  SCHEDULE_REASONS,
  USER_CONDITION_TYPES,
  USER_REASONS,
} from "#api/conditions.ts";
import { WAIVABLE } from "#api/waivers.ts";
import { BACKUP_GUARDS } from "#backup/guards.ts";
import { BACKUP_RULES } from "#backup/plan.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { PEER_RULES } from "#peer/plan.ts";
import { RESTORE_GUARDS } from "#restore/guards.ts";
import { RESTORE_RULES } from "#restore/plan.ts";
import { ROLE_GUARDS } from "#role/guards.ts";
import { ROLE_RULES } from "#role/plan.ts";
import { SCHEDULE_GUARDS } from "#schedule/guards.ts";
import { SCHEDULE_RULES } from "#schedule/plan.ts";
import { USER_GUARDS } from "#user/guards.ts";
import { USER_RULES } from "#user/plan.ts";
import { fieldPages } from "./field-pages.ts";
import { page, table } from "./pages.ts";

/** Pages in which people look up the words that the operator uses, by path from the root of the repository. */
export async function referencePages(root: string): Promise<Readonly<Record<string, string>>> {
  return {
    ...fieldPages(),
    "docs/reference/conditions.md": conditionsPage(),
    "docs/reference/rules.md": await rulesPage(root),
  };
}

function conditionsPage(): string {
  const kind = (name: string, types: Words, reasons: Words) => [
    `## ${name}`,
    table(["condition", "the question that it answers"], wordRows(types)),
    table(["reason", "what it means"], wordRows(reasons)),
  ];
  return page(
    "Conditions and reasons",
    "What `status.conditions` of an object says: `type` is a question, `status` the answer, `reason` why. `kubectl explain etcdcluster.status.conditions.reason` says the same.",
    ...kind("EtcdCluster", CONDITION_TYPES, REASONS),
    ...kind("EtcdPeer", PEER_CONDITION_TYPES, PEER_REASONS),
    "## What may be waived",
    "The annotation `etcd.improbable.io/waive` of an EtcdCluster, such as `members-ready until 2026-11-22T12:00:00Z, members-healthy until 2026-11-22T12:00:00Z`, names checks for which the restarts of an update need not wait, each until a time with a zone, 7 days ahead at most. Nothing else can be waived.",
    table(["check", "what an update waits for while it is not waived"], wordRows(WAIVABLE)),
    ...kind("EtcdBackup", BACKUP_CONDITION_TYPES, BACKUP_REASONS),
    ...kind("EtcdBackupSchedule", SCHEDULE_CONDITION_TYPES, SCHEDULE_REASONS),
    ...kind("EtcdRestore", RESTORE_CONDITION_TYPES, RESTORE_REASONS),
    ...kind("EtcdRole", ROLE_CONDITION_TYPES, ROLE_REASONS),
    ...kind("EtcdUser", USER_CONDITION_TYPES, USER_REASONS),
  );
}

async function rulesPage(root: string): Promise<string> {
  const source = (room: string, ...path: string[]) => join(root, "src", room, ...path);
  const files = async (room: string) =>
    (await readdir(source(room, "rules"), { recursive: true })).filter((path) => path.endsWith(".ts"));
  const rules = async (room: string, all: readonly { name: string; holds?: true }[]) => {
    const paths = await files(room);
    return await Promise.all(
      all.map(async ({ name, holds }) => {
        const path = paths.find((each) => basename(each) === `${name}.ts`);
        if (path === undefined) throw new Error(`src/${room}/rules: no file ${name}.ts for the rule of this name`);
        const doc = docOf(await readFile(source(room, "rules", path), "utf8"), name);
        const link = `[\`${name}\`](../../src/${room}/rules/${path})`;
        return [holds ? `${link} (holds)` : link, dirname(path), doc];
      }),
    );
  };
  /** Its guards.ts, and what is in its folder of guards, if it has one. */
  const guardFiles = async (room: string) => {
    const paths = (await readdir(source(room), { recursive: true })).filter((path) =>
      /^guards(?:\/[^/]+(?<!\.test))?\.ts$/.test(path),
    );
    return await Promise.all(paths.map(async (path) => ({ path, text: await readFile(source(room, path), "utf8") })));
  };
  const guards = async (room: string, all: readonly { name: string }[]) => {
    const sources = await guardFiles(room);
    return all.map(({ name }) => {
      const found = sources.find(({ text }) => text.includes(`name: "${name}"`));
      if (found === undefined) throw new Error(`src/${room}: no file of guards has the guard ${name}`);
      return [`[\`${name}\`](../../src/${room}/${found.path})`, docOf(found.text, name)];
    });
  };
  const room = async (
    name: string,
    title: string,
    [all, invariants]: readonly [readonly { name: string; holds?: true }[], readonly { name: string }[]],
  ) => [
    `## ${title}`,
    table(["rule", "is about", "what it is for"], await rules(name, all)),
    table(["guard", "what it forbids"], await guards(name, invariants)),
  ];
  return page(
    "Rules and guards",
    "The `reason` of an event, and the `rule` in a log line and in a metric, is one of these names. Rules speak in this order, and the first one with something to do or to wait for wins. A guard may turn a step of any rule into a wait, which then has the guard's name. While the step of a rule that *holds* rests, nothing below it is done.",
    ...(await room("cluster", "Of an EtcdCluster", [CLUSTER_RULES, CLUSTER_GUARDS])),
    ...(await room("peer", "Of an EtcdPeer", [PEER_RULES, PEER_GUARDS])),
    ...(await room("backup", "Of an EtcdBackup", [BACKUP_RULES, BACKUP_GUARDS])),
    ...(await room("schedule", "Of an EtcdBackupSchedule", [SCHEDULE_RULES, SCHEDULE_GUARDS])),
    ...(await room("restore", "Of an EtcdRestore", [RESTORE_RULES, RESTORE_GUARDS])),
    ...(await room("role", "Of an EtcdRole", [ROLE_RULES, ROLE_GUARDS])),
    ...(await room("user", "Of an EtcdUser", [USER_RULES, USER_GUARDS])),
  );
}

type Words = Readonly<Record<string, string>>;

function wordRows(words: Words): readonly (readonly string[])[] {
  return Object.entries(words).map(([word, sentence]) => [`\`${word}\``, sentence]);
}

/** The doc comment of the rule or guard of this name, on one line. @throws Error when it has none */
function docOf(source: string, name: string): string {
  const before = source.slice(0, Math.max(0, source.indexOf(`name: "${name}"`)));
  const [comment = "", ...code] = before.slice(before.lastIndexOf("/**") + 3).split("*/");
  if (code.join("").trim().split("\n").length !== 1) throw new Error(`${name} has no doc comment right above it`);
  return comment.replaceAll(/\s*\n \* ?/g, " ").trim();
}
