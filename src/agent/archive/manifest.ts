import type { output } from "zod/mini";
import { AgentError } from "../error.ts";
import { manifestSchema } from "./manifest-schema.ts";

// What is the manifest for?
//   It is written last, when the object is complete. So an object without a manifest is no backup. A restore knows
//   before the first byte which snapshot to expect, of which cluster, and which key it needs.
// Which object does it describe?
//   The object beside it, which must have the recorded size and hashes. The recorded key may be outdated, since the
//   folder can be copied or moved after the backup, also to another store.

export type Manifest = output<typeof manifestSchema>;

const MANIFEST_SUFFIX = ".manifest.json";

/** Key of the manifest of the object with this key. */
export function manifestKeyOf(key: string): string {
  return `${key}${MANIFEST_SUFFIX}`;
}

/** Key of the object that the manifest with this key describes; undefined when it is no manifest's key. */
export function describedBy(key: string): string | undefined {
  return key.endsWith(MANIFEST_SUFFIX) ? key.slice(0, -MANIFEST_SUFFIX.length) : undefined;
}

/** Formatted for human readers too. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifestSchema.parse(manifest), undefined, 2)}\n`;
}

/**
 * Reads a manifest.
 * @param key key of the object beside the manifest; it replaces the recorded key in the result
 * @throws AgentError SnapshotCorrupt when it is invalid or of an unknown format
 */
export function readManifest(text: string, key: string): Manifest {
  const where = `the manifest ${manifestKeyOf(key)}`;
  const read = manifestSchema.safeParse(parsed(text, where));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new AgentError("SnapshotCorrupt", `${where} is invalid: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  return { ...read.data, key };
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new AgentError("SnapshotCorrupt", `${where} is not JSON`, { cause: thrown });
  }
}
