import { OperatorError } from "#base/error.ts";
import { serverIdIn } from "./metrics-lines.ts";
import { askMetricsPort } from "./metrics-port.ts";
import type { MemberId } from "./types.ts";

// Why a health check in addition to gRPC?
//   The client port can open late. A new member publishes its attributes (name and client URLs) through raft and waits
//   for them. When it received them in a snapshot instead, it waits for the full timeout: 5 s and two election
//   timeouts. Only then it opens its client port (publishV3 in server/etcdserver/server.go, etcd 3.6 and 3.7).
//   The member participates in the cluster all the time, and its metrics port is open.
// Why two requests?
//   `/health` does not contain the member ID, and the address may now belong to another member's pod.

/**
 * ID of the member, if it passes etcd's own health check: it has a leader, no alarm is raised, and a linearizable read
 * succeeds. The member has then applied all committed entries.
 * @param address host and port of its metrics URL, plain HTTP
 * @throws OperatorError EtcdUnavailable when the check fails, or the answer has no member ID
 */
export async function checkHealth(address: string, signal: AbortSignal): Promise<MemberId> {
  await askMetricsPort(address, "/health", signal);
  let id: MemberId | undefined;
  await askMetricsPort(address, "/metrics", signal, (line) => {
    id ??= serverIdIn(line);
  });
  if (id === undefined)
    throw new OperatorError("EtcdUnavailable", `health at ${address}: its metrics have no member ID`);
  return id;
}
