import { AgentError } from "../error.ts";
import type { Until } from "../task.ts";
import type { Base } from "./origin.ts";
import { isoOf } from "./recorder.ts";
import type { Archived, Reach } from "./walk.ts";

/** End of a replay. */
export class Stop {
  readonly #revision: bigint | undefined;
  /** Used when the end is a time. */
  readonly #timeMs: number;
  readonly #base: Base;

  /** @throws AgentError BadTask when the snapshot is newer than the end */
  constructor(until: Until, base: Base) {
    this.#base = base;
    this.#revision = "revision" in until ? BigInt(until.revision) : undefined;
    this.#timeMs = "time" in until ? Date.parse(until.time) : 0;
    const isBehind = this.#revision !== undefined ? this.#revision < base.revision : this.#timeMs < base.atMs;
    if (!isBehind) return;
    const has = this.#revision === undefined ? `was complete at ${isoOf(base.atMs)}` : `has revision ${base.revision}`;
    throw new AgentError("BadTask", `the backup ${has}, after the requested ${this.text}; use an older backup`);
  }

  get text(): string {
    return this.#revision === undefined ? isoOf(this.#timeMs) : `revision ${this.#revision}`;
  }

  /**
   * Whether this revision and all later ones are excluded. Revisions in the backup cannot be excluded, only checked.
   * @throws AgentError ArchiveGap when the revision's time is uncertain, BadTask when the backup contains an excluded
   * revision
   */
  isBefore({ revision, atMs, afterMs }: Archived): boolean {
    if (this.#revision !== undefined) return revision > this.#revision;
    if (atMs <= this.#timeMs) return false;
    const isCertain = afterMs === undefined || afterMs > this.#timeMs;
    if (revision <= this.#base.revision) {
      if (!isCertain) return false; // The backup was complete before.
      const has = `the backup has revision ${revision}, of ${isoOf(atMs)}`;
      throw new AgentError("BadTask", `${has}, after the requested ${this.text}; use an older backup`);
    }
    if (isCertain) return true;
    const when = `between ${isoOf(afterMs)} and ${isoOf(atMs)}`;
    throw new AgentError(
      "ArchiveGap",
      `revision ${revision} happened ${when}, when no archiver was running: whether before ${this.text} is not known; choose a time before or after, or a revision`,
    );
  }

  /** @param at the last applied revision @throws AgentError ArchiveGap when the archive ends too early */
  checkReach(at: bigint, reach: Reach): void {
    const isShort = this.#revision === undefined ? this.#timeMs > reach.untilMs : at < this.#revision;
    if (!isShort) return;
    const end = `revision ${reach.revision} and the state at ${isoOf(reach.untilMs)}`;
    throw new AgentError("ArchiveGap", `the archive ends with ${end}; requested is ${this.text}`);
  }
}
