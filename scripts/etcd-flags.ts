// Writes src/etcd/flags/list.ts: the flags of each minor version of etcd, with their kinds of values.
//
//   node scripts/etcd-flags.ts           writes the file
//   node scripts/etcd-flags.ts --check   compares only; fails when it differs
//
// Where do the flags come from? From the newest binary of each minor version: etcd-flags/binary.ts.
// Which names are tried? All names in `--help` of any binary, and words in the source of etcd's command line, since
//   `--help` omits some names. A wrong name costs only one more call.
// Where do deprecations and replacements come from? Only from `--help`.
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Kind } from "#etcd/flags/list.ts";
import { ensureComponents } from "../dev/components.ts";
import { silentStep } from "../dev/progress.ts";
import { ETCD_VERSIONS, type EtcdVersion } from "../dev/versions.ts";
import { EtcdBinary } from "./etcd-flags/binary.ts";
import { readHelp } from "./etcd-flags/help.ts";
import { listOf, type Release } from "./etcd-flags/list.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TARGET = "src/etcd/flags/list.ts";

/** Words in the source of a release that look like the name of a flag. */
function wordsInSource(version: EtcdVersion): readonly string[] {
  const packages = ["etcdmain", "embed"].map((name) => `go.etcd.io/etcd/server/v3/${name}`);
  const folders = execFileSync("go", ["list", "-mod=readonly", "-f", "{{.Dir}}", ...packages], {
    cwd: join(ROOT, `dev/go/etcd-${version}`),
    encoding: "utf8",
  });
  return folders
    .trim()
    .split("\n")
    .flatMap((folder) => globSync("*.go", { cwd: folder }).map((file) => readFileSync(join(folder, file), "utf8")))
    .flatMap((text) => [...text.matchAll(/"([a-z][a-z0-9]*(?:[-.][a-z0-9]+)*)"/g)].map(([, word = ""]) => word));
}

async function ask(folder: string): Promise<Release[]> {
  const paths = await ensureComponents(
    ETCD_VERSIONS.map((version) => `etcd-${version}` as const),
    silentStep,
  );
  const asked = await Promise.all(
    ETCD_VERSIONS.map(async (version) => {
      const binary = new EtcdBinary(paths[`etcd-${version}`], folder);
      return { version, binary, help: readHelp(await binary.help()) };
    }),
  );
  const names = new Set(asked.flatMap(({ version, help }) => [...help.flags, ...wordsInSource(version)]));
  return await Promise.all(
    asked.map(async ({ version, binary, help }) => {
      const flags = new Map<string, Kind>();
      for (const name of [...names].sort()) {
        if (await binary.knows(name)) flags.set(name, await binary.kindOf(name));
      }
      return { version, flags, help };
    }),
  );
}

async function generate(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "etcd-flags-"));
  try {
    const draft = listOf(await ask(folder));
    const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
    const args = [biome, "format", `--stdin-file-path=${TARGET}`];
    return execFileSync(process.execPath, args, { cwd: ROOT, input: draft, encoding: "utf8" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const wanted = await generate();
if (!process.argv.includes("--check")) {
  writeFileSync(join(ROOT, TARGET), wanted);
  console.log(`${TARGET} is written.`);
} else if (readFileSync(join(ROOT, TARGET), "utf8") !== wanted) {
  console.error(`${TARGET} differs from the generated text.`);
  process.exitCode = 1;
}
