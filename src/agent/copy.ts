import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { StoreError } from "#objectstore/error.ts";
import type { Metadata, ObjectStore } from "#objectstore/store.ts";
import type { Bytes } from "./archive/bytes.ts";
import { type Measures, PackedSnapshot, type Packing } from "./archive/pack.ts";
import { type Member, sourceError } from "./choose-member.ts";
import { AgentError } from "./error.ts";
import { type Growth, GrowthWatch } from "./growth.ts";
import type { ProgressBoard } from "./progress.ts";
import { storeError } from "./store-error.ts";
import { Watchdog } from "./watchdog.ts";

/** What copying uses. */
export interface CopyParts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly board: ProgressBoard;
  /** Aborts when the agent must stop. */
  readonly signal: AbortSignal;
  /** Time without progress after which copying fails, in milliseconds. */
  readonly patienceMs: number;
}

/**
 * Streams a member's snapshot into a new object: read, verified, packed and sent, reading no faster than sending.
 * @throws AgentError; then no such object exists
 */
export async function copySnapshot(
  member: Member,
  target: { readonly key: string; readonly metadata: Metadata; readonly packing: Packing },
  { store, clock, board, signal: stop, patienceMs }: CopyParts,
): Promise<Measures> {
  const { source, status } = member;
  const watchdog = new Watchdog(clock, patienceMs);
  const growthWatch = new GrowthWatch(member, clock);
  const signal = AbortSignal.any([stop, watchdog.signal, growthWatch.signal]);
  const packed = new PackedSnapshot(target.packing);
  Object.assign(board, { phase: "Copying", bytesRead: 0, bytesStored: 0, bytesExpected: status.dbSizeBytes });

  async function* read(snapshot: Bytes) {
    watchdog.waitsFor = "source";
    for await (const chunk of snapshot) {
      watchdog.waitsFor = "store";
      watchdog.moved();
      board.bytesRead += chunk.length;
      yield chunk;
      watchdog.waitsFor = "source";
    }
    watchdog.waitsFor = "store";
    growthWatch.stop(); // etcd's read transaction has ended with the stream
  }

  async function* send(bytes: Bytes) {
    for await (const chunk of bytes) {
      yield chunk;
      watchdog.moved();
      board.bytesStored += chunk.length;
    }
    board.phase = "Finishing";
  }

  try {
    const body = send(packed.pass(read(source.snapshot(signal))));
    await store.put(target.key, body, { metadata: target.metadata, expectedBytes: status.dbSizeBytes, signal });
    return packed.measures();
  } catch (thrown) {
    if (stop.aborted) throw stopped(thrown);
    if (growthWatch.growth !== undefined) throw grown(source.address, growthWatch.growth, thrown);
    if (watchdog.signal.aborted) throw stalled(watchdog, source.address, patienceMs, thrown);
    throw asAgentError(thrown);
  } finally {
    watchdog.stop();
    growthWatch.stop();
  }
}

/** Translates any error into one with a report's reason. */
export function asAgentError(thrown: unknown): AgentError {
  if (thrown instanceof AgentError) return thrown;
  if (thrown instanceof StoreError) return storeError(thrown);
  if (!(thrown instanceof OperatorError)) {
    const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
    return new AgentError("Internal", message, { cause: thrown });
  }
  return thrown.code === "Cancelled" ? stopped(thrown) : sourceError(thrown);
}

function stopped(cause: unknown): AgentError {
  return new AgentError("Stopped", "the agent was stopped before the task was done", { cause });
}

function grown(address: string, { from, to, quota }: Growth, cause: unknown): AgentError {
  const message = `the object store is too slow. While it took the snapshot of ${address}, the database grew from ${from} to ${to} bytes of its quota of ${quota}. Use a faster store or a larger quota`;
  return new AgentError("StoreUnreachable", message, { cause });
}

function stalled(watchdog: Watchdog, address: string, patienceMs: number, cause: unknown): AgentError {
  const seconds = Math.round(patienceMs / 1000);
  return watchdog.waitsFor === "source"
    ? new AgentError("SourceUnreachable", `no byte has arrived from ${address} for ${seconds} s`, { cause })
    : new AgentError("StoreUnreachable", `the object store has accepted no byte for ${seconds} s`, { cause });
}
