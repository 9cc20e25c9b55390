import { WAIVE_ANNOTATION } from "#api/names.ts";
import type { KubeObject } from "#kube/kinds.ts";

// What is a waiver?
//   kubectl annotate etcdcluster my-etcd etcd.improbable.io/waive="MembersReady until 2026-11-22T12:00:00Z"
//   Until that time the restarts of an update do not wait for that check. Commas separate several waivers.
// What can be waived?
//   Only checks that keep the service available while members restart. Checks that protect data, quorum and membership
//   cannot be waived.

/** Checks that may be waived, each with what an update waits for. */
export const WAIVABLE = {
  MembersHealthy: "Every other member is healthy. With the waiver, a quorum must still be left.",
  MembersReady: "The pod of every other member is Ready, sidecars included.",
  MembersCaughtUp: "Every other member has applied nearly all of the log.",
  BackupFirst: "A backup is stored before the first member is upgraded to a newer minor release.",
  EvictionsHeldBack: "Kubernetes has observed that no member may be evicted while one restarts.",
} as const;
export type Waivable = keyof typeof WAIVABLE;

export interface Waiver {
  readonly check: Waivable;
  /** The time as written in the annotation. */
  readonly until: string;
  readonly untilMs: number;
}

export interface Waivers {
  readonly waivers: readonly Waiver[];
  /** One sentence for each invalid waiver, with its text and the valid values. */
  readonly refused: readonly string[];
}

/** RFC 3339 (https://www.rfc-editor.org/rfc/rfc3339) with a time zone, because a local time is ambiguous. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Longest waiver in days, because waivers are easily forgotten. A waiver with a later end has no effect until its end
 * is this close.
 */
const MAX_DAYS = 7;
const DAY_MS = 24 * 3_600_000;

/**
 * Longest annotation that is parsed, in characters. A waiver of every check has about 300. The API server allows 256
 * KiB, in which each comma would produce a message at every observation.
 */
const MAX_LENGTH = 4_096;

/** Reads the waivers, including expired ones. Takes any text, and never throws. */
export function waiversIn({ metadata }: Pick<KubeObject, "metadata">, nowMs: number): Waivers {
  const text = metadata.annotations?.[WAIVE_ANNOTATION] ?? "";
  if (text.length > MAX_LENGTH) {
    const why = `it has ${text.length} characters, and none of it counts; it may have at most ${MAX_LENGTH}`;
    return { waivers: [], refused: [why] };
  }
  const parts = String(text)
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const read = parts.map((part) => waiverIn(part, nowMs));
  return {
    waivers: read.filter((each) => typeof each !== "string"),
    refused: read.filter((each) => typeof each === "string"),
  };
}

function waiverIn(part: string, nowMs: number): Waiver | string {
  const [check = "", word, until = "", ...more] = part.split(/\s+/);
  if (!Object.hasOwn(WAIVABLE, check)) {
    const names = Object.keys(WAIVABLE).join(", ");
    return `${quoted(check)} cannot be waived; only these can: ${names} (never a check that protects data, quorum or membership)`;
  }
  const untilMs = TIME.test(until) ? Date.parse(until) : Number.NaN;
  if (word === "until" && more.length === 0 && !Number.isNaN(untilMs)) {
    if (untilMs - nowMs > MAX_DAYS * DAY_MS)
      return `${quoted(part)} would hold for too long; it must end within ${MAX_DAYS} days`;
    return { check: check as Waivable, until, untilMs };
  }
  return `${quoted(part)} has no end; it must be ${check} until a time with a zone, such as ${check} until 2026-11-22T12:00:00Z`;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
