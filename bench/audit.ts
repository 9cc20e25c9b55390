import { createReadStream, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { OPERATOR } from "#api/names.ts";

/** The account of the operator, as the API server knows it; config/operator.yaml sets it. */
const OPERATOR_USER = `system:serviceaccount:etcd-operator-system:${OPERATOR}`;

/** One request of the operator, as the API server saw it. */
export interface Request {
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

  /** Requests of the operator, in the order of their end. @throws Error when the log was rotated meanwhile */
  async requests(): Promise<Request[]> {
    if (statSync(this.#file).size < this.#fromByte) throw new Error("the audit log was rotated; measure again");
    const found: Request[] = [];
    const lines = createInterface({ input: createReadStream(this.#file, { start: this.#fromByte }) });
    for await (const line of lines) {
      // Most lines are of others; a last one that is not complete yet is not ours to read.
      if (!line.includes(OPERATOR_USER) || !line.endsWith("}")) continue;
      const event = JSON.parse(line) as AuditEvent;
      if (event.user.username === OPERATOR_USER && counts(event)) found.push(requestOf(event));
    }
    return found;
  }
}

/** The part of an audit event that is used (audit.k8s.io/v1). */
interface AuditEvent {
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

/** A watch has two lines, when it begins and when it ends minutes later; all others have one, when they end. */
function counts({ stage, verb }: AuditEvent): boolean {
  return verb === "watch" ? stage === "ResponseStarted" : stage !== "ResponseStarted";
}

function requestOf({ verb, objectRef, responseStatus, requestReceivedTimestamp }: AuditEvent): Request {
  const { resource = "", subresource, namespace = "", name = "" } = objectRef ?? {};
  return {
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    code: responseStatus?.code ?? 0,
    atMs: Date.parse(requestReceivedTimestamp),
  };
}

export function isRead({ verb }: Request): boolean {
  return verb === "get" || verb === "list" || verb === "watch";
}

export function isLease({ resource }: Request): boolean {
  return resource === "leases";
}

/** How many of each. @param over by what the counts are divided, such as the number of clusters */
export function countBy(requests: readonly Request[], key: (request: Request) => string, over = 1) {
  const groups = Map.groupBy(requests, key);
  const counts = [...groups].map(([name, group]): [string, number] => [name, Number((group.length / over).toFixed(1))]);
  return Object.fromEntries(counts.sort(([, a], [, b]) => b - a));
}
