import { readdirSync } from "node:fs";
import { join } from "node:path";
import { LEVELS, type Level, type LONG } from "./levels.ts";

// Why two shares? All levels together take three quarters of an hour on two processors. `npm test` runs what shows each
// promise once, on real parts, in a quarter of an hour. `npm run test:rest` runs everything else, and a landing runs both:
// docs/adr/0028-test-lanes.md.

/** `first`: the tests of `npm test`; `rest`: all others, without the long tests. */
export type Share = "first" | "rest";

/** The levels that are divided: their files in the first share. Each other level belongs to the first share as a whole. */
const FIRST: Partial<Record<Level, readonly string[]>> = {
  e2e: ["bootstrap", "membership", "tls", "restore"],
  simulation: ["simulation"],
  mutants: [],
};

/** Files of both shares. `rights` looks at the requests that the files beside it caused. */
const BOTH: readonly string[] = ["rights"];

const FOLDER: Partial<Record<Level, string>> = {
  e2e: "test/e2e",
  simulation: "test/simulation",
  mutants: "test/mutation",
};

/**
 * The test files of a level that belong to a share, as filters for vitest. An empty list: the whole level. Undefined:
 * no file of the level.
 * @param root the repository
 */
export function filesIn(root: string, level: Exclude<Level, typeof LONG>, share: Share): readonly string[] | undefined {
  const [first, folder] = [FIRST[level], FOLDER[level]];
  if (first === undefined || folder === undefined) return share === "first" ? [] : undefined;
  const nameOf = (file: string) => file.replace(/\.test\.ts$/, "");
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".test.ts"),
  );
  const chosen = files
    .filter((file) => BOTH.includes(nameOf(file)) || first.includes(nameOf(file)) === (share === "first"))
    .sort();
  return chosen.length === 0 ? undefined : chosen.map((file) => `${folder}/${file}`);
}

/** The levels with files in the share, in their order. */
export function levelsIn(root: string, share: Share): readonly (typeof LEVELS)[number][] {
  return LEVELS.filter((level) => filesIn(root, level, share) !== undefined);
}
