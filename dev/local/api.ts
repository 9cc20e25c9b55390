import { readFileSync } from "node:fs";
import { Agent, request } from "undici";
import { parse } from "yaml";

/** What this room reads of an object; everything else passes through untouched. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Calls longer than this are given up, in milliseconds. Watches are exempt. */
const CALL_MS = 10_000;

/**
 * The API server, by the few calls that the environment itself makes. Small on purpose: the operator's own client must
 * not be what its tests stand on.
 */
export class Api {
  readonly #server: string;
  readonly #agent: Agent;

  /** @param kubeconfig a file as `writeKubeconfig` makes it */
  constructor(kubeconfig: string) {
    const config = parse(readFileSync(kubeconfig, "utf8"));
    const decode = (text: string) => Buffer.from(text, "base64");
    this.#server = config.clusters[0].cluster.server;
    const user = config.users[0].user;
    this.#agent = new Agent({
      allowH2: false,
      bodyTimeout: 0,
      connect: {
        ca: decode(config.clusters[0].cluster["certificate-authority-data"]),
        cert: decode(user["client-certificate-data"]),
        key: decode(user["client-key-data"]),
      },
    });
  }

  /** The answer, whatever its status. @throws when there is none */
  async call(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<Answer> {
    const answer = await request(`${this.#server}${path}`, {
      method,
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(CALL_MS),
      headers: { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const isJson = String(answer.headers["content-type"]).startsWith("application/json");
    return { status: answer.statusCode, body: isJson ? JSON.parse(text) : text };
  }

  /** As `call`. @throws when the answer is not one of success, nor one of `accepted` */
  async must(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    accepted: readonly number[] = [],
  ): Promise<Answer> {
    const answer = await this.call(method, path, body);
    if (answer.status < 300 || accepted.includes(answer.status)) return answer;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** Lines of a watch until the server or the signal ends it. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<{ type: string; object: KubeObject }> {
    const answer = await request(`${this.#server}${path}`, { dispatcher: this.#agent, signal });
    if (answer.statusCode !== 200) throw new Error(`watch ${path}: ${answer.statusCode} ${await answer.body.text()}`);
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of answer.body) {
      const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
