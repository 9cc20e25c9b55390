import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "./failure.ts";
import { type RunResult, run } from "./run.ts";

/** kubectl for one cluster. */
export class Kubectl {
  readonly #program: string;
  readonly #flags: readonly string[];

  /** @param context of the kubeconfig. Default: the current one, which may change at any time */
  constructor(program: string, kubeconfig: string, context?: string) {
    this.#program = program;
    this.#flags = ["--kubeconfig", kubeconfig, ...(context === undefined ? [] : ["--context", context])];
  }

  /** Runs kubectl. @throws Failure with its output when it fails, unless `mayFail` */
  async run(args: readonly string[], options: { input?: string; mayFail?: boolean } = {}): Promise<RunResult> {
    return await run(this.#program, [...this.#flags, ...args], options);
  }

  /** Applies objects with server-side apply. */
  async apply(objects: readonly object[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    await this.run(["apply", "--server-side", "--force-conflicts", "--field-manager=npm-start", "-f", "-"], { input });
  }

  async json<T>(args: readonly string[]): Promise<T> {
    const { stdout } = await this.run([...args, "-o", "json"]);
    return JSON.parse(stdout) as T;
  }
}

/** A program on the PATH; `undefined` when there is none. */
export function onPath(program: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

/** Path of kubectl. @throws Failure when there is none on the PATH */
export function needKubectl(): string {
  const found = onPath("kubectl");
  if (found === undefined)
    throw new Failure("kubectl is not on the PATH. Install it: npm start uses it for the cluster of --kubeconfig.");
  return found;
}
