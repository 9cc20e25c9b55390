import { AgentError } from "../error.ts";

// An object is lines of JSON: an opening line, changes, a closing line. `zstd -dc < FILE | jq` shows it.

/** The first line. */
export interface Opening {
  readonly format: typeof FORMAT;
  readonly clusterID: string;
  /** Decimal, like every revision here. */
  readonly first: string;
  /** The previous object, with the key under which it was first stored; undefined in the first object of a history. */
  readonly previous?: { readonly key: string; readonly sha256: string };
  /** The changes from `first` to the last revision are unknown. */
  readonly gap?: { readonly reason: GapReason; readonly message: string };
}

export type GapReason =
  /** The archive begins here. */
  | "Began"
  /** etcd compacted the changes before they were read. */
  | "Compacted"
  /** etcd did not send the changes. */
  | "Missing"
  /** A part of the feed, or the object of one revision, exceeds the agent's limit. */
  | "TooLarge"
  /** etcd's history differs: revisions were reused. */
  | "HistoryChanged"
  /** The stored objects cannot be read, or only with another key. */
  | "Unreadable";

/** TTL of a lease, written before the first revision of the object that attaches a key to it. */
export interface LeaseLine {
  /** Hexadecimal, as etcdctl prints it. */
  readonly lease: string;
  /** Seconds. */
  readonly ttl: number;
}

/** A revision begins; its changes follow in order. */
export interface RevisionLine {
  readonly revision: string;
  /** When the change was received. */
  readonly at: string;
  /** Set when the feed was not open: the change happened between this time and `at`. */
  readonly after?: string;
}

/** Keys and values in base64. */
export interface PutLine {
  readonly put: string;
  readonly value: string;
  /** Undefined: no lease. */
  readonly lease?: string;
}

export interface DeleteLine {
  readonly delete: string;
}

/** The last line. */
export interface Closing {
  /** A later revision in this object was not received completely, and does not count. */
  readonly last: string;
  /** There has been no gap since this revision. */
  readonly from: string;
  /** Nothing happened after `last` until this time. */
  readonly until: string;
  /** Hash of the last revision's lines; undefined in a gap. */
  readonly fingerprint?: string;
  /** Hash of all lines before this one. */
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
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/**
 * From this length on a line must be a change as `lineText` writes it. Other JSON could take many times its length in
 * memory.
 */
const LONG_LINE = 64 * 1024;
const LONG_CHANGE = /^\{"(?:put":"[\w+/=]*","value":"[\w+/=]*"(?:,"lease":"[0-9a-f]{1,16}")?|delete":"[\w+/=]*")\}$/;

/**
 * Required text fields of each kind of line, with their patterns; the map's key is the field that only this kind has.
 */
const SHAPES: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  format: { format: new RegExp(`^${FORMAT}$`), clusterID: LEASE, first: REVISION },
  ttl: { lease: LEASE },
  revision: { revision: REVISION, at: TIME },
  put: { put: /^/, value: /^/ },
  delete: { delete: /^/ },
  last: { last: REVISION, from: REVISION, until: TIME, sha256: HASH },
};

/** Optional text fields and their patterns. */
const OPTIONAL: Readonly<Record<string, RegExp>> = { after: TIME, lease: LEASE };
const TIMES = ["at", "after", "until"];

/** @throws AgentError ArchiveCorrupt when the line is invalid */
export function lineIn(text: string): Line {
  const value = text.length > LONG_LINE && !LONG_CHANGE.test(text) ? {} : parsed(text);
  const shape = Object.entries(SHAPES).find(([field]) => field in value)?.[1];
  const isRight = shape && Object.entries(shape).every(([field, form]) => isText(value[field], form));
  const isWhole =
    Object.entries(OPTIONAL).every(([field, form]) => !(field in value) || isText(value[field], form)) &&
    TIMES.every((field) => !(field in value) || !Number.isNaN(Date.parse(`${value[field]}`)));
  const isLinked = ["previous", "gap"].every((field) => !(field in value) || isTexts(value[field]));
  if (!isRight || !isWhole || !isLinked || ("ttl" in value && !Number.isSafeInteger(value.ttl))) {
    throw new AgentError("ArchiveCorrupt", "it has an invalid line");
  }
  return value as unknown as Line;
}

/** Whether the value is an object with only text fields. */
function isTexts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every((each) => typeof each === "string");
}

function isText(value: unknown, form: RegExp): boolean {
  return typeof value === "string" && form.test(value);
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Text that is not JSON is an invalid line, too.
  }
  return {};
}
