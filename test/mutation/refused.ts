import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mutation } from "./mutations.ts";

/** Mutations that the type checker refuses: no person could make such a mistake. */
export function refused<T extends Mutation>(root: string, mutations: readonly T[]): ReadonlySet<T> {
  mkdirSync(join(root, "dist"), { recursive: true });
  // The folder is below the root, so that imports and types resolve.
  const folder = mkdtempSync(join(root, "dist", "mutations-"));
  try {
    mutations.forEach(({ file, alone }, n) => {
      if (alone !== undefined) writeFileSync(join(folder, `${n}.ts`), moved(alone, join(root, dirname(file))));
    });
    const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = spawnSync(process.execPath, [tsc, "--project", folder, "--pretty", "false"], {
      encoding: "utf8",
    });
    const wrong = new Set([...stdout.matchAll(/(\d+)\.ts\(\d+,\d+\): error/g)].map(([, n]) => Number(n)));
    return new Set(mutations.filter((_, n) => wrong.has(n)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The text with absolute instead of relative imports. */
function moved(text: string, folder: string): string {
  return text.replaceAll(/ from "(\.[^"]+)"/g, (_, path: string) => ` from ${JSON.stringify(join(folder, path))}`);
}
