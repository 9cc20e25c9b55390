import type { Log } from "#base/log.ts";

/** Bound on distinct warnings that are logged, since a server may send any number. */
const MAX_LOGGED = 100;

/** Logs each distinct Warning header of the API server once (deprecated versions, unknown fields). RFC 9111, 5.5. */
export class Warnings {
  readonly #log: Log;
  readonly #logged = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  record(call: string, header: string | undefined): void {
    if (header === undefined || this.#logged.has(header) || this.#logged.size >= MAX_LOGGED) return;
    this.#logged.add(header);
    this.#log.warn({ error: header.slice(0, 500) }, `the API server warns about ${call}`);
  }
}
