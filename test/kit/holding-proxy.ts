import { connect, createServer, type Socket } from "node:net";

/** A network that stands still at a moment of our choice, before what made it do so has arrived. */
export interface HoldingProxy {
  readonly port: number;
  /** Resolves when nothing passes any more. */
  readonly held: Promise<void>;
  /** What was held back passes now, and nothing is held any more. */
  resume(): void;
  stop(): Promise<void>;
}

/**
 * @param targetPort of the server on loopback, asked for each connection
 * @param isEnough asked before each piece goes to the server: the bytes of all connections before it, and the piece
 * @param host where it listens; by default nobody but this machine reaches it
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
    forward().catch(() => far.destroy()); // Whoever broke it off hears nothing more.
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
