import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "./progress.ts";
import { run } from "./run.ts";

export const SITE_FOLDER = join(import.meta.dirname, "..", "site");

/** Lock file from which the packages in site/node_modules were installed. */
const STAMP = join(SITE_FOLDER, "node_modules", ".installed-from");

/**
 * Installs the site's packages when they are missing, and builds the site into site/dist.
 * @param base path at which it will be served, with slashes at both ends
 * @throws Failure when a page has a dead link, or npm fails
 */
export async function buildSite(step: Step, base = "/"): Promise<void> {
  await ensureSitePackages(step);
  await step("site built", async () => {
    const main = join(SITE_FOLDER, "node_modules", "vitepress", "bin", "vitepress.js");
    await run(process.execPath, [main, "build", SITE_FOLDER], { env: { ...process.env, SITE_BASE: base } });
  });
}

/** Installs the packages of site/package-lock.json, unless they are installed. */
export async function ensureSitePackages(step: Step): Promise<void> {
  const wanted = readFileSync(join(SITE_FOLDER, "package-lock.json"), "utf8");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  await step("packages of the site installed", async () => {
    // Each package brings its program with it: no script needs to run.
    await run("npm", [
      "ci",
      "--prefix",
      SITE_FOLDER,
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
    ]);
    writeFileSync(STAMP, wanted);
  });
}
