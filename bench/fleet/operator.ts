import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundle, OPERATOR_BUNDLE } from "#dev/bundle.ts";
import { ENVIRONMENT, NODE_FLAGS } from "#dev/operator-image.ts";
import type { Shard } from "#shards/belonging.ts";
import { median, rounded, say } from "../figure.ts";
import { cpuSeconds, memoryMb, procFile } from "../process-usage.ts";
import { type Memory, memoryOf } from "./memory.ts";

/** Who was asked to end does so within this time, in milliseconds. */
const ENDS_WITHIN_MS = 30_000;
/** How often it is looked what it has used, in milliseconds: of one that has ended the kernel tells nothing more. */
const CPU_EVERY_MS = 500;
/** So much is told of what one said that has ended by itself, in characters. */
const LAST_WORDS = 2_000;

/** Where the first one shows its metrics, in the bench's own network; the next one at the port after it. */
const FIRST_HTTP_PORT = 8080;

/** What a process used during a while. */
export interface Use {
  /** Of one core, in percent. */
  readonly cpuPercent: number;
  /** Median of a look per second. */
  readonly rssMb: number;
}

/** How to run it. */
interface Launch {
  /** What `OperatorProcess.build` gave. */
  readonly program: string;
  /** For its log. */
  readonly folder: string;
  readonly kubeconfig: string;
  /** Of Node; undefined: those of its image. */
  readonly nodeFlags: readonly string[] | undefined;
  /** Folder for CPU profiles, written when it ends; undefined: none is taken. */
  readonly profiles: string | undefined;
  /** Which of those that run side by side it is, from 0. */
  readonly number: number;
  /** Into how many shards the fleet is divided; 1: it is not. */
  readonly shards: number;
}

/** The operator as its image runs it, as a process of the bench's own. One that ends by itself is started again, as a kubelet does. */
export class OperatorProcess {
  readonly #launch: Launch;
  readonly #log: string;
  readonly #looking: NodeJS.Timeout;
  #child: ChildProcess;
  #isStopping = false;
  /** How each of those ended that did so by themselves, and what it said last. */
  readonly #ends: string[] = [];
  /** Seconds of processor time of those that have ended, as of the last look. */
  #cpuOfEnded = 0;
  #cpuSeen = 0;

  /** Bundles it as for the image. @param root of the repository @returns what to run */
  static async build(root: string): Promise<string> {
    const { files } = await bundle(root, OPERATOR_BUNDLE);
    const program = files.find(({ to }) => to === OPERATOR_BUNDLE.program);
    if (program === undefined) throw new Error("the bundle has no program");
    return program.from;
  }

  constructor(launch: Launch) {
    this.#launch = launch;
    this.#log = join(launch.folder, `operator-${launch.number}-${Date.now()}.log`);
    this.#child = this.#spawn();
    this.#looking = setInterval(() => void this.cpuSeconds(), CPU_EVERY_MS);
  }

  #spawn(): ChildProcess {
    const { program, kubeconfig, profiles, nodeFlags = NODE_FLAGS, number, shards } = this.#launch;
    const output = openSync(this.#log, "a");
    const profiling = profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`];
    // The Service of the webhooks has its own address here, which is this machine's; nobody leads from its port to another one, or to others.
    const ports = ["--webhook-port", number === 0 ? "443" : "0", "--http-port", String(FIRST_HTTP_PORT + number)];
    const flags = ["--kubeconfig", kubeconfig, ...ports, "--insecure-metrics", "--shards", String(shards)];
    const child = spawn(process.execPath, [...nodeFlags, ...profiling, program, ...flags], {
      stdio: ["ignore", output, output],
      env: { ...ENVIRONMENT, PATH: process.env.PATH ?? "" },
    });
    closeSync(output);
    child.once("exit", (code, signal) => {
      if (this.#isStopping) return;
      const how = signal === null ? `with code ${code}` : `by ${signal}`;
      const end = `operator ${number} has ended by itself ${how}; it said last:\n${this.#lastWords(LAST_WORDS)}`;
      this.#ends.push(end);
      say(end);
      this.#cpuOfEnded += this.#cpuSeen;
      this.#cpuSeen = 0;
      this.#child = this.#spawn();
    });
    return child;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** How often it ended by itself, as one does that has lost its lease. */
  get ends(): number {
    return this.#ends.length;
  }

  /** Passes since its start, by controller, by its own word. */
  async passes(): Promise<Readonly<Record<string, number>>> {
    const text = await this.#metrics();
    const passes: Record<string, number> = {};
    for (const [, controller = "", count] of text.matchAll(
      /^etcd_operator_passes_total\{controller="(\w+)",.*\} (\d+)$/gm,
    ))
      passes[controller] = (passes[controller] ?? 0) + Number(count);
    return passes;
  }

  /** Which shards it leads, by its own word; without shards everything is one, of number 0. None also before it answers. */
  async leads(): Promise<readonly Shard[]> {
    const text = await this.#metrics().catch(() => "");
    const { shards } = this.#launch;
    if (shards === 1) return /^etcd_operator_leading 1$/m.test(text) ? [{ number: 0, of: 1 }] : [];
    const led = text.matchAll(/^etcd_operator_shard_leading\{shard="(\d+)"\} 1$/gm);
    return [...led].map(([, number]) => ({ number: Number(number), of: shards }));
  }

  /** Where its memory is at this moment. */
  async memory(): Promise<Memory> {
    return await memoryOf(this.pid, this.#metricsUrl);
  }

  async #metrics(): Promise<string> {
    return await (await fetch(this.#metricsUrl)).text();
  }

  get #metricsUrl(): string {
    return `http://127.0.0.1:${FIRST_HTTP_PORT + this.#launch.number}/metrics`;
  }

  /** How it ended by itself, as often as it did, and the end of what it said. */
  log(): string {
    return [...this.#ends, this.#lastWords(3_000)].join("\n");
  }

  #lastWords(most: number): string {
    return readFileSync(this.#log, "utf8").trimEnd().slice(-most);
  }

  /** Seconds of processor time that it has used so far. */
  cpuSeconds(): number {
    if (procFile(this.pid, "stat") !== "") this.#cpuSeen = cpuSeconds(this.pid);
    return this.#cpuOfEnded + this.#cpuSeen;
  }

  /** The most memory that it ever had. */
  peakMb(): number {
    return Math.round(memoryMb(this.pid, "VmHWM"));
  }

  /** Looks at it for a while. @param forMs milliseconds */
  async use(forMs: number): Promise<Use> {
    const rss: number[] = [];
    const startMs = performance.now();
    const before = this.cpuSeconds();
    while (performance.now() - startMs < forMs) {
      rss.push(memoryMb(this.pid, "VmRSS"));
      await sleep(1_000);
    }
    const seconds = (performance.now() - startMs) / 1000;
    return { cpuPercent: rounded((100 * (this.cpuSeconds() - before)) / seconds, 1), rssMb: Math.round(median(rss)) };
  }

  /** Ends it as a power cut would, for good. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), ENDS_WITHIN_MS);
    await this.#end("SIGTERM");
    clearTimeout(kill);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#looking);
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill(signal);
    await ended;
  }
}
