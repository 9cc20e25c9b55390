import { AgentError } from "../error.ts";

// An object is lines of JSON: an opening, what happened, a closing. `zstd -d FILE | jq` shows it.

/** The first line. */
export interface Opening {
  readonly format: typeof FORMAT;
  readonly clusterID: string;
  /** In decimal, like every revision here. */
  readonly first: string;
  /** The object before it; none before the first of a history. */
  readonly previous?: { readonly key: string; readonly sha256: string };
  /** What happened from `first` to the last revision is not known. */
  readonly gap?: { readonly reason: GapReason; readonly message: string };
}

export type GapReason =
  /** The archive begins here. */
  | "Began"
  /** etcd has compacted it before it could be read. */
  | "Compacted"
  /** etcd did not tell of it. */
  | "Missing"
  /** etcd's history is another one than it was: it has counted back. */
  | "HistoryChanged"
  /** What was stored before cannot be read, or not with the key at hand. */
  | "Unreadable";

/** How a lease was granted whose ID is used in the revisions that follow. */
export interface LeaseLine {
  /** In hexadecimal, as etcdctl prints it. */
  readonly lease: string;
  /** Seconds. */
  readonly ttl: number;
}

/** A revision begins; its changes follow in their order. */
export interface RevisionLine {
  readonly revision: string;
  /** When it was heard of. */
  readonly at: string;
  /** Set when nobody was listening: it happened after this time and before `at`. */
  readonly after?: string;
}

/** Keys and values in base64. */
export interface PutLine {
  readonly put: string;
  readonly value: string;
  /** Left out: none. */
  readonly lease?: string;
}

export interface DeleteLine {
  readonly delete: string;
}

/** The last line. */
export interface Closing {
  /** A revision that is above it, at the end, was not heard to its end, and does not count. */
  readonly last: string;
  /** Since this revision there has been no gap. */
  readonly from: string;
  /** Nothing happened after `last` until this time. */
  readonly until: string;
  /** Of the lines of the last revision's changes; none in a gap. */
  readonly fingerprint?: string;
  /** Of all lines before this one. */
  readonly sha256: string;
}

export type Line = Opening | LeaseLine | RevisionLine | PutLine | DeleteLine | Closing;

export const FORMAT = "etcd changes 1";

export function lineText(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

const REVISION = /^(?:0|[1-9]\d{0,18})$/;
const HASH = /^[0-9a-f]{64}$/;
const LEASE = /^[0-9a-f]{1,16}$/;

/** Which text fields a line must have, and what they look like; by the one that no other line has. */
const SHAPES: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  format: { format: new RegExp(`^${FORMAT}$`), clusterID: LEASE, first: REVISION },
  ttl: { lease: LEASE },
  revision: { revision: REVISION, at: /Z$/ },
  put: { put: /^/, value: /^/ },
  delete: { delete: /^/ },
  last: { last: REVISION, from: REVISION, until: /Z$/, sha256: HASH },
};

/** @throws AgentError ArchiveCorrupt when it is no line of ours */
export function lineIn(text: string): Line {
  const value = parsed(text);
  const shape = Object.entries(SHAPES).find(([field]) => field in value)?.[1];
  const isRight = shape && Object.entries(shape).every(([field, form]) => isText(value[field], form));
  if (!isRight || ("ttl" in value && !Number.isSafeInteger(value.ttl))) {
    throw new AgentError("ArchiveCorrupt", "it has a line that is none of ours");
  }
  return value as unknown as Line;
}

function isText(value: unknown, form: RegExp): boolean {
  return typeof value === "string" && form.test(value);
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // What is no JSON is no line of ours, either.
  }
  return {};
}
