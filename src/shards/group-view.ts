import type { Clock } from "#base/clock.ts";
import type { CallOptions } from "#kube/client.ts";
import type { Lease } from "#kube/kinds.ts";
import type { LeaseDurations } from "#kube/lease.ts";
import { isSameVersion } from "#kube/lease-record.ts";
import type { LeaseView } from "#kube/lease-view.ts";
import {
  aliveMs,
  type Belief,
  believed,
  isBelieved,
  isDue,
  NO_BELIEF,
  type SentCounts,
  sentCounts,
  termsOf,
} from "./group-belief.ts";
import { aliveIn, othersOn, type Roll, type RollEntry, rollOf, type SeenRoll, seenRoll } from "./lease-roll.ts";

interface GroupViewOptions {
  readonly lease: LeaseView;
  readonly group: string;
  readonly process: string;
  readonly clock: Clock;
  readonly durations: LeaseDurations;
}

/** What one process has seen of its group's lease, has stored there, and may conclude. */
export class GroupView {
  readonly lease: LeaseView;
  readonly #group: string;
  readonly #process: string;
  readonly #clock: Clock;
  readonly #durations: LeaseDurations;
  #seen: SeenRoll = new Map();
  /** Its last count that was sent; 0: none. */
  #count = 0;
  #sent: SentCounts = new Map();
  #belief: Belief = NO_BELIEF;

  constructor({ lease, group, process, clock, durations }: GroupViewOptions) {
    this.lease = lease;
    this.#group = group;
    this.#process = process;
    this.#clock = clock;
    this.#durations = durations;
  }

  /** Whether no process outside of the group can be acting now. */
  get isBelieved(): boolean {
    return isBelieved(this.#belief, this.#clock.monotonicMs());
  }

  /** Whether this process must renew now. */
  get isDue(): boolean {
    const counted = {
      nowMs: this.#clock.monotonicMs(),
      lastSentMs: this.#sent.get(this.#count)?.sentMs ?? Number.NEGATIVE_INFINITY,
      isLastThere: this.own?.count === this.#count,
      processes: this.#seen.size,
    };
    return isDue(this.#belief, counted, this.#durations);
  }

  get hasCounted(): boolean {
    return this.#count > 0;
  }

  get roll(): Roll {
    return rollOf(this.lease.last, this.#group);
  }

  /** This process's entry on the roll. */
  get own(): RollEntry | undefined {
    return this.roll.get(this.#process);
  }

  /** Other processes on the roll that may still act. */
  get others(): Roll {
    return othersOn(this.roll, this.#seen, this.#process, this.#clock.monotonicMs());
  }

  /** Living processes, sorted by name. @param forMs only those that joined at least so long ago, in milliseconds */
  alive(forMs: number): readonly string[] {
    const withinMs = aliveMs(this.#seen.size, this.#durations.renewEveryMs);
    return aliveIn(this.#seen, withinMs, forMs, this.#clock.monotonicMs());
  }

  /** The next count, to be sent now. */
  nextCount(): RollEntry {
    const { renewDeadlineMs, durationMs } = this.#durations;
    const terms = termsOf(this.#seen.size, this.#durations);
    this.#count += 1;
    const sent = { sentMs: this.#clock.monotonicMs(), actsMs: terms * renewDeadlineMs };
    this.#sent = sentCounts(this.#sent, this.#count, sent);
    return { count: this.#count, silentMs: terms * durationMs };
  }

  /** @throws OperatorError when the lease could not be read */
  async look(options: CallOptions): Promise<void> {
    await this.#noted(() => this.lease.look(options));
  }

  /** Makes a change, and records the resulting lease. @throws what `write` threw */
  async change(write: () => Promise<Lease>): Promise<void> {
    await this.#noted(async () => this.lease.note(await write()));
  }

  async #noted(call: () => Promise<void>): Promise<void> {
    const { last: before } = this.lease;
    const askedMs = this.#clock.monotonicMs();
    await call();
    const { last, holder } = this.lease;
    this.#seen = seenRoll(this.#seen, this.roll, this.#clock.monotonicMs());
    const sight = {
      askedMs,
      isHeldByGroup: holder === this.#group,
      isNew: last !== undefined && before !== undefined && !isSameVersion(last, before),
      own: this.#sent.get(this.own?.count ?? 0),
    };
    this.#belief = believed(this.#belief, sight, this.#durations.renewDeadlineMs);
  }
}
