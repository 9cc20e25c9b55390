import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { packageLicenses } from "../licenses.ts";
import type { Note } from "../progress.ts";
import { type Entry, writeArchive } from "./archive.ts";
import { bundlePlugin } from "./bundle.ts";
import { type KrewArchive, krewManifest } from "./krew.ts";
import { checkBuilder, ensureNode, LINUX_AMD64, nodeProgram, PLATFORMS, type Platform } from "./platforms.ts";

export interface PluginWish {
  /** Release, such as 0.2.0. */
  readonly version: string;
  /** URL of the folder from which the archives will be downloaded. Without it, Krew's manifest is not written. */
  readonly url?: string | undefined;
  readonly homepage: string;
  readonly platforms?: readonly Platform[];
  readonly note?: Note;
}

/** Name of Krew's manifest in the folder. */
export const KREW_FILE = "etcd.yaml";

/**
 * Builds the plugin for each platform, Krew's manifest and the npm package. The same sources make the same bytes.
 * @param root the repository @param folder gets the files, and may have others
 * @returns the names of the files
 * @throws Failure when another release of Node builds them
 */
export async function buildPlugin(root: string, folder: string, wish: PluginWish): Promise<readonly string[]> {
  const { version, platforms = PLATFORMS, note = () => undefined } = wish;
  checkBuilder(process.version);
  mkdirSync(folder, { recursive: true });
  note("bundling");
  const { file: bundle, sources } = await bundlePlugin(root, version);
  const licenses = packageLicenses(root, sources).map(({ from, to }): Entry => {
    return { name: to.replace("/usr/share/", ""), mode: 0o644, content: { file: from } };
  });
  // The packages of some platforms leave out Node's licence, which is the same for all.
  const nodeLicense = join(await ensureNode(LINUX_AMD64, note), "LICENSE");
  licenses.push(entry("licenses/node/LICENSE", 0o644, nodeLicense));
  const archives: KrewArchive[] = [];
  for (const platform of platforms) {
    const name = `kubectl-etcd_${version}_${platform.os}_${platform.arch}.tar.gz`;
    note(`kubectl-etcd for ${platform.os}/${platform.arch}`);
    const bin = await writePlatform(platform, bundle, licenses, join(folder, name), note);
    const sha256 = await sha256Of(join(folder, name));
    archives.push({ os: platform.os, arch: platform.arch, name, sha256, bin });
  }
  const names = archives.map(({ name }) => name);
  const krew = krewManifest(wish, archives);
  if (krew !== undefined) {
    writeFileSync(join(folder, KREW_FILE), krew);
    names.push(KREW_FILE);
  }
  const npm = `kubectl-etcd-${version}.tgz`;
  await writeArchive(join(folder, npm), npmEntries(version, bundle, licenses));
  return [...names, npm];
}

/** Writes the archive of one platform. @returns the file in it that is started */
async function writePlatform(
  platform: Platform,
  bundle: string,
  licenses: readonly Entry[],
  out: string,
  note: Note,
): Promise<string> {
  const node = await ensureNode(platform, note);
  const program = join(node, nodeProgram(platform));
  if (platform.form === "folder") {
    const launcher: Entry = { name: "kubectl-etcd", mode: 0o755, content: LAUNCHER };
    await writeArchive(out, [
      ...licenses,
      launcher,
      entry("node", 0o755, program),
      entry("kubectl-etcd.mjs", 0o644, bundle),
    ]);
    return launcher.name;
  }
  const bin = platform.os === "windows" ? "kubectl-etcd.exe" : "kubectl-etcd";
  const draft = mkdtempSync(join(tmpdir(), "kubectl-etcd-"));
  try {
    await writeSingle(program, bundle, draft, bin);
    await writeArchive(out, [...licenses, entry(bin, 0o755, join(draft, bin))]);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return bin;
}

/** Writes one executable of Node and the bundle. https://nodejs.org/api/single-executable-applications.html */
export async function writeSingle(node: string, bundle: string, folder: string, name: string): Promise<void> {
  copyFileSync(bundle, join(folder, "kubectl-etcd.mjs"));
  const config = {
    // A relative path: it is in the executable, which must have the same bytes wherever it is built.
    main: "kubectl-etcd.mjs",
    mainFormat: "module",
    executable: node,
    output: name,
    disableExperimentalSEAWarning: true,
    // A code cache has other bytes each time, and saves less than it costs to read on a cold disk.
    useCodeCache: false,
  };
  writeFileSync(join(folder, "sea.json"), JSON.stringify(config));
  await promisify(execFile)(process.execPath, ["--build-sea", "sea.json"], { cwd: folder });
}

function entry(name: string, mode: number, file: string): Entry {
  return { name, mode, content: { file } };
}

/** Starts the bundle with the Node beside it, also through the symbolic link that Krew makes. */
export const LAUNCHER = `#!/bin/sh
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=$(dirname "$self")/$link ;; esac
done
here=$(dirname "$self")
exec "$here/node" "$here/kubectl-etcd.mjs" "$@"
`;

function npmEntries(version: string, bundle: string, licenses: readonly Entry[]): readonly Entry[] {
  const manifest = {
    name: "kubectl-etcd",
    version,
    description: "kubectl etcd: look at etcd clusters of etcd-cluster-operator and act on them.",
    license: "Apache-2.0",
    type: "module",
    bin: { "kubectl-etcd": "kubectl-etcd.mjs" },
    engines: { node: ">=24" },
  };
  const own: readonly Entry[] = [
    { name: "package.json", mode: 0o644, content: `${JSON.stringify(manifest, undefined, 2)}\n` },
    entry("kubectl-etcd.mjs", 0o755, bundle),
  ];
  return [...own, ...licenses].map((each) => ({ ...each, name: `package/${each.name}` }));
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** Version in package.json. */
export function ownVersion(root: string): string {
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;
}
