import { run } from "#dev/run.ts";

/**
 * Makes a release of the work tree by the command that people use, with the plugin for one platform.
 * @param image its repository @param folder where it is written; it must not exist
 */
export async function makeRelease(version: string, image: string, folder: string): Promise<void> {
  const options = ["--image", image, "--folder", folder, "--allow-dirty", "--plugin-platforms", "linux/amd64"];
  await run(process.execPath, ["dev/commands/release.ts", version, ...options]);
}
