import { basename, dirname, join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { AGENT_PROGRAM } from "#agent/task.ts";
import type { ImageFile } from "./image.ts";

/** A program of src/bin, and where it lies in the image. */
export interface BundleSpec {
  /** `src/bin/ENTRY.ts`. */
  readonly entry: string;
  readonly program: string;
  /** Whether what it loads only when it needs it are files of their own, so that what is never needed is never read. */
  readonly splitting: boolean;
}

export const OPERATOR_BUNDLE: BundleSpec = { entry: "operator", program: "/app/operator.mjs", splitting: false };
/** It needs the library of one object store, of several. */
export const AGENT_BUNDLE: BundleSpec = { entry: "agent", program: AGENT_PROGRAM, splitting: true };

interface Bundle {
  /** Its parts, as the image has them. */
  readonly files: readonly ImageFile[];
  /** What it was made of, as paths from the repository. */
  readonly sources: readonly string[];
}

// Packages that are still CommonJS ask for `require`, which an ES module does not have.
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

/** What the program would be made of, as paths from the repository. */
export async function sourcesOf(root: string, spec: BundleSpec): Promise<readonly string[]> {
  const { metafile } = await build({ ...buildOptions(root, spec), write: false, metafile: true });
  return Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
}

function buildOptions(root: string, { entry, program, splitting }: BundleSpec): BuildOptions {
  return {
    entryPoints: { [basename(program, ".mjs")]: join(root, "src", "bin", `${entry}.ts`) },
    outdir: join(root, "dist", entry),
    outExtension: { ".js": ".mjs" },
    // Parts of two programs lie side by side.
    chunkNames: `${entry}-[name]-[hash]`,
    splitting,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    banner: { js: BANNER },
    // Names stay, for stack traces. Comments go: one letter beyond Latin-1 in them, and V8 holds the whole text in two bytes each.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    // Only for kubeconfigs with exec plugins, which a pod does not have; it would be most of the bundle.
    external: ["@kubernetes/client-node"],
    logLevel: "warning",
    absWorkingDir: root,
  };
}
