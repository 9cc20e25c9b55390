import { writeFileSync } from "node:fs";
import type { Reporter, Vitest } from "vitest/node";

/** Path of the file with uncaught errors, next to the report in `file`. */
export function unhandledOf(file: string): string {
  return `${file}.unhandled`;
}

/**
 * Writes uncaught errors to a file, as vitest's JSON report omits them: such as a promise that is rejected after its
 * test.
 */
export default class implements Reporter {
  #file: string | undefined;

  onInit({ config }: Vitest): void {
    this.#file = typeof config.outputFile === "object" ? config.outputFile.json : undefined;
  }

  onTestRunEnd(_modules: unknown, errors: readonly { readonly message?: string }[]): void {
    if (this.#file !== undefined)
      writeFileSync(unhandledOf(this.#file), JSON.stringify(errors.map(({ message }) => message ?? "")));
  }
}
