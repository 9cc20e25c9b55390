import { createServer } from "node:http";
import type { Registry } from "prom-client";
import { answerWithin, type ConnectionLimits } from "#base/connection-limit.ts";
import { closeNow, listen } from "#base/listen.ts";
import type { Log } from "#base/log.ts";

/** Time for a request to arrive, in milliseconds. */
const ARRIVE_WITHIN_MS = 5_000;
/** Node's default interval of 30 s is too rare to close connections that exceed their deadline, in milliseconds. */
const CHECK_MS = 1_000;
/**
 * The kubelet opens one connection for each probe, and waits 5 s. A new connection replaces an idle one, so the numbers
 * only bound memory: some tens of kilobytes each. With a longer exchange, slow readers hold connections for longer.
 */
const LIMITS: ConnectionLimits = { most: 256, ofAddress: 32, exchangeWithinMs: 10_000 };

/** One line of an answer to the kubelet or a user. */
export interface Check {
  readonly name: string;
  /** `undefined`: passed. Otherwise what is wrong, in one sentence. */
  readonly fault: () => string | undefined;
}

/**
 * Serves `/healthz` (does the process still work?) and `/readyz` (has it filled its caches?). With a registry it also
 * serves `/metrics`, without access control.
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
  const server = createServer({ connectionsCheckingInterval: CHECK_MS });
  answerWithin(LIMITS, server, (request, response) => {
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
  const port = await listen(server, options.port);
  server.on("error", (error) => options.log.error({ error: error.message }, "the health server failed"));
  return { port, close: () => closeNow(server) };
}
