import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { withSbin } from "./run.ts";

// Some tests compute, and others wait, for leases, timeouts and pods. Told one after another they would leave the machine idle half of
// the time; told side by side as equals, those that compute would disturb those that measure. So who computes gets what others leave.

/** The lowest that there is. */
const LOWEST = 19;

/**
 * Runs a program, and ends with it; told to end, it ends everybody of its group at once, also who is too busy to hear a signal. All that is said
 * takes one way, and so stays in its order.
 */
const KEEPER = 'trap "kill -KILL 0" TERM; exec 2>&1; "$@" & wait $!';

export interface Told {
  readonly code: number;
  /** All that it said, on both of its outputs. */
  readonly text: string;
}

/** Programs beside whatever else runs: at the lowest priority, unless another one is given. What they start runs at the same. */
export class Beside {
  #nice: number;
  readonly #pids = new Set<number>();

  /** @param nice as `nice` has it, -20 to 19 */
  constructor(nice = LOWEST) {
    this.#nice = nice;
  }

  /** Runs a program to its end. It ends with us, and all that it has started, however we end. */
  async run(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Told> {
    // In a session of its own: priorities are set for all of its processes at once, and where the kernel shares processors out by
    // session, it counts as a whole. Ctrl-C does not reach it there, and the kernel tells it when we are gone.
    const child = spawn("setpriv", ["--pdeathsig", "TERM", "sh", "-c", KEEPER, "sh", ...argv], {
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

  /** Somebody waits for them, and for nothing else: they get the priority that we have. */
  hurry(): void {
    this.#nice = getPriority();
    this.#apply();
  }

  #apply(): void {
    for (const pid of this.#pids) {
      // Best effort: a group that has just ended has no priority, and not every kernel shares out by session.
      spawnSync("renice", ["-n", String(this.#nice), "-g", String(pid)], { stdio: "ignore" });
      try {
        writeFileSync(`/proc/${pid}/autogroup`, String(this.#nice));
      } catch {
        // no such file
      }
    }
  }
}
