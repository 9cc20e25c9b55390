import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, vi } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { CERTIFICATE_FILE, KEY_FILE, TRUST_FILE } from "#api/names.ts";
import { mainBinary } from "#dev/components.ts";
import { run } from "#dev/run.ts";
import type { TlsIdentity } from "#etcd/endpoint.ts";
import type { Reach } from "#kit/e2e/reach.ts";
import { refusedIn } from "#kit/e2e/refused.ts";
import { missedIn, type WatchedWrite } from "#kit/tables/watched-keys.ts";

// How does an application with etcd's own Go client behave?
//
// etcdctl is that client. It writes and reads again and again, each time with a new process and a new connection, and
// repeats a failed request once. One further process watches over a lasting connection.
//
// Which of its certificates does it reload? Its own certificate, at each handshake. The CA bundle only at its start: so
// the watch is restarted when ca.crt changes, as docs/limits.md recommends. It continues from the revision after the
// last reported one.

const EVERY_MS = 2_000;
/** Delay before a request is repeated, in milliseconds. */
const AGAIN_MS = 20;
/** Interval of the checks whether ca.crt has changed, in milliseconds. */
const LOOK_EVERY_MS = 500;
/** Time for the watch to report acknowledged writes; on a busy machine it may have to restart. */
const WITHIN = { timeout: 60_000, interval: 200 };
const KEYS = 3;

/** An application that runs etcdctl until it is disposed of. */
export class EtcdctlClient implements AsyncDisposable {
  readonly #program = join(dirname(mainBinary(`etcd-${DEFAULT_VERSION}` as never)), "etcdctl");
  readonly #prefix = `etcdctl-${Math.random().toString(36).slice(2, 8)}/`;
  readonly #folder: string;
  readonly #stopped = new AbortController();
  readonly #watchStopped = new AbortController();
  readonly #told: WatchedWrite[] = [];
  /** Revision → value. */
  readonly #acknowledged = new Map<number, string>();
  readonly #failures: string[] = [];
  readonly #firstWhy: string[] = [];
  readonly #working: Promise<void>;
  readonly #watching: Promise<void>;
  #reach: Reach;
  #mounted: TlsIdentity | undefined;
  #mounts = 0;
  #mounting: Promise<void> = Promise.resolve();
  #lastValue = 0;
  #reads = 0;
  #watches = 0;

  /** @param reach how it connects to its cluster at first */
  static async start(reach: Reach): Promise<EtcdctlClient> {
    return new EtcdctlClient(reach, await mkdtemp(join(tmpdir(), "etcdctl-")));
  }

  private constructor(reach: Reach, folder: string) {
    this.#reach = reach;
    this.#folder = folder;
    this.#working = this.#work();
    this.#watching = this.#watch();
  }

  /** Connects to its cluster in another way from now on. */
  turnTo(reach: Reach): void {
    this.#reach = reach;
  }

  /** Errors, including those of first tries, about a refused certificate, login or permission. */
  get refused(): readonly string[] {
    return refusedIn(this.#firstWhy);
  }

  /**
   * Checks that it was served: no request failed twice, none was refused even at the first try, and the watch has
   * reported every acknowledged write.
   */
  async expectServed(): Promise<void> {
    this.#expectNoneLost();
    const [written, reads] = [this.#acknowledged.size, this.#reads];
    await vi.waitFor(() => {
      expect(this.#acknowledged.size).toBeGreaterThan(written);
      expect(this.#reads).toBeGreaterThan(reads);
    }, WITHIN);
    const acknowledged = [...this.#acknowledged];
    await vi.waitFor(() => {
      const told = new Map(this.#told.map(({ revision, value }) => [revision, value]));
      expect(acknowledged.filter(([revision, value]) => told.get(revision) !== value)).toEqual([]);
    }, WITHIN);
    this.#expectNoneLost();
    console.log(`etcdctl: ${written} writes, ${reads} reads, ${this.#told.length} reported by ${this.#watches} watches`, this.#firstWhy.length, [...new Set(this.#firstWhy)].slice(0, 5)); // biome-ignore format: a line
  }

  /** Ends the application, and checks that the watch has reported every write of every key exactly once. */
  async end(): Promise<void> {
    this.#stopped.abort();
    await this.#working;
    const { kvs } = (await this.#etcdctl("get", "--prefix", this.#prefix)) as Answer;
    const versions = new Map(kvs?.map(({ key, version }) => [decoded(key), version]));
    expect(versions.size).toBe(KEYS);
    await vi.waitFor(() => expect(missedIn(this.#told, versions)).toEqual([]), WITHIN);
    this.#expectNoneLost();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    this.#watchStopped.abort();
    await Promise.all([this.#working, this.#watching]);
    await rm(this.#folder, { recursive: true });
  }

  #expectNoneLost(): void {
    expect(this.#failures).toEqual([]);
    expect(this.refused).toEqual([]);
    expect(missedIn(this.#told)).toEqual([]);
  }

  async #work(): Promise<void> {
    for (let n = 0; !this.#stopped.signal.aborted; n++) {
      const key = `${this.#prefix}${n % KEYS}`;
      const written = await this.#twice(() => this.#put(key));
      if (written !== undefined) await this.#twice(() => this.#get(key, written));
      await sleep(EVERY_MS, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }

  /** @returns undefined when it failed twice */
  async #twice<T>(ask: () => Promise<T>): Promise<T | undefined> {
    for (const told of [this.#firstWhy, this.#failures]) {
      try {
        return await ask();
      } catch (thrown) {
        // Without the command, which is long.
        told.push((thrown as Error).message.replace(/^.*? failed \(/, "("));
        await sleep(AGAIN_MS);
      }
    }
    return undefined;
  }

  /** @returns its revision */
  async #put(key: string): Promise<number> {
    const value = `${++this.#lastValue}`;
    const { header } = (await this.#etcdctl("put", key, value)) as Answer;
    this.#acknowledged.set(header.revision, value);
    return header.revision;
  }

  /**
   * Reads a key that it has written itself.
   * @throws Error when the value is older
   */
  async #get(key: string, written: number): Promise<void> {
    const { kvs } = (await this.#etcdctl("get", key)) as Answer;
    const found = kvs?.[0]?.mod_revision ?? 0;
    if (found < written)
      this.#failures.push(`${key} was written at revision ${written}, but read at revision ${found}`);
    this.#reads++;
  }

  async #etcdctl(...args: readonly string[]): Promise<unknown> {
    const { stdout } = await run(this.#program, [...(await this.#flags()), ...args, "-w", "json"]);
    return JSON.parse(stdout);
  }

  /** Flags for the endpoint and the credentials, as they are now. */
  async #flags(): Promise<readonly string[]> {
    const { address, tls } = this.#reach.endpoint();
    if (tls === undefined) return [`--endpoints=http://${address}`];
    this.#mounting = this.#mounting.then(() => this.#mount(tls));
    await this.#mounting;
    const file = (name: string) => join(this.#folder, "now", name);
    const files = [["cacert", TRUST_FILE], ["cert", CERTIFICATE_FILE], ["key", KEY_FILE]] as const; // biome-ignore format: a list
    return [`--endpoints=https://${address}`, ...files.map(([flag, name]) => `--${flag}=${file(name)}`)];
  }

  /** Replaces the files atomically, as the kubelet does: readers find either all old or all new files. */
  async #mount(tls: TlsIdentity): Promise<void> {
    if (this.#mounted === tls) return;
    const folder = `${++this.#mounts}`;
    await mkdir(join(this.#folder, folder));
    const texts = { [TRUST_FILE]: tls.ca, [CERTIFICATE_FILE]: tls.cert, [KEY_FILE]: tls.key };
    for (const [name, text] of Object.entries(texts)) await writeFile(join(this.#folder, folder, name), text);
    await symlink(folder, join(this.#folder, "next"));
    await rename(join(this.#folder, "next"), join(this.#folder, "now"));
    this.#mounted = tls;
  }

  async #watch(): Promise<void> {
    while (!this.#watchStopped.signal.aborted) {
      await this.#watchOnce().catch((thrown: Error) => this.#firstWhy.push(`watch: ${thrown.message}`));
      await sleep(AGAIN_MS);
    }
  }

  /** Watches until the process ends, the CA bundle changes, or the application ends. */
  async #watchOnce(): Promise<void> {
    const { tls } = this.#reach.endpoint();
    const from = (this.#told.at(-1)?.revision ?? 0) + 1;
    const args = [...(await this.#flags()), "watch", "--prefix", this.#prefix, `--rev=${from}`, "-w", "json"];
    // The process ends with this one, however this one ends.
    const child = spawn("setpriv", ["--pdeathsig", "KILL", this.#program, ...args], { stdio: ["ignore", "pipe", "pipe"] }); // biome-ignore format: a line
    this.#watches++;
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-10_000);
    });
    // A line that is cut off at the end of a process is reported again by the next one.
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#hear(line);
    });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    child.once("error", () => undefined);
    let isOver = false;
    while (!isOver) {
      const isDone = await Promise.race([ended.then(() => true), sleep(LOOK_EVERY_MS, false)]);
      if (isDone) throw new Error(stderr.trim());
      const now = this.#reach.endpoint().tls;
      isOver = this.#watchStopped.signal.aborted || now?.ca !== tls?.ca;
    }
    child.kill("SIGKILL");
    await ended;
  }

  #hear(line: string): void {
    const { Events: events = [] } = JSON.parse(line) as { Events?: readonly { readonly kv: KeyValue }[] };
    for (const { kv } of events) {
      const { version, mod_revision: revision } = kv;
      this.#told.push({ key: decoded(kv.key), value: decoded(kv.value), version, revision });
    }
  }
}

/** JSON output of etcdctl; keys and values in base64. */
interface KeyValue {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  readonly mod_revision: number;
}

interface Answer {
  readonly header: { readonly revision: number };
  readonly kvs?: readonly KeyValue[];
}

function decoded(text: string): string {
  return Buffer.from(text, "base64").toString();
}
