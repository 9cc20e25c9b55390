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

/** Every program that `work` runs with `run`, and nobody else's who runs at the same time, has these variables besides its own. */
export function marked<T>(variables: NodeJS.ProcessEnv, work: () => Promise<T>): Promise<T> {
  return marks.run(variables, work);
}

/**
 * Runs a program to its end.
 * @throws Failure with the command and what it said, when it cannot start or, without `mayFail`, ends with another code than 0
 */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    // The file itself, not a pipe from it: images are large, and copying them through here would take most of the time.
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
    child.stdin?.on("error", () => {}); // the program ended without reading its input: its exit code tells
    child.stdin?.end(options.input ?? "");
    child.on("error", (cause) => reject(new Failure(`${program} did not start: ${cause.message}`, { cause })));
    child.on("close", (code, signal) => {
      if (code === 0 || (options.mayFail && code !== null)) return resolve({ code, stdout, stderr });
      const how = code === null ? `signal ${signal}` : `exit code ${code}`;
      reject(new Failure(`${[program, ...args].join(" ")} failed (${how}): ${(stderr || stdout).trim()}`));
    });
  });
}

/** A non-login root shell of Debian may lack the sbin folders, where ip and nft live. */
export function withSbin(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, PATH: `${env.PATH ?? "/usr/bin:/bin"}:/usr/sbin:/sbin` };
}
