import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { ServerTLS } from "./server-tls.ts";

/** A request with its body. */
export interface Received {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A server on loopback. A test chooses its answers. */
export interface AnsweringServer {
  readonly port: number;
  readonly received: readonly Received[];
  answer: (received: Received) => Reply;
  stop(): Promise<void>;
}

/** @param tls by default the server has no TLS */
export async function startAnsweringServer(
  answer: AnsweringServer["answer"],
  tls?: ServerTLS,
): Promise<AnsweringServer> {
  const received: Received[] = [];
  const listener: RequestListener = (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers } = incoming;
      const body = Buffer.concat(chunks).toString();
      const asked = { method, url: new URL(url, "http://server"), headers, body };
      received.push(asked);
      const reply = server.answer(asked);
      response.writeHead(reply.status, reply.headers).end(method === "HEAD" ? undefined : reply.body);
    });
  };
  const listening =
    tls === undefined
      ? createServer(listener)
      : createSecureServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, listener);
  await new Promise<void>((done) => listening.listen(0, "127.0.0.1", done));
  const server: AnsweringServer = {
    port: (listening.address() as { port: number }).port,
    received,
    answer,
    async stop() {
      listening.closeAllConnections();
      await new Promise((done) => listening.close(done));
    },
  };
  return server;
}
