import type { Server, Socket } from "node:net";

/**
 * Bounds how many connections a server holds. Of one address no more are held than its share, so that whoever is silent on all of theirs leaves room
 * for others; what is beyond is closed at once.
 * @param most of all addresses together @param ofAddress of each
 */
export function limitConnections(server: Server, { most, ofAddress }: { most: number; ofAddress: number }): void {
  server.maxConnections = most;
  const held = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const { remoteAddress: address } = socket;
    const others = held.get(address ?? "") ?? 0;
    // Who has gone by now has no address.
    if (address === undefined || others >= ofAddress) return void socket.destroy();
    held.set(address, others + 1);
    socket.once("close", () => {
      const left = (held.get(address) ?? 0) - 1;
      if (left > 0) held.set(address, left);
      else held.delete(address);
    });
  });
}
