import { WAIVE_ANNOTATION } from "#api/names.ts";
import type { KubeObject } from "#kube/kinds.ts";

// What is a waiver?
//   kubectl annotate etcdcluster my-etcd etcd.improbable.io/waive="members-ready until 2026-11-22T12:00:00Z"
//   Until that time the restarts of an update do not wait for that check; several are separated by commas.
// What can be waived?
//   Only what keeps clients served while members restart. What keeps data, the quorum, and who is a member is on no list: nobody waives it.

/** Every check that may be waived, with what an update waits for while it is not. */
export const WAIVABLE = {
  "members-healthy": "Every other member is healthy. A quorum has to be left all the same.",
  "members-ready": "The pod of every other member is ready by the kubelet's word, sidecars included.",
  "members-caught-up": "Every other member has applied nearly all of the log.",
  "backup-first": "Before the first member goes to a newer minor release, the backup of that moment is stored.",
  "evictions-held-back": "Kubernetes has seen that no member may be evicted while one restarts.",
} as const;
export type Waivable = keyof typeof WAIVABLE;

export interface Waiver {
  readonly check: Waivable;
  /** As it was written. */
  readonly until: string;
  readonly untilMs: number;
}

export interface Waivers {
  readonly waivers: readonly Waiver[];
  /** What is no waiver: a sentence for each, that names it, and says what it may be. */
  readonly refused: readonly string[];
}

/** https://www.rfc-editor.org/rfc/rfc3339, with a zone: a time without one means another moment to each reader. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Whoever waives a check forgets that: for how long at most, in days. What ends later does not count before it ends within that. */
const MAX_DAYS = 7;
const DAY_MS = 24 * 3_600_000;

/** What people have waived, whether or not its time is over. Takes any text, and never throws. */
export function waiversIn({ metadata }: Pick<KubeObject, "metadata">, nowMs: number): Waivers {
  const text = metadata.annotations?.[WAIVE_ANNOTATION] ?? "";
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
    return `${told(check)} cannot be waived; what can is ${names}: what protects data, the quorum or who is a member never is`;
  }
  const untilMs = TIME.test(until) ? Date.parse(until) : Number.NaN;
  if (word === "until" && more.length === 0 && !Number.isNaN(untilMs)) {
    if (untilMs - nowMs > MAX_DAYS * DAY_MS)
      return `${told(part)} would hold for too long; it must end within ${MAX_DAYS} days`;
    return { check: check as Waivable, until, untilMs };
  }
  return `${told(part)} has no end; it must be ${check} until a time with a zone, such as ${check} until 2026-11-22T12:00:00Z`;
}

function told(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
