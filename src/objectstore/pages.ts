import { StoreError } from "./error.ts";

/**
 * Maximum pages of a list, of 1,000 objects or more: three years of an archive with up to 8,640 objects a day. If
 * smaller, such a list is refused; if larger, a faulty server keeps the agent busy for longer.
 */
const MAX_PAGES = 10_000;

/** Page tokens of one list. A faulty server may never reach the last page, or repeat a token. */
export class Pages {
  readonly #what: string;
  #count = 0;
  #last: string | undefined;

  /** @param what name of the list in messages */
  constructor(what: string) {
    this.#what = what;
  }

  /**
   * Token of the next page; undefined: there is none.
   * @throws StoreError Other when the list does not end
   */
  next(token: string | undefined): string | undefined {
    if (token === undefined || token === "") return undefined;
    if (token === this.#last) throw new StoreError("Other", `${this.#what}: the store sends the same page again`);
    if (++this.#count >= MAX_PAGES)
      throw new StoreError("Other", `${this.#what}: the list has more than ${MAX_PAGES} pages`);
    this.#last = token;
    return token;
  }
}
