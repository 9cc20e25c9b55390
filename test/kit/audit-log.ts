import { createReadStream, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { OPERATOR_USER } from "../../scripts/manifests.ts";

/** One request, as the API server saw it. */
export interface AuditedRequest {
  /** Who made it, by its own word: tests that run several operators tell them apart by it. */
  readonly userAgent: string;
  readonly verb: string;
  /** With subresource, such as `etcdclusters/status`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Status of the answer. */
  readonly code: number;
  /** When it came, in milliseconds since 1970. */
  readonly atMs: number;
}

/** Counts as the API server does: what the operator says of itself would share its mistakes. */
export class AuditLog {
  readonly #file: string;
  readonly #fromByte: number;

  /** Reads what is written from now on. */
  constructor(file: string) {
    this.#file = file;
    this.#fromByte = statSync(file).size;
  }

  /** Requests of the deployed operator, in the order of their end. @throws Error when the log was rotated meanwhile */
  async requests(): Promise<AuditedRequest[]> {
    return await this.#read(({ user }) => user.username === OPERATOR_USER, [OPERATOR_USER]);
  }

  /** Likewise of all whose user agent is one of these. */
  async requestsOf(...userAgents: readonly string[]): Promise<AuditedRequest[]> {
    return await this.#read(({ userAgent = "" }) => userAgents.includes(userAgent), userAgents);
  }

  /** @param words one of which stands in each line that counts, so that not every line has to be parsed */
  async #read(isWanted: (event: AuditEvent) => boolean, words: readonly string[]): Promise<AuditedRequest[]> {
    if (statSync(this.#file).size < this.#fromByte) throw new Error("the audit log was rotated; measure again");
    const found: AuditedRequest[] = [];
    const lines = createInterface({ input: createReadStream(this.#file, { start: this.#fromByte }) });
    for await (const line of lines) {
      // Most lines are of others; a last one that is not complete yet is not ours to read.
      if (!words.some((word) => line.includes(word)) || !line.endsWith("}")) continue;
      const event = JSON.parse(line) as AuditEvent;
      if (isWanted(event) && counts(event)) found.push(requestOf(event));
    }
    return found;
  }
}

/** The part of an audit event that is used (audit.k8s.io/v1). */
interface AuditEvent {
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

/** A watch has two lines, when it begins and when it ends minutes later; all others have one, when they end. */
function counts({ stage, verb }: AuditEvent): boolean {
  return verb === "watch" ? stage === "ResponseStarted" : stage !== "ResponseStarted";
}

function requestOf(event: AuditEvent): AuditedRequest {
  const { userAgent = "", verb, objectRef, responseStatus, requestReceivedTimestamp } = event;
  const { resource = "", subresource, namespace = "", name = "" } = objectRef ?? {};
  return {
    userAgent,
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    code: responseStatus?.code ?? 0,
    atMs: Date.parse(requestReceivedTimestamp),
  };
}

export function isRead({ verb }: AuditedRequest): boolean {
  return verb === "get" || verb === "list" || verb === "watch";
}

export function isLease({ resource }: AuditedRequest): boolean {
  return resource === "leases";
}

/** How many of each. @param over by what the counts are divided, such as the number of clusters */
export function countBy(requests: readonly AuditedRequest[], key: (request: AuditedRequest) => string, over = 1) {
  const groups = Map.groupBy(requests, key);
  const counts = [...groups].map(([name, group]): [string, number] => [name, Number((group.length / over).toFixed(1))]);
  return Object.fromEntries(counts.sort(([, a], [, b]) => b - a));
}
