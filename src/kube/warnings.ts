import type { Log } from "#base/log.ts";

/** So many different texts are told; the server can make up any number. */
const MAX_TOLD = 100;

/** Warning headers of the API server (deprecated versions, unknown fields), each text told once. RFC 9111, section 5.5. */
export class Warnings {
  readonly #log: Log;
  readonly #told = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  tell(call: string, header: string | undefined): void {
    if (header === undefined || this.#told.has(header) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(header);
    this.#log.warn({ error: header.slice(0, 500) }, `the API server warns about ${call}`);
  }
}
