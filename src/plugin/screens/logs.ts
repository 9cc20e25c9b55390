import { isMap, mapInText } from "#base/json.ts";
import type { Line, Tone } from "../lines.ts";
import { clean } from "../text.ts";

/** A line of a member's log. */
export interface LogLine {
  readonly member: string;
  /** RFC 3339 with nanoseconds, as the kubelet writes it; texts of the same form sort by time. */
  readonly time: string;
  readonly text: string;
}

/** Longest line that is shown, in columns. */
const MOST = 2_000;
const TONES: Readonly<Record<string, Tone>> = { warn: "warn", error: "bad", fatal: "bad", panic: "bad", dpanic: "bad" };
/** Fields of etcd's JSON that have a place of their own, or that only developers of etcd need. */
const LEFT_OUT = ["level", "ts", "msg", "caller", "logger", "stacktrace"];

/** Lines of one member, from a log with timestamps. A line without one continues the line before, and is left out. */
export function logLines(member: string, text: string): readonly LogLine[] {
  return text.split("\n").flatMap((line) => {
    const [, time, rest] = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z) (.*)$/s.exec(line) ?? [];
    return time === undefined || rest === undefined ? [] : [{ member, time: withNanoseconds(time), text: rest }];
  });
}

/** The kubelet leaves out zeros at the end. */
function withNanoseconds(time: string): string {
  const [seconds = "", fraction = ""] = time.slice(0, -1).split(".");
  return `${seconds}.${fraction.padEnd(9, "0")}Z`;
}

/** Lines of all members by time; lines of the same time stay in the order of the members. */
export function mergedByTime(lines: readonly LogLine[]): readonly LogLine[] {
  return lines.toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}

/** One line for people: etcd's JSON becomes a sentence with its fields. @param width columns of the longest name */
export function logScreenLine({ member, time, text }: LogLine, width: number): Line {
  const fields = mapInText(text);
  const head = `${time.slice(11, 23)} ${member.padEnd(width)} `;
  if (fields === undefined) return [head, clean(text, MOST)];
  const level = clean(fields.level);
  const more = Object.entries(fields)
    .filter(([name]) => !LEFT_OUT.includes(name))
    .map(
      ([name, value]) =>
        `${clean(name, 60)}=${clean(isMap(value) || Array.isArray(value) ? JSON.stringify(value) : value, 300)}`,
    );
  const tone = TONES[level];
  const label = { text: level.padEnd(5), ...(tone === undefined ? {} : { tone }) };
  return [{ text: head, tone: "dim" }, label, " ", clean([clean(fields.msg), ...more].join(" "), MOST)];
}
