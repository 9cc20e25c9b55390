import { join } from "node:path";
import { Failure } from "../failure.ts";
import { buildPlugin } from "../plugin/build.ts";
import { PLATFORMS, type Platform } from "../plugin/platforms.ts";
import type { Note } from "../progress.ts";
import type { Release } from "./release.ts";

/** Writes the kubectl plugin: archives, the npm package and, with the URL of the folder, Krew's manifest. */
export async function writePlugin({ root, folder, version, plugin, source = "" }: Release, note: Note): Promise<void> {
  await buildPlugin(root, join(folder, "plugin"), { version, ...plugin, homepage: source, note });
}

/** Platforms in the text, such as `linux/amd64,darwin/arm64`. @throws Failure when one of them is unknown */
export function checkedPlatforms(text: string | undefined): readonly Platform[] {
  if (text === undefined) return PLATFORMS;
  const named = (name: string) => PLATFORMS.find(({ os, arch }) => name === `${os}/${arch}`);
  return text.split(",").map((name) => {
    const platform = named(name);
    if (platform !== undefined) return platform;
    const all = PLATFORMS.map(({ os, arch }) => `${os}/${arch}`).join(", ");
    throw new Failure(`--plugin-platforms has "${name}"; it must be some of ${all}, with commas between them.`);
  });
}
