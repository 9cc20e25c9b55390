import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { refusalOf } from "#etcd/error.ts";
import type { ContentHash, SnapshotSource } from "#etcd/snapshot-source.ts";
import { sourceError } from "../choose-member.ts";
import { AgentError } from "../error.ts";
import type { VerifyReport } from "../report.ts";
import type { Expectation } from "./expectation.ts";

export interface VerifyParts {
  readonly source: Pick<SnapshotSource, "address" | "status" | "revision" | "keys" | "hashKV">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Time for the member to start, or to finish a compaction, in milliseconds. */
  readonly patienceMs: number;
}

const ASK_AGAIN_MS = 500;
const STATUS_DEADLINE_MS = 5_000;
/** Deadline in milliseconds: the member reads all of its data for an answer. */
const READ_DEADLINE_MS = 60_000;

type Verified = Omit<VerifyReport, "ok" | "kind">;

/**
 * Compares a throw-away member with the expectation.
 * @throws AgentError VerificationFailed when they differ, SourceUnreachable when the member does not start
 */
export async function verifyRestored(expected: Expectation, parts: VerifyParts): Promise<Verified> {
  await untilServed(parts);
  const revision = await parts.source.revision(readOptions(parts));
  if (revision < BigInt(expected.revision)) {
    throw different(expected, `it is at revision ${revision}, but the snapshot had ${expected.revision}`);
  }
  const compared = expected.manifest?.keys === undefined ? undefined : await compare(expected, parts);
  if (compared !== undefined) return compared;
  const keys = await parts.source.keys(revision, readOptions(parts));
  const why =
    expected.manifest === undefined
      ? "without a manifest the expected number is unknown"
      : expected.manifest.keys === undefined
        ? "its manifest has no number of keys"
        : `the keys of the manifest's revision ${expected.manifest.revision} were compacted while the backup was made`;
  return { revision: revision.toString(), keys, message: `etcd starts with it and has ${keys} keys; ${why}` };
}

/** Compares with the manifest; undefined when the snapshot has compacted the manifest's revision. */
async function compare(expected: Expectation, parts: VerifyParts): Promise<Verified | undefined> {
  const { revision, keys, hashKV } = expected.manifest ?? {};
  if (revision === undefined || keys === undefined) return undefined;
  const at = BigInt(revision);
  const found = await unlessCompacted(parts.source.keys(at, readOptions(parts)));
  if (found === undefined) return undefined;
  if (found !== keys) throw different(expected, `it has ${found} keys at revision ${at}, but the manifest has ${keys}`);
  const verified = { revision, keys, message: `etcd starts with it and has all ${keys} keys of revision ${at}` };
  if (hashKV === undefined) return { ...verified, message: `${verified.message}; the manifest has no hash` };
  const compacted = BigInt(hashKV.compactRevision);
  const own = await hashSince(compacted, at, parts);
  if (own?.compactRevision !== compacted) {
    return {
      ...verified,
      message: `${verified.message}; etcd was compacted while the backup was made, which changes hashes`,
    };
  }
  if (own.hash !== hashKV.hash) {
    throw different(expected, `the hash up to revision ${at} is ${own.hash}, but the manifest has ${hashKV.hash}`);
  }
  return { ...verified, hash: own.hash, message: `${verified.message}, with the manifest's hash` };
}

/**
 * Hash of the member's data at revision `at`; undefined when that revision is compacted. A compaction that was running at
 * the snapshot continues when the member starts, so this polls until it has reached `compactRevision`.
 */
async function hashSince(compactRevision: bigint, at: bigint, parts: VerifyParts): Promise<ContentHash | undefined> {
  const endMs = parts.clock.monotonicMs() + parts.patienceMs;
  for (;;) {
    const found = await unlessCompacted(parts.source.hashKV(at, readOptions(parts)));
    if (found === undefined || found.compactRevision >= compactRevision || parts.clock.monotonicMs() > endMs)
      return found;
    await parts.clock.sleep(ASK_AGAIN_MS, parts.signal);
  }
}

async function unlessCompacted<T>(asked: Promise<T>): Promise<T | undefined> {
  return await asked.catch((thrown: unknown) => {
    if (refusalOf(thrown) === "Compacted") return undefined;
    throw thrown;
  });
}

function readOptions({ signal }: VerifyParts) {
  return { signal, deadlineMs: READ_DEADLINE_MS };
}

async function untilServed({ source, clock, signal, patienceMs }: VerifyParts): Promise<void> {
  const endMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    try {
      const { leaderId } = await source.status({ signal, deadlineMs: STATUS_DEADLINE_MS });
      if (leaderId !== undefined) return;
      if (clock.monotonicMs() > endMs) {
        throw new AgentError(
          "NoQuorum",
          `${source.address} knows no leader; it must be the only member of its cluster`,
        );
      }
    } catch (thrown) {
      if (!(thrown instanceof OperatorError) || thrown.code === "Cancelled") throw thrown;
      if (clock.monotonicMs() > endMs) throw sourceError(thrown);
    }
    await clock.sleep(ASK_AGAIN_MS, signal);
  }
}

function different({ key }: Expectation, message: string): AgentError {
  return new AgentError("VerificationFailed", `an etcd that starts with ${key} differs from the backup: ${message}`);
}
