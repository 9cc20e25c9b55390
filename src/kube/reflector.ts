import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { asOperatorError, type ErrorCode, OperatorError } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import type { Reader, Selection, WatchEvent } from "./client.ts";
import { type KubeObject, keyOf, type Resource, resourceName, versionOf } from "./kinds.ts";

// How does a copy of the server's objects stay right?
//   A watch delivers every change after a resourceVersion, in order. So: get the state once, remember its version, go on from
//   there; after a broken stream go on from the last version seen. Only when the server no longer knows that version (410), or
//   something came that cannot be trusted, is the whole state read again and compared.
// How does the state come? As a watch as well (WatchList: the state as ADDED events, then a bookmark), which is cheap for the
//   server; as a paged list where the server refuses that.
// What if the stream is silent? The server sends a bookmark about every 60 s. Silence for IDLE_MS means a dead connection.
//   Who misses something that must have come, such as a write of its own, says so: then ten seconds of silence are enough.
//   Who has not looked at the copy for a while and is about to go by it has the stream opened again: it may be dead, or waited for.
// What if versions go back? The server's etcd was restored from a backup: what we hold never was, so read all of it again. Mostly
//   this shows as silence, since a server sends nothing older than the position that it was asked for.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes

/** Longer than the 60 s between two bookmarks, measured on 1.36; shorter and quiet kinds are watched anew for nothing. */
const IDLE_MS = 90_000;
/** The same where something is missed. */
const MISSED_MS = 10_000;
/** The first that comes may take so much longer: it is what the server may take to begin. */
const BEGIN_MS = 15_000;
/** For the state as a stream. A server that knows nothing of WatchList streams without ever saying that it is through. */
const SYNC_MS = 60_000;
/**
 * A stream that has been open for so long goes on from where it was asked to, and what had happened since has come: that it cannot is said first
 * (410), unless the server's etcd was restored. In pieces: a process that stood still reads what has come meanwhile between two of them.
 */
const SETTLED_MS = 1_000;
const SETTLED_IN = 10;
/** The server ends a watch after a random time in this range, so that watches spread over the replicas of the API server. */
const WATCH_SECONDS = { min: 300, max: 600 };
/** After this many rounds that brought nothing (an outage of about two minutes) the position is doubted, and all is read again. */
const POSITION_ATTEMPTS = 10;
/** A second stream in a row that brought nothing at all means that the server is behind our position: it sends nothing that is older, bookmarks neither. */
const IDLE_ATTEMPTS = 2;
/**
 * A stream that stood for so long is no failure, whoever ended it before anything came: balancers and proxies end a connection on which nothing
 * passes, some after less than the time between two bookmarks.
 */
const STANDS_MS = 5_000;
/** Where streams are ended like that, and nothing has come on any of them for so long, the position is doubted. */
const DOUBTED_MS = 10 * 60_000;
/** Who is refused for so long is meant. An API server that starts may refuse everything for moments: it has yet to read who may do what. */
const REFUSED_MS = 10_000;
/** When nothing has come for so long, bookmarks neither, people are told. */
const LOST_MS = 120_000;
/** A round that brought something starts again at `firstMs`. */
const RESTART: Backoff = { firstMs: 500, maxMs: 30_000, factor: 2, jitter: 0.5 };

/** Why a stream had to be opened again; `ended` is the server's normal end. */
export type RestartReason =
  | "ended"
  | "idle"
  | "missed"
  | "renewed"
  | "rewound"
  | "slow-sync"
  | "watchlist-refused"
  | ErrorCode;

/** Where the reflector puts what it learns. None of these may throw. */
interface ReflectorTarget<T> {
  /** The whole state as of `resourceVersion`. */
  replace(objects: readonly T[], resourceVersion: string): void;
  put(object: T): void;
  /** It was deleted; `object` is its last state. */
  remove(object: T): void;
  /** It is not to be kept any more. Whom that concerns is told by the state that was kept: in this one it may be somebody else's. */
  drop(object: T): void;
  /** Everything up to this version is known. Follows each of the others as well. */
  advance(resourceVersion: string): void;
  restarted(reason: RestartReason): void;
}

interface ReflectorOptions<T extends KubeObject> {
  readonly reader: Reader;
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly target: ReflectorTarget<T>;
  /** Reduces an object to what is kept, as soon as it arrives; undefined: nothing is, as if it were not there. */
  readonly keep: (object: T) => T | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

/** Reasons of an abort of our own. */
const IDLE = new OperatorError("KubeUnavailable", `nothing came for ${IDLE_MS / 1000} s, not even a bookmark`);
const MISSED = new OperatorError("KubeUnavailable", `nothing came for ${MISSED_MS / 1000} s, and something is missed`);
const RENEWED = new OperatorError("KubeUnavailable", "somebody is about to go by what it brings");
const SLOW_SYNC = new OperatorError("KubeUnavailable", `the state was not complete after ${SYNC_MS / 1000} s`);
const REWOUND = new OperatorError("KubeExpired", "the server's resourceVersion went back");

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  /** Version up to which all changes were delivered; undefined: the whole state must be read. */
  #position: string | undefined;
  /** How the state is read next: `list` for good once the server refused the stream. */
  #stateBy: "stream" | "list-once" | "list" = "stream";
  /** How long the server asked us to stay away, the last time. */
  #holdOffMs = 0;
  /** Counts everything that came, to tell a round that brought something. */
  #arrivals = 0;
  /** When something came, or was to have begun to come; by monotonic clock. */
  #silentSinceMs = 0;
  /** Ends the stream. */
  #giveUp: ((why: OperatorError) => void) | undefined;
  /** Ends the wait before the next round. */
  #wake: (() => void) | undefined;
  /** Rounds in a row that brought nothing. */
  #failures = 0;
  /** Since when the stream of this round stands, by monotonic clock; undefined: none has. */
  #openedAtMs: number | undefined;
  /** Since when it has been refused for want of a right, and nothing else; by monotonic clock. */
  #refusedSinceMs: number | undefined;
  /** Who waits for a stream that was opened after they asked. */
  #waiting: (() => void)[] = [];
  /** The last round failed, and no stream has gone on since. */
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
      // A stream that ends in order says nothing about an outage before it: only one that goes on for a while, or a whole state, does.
      if (reason !== "ended") this.#isBroken = true;
      // Who may not read any more is not waited for: only people can help.
      if (this.#isRefused(reason)) this.#tellWaiting();
      this.#tellIfLost(nowMs - heardMs, reason);
      this.#failures = brought || stood ? 0 : this.#failures + 1;
      const isDoubted = stood && nowMs - broughtMs >= DOUBTED_MS;
      if (isDoubted || this.#failures >= (reason === "idle" || reason === "missed" ? IDLE_ATTEMPTS : POSITION_ATTEMPTS))
        this.#position = undefined;
      if ((brought || stood) && reason === "ended") continue;
      if (brought && reason === "watchlist-refused") continue;
      await this.#pause(Math.max(delayMs(RESTART, Math.max(0, this.#failures - 1), random()), this.#holdOffMs), signal);
    }
    this.#isOver = true;
    this.#tellWaiting(); // Nobody waits for what has ended.
  }

  /** Whether a stream was there for a while, and nobody here has ended it. */
  #hasStood(reason: RestartReason, nowMs: number): boolean {
    const isEndedThere = reason === "ended" || reason === "KubeUnavailable";
    const hasState = this.#position !== undefined;
    return isEndedThere && hasState && nowMs - (this.#openedAtMs ?? nowMs) >= STANDS_MS;
  }

  #tellIfLost(forMs: number, reason: RestartReason): void {
    if (forMs < LOST_MS) return;
    const { log, resource } = this.#options;
    const fields = { resource: resourceName(resource), durationMs: forMs, outcome: reason };
    log.error(fields, "nothing has come of this kind for minutes: what is decided goes by what was known before");
  }

  /** Whether it has been refused for long by now. */
  #isRefused(reason: RestartReason): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    this.#refusedSinceMs = reason === "KubeForbidden" ? (this.#refusedSinceMs ?? nowMs) : undefined;
    return this.#refusedSinceMs !== undefined && nowMs - this.#refusedSinceMs >= REFUSED_MS;
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await this.#options.clock.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined); // The loop looks at the signal itself.
    this.#wake = undefined;
  }

  /**
   * Opens the stream again, without waiting: one that is open may be dead.
   * @returns settles when it has been open for a second, or when following has ended; a state that is read, or has to be, is waited for instead
   */
  renewed(): Promise<void> {
    const told = this.#next();
    if (this.#position !== undefined) this.#giveUp?.(RENEWED);
    return told;
  }

  /** Settles when it goes on, at once where nothing is amiss; one that waits for its next try makes it now. */
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

  #tellWaiting(): void {
    this.#isBroken = false;
    for (const tell of this.#waiting.splice(0)) tell();
  }

  /** Something must have come and has not: a stream that has been silent as well is opened again. */
  missed(): void {
    if (this.#position === undefined) return; // A state that is read has a time of its own.
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
    const { items, resourceVersion } = await reader.list(resource, selection, { signal, priority: "state" });
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
          else if (this.#position !== undefined) this.#tellWaiting();
        });
      };
      const onOpen = (): void => {
        this.#refusedSinceMs = undefined;
        this.#openedAtMs = clock.monotonicMs();
        if (this.#isBroken || this.#waiting.length > 0) settle(SETTLED_IN); // Else it speaks anyhow.
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
      this.#tellWaiting();
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

  /** Decides from what a round ended with whether the position can still be trusted. */
  #judge(thrown: unknown, wantsState: boolean): RestartReason {
    const error = asOperatorError(thrown);
    this.#holdOffMs = error.retryAfterMs ?? 0;
    const reason = this.#reasonOf(error, thrown, wantsState);
    const { log, resource } = this.#options;
    const fields = { resource: resourceName(resource), code: error.code, outcome: reason, error: error.message };
    if (reason === "Bug") log.error(fields, "a watch ended by a fault of our own");
    else log.info(fields, "a watch is opened again");
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
        return error.code; // This says nothing about what we have, so we go on from there.
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
