import { createServer, type Server } from "node:http";
import type { Registry } from "prom-client";

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
}): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
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
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, resolve);
  });
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
