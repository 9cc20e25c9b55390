import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { AGENT_BUNDLE, bundle, OPERATOR_BUNDLE } from "./bundle.ts";
import { cacheRoot, keepNewest } from "./cache.ts";
import { type ImageFile, type ImageSpec, sharedLibraries, writeImage } from "./image.ts";
import type { ImageArchive } from "./images.ts";
import { libraryLicenses, nodeLicense, packageLicenses } from "./licenses.ts";
import type { Step } from "./progress.ts";

// Why these flags?
//   Semi-space: the operator runs long, and objects of a pass are soon garbage. The young generation just fits them.
//   Heap-growing: the old generation is collected when it has grown by half, and not only at four times its live size.
//   Stack-size: API servers accept JSON nested 10,000 levels deep, which caches and admission webhooks parse.
//   SIGUSR1: with this signal any process in the container could open a debugger, which can read all keys in memory.
//   Expose-gc: at rest the operator requests collections itself (src/bin/heap.ts).
// Why not `--optimize-for-size`?
//   It collects after every few megabytes, and took half of all processor time (docs/performance.md).
export const NODE_FLAGS = [
  "--max-semi-space-size=2",
  "--heap-growing-percent=50",
  "--stack-size=3500",
  "--disable-sigusr1",
  "--expose-gc",
];
const ENTRYPOINT = ["/usr/local/bin/node", ...NODE_FLAGS, OPERATOR_BUNDLE.program];
/** Environment of operator and agent. With more than one arena, glibc keeps freed memory for each of Node's threads. */
export const ENVIRONMENT = { NODE_ENV: "production", MALLOC_ARENA_MAX: "1" };

/** Title of the step that makes the image. */
export const OPERATOR_IMAGE = "operator image";

/** Images that are kept in the cache: several clones may be in use, each with its own operator. */
const KEPT_IMAGES = 4;

/**
 * Makes the operator's image, unless it is in the cache. It has only Node with its shared libraries, operator, agent
 * and licences, and no shell. Its tag is a hash of its content, so that a Deployment changes exactly when the operator
 * does.
 */
export async function ensureOperatorImage(root: string, step: Step): Promise<ImageArchive> {
  return await step(OPERATOR_IMAGE, async (note) => {
    note("bundling");
    const content = contentOf(machineBase(), await bundlePrograms(root));
    const fingerprint = fingerprintOf(content);
    const name = `localhost/etcd-cluster-operator:${fingerprint}`;
    const file = join(cacheRoot(), "images", `operator-${fingerprint}.tar`);
    if (!existsSync(file)) {
      note("writing");
      mkdirSync(join(cacheRoot(), "images"), { recursive: true });
      await writeImage(file, { ...content, name });
    }
    // The image in use counts as new, whenever it was written.
    utimesSync(file, new Date(), new Date());
    // Each change of the operator makes a new archive. Only the last few are useful.
    keepNewest(join(cacheRoot(), "images"), "operator-", KEPT_IMAGES);
    return { name, file };
  });
}

/** An image without its name. */
export type ImageContent = Omit<ImageSpec, "name">;

/** What was bundled from others' packages, and the files of operator and agent in the image. */
export interface Programs {
  /** Bundled source files, as paths from the repository. */
  readonly sources: readonly string[];
  readonly files: readonly ImageFile[];
}

/** Bundles operator and agent. @param root the repository */
export async function bundlePrograms(root: string): Promise<Programs> {
  const operator = await bundle(root, OPERATOR_BUNDLE);
  const agent = await bundle(root, AGENT_BUNDLE);
  const sources = [...operator.sources, ...agent.sources];
  return { sources, files: [...operator.files, ...agent.files, ...packageLicenses(root, sources)] };
}

/** The operator's image. @param base Node, its libraries and their licences */
export function contentOf(base: readonly ImageFile[], { files }: Programs): ImageContent {
  return { layers: [{ files: base }, { files }], entrypoint: ENTRYPOINT, env: ENVIRONMENT, user: "65532:65532" };
}

/**
 * This machine's Node and libraries. They need no network and no Debian, which a local Kubernetes should not need
 * either; the released image has pinned ones (dev/pinned).
 */
function machineBase(): readonly ImageFile[] {
  const node = realpathSync(process.execPath);
  const libraries = sharedLibraries(node);
  return [
    { from: node, to: "/usr/local/bin/node", mode: 0o755 },
    ...libraries,
    nodeLicense(node),
    ...libraryLicenses(libraries),
  ];
}

/** Files with the code that packs images. */
const PACKERS = ["image.ts", "oci.ts", "tar.ts"];

/**
 * Hash of everything that the archive depends on: content and place of each file, settings, and the code that packs
 * them. Shared libraries count by content, too: a system update changes them and keeps their names.
 */
export function fingerprintOf({ layers, ...settings }: ImageContent): string {
  const hash = createHash("sha256");
  for (const file of PACKERS) hash.update(readFileSync(join(import.meta.dirname, file)));
  hash.update(JSON.stringify(settings));
  for (const [layer, { files }] of layers.entries()) {
    for (const { from, to, mode } of files) {
      const digest = createHash("sha256").update(readFileSync(from)).digest("hex");
      hash.update(JSON.stringify([layer, to, mode, digest]));
    }
  }
  return hash.digest("hex").slice(0, 12);
}
