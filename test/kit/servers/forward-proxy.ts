import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";

/** A forward proxy for HTTPS_PROXY and HTTP_PROXY. It connects to loopback, whatever host is requested. */
export interface ForwardProxy {
  readonly url: string;
  /** Requested hosts with ports, such as `store.test:8080`. */
  readonly asked: ReadonlySet<string>;
  stop(): Promise<void>;
}

/**
 * @param ports by host, where the port on loopback differs from the requested one. Example: `{ "a.test:443": 8443 }`
 */
export async function startForwardProxy(ports: Readonly<Record<string, number>> = {}): Promise<ForwardProxy> {
  const asked = new Set<string>();
  const server = createServer((incoming, response) => forward(new URL(incoming.url ?? ""), incoming, response));

  const forward = (url: URL, incoming: IncomingMessage, response: ServerResponse) => {
    asked.add(url.host);
    const { method, headers } = incoming;
    const options = { host: "127.0.0.1", port: url.port, path: `${url.pathname}${url.search}`, method, headers };
    const sent = request(options, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    sent.on("error", () => response.destroy());
    incoming.pipe(sent);
  };

  const tunnels = new Set<Socket>();
  server.on("connect", (incoming, client: Socket) => {
    asked.add(incoming.url ?? "");
    const behind = connect(ports[incoming.url ?? ""] ?? Number(incoming.url?.split(":").at(-1)), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      behind.pipe(client).pipe(behind);
    });
    for (const socket of [client, behind]) {
      tunnels.add(socket);
      socket.on("error", () => {}); // the other socket closes, too
      socket.on("close", () => {
        client.destroy();
        behind.destroy();
      });
    }
  });

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    asked,
    async stop() {
      for (const socket of tunnels) socket.destroy();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
