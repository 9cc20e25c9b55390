import { connect, createServer, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** A proxy to a server on loopback that can be slow, or away. */
export interface SlowProxy {
  readonly port: number;
  /** Bytes that clients have sent so far. */
  readonly sentBytes: number;
  /** Passes at most so many bytes per second of each connection to the server; without a rate, all at once. */
  slowTo(bytesPerSecond: number | undefined): void;
  /** Ends all connections, and refuses new ones. */
  leave(): Promise<void>;
  /** Accepts connections again, on the same port. */
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param targetPort of the server on loopback
 * @param host where it listens, such as `0.0.0.0` for clients in pods
 */
export async function startSlowProxy(targetPort: number, host: string): Promise<SlowProxy> {
  const sockets = new Set<Socket>();
  let [sentBytes, rate]: [number, number | undefined] = [0, undefined];
  async function* slowed(pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      sentBytes += piece.length;
      if (rate !== undefined) await sleep((1000 * piece.length) / rate);
      yield piece;
    }
  }
  const server = createServer((near) => {
    const far = connect(targetPort, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    }
    // An error ends both sockets, and is the client's to report.
    pipeline(near, slowed, far).catch(() => undefined);
    pipeline(far, near).catch(() => undefined);
  });
  const listen = (port: number) => new Promise<void>((done) => server.listen(port, host, done));
  const leave = async () => {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as { port: number };
  return {
    port,
    get sentBytes() {
      return sentBytes;
    },
    slowTo(bytesPerSecond) {
      rate = bytesPerSecond;
    },
    leave,
    comeBack: () => listen(port),
    stop: leave,
  };
}
