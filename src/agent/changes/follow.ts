import type { Clock } from "#base/clock.ts";
import type { Change, Heard } from "#etcd/change-feed.ts";
import { AgentError } from "../error.ts";
import { lastOf } from "./history.ts";
import { type Keeper, Overtaken } from "./keeper.ts";
import type { GapReason } from "./line.ts";
import { type Followed, listenTo, type Word } from "./listen.ts";
import { Recorder } from "./recorder.ts";

export interface FollowParts {
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Ends what is still to be stored then. */
  readonly lateSignal: AbortSignal;
  readonly maxAgeMs: number;
  readonly maxBytes: number;
  /** Called whenever something was stored. */
  readonly onKept: () => Promise<void>;
}

/**
 * How long the feed may tell nothing while the cluster has something. A revision with very many changes comes in parts of 1.5 MiB, and etcd takes
 * half a minute of a processor for one of 50,000 deletions (seen with 3.6.16): it counts the bytes of a part anew for each.
 */
const SILENCE_MS = 3 * 60_000;
/** How often it is stored that nothing happens. */
const QUIET_EVERY_MS = 5 * 60_000;
const LEASE_MS = 10_000;
/** IDs of leases that are kept in mind. */
const MAX_LEASES = 10_000;

/** Follows a member, and stores what it tells, until something ends it. What was heard to its end is stored before it throws. */
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
  readonly #ttls = new Map<bigint, number | undefined>();
  #recorder: Recorder | undefined;
  /** Until then nothing happened that was not heard. */
  #untilMs: number;
  /** Up to it the feed tells what happened before it was opened. */
  #openedAt = 0n;
  /** Since when it has told nothing, though the cluster has something that was not heard. */
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

  /** Stores what was heard to its end, and no more. */
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
    for (const change of heard.changes) {
      if (this.#recorder?.begins(change) !== false) await this.#beforeRevision(change);
      this.#recorder ??= new Recorder(
        this.#keeper.stored.ends,
        (lease) => this.#ttlOf(lease),
        this.#parts.clock.monotonicMs(),
      );
      // What happened before the feed was opened happened at some time after what is stored.
      const isOld = change.revision <= this.#openedAt;
      // A clock that was set back must not make what came later look earlier.
      const at = Math.max(atMs, this.#untilMs);
      await this.#recorder.add(change, { atMs: at, afterMs: isOld ? this.#keeper.stored.untilMs : afterMs });
    }
    if (heard.isWhole) this.#recorder?.complete();
  }

  /** Here one object may end and the next one begin. */
  async #beforeRevision({ revision }: Change): Promise<void> {
    this.#recorder?.complete();
    const whole = this.#recorder?.whole ?? lastOf(this.#keeper.stored);
    if (revision !== whole + 1n) {
      await this.#gap("Missing", revision - 1n, `${this.#member.address} told of ${revision} after ${whole}`);
    }
    if ((this.#recorder?.bytes ?? 0) >= this.#parts.maxBytes) await this.keepRest();
  }

  async #gap(reason: GapReason, last: bigint, message: string): Promise<never> {
    await this.keepRest();
    const text = `${message}, and ${lastOf(this.#keeper.stored)} is the last one that is archived`;
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
      throw new AgentError("SourceUnreachable", `${this.#member.address} does not tell of revision ${revision}`);
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
    // Within a revision nothing can be stored: its next word is waited for.
    if (this.#recorder?.isWhole !== true) return QUIET_EVERY_MS;
    return Math.max(1, this.#recorder.sinceMs + maxAgeMs - clock.monotonicMs());
  }

  async #ttlOf(lease: bigint): Promise<number | undefined> {
    if (!this.#ttls.has(lease)) {
      const [oldest] = this.#ttls.keys();
      if (this.#ttls.size >= MAX_LEASES && oldest !== undefined) this.#ttls.delete(oldest);
      const { signal } = this.#parts;
      this.#ttls.set(lease, await this.#member.changes.grantedTTL(lease, { signal, deadlineMs: LEASE_MS }));
    }
    return this.#ttls.get(lease);
  }
}
