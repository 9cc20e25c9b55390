import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "./failure.ts";
import { type RunResult, run } from "./run.ts";

/** kubectl for one cluster. */
export class Kubectl {
  readonly #program: string;
  readonly #kubeconfig: string;

  constructor(program: string, kubeconfig: string) {
    this.#program = program;
    this.#kubeconfig = kubeconfig;
  }

  /** Runs it. @throws Failure with what it said, unless it `mayFail` */
  async run(args: readonly string[], options: { input?: string; mayFail?: boolean } = {}): Promise<RunResult> {
    return await run(this.#program, ["--kubeconfig", this.#kubeconfig, ...args], options);
  }

  /** Applies objects on the server's side. */
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

/** @throws Failure when there is no kubectl on the PATH */
export function needKubectl(): string {
  const found = onPath("kubectl");
  if (found === undefined)
    throw new Failure("kubectl is not on the PATH; install it, it is how the cluster of --kubeconfig is reached");
  return found;
}
