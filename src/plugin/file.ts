import { readFile } from "node:fs/promises";
import { UsageError } from "./arguments.ts";

/** Largest file that is read, in bytes: the API server takes objects of 1.5 MiB at most. */
const MOST_BYTES = 2 * 1024 * 1024;

/** The YAML or JSON of a file, `-` for standard input; undefined without a path. @throws UsageError */
export async function fileOf(path: string | undefined): Promise<unknown> {
  if (path === undefined) return undefined;
  const text = await readFile(path === "-" ? "/dev/stdin" : path, "utf8").catch((thrown: Error) => {
    throw new UsageError(`-f names a file that cannot be read: ${thrown.message}`);
  });
  if (text.length > MOST_BYTES)
    throw new UsageError(`-f names a file of ${text.length} characters; it must be one object.`);
  const { parse } = await import("yaml");
  try {
    return parse(text);
  } catch {
    throw new UsageError(`-f names ${path}, which is not valid YAML.`);
  }
}
