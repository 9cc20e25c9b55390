import { agoText, clockText, leftText, timeIn } from "../age.ts";
import { at, conditionOf, itemsAt, nameOf, textAt, type Values } from "../fields.ts";
import type { Line } from "../lines.ts";
import { type ClusterPicture, those } from "../picture.ts";

/** Time before the end of a certificate at which it is marked. The operator renews certificates long before. */
const SOON_MS = 7 * 24 * 3_600_000;
/** Most certificates on the line; the first to expire are shown. */
const MOST_CERTIFICATES = 4;

/** The last good backup, the next one and the archive, of all schedules of the cluster. */
export function backupLine({ cluster, schedules, nowMs }: ClusterPicture): Line {
  const own = those(schedules);
  const last = at(cluster, "status", "backup", "lastSuccessful");
  const verified = textAt(cluster, "status", "backup", "lastVerified", "name");
  if (last === undefined && own.length === 0) return ["no schedule, and no backup of a schedule"];
  const parts = [
    last === undefined ? "none is good yet" : lastText(last, verified, nowMs),
    nextText(own, nowMs),
    archiveText(own, nowMs),
  ];
  const text = parts.filter((part) => part !== "").join("; ");
  const isAmiss = conditionOf(cluster, "BackupReady")?.status === "False";
  return [isAmiss ? { text, tone: "bad" } : text];
}

function lastText(last: unknown, verified: string, nowMs: number): string {
  const time = textAt(last, "creationTime");
  const isVerified = verified !== "" && verified === textAt(last, "name");
  return `last good ${clockText(time, nowMs)} (${agoText(time, nowMs)} ago${isVerified ? ", verified" : ""})`;
}

function nextText(schedules: readonly Values[], nowMs: number): string {
  const times = schedules.map((each) => textAt(each, "status", "nextScheduleTime")).filter((each) => each !== "");
  const next = times.sort((a, b) => (timeIn(a) ?? 0) - (timeIn(b) ?? 0))[0];
  return next === undefined ? "" : `next ${clockText(next, nowMs)}`;
}

function archiveText(schedules: readonly Values[], nowMs: number): string {
  const archive = schedules.map((each) => at(each, "status", "archive")).find((each) => each !== undefined);
  if (archive === undefined) return "";
  const trouble = textAt(archive, "message");
  const since = textAt(archive, "since");
  const from = since === "" ? "" : `, from ${clockText(since, nowMs)}`;
  const behind = `archive ${agoText(at(archive, "time"), nowMs)} behind${from}`;
  return trouble === "" ? behind : `${behind}: ${trouble}`;
}

/** Time left of each certificate, the first to end first; empty without TLS. */
export function certificatesLine({ cluster, nowMs }: ClusterPicture): Line {
  const prefix = `${nameOf(cluster)}-`;
  const all = itemsAt(cluster, "status", "tls", "certificates")
    .map((each) => ({ name: textAt(each, "name"), endMs: timeIn(each.notAfter) }))
    .filter((each): each is { name: string; endMs: number } => each.endMs !== undefined)
    .sort((a, b) => a.endMs - b.endMs);
  const shown = all.slice(0, MOST_CERTIFICATES).map(({ name, endMs }, n): Line => {
    const short = name.startsWith(prefix) ? name.slice(prefix.length) : name;
    const text = `${short} ${leftText(new Date(endMs).toISOString(), nowMs)}`;
    return [n === 0 ? "" : ", ", endMs - nowMs < SOON_MS ? { text, tone: "bad" } : text];
  });
  const left = all.length - shown.length;
  return [...shown.flat(), ...(left > 0 ? [`, ${left} more`] : [])].filter((cell) => cell !== "");
}

/** How many EtcdUsers are ready, and those that are not; empty without any. */
export function usersLine({ users }: ClusterPicture): Line {
  const own = those(users);
  if (own.length === 0) return [];
  const waiting = own.filter((each) => conditionOf(each, "Ready")?.status !== "True");
  const text = `${own.length - waiting.length} of ${own.length} ready`;
  if (waiting.length === 0) return [text];
  const names = waiting.map((each) => `${nameOf(each)} (${conditionOf(each, "Ready")?.reason ?? "not seen yet"})`);
  return [text, ": ", { text: names.join(", "), tone: "warn" }];
}
