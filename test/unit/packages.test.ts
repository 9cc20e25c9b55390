import { existsSync, globSync, readFileSync } from "node:fs";
import { matchesGlob } from "node:path";
import { expect, test } from "vitest";

// packages.json lists what each package may import. This test enforces it by the import lines of every file in src.

interface Packages {
  packages: Record<string, readonly string[]>;
  pure: readonly string[];
}

const { packages, pure } = JSON.parse(readFileSync("packages.json", "utf8")) as Packages;
const files = globSync("src/**/*.ts").filter(
  (path) => !path.endsWith(".test.ts") && !path.startsWith("src/etcd/proto/"),
);

interface Import {
  readonly path: string;
  readonly typeOnly: boolean;
}

function importsOf(file: string): readonly Import[] {
  const text = readFileSync(file, "utf8");
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)"/gms);
  return [...found].map((match) => ({ path: resolved(file, match[2] ?? ""), typeOnly: match[1] !== undefined }));
}

/** `package/file.ts` for an import of this repository, the npm package's name for all others. */
function resolved(file: string, specifier: string): string {
  if (specifier.startsWith("#")) return specifier.slice(1);
  if (specifier.startsWith(".")) return new URL(specifier, `file:///${file}`).pathname.replace(/^\/src\//, "");
  return specifier;
}

function inSrc(file: string): string {
  return file.replace(/^src\//, "");
}

function isPure(path: string): boolean {
  return pure.some((pattern) => matchesGlob(path, pattern));
}

/** Every import of a file that the table does not allow, as `file -> import`. */
function forbiddenImports(file: string): readonly string[] {
  const own = inSrc(file).split("/")[0] ?? "";
  const allowed = packages[own];
  if (allowed === undefined) return [`${file}: package ${own} is not in packages.json`];
  return importsOf(file)
    .map(({ path }) => path)
    .filter((path) => (path.split("/")[0] ?? "") in packages)
    .filter(
      (path) =>
        !path.startsWith(`${own}/`) && !allowed.some((entry) => path === `${entry}.ts` || path.startsWith(`${entry}/`)),
    )
    .map((path) => `${inSrc(file)} -> ${path}`);
}

const IMPURE_WORDS =
  /\b(?:async|await|setTimeout|setInterval|fetch)\b|\b(?:process|console|performance)\.|\b(?:Date\.now|Math\.random)\b|new Date\(\)/;
/** Libraries that only compute, and hashing: same input, same output. */
const PURE_PACKAGES = [
  "zod",
  "node:crypto",
  "kubernetes-models",
  "@connectrpc/connect",
  "@bufbuild/protobuf",
  "croner",
  "lru-cache",
];

function impurities(file: string): readonly string[] {
  const text = readFileSync(file, "utf8");
  const code = text
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, '""');
  const word = IMPURE_WORDS.exec(code)?.[0];
  const imports = importsOf(file)
    .filter(({ path, typeOnly }) => !typeOnly && !isPure(path) && !path.startsWith("etcd/proto/"))
    .filter(({ path }) => !PURE_PACKAGES.some((name) => path === name || path.startsWith(`${name}/`)))
    .map(({ path }) => `${inSrc(file)} imports ${path}, which is not pure`);
  return word === undefined ? imports : [...imports, `${inSrc(file)} uses ${word}`];
}

test("packages: every import between packages is in the table", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.flatMap(forbiddenImports)).toEqual([]);
});

test("packages: files listed as pure do no I/O, read no clock and import only pure files", () => {
  const pureFiles = files.filter((file) => isPure(inSrc(file)));
  expect(pureFiles.length).toBeGreaterThan(20);
  expect(pureFiles.flatMap(impurities)).toEqual([]);
});

test("packages: every pattern in the list of pure files matches a file", () => {
  expect(pure.filter((pattern) => !files.some((file) => matchesGlob(inSrc(file), pattern)))).toEqual([]);
});

test("packages: every rule of clusters has the name of its file", () => {
  const misnamed = files
    .filter((file) => /^src\/cluster.*\/rules\//.test(file))
    .filter((file) => !readFileSync(file, "utf8").includes(`  name: "${file.split("/").at(-1)?.replace(".ts", "")}",`));
  expect(misnamed).toEqual([]);
});

/** Files that ask a single rule: a forecast of it, a condition that reports it, a webhook that warns of it. */
const ASKS_A_RULE = [
  "cluster/forecast/forecast.ts -> cluster/update/rules/drop-previous-template.ts",
  "cluster/update/pending-release.ts -> cluster/update/rules/backup-first.ts",
  "webhooks/checks/kept-claims.ts -> cluster/identity/rules/claims-unclear.ts",
];

test("packages: only plans, other rules and three listed files import rules", () => {
  const found = files
    .filter((file) => !file.includes("/rules/") && !file.endsWith("/plan.ts"))
    .flatMap((file) => importsOf(file).map(({ path }) => [inSrc(file), path] as const))
    .filter(([, path]) => path.includes("/rules/"))
    .map(([file, path]) => `${file} -> ${path}`);
  expect(found.sort()).toEqual(ASKS_A_RULE);
});

test("packages: ARCHITECTURE.md lists every package, and every package has a README.md", () => {
  const text = readFileSync("ARCHITECTURE.md", "utf8");
  const listed = [...text.matchAll(/^\| \[`([\w-]+)`\]\(src\/\1\/README\.md\)/gm)].map(([, name]) => name);
  expect(listed).toEqual(Object.keys(packages));
  expect(listed.filter((name) => !existsSync(`src/${name}/README.md`))).toEqual([]);
});

test("packages: no file imports itself, directly or indirectly", () => {
  const imports = new Map(files.map((file) => [inSrc(file), importsOf(file).map(({ path }) => path)]));
  const done = new Set<string>();
  const circleFrom = (file: string, way: readonly string[]): string | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file].join(" -> ");
    if (done.has(file)) return undefined;
    const circles = (imports.get(file) ?? []).map((next) => circleFrom(next, [...way, file]));
    done.add(file);
    return circles.find((circle) => circle !== undefined);
  };
  expect([...imports.keys()].flatMap((file) => circleFrom(file, []) ?? [])).toEqual([]);
});
