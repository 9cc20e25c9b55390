import { readdirSync } from "node:fs";
import type { Shard } from "#shards/belonging.ts";
import { rounded } from "../figure.ts";
import { cpuSeconds, procFile } from "../process-usage.ts";
import { until } from "../until.ts";
import type { Memory } from "./memory.ts";
import type { OperatorProcess, Use } from "./operator.ts";

/** Use of all operators together, and memory of each. */
interface SharedUse extends Use {
  /** `rssMb` of each process. */
  readonly rssMbEach: readonly number[];
}

/** The operators that run in parallel: one, or one for each shard. Figures are sums over all of them. */
export class Operators {
  readonly #all: OperatorProcess[];

  /** @param all one or more operators that have just been started */
  constructor(all: readonly OperatorProcess[]) {
    this.#all = [...all];
  }

  /** Waits until each operator leads everything, or its shard. */
  async untilEachLeads(): Promise<void> {
    await until("every operator leads", async () => {
      const led = await Promise.all(this.#all.map((each) => each.leads()));
      return led.every(({ length }) => length === 1) || undefined;
    });
  }

  /**
   * Kills the last operator for good. The first one is spared, as it serves the webhooks.
   * @returns the shards that it led
   */
  async killOne(): Promise<readonly Shard[]> {
    await this.untilEachLeads();
    const last = this.#all.pop();
    const led = (await last?.leads()) ?? [];
    await last?.kill();
    if (led.length === 0) throw new Error("The operator lost its shard just before it was killed.");
    return led;
  }

  get ends(): number {
    return sum(this.#all.map(({ ends }) => ends));
  }

  async passes(): Promise<Readonly<Record<string, number>>> {
    const passes: Record<string, number> = {};
    for (const each of await Promise.all(this.#all.map((operator) => operator.passes())))
      for (const [controller, count] of Object.entries(each)) passes[controller] = (passes[controller] ?? 0) + count;
    return passes;
  }

  /** Last lines of all logs. */
  log(): string {
    return this.#all.map((each) => each.log()).join("\n\n");
  }

  cpuSeconds(): number {
    return sum(this.#all.map((each) => each.cpuSeconds()));
  }

  /** Sum of the peak memory of each operator. */
  peakMb(): number {
    return sum(this.#all.map((each) => each.peakMb()));
  }

  async memory(): Promise<Memory> {
    const each = await Promise.all(this.#all.map((operator) => operator.memory()));
    const of = (part: keyof Memory): number => sum(each.map((memory) => memory[part]));
    return {
      anonymousMb: of("anonymousMb"),
      heapUsedMb: of("heapUsedMb"),
      heapTotalMb: of("heapTotalMb"),
      outsideMb: of("outsideMb"),
    };
  }

  /** @param forMs milliseconds */
  async use(forMs: number): Promise<SharedUse> {
    const each = await Promise.all(this.#all.map((operator) => operator.use(forMs)));
    const rssMbEach = each.map(({ rssMb }) => rssMb);
    return { cpuPercent: rounded(sum(each.map(({ cpuPercent }) => cpuPercent)), 1), rssMb: sum(rssMbEach), rssMbEach };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((each) => each.stop()));
  }

  /** Seconds of processor time of all processes in the bench, by program. The bench's own process is `bench`. */
  cpuByProgram(): Record<string, number> {
    const own = this.#all.map(({ pid }) => pid);
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const used: Record<string, number> = { operator: this.cpuSeconds() };
    for (const pid of pids.map(Number)) {
      const program = procFile(pid, "cmdline").split("\0")[0]?.split("/").at(-1) ?? "";
      const name = pid === process.pid ? "bench" : program;
      if (name !== "" && !own.includes(pid)) used[name] = (used[name] ?? 0) + cpuSeconds(pid);
    }
    return used;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
