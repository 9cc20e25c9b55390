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
import { CLUSTER_PHASES } from "#cluster/plan.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { PEER_RULES } from "#peer/plan.ts";
import { RESTORE_GUARDS } from "#restore/guards.ts";
import { RESTORE_RULES } from "#restore/plan.ts";
import { ROLE_GUARDS } from "#role/guards.ts";
import { ROLE_RULES } from "#role/plan.ts";
import { eventName } from "#runtime/event-name.ts";
import { SCHEDULE_GUARDS } from "#schedule/guards.ts";
import { SCHEDULE_RULES } from "#schedule/plan.ts";
import { USER_GUARDS } from "#user/guards.ts";
import { USER_RULES } from "#user/plan.ts";
import { USAGE } from "../src/bin/flags.ts";
import { COMMANDS, usageOf } from "../src/plugin/commands.ts";
import { compatibilityPage } from "./compatibility-page.ts";
import { decisionsPage } from "./decisions-page.ts";
import { failuresPage } from "./failures-page.ts";
import { fieldPages } from "./field-pages.ts";
import { messagesPage } from "./messages-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { page, table } from "./pages.ts";

/** Reference pages of fields, conditions, rules, guards, metrics, promises and decisions, by path from the root of the repository. */
export async function referencePages(root: string): Promise<Readonly<Record<string, string>>> {
  return {
    ...fieldPages(),
    "docs/when-something-fails.md": failuresPage(await readIfThere(join(root, "docs/runbooks.md"))),
    "docs/adr/README.md": await decisionsPage(root),
    "docs/reference/compatibility.md": compatibilityPage(),
    "docs/reference/conditions.md": conditionsPage(),
    "docs/reference/events.md": await eventsPage(root),
    "docs/reference/flags.md": flagsPage(),
    "docs/reference/messages.md": await messagesPage(root),
    "docs/reference/metrics.md": metricsPage(),
    "docs/reference/plugin.md": pluginPage(),
    "docs/reference/rules.md": await rulesPage(root),
  };
}

function flagsPage(): string {
  return page(
    "Flags of the operator",
    "What `operator --help` prints. How to set flags: [install](../install.md#flags).",
    `\`\`\`text\n${USAGE}\`\`\``,
  );
}

function conditionsPage(): string {
  const kind = (name: string, types: Words, reasons: Words) => [
    `## ${name}`,
    table(["condition", "the question that it answers"], wordRows(types)),
    table(["reason", "what it means"], wordRows(reasons)),
  ];
  return page(
    "Conditions and reasons",
    "Entries of `status.conditions` of an object: `type` is a question, `status` the answer, `reason` why. `kubectl explain etcdcluster.status.conditions.reason` shows the same.",
    ...kind("EtcdCluster", CONDITION_TYPES, REASONS),
    ...kind("EtcdPeer", PEER_CONDITION_TYPES, PEER_REASONS),
    "## What may be waived",
    "The annotation `etcd.improbable.io/waive` of an EtcdCluster names checks for which the restarts of an update need not wait. Each has an end, with a time zone, at most 7 days ahead. An example is `MembersReady until 2026-11-22T12:00:00Z, MembersHealthy until 2026-11-22T12:00:00Z`. Nothing else can be waived.",
    table(["check", "what an update waits for while it is not waived"], wordRows(WAIVABLE)),
    ...kind("EtcdBackup", BACKUP_CONDITION_TYPES, BACKUP_REASONS),
    ...kind("EtcdBackupSchedule", SCHEDULE_CONDITION_TYPES, SCHEDULE_REASONS),
    ...kind("EtcdRestore", RESTORE_CONDITION_TYPES, RESTORE_REASONS),
    ...kind("EtcdRole", ROLE_CONDITION_TYPES, ROLE_REASONS),
    ...kind("EtcdUser", USER_CONDITION_TYPES, USER_REASONS),
  );
}

/**
 * Subject of a rule from its path: `members` of src/cluster/members/rules, `life` of src/peer/rules/life.ts, `tls` of
 * cluster-tls.
 */
function subjectOf(path: string): string {
  const [, name, ...folders] = dirname(path).split("/");
  if (name === "cluster-tls") return "tls";
  return name === "cluster" ? folders.filter((each) => each !== "rules").join("/") || name : basename(path, ".ts");
}

interface Named {
  readonly name: string;
  readonly holds?: true;
}

interface Documented extends Named {
  /** Path from the root. */
  readonly path: string;
  /** Its doc comment, on one line. */
  readonly doc: string;
}

/** The kinds with rules, with their packages. */
const DECIDED: readonly (readonly [name: string, kind: string, rules: readonly Named[], guards: readonly Named[]])[] = [
  ["cluster", "EtcdCluster", CLUSTER_PHASES.flatMap(({ rules }) => rules), CLUSTER_GUARDS],
  ["peer", "EtcdPeer", PEER_RULES, PEER_GUARDS],
  ["backup", "EtcdBackup", BACKUP_RULES, BACKUP_GUARDS],
  ["schedule", "EtcdBackupSchedule", SCHEDULE_RULES, SCHEDULE_GUARDS],
  ["restore", "EtcdRestore", RESTORE_RULES, RESTORE_GUARDS],
  ["role", "EtcdRole", ROLE_RULES, ROLE_GUARDS],
  ["user", "EtcdUser", USER_RULES, USER_GUARDS],
];

/** Files of the packages of one plan, as paths from the root: `cluster-tls` has rules and guards of `cluster`, too. */
async function filesOf(root: string, name: string): Promise<readonly string[]> {
  const packages = name === "cluster" ? ["cluster", "cluster-tls"] : [name];
  const lists = await Promise.all(
    packages.map(async (each) =>
      (await readdir(join(root, "src", each), { recursive: true })).map((path) => `src/${each}/${path}`),
    ),
  );
  return lists.flat().filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
}

async function documented(
  root: string,
  name: string,
  all: readonly Named[],
  isAsked: (path: string) => boolean,
): Promise<readonly Documented[]> {
  const paths = (await filesOf(root, name)).filter(isAsked);
  const sources = await Promise.all(
    paths.map(async (path) => ({ path, text: await readFile(join(root, path), "utf8") })),
  );
  return all.map((each) => {
    const found = sources.find(({ text }) => text.includes(`name: "${each.name}"`));
    if (found === undefined) throw new Error(`src/${name} has no file with ${each.name}.`);
    return { ...each, path: found.path, doc: docOf(found.text, each.name) };
  });
}

const documentedRules = (root: string, name: string, all: readonly Named[]) =>
  documented(root, name, all, (path) => path.includes("/rules/"));
const documentedGuards = (root: string, name: string, all: readonly Named[]) =>
  documented(root, name, all, (path) => /guards?\.ts$/.test(path));

async function rulesPage(root: string): Promise<string> {
  const rulesTable = async (name: string, all: readonly Named[]) =>
    table(
      ["rule", "is about", "what it is for"],
      (await documentedRules(root, name, all)).map(({ name: rule, holds, path, doc }) => {
        const link = `[\`${rule}\`](../../${path})`;
        return [holds ? `${link} (holds)` : link, subjectOf(path), doc];
      }),
    );
  /** The rules of an EtcdCluster by phase. */
  const phases = async () => {
    const parts = CLUSTER_PHASES.map(async (phase) => [
      `### ${capitalized(phase.name)}`,
      phase.is,
      await rulesTable("cluster", phase.rules),
    ]);
    return (await Promise.all(parts)).flat();
  };
  const sections = DECIDED.map(async ([name, kind, rules, guards]) => [
    `## Of an ${kind}`,
    ...(name === "cluster" ? await phases() : [await rulesTable(name, rules)]),
    ...(name === "cluster" ? ["### Guards"] : []),
    table(
      ["guard", "what it forbids"],
      (await documentedGuards(root, name, guards)).map((guard) => [
        `[\`${guard.name}\`](../../${guard.path})`,
        guard.doc,
      ]),
    ),
  ]);
  return page(
    "Rules and guards",
    "The `rule` in a log line, a metric or a condition is one of these names; [events](events.md) have the same names in CamelCase. Rules are evaluated in this order, those of an EtcdCluster in phases; the first rule with a step or a wait decides. A guard may turn the step of a rule into a wait, which then has the guard's name. A rule marked *holds* holds everything below it back while its own step is in backoff.",
    ...(await Promise.all(sections)).flat(),
  );
}

async function eventsPage(root: string): Promise<string> {
  const sections = DECIDED.map(async ([name, kind, rules, guards]) => {
    const row = ({ name: rule, doc }: Documented) => [`\`${eventName(rule)}\``, doc];
    return [
      `## About an ${kind}`,
      table(["reason", "what the rule does"], (await documentedRules(root, name, rules)).map(row)),
      table(["reason of a Warning", "what the guard forbids"], (await documentedGuards(root, name, guards)).map(row)),
    ];
  });
  return page(
    "Event reasons",
    "The `reason` of an event is the rule that took a step or has to wait, or the guard that forbids a step. Its `action` is the step, such as `RestartPod`, or `Wait`. A Normal event reports a step that was taken. A Warning reports a step that failed or is forbidden, or a wait that a person should know of. Its `note` has the cause and what to do. Not every rule makes events.",
    table(
      ["reason of a Warning about any kind", "what it means"],
      [
        ["`InternalError`", "Passes over the object fail repeatedly with an error that no rule expects."],
        [
          "`ObjectTooLarge`",
          "The object has grown beyond what the operator keeps in memory; it is not managed until it is smaller.",
        ],
      ],
    ),
    ...(await Promise.all(sections)).flat(),
  );
}

/** Every command of the plugin with its rights. */
function pluginPage(): string {
  const rows = COMMANDS.map((command) => [
    `\`${usageOf(command).replace("[flags]", "").trim()}\``,
    command.what,
    command.rights.join("; "),
  ]);
  const flags = COMMANDS.flatMap(({ name, flags: own }) =>
    own.map(({ name: flag, short, what }) => [
      `\`${name}\``,
      `\`--${flag}\`${short === undefined ? "" : `, \`-${short}\``}`,
      what,
    ]),
  );
  return page(
    "Commands of kubectl etcd",
    "The rights are those in the namespace of the cluster. What is marked *more* adds to the answer; without it the answer states what could not be read. Only `shell` and `leader` use pods/exec, and only `check` uses pods/proxy, which the operator's ClusterRoles do not contain. None uses pods/portforward, and none reads a Secret.",
    table(["command", "what it does", "rights that it needs"], rows),
    "## Flags",
    table(["command", "flag", "what it does"], flags),
  );
}

/** What each rule and guard is for, by its name: the plugin's command `why` prints it. */
export async function ruleTexts(root: string): Promise<Readonly<Record<string, string>>> {
  const all = DECIDED.map(async ([name, , rules, guards]) => [
    ...(await documentedRules(root, name, rules)),
    ...(await documentedGuards(root, name, guards)),
  ]);
  // The first kind with a rule of the name is the EtcdCluster, if it has one.
  const texts = (await Promise.all(all)).flat().map(({ name, doc }) => [name, doc] as const);
  return Object.fromEntries(texts.reverse());
}

/** Text of a file; empty when it does not exist. */
async function readIfThere(path: string): Promise<string> {
  return await readFile(path, "utf8").catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return "";
    throw thrown;
  });
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

type Words = Readonly<Record<string, string>>;

function wordRows(words: Words): readonly (readonly string[])[] {
  return Object.entries(words).map(([word, sentence]) => [`\`${word}\``, sentence]);
}

/** Doc comment of the rule or guard of this name, on one line. @throws Error when it has none */
function docOf(source: string, name: string): string {
  const before = source.slice(0, Math.max(0, source.indexOf(`name: "${name}"`)));
  const [comment = "", ...code] = before.slice(before.lastIndexOf("/**") + 3).split("*/");
  if (code.join("").trim().split("\n").length !== 1) throw new Error(`${name} has no doc comment directly above it.`);
  return comment.replaceAll(/\s*\n \* ?/g, " ").trim();
}
