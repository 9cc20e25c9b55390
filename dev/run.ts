import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { Failure } from "./failure.ts";

export interface RunOptions {
  /** Text for standard input. */
  readonly input?: string;
  /** File for standard input. */
  readonly inputFile?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Return the exit code instead of throwing when it is not 0. */
  readonly mayFail?: boolean;
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const marks = new AsyncLocalStorage<NodeJS.ProcessEnv>();

/**
 * Adds variables to the environment of each program that `work` runs with `run`. Programs that run at the same time
 * have none.
 */
export function marked<T>(variables: NodeJS.ProcessEnv, work: () => Promise<T>): Promise<T> {
  return marks.run(variables, work);
}

/**
 * Runs a program to its end.
 * @throws Failure with the command and its output, when it does not start or, without `mayFail`, fails
 */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    // The file itself, not a pipe: images are large, and copying them through this process would take most of the time.
    const file = options.inputFile === undefined ? undefined : openSync(options.inputFile, "r");
    const env = withSbin({ ...(options.env ?? process.env), ...marks.getStore() });
    const child = spawn(program, args, { stdio: [file ?? "pipe", "pipe", "pipe"], env });
    if (file !== undefined) closeSync(file);
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdin?.on("error", () => {}); // the program ended without reading its input: its exit code matters
    child.stdin?.end(options.input ?? "");
    child.on("error", (cause) => reject(new Failure(`Cannot start ${program}: ${cause.message}`, { cause })));
    child.on("close", (code, signal) => {
      if (code === 0 || (options.mayFail && code !== null)) return resolve({ code, stdout, stderr });
      const how = code === null ? `signal ${signal}` : `exit code ${code}`;
      reject(new Failure(`${[program, ...args].join(" ")} failed (${how}): ${(stderr || stdout).trim()}`));
    });
  });
}

/** Adds the sbin folders with ip and nft to the PATH, which root's non-login shell on Debian may lack. */
export function withSbin(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, PATH: `${env.PATH ?? "/usr/bin:/bin"}:/usr/sbin:/sbin` };
}
