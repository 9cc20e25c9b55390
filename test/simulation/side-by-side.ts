import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Report } from "./campaign.ts";
import type { Hunt } from "./mutants.ts";

/** What one thread is to do. */
export type Task =
  | { readonly is: "campaign"; readonly count: number; readonly firstSeed: number }
  /** Every `of`th mutant, beginning with number `from`. */
  | { readonly is: "hunts"; readonly from: number; readonly of: number };

// Why threads of their own?
//   A history is computing and nothing else. Node runs the files as they are, in half the time that they take when the test
//   runner has rewritten every import of theirs, and several threads share the work.

const THREADS = Math.max(2, availableParallelism());

/** The reports of `count` histories from `firstSeed` on. */
export async function campaigns(count: number, firstSeed: number): Promise<readonly Report[]> {
  const each = Math.ceil(count / THREADS);
  const tasks = Array.from({ length: Math.ceil(count / each) }, (_, n): Task => {
    return { is: "campaign", count: Math.min(each, count - n * each), firstSeed: firstSeed + n * each };
  });
  return await Promise.all(tasks.map((task) => run<Report>(task)));
}

/** What became of each mutant, in the order of the list. */
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
