import { writeFileSync } from "node:fs";
import type { Reporter, Vitest } from "vitest/node";

/** Where it is written that something went wrong beside all tests, besides the report in `file`. */
export function unhandledOf(file: string): string {
  return `${file}.unhandled`;
}

/** Writes down what vitest's JSON report leaves out: the errors that nobody has caught, such as a promise that is rejected when its test is over. */
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
