import type { Clock } from "#base/clock.ts";
import { hexOf } from "#etcd/types.ts";
import { chooseMember, type Member } from "../choose-member.ts";
import { asAgentError } from "../copy.ts";
import { AgentError } from "../error.ts";
import type { ProgressBoard } from "../progress.ts";
import { failure } from "../report.ts";
import type { Sources } from "../source.ts";
import type { ArchiveTask } from "../task.ts";
import { follow } from "./follow.ts";
import { lastOf } from "./history.ts";
import { Keeper, type KeeperParts, Overtaken } from "./keeper.ts";
import { READ_MS } from "./listen.ts";
import { MAX_OBJECT_BYTES } from "./packet.ts";
import { PRUNE_EVERY_MS, prune } from "./prune.ts";
import { fingerprintOf, isoOf } from "./recorder.ts";

export interface ArchiveParts extends Omit<KeeperParts, "prefix" | "onTrouble"> {
  readonly sources: Pick<Sources, "ask">;
  readonly board: ProgressBoard;
  /** MAX_OBJECT_BYTES by default. */
  readonly maxObjectBytes?: number;
  /** Ends the archiver; received changes are stored first. */
  readonly signal: AbortSignal;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/**
 * How long certificates may be rejected after they were last trusted, in milliseconds. After a renewal or a CA
 * rotation, the kubelet updates mounted files up to two minutes later.
 */
const RENEWAL_MS = 10 * 60_000;
/** Time limit for storing received changes at the end, in milliseconds; the kubelet gives a pod 30 s. */
const LAST_WORDS_MS = 15_000;

/**
 * Stores every change as it happens, until the signal aborts. @throws AgentError for a failure that retries cannot fix,
 * and when it was stopped
 */
export async function archiveChanges(task: ArchiveTask, parts: ArchiveParts): Promise<never> {
  const { signal, clock, log, board } = parts;
  const archiver = new Archiver(task, parts, lingering(signal, clock));
  let followedAtMs = Number.NEGATIVE_INFINITY;
  for (let pauseMs = FIRST_PAUSE_MS; ; ) {
    try {
      await archiver.run({
        onFollowing: () => {
          followedAtMs = clock.monotonicMs();
        },
        onKept: () => {
          followedAtMs = clock.monotonicMs();
          pauseMs = FIRST_PAUSE_MS;
        },
      });
    } catch (thrown) {
      if (thrown instanceof Overtaken) {
        log.info({ because: thrown.message }, "another archiver stored the next object first");
        archiver.lookAgain();
        continue;
      }
      const error = asAgentError(thrown);
      if (signal.aborted) throw new AgentError("Stopped", "the archiver was stopped", { cause: error });
      const isRenewed = error.reason === "SourceTLS" && clock.monotonicMs() - followedAtMs < RENEWAL_MS;
      if (!isRenewed && !failure(error.reason, "").retry) throw error;
      log.warn({ code: error.reason, error: error.message }, "archiving failed and is retried");
      board.record({ message: error.message });
      await clock.sleep(pauseMs, signal).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }
}

class Archiver {
  readonly #task: ArchiveTask;
  readonly #parts: ArchiveParts;
  readonly #lateSignal: AbortSignal;
  #keeper: Keeper | undefined;
  /** Totals of earlier keepers. */
  #done = { gaps: 0, objects: 0, bytes: 0 };
  #pruneAtMs = Number.NEGATIVE_INFINITY;

  constructor(task: ArchiveTask, parts: ArchiveParts, lateSignal: AbortSignal) {
    this.#task = task;
    this.#parts = parts;
    this.#lateSignal = lateSignal;
  }

  /** Discards the keeper: the store differs from what it assumes. */
  lookAgain(): void {
    this.#done = this.#all();
    this.#keeper = undefined;
  }

  /**
   * Follows a member until an error. @param onFollowing called when following begins @param onKept called when changes
   * were stored
   */
  async run({ onFollowing, onKept }: { onFollowing: () => void; onKept: () => void }): Promise<never> {
    const { sources, signal, log, board } = this.#parts;
    const member = chooseMember(await sources.ask(signal, new Set()), this.#task.source.clusterID);
    const keeper = await this.#keeperOf(member);
    // Read after the store is listed: a second archiver may have stored revisions newer than an earlier answer.
    const now = await member.source.revision({ signal, deadlineMs: READ_MS });
    await this.#makeReady(keeper, member, now);
    board.phase = "Archiving";
    board.record({ message: undefined, since: await keeper.since(signal) });
    this.#record(keeper);
    const names = { member: hexOf(member.status.memberId), address: member.source.address };
    await this.#prune(keeper);
    onFollowing();
    log.info(names, `following after revision ${lastOf(keeper.stored)}`);
    return await follow(member.source, keeper, {
      ...this.#parts,
      lateSignal: this.#lateSignal,
      maxAgeMs: this.#task.maxAgeSeconds * 1000,
      maxBytes: this.#task.maxBytes,
      maxObjectBytes: this.#parts.maxObjectBytes ?? MAX_OBJECT_BYTES,
      onKept: async () => {
        this.#record(keeper);
        onKept();
        await this.#prune(keeper);
      },
    });
  }

  async #keeperOf({ status }: Member): Promise<Keeper> {
    const clusterID = hexOf(status.clusterId);
    if (this.#keeper?.clusterID === clusterID) return this.#keeper;
    this.lookAgain();
    const onTrouble = (message: string | undefined) => this.#parts.board.record({ message });
    const place = { ...this.#parts, prefix: this.#task.prefix, onTrouble };
    this.#keeper = await Keeper.open(place, clusterID, this.#parts.signal);
    return this.#keeper;
  }

  /** Makes sure that the archive and etcd have the same history; otherwise a new history begins. */
  async #makeReady(keeper: Keeper, member: Member, now: bigint): Promise<void> {
    const { signal } = this.#parts;
    const { tip } = keeper;
    if (tip.kind === "none") return await keeper.begin("Began", now, "the archive begins here", signal);
    if (tip.kind === "unreadable") return await keeper.begin("Unreadable", now, tip.why, signal);
    const last = lastOf(tip);
    if (now < last) {
      const message = `etcd is at revision ${now}, and ${last} is archived`;
      return await keeper.begin("HistoryChanged", now, message, signal);
    }
    const { fingerprint } = tip.ends.closing;
    const found = fingerprint && (await this.#fingerprintAt(member, last));
    if (found === undefined || found === fingerprint) return;
    await keeper.begin("HistoryChanged", now, `revision ${last} differs from the archived one`, signal);
  }

  /**
   * Fingerprint of the changes of one revision, as etcd now has them. Undefined when etcd has compacted the revision, or
   * the watch refuses a response as too large.
   */
  async #fingerprintAt({ source }: Member, revision: bigint): Promise<string | undefined> {
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#parts.signal, stop.signal, AbortSignal.timeout(READ_MS)]);
    const changes = [];
    try {
      for await (const heard of source.changes.from(revision, signal)) {
        if (heard.kind === "compacted" || heard.kind === "tooLarge") return undefined;
        if (heard.kind === "opened") continue;
        changes.push(...heard.changes.filter((change) => change.revision === revision));
        if (heard.isWhole || heard.changes.some((change) => change.revision > revision)) break;
      }
    } finally {
      stop.abort();
    }
    return fingerprintOf(changes);
  }

  /** Deletes old objects. What cannot be deleted now is tried again an hour later. */
  async #prune(keeper: Keeper): Promise<void> {
    const { store, clock, signal, log } = this.#parts;
    const { keepForSeconds, prefix } = this.#task;
    if (keepForSeconds === undefined || clock.monotonicMs() < this.#pruneAtMs) return;
    this.#pruneAtMs = clock.monotonicMs() + PRUNE_EVERY_MS;
    const place = { prefix, clusterID: keeper.clusterID, last: keeper.stored.ends.key };
    const age = { nowMs: clock.wallMs(), keepForMs: keepForSeconds * 1000 };
    try {
      const count = await prune(store, place, age, signal);
      log.info({ count }, `objects with changes that are older than ${keepForSeconds} s are deleted`);
    } catch (thrown) {
      const { reason, message } = asAgentError(thrown);
      log.warn({ code: reason, error: message }, "objects with old changes cannot be deleted now");
    }
  }

  #record(keeper: Keeper): void {
    const { closing } = keeper.stored.ends;
    const time = isoOf(keeper.stored.untilMs);
    const { clusterID } = keeper;
    this.#parts.board.record({ clusterID, from: closing.from, revision: closing.last, time, ...this.#all() });
  }

  #all() {
    const { gaps, objects, bytes } = this.#done;
    const now = this.#keeper ?? { gaps: 0, objects: 0, bytes: 0 };
    return { gaps: gaps + now.gaps, objects: objects + now.objects, bytes: bytes + now.bytes };
  }
}

/** A signal that aborts LAST_WORDS_MS after the given one. */
function lingering(signal: AbortSignal, clock: Clock): AbortSignal {
  const late = new AbortController();
  signal.addEventListener("abort", () => clock.after(LAST_WORDS_MS, () => late.abort()), { once: true });
  return late.signal;
}
