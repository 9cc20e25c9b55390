import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cacheRoot } from "./cache.ts";
import { Failure } from "./failure.ts";
import { withLock } from "./lock.ts";
import { ensureBuildPackages } from "./packages.ts";
import type { Note, Step } from "./progress.ts";
import { type ComponentName, goBinaryName, RECIPES, type Recipe } from "./recipes.ts";
import { run } from "./run.ts";

const GO_FOLDER = join(import.meta.dirname, "go");

/** Lines of a failed build's output that are shown. */
const SHOWN_LINES = 15;

/** Folder of all components' binaries, with one folder for each component, version and recipe. */
export function componentsRoot(): string {
  return join(cacheRoot(), "bin");
}

/**
 * Builds missing components; takes milliseconds when none is missing. Several processes may call it at once.
 * @returns absolute path of each main binary, by component; other binaries are in the same folder
 * @throws Failure when Go is missing or a build fails, with the compiler's last lines
 */
export async function ensureComponents<N extends ComponentName>(
  names: readonly N[],
  step: Step,
): Promise<Record<N, string>> {
  for (const group of missingBuilds(names)) {
    await step(buildTitle(group), async (note) => {
      await withLock(
        join(cacheRoot(), `build-${RECIPES[group[0] as ComponentName].module}.lock`),
        async () => {
          const missing = group.filter((name) => !existsSync(mainBinary(name)));
          if (missing.length > 0) await build(missing, note);
        },
        { onWait: (pid) => note(`waiting for process ${pid}, which is building it`) },
      );
    });
  }
  return Object.fromEntries(names.map((name) => [name, mainBinary(name)])) as Record<N, string>;
}

/** Components that must be built, in one group for each run of the compiler. */
export function missingBuilds<N extends ComponentName>(names: readonly N[]): N[][] {
  return groupsOf(names.filter((name) => !existsSync(mainBinary(name))));
}

/** Title of the step that builds a group. */
export function buildTitle(group: readonly ComponentName[]): string {
  const { module, version }: Recipe = RECIPES[group[0] as ComponentName];
  const name = module.endsWith(`-${version}`) ? module.slice(0, -version.length - 1) : module;
  const what = group.length > 1 ? ` (${group.length} programs)` : "";
  return `${name} ${version}${what} built`;
}

/** Absolute path of the component's main binary, which may not be built yet. */
export function mainBinary(name: ComponentName): string {
  return join(folderOf(name), Object.keys(RECIPES[name].binaries)[0] ?? name);
}

/**
 * Absolute path of source files that a component keeps, which may not be built yet.
 * @param folder name in its recipe
 */
export function sourceFolder(name: ComponentName, folder: string): string {
  return join(folderOf(name), folder);
}

function folderOf(name: ComponentName): string {
  const recipe: Recipe = RECIPES[name];
  const stem = name.endsWith(`-${recipe.version}`) ? name : `${name}-${recipe.version}`;
  return join(componentsRoot(), `${stem}-${fingerprint(recipe)}`);
}

/** Hash of everything that the binary depends on: a folder named by it never changes. */
function fingerprint(recipe: Recipe): string {
  const folder = join(GO_FOLDER, recipe.module);
  const hash = createHash("sha256");
  for (const file of readdirSync(folder).sort()) hash.update(file).update(readFileSync(join(folder, file)));
  return hash
    .update(JSON.stringify([recipe, process.arch]))
    .digest("hex")
    .slice(0, 12);
}

/** Groups components by module: one run of the compiler builds a group, and compiles shared packages once. */
function groupsOf<N extends ComponentName>(names: readonly N[]): N[][] {
  return [...Map.groupBy(names, (name) => RECIPES[name].module).values()];
}

async function build(names: readonly ComponentName[], note: Note): Promise<void> {
  const recipes = names.map((name): Recipe => RECIPES[name]);
  const [recipe] = recipes;
  if (recipe === undefined) return;
  await ensureBuildPackages(recipe.cgo === "1", note);
  // One name per module: the lock keeps other builds away, and the next build removes what a killed one left.
  const draft = join(componentsRoot(), `.draft-${recipe.module}`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  try {
    await compile(
      recipe,
      recipes.flatMap((each) => Object.values(each.binaries)),
      draft,
      note,
    );
    for (const name of names) await publish(name, draft);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Moves a component's binaries from the draft to its folder, which appears complete or not at all. */
async function publish(name: ComponentName, draft: string): Promise<void> {
  const recipe: Recipe = RECIPES[name];
  const complete = join(draft, `complete-${name}`);
  mkdirSync(complete);
  for (const [binary, goPackage] of Object.entries(recipe.binaries)) {
    renameSync(join(draft, goBinaryName(goPackage, recipe.module)), join(complete, binary));
  }
  for (const [folder, { module, path }] of Object.entries(recipe.folders ?? {})) {
    const { stdout } = await run("go", ["-C", join(GO_FOLDER, recipe.module), "list", "-m", "-f", "{{.Dir}}", module]);
    const from = join(stdout.trim(), path);
    mkdirSync(join(complete, folder));
    for (const file of readdirSync(from)) copyFileSync(join(from, file), join(complete, folder, file));
  }
  rmSync(folderOf(name), { recursive: true, force: true });
  renameSync(complete, folderOf(name));
}

async function compile(recipe: Recipe, packages: readonly string[], out: string, note: Note): Promise<void> {
  const args = [
    "build",
    "-v", // prints each package that is compiled, as progress
    "-tags",
    recipe.tags.join(","),
    "-ldflags",
    recipe.ldflags.join(" "),
    "-o",
    `${out}/`,
    ...packages,
  ];
  const env = {
    ...process.env,
    GOFLAGS: "-mod=readonly -buildvcs=false",
    ...(recipe.cgo === "auto" ? {} : { CGO_ENABLED: recipe.cgo }),
  };
  note("go starts");
  const output = new GoOutput(note);
  const code = await new Promise<number | null>((resolve, reject) => {
    // The compiler ends when this process ends: an abandoned build would run for minutes.
    const argv = ["--pdeathsig", "KILL", "go", ...args];
    const go = spawn("setpriv", argv, {
      cwd: join(GO_FOLDER, recipe.module),
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    createInterface(go.stderr).on("line", (line) => output.read(line));
    go.on("error", (cause) =>
      reject(new Failure(`Go did not start, so ${recipe.module} was not built: ${cause.message}`, { cause })),
    );
    go.on("close", resolve);
  });
  if (code !== 0) {
    throw new Failure(
      `go build of ${recipe.module} failed (exit code ${code}):\n${output.errors.slice(-SHOWN_LINES).join("\n")}`,
    );
  }
}

/** Output of `go build -v`: downloaded modules, compiled packages, and errors. */
export class GoOutput {
  readonly errors: string[] = [];
  readonly #note: Note;
  #downloaded = 0;
  #compiled = 0;

  constructor(note: Note) {
    this.#note = note;
  }

  read(line: string): void {
    if (line.startsWith("go: downloading ")) {
      this.#downloaded++;
      this.#note(`${this.#downloaded} modules downloaded`);
    } else if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) {
      this.#compiled++;
      this.#note(`${this.#compiled} packages compiled`);
    } else if (line !== "") this.errors.push(line);
  }
}
