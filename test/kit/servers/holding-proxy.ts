import { connect, createServer, type Socket } from "node:net";

/** A proxy that stops at a moment that the test chooses, before the triggering bytes have arrived. */
export interface HoldingProxy {
  readonly port: number;
  /** Resolves when the proxy has stopped. */
  readonly held: Promise<void>;
  /** Lets the held bytes pass, and holds nothing any more. */
  resume(): void;
  stop(): Promise<void>;
}

/**
 * @param targetPort of the server on loopback, evaluated for each connection
 * @param isEnough evaluated before each piece is sent to the server, with the earlier bytes of all connections, and the
 * piece
 * @param host where it listens; by default only this machine can reach it
 */
export async function startHoldingProxy(
  targetPort: () => number,
  isEnough: (bytesBefore: number, piece: Buffer) => boolean,
  host = "127.0.0.1",
): Promise<HoldingProxy> {
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  let [bytes, isHeld] = [0, false];
  const server = createServer((near) => {
    const far = connect(targetPort(), "127.0.0.1");
    const forward = async () => {
      for await (const piece of near as AsyncIterable<Buffer>) {
        isHeld ||= isEnough(bytes, piece);
        if (isHeld) hold();
        if (isHeld) await resumed;
        bytes += piece.length;
        far.write(piece);
      }
      far.end();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => [near, far].forEach((other) => void other.destroy()));
    }
    forward().catch(() => far.destroy()); // the client that ended the connection gets no more data
    far.pipe(near);
  });
  await new Promise<void>((done) => server.listen(0, host, done));
  return {
    port: (server.address() as { port: number }).port,
    held,
    resume,
    async stop() {
      resume();
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
