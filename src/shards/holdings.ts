import { shardLeaseName } from "#api/names.ts";
import type { Clock } from "#base/clock.ts";
import { type Log, silentLog } from "#base/log.ts";
import type { Election } from "#kube/lease.ts";
import type { Group } from "./group.ts";
import { type ShardView, shareOf } from "./share.ts";
import { leftOut, NO_TAKERS, seenGiven, seenHolders } from "./takers.ts";

// How does a process come to lead some shards, and cease to?
//   Once a second it looks at all leases and computes its share (share.ts). For each shard that is to be its own something new is prepared, which
//   reads while the lease may still be another one's, and works when the lease is won. When the shard goes, on whatever way, all of that is closed: who
//   has led a shard before decides about it again with nothing of the old term in memory.
// What if it holds a lease and cannot read the state? Then it gives the shard back, since others may be able to. From then on it reads that shard's
//   first, and stands for it when it has. Each shard's state is read out of the same kinds, all of them: who has read one can read the others.

/** Between two looks at how shards are spread, in milliseconds. */
const LOOK_EVERY_MS = 1_000;
/**
 * Processes that start together find each other within this time, in milliseconds: else the first would take all, and give most of it back.
 * Who comes takes nothing before, and so nothing is given back for it before.
 */
const GATHERING_MS = 5_000;
/**
 * Who holds a shard's lease and has not read by then what it needs gives it back, in milliseconds: all that time the shard has nobody who decides.
 * A cache that is not through with its stream after 60 s reads a list instead (kube/reflector.ts); thousands of objects come within seconds.
 * Too small: where lists are needed, nobody keeps a shard at the first try. Too large: its clusters wait for one who cannot.
 */
const READY_WITHIN_MS = 75_000;
/** For so long it is told that a shard was given back, if it is not read before, in milliseconds. It may be another one's for good, and then nobody here reads it any more. */
const TOLD_MS = 600_000;

/** What leads a shard, from before its lease is won until after it is lost. */
export interface ShardWork {
  /** Waits until it has read what it needs. @returns false when the signal aborted before */
  whenReady(signal: AbortSignal): Promise<boolean>;
  /** Works while the lease is held; the promise settles when all work has stopped. */
  run(leading: AbortSignal): Promise<void>;
  /** Called once, at the end, whether or not the lease was ever won. */
  close(): Promise<void>;
}

interface HoldingsOptions {
  /** Who this process is, on the group's roll and as a holder of leases. */
  readonly process: string;
  readonly group: Pick<Group, "mayAct" | "alive">;
  /** By shard. */
  readonly elections: readonly Election[];
  /** @param mayAct whether the shard is led by this work at this moment; ask right before every change */
  readonly prepare: (shard: number, mayAct: () => boolean) => ShardWork;
  readonly clock: Clock;
  readonly log?: Log;
}

interface Seat {
  readonly number: number;
  readonly election: Election;
  /** Ends looking on. */
  called: AbortController;
  /** While the shard is wanted; aborted when it is not any more. */
  wanted: AbortController | undefined;
  mayAct: () => boolean;
  isAtWork: boolean;
  /** Monotonic; when it was given back since it could not be read; undefined: it, or another one, was read since. */
  unreadAtMs: number | undefined;
}

export class Holdings {
  readonly #options: HoldingsOptions;
  readonly #log: Log;
  readonly #seats: readonly Seat[];
  /** Monotonic; since when the group may act without a break. */
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

  /** Whether this process may act on the shard at this moment. */
  mayAct(shard: number): boolean {
    return this.#seats[shard]?.mayAct() === true;
  }

  /** Whether this process may act on the shard, and has read what it needs for that. */
  leads(shard: number): boolean {
    return this.mayAct(shard) && this.#seats[shard]?.isAtWork === true;
  }

  /**
   * Shards that were given back not long ago, since their state could not be read, while another process has them and none was read here since. Where nobody
   * has them, nobody can read, and reading may need an answer of ours (a conversion), which is asked of nobody that is not ready.
   */
  get unread(): readonly number[] {
    const nowMs = this.#options.clock.monotonicMs();
    const isTold = ({ unreadAtMs, election }: Seat): boolean =>
      unreadAtMs !== undefined && nowMs - unreadAtMs < TOLD_MS && election.freeInMs > 0;
    return this.#seats.filter(isTold).map(({ number }) => number);
  }

  /** Leads its share of the shards until the signal aborts, and has then given all of them back. @throws what work threw */
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
      this.#takers = NO_TAKERS; // Others that have lost the group have given everything back, and will take it again.
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
    // What it had before nobody was answered it takes at once: others would count its silence.
    for (const shard of take) if (!isGathering || holders[shard] === process) this.#want(this.#seats[shard]);
  }

  #want(seat: Seat | undefined): void {
    if (seat === undefined || seat.wanted !== undefined) return; // What is being given back is asked for when that is done.
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

  /** From the wish to lead the shard until nothing of it is left. */
  async #hold(seat: Seat, wanted: AbortController, signal: AbortSignal): Promise<void> {
    const { election, number } = seat;
    const { group, prepare } = this.#options;
    let isOver = false;
    // Something that hangs from this term on must not come to life with the next one.
    const mayAct = (): boolean => !isOver && election.mayAct() && group.mayAct();
    const work = prepare(number, mayAct);
    seat.mayAct = mayAct;
    const until = AbortSignal.any([signal, wanted.signal]);
    try {
      if (seat.unreadAtMs !== undefined && !(await this.#isRead(seat, work, until))) return;
      await election.run(until, {
        onStarted: (leading) => this.#work(seat, work, wanted, leading),
        onStopped: () => wanted.abort(), // The election has ceased to act, and does not stand again.
      });
    } finally {
      isOver = true;
      await work.close();
    }
  }

  /** Reads before it stands for the shard, and looks on meanwhile: another one may come first. @returns false when the signal aborted before */
  async #isRead(seat: Seat, work: ShardWork, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const ready = work.whenReady(signal).finally(() => over.abort());
    const [isReady] = await Promise.all([ready, seat.election.watch(AbortSignal.any([signal, over.signal]))]);
    if (isReady) this.#canRead();
    return isReady;
  }

  /** Which of them it was makes no difference: the one that was given back may be another one's, and is not read again then. */
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
        "the state of this shard was not read in time: it is given back, and read before it is asked for again";
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
