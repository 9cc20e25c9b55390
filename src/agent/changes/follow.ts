import { LRUCache } from "lru-cache";
import type { Clock } from "#base/clock.ts";
import type { Change, Heard } from "#etcd/change-feed.ts";
import { AgentError } from "../error.ts";
import { lastOf } from "./history.ts";
import { type Keeper, Overtaken } from "./keeper.ts";
import type { GapReason } from "./line.ts";
import { type Followed, listenTo, READ_MS, type Word } from "./listen.ts";
import { Recorder } from "./recorder.ts";

export interface FollowParts {
  readonly clock: Clock;
  /** Ends following. */
  readonly signal: AbortSignal;
  /** Ends the last writes after `signal`. */
  readonly lateSignal: AbortSignal;
  readonly maxAgeMs: number;
  readonly maxBytes: number;
  /** Most bytes of an object before compression: the limit of every reader. */
  readonly maxObjectBytes: number;
  /** Called after each write. */
  readonly onKept: () => Promise<void>;
}

/**
 * How long the feed may be silent while the cluster has newer revisions, in milliseconds. Between the parts of a large
 * revision etcd recomputes its size: 50,000 deletions take half a minute of CPU (seen with 3.6.16).
 */
const SILENCE_MS = 3 * 60_000;
/** Interval, in milliseconds, at which the absence of changes is recorded. */
const QUIET_EVERY_MS = 5 * 60_000;
/** Upper bound for the other lines of a change, in bytes: its revision, its lease, and the object's closing line. */
const OTHER_LINES_BYTES = 2_048;
const LEASE_MS = 10_000;
/** Number of leases with a cached TTL. */
const MAX_LEASES = 10_000;

/**
 * Follows a member and stores its changes until an error. Completely received revisions are stored before it throws.
 */
export async function follow(member: Followed, keeper: Keeper, parts: FollowParts): Promise<never> {
  const stop = new AbortController();
  const signal = AbortSignal.any([parts.signal, stop.signal]);
  const follower = new Follower(member, keeper, { ...parts, signal });
  try {
    return await follower.run();
  } catch (thrown) {
    if (!(thrown instanceof Overtaken)) await follower.keepRest();
    throw thrown;
  } finally {
    stop.abort();
  }
}

class Follower {
  readonly #member: Followed;
  readonly #keeper: Keeper;
  readonly #parts: FollowParts;
  readonly #ttls = new LRUCache<bigint, { readonly ttl: number | undefined }>({ max: MAX_LEASES });
  #recorder: Recorder | undefined;
  /** All changes up to this time were received. */
  #untilMs: number;
  /** Up to this revision the feed sends changes from before it was opened. */
  #openedAt = 0n;
  /** Since when the feed is silent although the cluster has newer revisions. */
  #silentSinceMs: number | undefined;
  #reached: Extract<Word, { readonly kind: "reached" }> | undefined;

  constructor(member: Followed, keeper: Keeper, parts: FollowParts) {
    this.#member = member;
    this.#keeper = keeper;
    this.#parts = parts;
    this.#untilMs = keeper.stored.untilMs;
  }

  async run(): Promise<never> {
    const { clock, signal } = this.#parts;
    const inbox = listenTo(this.#member, lastOf(this.#keeper.stored) + 1n, clock, signal);
    for (;;) {
      const cancel = clock.after(this.#pauseMs(), () => inbox.wake());
      const word = await inbox.take();
      cancel();
      if (word?.kind === "reached") this.#reached = word;
      if (word?.kind === "heard") await this.#hear(word.heard, word.atMs, word.afterMs);
      this.#compare();
      await this.#keepIfOld();
    }
  }

  /** Stores the completely received revisions. */
  async keepRest(): Promise<void> {
    const recorder = this.#recorder;
    this.#recorder = undefined;
    if (recorder === undefined || recorder.whole < recorder.first) return;
    const untilMs = Math.max(this.#untilMs, recorder.lastAtMs);
    await this.#keeper.keep(recorder, untilMs, this.#parts.lateSignal);
    await this.#parts.onKept();
  }

  async #hear(heard: Heard, atMs: number, afterMs: number | undefined): Promise<void> {
    this.#silentSinceMs = undefined;
    if (heard.kind === "opened") {
      this.#openedAt = heard.revision;
      return;
    }
    if (heard.kind === "compacted") {
      return await this.#gap("Compacted", heard.revision, `etcd has compacted everything up to ${heard.revision}`);
    }
    if (heard.kind === "tooLarge") return await this.#skipPart(heard.message);
    for (const change of heard.changes) {
      if (this.#recorder?.begins(change) !== false) await this.#beforeRevision(change);
      this.#recorder ??= new Recorder(
        this.#keeper.stored.ends,
        (lease) => this.#ttlOf(lease),
        this.#parts.clock.monotonicMs(),
      );
      if (this.#recorder.bytes + longestLine(change) > this.#parts.maxObjectBytes) {
        const { revision } = change;
        const message = `revision ${revision} has more than ${this.#parts.maxObjectBytes} bytes of changes`;
        return await this.#gap("TooLarge", revision, message);
      }
      // A change from before the feed was opened happened at an unknown time after the last stored one.
      const isOld = change.revision <= this.#openedAt;
      // A clock that was set back must not make later changes look earlier.
      const at = Math.max(atMs, this.#untilMs);
      await this.#recorder.add(change, { atMs: at, afterMs: isOld ? this.#keeper.stored.untilMs : afterMs });
    }
    if (heard.isWhole) this.#recorder?.complete();
  }

  /** Between revisions an object may end and the next begin. */
  async #beforeRevision({ revision }: Change): Promise<void> {
    this.#recorder?.complete();
    const whole = this.#recorder?.whole ?? lastOf(this.#keeper.stored);
    if (revision !== whole + 1n) {
      await this.#gap("Missing", revision - 1n, `${this.#member.address} sent revision ${revision} after ${whole}`);
    }
    if ((this.#recorder?.bytes ?? 0) >= this.#parts.maxBytes) await this.keepRest();
  }

  /** Continues after the cluster's present revision: which revisions the part contains is unknown. */
  async #skipPart(message: string): Promise<never> {
    const { address } = this.#member;
    const now = await this.#member.revision({ signal: this.#parts.signal, deadlineMs: READ_MS });
    const whole = this.#recorder?.whole ?? lastOf(this.#keeper.stored);
    if (now > whole)
      return await this.#gap(
        "TooLarge",
        now,
        `the changes of ${address} up to revision ${now} cannot be read: ${message}`,
      );
    throw new AgentError("SourceUnreachable", `${address} cannot be followed: ${message}`);
  }

  async #gap(reason: GapReason, last: bigint, message: string): Promise<never> {
    await this.keepRest();
    const text = `${message}; the last archived revision is ${lastOf(this.#keeper.stored)}`;
    await this.#keeper.gap(reason, last, text, this.#parts.lateSignal);
    await this.#parts.onKept();
    throw new AgentError("SourceUnreachable", text);
  }

  #compare(): void {
    if (this.#reached === undefined) return;
    const { revision, atMs } = this.#reached;
    const nowMs = this.#parts.clock.monotonicMs();
    if ((this.#recorder?.whole ?? lastOf(this.#keeper.stored)) >= revision) {
      this.#untilMs = Math.max(this.#untilMs, atMs);
      this.#reached = undefined;
      this.#silentSinceMs = undefined;
      return;
    }
    this.#silentSinceMs ??= nowMs;
    if (nowMs - this.#silentSinceMs > SILENCE_MS) {
      throw new AgentError("SourceUnreachable", `${this.#member.address} does not send revision ${revision}`);
    }
  }

  async #keepIfOld(): Promise<void> {
    const { clock, maxAgeMs, lateSignal, onKept } = this.#parts;
    if (this.#recorder === undefined) {
      if (this.#untilMs - this.#keeper.stored.untilMs < QUIET_EVERY_MS) return;
      await this.#keeper.quiet(this.#untilMs, lateSignal);
      await onKept();
    } else if (this.#recorder.isWhole && clock.monotonicMs() - this.#recorder.sinceMs >= maxAgeMs)
      await this.keepRest();
  }

  #pauseMs(): number {
    const { clock, maxAgeMs } = this.#parts;
    // Within a revision nothing can be stored: wait for its next part.
    if (this.#recorder?.isWhole !== true) return QUIET_EVERY_MS;
    return Math.max(1, this.#recorder.sinceMs + maxAgeMs - clock.monotonicMs());
  }

  async #ttlOf(lease: bigint): Promise<number | undefined> {
    const { signal } = this.#parts;
    const granted = async () => ({
      ttl: await this.#member.changes.grantedTTL(lease, { signal, deadlineMs: LEASE_MS }),
    });
    const cached = this.#ttls.get(lease) ?? (await granted());
    this.#ttls.set(lease, cached);
    return cached.ttl;
  }
}

/** Upper bound of the bytes that a change adds: base64 is a third longer than its content. */
function longestLine({ key, value }: Change): number {
  return Math.ceil((4 * (key.length + (value?.length ?? 0))) / 3) + OTHER_LINES_BYTES;
}
