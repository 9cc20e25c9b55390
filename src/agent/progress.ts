import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { ArchiveProgress, Progress, ProgressPhase } from "./report.ts";
import { PROGRESS_PATH } from "./task.ts";

/** How far the task is. The one who does it writes, everybody else reads. */
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

  /** Of an archive; what is not said stays as it was. */
  tell(archive: Partial<ArchiveProgress>): void {
    this.#archive = { from: "0", revision: "0", time: this.#since, gaps: 0, ...this.#archive, ...archive };
  }

  get now(): Progress {
    const { phase, bytesRead, bytesStored, bytesExpected } = this;
    const archive = this.#archive === undefined ? {} : { archive: this.#archive };
    return { phase, bytesRead, bytesStored, bytesExpected, since: this.#since, ...archive };
  }
}

/** Serves `GET /progress`. It tells nothing that is secret, and takes nothing in. @param port 0 takes a free one */
export async function serveProgress(board: ProgressBoard, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const isAsked = request.method === "GET" && request.url === PROGRESS_PATH;
    response.writeHead(isAsked ? 200 : 404, { "content-type": "application/json" });
    response.end(isAsked ? JSON.stringify(board.now) : "{}");
  });
  server.listen(port);
  await once(server, "listening");
  return server;
}
