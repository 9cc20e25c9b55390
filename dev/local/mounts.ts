import { readFileSync } from "node:fs";
import { Failure } from "../failure.ts";
import { run } from "../run.ts";

export interface Mount {
  readonly point: string;
  /** Type of the file system, such as `tmpfs` or `cgroup2`. */
  readonly type: string;
  /** Options of the file system (not of the mount), such as the controllers of a cgroup hierarchy. */
  readonly options: readonly string[];
}

/**
 * Mounts of this process's mount namespace, in the order in which they were made.
 * @param text of /proc/self/mountinfo
 */
export function parseMountinfo(text: string): Mount[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [left = "", right = ""] = line.split(" - ");
      const [type = "", , options = ""] = right.split(" ");
      return { point: decodeOctal(left.split(" ")[4] ?? ""), type, options: options.split(",") };
    });
}

/** Decodes octal escapes: the kernel writes blank, tab, newline and backslash so. */
function decodeOctal(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Mount points at or below a folder, in the order in which they can be unmounted: the last one first. */
export function mountsBelow(mounts: readonly Mount[], folder: string): string[] {
  return mounts
    .map((mount) => mount.point)
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    .reverse();
}

export function currentMounts(): Mount[] {
  return parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"));
}

/** Unmounts everything at or below the folder. @throws Failure when a mount remains */
export async function unmountBelow(folder: string): Promise<void> {
  for (const point of mountsBelow(currentMounts(), folder)) {
    // Lazy: a file that a dying process still holds open must not make the teardown fail.
    await run("umount", ["--lazy", point], { mayFail: true });
  }
  const left = mountsBelow(currentMounts(), folder);
  if (left.length > 0) throw new Failure(`Cannot unmount ${left.join(", ")}.`);
}
