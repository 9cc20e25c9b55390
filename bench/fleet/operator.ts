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

/** Limit for an operator to end after SIGTERM, in milliseconds. Then it is killed. */
const ENDS_WITHIN_MS = 30_000;
/** Interval at which processor time is sampled, in milliseconds: the kernel forgets it when a process has ended. */
const CPU_EVERY_MS = 500;
/** Part of the log that is shown of an operator that ended by itself, in characters. */
const LAST_WORDS = 2_000;

/** Metrics port of the first operator, in the bench's own network. Each other operator has the next port. */
const FIRST_HTTP_PORT = 8080;

/** Processor time and memory of a process during some time. */
export interface Use {
  /** Percent of one core. */
  readonly cpuPercent: number;
  /** Median of one sample per second. */
  readonly rssMb: number;
}

/** How to run an operator. */
interface Launch {
  /** Result of `OperatorProcess.build`. */
  readonly program: string;
  /** Folder of the log. */
  readonly folder: string;
  readonly kubeconfig: string;
  /** Flags of Node; undefined: those of the image. */
  readonly nodeFlags: readonly string[] | undefined;
  /** Folder for CPU profiles, written when the operator ends; undefined: none is taken. */
  readonly profiles: string | undefined;
  /** Number of this operator among those that run in parallel, from 0. */
  readonly number: number;
  /** Shards of the fleet; 1: one operator leads everything. */
  readonly shards: number;
}

/**
 * The operator as the image runs it, as a child process. When it ends by itself it is started again, as by a kubelet.
 */
export class OperatorProcess {
  readonly #launch: Launch;
  readonly #log: string;
  readonly #looking: NodeJS.Timeout;
  #child: ChildProcess;
  #isStopping = false;
  /** How the operator ended each time that it did so by itself, with its last lines of log. */
  readonly #ends: string[] = [];
  /** Seconds of processor time of processes that have ended, as of their last sample. */
  #cpuOfEnded = 0;
  #cpuSeen = 0;

  /** Bundles the operator as for the image. @param root of the repository @returns path of the program */
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
    // The address of the webhooks' Service is a local one here, without kube-proxy. So the first operator must listen
    // on the Service's own port, and the others cannot serve it.
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
      const end = `Operator ${number} ended by itself ${how}. Its last lines of log:\n${this.#lastWords(LAST_WORDS)}`;
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

  /** How often the operator ended by itself, as it does when it loses its lease. */
  get ends(): number {
    return this.#ends.length;
  }

  /** Passes since the operator's start by controller, from its metrics. */
  async passes(): Promise<Readonly<Record<string, number>>> {
    const text = await this.#metrics();
    const passes: Record<string, number> = {};
    for (const [, controller = "", count] of text.matchAll(
      /^etcd_operator_passes_total\{controller="(\w+)",.*\} (\d+)$/gm,
    ))
      passes[controller] = (passes[controller] ?? 0) + Number(count);
    return passes;
  }

  /**
   * Shards that the operator leads, from its metrics; none before it answers. Unsharded, everything is shard 0 of 1.
   */
  async leads(): Promise<readonly Shard[]> {
    const text = await this.#metrics().catch(() => "");
    const { shards } = this.#launch;
    if (shards === 1) return /^etcd_operator_leading 1$/m.test(text) ? [{ number: 0, of: 1 }] : [];
    const led = text.matchAll(/^etcd_operator_shard_leading\{shard="(\d+)"\} 1$/gm);
    return [...led].map(([, number]) => ({ number: Number(number), of: shards }));
  }

  /** Current memory. */
  async memory(): Promise<Memory> {
    return await memoryOf(this.pid, this.#metricsUrl);
  }

  async #metrics(): Promise<string> {
    return await (await fetch(this.#metricsUrl)).text();
  }

  get #metricsUrl(): string {
    return `http://127.0.0.1:${FIRST_HTTP_PORT + this.#launch.number}/metrics`;
  }

  /** Every end of the operator by itself, and the last lines of its log. */
  log(): string {
    return [...this.#ends, this.#lastWords(3_000)].join("\n");
  }

  #lastWords(most: number): string {
    return readFileSync(this.#log, "utf8").trimEnd().slice(-most);
  }

  /** Seconds of processor time so far. */
  cpuSeconds(): number {
    if (procFile(this.pid, "stat") !== "") this.#cpuSeen = cpuSeconds(this.pid);
    return this.#cpuOfEnded + this.#cpuSeen;
  }

  /** Peak memory of the current process. */
  peakMb(): number {
    return Math.round(memoryMb(this.pid, "VmHWM"));
  }

  /** Samples the process for some time. @param forMs milliseconds */
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

  /** Kills the operator for good, as a power cut would. */
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
