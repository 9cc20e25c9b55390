import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import { type Operation, ReplayMember } from "#etcd/replay-member.ts";
import { SnapshotSource } from "#etcd/snapshot-source.ts";
import type { ObjectStore } from "#objectstore/store.ts";
import { SnapshotCheck } from "../archive/integrity.ts";
import type { EncryptionKey } from "../archive/key.ts";
import { switchAuth } from "../bbolt/auth-switch.ts";
import { factsOf } from "../bbolt/snapshot-facts.ts";
import { AgentError } from "../error.ts";
import type { ProgressBoard } from "../progress.ts";
import type { ReplayedSnapshot } from "../report.ts";
import { readExpectation } from "../restore/expectation.ts";
import { writeAll } from "../restore/fetch.ts";
import { onDisk } from "../restore/work-dir.ts";
import { readStored } from "../stored.ts";
import { type ReplayTask, SNAPSHOT_FILE } from "../task.ts";
import type { Base } from "./origin.ts";
import { isoOf } from "./recorder.ts";
import { Stop } from "./until.ts";
import { type Archived, walk } from "./walk.ts";

export interface ReplayParts {
  readonly store: ObjectStore;
  readonly key: EncryptionKey | undefined;
  readonly board: ProgressBoard;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/** TTL, in seconds, for a lease that had expired before its TTL was read. */
const UNKNOWN_TTL = 60;
const READ_MS = 10_000;
/** Time limit for the start of the throw-away etcd, in milliseconds; one with ten gigabytes takes a minute. */
const START_MS = 5 * 60_000;
const ASK_EVERY_MS = 500;

/**
 * Replays changes to the throw-away etcd up to the chosen revision, and replaces the fetched snapshot with a snapshot
 * of the result.
 */
export async function replay(task: ReplayTask, parts: ReplayParts): Promise<ReplayedSnapshot> {
  const { board, log } = parts;
  const source = new SnapshotSource({ url: task.endpoint });
  const end = new AbortController();
  const signal = AbortSignal.any([parts.signal, end.signal]);
  const member = new ReplayMember(task.endpoint, signal);
  try {
    const base = await baseOf(task, source, parts);
    board.phase = "Replaying";
    await member.disarmNoSpace();
    await member.readLeases();
    const renewing = member.keepLeases();
    renewing.catch(() => undefined); // The failure is handled where the promise is awaited.
    const replayed = await Promise.race([renewing, applyAll(task, base, member, parts)]);
    log.info({}, `the throw-away etcd is at revision ${replayed.revision}`);
    board.phase = "Finishing";
    await Promise.race([renewing, saveSnapshot(source, task.workDir, replayed.revision, parts)]);
    board.phase = "Done";
    const lastAt = replayed.lastAtMs === undefined ? {} : { lastAt: isoOf(replayed.lastAtMs) };
    return { key: task.key, from: base.revision.toString(), revision: replayed.revision.toString(), ...lastAt };
  } finally {
    end.abort();
    member.close();
    source.close();
  }
}

/** Retries while the throw-away etcd starts. */
async function firstAnswer(source: SnapshotSource, clock: Clock, signal: AbortSignal): Promise<bigint> {
  for (const endMs = clock.monotonicMs() + START_MS; ; ) {
    try {
      return await source.revision({ signal, deadlineMs: READ_MS });
    } catch (thrown) {
      if (!hasCode(thrown, "EtcdUnavailable", "EtcdRejected") || clock.monotonicMs() > endMs) throw thrown;
      await clock.sleep(ASK_EVERY_MS, signal);
    }
  }
}

async function baseOf(task: ReplayTask, source: SnapshotSource, { store, clock, signal }: ReplayParts): Promise<Base> {
  const { manifest } = await readStored(store, task.key, signal);
  if (manifest === undefined) {
    const why = "its cluster and the time of the snapshot are unknown";
    throw new AgentError("BadTask", `${task.key} has no manifest: ${why}, so no changes can be added to it`);
  }
  // A different revision means that a lease expired or that an earlier attempt applied changes.
  const { revision: expected } = await factsOf(join(task.workDir, SNAPSHOT_FILE));
  const revision = await firstAnswer(source, clock, signal);
  if (revision !== expected) throw diverged(`the throw-away etcd is at revision ${revision}`, `revision ${expected}`);
  const [startedMs, atMs] = [Date.parse(manifest.startedAt), Date.parse(manifest.completedAt)];
  return { clusterID: manifest.cluster.id, revision, startedMs, atMs };
}

interface Applied {
  readonly revision: bigint;
  readonly lastAtMs: number | undefined;
}

async function applyAll(task: ReplayTask, base: Base, member: ReplayMember, parts: ReplayParts): Promise<Applied> {
  const stop = new Stop(task.until, base);
  let revision = base.revision;
  let lastAtMs: number | undefined;
  let isEnough = false;
  const revisions = walk(base, { ...parts, prefix: task.prefix }, () => isEnough);
  for (;;) {
    const { value, done } = await revisions.next();
    if (done) {
      if (!isEnough) stop.checkReach(revision, value);
      return { revision, lastAtMs };
    }
    isEnough ||= stop.isBefore(value);
    if (isEnough || value.revision <= base.revision) continue;
    if (value.revision !== revision + 1n) {
      throw new AgentError("ArchiveCorrupt", `revision ${value.revision} follows ${revision}`);
    }
    parts.board.bytesRead += await apply(value, member);
    revision = value.revision;
    lastAtMs = value.atMs;
  }
}

/**
 * Applies a revision in one transaction, so that the result has the same revision.
 * @returns the number of bytes of its keys and values in base64
 * @throws AgentError when the revision or the number of deleted keys differs: then the data is not the archived data
 */
export async function apply(
  { revision, leases, changes }: Archived,
  member: Pick<ReplayMember, "hasLease" | "grant" | "apply">,
): Promise<number> {
  const ttls = new Map(leases.map(({ lease, ttl }) => [lease, ttl]));
  const operations: Operation[] = [];
  let deletions = 0;
  let bytes = 0;
  for (const change of changes) {
    if ("delete" in change) {
      deletions += 1;
      bytes += change.delete.length;
      operations.push({ delete: Buffer.from(change.delete, "base64") });
      continue;
    }
    bytes += change.put.length + change.value.length;
    const lease = change.lease === undefined ? 0n : BigInt(`0x${change.lease}`);
    if (lease !== 0n && !member.hasLease(lease)) {
      await member.grant(lease, ttls.get(change.lease ?? "") ?? UNKNOWN_TTL);
    }
    operations.push({ put: Buffer.from(change.put, "base64"), value: Buffer.from(change.value, "base64"), lease });
  }
  const applied = await member.apply(operations);
  if (applied.revision === revision && applied.deleted === deletions) return bytes;
  const made = `a change of the throw-away etcd made revision ${applied.revision} and deleted ${applied.deleted} keys`;
  throw diverged(made, `revision ${revision} with ${deletions} deleted keys`);
}

async function saveSnapshot(
  source: SnapshotSource,
  workDir: string,
  expected: bigint,
  { signal, board }: ReplayParts,
): Promise<void> {
  const path = join(workDir, SNAPSHOT_FILE);
  const part = `${path}.part`;
  const file = await onDisk(part, () => open(part, "w", 0o600));
  try {
    for await (const chunk of new SnapshotCheck().pass(source.snapshot(signal))) {
      await onDisk(part, () => writeAll(file, chunk));
      board.bytesStored += chunk.length;
    }
  } finally {
    await file.close();
  }
  const { revision } = await factsOf(part);
  if (revision !== expected)
    throw diverged(`the snapshot of the throw-away etcd has revision ${revision}`, `revision ${expected}`);
  const { isAuthLifted } = await readExpectation(workDir);
  if (isAuthLifted === true) await onDisk(part, () => switchAuth(part, true));
  await onDisk(part, () => rename(part, path));
}

function diverged(what: string, expected: string): AgentError {
  return new AgentError(
    "ReplayDiverged",
    `${what}, but ${expected} was expected; the throw-away etcd is built again from the backup`,
  );
}
