import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "./failure.ts";
import type { Note, Step } from "./progress.ts";
import { run } from "./run.ts";

/** A Debian package, and a check without dpkg that it, or another system's equivalent, is installed. */
interface Package {
  readonly name: string;
  readonly isThere: () => boolean;
}

const RUN_TIME: readonly Package[] = [
  { name: "nftables", isThere: () => isOnPath("nft") },
  { name: "iproute2", isThere: () => isOnPath("ip") },
  { name: "util-linux", isThere: () => isOnPath("nsenter") && isOnPath("unshare") },
  { name: "mount", isThere: () => isOnPath("mount") },
  { name: "libseccomp2", isThere: () => hasLibrary("libseccomp.so.2") },
];

const BUILD: readonly Package[] = [
  { name: "gcc", isThere: () => isOnPath("gcc") },
  { name: "libc6-dev", isThere: () => existsSync("/usr/include/stdlib.h") },
  { name: "pkg-config", isThere: () => isOnPath("pkg-config") },
  { name: "libseccomp-dev", isThere: () => existsSync("/usr/include/seccomp.h") },
];

/** Programs of Debian that are a headless Chromium. */
const BROWSERS = ["chromium-headless-shell", "chromium"];

const BROWSER: Package = { name: "chromium-headless-shell", isThere: () => BROWSERS.some(isOnPath) };

/** Path of a headless Chromium. @throws Failure when there is none */
export function browserProgram(): string {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const found = BROWSERS.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (found === undefined)
    throw new Failure("No Chromium is on the PATH. Debian's package is chromium-headless-shell.");
  return found;
}

/** Installs a headless Chromium when there is none. @throws Failure when it cannot be installed */
export async function ensureBrowser(step: Step): Promise<void> {
  if (!BROWSER.isThere()) await step("browser installed", (note) => install([BROWSER], note));
}

/** Installs missing packages that an instance needs. @throws Failure when a package cannot be installed */
export async function ensureRunPackages(step: Step): Promise<void> {
  const missing = missingRunPackages();
  if (missing.length > 0) await step(PACKAGES_INSTALLED, (note) => install(missing, note));
}

export const PACKAGES_INSTALLED = "packages of the system installed";

export function missingRunPackages(): readonly Package[] {
  return RUN_TIME.filter((each) => !each.isThere());
}

/**
 * Installs missing packages that a build needs.
 * @param withC whether C code is compiled
 * @throws Failure when Go is missing, or a package cannot be installed
 */
export async function ensureBuildPackages(withC: boolean, note: Note): Promise<void> {
  if (!isOnPath("go"))
    throw new Failure("Go 1.26 or later is needed to build the local Kubernetes, and go is not on the PATH.");
  const missing = withC ? BUILD.filter((each) => !each.isThere()) : [];
  if (missing.length > 0) await install(missing, note);
}

async function install(missing: readonly Package[], note: Note): Promise<void> {
  if (!isOnPath("apt-get")) {
    throw new Failure(
      `Packages are missing on this machine, which Debian calls ${namesOf(missing)}. Install them with your package manager.`,
    );
  }
  const args = ["install", "-y", "--no-install-recommends", ...missing.map((each) => each.name)];
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  note(`apt-get install ${namesOf(missing)}`);
  const first = await run("apt-get", args, { env, mayFail: true });
  if (first.code !== 0) {
    // Usually the machine's package lists are old, or were deleted to save space.
    await run("apt-get", ["update"], { env });
    await run("apt-get", args, { env });
  }
}

function namesOf(packages: readonly Package[]): string {
  return packages.map((each) => each.name).join(", ");
}

export function isOnPath(program: string): boolean {
  // These programs are in sbin folders, which the PATH of root's non-login shell on Debian may lack.
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => folder !== "" && existsSync(join(folder, program)));
}

function hasLibrary(name: string): boolean {
  const triple = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  return [`/lib/${triple}`, `/usr/lib/${triple}`, "/lib64", "/usr/lib64", "/usr/lib", "/lib"].some((folder) =>
    existsSync(join(folder, name)),
  );
}
