import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../failure.ts";
import {
  childrenOf,
  identify,
  isAlive,
  type ProcessId,
  parentOf,
  sharesOurProcessNumbers,
  signal,
  withEnvironment,
} from "../proc.ts";
import { withSbin } from "../run.ts";
import type { Instance } from "./instance.ts";
import { TOKEN_VARIABLE } from "./slots.ts";

/** Last lines of a component's log that an error shows. */
const SHOWN_LINES = 15;
/** Interval of readiness checks, in milliseconds. */
const ASK_AGAIN_MS = 50;
/** Limit for a killed process to end, in milliseconds. */
const END_MS = 10_000;
/** Limit for nsenter to start a program, in milliseconds. */
const ENTER_MS = 5_000;

export interface Component extends ProcessId {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly argv: readonly string[];
  readonly log: string;
}

export interface StartOptions {
  /** Whether the component is the only child of the process that argv starts. */
  readonly isChild?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Processes of an instance, in a file that all commands read. Only the holder of the instance's lock writes it. */
export class ProcessTable {
  readonly #file: string;
  readonly #logs: string;
  readonly #token: string;
  readonly #components: Map<string, Component>;

  constructor(folder: string, logs: string, token: string) {
    this.#file = join(folder, "processes.json");
    this.#logs = logs;
    this.#token = token;
    const known = existsSync(this.#file) ? (JSON.parse(readFileSync(this.#file, "utf8")) as Component[]) : [];
    this.#components = new Map(known.map((component) => [component.name, component]));
  }

  all(): Component[] {
    return [...this.#components.values()];
  }

  /** The component; undefined when it does not run. */
  running(name: string): Component | undefined {
    const component = this.#components.get(name);
    return component !== undefined && isAlive(component) ? component : undefined;
  }

  /** Starts the component, unless it already runs with these arguments. */
  async ensure(name: string, argv: readonly string[], options: StartOptions = {}): Promise<Component> {
    const current = this.running(name);
    if (current !== undefined) {
      if (current.argv.join("\0") === argv.join("\0")) return current;
      await this.stop(name);
    }
    return this.#start(name, argv, options);
  }

  /**
   * Ends processes with our token that have no entry: a command started them just before it was killed. Processes
   * inside a node end with the node.
   */
  async endUnrecorded(): Promise<void> {
    const recorded = new Set(this.all().map((component) => component.pid));
    const unrecorded = withEnvironment(TOKEN_VARIABLE, this.#token).filter(
      ({ pid }) =>
        !recorded.has(pid) &&
        sharesOurProcessNumbers(pid) &&
        !recorded.has(parentOf(pid)) && // started by a component
        !childrenOf(pid).some((child) => recorded.has(child)), // only waits for a component
    );
    const children = unrecorded.flatMap(({ pid }) => childrenOf(pid)).flatMap((pid) => identify(pid) ?? []);
    await kill([...unrecorded, ...children]);
  }

  async #start(name: string, argv: readonly string[], options: StartOptions): Promise<Component> {
    mkdirSync(this.#logs, { recursive: true });
    const env = { ...options.env, [TOKEN_VARIABLE]: this.#token };
    const component = await spawnLogged(name, argv, join(this.#logs, `${name}.log`), { ...options, env });
    this.#components.set(name, component);
    this.#save();
    return component;
  }

  /** Kills the component and waits until it has ended. */
  async stop(name: string): Promise<void> {
    const component = this.#components.get(name);
    if (component !== undefined) await kill([component]);
    this.forget(name);
  }

  forget(name: string): void {
    this.#components.delete(name);
    this.#save();
  }

  #save(): void {
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(`${this.#file}.draft`, JSON.stringify(this.all(), undefined, 1));
    renameSync(`${this.#file}.draft`, this.#file);
  }
}

export function tableOf(instance: Instance): ProcessTable {
  return new ProcessTable(instance.folder, instance.logs, instance.token);
}

/**
 * Starts a program that outlives this process, and appends its output to the log.
 * @throws Failure when the program does not start
 */
export async function spawnLogged(
  name: string,
  argv: readonly string[],
  log: string,
  options: StartOptions = {},
): Promise<Component> {
  const output = openSync(log, "a");
  const [program = "", ...args] = argv;
  const env = withSbin({ PATH: process.env.PATH, HOME: process.env.HOME, ...options.env });
  // Detached: its own process group, so that Ctrl-C in the terminal reaches only the command.
  const child = spawn(program, args, { detached: true, stdio: ["ignore", output, output], env, cwd: "/" });
  closeSync(output);
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => reject(new Failure(`Cannot start ${name}: ${cause.message}`, { cause })));
  });
  child.unref();
  const pid = options.isChild ? await onlyChild(child.pid ?? 0) : child.pid;
  const id = pid === undefined ? undefined : identify(pid);
  if (id === undefined) throw new Failure(`${name} ended at once. ${lastLines(log)}`);
  return { ...id, name, startedAt: Date.now(), argv, log };
}

async function onlyChild(parent: number): Promise<number | undefined> {
  const deadlineMs = performance.now() + ENTER_MS;
  while (performance.now() < deadlineMs && identify(parent) !== undefined) {
    const [child] = childrenOf(parent);
    if (child !== undefined) return child;
    await sleep(5);
  }
  return undefined;
}

/** Kills the processes and waits until they have ended. @throws Failure when one of them does not end */
export async function kill(targets: readonly ProcessId[]): Promise<void> {
  for (const target of targets) signal(target, "SIGKILL");
  const deadlineMs = performance.now() + END_MS;
  for (const target of targets) {
    while (isAlive(target)) {
      if (performance.now() > deadlineMs) throw new Failure(`Process ${target.pid} was killed, but does not end.`);
      await sleep(5);
    }
  }
}

/**
 * Waits until `missing` returns undefined.
 * @param component the wait fails at once when it ends
 * @param missing returns a clause about what is not ready yet
 * @throws Failure with the component, the clause, and the last log lines
 */
export async function waitReady(
  component: Component,
  missing: () => Promise<string | undefined> | string | undefined,
  deadlineMs = 60_000,
): Promise<void> {
  const sinceMs = performance.now();
  for (;;) {
    const clause = await missing();
    if (clause === undefined) return;
    if (!isAlive(component))
      throw new Failure(`${component.name} ended before it was ready. ${lastLines(component.log)}`);
    if (performance.now() - sinceMs > deadlineMs) {
      const waited = `waited ${Math.round(deadlineMs / 1000)} s`;
      throw new Failure(`${component.name} is not ready (${waited}): ${clause}. ${lastLines(component.log)}`);
    }
    await sleep(ASK_AGAIN_MS);
  }
}

function lastLines(log: string): string {
  const lines = existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n").slice(-SHOWN_LINES) : [];
  return `Last lines of ${log}:\n${lines.map((line) => `    ${line}`).join("\n")}`;
}
