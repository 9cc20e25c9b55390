import { parentPort, workerData } from "node:worker_threads";
import { campaign } from "./campaign.ts";
import { hunt, MUTANTS } from "./mutants.ts";
import type { Task } from "./side-by-side.ts";

// Worker thread of side-by-side.ts.

const task = workerData as Task;
if (task.is === "campaign") {
  parentPort?.postMessage(await campaign(task.count, task.firstSeed));
} else {
  const found = [];
  for (const mutant of MUTANTS.filter((_, n) => n % task.of === task.from)) found.push(await hunt(mutant));
  parentPort?.postMessage(found);
}
