import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { readElf } from "../elf.ts";
import { Failure } from "../failure.ts";
import type { Architecture, ImageFile } from "../image.ts";
import { nodeLicense, unpackedLicenses } from "../licenses.ts";
import type { Note } from "../progress.ts";
import { debianPackages, unpackedLibraries } from "./debian.ts";
import { pinnedNode } from "./node.ts";

/** Folders of libraries by architecture: https://wiki.debian.org/Multiarch/Tuples */
const FOLDERS = {
  amd64: ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"],
  arm64: ["lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"],
} as const;

/**
 * Files below the program in the released image: Node, its shared libraries, and the licences of both. All are pinned
 * by hash, and none is this machine's own.
 */
export async function pinnedBase(root: string, architecture: Architecture, note: Note): Promise<readonly ImageFile[]> {
  const node = await pinnedNode(root, architecture, note);
  const unpacked = await unpackedLibraries(architecture, note);
  const packages = debianPackages().filter((each) => each.architecture === architecture);
  return [
    { from: node, to: "/usr/local/bin/node", mode: 0o755 },
    ...neededLibraries(node, architecture, unpacked),
    nodeLicense(node),
    ...unpackedLicenses(
      unpacked,
      packages.map(({ name }) => name),
    ),
  ];
}

/**
 * Libraries that a program needs, with the libraries that those need.
 * @param unpacked folder with Debian packages
 * @throws Failure when a library is missing there, or is for another architecture
 */
export function neededLibraries(program: string, architecture: Architecture, unpacked: string): readonly ImageFile[] {
  const found = new Map<string, ImageFile>();
  const { interpreter = "", ...own } = readElf(program);
  const loader = basename(interpreter);
  const open = [program];
  const isWanted = own.architecture === architecture && interpreter !== "";
  if (!isWanted) throw new Failure(`${program} is no program for ${architecture}.`);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const name of [...readElf(next).needed, loader]) {
      if (found.has(name)) continue;
      const folder = FOLDERS[architecture].find((each) => existsSync(join(unpacked, each, name)));
      if (folder === undefined)
        throw new Failure(
          `${basename(next)} for ${architecture} needs ${name}, and no package of dev/pinned/libraries.lock.json has it. Add its package to dev/pinned/debian.ts.`,
        );
      const from = join(unpacked, folder, name);
      if (readElf(from).architecture !== architecture) throw new Failure(`${from} is not for ${architecture}.`);
      found.set(name, { from, to: name === loader ? interpreter : `/${folder}/${name}`, mode: 0o755 });
      open.push(from);
    }
  }
  return [...found.values()];
}
