import { REASONS } from "#api/conditions.ts";
import { lengthText } from "../age.ts";
import { eventViews } from "../events.ts";
import { type ConditionView, conditionOf, itemsAt, nameOf, namespaceOf, textAt, type Values } from "../fields.ts";
import type { Line } from "../lines.ts";
import { type ClusterPicture, those, unreadLines } from "../picture.ts";
import { RULE_TEXTS } from "../rule-texts.ts";
import { wrapped } from "../text.ts";
import { amissIn, stateOf } from "../verdict.ts";
import { stateCell } from "./status.ts";

/** Columns of the screen, as those of a terminal's usual width and a bit. */
export const WHY_WIDTH = 100;
const INDENT = 12;
/** What Progressing has as its reason when there is nothing to do. */
const SETTLED = { reason: "Settled" };
/** Most warnings that are quoted. */
const MOST_WARNINGS = 3;

/**
 * The screen of `why`: what is amiss, what it means, the rule that decided, its evidence, and where to read on. Its
 * sentences are the operator's own.
 */
export function whyScreen(picture: ClusterPicture): readonly Line[] {
  const { cluster, nowMs } = picture;
  const amiss = distinct(amissIn(cluster));
  const progressing = conditionOf(cluster, "Progressing");
  const isNews = progressing !== undefined && ![...amiss, SETTLED].some(({ reason }) => reason === progressing.reason);
  const doing = isNews ? [progressing] : [];
  const head: Line = [
    { text: `${namespaceOf(cluster)}/${nameOf(cluster)}`, tone: "strong" },
    " is ",
    stateCell(stateOf(cluster)),
    amiss.length === 0 ? ": no condition is amiss." : ".",
  ];
  const sick = itemsAt(cluster, "status", "members").filter((each) => textAt(each, "message") !== "");
  return [
    head,
    ...amiss.flatMap((each) => conditionLines(each, nowMs)),
    ...doing.flatMap((each) => conditionLines(each, nowMs)),
    ...sick.flatMap((member) => row("member", `${textAt(member, "name")}: ${textAt(member, "message")}`)),
    ...warningLines(picture),
    ...unreadLines({ "The events of the cluster": picture.events }).flatMap((text) => row("", text)),
  ];
}

/** Conditions without those that repeat the reason and message of an earlier one. */
function distinct(conditions: readonly ConditionView[]): readonly ConditionView[] {
  const seen = new Set<string>();
  return conditions.filter(({ reason, message }) => {
    const text = `${reason} ${message}`;
    const isNew = !seen.has(text);
    seen.add(text);
    return isNew;
  });
}

function conditionLines({ type, status, reason, message, since }: ConditionView, nowMs: number): readonly Line[] {
  const ms = Date.parse(since);
  const age = Number.isNaN(ms) ? "" : `, for ${lengthText(nowMs - ms)}`;
  const rule = ruleIn(message);
  return [
    [],
    [{ text: `${type} is ${status}: ${reason}`, tone: "strong" }, age],
    ...row("evidence", message),
    ...row("meaning", meaningOf(reason)),
    ...(rule === undefined ? [] : row("rule", `${rule}: ${RULE_TEXTS[rule]}`)),
    ...row("read", readOn(rule)),
  ];
}

/** Name of the rule or guard with which a message of Progressing begins. */
function ruleIn(message: string): string | undefined {
  const [, name] = /^([a-z]+(?:-[a-z]+)+): /.exec(message) ?? [];
  return name !== undefined && Object.hasOwn(RULE_TEXTS, name) ? name : undefined;
}

function meaningOf(reason: string): string {
  return Object.hasOwn(REASONS, reason)
    ? REASONS[reason as keyof typeof REASONS]
    : "This plugin does not know the reason; the operator may be newer.";
}

function readOn(rule: string | undefined): string {
  return `docs/troubleshooting.md, docs/reference/${rule === undefined ? "conditions.md" : "rules.md"}`;
}

function warningLines({ events, nowMs }: ClusterPicture): readonly Line[] {
  const warnings = eventViews(those(events)).filter(({ isWarning }) => isWarning);
  if (warnings.length === 0) return [];
  return [
    [],
    [{ text: "Latest warnings", tone: "strong" }],
    ...warnings.slice(0, MOST_WARNINGS).flatMap(({ atMs, about, reason, message }) => {
      const age = atMs === 0 ? "" : `${lengthText(nowMs - atMs)} ago, `;
      return row(reason, `${age}${about}: ${message}`);
    }),
  ];
}

/** A label and a text that continues below itself. */
function row(label: string, text: string): readonly Line[] {
  const isLong = label.length > INDENT - 2;
  const lines = wrapped(text, WHY_WIDTH - INDENT).map((each): Line => [" ".repeat(INDENT), each]);
  if (isLong) return [[{ text: `  ${label}`, tone: "dim" }], ...lines];
  const [first = [" ".repeat(INDENT), ""], ...rest] = lines;
  return [[{ text: `  ${label}`.padEnd(INDENT), tone: "dim" }, first[1] ?? ""], ...rest];
}

/** The cluster as a value of `-o json` and `-o yaml`. */
export function reportOf(picture: ClusterPicture, exitCode: number): Values {
  const { cluster, nowMs: _, ...parts } = picture;
  const read = Object.entries(parts).map(([name, many]) => [name, many.is === "present" ? many.value : null]);
  const refused = Object.entries(parts).flatMap(([name, many]) => (many.is === "unknown" ? [[name, many.why]] : []));
  return {
    state: stateOf(cluster),
    exitCode,
    cluster,
    ...Object.fromEntries(read),
    unread: Object.fromEntries(refused),
  };
}
