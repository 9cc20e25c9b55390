import type { output } from "zod/mini";
import { AgentError } from "../error.ts";
import { manifestSchema } from "./manifest-schema.ts";

// What is it for?
//   It is written when the object is whole, and last. So an object without one is no backup, whatever it looks like; and whoever restores
//   knows before the first byte what should come, from which cluster, and which key it takes.

export type Manifest = output<typeof manifestSchema>;

/** Where the manifest of the object with this key lies. */
export function manifestKeyOf(key: string): string {
  return `${key}.manifest.json`;
}

/** For people as well. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifestSchema.parse(manifest), undefined, 2)}\n`;
}

/**
 * Reads a manifest.
 * @param key of the object beside which it lies
 * @throws AgentError SnapshotCorrupt when it is none, of a format that is not known, or of another object
 */
export function readManifest(text: string, key: string): Manifest {
  const where = `the manifest ${manifestKeyOf(key)}`;
  const read = manifestSchema.safeParse(parsed(text, where));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new AgentError("SnapshotCorrupt", `${where} is not right: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  if (read.data.key !== key) {
    throw new AgentError("SnapshotCorrupt", `${where} is that of another object, ${read.data.key}`);
  }
  return read.data;
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new AgentError("SnapshotCorrupt", `${where} is no JSON`, { cause: thrown });
  }
}
