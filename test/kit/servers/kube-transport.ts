import { type HttpAnswer, type HttpRequest, TooLong, type Transport, TransportError } from "#kube/transport.ts";

/** The fate of the next request. */
export type Script =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** No answer; `unsent`: certainly nothing was sent. */
  | "unsent"
  | "broken"
  /** An answer that exceeds the size limit. */
  | "too-long"
  /** A certificate was refused, so nothing was sent. */
  | "bad-certificate"
  /** Neither answer nor error. */
  | "hangs"
  /** Waits for the promise, and then never answers. */
  | { readonly turn: Promise<void> };

/** HTTP with scripted answers that records its requests; an unscripted request fails the test. */
export class ScriptedTransport implements Transport {
  readonly requests: HttpRequest[] = [];
  readonly #scripts: Script[];
  /** How often a call dropped its connections. */
  renewals = 0;

  constructor(...scripts: readonly Script[]) {
    this.#scripts = [...scripts];
  }

  send(request: HttpRequest): Promise<HttpAnswer> {
    this.requests.push(request);
    return new Promise((resolve) => resolve(this.#meet(request, this.#scripts.shift())));
  }

  #meet(request: HttpRequest, script: Script | undefined): HttpAnswer | Promise<HttpAnswer> {
    if (script === undefined) throw new Error(`no answer is scripted for ${request.method} ${request.path}`);
    if (typeof script === "object" && "turn" in script) {
      return Promise.race([untilAborted(request), script.turn.then(() => this.#meet(request, "hangs"))]);
    }
    request.onTurn?.();
    if (script === "unsent") throw new TransportError(new Error("connection refused"), false);
    if (script === "bad-certificate") {
      throw new TransportError(Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" }), false);
    }
    request.onSending?.(() => {
      this.renewals += 1;
    });
    if (script === "too-long") throw new TransportError(new TooLong("the answer is longer than 32 bytes"), true);
    if (script === "broken") throw new TransportError(new Error("connection reset"), true);
    return script === "hangs" ? untilAborted(request) : answer(script);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function untilAborted({ signal }: HttpRequest): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

function answer(script: Extract<Script, { status: number }>): HttpAnswer {
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
