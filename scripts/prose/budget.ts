import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findingsOf, folderOf } from "./repository.ts";
import type { Finding } from "./rules.ts";

// Why a budget?
//   The rules are younger than most texts. A folder may keep its findings; new ones are refused, and the budget falls
//   with every text that is fixed.

/** Allowed number of findings by folder. A folder without an entry may have none. */
export type Budget = Readonly<Record<string, number>>;

const FILE = "scripts/prose/budget.json";

/** A sentence for each folder with more findings than its budget, or with fewer: then the budget must be lowered. */
export function wordProblems(root: string): readonly string[] {
  return problems(budgetOf(root), countByFolder(findingsOf(root)));
}

export function problems(budget: Budget, counts: Budget): readonly string[] {
  const folders = [...new Set([...Object.keys(budget), ...Object.keys(counts)])].sort();
  return folders.flatMap((folder) => {
    const [allowed, found] = [budget[folder] ?? 0, counts[folder] ?? 0];
    if (found > allowed)
      return [`${folder} has ${counted(found)} and may have ${allowed}; list them: npm run prose -- ${folder}`];
    if (found < allowed)
      return [`${folder} has ${counted(found)} and may have ${allowed}; lower it: npm run prose -- --write`];
    return [];
  });
}

export function counted(findings: number): string {
  return findings === 1 ? "1 finding" : `${findings} findings`;
}

/**
 * Lowers each folder's budget to its number of findings; raises none.
 * @returns folders with more findings than allowed
 */
export function lowerBudget(root: string): readonly string[] {
  const [budget, counts] = [budgetOf(root), countByFolder(findingsOf(root))];
  writeFileSync(join(root, FILE), `${JSON.stringify(lowered(budget, counts), undefined, 2)}\n`);
  return Object.keys(counts).filter((folder) => (counts[folder] ?? 0) > (budget[folder] ?? 0));
}

export function lowered(budget: Budget, counts: Budget): Budget {
  const rest = Object.entries(budget).map(([folder, allowed]): [string, number] => [
    folder,
    Math.min(allowed, counts[folder] ?? 0),
  ]);
  return Object.fromEntries(rest.filter(([, allowed]) => allowed > 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function countByFolder(findings: readonly Finding[]): Budget {
  const counts: Record<string, number> = {};
  for (const { file } of findings) counts[folderOf(file)] = (counts[folderOf(file)] ?? 0) + 1;
  return counts;
}

function budgetOf(root: string): Budget {
  return JSON.parse(readFileSync(join(root, FILE), "utf8")) as Budget;
}
