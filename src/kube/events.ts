import { LRUCache } from "lru-cache";
import { type Backoff, delayMs } from "#base/backoff.ts";
import { type Clock, systemClock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import { type Log, logFailure, silentLog } from "#base/log.ts";
import { rfc3339Micro } from "#base/timestamp.ts";
import { FIELD_MANAGER, type KubeClient } from "./client.ts";
import { isNamespaceGoing } from "./error.ts";
import { TurnsPerObject } from "./event-turns.ts";
import { type Draft, EVENTS, type Event } from "./kinds.ts";

/** Object that an event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped kinds; their events are created in `default`. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

export interface Note {
  readonly type: "Normal" | "Warning";
  /** Machine-readable reason, in CamelCase, at most 128 characters. */
  readonly reason: string;
  /** Action that was taken or refused, in CamelCase, at most 128 characters. */
  readonly action: string;
  /** Text for people; cut after 1024 bytes, the server's limit. */
  readonly note: string;
}

interface EventRecorderOptions {
  readonly client: Pick<KubeClient, "create" | "patch">;
  /** Reporting instance, usually the name of the pod. Cut after 128 characters. */
  readonly instance: string;
  readonly clock?: Clock;
  readonly log?: Log;
  /** 0 to 1, for jitter and names. */
  readonly random?: () => number;
}

/** For metrics. */
export interface EventStats {
  /** Events created on the server. */
  readonly created: number;
  /** Counts written to an existing event. */
  readonly updated: number;
  /** Events and counts not written: the queue was full, the object had too many, or the server refused. */
  readonly dropped: number;
}

/** Time since the last occurrence within which a repeated event is counted on the existing one. */
const SAME_WITHIN_MS = 10 * 60_000;
/**
 * Pauses between writes of the count of one series. They grow, since a lasting state is no news and every write loads
 * the etcd of Kubernetes. Their maximum is below the hour after which the server deletes an event.
 */
const COUNT_AFTER: Backoff = { firstMs: 30_000, maxMs: 10 * 60_000, factor: 2, jitter: 0 };
/** Bound on events that wait to be written; each takes about a kilobyte. */
const MAX_QUEUED = 1_000;
/** Bound on series. The least recent one is forgotten first, and becomes a new event when it happens again. */
const MAX_SERIES = 4_096;
const MAX_NOTE_BYTES = 1_024;
const MAX_FIELD = 128;
const CALL_MS = 5_000;
/** Attempts to write one event before it is dropped, so that the events queued behind it are written. */
const ATTEMPTS = 2;
const RETRY: Backoff = { firstMs: 500, maxMs: 5_000, factor: 3, jitter: 0.5 };
/** Concurrent writes, not counting slow ones; never two in one namespace. */
const WRITERS = 8;
/**
 * Time after which a write no longer counts against WRITERS, in milliseconds. Such a write waits for something that
 * does not answer, such as a webhook of its namespace. At most eight writes become slow each second, and each ends
 * within some eleven seconds, so at most a hundred are in flight.
 */
const SLOW_MS = 1_000;

/** One event on the server, with the occurrences since it was written. */
interface Series {
  readonly draft: Draft<Event> & { readonly metadata: { readonly namespace: string; readonly name: string } };
  count: number;
  writtenCount: number;
  /** Writes of the count so far; determines the next pause of COUNT_AFTER. */
  counts: number;
  lastMs: number;
  /** Monotonic time of the last occurrence. */
  seenMs: number;
  cancelTimer: (() => void) | undefined;
  isQueued: boolean;
}

/**
 * Writes Kubernetes events. `record` never throws and never waits. With a full queue, events are dropped and counted.
 *
 * - Equal object, type, reason, action and note within 10 minutes are one event with a count (`series`). The count is
 *   written after 30 s, then more rarely; the last count is always written.
 * - Namespaces take turns. Events about one object are written in order.
 * - Each object has 25 new events, then one more every 5 minutes, as in client-go's spam filter.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
export class EventRecorder {
  readonly #client: Pick<KubeClient, "create" | "patch">;
  readonly #instance: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #random: () => number;
  readonly #series = new LRUCache<string, Series>({
    max: MAX_SERIES,
    // A forgotten series may have a count to write. `giveUpAll` deletes series with counts that cannot be written.
    dispose: (series, _key, reason) => reason !== "delete" && this.#writeCount(series),
  });
  readonly #turns: TurnsPerObject;
  /** Waiting events by namespace, in order of turns. A queue is empty only while its last event is being written. */
  readonly #queues = new Map<string, Series[]>();
  #queued = 0;
  /** Writes under way, by namespace. */
  readonly #writes = new Map<string, Promise<void>>();
  /** Namespaces with a write that has taken longer than SLOW_MS. */
  readonly #slow = new Set<string>();
  readonly #stopped = new AbortController();
  #stats = { created: 0, updated: 0, dropped: 0 };

  constructor(options: EventRecorderOptions) {
    this.#client = options.client;
    this.#instance = options.instance.slice(0, MAX_FIELD);
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#random = options.random ?? Math.random;
    this.#turns = new TurnsPerObject(this.#clock);
  }

  get stats(): EventStats {
    return this.#stats;
  }

  record(regarding: Regarding, note: Note): void {
    const short = { ...note, note: cutBytes(note.note, MAX_NOTE_BYTES) };
    const key = [regarding.uid, short.type, short.reason, short.action, short.note].join("\n");
    const known = this.#series.get(key);
    const nowMs = this.#clock.monotonicMs();
    if (this.#stopped.signal.aborted) this.#drop();
    else if (known !== undefined && nowMs - known.seenMs < SAME_WITHIN_MS) this.#again(known, nowMs);
    else this.#first(key, regarding, short, nowMs);
  }

  /**
   * Writes all waiting events and counts; returns when they are written or the signal aborts. Later events are dropped.
   */
  async flush(signal: AbortSignal): Promise<void> {
    this.#series.rforEach((series) => this.#writeCount(series));
    const aborted = Promise.withResolvers<void>();
    const giveUp = (): void => aborted.resolve();
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    await Promise.race([this.#allWritten(), aborted.promise]);
    signal.removeEventListener("abort", giveUp);
    this.#stopped.abort();
    await this.#allWritten();
  }

  #first(key: string, regarding: Regarding, note: Note, nowMs: number): void {
    const draft = this.#draft(regarding, note);
    if (!this.#turns.take(regarding.uid) || !this.#makeRoom(draft.metadata.namespace)) {
      this.#drop();
      return;
    }
    const wallMs = this.#clock.wallMs();
    const series: Series = {
      draft,
      count: 1,
      writtenCount: 0,
      counts: 0,
      lastMs: wallMs,
      seenMs: nowMs,
      cancelTimer: undefined,
      isQueued: false,
    };
    this.#series.set(key, series);
    this.#enqueue(series);
  }

  #again(series: Series, nowMs: number): void {
    series.count += 1;
    series.lastMs = this.#clock.wallMs();
    series.seenMs = nowMs;
    series.cancelTimer ??= this.#clock.after(delayMs(COUNT_AFTER, series.counts, 0), () => {
      series.counts += 1;
      this.#writeCount(series);
    });
  }

  #writeCount(series: Series): void {
    series.cancelTimer?.();
    series.cancelTimer = undefined;
    if (series.count > series.writtenCount) this.#enqueue(series);
  }

  #enqueue(series: Series): void {
    if (series.isQueued) return;
    const { namespace } = series.draft.metadata;
    if (!this.#makeRoom(namespace)) {
      this.#drop();
      return;
    }
    series.isQueued = true;
    this.#queued += 1;
    const queue = this.#queues.get(namespace) ?? [];
    queue.push(series);
    this.#queues.set(namespace, queue);
    this.#startWrites();
  }

  /** Drops the newest event of the namespace with the longest queue if the total is full. @returns whether one fits */
  #makeRoom(namespace: string): boolean {
    if (this.#queued < MAX_QUEUED) return true;
    const own = this.#queues.get(namespace)?.length ?? 0;
    let fullest: Series[] = [];
    for (const queue of this.#queues.values()) if (queue.length > fullest.length) fullest = queue;
    if (fullest.length <= own + 1) return false;
    const newest = fullest.pop();
    if (newest === undefined) return false;
    newest.isQueued = false;
    this.#queued -= 1;
    this.#giveUp(newest);
    return true;
  }

  #startWrites(): void {
    for (const [namespace, queue] of this.#queues) {
      if (this.#writes.size - this.#slow.size >= WRITERS) return;
      const isFree = !this.#writes.has(namespace);
      const series = isFree ? queue.shift() : undefined;
      if (series !== undefined) this.#writes.set(namespace, this.#writeNext(namespace, series));
    }
  }

  async #writeNext(namespace: string, series: Series): Promise<void> {
    series.isQueued = false;
    this.#queued -= 1;
    const cancel = this.#clock.after(SLOW_MS, () => {
      this.#slow.add(namespace);
      this.#startWrites();
    });
    await this.#write(series);
    cancel();
    this.#slow.delete(namespace);
    this.#writes.delete(namespace);
    const rest = this.#queues.get(namespace) ?? [];
    this.#queues.delete(namespace); // Reinserted below as the last in turn.
    if (rest.length > 0) this.#queues.set(namespace, rest);
    this.#startWrites();
  }

  async #allWritten(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes.values());
  }

  async #write(series: Series): Promise<void> {
    if (series.count === series.writtenCount) return; // An earlier write included this count.
    for (let attempt = 0; attempt < ATTEMPTS && !this.#stopped.signal.aborted; attempt++) {
      try {
        await this.#writeOnce(series);
        return;
      } catch (thrown) {
        if (hasCode(thrown, "KubeNotFound") && series.writtenCount > 0) {
          series.writtenCount = 0; // The server has deleted the event (after an hour): create it again.
        } else if (!hasCode(thrown, "KubeUnavailable", "KubeThrottled")) {
          logFailure(this.#log, thrown, "an event was not written");
          // NotFound on a create means that the namespace is missing: all its other events would be refused as well.
          if (isNamespaceGoing(thrown) || hasCode(thrown, "KubeNotFound"))
            this.#giveUpAll(series.draft.metadata.namespace);
          break; // A repetition would be refused as well.
        }
      }
      await this.#clock.sleep(delayMs(RETRY, attempt, this.#random()), this.#stopped.signal).catch(() => undefined); // the loop checks the signal
    }
    this.#giveUp(series);
  }

  #giveUp(series: Series): void {
    if (series.writtenCount === series.count) return; // Already dropped by giveUpAll.
    series.writtenCount = series.count; // Prevents a second count as dropped.
    this.#drop();
  }

  /** Drops all events of a namespace that is missing or terminating. */
  #giveUpAll(namespace: string): void {
    for (const series of this.#queues.get(namespace)?.splice(0) ?? []) {
      series.isQueued = false;
      this.#queued -= 1;
      this.#giveUp(series);
    }
    for (const [key, series] of [...this.#series]) {
      if (series.draft.metadata.namespace !== namespace) continue;
      series.cancelTimer?.();
      this.#series.delete(key);
    }
  }

  /** Creates or patches the event. The name is unique, so AlreadyExists means that an earlier attempt succeeded. */
  async #writeOnce(series: Series): Promise<void> {
    const { count, draft } = series;
    const options = { signal: this.#stopped.signal, deadlineMs: CALL_MS };
    const isNew = series.writtenCount === 0;
    if (isNew) {
      await this.#client.create(EVENTS, draft, options).catch((thrown: unknown) => {
        if (!hasCode(thrown, "KubeAlreadyExists")) throw thrown;
      });
      series.writtenCount = 1;
      this.#stats.created += 1;
    }
    if (count < 2) return;
    const patch = { series: { count, lastObservedTime: rfc3339Micro(series.lastMs) } };
    await this.#client.patch(EVENTS, draft.metadata, patch, { ...options, type: "merge" });
    series.writtenCount = count;
    this.#stats.updated += 1;
  }

  #draft(regarding: Regarding, { type, reason, action, note }: Note): Series["draft"] {
    const nowMs = this.#clock.wallMs();
    const unique = `${nowMs.toString(16)}${Math.floor(this.#random() * 2 ** 32)
      .toString(16)
      .padStart(8, "0")}`;
    const { apiVersion, kind, namespace, name, uid } = regarding;
    return {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace: namespace ?? "default", name: `${name.slice(0, 200)}.${unique}` },
      eventTime: rfc3339Micro(nowMs),
      regarding: { apiVersion, kind, name, uid, ...(namespace === undefined ? {} : { namespace }) },
      type,
      reason: reason.slice(0, MAX_FIELD),
      action: action.slice(0, MAX_FIELD),
      note,
      reportingController: FIELD_MANAGER,
      reportingInstance: this.#instance,
    };
  }

  #drop(): void {
    this.#stats.dropped += 1;
  }
}

/** The longest start of the text that fits, cut between characters. */
export function cutBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1; // not within a character
  return bytes.subarray(0, end).toString("utf8");
}
