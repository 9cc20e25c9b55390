import { execFile } from "node:child_process";
import type { Kind } from "#etcd/flags/list.ts";

// How are a binary's flags found?
//   etcd's parser reads one flag after the other. At the first that it refuses it ends the process with exit code 2 and
//   one line with the reason. The last argument is a flag that no etcd has, so the process always ends before etcd
//   starts.
// Why is `--help` not enough?
//   Its text is written by hand: it omits flags, and does not list the accepted values.

/** A flag that no etcd has. */
const NO_FLAG = "there-is-no-such-flag";
/** Exit code of a process that refused its flags. */
const NOT_TAKEN = 2;
/** Timeout of a call, in milliseconds. The parser needs milliseconds, and on a busy machine a second. */
const PATIENCE_MS = 30_000;

/** Binary of one release of etcd, to find its flags. */
export class EtcdBinary {
  readonly #path: string;
  readonly #folder: string;

  /** @param folder empty working directory of the process */
  constructor(path: string, folder: string) {
    this.#path = path;
    this.#folder = folder;
  }

  /** The parser's error for these arguments; undefined when it accepts them. No etcd starts. */
  async refusal(...args: readonly string[]): Promise<string | undefined> {
    const { code, stdout, stderr } = await this.#run([...args, `--${NO_FLAG}`]);
    // The argument was a call for help or for the version, which are no flags.
    if (code !== NOT_TAKEN) return `exit code ${code}: ${stdout.slice(0, 100)}`;
    const [line = ""] = stderr.split("\n");
    return line === notDefined(NO_FLAG) ? undefined : line;
  }

  /** Whether this release has a flag of that name. */
  async knows(name: string): Promise<boolean> {
    const refusal = await this.refusal(`--${name}=`);
    return refusal !== notDefined(name) && refusal?.startsWith("exit code") !== true;
  }

  /** Kind of the flag's value, from the values that the parser accepts. */
  async kindOf(name: string): Promise<Kind> {
    const takes = async (value: string) => (await this.refusal(`--${name}=${value}`)) === undefined;
    // A flag that needs a value takes the next argument as its value.
    const needsNoValue = (await this.refusal(`--${name}`, "--another-one")) === notDefined("another-one");
    if (await takes("x")) return needsNoValue ? "ignored" : "text";
    if (needsNoValue) return "bool";
    if (await takes("AllAlpha=true")) return "gates";
    if (await takes("1s")) return "duration";
    if (await takes("http://127.0.0.1:1")) return "urls";
    if (!(await takes("1"))) return "other";
    if (await takes("-1")) return "int";
    return (await takes(String(2 ** 32))) ? "uint" : "uint32";
  }

  /** Text of `--help`. */
  async help(): Promise<string> {
    return (await this.#run(["--help"])).stdout;
  }

  #run(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const options = { cwd: this.#folder, env: {}, timeout: PATIENCE_MS, killSignal: "SIGKILL" } as const;
    return new Promise((resolve, reject) => {
      execFile(this.#path, args, options, (failure, stdout, stderr) => {
        const code = failure === null ? 0 : failure.code;
        if (typeof code === "number") resolve({ code, stdout, stderr });
        else reject(new Error(`${this.#path} ${args.join(" ")} did not end by itself.`, { cause: failure }));
      });
    });
  }
}

/** The parser's error for an unknown flag. */
function notDefined(name: string): string {
  return `flag provided but not defined: -${name}`;
}
