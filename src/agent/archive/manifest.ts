import type { output } from "zod/mini";
import { AgentError } from "../error.ts";
import { manifestSchema } from "./manifest-schema.ts";

// What is the manifest for?
//   It is written last, when the object is complete. So an object without a manifest is no backup. A restore knows
//   before the first byte which snapshot to expect, of which cluster, and which key it needs.

export type Manifest = output<typeof manifestSchema>;

/** Key of the manifest of the object with this key. */
export function manifestKeyOf(key: string): string {
  return `${key}.manifest.json`;
}

/** Formatted for human readers too. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifestSchema.parse(manifest), undefined, 2)}\n`;
}

/**
 * Reads a manifest.
 * @param key key of the object beside the manifest
 * @throws AgentError SnapshotCorrupt when it is invalid, of an unknown format, or of another object
 */
export function readManifest(text: string, key: string): Manifest {
  const where = `the manifest ${manifestKeyOf(key)}`;
  const read = manifestSchema.safeParse(parsed(text, where));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new AgentError("SnapshotCorrupt", `${where} is invalid: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  if (read.data.key !== key) {
    throw new AgentError("SnapshotCorrupt", `${where} is for another object, ${read.data.key}`);
  }
  return read.data;
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new AgentError("SnapshotCorrupt", `${where} is not JSON`, { cause: thrown });
  }
}
