import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "#kit/etcd/etcd.ts";
import { freePort } from "./free-port.ts";

/** A real object store server in its own process. */
export interface StoreServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a server on a free port of loopback, and waits until it accepts connections. */
export async function startStoreServer(
  command: (port: number) => readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<StoreServer> {
  const port = await freePort();
  const [program = "", ...args] = command(port);
  // The server ends with this process, however that ends. A test file runs no teardown if all its tests are skipped.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...env, PATH: process.env.PATH },
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (bytes: Buffer) => {
      log = (log + bytes.toString()).slice(-10_000);
    });
  }
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    await until(`${program} takes connections`, async () => {
      if (child.exitCode !== null) throw new Error(`${program} ended with code ${child.exitCode}`);
      return await listens(port);
    });
  } catch (thrown) {
    child.kill("SIGKILL");
    throw new Error(`${thrown instanceof Error ? thrown.message : thrown}; its log ends with:\n${log}`);
  }
  return {
    port,
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function listens(port: number): Promise<boolean> {
  // A server on this port answers the plain HTTP request; a TLS server answers, too, that this is not TLS.
  const answer = await fetch(`http://127.0.0.1:${port}/`).catch(
    (thrown: Error) => thrown.cause as NodeJS.ErrnoException,
  );
  return answer instanceof Response || answer.code !== "ECONNREFUSED";
}

const temporary = new Set<string>();

/** Call at the end of a test file: the test runner's workers end without an exit event. */
export function removeTemporaryDirs(): void {
  for (const folder of temporary) rmSync(folder, { recursive: true, force: true });
  temporary.clear();
}

/** A directory that stays until `removeTemporaryDirs`. */
export function temporaryDir(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  temporary.add(folder);
  return folder;
}

/** A directory like a mounted Secret. */
export function credentialsDir(files: Readonly<Record<string, string>>): string {
  const folder = temporaryDir("credentials");
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
