import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where Kubernetes mounts tokens into a pod: the only place from which the agent reads one. */
const TOKEN_FOLDER = "/var/run/secrets";

/**
 * Writes a token where a pod has it.
 * @returns its path, and a function that removes it
 */
export function mountToken(token: string): { readonly file: string; remove(): void } {
  mkdirSync(TOKEN_FOLDER, { recursive: true });
  const folder = mkdtempSync(join(TOKEN_FOLDER, "test-of-etcd-cluster-operator-"));
  const file = join(folder, "token");
  writeFileSync(file, token);
  return { file, remove: () => rmSync(folder, { recursive: true }) };
}
