import { OperatorError } from "#base/error.ts";
import { fromRefusal, isStatus } from "./error.ts";
import { apiVersionOf, type KubeObject, type Resource } from "./kinds.ts";

/** Event of a watch. ERROR events are thrown instead. */
export type WatchEvent<T extends KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | {
      readonly type: "BOOKMARK";
      readonly resourceVersion: string;
      /** Whether this bookmark ends the initial state; see `sendInitialEvents`. */
      readonly initialEventsEnd: boolean;
    };

/**
 * Longest line of a watch. etcd accepts objects of 1.5 MiB, but built-in kinds are stored as protobuf. In JSON each `<`
 * becomes `\u003c`, and a line of 8.9 MB was observed. If smaller, such an object could not be watched.
 */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

const NEWLINE = 10;

/**
 * Splits a stream into lines.
 * @throws OperatorError KubeUnavailable when the stream ends within a line, KubeInvalid when one is too long
 */
export async function* lines(chunks: AsyncIterable<Uint8Array>, call: string): AsyncGenerator<string, void, undefined> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, at));
      const line = Buffer.concat(parts).toString("utf8");
      parts = [];
      size = 0;
      from = at + 1;
      if (line.trim() !== "") yield line;
    }
    if (from === chunk.length) continue;
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > MAX_LINE_BYTES)
      throw new OperatorError("KubeInvalid", `${call}: a line is longer than ${MAX_LINE_BYTES} bytes`);
  }
  if (size > 0) throw new OperatorError("KubeUnavailable", `${call}: the stream ended within an event`);
}

/** The whole body as text. @throws OperatorError KubeInvalid when it is longer than so many bytes */
export async function textWithin(chunks: AsyncIterable<Uint8Array>, mostBytes: number, call: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > mostBytes)
      throw new OperatorError("KubeInvalid", `${call}: the answer is longer than ${mostBytes} bytes`);
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString("utf8");
}

/**
 * Parses one line of a watch.
 * @throws OperatorError by the Status of an ERROR event; KubeInvalid when the line is not an event
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
export function parseEvent<T extends KubeObject>(line: string, resource: Resource<T>, call: string): WatchEvent<T> {
  const event = parseLine(line, call);
  switch (event.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      if (!isWhole(event.object)) throw malformed(call, line);
      return { type: event.type, object: withKind<T>(event.object, resource) };
    case "BOOKMARK":
      return bookmark(event.object, call, line);
    case "ERROR":
      throw refused(event.object, call, line);
    default:
      throw malformed(call, line);
  }
}

/** Adds apiVersion and kind, which items in a list of a built-in kind lack. */
export function withKind<T extends KubeObject>(object: KubeObject, resource: Resource<T>): T {
  if (object.kind !== undefined && object.apiVersion !== undefined) return object as T;
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind } as T;
}

/**
 * Whether an object has name, uid and resourceVersion.
 * @param isStored false for the answer to a dry run, which has no resourceVersion
 */
export function isWhole(object: unknown, isStored = true): object is KubeObject {
  const metadata = metadataOf(object);
  const texts = [metadata?.name, metadata?.uid, ...(isStored ? [metadata?.resourceVersion] : [])];
  return texts.every((text) => typeof text === "string" && text !== "");
}

function parseLine(line: string, call: string): { type?: unknown; object?: unknown } {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === "object" && parsed !== null) return parsed;
  } catch {
    // Reported below, like JSON that is not an event.
  }
  throw malformed(call, line);
}

function bookmark(object: unknown, call: string, line: string): WatchEvent<never> {
  const metadata = metadataOf(object);
  const resourceVersion = metadata?.resourceVersion;
  if (typeof resourceVersion !== "string" || resourceVersion === "") throw malformed(call, line);
  const annotations = metadata?.annotations as Record<string, unknown> | undefined;
  return {
    type: "BOOKMARK",
    resourceVersion,
    initialEventsEnd: annotations?.["k8s.io/initial-events-end"] === "true",
  };
}

function refused(object: unknown, call: string, line: string): OperatorError {
  if (!isStatus(object)) return malformed(call, line);
  return fromRefusal({ call, httpCode: object.code ?? 500, status: object });
}

function metadataOf(object: unknown): Record<string, unknown> | undefined {
  const metadata =
    typeof object === "object" && object !== null ? (object as { metadata?: unknown }).metadata : undefined;
  return typeof metadata === "object" && metadata !== null ? (metadata as Record<string, unknown>) : undefined;
}

function malformed(call: string, line: string): OperatorError {
  return new OperatorError("KubeInvalid", `${call}: not a watch event: ${line.slice(0, 100)}`);
}
