import { createReadStream, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { OPERATOR_USER } from "../../../scripts/manifests.ts";

/** One request, as the API server saw it. */
export interface AuditedRequest {
  /** User agent of the client: tests with several operators distinguish them by it. */
  readonly userAgent: string;
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  /**
   * Resource with subresource, such as `etcdclusters/status`. Empty for a path without resource, such as `/version`.
   */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Status of the answer. */
  readonly code: number;
  /** Message of a refusal; empty otherwise. */
  readonly message: string;
  /** When it arrived, in milliseconds since 1970. */
  readonly atMs: number;
}

/** Requests as the API server counts them: the operator's own counts would share its mistakes. */
export class AuditLog {
  readonly #file: string;
  readonly #fromByte: number;

  /** Reads the lines that are written from now on. */
  constructor(file: string) {
    this.#file = file;
    this.#fromByte = statSync(file).size;
  }

  /**
   * Requests of the deployed operator, in the order of their end.
   * @throws Error when the log was rotated since
   */
  async requests(): Promise<AuditedRequest[]> {
    return await this.#read(isOperator, [OPERATOR_USER]);
  }

  /** Requests with one of these user agents. */
  async requestsOf(...userAgents: readonly string[]): Promise<AuditedRequest[]> {
    return await this.#read(({ userAgent = "" }) => userAgents.includes(userAgent), userAgents);
  }

  /** @param words of which a wanted line has at least one, so that other lines need not be parsed */
  async #read(isWanted: (event: AuditEvent) => boolean, words: readonly string[]): Promise<AuditedRequest[]> {
    if (statSync(this.#file).size < this.#fromByte) throw new Error("the audit log was rotated; measure again");
    return await read(this.#file, this.#fromByte, isWanted, words);
  }
}

/**
 * All requests of the deployed operator's account by any process, including those in rotated logs.
 * @param folder of the audit logs
 * @param sinceMs milliseconds since 1970
 */
export async function everyRequest(folder: string, sinceMs: number): Promise<AuditedRequest[]> {
  const files = readdirSync(folder).filter((name) => /^audit.*\.log$/.test(name));
  const logs = files.map((name) => read(join(folder, name), 0, isOperator, [OPERATOR_USER]));
  return (await Promise.all(logs)).flat().filter(({ atMs }) => atMs >= sinceMs);
}

/** Each audit line of the deployed operator's account, including bodies, except those of Secrets. */
export async function* everyLine(folder: string): AsyncGenerator<string> {
  for (const name of readdirSync(folder).filter((each) => /^audit.*\.log$/.test(each)))
    for await (const line of createInterface({ input: createReadStream(join(folder, name)) }))
      if (line.includes(OPERATOR_USER)) yield line;
}

/**
 * Indexes of the texts that the deployed operator has sent to the API server, and whether any body was found.
 * @param marks texts that occur together in a body that it must have sent
 */
export async function foundInBodies(folder: string, texts: readonly string[], ...marks: readonly string[]) {
  const found = new Set<number>();
  let hasBodies = false;
  for await (const line of everyLine(folder)) {
    if (!line.includes('"requestObject"')) continue;
    hasBodies ||= marks.every((mark) => line.includes(mark));
    for (const [n, text] of texts.entries()) if (line.includes(text)) found.add(n);
  }
  return { found: [...found], hasBodies };
}

async function read(
  file: string,
  fromByte: number,
  isWanted: (event: AuditEvent) => boolean,
  words: readonly string[],
): Promise<AuditedRequest[]> {
  const found: AuditedRequest[] = [];
  for await (const line of createInterface({ input: createReadStream(file, { start: fromByte }) })) {
    // Most lines are of other clients. An incomplete last line is skipped.
    if (!words.some((word) => line.includes(word)) || !line.endsWith("}")) continue;
    const event = JSON.parse(line) as AuditEvent;
    if (isWanted(event) && counts(event)) found.push(requestOf(event));
  }
  return found;
}

function isOperator({ user }: AuditEvent): boolean {
  return user.username === OPERATOR_USER;
}

/** The part of an audit event that is used (audit.k8s.io/v1). */
interface AuditEvent {
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: {
    apiGroup?: string;
    resource?: string;
    subresource?: string;
    namespace?: string;
    name?: string;
  };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly requestReceivedTimestamp: string;
}

/** A watch has two lines, at its start and at its end minutes later. All other requests have one, at their end. */
function counts({ stage, verb }: AuditEvent): boolean {
  return verb === "watch" ? stage === "ResponseStarted" : stage !== "ResponseStarted";
}

function requestOf(event: AuditEvent): AuditedRequest {
  const { userAgent = "", verb, objectRef, responseStatus, requestReceivedTimestamp } = event;
  const { apiGroup: group = "", resource = "", subresource, namespace = "", name = "" } = objectRef ?? {};
  return {
    userAgent,
    verb,
    group,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    code: responseStatus?.code ?? 0,
    message: responseStatus?.message ?? "",
    atMs: Date.parse(requestReceivedTimestamp),
  };
}

export function isRead({ verb }: AuditedRequest): boolean {
  return verb === "get" || verb === "list" || verb === "watch";
}

export function isLease({ resource }: AuditedRequest): boolean {
  return resource === "leases";
}

/**
 * Number of requests by key.
 * @param over divides the counts, such as the number of clusters
 */
export function countBy(requests: readonly AuditedRequest[], key: (request: AuditedRequest) => string, over = 1) {
  const groups = Map.groupBy(requests, key);
  const counts = [...groups].map(([name, group]): [string, number] => [name, Number((group.length / over).toFixed(1))]);
  return Object.fromEntries(counts.sort(([, a], [, b]) => b - a));
}
