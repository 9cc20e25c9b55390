import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PackageURL } from "packageurl-js";
import { Failure } from "../failure.ts";
import type { Architecture } from "../image.ts";
import { packageOf } from "../licenses.ts";
import { type DebianPackage, debianPackages, debianRelease } from "../pinned/debian.ts";
import { type NodePackage, nodePackage } from "../pinned/node.ts";
import { NODE_VERSION, type Platform } from "../plugin/platforms.ts";

// Others' software in the operator's image, for its SBOMs and its provenance.

/** A package in the image. */
export interface Part {
  readonly name: string;
  readonly version: string;
  /** https://github.com/package-url/purl-spec */
  readonly purl: string;
  /** SPDX expression; undefined: the package names none that a program can read. */
  readonly license?: string;
  readonly hash: { readonly algorithm: "SHA-256" | "SHA-512"; readonly hex: string };
  /** Name in lists of vulnerabilities, where the purl is not enough. */
  readonly cpe?: string;
}

const ARCHITECTURES: readonly Architecture[] = ["amd64", "arm64"];

/**
 * All packages in the image, and Node of the plugin.
 * @param root the repository
 * @param sources bundled source files, as paths from the repository
 * @param platforms those of the plugin
 * @throws Failure when package-lock.json does not have an installed package, or has no hash of it
 */
export function partsOf(
  root: string,
  sources: readonly string[],
  platforms: readonly Platform[] = [],
): readonly Part[] {
  const folders = new Set(sources.flatMap((source) => packageOf(source) ?? []));
  const parts = [
    ...[...folders].map((folder) => npmPart(root, folder)),
    ...ARCHITECTURES.map((architecture) => nodePart(nodePackage(root, architecture))),
    ...platforms.map(({ package: name, arch, integrity }) =>
      nodePart({ name, version: NODE_VERSION, architecture: arch, integrity }),
    ),
    ...debianPackages().map(debianPart),
  ];
  // A package may be installed in several folders.
  const unique = new Map(parts.map((part) => [part.purl, part]));
  return [...unique.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

function npmPart(root: string, folder: string): Part {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { readonly version?: string; readonly integrity?: string } | undefined>;
  };
  // The folder may be a link to another clone's.
  const locked = packages[folder.slice(folder.indexOf("node_modules/"))];
  const integrity = locked?.integrity;
  if (locked?.version !== version || integrity === undefined)
    throw new Failure(
      `${folder} has ${name} ${version}, and package-lock.json has ${locked?.version ?? "none"} there, ${integrity === undefined ? "without" : "with"} a hash. Run npm ci. If the hash is missing, write package-lock.json again.`,
    );
  const [scope, short] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const purl = new PackageURL("npm", scope, short ?? name, version, undefined, undefined).toString();
  return { name, version, purl, ...(license === undefined ? {} : { license }), hash: sha512(integrity) };
}

function nodePart({ name, version, architecture, integrity }: Omit<NodePackage, "pinnedIn">): Part {
  const qualifiers = { arch: architecture };
  return {
    name: `node (${architecture})`,
    version,
    purl: new PackageURL("npm", undefined, name, version, qualifiers, undefined).toString(),
    license: "MIT",
    hash: sha512(integrity),
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  };
}

function debianPart({ name, version, architecture, source, sha256 }: DebianPackage): Part {
  const qualifiers = { arch: architecture, distro: debianRelease(), upstream: source };
  return {
    name: `${name} (${architecture})`,
    version,
    purl: new PackageURL("deb", "debian", name, version, qualifiers, undefined).toString(),
    hash: { algorithm: "SHA-256", hex: sha256 },
  };
}

/** Hash in hexadecimal, of an integrity `sha512-…` in base64. */
function sha512(integrity: string): Part["hash"] {
  return { algorithm: "SHA-512", hex: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") };
}
