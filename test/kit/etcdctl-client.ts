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
import type { Reach } from "#kit/reach.ts";
import { refusedIn } from "#kit/refused.ts";
import { missedIn, type WatchedWrite } from "#kit/watched-keys.ts";

// How does an application behave that has etcd's own client, the one in Go?
//   etcdctl is that client. It writes and reads again and again, with a new process and so a new connection each time, and tries once more what
//   failed. Besides, one process watches, and keeps its connection.
// What of its certificates does it read anew?
//   What it shows, with each handshake. Whom it trusts it reads when it starts: so whoever runs it starts it anew when ca.crt changes, as
//   docs/limits.md tells people, from the revision after the last one that it told.

const EVERY_MS = 2_000;
/** Before a request is tried again, in milliseconds. */
const AGAIN_MS = 20;
/** How often whoever runs the watch looks whether whom it trusts is another one, in milliseconds. */
const LOOK_EVERY_MS = 500;
/** For the watch to tell what was acknowledged: it may have to be started anew, on a busy machine. */
const WITHIN = { timeout: 60_000, interval: 200 };
const KEYS = 3;

/** An application that runs etcdctl, until it is disposed of. */
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

  /** @param reach how it reaches its cluster at first */
  static async start(reach: Reach): Promise<EtcdctlClient> {
    return new EtcdctlClient(reach, await mkdtemp(join(tmpdir(), "etcdctl-")));
  }

  private constructor(reach: Reach, folder: string) {
    this.#reach = reach;
    this.#folder = folder;
    this.#working = this.#work();
    this.#watching = this.#watch();
  }

  /** From now on it reaches its cluster so. */
  turnTo(reach: Reach): void {
    this.#reach = reach;
  }

  /** What it was told, be it with a first try, that tells of a certificate, a login or a right that was refused. */
  get refused(): readonly string[] {
    return refusedIn(this.#firstWhy);
  }

  /** It went on: nothing has failed twice, nothing was refused, be it with the first try, and the watch has told all that was acknowledged. */
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
    console.log(`etcdctl: ${written} writes, ${reads} reads, ${this.#told.length} told by ${this.#watches} watches`, this.#firstWhy.length, [...new Set(this.#firstWhy)].slice(0, 5)); // biome-ignore format: a line
  }

  /** Ends it: the watch has told every write of every key, and none twice. */
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

  /** Reads what it has written itself. @throws when it finds something older */
  async #get(key: string, written: number): Promise<void> {
    const { kvs } = (await this.#etcdctl("get", key)) as Answer;
    const found = kvs?.[0]?.mod_revision ?? 0;
    if (found < written) this.#failures.push(`${key} was written at revision ${written}, and read as of ${found}`);
    this.#reads++;
  }

  async #etcdctl(...args: readonly string[]): Promise<unknown> {
    const { stdout } = await run(this.#program, [...(await this.#flags()), ...args, "-w", "json"]);
    return JSON.parse(stdout);
  }

  /** Where and as whom it connects, as it has been told by now. */
  async #flags(): Promise<readonly string[]> {
    const { address, tls } = this.#reach.endpoint();
    if (tls === undefined) return [`--endpoints=http://${address}`];
    this.#mounting = this.#mounting.then(() => this.#mount(tls));
    await this.#mounting;
    const file = (name: string) => join(this.#folder, "now", name);
    const files = [["cacert", TRUST_FILE], ["cert", CERTIFICATE_FILE], ["key", KEY_FILE]] as const; // biome-ignore format: a list
    return [`--endpoints=https://${address}`, ...files.map(([flag, name]) => `--${flag}=${file(name)}`)];
  }

  /** As the kubelet does it: whoever reads the files finds all of before, or all of now. */
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

  /** Watches until that ends by itself, it is to trust somebody else, or all is over. */
  async #watchOnce(): Promise<void> {
    const { tls } = this.#reach.endpoint();
    const from = (this.#told.at(-1)?.revision ?? 0) + 1;
    const args = [...(await this.#flags()), "watch", "--prefix", this.#prefix, `--rev=${from}`, "-w", "json"];
    // It ends with us, however we end.
    const child = spawn("setpriv", ["--pdeathsig", "KILL", this.#program, ...args], { stdio: ["ignore", "pipe", "pipe"] }); // biome-ignore format: a line
    this.#watches++;
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-10_000);
    });
    // A line that is cut off with the process is told by the next one.
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

/** What etcdctl prints as JSON; keys and values in base64. */
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
