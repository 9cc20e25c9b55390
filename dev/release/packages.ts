import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Failure } from "../failure.ts";
import { packageLicenses, packageOf } from "../licenses.ts";
import { run } from "../run.ts";

/** What npm reads for an installation. */
const NPM_FILES = ["package.json", "package-lock.json", ".npmrc"];

/**
 * Compares the npm packages of a bundle with a new installation of package-lock.json, which npm checks by hash. Files
 * in node_modules may have been edited, or be of another lock file.
 * @param root the repository @param sources bundled source files, as paths from the repository
 * @throws Failure with the files that differ
 */
export async function checkPackages(root: string, sources: readonly string[]): Promise<void> {
  const fresh = mkdtempSync(join(tmpdir(), "release-packages-"));
  try {
    for (const file of NPM_FILES) copyFileSync(join(root, file), join(fresh, file));
    // The lock file names no addresses. Without --prefer-offline npm asks the registry for each package, also for cached ones.
    const options = [
      "--prefer-offline",
      "--ignore-scripts",
      "--omit=optional",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
    ];
    await run("env", ["-C", fresh, "npm", "ci", ...options]);
    const different = differentFiles(root, fresh, sources);
    if (different.length > 0)
      throw new Failure(
        `These files differ from the packages in package-lock.json:\n${different.join("\n")}\nRun npm ci, then make the release again.`,
      );
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * Files of bundled npm packages that a new installation lacks, or has with other bytes: sources, licences and
 * package.json. As paths from the repository.
 * @param fresh folder with the new installation
 */
export function differentFiles(root: string, fresh: string, sources: readonly string[]): readonly string[] {
  const manifests = sources.flatMap((source) => packageOf(source) ?? []).map((folder) => `${folder}/package.json`);
  const licenses = packageLicenses(root, sources).map(({ from }) => relative(root, from));
  const files = new Set([...sources, ...manifests, ...licenses].filter((path) => packageOf(path) !== undefined));
  return [...files].filter((path) => {
    // The folder may be a link to another clone's.
    const own = join(fresh, path.slice(path.indexOf("node_modules/")));
    return !existsSync(own) || !readFileSync(own).equals(readFileSync(join(root, path)));
  });
}
