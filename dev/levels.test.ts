import { globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, matchesGlob, relative } from "node:path";
import { expect, test } from "vitest";
import config from "../vitest.config.ts";
import { COMPUTING, E2E_COMPONENTS, LEVELS, LONG, SERVERS } from "./levels.ts";
import { buildsFor } from "./slice.ts";

const ROOT = join(import.meta.dirname, "..");
/** File of test/kit that starts a server or makes a release → what it needs from elsewhere. */
const STARTED_BY = {
  "e2e/release-commands.ts": ["helm"],
  "servers/azurite.ts": ["azurite"],
  "servers/browser.ts": ["site"],
  "servers/cert-manager.ts": ["cert-manager"],
  "servers/fake-gcs.ts": ["fake-gcs-server"],
  "servers/krew.ts": ["krew"],
  "servers/prometheus.ts": ["prometheus"],
  "servers/registry.ts": ["oras", "registry"],
  "servers/release.ts": ["pinned-base"],
  "servers/versitygw.ts": ["versitygw"],
};

/** Files of test/kit that a file imports, directly or through others. */
function kitOf(file: string, known = new Set<string>()): ReadonlySet<string> {
  for (const [, specifier = ""] of readFileSync(join(ROOT, file), "utf8").matchAll(
    / from "(#kit\/[^"]+|\.\/[^"]+)"/g,
  )) {
    const name = specifier.startsWith("#") ? specifier.slice(5) : relative("test/kit", join(dirname(file), specifier));
    if (name.startsWith("..")) continue;
    if (known.has(name)) continue;
    known.add(name);
    kitOf(`test/kit/${name}`, known);
  }
  return known;
}

function startedBy(file: string): readonly string[] {
  const kit = kitOf(file);
  return Object.entries(STARTED_BY).flatMap(([name, builds]) => (kit.has(name) ? builds : []));
}

test("levels: every test file belongs to exactly one level", () => {
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

test("levels: every project of vitest belongs to a level, and every level to a lane", () => {
  const names = (config.test?.projects ?? []).flatMap((each) =>
    typeof each === "object" && "test" in each ? [String(each.test?.name)] : [],
  );
  expect([...names].sort()).toEqual([...LEVELS, "e2e-users", LONG].sort());
  expect([...COMPUTING, ...SERVERS, "e2e"].sort()).toEqual([...LEVELS].sort());
});

test("levels: servers that end-to-end tests start are built in advance, because their network has no Internet access", () => {
  const files = readdirSync(join(ROOT, "test/e2e")).map((name) => `test/e2e/${name}`);
  expect([...new Set(files.flatMap(startedBy))].sort()).toEqual([...E2E_COMPONENTS].sort());
});

test.each(readdirSync(join(ROOT, "test/long")).filter((name) => name.endsWith(".test.ts")))(
  "levels: the servers that %s starts are built before it runs",
  (name) => expect(buildsFor(ROOT, [name])).toEqual(startedBy(`test/long/${name}`)),
);
