import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "../cache.ts";
import { Failure } from "../failure.ts";
import type { Architecture } from "../image.ts";
import { withLock } from "../lock.ts";
import { isOnPath } from "../packages.ts";
import type { Note } from "../progress.ts";
import { run } from "../run.ts";
import { temporaryFolder } from "./temporary.ts";

// Debian packages with the shared libraries of the released image. A lock file names their versions and hashes.

/** A package of Debian, for one architecture. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: Architecture;
  /** Source package that it was built from. */
  readonly source: string;
  /** Hash of the package's file, in hexadecimal. */
  readonly sha256: string;
}

interface Lock {
  readonly comment: string;
  /** Name of Debian's release, such as bookworm. */
  readonly release: string;
  readonly packages: readonly DebianPackage[];
}

/** Packages with Node's libraries. The last two have only licences: of gcc's libraries, and those that others name. */
const NAMES = ["libc6", "libstdc++6", "libgcc-s1", "libatomic1", "gcc-12-base", "base-files"];
const ARCHITECTURES: readonly Architecture[] = ["amd64", "arm64"];
const LOCK_FILE = join(import.meta.dirname, "libraries.lock.json");
const COMMENT =
  "Debian packages with the shared libraries of the released image. Written by: npm run image -- --update-libraries";
/** Command that writes the lock file again. */
const UPDATE = "npm run image -- --update-libraries";

function lock(): Lock {
  return JSON.parse(readFileSync(LOCK_FILE, "utf8")) as Lock;
}

/** Debian's release of all packages. */
export function debianRelease(): string {
  return lock().release;
}

/** Packages in the lock file, for all architectures. */
export function debianPackages(): readonly DebianPackage[] {
  return lock().packages;
}

/**
 * Folder with the unpacked packages of an architecture, for this process. The cache has only the packages' files. Their
 * hashes are checked each time, since unpacked files could be changed there.
 * @throws Failure when a package cannot be downloaded, or its file has another hash
 */
export async function unpackedLibraries(architecture: Architecture, note: Note): Promise<string> {
  const packages = debianPackages().filter((each) => each.architecture === architecture);
  const cache = join(cacheRoot(), "debian", "packages");
  mkdirSync(cache, { recursive: true });
  if (missingIn(cache, packages).length > 0)
    await withApt(architecture, note, async (apt) => {
      // Another process may have downloaded them.
      for (const each of missingIn(cache, packages)) await download(each, apt, cache, note);
    });
  const folder = temporaryFolder("debian-packages-");
  for (const each of packages) await run("dpkg-deb", ["--extract", fileIn(cache, each), folder]);
  return folder;
}

/** Path of a package's file in the cache. */
export function fileIn(cache: string, { name, architecture, sha256 }: DebianPackage): string {
  return join(cache, `${name}-${architecture}-${sha256.slice(0, 12)}.deb`);
}

/** Packages that have no file in the cache, or one with another hash. */
export function missingIn(cache: string, packages: readonly DebianPackage[]): readonly DebianPackage[] {
  return packages.filter((each) => {
    const file = fileIn(cache, each);
    return !existsSync(file) || sha256Of(readFileSync(file)) !== each.sha256;
  });
}

/** Writes the lock file again, with the packages' newest versions in this machine's Debian release. */
export async function updateLock(note: Note): Promise<void> {
  const packages: DebianPackage[] = [];
  for (const architecture of ARCHITECTURES) {
    await withApt(architecture, note, async (apt) => {
      await apt.update();
      const { stdout } = await run("apt-cache", [...apt.options, "show", "--no-all-versions", ...NAMES]);
      packages.push(...packagesIn(stdout, architecture));
    });
  }
  const release = /^VERSION_CODENAME=(.+)$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "unknown";
  writeFileSync(LOCK_FILE, `${JSON.stringify({ comment: COMMENT, release, packages }, undefined, 2)}\n`);
}

/**
 * Packages in the output of `apt-cache show`.
 * @throws Failure when one of ours is missing
 */
export function packagesIn(shown: string, architecture: Architecture): readonly DebianPackage[] {
  const stanzas = shown.split(/\n\n+/).map((stanza) => {
    const field = (name: string) => new RegExp(`^${name}: (.+)$`, "m").exec(stanza)?.[1];
    return { field, name: field("Package") };
  });
  return NAMES.map((name) => {
    const field = stanzas.find((each) => each.name === name)?.field;
    const [version, sha256] = [field?.("Version"), field?.("SHA256")];
    if (field === undefined || version === undefined || sha256 === undefined)
      throw new Failure(
        `This machine's package sources have no ${name} for ${architecture}. The libraries come from Debian 12 (bookworm): run this command there.`,
      );
    // `gcc-12 (12.2.0-14)` when the versions of package and source differ.
    const source = field("Source")?.replace(/ .*/, "") ?? name;
    return { name, version, architecture, source, sha256 };
  });
}

interface Apt {
  /** Options for apt's own state, apart from this machine's. */
  readonly options: readonly string[];
  readonly update: () => Promise<void>;
}

/** apt for an architecture that need not be this machine's. It uses only the machine's package sources and keys. */
async function withApt<T>(architecture: Architecture, note: Note, work: (apt: Apt) => Promise<T>): Promise<T> {
  if (!isOnPath("apt-get") || !isOnPath("dpkg-deb"))
    throw new Failure(
      "apt-get or dpkg-deb is missing on this machine. The released image takes its libraries from Debian packages: build it on Debian 12 (bookworm).",
    );
  const state = join(cacheRoot(), "debian", `.apt-${architecture}`);
  for (const folder of ["lists/partial", "cache/archives/partial"]) mkdirSync(join(state, folder), { recursive: true });
  const settings = {
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    // The user _apt cannot write to this user's cache.
    "APT::Sandbox::User": "root",
    "Dir::State::lists": join(state, "lists"),
    "Dir::State::status": "/dev/null",
    "Dir::Cache": join(state, "cache"),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const update = async () => {
    note(`package lists for ${architecture}`);
    await run("apt-get", [...options, "update"]);
  };
  return await withLock(join(cacheRoot(), "debian", `.apt-${architecture}.lock`), () => work({ options, update }), {
    onWait: (pid) => note(`process ${pid} is downloading them`),
  });
}

/** Downloads a package into the cache. @throws Failure when that fails, or the file has another hash */
async function download(each: DebianPackage, apt: Apt, cache: string, note: Note): Promise<void> {
  note(`${each.name} for ${each.architecture}`);
  const into = mkdtempSync(join(cache, ".draft-"));
  try {
    const file = await downloaded(each, apt, into);
    checkHash(each, readFileSync(file));
    renameSync(file, fileIn(cache, each));
  } finally {
    rmSync(into, { recursive: true, force: true });
  }
}

/** @param into empty folder that gets the package's file @returns path of the file */
async function downloaded(each: DebianPackage, apt: Apt, into: string): Promise<string> {
  const get = () =>
    run("env", ["-C", into, "apt-get", ...apt.options, "download", `${each.name}=${each.version}`], { mayFail: true });
  let got = await get();
  if (got.code !== 0) {
    // The lists are missing or old.
    await apt.update();
    got = await get();
  }
  const [file] = readdirSync(into);
  if (got.code !== 0 || file === undefined) throw new Failure(unavailable(each, got.stderr.trim()));
  return join(into, file);
}

/** Message for a package that apt cannot download. */
export function unavailable({ name, version, architecture }: DebianPackage, why: string): string {
  return `${name} ${version} for ${architecture} cannot be downloaded: ${why}\nDebian keeps only the newest versions, and this one is in dev/pinned/libraries.lock.json. If it was replaced, run "${UPDATE}" on Debian ${debianRelease()}, and commit the file.`;
}

/** @throws Failure when the file is not the one that the lock file names */
export function checkHash({ name, version, architecture, sha256 }: DebianPackage, file: Buffer): void {
  const found = sha256Of(file);
  if (found !== sha256)
    throw new Failure(
      `${name} ${version} for ${architecture} has SHA-256 ${found}, and dev/pinned/libraries.lock.json has ${sha256}. It is not used. Find out which of the two is wrong before you run "${UPDATE}".`,
    );
}

function sha256Of(file: Buffer): string {
  return createHash("sha256").update(file).digest("hex");
}
