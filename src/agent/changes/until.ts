import { AgentError } from "../error.ts";
import type { Until } from "../task.ts";
import type { Base } from "./origin.ts";
import { isoOf } from "./recorder.ts";
import type { Archived, Reach } from "./walk.ts";

/** Where a replay ends. */
export class Stop {
  readonly #revision: bigint | undefined;
  /** Used when it is not by revision. */
  readonly #timeMs: number;
  readonly #base: Base;

  /** @throws AgentError BadTask when the snapshot is from behind it */
  constructor(until: Until, base: Base) {
    this.#base = base;
    this.#revision = "revision" in until ? BigInt(until.revision) : undefined;
    this.#timeMs = "time" in until ? Date.parse(until.time) : 0;
    const isBehind = this.#revision !== undefined ? this.#revision < base.revision : this.#timeMs < base.atMs;
    if (!isBehind) return;
    const has = this.#revision === undefined ? `was complete at ${isoOf(base.atMs)}` : `has revision ${base.revision}`;
    throw new AgentError(
      "BadTask",
      `the backup ${has}, and what is wanted is before that: ${this.text}; take an older backup`,
    );
  }

  get text(): string {
    return this.#revision === undefined ? isoOf(this.#timeMs) : `revision ${this.#revision}`;
  }

  /**
   * Whether this revision and all after it stay out. What the backup has cannot be left out: of that is only asked whether it may be in.
   * @throws AgentError ArchiveGap when nobody knows, BadTask when the backup has what is to stay out
   */
  isBefore({ revision, atMs, afterMs }: Archived): boolean {
    if (this.#revision !== undefined) return revision > this.#revision;
    if (atMs <= this.#timeMs) return false;
    const isCertain = afterMs === undefined || afterMs > this.#timeMs;
    if (revision <= this.#base.revision) {
      if (!isCertain) return false; // The backup was complete before.
      const has = `the backup has revision ${revision}, of ${isoOf(atMs)}`;
      throw new AgentError("BadTask", `${has}, and what is wanted is before that: ${this.text}; take an older backup`);
    }
    if (isCertain) return true;
    const when = `between ${isoOf(afterMs)} and ${isoOf(atMs)}`;
    throw new AgentError(
      "ArchiveGap",
      `revision ${revision} happened ${when}, when nobody was listening: whether before ${this.text} is not known; choose a time before or after, or a revision`,
    );
  }

  /** @param at the last revision that was applied @throws AgentError ArchiveGap when the archive ends before */
  checkReach(at: bigint, reach: Reach): void {
    const isShort = this.#revision === undefined ? this.#timeMs > reach.untilMs : at < this.#revision;
    if (!isShort) return;
    const end = `revision ${reach.revision}, and with what was known at ${isoOf(reach.untilMs)}`;
    throw new AgentError("ArchiveGap", `the archive ends with ${end}; what is wanted is ${this.text}`);
  }
}
