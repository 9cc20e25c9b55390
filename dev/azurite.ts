import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "./cache.ts";
import { withLock } from "./lock.ts";
import type { Step } from "./progress.ts";
import { run } from "./run.ts";

/** Packages of Azurite, apart from those of the repository: it depends on hundreds that nothing else here needs. */
const FOLDER = join(import.meta.dirname, "npm", "azurite");
const MAIN = join("node_modules", "azurite", "dist", "src", "blob", "main.js");

/**
 * Installs Azure Blob's emulator when it is missing.
 * @returns path of its main file, for Node
 * @throws Failure when npm fails
 */
export async function ensureAzurite(step: Step): Promise<string> {
  const root = join(cacheRoot(), "npm");
  const folder = join(root, `azurite-${fingerprint()}`);
  if (existsSync(folder)) return join(folder, MAIN);
  await step("Azurite installed", async (note) => {
    mkdirSync(root, { recursive: true });
    await withLock(join(cacheRoot(), "npm-azurite.lock"), () => install(root, folder), {
      onWait: (pid) => note(`waiting for process ${pid}, which is installing it`),
    });
  });
  return join(folder, MAIN);
}

async function install(root: string, folder: string): Promise<void> {
  if (existsSync(folder)) return;
  // The folder appears complete or not at all. The next installation removes what a killed one left.
  const draft = join(root, ".draft-azurite");
  rmSync(draft, { recursive: true, force: true });
  cpSync(FOLDER, draft, { recursive: true });
  await run("npm", ["ci", "--prefix", draft, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
  renameSync(draft, folder);
}

/** Hash of the files that determine what is installed. */
function fingerprint(): string {
  const hash = createHash("sha256");
  for (const file of readdirSync(FOLDER).sort()) hash.update(file).update(readFileSync(join(FOLDER, file)));
  return hash.digest("hex").slice(0, 12);
}
