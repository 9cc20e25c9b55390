import { once } from "node:events";
import type { Answer } from "#agent/choose-member.ts";
import { OperatorError } from "#base/error.ts";
import type { Change, Heard } from "#etcd/change-feed.ts";
import { clusterId, memberId } from "#etcd/types.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** A fake member that has only a history of its keys. */
export class FakeHistory {
  revision = 1n;
  clusterID = 0xcdfn;
  /** The compacted revision. */
  compacted = 0n;
  /** The revision with an event that is too large for the watch. */
  oversized: bigint | undefined;
  /** TTLs of leases. */
  readonly leases = new Map<bigint, number>();
  readonly changes: Change[] = [];
  /** Number of changes in one response. */
  batch = 1_000;
  /** Awaited before each response, to simulate a slow member. */
  pace: () => Promise<void> = () => Promise.resolve();
  #news = Promise.withResolvers<void>();
  #broken = new AbortController();

  /** Each argument becomes a change of one revision: `key=value`, or `key` for a deletion. */
  commit(...all: readonly string[]): bigint {
    this.revision += 1n;
    for (const one of all) {
      const [key = "", value] = one.split("=");
      const lease = value?.startsWith("leased") ? 7n : 0n;
      this.changes.push({
        revision: this.revision,
        key: bytes(key),
        value: value === undefined ? value : bytes(value),
        lease,
      });
    }
    this.#tell();
    return this.revision;
  }

  /** Drops the revisions after this one, as a restore from a backup does. */
  goBackTo(revision: bigint): void {
    while ((this.changes.at(-1)?.revision ?? 0n) > revision) this.changes.pop();
    this.revision = revision;
    this.breakOff();
  }

  compact(revision: bigint): void {
    this.compacted = revision;
    this.#tell();
  }

  /** Ends every watch, even in the middle of a revision. */
  breakOff(): void {
    this.#broken.abort();
    this.#broken = new AbortController();
  }

  get answer(): Answer {
    const source = {
      address: "m1:2379",
      revision: () => Promise.resolve(this.revision),
      snapshot(): never {
        throw new Error("this fake serves no reads");
      },
      changes: {
        from: (start: bigint, signal: AbortSignal) => this.#feed(start, signal),
        grantedTTL: (lease: bigint) => Promise.resolve(this.leases.get(lease)),
      },
    };
    const status = {
      clusterId: clusterId(this.clusterID),
      memberId: memberId(0x8en),
      version: "3.6.16",
      dbSizeBytes: 0,
      dbSizeInUseBytes: 0,
      dbSizeQuotaBytes: undefined,
      storageVersion: undefined,
      leaderId: memberId(0x8en),
      raftIndex: 1,
      raftAppliedIndex: 1,
      raftTerm: 1,
      isLearner: false,
      downgradeTo: undefined,
      alarms: [],
    };
    return { source, status } as unknown as Answer;
  }

  async *#feed(start: bigint, outer: AbortSignal): AsyncGenerator<Heard, void> {
    const broken = this.#broken.signal;
    yield { kind: "opened", clusterID: this.clusterID, revision: this.revision };
    for (let told = 0, from = start; ; told = 0) {
      if (outer.aborted) throw new OperatorError("Cancelled", "the caller cancelled the call");
      if (broken.aborted) throw new OperatorError("EtcdUnavailable", "the watch broke off");
      if (from <= this.compacted && from <= this.revision) {
        yield { kind: "compacted", revision: this.compacted };
        return;
      }
      const news = this.#news.promise;
      const fresh = this.changes.filter((change) => change.revision >= from);
      if (fresh.some(({ revision }) => revision === this.oversized)) {
        yield { kind: "tooLarge", message: "the answer to Watch has more than 1250000 fields" };
        return;
      }
      for (; told < fresh.length && !broken.aborted; told += this.batch) {
        const changes = fresh.slice(told, told + this.batch);
        const isWhole = fresh[told + this.batch]?.revision !== changes.at(-1)?.revision;
        await this.pace();
        yield { kind: "changes", changes, isWhole };
      }
      const last = fresh.at(-1);
      if (broken.aborted) continue;
      if (last !== undefined) from = last.revision + 1n;
      else await Promise.race([news, ended(outer), ended(broken)]);
    }
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

async function ended(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
