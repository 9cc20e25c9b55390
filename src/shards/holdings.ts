import { shardLeaseName } from "#api/names.ts";
import type { Clock } from "#base/clock.ts";
import { type Log, silentLog } from "#base/log.ts";
import type { Election } from "#kube/lease.ts";
import type { Group } from "./group.ts";
import { type ShardView, shareOf } from "./share.ts";
import { leftOut, NO_TAKERS, seenGiven, seenHolders } from "./takers.ts";

// How does a process start and stop leading shards?
//   Once a second it reads all leases and computes its share (share.ts). For each shard in its share it prepares new
//   work. The work fills its caches while another process may still hold the lease, and starts when the lease is
//   acquired. When the shard is lost or given back, all of that is closed: the next term starts without any state of
//   the old one.
// What if it holds a lease and cannot fill its caches?
//   Then it gives the shard back, since another process may be able to. From then on it fills the caches first, and
//   campaigns for the lease afterwards. All shards read the same kinds: a process that has read one shard can read the
//   others.

/** Interval between two computations of the share, in milliseconds. */
const LOOK_EVERY_MS = 1_000;
/**
 * Processes that start together find each other within this time, in milliseconds: else the first would take all
 * shards, and give most of them back. A new process takes nothing before, so nothing is given back for it before.
 */
const GATHERING_MS = 5_000;
/**
 * Time after which a process without filled caches gives a shard's lease back, in milliseconds. A cache that is not
 * complete after 60 s lists instead (kube/reflector.ts), and thousands of objects arrive within seconds. If smaller, no
 * process keeps a shard at the first try where lists are needed; if larger, no process manages the shard for longer.
 */
const READY_WITHIN_MS = 75_000;
/**
 * For how long a given-back shard is reported, unless it was read before, in milliseconds. Another process may lead it
 * for good, and then it is not read here again.
 */
const REPORTED_MS = 600_000;

/** The work that manages a shard, from before its lease is acquired until after it is lost. */
export interface ShardWork {
  /** Waits until its caches are filled. @returns false when the signal aborted before */
  whenReady(signal: AbortSignal): Promise<boolean>;
  /** Works while the lease is held; the promise settles when all work has stopped. */
  run(leading: AbortSignal): Promise<void>;
  /** Called once, at the end, whether or not the lease was ever acquired. */
  close(): Promise<void>;
}

interface HoldingsOptions {
  /** Unique name of this process, on the group's roll and as a holder of leases. */
  readonly process: string;
  readonly group: Pick<Group, "mayAct" | "alive">;
  /** Elections by shard. */
  readonly elections: readonly Election[];
  /** @param mayAct whether this work leads the shard now; checked right before every write */
  readonly prepare: (shard: number, mayAct: () => boolean) => ShardWork;
  readonly clock: Clock;
  readonly log?: Log;
}

interface Seat {
  readonly number: number;
  readonly election: Election;
  /** Ends observing the lease. */
  called: AbortController;
  /** Exists while the shard is wanted; aborted when it is not any more. */
  wanted: AbortController | undefined;
  mayAct: () => boolean;
  isAtWork: boolean;
  /**
   * When this process last released the shard's lease because the caches were not filled in time, in monotonic
   * milliseconds. Undefined once the caches of any shard were filled.
   */
  unreadAtMs: number | undefined;
}

export class Holdings {
  readonly #options: HoldingsOptions;
  readonly #log: Log;
  readonly #seats: readonly Seat[];
  /** Monotonic; since when the group may act without interruption. */
  #joinedAtMs: number | undefined;
  #takers = NO_TAKERS;

  constructor(options: HoldingsOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#seats = options.elections.map((election, number) => ({
      number,
      election,
      called: new AbortController(),
      wanted: undefined,
      mayAct: () => false,
      isAtWork: false,
      unreadAtMs: undefined,
    }));
  }

  /** Whether this process may act on the shard now. */
  mayAct(shard: number): boolean {
    return this.#seats[shard]?.mayAct() === true;
  }

  /** Whether this process may act on the shard, and has filled its caches. */
  leads(shard: number): boolean {
    return this.mayAct(shard) && this.#seats[shard]?.isAtWork === true;
  }

  /**
   * Shards that were given back recently because their caches were not filled, while another process leads them and
   * none was read here since. Without a leader they are left out: reading may need this process's own conversion
   * webhook, which is called only while the process is ready.
   */
  get unread(): readonly number[] {
    const nowMs = this.#options.clock.monotonicMs();
    const isReported = ({ unreadAtMs, election }: Seat): boolean =>
      unreadAtMs !== undefined && nowMs - unreadAtMs < REPORTED_MS && election.freeInMs > 0;
    return this.#seats.filter(isReported).map(({ number }) => number);
  }

  /**
   * Leads its share of the shards until the signal aborts, and has then given all of them back. @throws what work threw
   */
  async run(signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const over = AbortSignal.any([signal, failed.signal]);
    const tasks = [...this.#seats.map((seat) => this.#sit(seat, over)), this.#decide(over)];
    const outcomes = await Promise.allSettled(
      tasks.map((task) =>
        task.catch((thrown: unknown) => {
          failed.abort();
          throw thrown;
        }),
      ),
    );
    const bad = outcomes.find((outcome) => outcome.status === "rejected");
    if (bad !== undefined) throw bad.reason;
  }

  async #decide(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      this.#share();
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined); // aborted
    }
  }

  #share(): void {
    const { group, process, clock } = this.#options;
    if (!group.mayAct()) {
      this.#joinedAtMs = undefined;
      this.#takers = NO_TAKERS; // Other processes that lost the group have given everything back, too, and will take it again.
      for (const { wanted } of this.#seats) wanted?.abort();
      return;
    }
    const nowMs = clock.monotonicMs();
    this.#joinedAtMs ??= nowMs;
    const shards = this.#seats.map(({ election, wanted }) => ({
      holder: election.holder,
      isFree: election.freeInMs === 0,
      silentMs: election.silentMs,
      here: hereOf(wanted),
    }));
    const processes = group.alive();
    const settled = group.alive(GATHERING_MS);
    const holders = shards.map(({ holder }) => holder);
    const takers = seenHolders(this.#takers, holders, nowMs);
    const view = { me: process, processes, settled, leftOut: leftOut(takers, nowMs), shards };
    const { take, giveBack, given } = shareOf(view);
    this.#takers = seenGiven(takers, given, nowMs);
    for (const shard of giveBack) this.#seats[shard]?.wanted?.abort();
    const isGathering = nowMs - this.#joinedAtMs < GATHERING_MS && processes.length < shards.length;
    // It takes its earlier shards at once after an outage of the API server: others would count its silence.
    for (const shard of take) if (!isGathering || holders[shard] === process) this.#want(this.#seats[shard]);
  }

  #want(seat: Seat | undefined): void {
    if (seat === undefined || seat.wanted !== undefined) return; // A shard that is being given back is acquired after that.
    seat.wanted = new AbortController();
    seat.called.abort();
  }

  async #sit(seat: Seat, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await seat.election.watch(AbortSignal.any([signal, seat.called.signal]));
      seat.called = new AbortController();
      const { wanted } = seat;
      if (wanted === undefined) continue;
      await this.#hold(seat, wanted, signal).finally(() => {
        seat.wanted = undefined;
      });
    }
  }

  /** Holds the shard from when it is wanted until all its work is closed. */
  async #hold(seat: Seat, wanted: AbortController, signal: AbortSignal): Promise<void> {
    const { election, number } = seat;
    const { group, prepare } = this.#options;
    let isOver = false;
    // A hanging call of this term must not act in the next one.
    const mayAct = (): boolean => !isOver && election.mayAct() && group.mayAct();
    const work = prepare(number, mayAct);
    seat.mayAct = mayAct;
    const until = AbortSignal.any([signal, wanted.signal]);
    try {
      if (seat.unreadAtMs !== undefined && !(await this.#isRead(seat, work, until))) return;
      await election.run(until, {
        onStarted: (leading) => this.#work(seat, work, wanted, leading),
        onStopped: () => wanted.abort(), // The election has stopped acting, and does not campaign again.
      });
    } finally {
      isOver = true;
      await work.close();
    }
  }

  /**
   * Fills the caches before it campaigns, and observes the lease during that time. @returns false when the signal
   * aborted before
   */
  async #isRead(seat: Seat, work: ShardWork, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const ready = work.whenReady(signal).finally(() => over.abort());
    const [isReady] = await Promise.all([ready, seat.election.watch(AbortSignal.any([signal, over.signal]))]);
    if (isReady) this.#canRead();
    return isReady;
  }

  /** Applies to all shards: the one that was given back may belong to another process, and is not read again then. */
  #canRead(): void {
    for (const seat of this.#seats) seat.unreadAtMs = undefined;
  }

  /** One term. */
  async #work(seat: Seat, work: ShardWork, wanted: AbortController, leading: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const late = new AbortController();
    const cancel = clock.after(READY_WITHIN_MS, () => late.abort());
    const isReady = await work.whenReady(AbortSignal.any([leading, late.signal])).finally(cancel);
    if (leading.aborted) return;
    if (!isReady) {
      seat.unreadAtMs = clock.monotonicMs();
      const sentence =
        "this shard's caches were not filled in time: its lease is given back, and acquired again only after they are";
      this.#log.error({ name: shardLeaseName(seat.number), durationMs: READY_WITHIN_MS }, sentence);
      wanted.abort();
      return;
    }
    this.#canRead();
    seat.isAtWork = true;
    await work.run(leading).finally(() => {
      seat.isAtWork = false;
    });
  }
}

function hereOf(wanted: AbortController | undefined): ShardView["here"] {
  if (wanted === undefined) return "no";
  return wanted.signal.aborted ? "leaving" : "wanted";
}
