import { join } from "node:path";
import { build } from "esbuild";
import { BUNDLED } from "../bundle.ts";

interface PluginBundle {
  readonly file: string;
  /** Bundled source files, as paths from the repository. */
  readonly sources: readonly string[];
}

/** Bundles the plugin into one file, which also holds the client library that reads kubeconfigs. */
export async function bundlePlugin(root: string, version: string): Promise<PluginBundle> {
  const file = join(root, "dist", "plugin", "kubectl-etcd.mjs");
  const { metafile } = await build({
    ...BUNDLED,
    external: [],
    define: { PLUGIN_VERSION: JSON.stringify(version) },
    entryPoints: [join(root, "src", "plugin", "main.ts")],
    outfile: file,
    banner: { js: `#!/usr/bin/env node\n${BUNDLED.banner?.js}` },
    absWorkingDir: root,
    logLevel: "error",
    metafile: true,
  });
  return { file, sources: Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs)) };
}
