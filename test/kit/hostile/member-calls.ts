import { systemClock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import type { Observed } from "#base/observed.ts";
import type { Heard } from "#etcd/change-feed.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { ReplayMember } from "#etcd/replay-member.ts";
import { SnapshotSource } from "#etcd/snapshot-source.ts";
import { TransportPool } from "#etcd/transport.ts";
import { memberIdFromHex } from "#etcd/types.ts";

// Calls to a member with the clients of the operator and the agent, for processes that call hostile members.

const pool = new TransportPool(systemClock);
const etcd = new GrpcClient({ pool, clock: systemClock });

/** Calls the member at an address. A stream ends with the signal; it has no deadline. */
export type MemberCall = (address: string, signal: AbortSignal, deadlineMs: number) => Promise<unknown>;

async function withSource(address: string, use: (source: SnapshotSource) => Promise<unknown>): Promise<unknown> {
  const source = new SnapshotSource({ url: `http://${address}` });
  try {
    return await use(source);
  } finally {
    source.close();
  }
}

async function withReplay(
  address: string,
  signal: AbortSignal,
  use: (member: ReplayMember) => Promise<unknown>,
): Promise<unknown> {
  const member = new ReplayMember(`http://${address}`, signal);
  try {
    return await use(member);
  } finally {
    member.close();
  }
}

/**
 * Reads a stream to its end without keeping anything.
 * @returns the number of messages
 */
async function drain(stream: AsyncIterable<unknown>): Promise<number> {
  let messages = 0;
  for await (const _ of stream) messages += 1;
  return messages;
}

/** @throws OperatorError EtcdUnavailable when the observation failed */
function seen<T>(observed: Observed<T>): T | undefined {
  if (observed.is === "unknown") throw new OperatorError("EtcdUnavailable", observed.why);
  return observed.is === "present" ? observed.value : undefined;
}

export const CALLS = {
  status: (address, signal, deadlineMs) => etcd.status({ address }, { signal, deadlineMs }),
  memberList: (address, signal, deadlineMs) => etcd.memberList({ address }, { signal, deadlineMs, linearizable: true }),
  promote: (address, signal, deadlineMs) => etcd.promote({ address }, memberIdFromHex("7"), { signal, deadlineMs }),
  alarms: (address, signal, deadlineMs) => etcd.alarms({ address }, { signal, deadlineMs }),
  hashKv: (address, signal, deadlineMs) => etcd.hashKv({ address }, { signal, deadlineMs }),
  put: (address, signal, deadlineMs) => etcd.put({ address }, "key", "x".repeat(1_000_000), { signal, deadlineMs }),
  get: (address, signal, deadlineMs) => etcd.get({ address }, "key", { signal, deadlineMs }),
  userList: (address, signal, deadlineMs) => etcd.userList({ address }, { signal, deadlineMs }),
  userGet: (address, signal, deadlineMs) => etcd.userGet({ address }, "user", { signal, deadlineMs }),
  roleGet: (address, signal, deadlineMs) => etcd.roleGet({ address }, "role", { signal, deadlineMs }),
  health: async (address, signal, deadlineMs) => seen(await etcd.health(address, { signal, deadlineMs })),
  serves: async (address, signal, deadlineMs) => seen(await etcd.serves({ address }, { signal, deadlineMs })),
  heardPeers: async (address, signal, deadlineMs) => seen(await etcd.heardPeers(address, { signal, deadlineMs })),
  sourceStatus: (address, signal, deadlineMs) => withSource(address, (source) => source.status({ signal, deadlineMs })),
  snapshot: (address, signal) => withSource(address, (source) => drain(source.snapshot(signal))),
  watch: (address, signal) => withSource(address, (source) => follow(source.changes.from(1n, signal))),
  leases: (address, signal) => withReplay(address, signal, (member) => member.readLeases()),
  txn: (address, signal) => withReplay(address, signal, (member) => member.apply([{ delete: new Uint8Array([1]) }])),
} satisfies Record<string, MemberCall>;

export type CallName = keyof typeof CALLS;

/**
 * Reads every part of a change feed.
 * @throws OperatorError also for a part that is too large
 */
async function follow(feed: AsyncIterable<Heard>): Promise<void> {
  for await (const heard of feed) {
    if (heard.kind === "tooLarge") throw new OperatorError("EtcdUnavailable", heard.message);
  }
}

/** Calls without a deadline; their signal ends them. */
const STREAMS: readonly string[] = ["snapshot", "watch", "leases", "txn"];

/**
 * Makes one call, and waits for its end.
 * @returns code and message of the error; undefined when all went well. The code is `surprise` for an error that
 * callers of the client would not recognize.
 */
export async function failureOf(call: CallName, address: string, deadlineMs: number): Promise<string | undefined> {
  const signal = STREAMS.includes(call) ? AbortSignal.timeout(deadlineMs) : new AbortController().signal;
  try {
    await CALLS[call](address, signal, deadlineMs);
    return undefined;
  } catch (thrown) {
    const known = hasCode(thrown, "EtcdUnavailable", "EtcdRejected", "Cancelled");
    return `${known ? thrown.code : "surprise"}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

/** Closes all connections, so that the process can end. */
export function closeAll(): void {
  pool.closeAll();
}
