import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { cacheRoot } from "../cache.ts";
import { Failure } from "../failure.ts";
import type { Note } from "../progress.ts";
import { run } from "../run.ts";
import { temporaryFolder } from "./temporary.ts";

/** An npm package that is pinned by its hash. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** Hash of the package's file, `sha512-…` in base64. */
  readonly integrity: string;
  /** File that has the hash, for messages. */
  readonly pinnedIn: string;
}

/** Downloads the file of a package into an empty folder. */
type Download = (each: NpmPackage, folder: string) => Promise<unknown>;

const npmPack: Download = ({ name, version }, folder) =>
  run("npm", ["pack", `${name}@${version}`, "--pack-destination", folder, "--loglevel=error"]);

/**
 * Folder with the files of a package, for this process. The cache has only the package's file. The hash is checked
 * each time, since unpacked files could be changed there.
 * @throws Failure when the package has another hash
 */
export async function unpackedPackage(each: NpmPackage, note: Note, download = npmPack): Promise<string> {
  const file = await packageFile(each, note, download);
  const folder = temporaryFolder("npm-package-");
  await run("tar", ["-xzf", file, "-C", folder, "--no-same-owner", "package"]);
  return join(folder, "package");
}

async function packageFile(each: NpmPackage, note: Note, download: Download): Promise<string> {
  const fingerprint = createHash("sha256").update(each.integrity).digest("hex").slice(0, 12);
  const folder = join(cacheRoot(), "node");
  const file = join(folder, `${each.name}-${each.version}-${fingerprint}.tgz`);
  if (existsSync(file) && (await integrityOf(file)) === each.integrity) return file;
  note(`downloading ${each.name} ${each.version}`);
  mkdirSync(folder, { recursive: true });
  const draft = mkdtempSync(join(folder, ".draft-"));
  try {
    await download(each, draft);
    const downloaded = join(draft, readdirSync(draft)[0] ?? "");
    await checkIntegrity(each, downloaded);
    renameSync(downloaded, file);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return file;
}

/** @throws Failure when the file has another hash than the pinned one */
export async function checkIntegrity(each: NpmPackage, file: string): Promise<void> {
  const found = await integrityOf(file);
  if (found === each.integrity) return;
  throw new Failure(
    `${each.name} ${each.version} has integrity ${found}, and ${each.pinnedIn} has ${each.integrity}. It is not used.`,
  );
}

async function integrityOf(file: string): Promise<string> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  return `sha512-${hash.digest("base64")}`;
}
