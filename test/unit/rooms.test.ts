import { globSync, readFileSync } from "node:fs";
import { matchesGlob } from "node:path";
import { expect, test } from "vitest";

// ARCHITECTURE.md says who may import whom; this test makes it so. It reads the import lines of every file in src.

interface Rooms {
  rooms: Record<string, readonly string[]>;
  pure: readonly string[];
}

const { rooms, pure } = JSON.parse(readFileSync("rooms.json", "utf8")) as Rooms;
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

/** `room/file.ts` for an import between rooms, the package name for all others. */
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
  const room = inSrc(file).split("/")[0] ?? "";
  const allowed = rooms[room];
  if (allowed === undefined) return [`${file}: room ${room} is not in rooms.json`];
  return importsOf(file)
    .map(({ path }) => path)
    .filter((path) => (path.split("/")[0] ?? "") in rooms)
    .filter(
      (path) =>
        !path.startsWith(`${room}/`) &&
        !allowed.some((entry) => path === `${entry}.ts` || path.startsWith(`${entry}/`)),
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
  return word === undefined ? imports : [...imports, `${inSrc(file)} says ${word}`];
}

test("rooms: every import between rooms is in the table", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.flatMap(forbiddenImports)).toEqual([]);
});

test("rooms: pure files do no I/O, read no clock and import only pure files", () => {
  const pureFiles = files.filter((file) => isPure(inSrc(file)));
  expect(pureFiles.length).toBeGreaterThan(20);
  expect(pureFiles.flatMap(impurities)).toEqual([]);
});

test("rooms: every pattern of the pure list names files that exist", () => {
  expect(pure.filter((pattern) => !files.some((file) => matchesGlob(inSrc(file), pattern)))).toEqual([]);
});

test("rooms: every rule's name is its file's name", () => {
  const misnamed = files
    .filter((file) => /^src\/[a-z]+\/rules\//.test(file))
    .filter((file) => !readFileSync(file, "utf8").includes(`  name: "${file.split("/").at(-1)?.replace(".ts", "")}",`));
  expect(misnamed).toEqual([]);
});

test("rooms: ARCHITECTURE.md shows the same import table", () => {
  const text = readFileSync("ARCHITECTURE.md", "utf8");
  const rows = Object.entries(rooms).map(
    ([room, allowed]) => `| \`${room}\` | ${allowed.map((entry) => `\`${entry}\``).join(" ") || "—"} |`,
  );
  expect(rows.filter((row) => !text.includes(row))).toEqual([]);
});

test("rooms: no file imports itself, by whatever way round", () => {
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
