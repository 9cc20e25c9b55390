import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { receivedIn, saysLeader, serverIdIn } from "./metrics-lines.ts";
import { askMetricsPort } from "./metrics-port.ts";
import { hexOf, type MemberId } from "./types.ts";

// Why ask a member about its peers?
//   A member that the operator cannot reach may be healthy: members may reach each other over another network path.
// Why count bytes, instead of reading the metric etcd_network_active_peers?
//   The metric does not change while the TCP connection exists: forever for a frozen process, minutes for a lost node.
//   The read timeout in etcd does not apply: its transport sets both Dial and DialContext. DialContext takes precedence
//   (client/pkg/transport, 3.5 to 3.7).
// What does raft traffic from a peer prove?
//   The leader sends each member a heartbeat every 100 ms, and each member answers. So bytes flow between the leader
//   and every member in both directions, and stop at once when a process is killed, frozen or partitioned.
//   Followers do not exchange heartbeats, so silence between two followers proves nothing.
//   A peer with traffic runs and participates in raft. Its data may still be corrupt, and it may not serve clients.
// How fast is a failure detected?
//   At once, measured with 3.5, 3.6 and 3.7: the first result after a process was killed or frozen does not include it.

/**
 * Milliseconds between the two readings of the counters: ten heartbeats. Smaller: a busy machine that loses some
 * heartbeats looks silent. Larger: the caller waits for longer.
 */
export const LISTEN_MS = 1_000;

/** Peers from which one member received raft traffic. */
export interface HeardPeers {
  /** The member that answered. */
  readonly by: MemberId;
  /** Whether the member was the leader in both readings. Only then the absence of a peer from `heard` is evidence. */
  readonly isLeader: boolean;
  /** Peers from which raft traffic arrived between the two readings. */
  readonly heard: ReadonlySet<MemberId>;
}

interface Look {
  readonly by: MemberId;
  readonly isLeader: boolean;
  readonly bytes: ReadonlyMap<MemberId, number>;
}

/**
 * Reads the member's traffic counters twice, LISTEN_MS apart, and compares them.
 * @param address host and port of the member's metrics URL, plain HTTP
 * @param expected the member that must answer; undefined: any member
 * @throws OperatorError EtcdUnavailable when another member answers, or the answer has no member ID
 */
export async function listenForPeers(
  address: string,
  expected: MemberId | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<HeardPeers> {
  const before = await look(address, expected, signal);
  await clock.sleep(LISTEN_MS, signal).catch((cause: unknown) => {
    throw new OperatorError("EtcdUnavailable", `peers heard at ${address}: no time left to listen`, { cause });
  });
  const after = await look(address, before.by, signal);
  const heard = [...after.bytes].filter(([from, bytes]) => bytes !== before.bytes.get(from)).map(([from]) => from);
  return { by: after.by, isLeader: before.isLeader && after.isLeader, heard: new Set(heard) };
}

async function look(address: string, expected: MemberId | undefined, signal: AbortSignal): Promise<Look> {
  let by: MemberId | undefined;
  let isLeader = false;
  const bytes = new Map<MemberId, number>();
  await askMetricsPort(address, "/metrics", signal, (line) => {
    by ??= serverIdIn(line);
    isLeader ||= saysLeader(line);
    const received = receivedIn(line);
    if (received !== undefined) bytes.set(received.from, received.bytes);
  });
  if (by !== undefined && (expected === undefined || by === expected)) return { by, isLeader, bytes };
  const who = by === undefined ? "a server without member ID" : `member ${hexOf(by)}`;
  const wanted = expected === undefined ? "" : `, expected ${hexOf(expected)}`;
  throw new OperatorError("EtcdUnavailable", `peers heard at ${address}: answered by ${who}${wanted}`);
}
