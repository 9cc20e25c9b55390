import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";
import type { Log } from "#base/log.ts";
import { limitConnections } from "./connection-limit.ts";

/** Time for a request to arrive, in milliseconds. */
const ARRIVE_WITHIN_MS = 5_000;
/** Node looks only now and then who has taken too long to ask: by itself each half minute, in milliseconds. */
const CHECK_MS = 1_000;
/**
 * The kubelet asks on a new one each time. Many more than are needed: whoever takes all of them has the kubelet think that the operator is dead. Each
 * costs some tens of kilobytes.
 */
const MAX_CONNECTIONS = 1_024;
const MAX_OF_ADDRESS = 32;

/** Answers for the kubelet and for people: a line per check, and whether all passed. */
export interface Check {
  readonly name: string;
  /** `undefined`: well. Otherwise what is wrong, in one sentence. */
  readonly fault: () => string | undefined;
}

/**
 * Serves `/healthz` (is the process worth keeping?) and `/readyz` (has it seen the world?), and to everybody `/metrics` where a registry is given.
 * @param port 0 lets the system choose
 * @throws the system's error when the port is taken
 */
export async function serveHealth(options: {
  port: number;
  registry?: Registry;
  alive: () => readonly Check[];
  ready: () => readonly Check[];
  log: Log;
}): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer({ connectionsCheckingInterval: CHECK_MS }, (request, response) => {
    const path = (request.url ?? "/").split("?")[0];
    if (request.method !== "GET") return respond(405, "only GET is served here\n");
    if (path === "/healthz") return report(options.alive());
    if (path === "/readyz") return report(options.ready());
    const { registry } = options;
    const served = `served here: ${registry === undefined ? "" : "/metrics "}/healthz /readyz`;
    if (path !== "/metrics") return respond(404, `${served}\n`);
    if (registry === undefined) return respond(404, `${served}; /metrics over HTTPS, at --metrics-port\n`);
    registry.metrics().then(
      (text) => respond(200, text, registry.contentType),
      (error) => respond(500, `${error}\n`),
    );
    return undefined;

    function report(checks: readonly Check[]): void {
      const lines = checks.map((check) => ({ name: check.name, fault: check.fault() }));
      const text = lines.map(
        ({ name, fault }) =>
          `${fault === undefined ? "[+]" : "[-]"}${name}${fault === undefined ? " ok" : `: ${fault}`}`,
      );
      respond(lines.some(({ fault }) => fault !== undefined) ? 500 : 200, `${text.join("\n")}\n`);
    }

    function respond(code: number, text: string, contentType = "text/plain; charset=utf-8"): void {
      response.writeHead(code, { "content-type": contentType }).end(text);
    }
  });
  server.requestTimeout = ARRIVE_WITHIN_MS;
  server.headersTimeout = ARRIVE_WITHIN_MS;
  limitConnections(server, { most: MAX_CONNECTIONS, ofAddress: MAX_OF_ADDRESS });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, resolve);
  });
  server.on("error", (error) => options.log.error({ error: error.message }, "the server of health has a failure"));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  return { port, close: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
