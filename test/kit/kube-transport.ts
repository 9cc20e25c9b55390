import { type HttpAnswer, type HttpRequest, type Transport, TransportError } from "#kube/transport.ts";

/** What the next request meets. */
export type Script =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** No answer; `unsent`: certainly nothing went out. */
  | "unsent"
  | "broken"
  /** A certificate was refused, so nothing went out. */
  | "bad-certificate"
  /** Neither answer nor error. */
  | "hangs";

/** HTTP that answers as scripted and remembers what it was asked; without a script it fails the test. */
export class ScriptedTransport implements Transport {
  readonly requests: HttpRequest[] = [];
  readonly #scripts: Script[];
  renewals = 0;

  constructor(...scripts: readonly Script[]) {
    this.#scripts = [...scripts];
  }

  send(request: HttpRequest): Promise<HttpAnswer> {
    this.requests.push(request);
    const script = this.#scripts.shift();
    switch (script) {
      case undefined:
        return Promise.reject(new Error(`nothing is scripted for ${request.method} ${request.path}`));
      case "unsent":
        return Promise.reject(new TransportError(new Error("connection refused"), false));
      case "broken":
        return Promise.reject(new TransportError(new Error("connection reset"), true));
      case "bad-certificate":
        return Promise.reject(
          new TransportError(Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" }), false),
        );
      case "hangs":
        return new Promise((_, reject) =>
          request.signal.addEventListener("abort", () => reject(request.signal.reason)),
        );
      default:
        return Promise.resolve(answer(script));
    }
  }

  renewConnections(): void {
    this.renewals += 1;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function answer(script: Exclude<Script, string>): HttpAnswer {
  const text = typeof script.body === "string" ? script.body : JSON.stringify(script.body ?? {});
  return {
    status: script.status,
    header: (name) => script.headers?.[name],
    text: () => Promise.resolve(text),
    async *chunks() {
      yield await Promise.resolve(Buffer.from(text));
    },
  };
}
