import { execFile } from "node:child_process";
import type { Kind } from "#etcd/flags/list.ts";

// How is a binary asked for its flags?
//   Its parser reads one flag after the other and ends the process at the first that it does not take, with exit code 2 and one line
//   that says why. Behind what is asked stands a flag that no etcd has, so the process ends in any case before etcd starts.
// Why is `--help` not enough?
//   It is a text that people write by hand: it leaves flags out, and does not say which values the parser takes.

/** A flag that no etcd has. */
const NO_FLAG = "there-is-no-such-flag";
/** The exit code of a process whose flags are not taken. */
const NOT_TAKEN = 2;
/** The parser needs milliseconds; a busy machine needs a second. */
const PATIENCE_MS = 30_000;

/** One release of etcd, which can be asked for its flags. */
export class EtcdBinary {
  readonly #path: string;
  readonly #folder: string;

  /** @param folder an empty one, in which the process runs */
  constructor(path: string, folder: string) {
    this.#path = path;
    this.#folder = folder;
  }

  /** What the parser has against these arguments; undefined when it takes them. No etcd starts. */
  async refusal(...args: readonly string[]): Promise<string | undefined> {
    const { code, stdout, stderr } = await this.#run([...args, `--${NO_FLAG}`]);
    // It has taken a call for help, or for the version: that is none of its flags.
    if (code !== NOT_TAKEN) return `exit code ${code}: ${stdout.slice(0, 100)}`;
    const [line = ""] = stderr.split("\n");
    return line === notDefined(NO_FLAG) ? undefined : line;
  }

  /** Whether this release has a flag of that name. */
  async knows(name: string): Promise<boolean> {
    const refusal = await this.refusal(`--${name}=`);
    return refusal !== notDefined(name) && refusal?.startsWith("exit code") !== true;
  }

  /** What the flag takes, by what it says to values. */
  async kindOf(name: string): Promise<Kind> {
    const takes = async (value: string) => (await this.refusal(`--${name}=${value}`)) === undefined;
    // Who needs a value takes the next argument for it.
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

  /** What `--help` says. */
  async help(): Promise<string> {
    return (await this.#run(["--help"])).stdout;
  }

  #run(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const options = { cwd: this.#folder, env: {}, timeout: PATIENCE_MS, killSignal: "SIGKILL" } as const;
    return new Promise((resolve, reject) => {
      execFile(this.#path, args, options, (failure, stdout, stderr) => {
        const code = failure === null ? 0 : failure.code;
        if (typeof code === "number") resolve({ code, stdout, stderr });
        else reject(new Error(`${this.#path} ${args.join(" ")} did not end by itself`, { cause: failure }));
      });
    });
  }
}

/** The parser's words for a flag that there is none of. */
function notDefined(name: string): string {
  return `flag provided but not defined: -${name}`;
}
