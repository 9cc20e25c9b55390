/** Queue from several senders to one receiver. A sender waits until its word is taken. */
export class Inbox<T> {
  readonly #waiting: { readonly word: T; readonly taken: () => void }[] = [];
  #listener: { readonly hear: (word: T | undefined) => void; readonly fail: (thrown: unknown) => void } | undefined;
  #failure: { readonly thrown: unknown } | undefined;

  /** Resolves when the word has been taken. */
  async put(word: T): Promise<void> {
    const { promise, resolve: taken } = Promise.withResolvers<void>();
    this.#waiting.push({ word, taken });
    this.#deliver();
    await promise;
  }

  /** The receiver gets this failure after the words that wait. */
  fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#deliver();
  }

  /** Undefined when `wake` is called before a word arrives. */
  async take(): Promise<T | undefined> {
    const { promise, resolve: hear, reject: fail } = Promise.withResolvers<T | undefined>();
    this.#listener = { hear, fail };
    this.#deliver();
    return await promise;
  }

  wake(): void {
    this.#listener?.hear(undefined);
    this.#listener = undefined;
  }

  #deliver(): void {
    if (this.#listener === undefined) return;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#listener.hear(next.word);
    else if (this.#failure !== undefined) this.#listener.fail(this.#failure.thrown);
    else return;
    this.#listener = undefined;
    next?.taken();
  }
}
