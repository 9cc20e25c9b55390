import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

/** Makes an empty folder that is deleted when this process exits. @param prefix start of its name */
export function temporaryFolder(prefix: string): string {
  if (folders.length === 0)
    process.once("exit", () => {
      for (const each of folders) rmSync(each, { recursive: true, force: true });
    });
  const folder = mkdtempSync(join(tmpdir(), prefix));
  folders.push(folder);
  return folder;
}
