import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { answerWithin, type ConnectionLimits } from "#base/connection-limit.ts";
import type { ArchiveProgress, Progress, ProgressPhase } from "./report.ts";
import { PROGRESS_PATH } from "./task.ts";

/** Progress of the task: its executor writes it, all others only read it. */
export class ProgressBoard {
  phase: ProgressPhase = "Starting";
  bytesRead = 0;
  bytesStored = 0;
  bytesExpected = 0;
  readonly #since: string;
  #archive: ArchiveProgress | undefined;

  /** @param wallMs when the task began */
  constructor(wallMs: number) {
    this.#since = new Date(wallMs).toISOString();
  }

  /** Updates the progress of an archive; missing fields keep their value. */
  record(archive: Partial<ArchiveProgress>): void {
    const nothing = { from: "0", revision: "0", time: this.#since, gaps: 0, objects: 0, bytes: 0 };
    this.#archive = { ...nothing, ...this.#archive, ...archive };
  }

  get now(): Progress {
    const { phase, bytesRead, bytesStored, bytesExpected } = this;
    const archive = this.#archive === undefined ? {} : { archive: this.#archive };
    return { phase, bytesRead, bytesStored, bytesExpected, since: this.#since, ...archive };
  }
}

/**
 * Time limit for receiving a request and for sending its answer, in milliseconds. The operator waits 1 s
 * (src/backup/progress.ts).
 */
const WITHIN_MS = 5_000;
/** Interval of checks for slow requests, in milliseconds; Node's default is 30 s. */
const CHECK_MS = 1_000;
/** The operator opens one connection per request. Each costs the backup some tens of kilobytes. */
const LIMITS: ConnectionLimits = { most: 64, ofAddress: 8, exchangeWithinMs: WITHIN_MS };

/** Serves `GET /progress`: no secrets, no input. @param port 0 chooses a free port */
export async function serveProgress(board: ProgressBoard, port: number): Promise<Server> {
  const server = createServer({ connectionsCheckingInterval: CHECK_MS });
  server.requestTimeout = WITHIN_MS;
  server.headersTimeout = WITHIN_MS;
  answerWithin(LIMITS, server, (request, response) => {
    const isAsked = request.method === "GET" && request.url === PROGRESS_PATH;
    response.writeHead(isAsked ? 200 : 404, { "content-type": "application/json" });
    response.end(isAsked ? JSON.stringify(board.now) : "{}");
  });
  server.listen(port);
  await once(server, "listening");
  return server;
}
