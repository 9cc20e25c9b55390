import { type Backoff, delayMs } from "#base/backoff.ts";
import { type Clock, systemClock } from "#base/clock.ts";
import { asOperatorError, hasCode } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import { rfc3339Micro } from "#base/timestamp.ts";
import { FIELD_MANAGER, type KubeClient } from "./client.ts";
import { isNamespaceGoing } from "./error.ts";
import { TurnsPerObject } from "./event-turns.ts";
import { type Draft, EVENTS, type Event } from "./kinds.ts";

/** What an event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped kinds; their events go to `default`. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

export interface Note {
  readonly type: "Normal" | "Warning";
  /** Why, in CamelCase, at most 128 characters; for machines. */
  readonly reason: string;
  /** What was done or refused, in CamelCase, at most 128 characters. */
  readonly action: string;
  /** For people; cut after 1024 bytes, which is what the server takes. */
  readonly note: string;
}

interface EventRecorderOptions {
  readonly client: Pick<KubeClient, "create" | "patch">;
  /** The process: usually the name of the pod. Cut after 128 characters. */
  readonly instance: string;
  readonly clock?: Clock;
  readonly log?: Log;
  /** 0 to 1, for jitter and names. */
  readonly random?: () => number;
}

/** For metrics. */
export interface EventStats {
  /** Written as events of their own. */
  readonly created: number;
  /** Updates of an event that had happened before. */
  readonly updated: number;
  /** Not told: the queue was full, the object had too many, or the server refused. */
  readonly dropped: number;
}

/** What happens again within this time is counted on the same event; later it is told as a new one. */
const SAME_WITHIN_MS = 10 * 60_000;
/**
 * Pauses between the counts of one series that are written. What lasts is no news, and every write of an event is a write to the
 * etcd of Kubernetes. The server forgets an event that is not written for an hour.
 */
const COUNT_AFTER: Backoff = { firstMs: 30_000, maxMs: 10 * 60_000, factor: 2, jitter: 0 };
/** Events that wait to be written; each is about a kilobyte. */
const MAX_QUEUED = 1_000;
/** So many different events are remembered for counting. The oldest is forgotten first, and is told anew when it happens again. */
const MAX_SERIES = 4_096;
const MAX_NOTE_BYTES = 1_024;
const MAX_FIELD = 128;
const CALL_MS = 5_000;
/** Writing one event is tried this often; then it is dropped, since what waits behind it is news, too. */
const ATTEMPTS = 2;
const RETRY: Backoff = { firstMs: 500, maxMs: 5_000, factor: 3, jitter: 0.5 };
/** Events that are written side by side, never two of one namespace. */
const WRITERS = 8;
/**
 * A write that takes longer is none of these any more, in milliseconds: it waits for somebody who does not answer, such as a webhook of its namespace. So
 * no more than eight begin to wait in each second, and since each ends within some eleven seconds, no more than a hundred are under way.
 */
const SLOW_MS = 1_000;

/** One event on the server, and what has happened since it was written. */
interface Series {
  readonly draft: Draft<Event> & { readonly metadata: { readonly namespace: string; readonly name: string } };
  count: number;
  writtenCount: number;
  /** How often a count was due to be written. */
  counts: number;
  lastMs: number;
  /** Monotonic. */
  seenMs: number;
  cancelTimer: (() => void) | undefined;
  isQueued: boolean;
}

/**
 * Tells people what was done, as Kubernetes events. Never throws, never makes the caller wait, and drops (counted) rather than grow.
 *
 * - The same object, type, reason, action and note within 10 minutes is one event whose series is counted up, written after 30 s
 *   and then ever more rarely; the last count is always written.
 * - Namespaces take turns. What is about one object is written in its order.
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
  readonly #series = new Map<string, Series>();
  readonly #turns: TurnsPerObject;
  /** What waits, by namespace, in the order of their turns. A queue is empty only while its last event is being written. */
  readonly #queues = new Map<string, Series[]>();
  #queued = 0;
  /** Writes that are under way, by namespace. */
  readonly #writes = new Map<string, Promise<void>>();
  /** Namespaces whose write takes long. */
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
    else if (known !== undefined && nowMs - known.seenMs < SAME_WITHIN_MS) this.#again(key, known, nowMs);
    else this.#first(key, regarding, short, nowMs);
  }

  /** Writes what waits, counts included, and returns when it is written or the signal aborts. What comes later is dropped. */
  async flush(signal: AbortSignal): Promise<void> {
    for (const series of this.#series.values()) this.#writeCount(series);
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
    this.#forget(key);
    const wallMs = this.#clock.wallMs();
    const series = {
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
    for (const oldest of this.#series.keys()) {
      if (this.#series.size <= MAX_SERIES) break;
      this.#forget(oldest);
    }
    this.#enqueue(series);
  }

  #again(key: string, series: Series, nowMs: number): void {
    series.count += 1;
    series.lastMs = this.#clock.wallMs();
    series.seenMs = nowMs;
    this.#series.delete(key); // It moves to the young end of the map.
    this.#series.set(key, series);
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

  /** The series ends here: a count that was not written yet is written now. */
  #forget(key: string): void {
    const series = this.#series.get(key);
    this.#series.delete(key);
    if (series !== undefined) this.#writeCount(series);
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

  /** When nothing more may wait, the namespace of which most waits gives its newest. @returns whether there is room */
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
    this.#queues.delete(namespace); // It moves behind the others.
    if (rest.length > 0) this.#queues.set(namespace, rest);
    this.#startWrites();
  }

  async #allWritten(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes.values());
  }

  async #write(series: Series): Promise<void> {
    if (series.count === series.writtenCount) return; // It was being written when it was queued again.
    for (let attempt = 0; attempt < ATTEMPTS && !this.#stopped.signal.aborted; attempt++) {
      try {
        await this.#writeOnce(series);
        return;
      } catch (thrown) {
        if (hasCode(thrown, "KubeNotFound") && series.writtenCount > 0) {
          series.writtenCount = 0; // Events live for an hour: this one is gone and is made anew.
        } else if (!hasCode(thrown, "KubeUnavailable", "KubeThrottled")) {
          this.#tell(thrown);
          // Only a namespace can be missing where something is made. All else of it would be refused as well, count by count.
          if (isNamespaceGoing(thrown) || hasCode(thrown, "KubeNotFound"))
            this.#giveUpAll(series.draft.metadata.namespace);
          break; // It was refused, and would be again.
        }
      }
      await this.#clock.sleep(delayMs(RETRY, attempt, this.#random()), this.#stopped.signal).catch(() => undefined); // the loop looks
    }
    this.#giveUp(series);
  }

  #giveUp(series: Series): void {
    if (series.writtenCount === series.count) return; // It was given up with all of its namespace.
    series.writtenCount = series.count; // It is not to be counted as dropped a second time.
    this.#drop();
  }

  /** Nobody will read what is still to be written about what was in the namespace. */
  #giveUpAll(namespace: string): void {
    for (const series of this.#queues.get(namespace)?.splice(0) ?? []) {
      series.isQueued = false;
      this.#queued -= 1;
      this.#giveUp(series);
    }
    for (const [key, series] of this.#series) {
      if (series.draft.metadata.namespace !== namespace) continue;
      series.cancelTimer?.();
      this.#series.delete(key);
    }
  }

  /** Creating is safe to repeat: the name is ours, so "exists already" says that an earlier attempt arrived. */
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

  #tell(thrown: unknown): void {
    const { code, message } = asOperatorError(thrown);
    if (code !== "Cancelled") this.#log.warn({ code, error: message }, "an event was not written");
  }
}

/** The text, shortened to whole characters that fit. */
export function cutBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1; // not within a character
  return bytes.subarray(0, end).toString("utf8");
}
