import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { receivedIn, saysLeader, serverIdIn } from "./metrics-lines.ts";
import { askMetricsPort } from "./metrics-port.ts";
import { hexOf, type MemberId } from "./types.ts";

// Why ask a member about the others?
//   Whom we cannot reach may be well: the network between us and it is not the one between the members.
// Why count bytes, when etcd tells of active peers (etcd_network_active_peers)?
//   That number stays while the TCP connection stands. A frozen process keeps it for ever, a lost node for minutes: etcd's own read
//   timeout is not in force, since its transport sets Dial beside DialContext, which wins (client/pkg/transport, 3.5 to 3.7).
// What is "heard" worth?
//   The leader sends each member a heartbeat every 100 ms, and each answers; so between the leader and any other member, in both
//   directions, bytes arrive all the time, and stop at once when a process is killed, frozen or cut off. Two followers say nothing to
//   each other: that one does not hear the other means nothing.
//   Whoever is heard runs, and takes part. Nothing is said about its data, nor whether it serves clients.
// How soon?
//   Measured with 3.5, 3.6 and 3.7: the first answer after a process was killed or frozen does not have it any more.

/** Time between the two looks, in milliseconds: ten heartbeats, so that a busy machine may lose some. */
export const LISTEN_MS = 1_000;

/** What one member hears of the others. */
export interface HeardPeers {
  /** Who listened. */
  readonly by: MemberId;
  /** Whether it was the leader all the while. Only then it is of any meaning that somebody was not heard. */
  readonly isLeader: boolean;
  /** From whom raft traffic arrived while it was listened. */
  readonly heard: ReadonlySet<MemberId>;
}

interface Look {
  readonly by: MemberId;
  readonly isLeader: boolean;
  readonly bytes: ReadonlyMap<MemberId, number>;
}

/**
 * Looks twice, LISTEN_MS apart.
 * @param address host and port of the member's metrics URL, plain HTTP
 * @param expected the member that must tell; undefined: whoever it is
 * @throws OperatorError EtcdUnavailable when somebody else tells, or nobody as an etcd does
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
  const who = by === undefined ? "somebody who does not say who it is" : `member ${hexOf(by)}`;
  const wanted = expected === undefined ? "" : `, expected ${hexOf(expected)}`;
  throw new OperatorError("EtcdUnavailable", `peers heard at ${address}: answered by ${who}${wanted}`);
}
