import { createServer, type IncomingHttpHeaders, request } from "node:http";

/** Head of a request. */
export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
}

/** An answer in place of the server's, a connection that breaks before or after the server has done its work. */
export type Instead =
  | "reset"
  | "lost"
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

/** An HTTP proxy on loopback that answers some requests itself. */
export interface AnsweringProxy {
  readonly port: number;
  /** Called for each request; undefined: the server answers. */
  instead: (asked: Asked) => Instead | undefined;
  stop(): Promise<void>;
}

export async function startAnsweringProxy(targetPort: number): Promise<AnsweringProxy> {
  const server = createServer((incoming, response) => {
    const { method = "", url = "", headers } = incoming;
    incoming.on("error", () => response.destroy());
    const instead = proxy.instead({ method, url: new URL(url, "http://proxy"), headers });
    if (instead === "reset") return void incoming.socket.resetAndDestroy();
    if (instead !== undefined && instead !== "lost") {
      incoming.resume();
      response.writeHead(instead.status, instead.headers);
      return void response.end(method === "HEAD" ? undefined : instead.body);
    }
    const sent = request({ port: targetPort, host: "127.0.0.1", method, path: url, headers }, (answer) => {
      if (instead === "lost") return void answer.resume().on("end", () => incoming.socket.resetAndDestroy());
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    sent.on("error", () => response.destroy());
    response.on("close", () => sent.destroy());
    incoming.pipe(sent);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const proxy: AnsweringProxy = {
    port: (server.address() as { port: number }).port,
    instead: () => undefined,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return proxy;
}
