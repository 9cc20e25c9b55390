import { OperatorError } from "#base/error.ts";
import { serverIdIn } from "./metrics-lines.ts";
import { askMetricsPort } from "./metrics-port.ts";
import type { MemberId } from "./types.ts";

// Why a second way to ask a member, beside gRPC?
//   A new member gets a snapshot; when that holds its own announcement, it waits for the announcement until its time is up (5 s and
//   two election timeouts) and opens its client port only then (publishV3 in server/etcdserver/server.go, etcd 3.6 and 3.7).
//   It takes part in the cluster all the while. Its metrics port is open, and tells.
// Why two questions?
//   `/health` is etcd's own verdict, and does not say whose it is: an address may have passed to another member's pod.

/**
 * Who the member is, if it passes etcd's own health check: it has a leader, no alarm is raised, and a linearizable read by it
 * succeeds, so it has applied all that was committed.
 * @param address host and port of its metrics URL, plain HTTP
 * @throws OperatorError EtcdUnavailable when it does not pass, or does not answer as an etcd does
 */
export async function checkHealth(address: string, signal: AbortSignal): Promise<MemberId> {
  await askMetricsPort(address, "/health", signal);
  let id: MemberId | undefined;
  await askMetricsPort(address, "/metrics", signal, (line) => {
    id ??= serverIdIn(line);
  });
  if (id === undefined) throw new OperatorError("EtcdUnavailable", `health at ${address}: it does not say who it is`);
  return id;
}
