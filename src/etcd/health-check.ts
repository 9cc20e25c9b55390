import http from "node:http";
import { text } from "node:stream/consumers";
import { OperatorError } from "#base/error.ts";
import { type MemberId, memberIdFromHex } from "./types.ts";

// Why a second way to ask a member, beside gRPC?
//   A new member gets a snapshot; when that holds its own announcement, it waits for the announcement until its time is up (5 s and
//   two election timeouts) and opens its client port only then (publishV3 in server/etcdserver/server.go, etcd 3.6 and 3.7).
//   It takes part in the cluster all the while. Its metrics port is open, and tells.
// Why two questions?
//   `/health` is etcd's own verdict, and does not say whose it is: an address may have passed to another member's pod.

/** Over a hundred kilobytes in etcd 3.7; more than this, in bytes, is no etcd. */
const MOST_BYTES = 4 * 1024 ** 2;

/**
 * Who the member is, if it passes etcd's own health check: it has a leader, no alarm is raised, and a linearizable read by it
 * succeeds, so it has applied all that was committed.
 * @param address host and port of its metrics URL, plain HTTP
 * @throws OperatorError EtcdUnavailable when it does not pass, or does not answer as an etcd does
 */
export async function checkHealth(address: string, signal: AbortSignal): Promise<MemberId> {
  await get(address, "/health", signal);
  const id = /^etcd_server_id\{server_id="([1-9a-f][0-9a-f]{0,15})"\} 1$/m.exec(
    await get(address, "/metrics", signal),
  )?.[1];
  if (id === undefined) throw new OperatorError("EtcdUnavailable", `health at ${address}: it does not say who it is`);
  return memberIdFromHex(id);
}

/** A connection for each question: they are rare. */
function get(address: string, path: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new OperatorError("EtcdUnavailable", `GET ${path} at ${address}: ${why}`));
    const request = http.get(`http://${address}${path}`, { agent: false, signal });
    request.on("error", (cause) => fail(cause.message));
    request.on("response", (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MOST_BYTES) request.destroy(new Error(`more than ${MOST_BYTES} bytes`));
      });
      const { statusCode } = response;
      text(response).then(
        (body) => (statusCode === 200 ? resolve(body) : fail(`status ${statusCode}: ${body.trim()}`)),
        (cause: Error) => fail(cause.message),
      );
    });
  });
}
