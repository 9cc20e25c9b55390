import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureComponents } from "#dev/components.ts";
import { silentStep } from "#dev/progress.ts";
import { run } from "#dev/run.ts";

/**
 * Installs a plugin by Krew without a network: Krew checks the hash and unpacks what the manifest names.
 * @param manifest its text @param archive that Krew would download @param folder of Krew; it must not exist
 * @returns the folder that a user has on PATH
 */
export async function installByKrew(manifest: string, archive: string, folder: string): Promise<string> {
  const { krew } = await ensureComponents(["krew"], silentStep);
  mkdirSync(folder);
  writeFileSync(join(folder, "manifest.yaml"), manifest);
  const options = [`--manifest=${join(folder, "manifest.yaml")}`, `--archive=${archive}`];
  const env = { ...process.env, KREW_ROOT: join(folder, "root") };
  await run("unshare", ["--net", krew, "install", ...options], { env });
  return join(folder, "root", "bin");
}
