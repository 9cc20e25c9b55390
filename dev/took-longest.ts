import { relative } from "node:path";
import type { Took } from "./count.ts";
import { seconds } from "./progress.ts";

const SHOWN_FILES = 5;

/**
 * Durations as lines for people: of all levels, and of the slowest test files.
 * @param root the repository, below which the files are
 */
export function tookLongest(root: string, levels: readonly Took[], files: readonly Took[]): string[] {
  const slowest = sorted(files)
    .slice(0, SHOWN_FILES)
    .map(({ name, ms }) => ({ name: relative(root, name), ms }));
  const rows = [...table("Level", sorted(levels)), "", ...table("Slowest test files", slowest)];
  return files.length === 0 ? table("Level", sorted(levels)) : rows;
}

function sorted(took: readonly Took[]): Took[] {
  return took.toSorted((a, b) => b.ms - a.ms);
}

const NAME_WIDTH = 44;
const TIME_WIDTH = 12;

function table(title: string, rows: readonly Took[]): string[] {
  const line = (name: string, time: string) => `  ${name.padEnd(NAME_WIDTH)}${time.padStart(TIME_WIDTH)}`;
  return [line(title, "took"), ...rows.map(({ name, ms }) => line(name, seconds(ms)))];
}
