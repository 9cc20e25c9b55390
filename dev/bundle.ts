import { basename, dirname, join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { AGENT_PROGRAM } from "#agent/task.ts";
import type { ImageFile } from "./image.ts";

/** A program of src/bin, and its place in the image. */
export interface BundleSpec {
  /** `src/bin/ENTRY.ts`. */
  readonly entry: string;
  readonly program: string;
  /** Programs of its threads, `src/ENTRY.ts`: each is bundled into the same folder, as `NAME.mjs`. */
  readonly threads: readonly string[];
  /** Whether dynamic imports become files of their own, which are read only when needed. */
  readonly splitting: boolean;
}

export const OPERATOR_BUNDLE: BundleSpec = {
  entry: "operator",
  program: "/app/operator.mjs",
  threads: ["webhooks/conversion-worker"],
  splitting: false,
};
/** The agent is split, as each run needs the library of only one object store. */
export const AGENT_BUNDLE: BundleSpec = { entry: "agent", program: AGENT_PROGRAM, threads: [], splitting: true };

interface Bundle {
  /** Files of the program in the image. */
  readonly files: readonly ImageFile[];
  /** Bundled source files, as paths from the repository. */
  readonly sources: readonly string[];
}

// CommonJS packages call `require`, which an ES module does not have.
const BANNER = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** Writes the program to `dist/`. @param root the repository */
export async function bundle(root: string, spec: BundleSpec): Promise<Bundle> {
  const { metafile } = await build({ ...buildOptions(root, spec), write: true, metafile: true });
  const files = Object.keys(metafile.outputs).map((output) => {
    return { from: join(root, output), to: join(dirname(spec.program), basename(output)), mode: 0o644 };
  });
  const sources = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
  return { files, sources };
}

/** Source files that would be bundled, as paths from the repository. */
export async function sourcesOf(root: string, spec: BundleSpec): Promise<readonly string[]> {
  const { metafile } = await build({ ...buildOptions(root, spec), write: false, metafile: true });
  return Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
}

/** How every program is bundled. Tests that measure memory bundle in the same way. */
export const BUNDLED: BuildOptions = {
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  banner: { js: BANNER },
  // Names are kept, for stack traces. Comments are removed: one character beyond Latin-1 makes V8 store the whole
  // text with two bytes per character.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
  // Needed only for kubeconfigs with exec plugins, which a pod does not have. It would be most of the bundle.
  external: ["@kubernetes/client-node"],
  // Names in the bundle come from paths. Behind a link to the packages of another work tree they would differ.
  preserveSymlinks: true,
  logLevel: "warning",
};

function buildOptions(root: string, { entry, program, threads, splitting }: BundleSpec): BuildOptions {
  const ofThreads = threads.map((each) => [basename(each), join(root, "src", `${each}.ts`)]);
  return {
    ...BUNDLED,
    entryPoints: {
      [basename(program, ".mjs")]: join(root, "src", "bin", `${entry}.ts`),
      ...Object.fromEntries(ofThreads),
    },
    outdir: join(root, "dist", entry),
    // The entry's name keeps the parts of two programs apart in one folder.
    chunkNames: `${entry}-[name]-[hash]`,
    splitting,
    absWorkingDir: root,
  };
}
