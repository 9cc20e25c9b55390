import { type MemberId, memberIdFromHex } from "./types.ts";

// Lines of etcd's `/metrics`, in the text format of Prometheus, as far as the operator reads them.

/** Says who the member is. */
const SERVER_ID = /^etcd_server_id\{server_id="([1-9a-f][0-9a-f]{0,15})"\} 1$/;

/** Counts what came from another member. From "0" come etcd's own signs of life for a connection, whoever sent them. */
const RECEIVED = /^etcd_network_peer_received_bytes_total\{From="([1-9a-f][0-9a-f]{0,15})"\} (\S+)$/;

/** The ID of the member that tells; undefined when the line is another one. */
export function serverIdIn(line: string): MemberId | undefined {
  const [, id] = SERVER_ID.exec(line) ?? [];
  return id === undefined ? undefined : memberIdFromHex(id);
}

/** Whether the line says that the member that tells is the leader. */
export function saysLeader(line: string): boolean {
  return line === "etcd_server_is_leader 1";
}

/** How much raft traffic came from whom since the process started, in bytes; undefined when the line is another one. */
export function receivedIn(line: string): { readonly from: MemberId; readonly bytes: number } | undefined {
  const [, from, text] = RECEIVED.exec(line) ?? [];
  const bytes = Number(text);
  return from === undefined || !Number.isFinite(bytes) ? undefined : { from: memberIdFromHex(from), bytes };
}
