import type { Clock } from "#base/clock.ts";
import type { Election } from "#kube/lease.ts";
import type { Group } from "./group.ts";
import { type ShardView, shareOf } from "./share.ts";

// How does a process come to lead some shards, and cease to?
//   Once a second it looks at all leases and computes its share (share.ts). For each shard that is to be its own something new is prepared, which
//   reads while the lease may still be another one's, and works when the lease is won. When the shard goes, on whatever way, all of that is thrown away: who
//   has led a shard before leads it again with nothing of the old term in memory.

/** Between two looks at how shards are spread, in milliseconds. */
const LOOK_EVERY_MS = 1_000;
/**
 * Processes that start together find each other within this time, in milliseconds: else the first would take all, and give most of it back.
 * Who comes takes nothing before, and so nothing is given back for it before.
 */
const GATHERING_MS = 5_000;

/** What leads a shard, from before its lease is won until after it is lost. */
export interface ShardWork {
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
}

interface Seat {
  readonly number: number;
  readonly election: Election;
  /** Ends looking on. */
  called: AbortController;
  /** While the shard is wanted; aborted when it is not any more. */
  wanted: AbortController | undefined;
  mayAct: () => boolean;
}

export class Holdings {
  readonly #options: HoldingsOptions;
  readonly #seats: readonly Seat[];
  /** Monotonic; since when the group may act without a break. */
  #joinedAtMs: number | undefined;

  constructor(options: HoldingsOptions) {
    this.#options = options;
    this.#seats = options.elections.map((election, number) => ({
      number,
      election,
      called: new AbortController(),
      wanted: undefined,
      mayAct: () => false,
    }));
  }

  /** Whether this process may act on the shard at this moment. */
  mayAct(shard: number): boolean {
    return this.#seats[shard]?.mayAct() === true;
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
      for (const { wanted } of this.#seats) wanted?.abort();
      return;
    }
    this.#joinedAtMs ??= clock.monotonicMs();
    const shards = this.#seats.map(({ election, wanted }) => ({
      holder: election.holder,
      isFree: election.freeInMs === 0,
      silentMs: election.silentMs,
      here: hereOf(wanted),
    }));
    const processes = group.alive();
    const settled = group.alive(GATHERING_MS);
    const { take, giveBack } = shareOf({ me: process, processes, settled, shards });
    for (const shard of giveBack) this.#seats[shard]?.wanted?.abort();
    const isGathering = clock.monotonicMs() - this.#joinedAtMs < GATHERING_MS && processes.length < shards.length;
    if (!isGathering) for (const shard of take) this.#want(this.#seats[shard]);
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
    try {
      await election.run(AbortSignal.any([signal, wanted.signal]), {
        onStarted: (leading) => work.run(leading),
        onStopped: () => wanted.abort(), // The election has ceased to act, and does not stand again.
      });
    } finally {
      isOver = true;
      await work.close();
    }
  }
}

function hereOf(wanted: AbortController | undefined): ShardView["here"] {
  if (wanted === undefined) return "no";
  return wanted.signal.aborted ? "leaving" : "wanted";
}
