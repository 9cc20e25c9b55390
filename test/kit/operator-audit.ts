import { createReadStream, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { instance } from "#kit/e2e.ts";

/** One request that changed something, or tried to, as the API server saw it. */
export interface AuditedWrite {
  readonly userAgent: string;
  /** Example: `update leases/etcd-cluster-operator`. A created object's name is the server's answer, not part of the request. */
  readonly what: string;
  readonly namespace: string;
  /** HTTP status of the answer. */
  readonly code: number;
  /** When the server received it, in milliseconds since 1970. */
  readonly atMs: number;
}

/** The part of an audit event that is read (audit.k8s.io/v1). */
interface AuditEvent {
  readonly verb: string;
  readonly userAgent?: string;
  readonly objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

const READS = new Set(["get", "list", "watch"]);

/** The API server's own record: what an operator says of itself would share its mistakes. */
export class Audit {
  readonly #file = join(instance.logs, "audit.log");
  readonly #fromByte: number;

  /** Reads what happens from now on. */
  constructor() {
    this.#fromByte = statSync(this.#file).size;
  }

  /** Writes of all whose user agent is one of these, in the order of their end. */
  async writes(...userAgents: readonly string[]): Promise<AuditedWrite[]> {
    const found: AuditedWrite[] = [];
    for await (const line of createInterface({ input: createReadStream(this.#file, { start: this.#fromByte }) })) {
      if (!userAgents.some((agent) => line.includes(agent)) || !line.endsWith("}")) continue; // or not whole yet
      const event = JSON.parse(line) as AuditEvent;
      if (userAgents.includes(event.userAgent ?? "") && !READS.has(event.verb)) found.push(writeOf(event));
    }
    return found;
  }
}

function writeOf({ verb, userAgent = "", objectRef = {}, responseStatus, requestReceivedTimestamp }: AuditEvent) {
  const { resource, subresource, name, namespace = "" } = objectRef;
  return {
    userAgent,
    what: `${verb} ${[resource, name, subresource].filter((part) => part !== undefined).join("/")}`,
    namespace,
    code: responseStatus?.code ?? 0,
    atMs: Date.parse(requestReceivedTimestamp),
  };
}
