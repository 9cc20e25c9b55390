import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type ApiServer, startApiServer } from "#kit/apiserver.ts";

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
/** What a person or the kubelet waits for without wondering; a start of Node on a busy machine is not part of it. */
const PROMPTLY_MS = 3_000;

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(async () => await server?.stop());

function startOperator(): { process: ChildProcess; log: () => string; end: Promise<number | null> } {
  const args = [PROGRAM, "--kubeconfig", server.kubeconfig, "--http-port", "0"];
  const operator = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [operator.stdout, operator.stderr]) stream?.on("data", (bytes) => (log += bytes));
  return { process: operator, log: () => log, end: new Promise((resolve) => operator.once("exit", resolve)) };
}

test.each([
  ["knows no EtcdClusters", () => undefined],
  ["does not answer", () => server.pause()],
])("an operator that is stopped while the API server %s ends at once, with exit code 0", async (_what, trouble) => {
  trouble();
  const operator = startOperator();
  try {
    await vi.waitFor(() => expect(operator.log()).toContain('"started"'), 30_000);
    const startedAtMs = performance.now();
    operator.process.kill("SIGTERM");
    expect(await operator.end, operator.log()).toBe(0);
    expect(performance.now() - startedAtMs).toBeLessThan(PROMPTLY_MS);
  } finally {
    operator.process.kill("SIGKILL");
    server.resume();
  }
});
