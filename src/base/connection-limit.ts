import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";

// Why not Node's own limits?
//   `maxConnections` refuses the newest connection, so a flood from one address would keep out all others.

/** Limits on the connections of a server. */
export interface ConnectionLimits {
  /** Maximum of all addresses together. */
  readonly most: number;
  /** Maximum of one address. */
  readonly ofAddress: number;
  /** From the head of a request to the last byte of its answer, in milliseconds; then the connection is closed. */
  readonly exchangeWithinMs: number;
}

/** Closing connections still count at the operating system, so the server itself accepts so many more. */
const SLACK = 64;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Limits a server to so many connections, in total and of one address, and to one request at a time on each. A new
 * connection beyond a limit replaces the oldest idle one: of its own address, or of an address with more connections,
 * most first. When all of these are busy, the oldest one of the address with the most is closed for an address with at
 * least two fewer; else the new one is.
 */
export function answerWithin(limits: ConnectionLimits, server: Server | SecureServer, answer: Answer): void {
  const { most, ofAddress, exchangeWithinMs } = limits;
  server.maxConnections = most + SLACK;
  /** Connections by address, oldest first. */
  const held = new Map<string, Set<Socket>>();
  const addresses = new Map<Socket, string>();
  /**
   * Answers that are not fully sent, by `peerOf`: over TLS a request has another socket object. Of two on one
   * connection, the later one.
   */
  const busy = new Map<string, ServerResponse>();

  const oldestIdle = (of: ReadonlySet<Socket>): Socket | undefined => {
    for (const socket of of) if (!socket.destroyed && !busy.has(peerOf(socket))) return socket;
    return undefined;
  };
  /** Makes room for one more connection of the address. @returns whether there is room */
  const makeRoom = (own: ReadonlySet<Socket>): boolean => {
    if (own.size < ofAddress && addresses.size < most) return true;
    const crowds = own.size >= ofAddress ? [own] : [...held.values()].sort((a, b) => b.size - a.size);
    for (const each of crowds) {
      if (each !== own && each.size <= own.size) continue;
      const idle = oldestIdle(each);
      if (idle === undefined) continue;
      forget(idle);
      idle.destroy();
      return true;
    }
    // Addresses that keep all their connections busy, such as with slow bodies, must not block other addresses.
    const [largest = own] = crowds;
    const [oldest] = largest;
    if (oldest === undefined || largest.size <= own.size + 1) return false;
    forget(oldest);
    oldest.destroy();
    return true;
  };
  const forget = (socket: Socket): void => {
    const address = addresses.get(socket);
    if (address === undefined) return;
    addresses.delete(socket);
    const own = held.get(address);
    own?.delete(socket);
    if (own?.size === 0) held.delete(address);
  };

  server.on("connection", (socket: Socket) => {
    const { remoteAddress: address } = socket;
    const own = held.get(address ?? "") ?? new Set();
    if (address === undefined || !makeRoom(own)) return void socket.destroy(); // Without an address it has ended already.
    own.add(socket);
    held.set(address, own);
    addresses.set(socket, address);
    socket.once("close", () => forget(socket));
  });

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const peer = peerOf(socket);
    // A second request before the first is answered: neither the API server, nor the kubelet, nor Prometheus sends one.
    // A client with its answer may send the next request before the end of the answer is reported here.
    if (busy.get(peer)?.writableEnded === false || socket.destroyed) return void socket.destroy();
    busy.set(peer, response);
    const late = setTimeout(() => socket.destroy(), exchangeWithinMs);
    response.once("close", () => {
      clearTimeout(late);
      if (busy.get(peer) === response) busy.delete(peer);
    });
    answer(request, response);
  });
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
