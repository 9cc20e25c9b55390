import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Report } from "./campaign.ts";
import type { Hunt } from "./mutants.ts";

/** Work of one thread. */
export type Task =
  | { readonly is: "campaign"; readonly count: number; readonly firstSeed: number }
  /** Every `of`th mutant, from number `from` on. */
  | { readonly is: "hunts"; readonly from: number; readonly of: number };

// Histories run in worker threads, because they only compute. Node runs the files directly, in half the time that they
// take with the imports that the test runner rewrites. Several threads share the work.

const THREADS = Math.max(2, availableParallelism());

/** Reports of `count` histories from `firstSeed` on. */
export async function campaigns(count: number, firstSeed: number): Promise<readonly Report[]> {
  const each = Math.ceil(count / THREADS);
  const tasks = Array.from({ length: Math.ceil(count / each) }, (_, n): Task => {
    return { is: "campaign", count: Math.min(each, count - n * each), firstSeed: firstSeed + n * each };
  });
  return await Promise.all(tasks.map((task) => run<Report>(task)));
}

/** Hunts of all mutants, in the order of the list. */
export async function hunts(): Promise<readonly Hunt[]> {
  const parts = await Promise.all(
    Array.from({ length: THREADS }, (_, from) => run<readonly Hunt[]>({ is: "hunts", from, of: THREADS })),
  );
  const longest = Math.max(...parts.map(({ length }) => length));
  return Array.from({ length: longest }, (_, n) => parts.flatMap((part) => part[n] ?? [])).flat();
}

function run<Result>(task: Task): Promise<Result> {
  const worker = new Worker(new URL("./thread.ts", import.meta.url), { workerData: task, execArgv: [], stdout: false });
  return new Promise((resolve, reject) => {
    worker.once("message", (result: Result) => resolve(result));
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`a thread of the simulation ended with code ${code}`)));
  });
}
