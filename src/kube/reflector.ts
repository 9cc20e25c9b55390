import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { asOperatorError, type ErrorCode, OperatorError } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import type { Reader, Selection, WatchEvent } from "./client.ts";
import { type KubeObject, keyOf, type Resource, resourceName, versionOf } from "./kinds.ts";

// How does a copy of the server's objects stay correct?
//   A watch delivers every change after a resourceVersion, in order. So: get the state once, remember its version, go
//   on from there; after a broken stream go on from the last version seen. The whole state is read again and compared
//   only when the server no longer knows that version (410), or an event cannot be trusted.
// How is the state read? By a watch as well (WatchList: the state as ADDED events, then a bookmark), which is cheap for
//   the server. If the server refuses that, by a paged list.
// What if the stream is silent? The server sends a bookmark about every 60 s: IDLE_MS of silence is a dead connection.
//   A caller that misses an expected event, such as its own write, calls `missed`: then ten seconds of silence suffice.
//   A caller that has not read the copy for a while and is about to calls `renewed`: the stream may be dead.
// What if versions go back? The server's etcd was restored from a backup, and our state never existed there: read all
//   of it again. Usually this shows as silence, since a server sends nothing older than the requested position.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
// Why not the informer of @kubernetes/client-node?
//   It has neither bookmarks nor WatchList, and does not detect a silent connection.

/** Longer than the 60 s between two bookmarks (measured on 1.36). If shorter, watches of quiet kinds would restart. */
const IDLE_MS = 90_000;
/** Silence that means a dead connection when a caller misses an expected event. */
const MISSED_MS = 10_000;
/** Extra time for the first event, since the server may take this long to start the stream. */
const BEGIN_MS = 15_000;
/** Time for the whole state by WatchList. A server without WatchList never sends the bookmark that ends the state. */
const SYNC_MS = 60_000;
/**
 * Age at which a stream counts as caught up: earlier events have arrived, and no 410 has. Only a server with a restored
 * etcd may still be behind. The time is split into SETTLED_IN timers, so that a process that was frozen reads buffered
 * events between two of them.
 */
const SETTLED_MS = 1_000;
const SETTLED_IN = 10;
/** Random range of `timeoutSeconds` of a watch, so that watches spread over the replicas of the API server. */
const WATCH_SECONDS = { min: 300, max: 600 };
/** Rounds in a row without any event (an outage of about two minutes) after which the whole state is read again. */
const POSITION_ATTEMPTS = 10;
/**
 * Silent streams in a row after which the whole state is read again. The server is then behind our position, and sends
 * neither events nor bookmarks that are older.
 */
const IDLE_ATTEMPTS = 2;
/**
 * Age at which a stream that the other side ends is not a failure, even without an event. Load balancers and proxies
 * close silent connections, some in less than the time between two bookmarks.
 */
const STANDS_MS = 5_000;
/** Time without any event, over streams that were closed as silent, after which the whole state is read again. */
const DOUBTED_MS = 10 * 60_000;
/**
 * Time of 403 answers after which the right is taken to be missing. An API server that starts answers 403 for moments,
 * until it has read its RBAC objects.
 */
const REFUSED_MS = 10_000;
/** Time without events and bookmarks after which an error is logged. */
const LOST_MS = 120_000;
/** Backoff between rounds; a round with an event resets it to `firstMs`. */
const RESTART: Backoff = { firstMs: 500, maxMs: 30_000, factor: 2, jitter: 0.5 };

/** Reason to open a stream again; `ended` is the server's normal end. */
export type RestartReason =
  | "ended"
  | "idle"
  | "missed"
  | "renewed"
  | "rewound"
  | "slow-sync"
  | "watchlist-refused"
  | ErrorCode;

/** Receiver of the state and its changes. No method may throw. */
interface ReflectorTarget<T> {
  /** The whole state as of `resourceVersion`. */
  replace(objects: readonly T[], resourceVersion: string): void;
  put(object: T): void;
  /** Removes a deleted object; `object` is its last state. */
  remove(object: T): void;
  /** Removes an object that `keep` now rejects. The change carries the state kept before: owners may have changed. */
  drop(object: T): void;
  /** All changes up to this version were delivered. Also called after each of the other methods. */
  advance(resourceVersion: string): void;
  restarted(reason: RestartReason): void;
}

interface ReflectorOptions<T extends KubeObject> {
  readonly reader: Reader;
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly target: ReflectorTarget<T>;
  /** Reduces an object to what is kept, as soon as it arrives; undefined leaves it out. */
  readonly keep: (object: T) => T | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

/** Reasons for which the reflector itself ends a stream. */
const IDLE = new OperatorError("KubeUnavailable", `nothing came for ${IDLE_MS / 1000} s, not even a bookmark`);
const MISSED = new OperatorError(
  "KubeUnavailable",
  `the stream was silent for ${MISSED_MS / 1000} s while an awaited change is missing`,
);
const RENEWED = new OperatorError("KubeUnavailable", "a live check needs a new stream");
const SLOW_SYNC = new OperatorError("KubeUnavailable", `the state was not complete after ${SYNC_MS / 1000} s`);
const REWOUND = new OperatorError("KubeExpired", "the server's resourceVersion went back");

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  /** Version up to which all changes were delivered; undefined: the whole state must be read. */
  #position: string | undefined;
  /** How the state is read next: `list` for good once the server refused the stream. */
  #stateBy: "stream" | "list-once" | "list" = "stream";
  /** Retry-After of the last refusal, in milliseconds. */
  #holdOffMs = 0;
  /** Number of events and lists so far; shows whether a round delivered anything. */
  #arrivals = 0;
  /** Monotonic time of the last event, or when the first event of the stream is due. */
  #silentSinceMs = 0;
  /** Ends the stream. */
  #giveUp: ((why: OperatorError) => void) | undefined;
  /** Ends the wait before the next round. */
  #wake: (() => void) | undefined;
  /** Rounds in a row without an event or list. */
  #failures = 0;
  /** Monotonic time when this round's stream opened; undefined: it has not. */
  #openedAtMs: number | undefined;
  /** Monotonic time of the first of the 403 answers in a row. */
  #refusedSinceMs: number | undefined;
  /** Callbacks of callers that wait for a stream opened after their call. */
  #waiting: (() => void)[] = [];
  /** Whether a round failed and no stream has caught up since. */
  #isBroken = false;
  #isOver = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
  }

  /** Follows the server until the signal aborts; never throws, never has two streams open. */
  async run(signal: AbortSignal): Promise<void> {
    const { random, target, clock } = this.#options;
    let broughtMs = clock.monotonicMs();
    let heardMs = broughtMs;
    while (!signal.aborted) {
      const before = this.#arrivals;
      this.#openedAtMs = undefined;
      const reason = await this.#round(signal);
      if (signal.aborted) break;
      target.restarted(reason);
      const nowMs = clock.monotonicMs();
      const brought = this.#arrivals > before;
      const stood = this.#hasStood(reason, nowMs);
      if (brought) broughtMs = nowMs;
      if (brought || stood) heardMs = nowMs;
      if (reason === "renewed") continue;
      // A stream that ended normally does not end an outage: only a stream that has caught up, or a whole state, does.
      if (reason !== "ended") this.#isBroken = true;
      // Without the right to read, waiting is pointless: an administrator must restore it.
      if (this.#isRefused(reason)) this.#wakeWaiting();
      this.#reportIfLost(nowMs - heardMs, reason);
      this.#failures = brought || stood ? 0 : this.#failures + 1;
      const isDoubted = stood && nowMs - broughtMs >= DOUBTED_MS;
      if (isDoubted || this.#failures >= (reason === "idle" || reason === "missed" ? IDLE_ATTEMPTS : POSITION_ATTEMPTS))
        this.#position = undefined;
      if ((brought || stood) && reason === "ended") continue;
      if (brought && reason === "watchlist-refused") continue;
      await this.#pause(Math.max(delayMs(RESTART, Math.max(0, this.#failures - 1), random()), this.#holdOffMs), signal);
    }
    this.#isOver = true;
    this.#wakeWaiting(); // No stream follows.
  }

  /** Whether the stream was open for STANDS_MS and was ended by the other side. */
  #hasStood(reason: RestartReason, nowMs: number): boolean {
    const isEndedThere = reason === "ended" || reason === "KubeUnavailable";
    const hasState = this.#position !== undefined;
    return isEndedThere && hasState && nowMs - (this.#openedAtMs ?? nowMs) >= STANDS_MS;
  }

  #reportIfLost(forMs: number, reason: RestartReason): void {
    if (forMs < LOST_MS) return;
    const { log, resource } = this.#options;
    const fields = { resource: resourceName(resource), durationMs: forMs, outcome: reason };
    log.error(
      fields,
      "no change of this kind was received for minutes: decisions rely on the cache, which may be stale",
    );
  }

  /** Whether every request has been answered 403 for REFUSED_MS. */
  #isRefused(reason: RestartReason): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    this.#refusedSinceMs = reason === "KubeForbidden" ? (this.#refusedSinceMs ?? nowMs) : undefined;
    return this.#refusedSinceMs !== undefined && nowMs - this.#refusedSinceMs >= REFUSED_MS;
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await this.#options.clock.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined); // The loop checks the signal itself.
    this.#wake = undefined;
  }

  /**
   * Reopens the stream at once, since the open one may be dead. While the whole state has to be read, waits for that
   * instead.
   * @returns settles when the new stream has been open for a second, or the reflector has ended
   */
  renewed(): Promise<void> {
    const settled = this.#next();
    if (this.#position !== undefined) this.#giveUp?.(RENEWED);
    return settled;
  }

  /** Settles when the stream has caught up: at once if no round failed. Cuts a backoff short. */
  following(): Promise<void> {
    return this.#isBroken || this.#wake !== undefined ? this.#next() : Promise.resolve();
  }

  #next(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#failures = 0;
    this.#wake?.();
    return promise;
  }

  #wakeWaiting(): void {
    this.#isBroken = false;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Reports that an expected event is missing. Reopens the stream if it has been silent for MISSED_MS. */
  missed(): void {
    if (this.#position === undefined) return; // Reading the state has its own timeout (SYNC_MS).
    if (this.#options.clock.monotonicMs() - this.#silentSinceMs >= MISSED_MS) this.#giveUp?.(MISSED);
  }

  /** One list and/or one stream, to its end. */
  async #round(signal: AbortSignal): Promise<RestartReason> {
    const wantsState = this.#position === undefined;
    try {
      if (wantsState && this.#stateBy !== "stream") await this.#list(signal);
      await this.#stream(signal);
      this.#holdOffMs = 0;
      return "ended";
    } catch (thrown) {
      return signal.aborted ? "Cancelled" : this.#judge(thrown, wantsState);
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { reader, resource, selection, keep, target } = this.#options;
    // Objects are reduced as they arrive: all of them at full size may not fit into memory.
    const { items, resourceVersion } = await reader.list(resource, selection, { signal, priority: "state", keep });
    this.#arrivals += 1;
    if (this.#stateBy === "list-once") this.#stateBy = "stream";
    this.#position = resourceVersion;
    target.replace(
      items.flatMap((item) => keep(item) ?? []),
      resourceVersion,
    );
    target.advance(resourceVersion);
  }

  /** Reads one stream to its end; while there is no position, its first part is the state. */
  async #stream(signal: AbortSignal): Promise<void> {
    const { reader, resource, selection, clock } = this.#options;
    const stop = new AbortController();
    const cancel = (): void => stop.abort(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    const state = this.#position === undefined ? new Map<string, T>() : undefined;
    const stopSync = state === undefined ? () => undefined : clock.after(SYNC_MS, () => stop.abort(SLOW_SYNC));
    let stopSettling = (): void => undefined;
    let stopIdle = clock.after(IDLE_MS, () => stop.abort(IDLE));
    this.#silentSinceMs = clock.monotonicMs() + BEGIN_MS;
    this.#giveUp = (why) => stop.abort(why);
    try {
      const settle = (left: number): void => {
        stopSettling = clock.after(SETTLED_MS / SETTLED_IN, () => {
          if (left > 1) settle(left - 1);
          else if (this.#position !== undefined) this.#wakeWaiting();
        });
      };
      const onOpen = (): void => {
        this.#refusedSinceMs = undefined;
        this.#openedAtMs = clock.monotonicMs();
        if (this.#isBroken || this.#waiting.length > 0) settle(SETTLED_IN); // Otherwise no caller waits.
      };
      const options = { signal: stop.signal, onOpen };
      for await (const event of reader.watch(resource, { ...selection, ...this.#from() }, options)) {
        stopIdle();
        stopIdle = clock.after(IDLE_MS, () => stop.abort(IDLE));
        this.#silentSinceMs = clock.monotonicMs();
        if (state !== undefined && this.#position === undefined) this.#takeState(state, event, stopSync);
        else this.#takeChange(event);
      }
      if (this.#position === undefined) throw new OperatorError("KubeUnavailable", "the stream ended within the state");
    } catch (thrown) {
      throw stop.signal.aborted ? stop.signal.reason : thrown;
    } finally {
      this.#giveUp = undefined;
      stopSettling();
      stopIdle();
      stopSync();
      signal.removeEventListener("abort", cancel);
    }
  }

  #from(): { resourceVersion?: string; initialEvents?: boolean; timeoutSeconds: number } {
    const { min, max } = WATCH_SECONDS;
    const timeoutSeconds = Math.round(min + (max - min) * this.#options.random());
    return this.#position === undefined
      ? { initialEvents: true, timeoutSeconds }
      : { resourceVersion: this.#position, timeoutSeconds };
  }

  #takeState(state: Map<string, T>, event: WatchEvent<T>, complete: () => void): void {
    const { keep, target } = this.#options;
    if (event.type !== "BOOKMARK") {
      const kept = event.type === "DELETED" ? undefined : keep(event.object);
      if (kept === undefined) state.delete(keyOf(event.object));
      else state.set(keyOf(kept), kept);
    } else if (event.initialEventsEnd) {
      complete();
      this.#arrivals += 1;
      this.#position = event.resourceVersion;
      target.replace([...state.values()], event.resourceVersion);
      target.advance(event.resourceVersion);
      state.clear();
      this.#wakeWaiting();
    }
  }

  #takeChange(event: WatchEvent<T>): void {
    const { keep, target } = this.#options;
    const version = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (isBefore(version, this.#position)) throw REWOUND;
    this.#arrivals += 1;
    this.#position = version;
    if (event.type !== "BOOKMARK") {
      const kept = keep(event.object);
      if (kept === undefined) target.drop(event.object);
      else if (event.type === "DELETED") target.remove(kept);
      else target.put(kept);
    }
    target.advance(version);
  }

  /** Decides from the error of a round whether the position is still valid. */
  #judge(thrown: unknown, wantsState: boolean): RestartReason {
    const error = asOperatorError(thrown);
    this.#holdOffMs = error.retryAfterMs ?? 0;
    const reason = this.#reasonOf(error, thrown, wantsState);
    const { log, resource } = this.#options;
    const fields = { resource: resourceName(resource), code: error.code, outcome: reason, error: error.message };
    if (reason === "Bug") log.error(fields, "a watch ended by a bug of the operator");
    else log.info(fields, "a watch is reopened");
    return reason;
  }

  #reasonOf(error: OperatorError, thrown: unknown, wantsState: boolean): RestartReason {
    if (thrown === IDLE) return "idle";
    if (thrown === MISSED) return "missed";
    if (thrown === RENEWED) return "renewed";
    if (thrown === SLOW_SYNC) {
      this.#stateBy = "list-once";
      return "slow-sync";
    }
    switch (error.code) {
      case "KubeUnavailable":
      case "KubeThrottled":
      case "KubeForbidden":
        return error.code; // The position is still valid.
      case "KubeInvalid":
        if (wantsState && this.#position === undefined && this.#stateBy === "stream") {
          this.#stateBy = "list";
          this.#arrivals += 1; // The server has answered, so the list is read without waiting.
          return "watchlist-refused";
        }
        break;
      default:
        break;
    }
    this.#position = undefined;
    return thrown === REWOUND ? "rewound" : error.code;
  }
}

/** Whether `version` is certainly older than `position`. */
function isBefore(version: string, position: string | undefined): boolean {
  const [a, b] = [versionOf(version), position === undefined ? undefined : versionOf(position)];
  return a !== undefined && b !== undefined && a < b;
}
