import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { withSbin } from "./run.ts";

// Some tests compute, and others wait for leases, timeouts and pods. One after another they would leave the machine
// idle half of the time. In parallel at equal priority, those that compute would disturb those that measure time. So
// tests that compute get only the processor time that the others leave.

/** The lowest priority. */
const LOWEST = 19;

/**
 * Shell script that runs a program and ends with it. On SIGTERM it kills its whole process group, also processes that
 * ignore signals. Both outputs go into one pipe, so that their order is kept.
 */
const KEEPER = 'trap "kill -KILL 0" TERM; exec 2>&1; "$@" & wait $!';

export interface Result {
  readonly code: number;
  /** Both outputs of the program. */
  readonly text: string;
}

/** Runs programs in the background, with their children, at the lowest or a given priority. */
export class Beside {
  #nice: number;
  readonly #pids = new Set<number>();

  /** @param nice as `nice` has it, -20 to 19 */
  constructor(nice = LOWEST) {
    this.#nice = nice;
  }

  /** Runs a program to its end. The program and its children end when this process ends, however it ends. */
  async run(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Result> {
    // In a session of its own: its priority can be set as a whole, also where the kernel shares processors by session.
    // Ctrl-C does not reach it there; the kernel sends it SIGTERM when this process ends.
    // It starts with its priority: a later change could miss children that it has just started.
    const lower = ["nice", "-n", String(Math.max(0, this.#nice - getPriority()))];
    const child = spawn("setpriv", ["--pdeathsig", "TERM", ...lower, "sh", "-c", KEEPER, "sh", ...argv], {
      detached: true,
      env: withSbin(env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const output of [child.stdout, child.stderr])
      output.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
    const { pid } = child;
    if (pid !== undefined) this.#pids.add(pid);
    this.#apply();
    return await new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => {
        if (pid !== undefined) this.#pids.delete(pid);
        resolve({ code: code ?? 1, text });
      });
    });
  }

  /** Gives the programs our own priority, when nothing else is left to wait for. */
  hurry(): void {
    this.#nice = getPriority();
    this.#apply();
  }

  #apply(): void {
    for (const pid of this.#pids) {
      // Best effort: the group may have ended, and not every kernel shares processors by session.
      spawnSync("renice", ["-n", String(this.#nice), "-g", String(pid)], { stdio: "ignore" });
      try {
        writeFileSync(`/proc/${pid}/autogroup`, String(this.#nice));
      } catch {
        // no such file
      }
    }
  }
}
