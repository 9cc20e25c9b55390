import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";

// The program as a process, against a server that is none of Kubernetes.

const folder = mkdtempSync(join(tmpdir(), "plugin-main-"));
let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Starts the program. @param onRequest may end it */
async function run(args: readonly string[], onRequest: (program: ChildProcess) => RequestListener): Promise<Ended> {
  let program: ChildProcess | undefined;
  server = createServer((request, response) => program !== undefined && onRequest(program)(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const path = join(folder, "kubeconfig");
  const named = { clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }] };
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  writeFileSync(path, JSON.stringify({ ...named, contexts, users: [{ name: "u", user: {} }], "current-context": "x" }));
  const child = spawn(process.execPath, ["src/plugin/main.ts", "--kubeconfig", path, ...args]);
  program = child;
  let [out, err] = ["", ""];
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (err += text));
  return await new Promise((resolve) => child.on("close", (code) => resolve({ code, out, err })));
}

test("Ctrl-C during a read ends with 130, without a word", { timeout: 60_000 }, async () => {
  const ended = await run(["list"], (program) => () => void program.kill("SIGINT"));
  expect(ended).toEqual({ code: 130, out: "", err: "" });
});

test("version without Kubernetes has its own release, and ends with 3", { timeout: 60_000 }, async () => {
  const ended = await run(["version"], () => (_, response) => void response.end("<html>A login page</html>"));
  expect(ended).toMatchObject({ code: 3, err: "" });
  expect(ended.out).toMatch(/^plugin {6}0\.0\.0-source\n/);
  const without = await run(["version", "--kubeconfig", "/missing"], () => () => undefined);
  expect(without).toMatchObject({ code: 3, out: expect.stringMatching(/^plugin {6}0\.0\.0-source\n/), err: "" });
  expect(ended.out).toContain("Kubernetes  cannot be read: the answer to /version is not JSON\n");
});
