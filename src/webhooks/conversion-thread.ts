import { Worker } from "node:worker_threads";
import { OperatorError } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import { RefusedBody } from "./body.ts";
import type { FromThread } from "./conversion-worker.ts";

// Why a separate thread?
//   Everything that an API server can store has to be converted, or a list of all objects fails. 1.5 MiB may be half a
//   million small values, and any user with write access to EtcdClusters can store them. Parsing, converting and
//   printing them takes up to a second. The main thread, which renews the lease, must not be blocked for so long.
// What if a request takes too long, or too much memory?
//   The thread ends, and its request fails. The next request gets a new thread.
// In which order are requests answered?
//   Round-robin by client address: a flood from one address delays a request of another by at most one request.

/** Deadline of a request in the thread, in milliseconds. The worst admitted one takes half a second of an idle CPU. */
const RUN_WITHIN_MS = 3_500;
/** Deadline in milliseconds for the thread to load. It takes a tenth of a second, but more on a busy machine. */
const START_WITHIN_MS = 10_000;
/**
 * Time in milliseconds after which an idle thread ends, because it holds some megabytes. Less, and each list of
 * v1alpha1 would wait for a thread to start.
 */
const IDLE_MS = 60_000;
/**
 * Heap and stack of the thread in MiB. The worst admitted request takes two thirds of the heap. An API server accepts
 * JSON nested 10,000 levels deep, for which conversion and printing need 3 MiB of stack.
 */
export const MEMORY = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 6, stackSizeMb: 8 };

/** Program of the worker. The image has it bundled beside the operator (dev/bundle.ts). */
const PROGRAM = new URL(
  import.meta.url.endsWith(".ts") ? "./conversion-worker.ts" : "./conversion-worker.mjs",
  import.meta.url,
);

interface Question {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  readonly resolve: (answer: Uint8Array) => void;
  readonly reject: (error: Error) => void;
}

/** Answers conversion requests in a thread, one at a time. */
export class ConversionThread {
  readonly #log: Log;
  readonly #newWorker: () => Worker;
  /** Waiting requests by client address, in round-robin order. */
  readonly #waiting = new Map<string, Question[]>();
  #worker: Worker | undefined;
  #isReady = false;
  #asked: Question | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param newWorker starts the worker; throws when the system cannot start a thread */
  constructor(log: Log, newWorker = conversionWorker) {
    this.#log = log;
    this.#newWorker = newWorker;
  }

  /** Implements `answerBytes` of a webhook. The body is transferred and unusable afterwards. */
  answer(body: Uint8Array<ArrayBuffer>, from: string, signal: AbortSignal): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const question = { body, signal, resolve, reject };
      const others = this.#waiting.get(from);
      if (others === undefined) this.#waiting.set(from, [question]);
      else others.push(question);
      this.#next();
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = undefined; // its end is expected
    await worker?.terminate();
  }

  #next(): void {
    if (this.#asked !== undefined) return;
    const question = this.#taken();
    if (question === undefined) return void this.#within(IDLE_MS, () => this.#end());
    this.#asked = question;
    let worker: Worker;
    try {
      worker = this.#worker ??= this.#start();
    } catch (thrown) {
      return void this.#give(failure(thrown instanceof Error ? thrown.message : String(thrown)));
    }
    this.#limit();
    worker.postMessage(question.body, [question.body.buffer]);
  }

  /** The next request with a client that still waits. */
  #taken(): Question | undefined {
    for (const [address, questions] of this.#waiting) {
      const question = questions.shift();
      this.#waiting.delete(address);
      if (questions.length > 0) this.#waiting.set(address, questions);
      if (question?.signal.aborted === false) return question;
    }
    return undefined;
  }

  #start(): Worker {
    this.#isReady = false;
    const worker = this.#newWorker();
    worker.on("message", (message: FromThread) => {
      if (worker === this.#worker) this.#hear(message);
    });
    worker.on("error", (error: NodeJS.ErrnoException) => {
      if (worker !== this.#worker) return;
      const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      this.#give(isMemory ? new RefusedBody(413, "the conversion takes too much memory") : failure(error.message));
    });
    worker.on("exit", () => {
      if (worker === this.#worker) this.#give(failure("its thread has ended"));
    });
    worker.unref(); // the client's connection keeps the process alive
    return worker;
  }

  #hear(message: FromThread): void {
    switch (message.is) {
      case "ready":
        this.#isReady = true;
        if (this.#asked !== undefined) this.#limit();
        return;
      case "log":
        this.#log.info({ because: message.because }, message.message);
        return;
      case "answer":
        this.#done((question) => question.resolve(message.body));
        return;
      case "refused":
        this.#done((question) => question.reject(new RefusedBody(message.status, message.message)));
        return;
      case "failed":
        this.#done((question) => question.reject(failure(message.message)));
        return;
    }
  }

  #limit(): void {
    this.#within(this.#isReady ? RUN_WITHIN_MS : START_WITHIN_MS, () =>
      this.#give(new RefusedBody(503, `the conversion took longer than ${RUN_WITHIN_MS} ms; it was stopped`)),
    );
  }

  #within(ms: number, run: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, ms).unref();
  }

  /** Ends the thread, and rejects its request with the error. */
  #give(error: Error): void {
    this.#log.warn({ error: error.message }, "a conversion failed, so its thread was ended");
    this.#end();
    this.#done((question) => question.reject(error));
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  #done(answer: (question: Question) => void): void {
    const question = this.#asked;
    this.#asked = undefined;
    if (question !== undefined) answer(question);
    this.#next();
  }
}

function conversionWorker(): Worker {
  return new Worker(PROGRAM, { resourceLimits: MEMORY, execArgv: [], name: "conversion" });
}

function failure(message: string): OperatorError {
  return new OperatorError("Bug", `a conversion failed: ${message}`);
}
