import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { backUp } from "#agent/backup.ts";
import { ProgressBoard } from "#agent/progress.ts";
import type { BackupObject } from "#agent/report.ts";
import { openSources } from "#agent/source.ts";
import type { BackupTask } from "#agent/task.ts";
import { systemClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";
import { mainBinary } from "#dev/components.ts";
import { type EtcdMember, type EtcdVersionText, neverAborted, type RunningEtcd } from "#kit/etcd/etcd.ts";
import { openStore } from "#objectstore/open.ts";
import type { ObjectStore } from "#objectstore/store.ts";

/** A directory as an object store; disposing deletes it. */
export class TestVolume implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "backup-volume-"));

  /** Keys of all visible objects, sorted. */
  get keys(): readonly string[] {
    const files = readdirSync(this.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const keys = files.map((entry) => join(entry.parentPath, entry.name).slice(this.path.length + 1));
    return keys.filter((key) => !key.startsWith(".")).sort();
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export function urlOf({ endpoint }: EtcdMember): string {
  return `http://${endpoint.address}`;
}

export function backupTask(
  volume: TestVolume,
  endpoints: readonly string[],
  change: Partial<BackupTask> = {},
): BackupTask {
  return {
    kind: "backup",
    backupUID: "0a1b2c3d-0000-4000-8000-000000000000",
    source: { endpoints },
    destination: { store: "volume", path: volume.path },
    key: "backups/default/db.db",
    compression: "None",
    about: { namespace: "default", backupName: "db" },
    ...change,
  };
}

/** A backup in this process that pauses in the middle of its stream until `resume`. */
export interface HeldBackup {
  /** Resolves when the store has received bytes and stopped reading. */
  readonly held: Promise<void>;
  readonly board: ProgressBoard;
  readonly done: Promise<BackupObject>;
  resume(): void;
  /** Addresses of the members that were read, in order. */
  readonly read: readonly string[];
}

/** @param options.afterBytes number of bytes after which the store stops reading; undefined: it never stops */
export function startBackup(
  task: BackupTask,
  options: { afterBytes?: number; signal?: AbortSignal; patienceMs?: number; pingIntervalMs?: number } = {},
): HeldBackup {
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  const board = new ProgressBoard(0);
  const read: string[] = [];
  const log = createLog("info", {
    write(line) {
      const { msg, address } = JSON.parse(line) as { msg: string; address?: string };
      if (msg === "reading a snapshot") read.push(address ?? "");
    },
  });
  const run = async () => {
    const store = holding(await openStore(task.destination), options.afterBytes, hold, resumed);
    const sources = await openSources(task.source, options.pingIntervalMs);
    try {
      const { signal = neverAborted, patienceMs = 60_000 } = options;
      return await backUp(task, { store, sources, key: undefined, clock: systemClock, log, board, signal, patienceMs });
    } finally {
      sources.close();
      await store.close();
    }
  };
  const done = run();
  done.catch(() => undefined); // the test awaits it later
  return { held, board, done, resume, read };
}

function holding(
  store: ObjectStore,
  afterBytes: number | undefined,
  hold: () => void,
  resumed: Promise<void>,
): ObjectStore {
  if (afterBytes === undefined) return store;
  async function* heldUp(body: AsyncIterable<Uint8Array>) {
    let bytes = 0;
    for await (const chunk of body) {
      yield chunk;
      bytes += chunk.length;
      if (bytes < (afterBytes ?? 0)) continue;
      hold();
      await resumed;
    }
  }
  return {
    put: (key, body, options) => store.put(key, heldUp(body), options),
    get: (key, options) => store.get(key, options),
    head: (key, options) => store.head(key, options),
    list: (prefix, options) => store.list(prefix, options),
    delete: (key, options) => store.delete(key, options),
    close: () => store.close(),
  };
}

/** The content of the values that `load` writes; a snapshot is full of it. */
const FILL = "a value of the test, ";

/**
 * Puts values of a megabyte each under `big/`, and a small one.
 * @returns the revision after them
 */
export async function load(etcd: RunningEtcd, megabytes: number): Promise<number> {
  const { endpoint } = etcd.members[0]!;
  const options = { signal: neverAborted, deadlineMs: 20_000 };
  const value = FILL.repeat(1_000_000 / FILL.length);
  for (let n = 0; n < megabytes; n++) await etcd.client.put(endpoint, `big/${n}`, value, options);
  return await etcd.client.put(endpoint, "small", "yes", options);
}

/** Runs a program that comes with etcd, and returns its output. */
export async function etcdTool(
  version: EtcdVersionText,
  tool: "etcdctl" | "etcdutl",
  ...args: readonly string[]
): Promise<string> {
  const binary = join(dirname(mainBinary(`etcd-${version}`)), tool);
  const { stdout } = await promisify(execFile)(binary, [...args], { env: { ETCDCTL_API: "3" } });
  return stdout;
}

/** A proxy in front of this port that changes one byte of a value once, after this number of bytes. */
export async function startFlippingProxy(targetPort: number, afterBytes: number) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(targetPort, "127.0.0.1");
    let passed = 0;
    let isFlipped = false;
    far.on("data", (chunk) => {
      passed += chunk.length;
      const at = passed > afterBytes && !isFlipped ? chunk.indexOf(FILL) : -1;
      if (at >= 0) chunk.writeUInt8((chunk[at] ?? 0) ^ 1, at);
      isFlipped ||= at >= 0;
      if (!near.write(chunk)) far.pause();
    });
    near.on("drain", () => far.resume());
    near.pipe(far);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => [near, far].forEach((other) => void other.destroy()));
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
