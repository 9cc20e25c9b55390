import { connect, createServer, type Server, type Socket } from "node:net";

/** A TCP proxy on loopback that can break its connections. */
export interface FaultProxy {
  readonly port: number;
  /** Number of connections so far. */
  readonly opened: number;
  /** Connections stay open and new ones are accepted, but no byte passes, as in a network that drops packets. */
  freeze(): void;
  /** Lets the held bytes pass. */
  thaw(): void;
  /** Ends all connections with RST; new ones work. */
  reset(): void;
  /**
   * Ends every connection after that many more bytes from the server, wherever in the data that is; `undefined` stops
   * it.
   */
  cutAfter(bytes: number | undefined): void;
  stop(): Promise<void>;
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new Proxying(targetPort);
  await proxy.listen();
  return proxy;
}

class Proxying implements FaultProxy {
  readonly #targetPort: number;
  readonly #server: Server;
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>();
  #frozen = false;
  #bytesLeft: number | undefined;
  opened = 0;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async listen(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
  }

  freeze(): void {
    this.#frozen = true;
    for (const socket of this.#sockets()) socket.pause();
  }

  thaw(): void {
    this.#frozen = false;
    for (const socket of this.#sockets()) socket.resume();
  }

  reset(): void {
    for (const socket of this.#sockets()) socket.resetAndDestroy();
  }

  cutAfter(bytes: number | undefined): void {
    this.#bytesLeft = bytes;
  }

  async stop(): Promise<void> {
    this.reset();
    await new Promise((done) => this.#server.close(done));
  }

  #sockets(): Socket[] {
    return [...this.#pairs].flat();
  }

  #accept(client: Socket): void {
    this.opened += 1;
    const server = connect(this.#targetPort, "127.0.0.1");
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    client.on("data", (bytes) => void server.write(bytes));
    server.on("data", (bytes) => this.#toClient(bytes, pair));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
      from.on("close", () => {
        to.destroy();
        this.#pairs.delete(pair);
      });
    }
    if (this.#frozen) for (const socket of pair) socket.pause();
  }

  #toClient(bytes: Buffer, [client, server]: readonly [Socket, Socket]): void {
    if (this.#bytesLeft === undefined) return void client.write(bytes);
    const passed = bytes.subarray(0, this.#bytesLeft);
    this.#bytesLeft -= passed.length;
    client.write(passed);
    if (this.#bytesLeft > 0) return;
    client.end();
    server.destroy();
  }
}
