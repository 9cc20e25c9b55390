import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { type Controller, type Key, keyText } from "#runtime/controller.ts";
import type { Check } from "#runtime/health.ts";
import { PASS_DEADLINE_MS, Pass, type PassTools } from "#runtime/pass.ts";
import { PLACES_PER_WORKER } from "#runtime/places.ts";
import { KeyedQueue } from "#runtime/queue.ts";
import { Retries } from "#runtime/retries.ts";
import { type Stage, type Urgency, urgencyOfChange, urgencyOfTimer } from "#runtime/urgency.ts";
import type { WaitingKey } from "#runtime/waiting-keys.ts";

/**
 * A pass that runs longer than this, in milliseconds, no longer counts against the workers: it probably waits for a
 * webhook that does not answer. If smaller, a slow API server gets ever more passes side by side. If larger, a hanging
 * pass costs others more.
 */
const LONG_PASS_MS = 1_000;

/** Three times its own deadline: a pass that runs longer ignores its signal, and only a restart helps. */
const STUCK_AFTER_MS = 3 * PASS_DEADLINE_MS;

/** Latest first pass of any object after the start, in milliseconds. */
const LAST_FIRST_LOOK_MS = 60_000;

/** A change of a cached object. */
export interface SeenChange {
  readonly type?: "added" | "modified" | "deleted";
  readonly object: KubeObject;
  readonly previous?: KubeObject | undefined;
}

/** The part of a cache that wakes a controller. */
export interface WakingCache {
  onChange(listener: (change: SeenChange) => void): () => void;
}

/** Maps changes of objects to the keys that need a pass. */
interface Watch {
  readonly cache: WakingCache;
  keysFor(object: KubeObject): readonly Key[];
  /**
   * Whether a user made the change, or lost something by it. Its pass then comes before all routine work. Default: no.
   */
  isUrgent?(change: SeenChange): boolean;
}

export interface LoopOptions<Snapshot, Step extends { readonly do: string }, Status> {
  readonly controller: Controller<Snapshot, Step, Status>;
  readonly watches: readonly Watch[];
  /** Returns every existing key; each gets a pass at the start. */
  readonly allKeys: () => readonly Key[];
  readonly tools: PassTools;
}

/** One controller with its watches and workers. */
export class ControlLoop<Snapshot, Step extends { readonly do: string }, Status> {
  readonly name: string;
  readonly #queue: KeyedQueue<Key>;
  readonly #controller: Controller<Snapshot, Step, Status>;
  readonly #pass: Pass<Snapshot, Step, Status>;
  readonly #tools: PassTools;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #watches: readonly Watch[];
  readonly #allKeys: () => readonly Key[];
  readonly #retries = new Retries();
  /** Running passes, by key. */
  readonly #running = new Map<string, { readonly startedAtMs: number; readonly pass: Promise<void> }>();

  constructor(options: LoopOptions<Snapshot, Step, Status>) {
    this.name = options.controller.name;
    this.#tools = options.tools;
    this.#clock = options.tools.clock;
    this.#log = options.tools.log.with({ controller: this.name });
    this.#watches = options.watches;
    this.#allKeys = options.allKeys;
    this.#controller = options.controller;
    this.#queue = new KeyedQueue<Key>(this.#clock, keyText, ({ namespace }) => namespace);
    this.#pass = new Pass(options.controller, { ...options.tools, log: this.#log });
  }

  /**
   * Works until `signal` aborts; then finishes or abandons the running passes and returns. @param workers passes side
   * by side, 1 or more, not counting long ones
   */
  async run(signal: AbortSignal, workers: number): Promise<void> {
    const unwatch = this.#watches.map((watch) =>
      watch.cache.onChange((change) => {
        const urgency = watch.isUrgent?.(change) === true ? "asked" : undefined;
        for (const key of concernedKeys(watch, change)) this.#wake(key, urgency);
      }),
    );
    this.#addAll();
    signal.addEventListener("abort", () => this.#queue.close(), { once: true });
    if (signal.aborted) this.#queue.close();
    this.#queue.limit(PLACES_PER_WORKER * workers);
    const failed = Promise.withResolvers<never>();
    const work = Array.from({ length: workers }, () => this.#work(signal, failed.reject));
    const over = Promise.all(work).then(() => Promise.all([...this.#running.values()].map(({ pass }) => pass)));
    await Promise.race([over, failed.promise]);
    for (const stop of unwatch) stop();
  }

  /** Fails when a pass ignores its deadline. */
  check(): Check {
    return {
      name: `${this.name}-passes`,
      fault: () => {
        const nowMs = this.#clock.monotonicMs();
        const stuck = [...this.#running]
          .filter(([, { startedAtMs }]) => nowMs - startedAtMs > STUCK_AFTER_MS)
          .map(([key]) => key);
        return stuck.length === 0
          ? undefined
          : `stuck for more than ${STUCK_AFTER_MS / 1000} s: ${stuck.slice(0, 5).join(", ")}`;
      },
    };
  }

  /** How many keys wait for a worker, and how long the oldest has waited, in milliseconds. */
  get waiting(): { readonly depth: number; readonly ageMs: number } {
    return { depth: this.#queue.depth, ageMs: this.#queue.ageMs };
  }

  #stageOf(key: Key): Stage {
    try {
      return this.#controller.stageOf?.(key) ?? "settled";
    } catch (thrown) {
      if (hasCode(thrown, "ObjectTooLarge")) return "settled"; // its pass reports it
      throw thrown;
    }
  }

  /** Queues every key. Unsettled objects come first and do not wait for settled ones. */
  #addAll(): void {
    const { firstLooksApartMs = 0 } = this.#controller;
    let settled = 0;
    for (const key of this.#allKeys()) {
      const stage = this.#stageOf(key);
      const delayMs = stage === "settled" ? Math.min(LAST_FIRST_LOOK_MS, firstLooksApartMs * ++settled) : 0;
      this.#queue.addAfter(key, delayMs, urgencyOfTimer(stage));
    }
  }

  #wake(key: Key, urgency: Urgency | undefined): void {
    this.#queue.add(key, urgency ?? urgencyOfChange(this.#stageOf(key)));
  }

  async #work(signal: AbortSignal, fail: (thrown: unknown) => void): Promise<void> {
    for (;;) {
      const item = await this.#queue.take();
      if (item === undefined) return;
      const startedAtMs = this.#clock.monotonicMs();
      const pass = this.#look(item, startedAtMs, signal).catch(fail);
      this.#running.set(keyText(item.key), { startedAtMs, pass });
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(LONG_PASS_MS, resolve);
        void pass.then(() => {
          cancel();
          resolve();
        });
      });
    }
  }

  async #look({ key, readyAtMs, urgency }: WaitingKey<Key>, startedAtMs: number, signal: AbortSignal): Promise<void> {
    const text = keyText(key);
    this.#tools.metrics.queueWaitSeconds.observe({ controller: this.name }, (startedAtMs - readyAtMs) / 1000);
    const requeue = await this.#pass.run(key, signal);
    this.#running.delete(text);
    const stage = this.#stageOf(key);
    if (requeue.is === "withBackoff" || requeue.is === "afterConflict") {
      const { pauseMs, owed } = this.#retries.note(text, requeue.is, urgency, Math.random());
      this.#queue.done(key, owed, requeue.is === "withBackoff" ? "failed" : undefined);
      this.#queue.addAfter(key, pauseMs, urgencyOfTimer(stage));
      return;
    }
    // A pass that waited for the cache was no try.
    if (requeue.is !== "whenSeen") this.#retries.forget(text);
    const hasNothingToDo = requeue.is === "never" || (requeue.is === "after" && requeue.isResting === undefined);
    const beginning = hasNothingToDo ? "ended" : requeue.is === "after" ? "failed" : undefined;
    this.#queue.done(key, requeue.is === "whenSeen" ? urgency : undefined, beginning);
    if (requeue.is === "never") return;
    // A new object that cannot be worked on now, such as a paused one, takes no start slot at each recheck.
    if (hasNothingToDo && stage === "new") return this.#queue.addAfter(key, requeue.ms, "routine");
    // Zero means right after a step.
    return this.#queue.addAfter(key, requeue.ms, requeue.ms === 0 ? urgencyOfChange(stage) : urgencyOfTimer(stage));
  }
}

/**
 * The keys that the new and the previous state of the object concern, each once. A free worker starts with the first
 * key at once, so a duplicate would cause a second pass right after.
 */
function concernedKeys(watch: Watch, { object, previous }: SeenChange): Iterable<Key> {
  const keys = watch.keysFor(object);
  if (previous === undefined) return keys;
  const texts = new Set(keys.map(keyText));
  return [...keys, ...watch.keysFor(previous).filter((key) => !texts.has(keyText(key)))];
}
