import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Failure } from "./failure.ts";
import type { ImageFile } from "./image.ts";
import { isOnPath } from "./packages.ts";

// Licences of others' software in the operator's image: passing the software on requires passing them on, too.

/** Folder of the licences in the image, with a folder for each package. */
const FOLDER = "/usr/share/licenses";
/** Licence that packages may name in package.json without its text, which is the same for all. */
const APACHE = "Apache-2.0";
/** Folder of licences for packages that name a licence and an author without its text. */
const KEPT_FOLDER = "dev/licenses";
/** First words of a BSD licence. */
const BSD = "Redistribution and use in source and binary forms";

/**
 * Licences of npm packages.
 * @param root the repository, with the Apache License as its own licence
 * @param sources files of the bundle, as paths from the repository
 * @throws Failure when a package has no text of its licence
 */
export function packageLicenses(root: string, sources: readonly string[]): ImageFile[] {
  const own = { from: join(root, "LICENSE"), to: `${FOLDER}/etcd-cluster-operator/LICENSE`, mode: 0o644 };
  const packages = Map.groupBy(sources, packageOf);
  packages.delete(undefined);
  return [own, ...[...packages].flatMap(([folder = "", files]) => textsOf(root, folder, files))];
}

/** `node_modules/a/node_modules/@b/c/lib/d.js` → `node_modules/a/node_modules/@b/c`; undefined for our own files. */
export function packageOf(source: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1];
}

function textsOf(root: string, folder: string, sources: readonly string[]): ImageFile[] {
  const { name, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    name: string;
    license?: string;
  };
  for (const place of [join(root, folder), join(root, KEPT_FOLDER, name)]) {
    const files = existsSync(place) ? readdirSync(place) : [];
    const found = files.filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
    if (found.length === 0) continue;
    return found.map((file) => ({ from: join(place, file), to: `${FOLDER}/${name}/${file}`, mode: 0o644 }));
  }
  if (license?.includes(APACHE) !== true) {
    throw new Failure(
      `${name} is bundled and has no text of its licence, which is ${license ?? "not named"}. Put the text into dev/licenses.`,
    );
  }
  // Files that such a package took from elsewhere have their licence in comments, which the bundle drops.
  const borrowed = sources.filter((source) => readFileSync(join(root, source), "utf8").includes(BSD));
  return [
    { from: join(root, "LICENSE"), to: `${FOLDER}/${name}/LICENSE`, mode: 0o644 },
    ...borrowed.map((source) => ({
      from: join(root, source),
      to: `${FOLDER}/${name}/${basename(source)}`,
      mode: 0o644,
    })),
  ];
}

/**
 * Licence of Node and of everything compiled into it.
 * @param node path of the program
 * @throws Failure when it is missing
 */
export function nodeLicense(node: string): ImageFile {
  const from = resolve(dirname(node), "..", "LICENSE");
  if (existsSync(from)) return { from, to: `${FOLDER}/node/LICENSE`, mode: 0o644 };
  throw new Failure(`${from} is missing. The operator's image contains ${node}, and needs its licence.`);
}

/** Licences of the machine's shared libraries; none on a system without dpkg, which knows the package of each file. */
export function libraryLicenses(libraries: readonly ImageFile[]): ImageFile[] {
  if (!isOnPath("dpkg-query")) return [];
  return unpackedLicenses("/", debianPackagesOf(libraries.map(({ from }) => from)));
}

/**
 * Licences of Debian packages, and the common licences that these name.
 * @param unpacked folder with the packages' files
 */
export function unpackedLicenses(unpacked: string, packages: readonly string[]): ImageFile[] {
  const copyrights = packages.flatMap((name) => {
    const from = join(unpacked, `usr/share/doc/${name}/copyright`);
    return existsSync(from) ? [{ from, to: `${FOLDER}/${name}/copyright`, mode: 0o644 }] : [];
  });
  const named = new Set(copyrights.flatMap(({ from }) => readFileSync(from, "utf8").match(COMMON_LICENSE) ?? []));
  const common = [...named].filter((path) => existsSync(join(unpacked, path))).sort();
  return [...copyrights, ...common.map((path) => ({ from: join(unpacked, path), to: path, mode: 0o644 }))];
}

const COMMON_LICENSE = /\/usr\/share\/common-licenses\/[A-Za-z0-9-]+(?:\.[0-9]+)*/g;

/** Packages of files. dpkg knows a file under one path, with /lib either merged into /usr or not. */
function debianPackagesOf(files: readonly string[]): readonly string[] {
  // Both paths of each file: dpkg-query fails for unknown ones, and prints the packages of the others all the same.
  const found = spawnSync("dpkg-query", ["-S", ...files, ...files.map((file) => realpathSync(file))], {
    encoding: "utf8",
  });
  const owners = found.stdout.matchAll(/^([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9]+)?: \//gm);
  return [...new Set([...owners].map(([, name = ""]) => name))].sort();
}
