import { type MemberId, memberIdFromHex } from "./types.ts";

// Parser for the few lines of etcd's `/metrics` (Prometheus text format) that the operator reads.
// Why not a library? It would parse all of the text. This reads lines as they arrive, and needs three of them.

/** Line with the ID of the answering member. */
const SERVER_ID = /^etcd_server_id\{server_id="([1-9a-f][0-9a-f]{0,15})"\} 1$/;

/**
 * Counter of bytes received from one peer. Lines with `From="0"` do not match: they count keepalives without a sender.
 */
const RECEIVED = /^etcd_network_peer_received_bytes_total\{From="([1-9a-f][0-9a-f]{0,15})"\} (\S+)$/;

/** The ID of the answering member. Undefined when the line is not `etcd_server_id`. */
export function serverIdIn(line: string): MemberId | undefined {
  const [, id] = SERVER_ID.exec(line) ?? [];
  return id === undefined ? undefined : memberIdFromHex(id);
}

/** Whether this line marks the answering member as the leader. */
export function saysLeader(line: string): boolean {
  return line === "etcd_server_is_leader 1";
}

/**
 * Bytes of raft traffic received from one peer since the process started. Undefined when the line is not that counter.
 */
export function receivedIn(line: string): { readonly from: MemberId; readonly bytes: number } | undefined {
  const [, from, text] = RECEIVED.exec(line) ?? [];
  const bytes = Number(text);
  return from === undefined || !Number.isFinite(bytes) ? undefined : { from: memberIdFromHex(from), bytes };
}
