import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { AGENT_BUNDLE, bundle, OPERATOR_BUNDLE } from "./bundle.ts";
import { cacheRoot, keepNewest } from "./cache.ts";
import { type ImageSpec, sharedLibraries, writeImage } from "./image.ts";
import type { ImageArchive } from "./images.ts";
import { libraryLicenses, nodeLicense, packageLicenses } from "./licenses.ts";
import type { Step } from "./progress.ts";

// The operator lives long, and what a pass leaves behind is soon nobody's: the young generation is just large enough that it dies there, and
// the old one grows by half of what is in use before it is collected, where Node would let it grow to four times that. One arena, since glibc
// otherwise keeps freed memory for each of Node's threads. Not `--optimize-for-size`, which collects after every few megabytes and took half
// of all processor time (docs/performance.md). A stack for JSON that is nested 10,000 levels deep, which is what an API server takes: the conversion has
// to answer with it (of the 8 MiB that the kernel gives a process by default). By a SIGUSR1 anybody in the container could open a debugger, which reads all keys in memory.
// At rest the operator asks for collections itself (src/bin/heap.ts).
export const NODE_FLAGS = [
  "--max-semi-space-size=2",
  "--heap-growing-percent=50",
  "--stack-size=3500",
  "--disable-sigusr1",
  "--expose-gc",
];
const ENTRYPOINT = ["/usr/local/bin/node", ...NODE_FLAGS, OPERATOR_BUNDLE.program];
/** Of both programs. */
export const ENVIRONMENT = { NODE_ENV: "production", MALLOC_ARENA_MAX: "1" };

/** Title of the step that makes it. */
export const OPERATOR_IMAGE = "operator image";

/** Several clones may be at work at once, each with its own operator. */
const KEPT_IMAGES = 4;

/**
 * The operator's image: Node, the libraries that it is linked against, the operator and the agent, and the licences of all of them. Nothing
 * else is in it, no shell either. Named by its content, so that a Deployment changes exactly when the operator does.
 */
export async function ensureOperatorImage(root: string, step: Step): Promise<ImageArchive> {
  return await step(OPERATOR_IMAGE, async (note) => {
    note("bundling");
    const content = await contentOf(root);
    const fingerprint = fingerprintOf(content);
    const name = `localhost/etcd-cluster-operator:${fingerprint}`;
    const file = join(cacheRoot(), "images", `operator-${fingerprint}.tar`);
    if (!existsSync(file)) {
      note("writing");
      mkdirSync(join(cacheRoot(), "images"), { recursive: true });
      await writeImage(file, { ...content, name });
    }
    // The one in use counts as new, whenever it was written.
    utimesSync(file, new Date(), new Date());
    // Each change of the operator makes another archive; the ones before the last few are of no use to anybody.
    keepNewest(join(cacheRoot(), "images"), "operator-", KEPT_IMAGES);
    return { name, file };
  });
}

/** Everything but the name. */
type ImageContent = Omit<ImageSpec, "name">;

async function contentOf(root: string): Promise<ImageContent> {
  const operator = await bundle(root, OPERATOR_BUNDLE);
  const agent = await bundle(root, AGENT_BUNDLE);
  const node = realpathSync(process.execPath);
  const libraries = sharedLibraries(node);
  return {
    layers: [
      {
        files: [
          { from: node, to: "/usr/local/bin/node", mode: 0o755 },
          ...libraries,
          nodeLicense(node),
          ...libraryLicenses(libraries),
        ],
      },
      { files: [...operator.files, ...agent.files, ...packageLicenses(root, [...operator.sources, ...agent.sources])] },
    ],
    entrypoint: ENTRYPOINT,
    env: ENVIRONMENT,
    user: "65532:65532",
  };
}

/**
 * Changes with everything that the archive depends on: the bytes of each file and its place, the settings, and the code that packs
 * them. The machine's libraries count too: they change with a system update and keep their names.
 */
export function fingerprintOf({ layers, ...settings }: ImageContent): string {
  const hash = createHash("sha256").update(readFileSync(join(import.meta.dirname, "image.ts")));
  hash.update(JSON.stringify(settings));
  for (const [layer, { files }] of layers.entries()) {
    for (const { from, to, mode } of files) {
      const digest = createHash("sha256").update(readFileSync(from)).digest("hex");
      hash.update(JSON.stringify([layer, to, mode, digest]));
    }
  }
  return hash.digest("hex").slice(0, 12);
}
