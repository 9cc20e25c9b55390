import { loadavg } from "node:os";
import { parseArgs } from "node:util";

/** Options of every bench program. */
export interface BenchOptions {
  /** Audit log of the API server. */
  readonly auditLog: string;
  /** How often to measure; undefined: the bench's own default. */
  readonly rounds: number | undefined;
}

export function benchOptions(): BenchOptions {
  const { values } = parseArgs({ options: { "audit-log": { type: "string" }, rounds: { type: "string" } } });
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0)) {
    throw new Error(`--rounds is ${values.rounds}; it must be a whole number from 1`);
  }
  return { auditLog: values["audit-log"] ?? "", rounds };
}

/** Prints the result as one line of JSON on standard output, for programs. */
export function print(figure: { readonly bench: string } & Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(figure)}\n`);
}

/** Prints progress for people, with the load of the machine: figures from a busy machine are worth less. */
export function say(text: string): void {
  process.stderr.write(`  ${text} (load ${loadavg()[0]?.toFixed(1)})\n`);
}

/** Middle value; for an even number of values the mean of the two middle ones. @param values at least one */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error("The median of no values is undefined.");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
