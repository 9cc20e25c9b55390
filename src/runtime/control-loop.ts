import type { Clock } from "#base/clock.ts";
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
 * A pass that has run for so long holds no worker any more, in milliseconds: it waits for somebody who does not answer, such as a webhook. With
 * a shorter time an API server that is slow to all is asked by ever more passes side by side; with a longer one who hangs costs others more.
 */
const LONG_PASS_MS = 1_000;

/** A pass that runs three times its own deadline does not listen to its signal: only a restart helps. */
const STUCK_AFTER_MS = 3 * PASS_DEADLINE_MS;

/** Nobody's first look comes later than this after the start, in milliseconds. */
const LAST_FIRST_LOOK_MS = 60_000;

/** What has become of an object. */
export interface SeenChange {
  readonly type?: "added" | "modified" | "deleted";
  readonly object: KubeObject;
  readonly previous?: KubeObject | undefined;
}

/** What a room needs of a cache to be woken by it. */
export interface WakingCache {
  onChange(listener: (change: SeenChange) => void): () => void;
}

/** Which keys a change of an object concerns. */
interface Watch {
  readonly cache: WakingCache;
  keysFor(object: KubeObject): readonly Key[];
  /** Whether a person has done it, or has lost something by it, and so it is looked at before all that goes on by itself. Default: no. */
  isUrgent?(change: SeenChange): boolean;
}

export interface LoopOptions<Snapshot, Step extends { readonly do: string }, Status> {
  readonly controller: Controller<Snapshot, Step, Status>;
  readonly watches: readonly Watch[];
  /** Gives every key there is; each gets a pass at the start. */
  readonly allKeys: () => readonly Key[];
  readonly tools: PassTools;
}

/** One controller with what wakes it. Its methods are called by its own workers only. */
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
  /** By key, the looks that are under way. */
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

  /** Works until `signal` aborts; then finishes or abandons the passes under way and returns. @param workers passes side by side, 1 or more, those aside that take long */
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

  /** Whether a pass ignores its deadline. */
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

  /** How many keys wait for a worker, and for how long the oldest does, in milliseconds. */
  get waiting(): { readonly depth: number; readonly ageMs: number } {
    return { depth: this.#queue.depth, ageMs: this.#queue.ageMs };
  }

  #stageOf(key: Key): Stage {
    return this.#controller.stageOf?.(key) ?? "settled";
  }

  /** Whoever is not settled is looked at first, and does not wait for those that are. */
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
    // Who waits for the cache has not tried.
    if (requeue.is !== "whenSeen") this.#retries.forget(text);
    const hasNothingToDo = requeue.is === "never" || (requeue.is === "after" && requeue.isResting === undefined);
    const beginning = hasNothingToDo ? "ended" : requeue.is === "after" ? "failed" : undefined;
    this.#queue.done(key, requeue.is === "whenSeen" ? urgency : undefined, beginning);
    if (requeue.is === "never") return;
    // A new one of which nothing can be made now, such as one that is paused, is no beginning each time that it is looked at.
    if (hasNothingToDo && stage === "new") return this.#queue.addAfter(key, requeue.ms, "routine");
    // At once: after a step.
    return this.#queue.addAfter(key, requeue.ms, requeue.ms === 0 ? urgencyOfChange(stage) : urgencyOfTimer(stage));
  }
}

/**
 * Whom the change concerns by what the object is now, and by what it was. Each once: a worker that is free begins with the first one at once, and
 * a second one would have it look again right after.
 */
function concernedKeys(watch: Watch, { object, previous }: SeenChange): Iterable<Key> {
  const keys = watch.keysFor(object);
  if (previous === undefined) return keys;
  const texts = new Set(keys.map(keyText));
  return [...keys, ...watch.keysFor(previous).filter((key) => !texts.has(keyText(key)))];
}
