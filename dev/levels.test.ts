import { globSync, readdirSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { expect, test } from "vitest";
import config from "../vitest.config.ts";
import { COMPUTING, E2E_COMPONENTS, LEVELS, LONG, SERVERS } from "./levels.ts";
import { buildsFor } from "./slice.ts";

const ROOT = join(import.meta.dirname, "..");
/** What tests import to start it → what that is. */
const STARTED_BY = {
  "azurite.ts": "azurite",
  "cert-manager.ts": "cert-manager",
  "fake-gcs.ts": "fake-gcs-server",
  "versitygw.ts": "versitygw",
};

/** Of test/kit, what a file imports, and what those import. */
function kitOf(file: string, known = new Set<string>()): ReadonlySet<string> {
  for (const [, name = ""] of readFileSync(join(ROOT, file), "utf8").matchAll(/ from "#kit\/([^"]+)"/g)) {
    if (known.has(name)) continue;
    known.add(name);
    kitOf(`test/kit/${name}`, known);
  }
  return known;
}

function startedBy(file: string): readonly string[] {
  const kit = kitOf(file);
  return Object.entries(STARTED_BY).flatMap(([name, component]) => (kit.has(name) ? [component] : []));
}

test("levels: every file of tests belongs to exactly one", () => {
  const projects = (config.test?.projects ?? []).flatMap((each) =>
    typeof each === "object" && "test" in each ? [each.test ?? {}] : [],
  );
  const isIn = (file: string, globs: readonly string[] = []) => globs.some((glob) => matchesGlob(file, glob));
  const files = globSync("{src,dev,test,bench,scripts}/**/*.test.ts", { cwd: ROOT });
  const wrong = files.filter(
    (file) => projects.filter(({ include, exclude }) => isIn(file, include) && !isIn(file, exclude)).length !== 1,
  );
  expect(files.length).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});

test("levels: every project is told, and every level in a lane", () => {
  const names = (config.test?.projects ?? []).flatMap((each) =>
    typeof each === "object" && "test" in each ? [String(each.test?.name)] : [],
  );
  expect([...names].sort()).toEqual([...LEVELS, "e2e-users", LONG].sort());
  expect([...COMPUTING, ...SERVERS, "e2e"].sort()).toEqual([...LEVELS].sort());
});

test("levels: what end-to-end tests start besides Kubernetes is built before, since nothing can be downloaded where they run", () => {
  const files = readdirSync(join(ROOT, "test/e2e")).map((name) => `test/e2e/${name}`);
  expect([...new Set(files.flatMap(startedBy))].sort()).toEqual([...E2E_COMPONENTS].sort());
});

test.each(readdirSync(join(ROOT, "test/long")).filter((name) => name.endsWith(".test.ts")))(
  "levels: so is what %s starts, also where no other level has run",
  (name) => expect(buildsFor(ROOT, [name])).toEqual(startedBy(`test/long/${name}`)),
);
