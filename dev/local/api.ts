import { readFileSync } from "node:fs";
import { Agent, request } from "undici";
import { parse } from "yaml";

/** Fields of an object that are read here. */
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

/** Timeout of a call, in milliseconds. Watches have none. */
const CALL_MS = 10_000;

/**
 * A small client of the API server, for the few calls that the instance itself makes. It shares no code with the
 * operator's own client, so that tests of that client do not depend on it.
 */
export class Api {
  readonly #server: string;
  readonly #agent: Agent;

  /** @param kubeconfig a file that `writeKubeconfig` has written */
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

  /** Sends a request. @returns the response with any status @throws when there is none */
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

  /** Sends a request as `call` does. @throws when the status is neither a success nor in `accepted` */
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

  /** Events of a watch until the server or the signal ends it. */
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
