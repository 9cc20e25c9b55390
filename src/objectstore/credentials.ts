import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { StoreError } from "./error.ts";

/**
 * A mounted Secret with credentials. File names are fixed, so that naming a foreign Secret reveals nothing that is not
 * meant for a store.
 */
export class CredentialsDirectory {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * @returns undefined when the file does not exist; else its text without surrounding white space, which editors and
   * `echo` add
   */
  async read(file: string): Promise<string | undefined> {
    try {
      const text = (await readFile(join(this.#path, file), "utf8")).trim();
      if (text !== "") return text;
    } catch (thrown) {
      const code = (thrown as NodeJS.ErrnoException).code;
      if (code === "ENOENT") return undefined;
      throw new StoreError("WrongCredentials", `${file} in ${this.#path} cannot be read: ${code}`);
    }
    throw new StoreError("WrongCredentials", `${file} in the Secret with the credentials is empty`);
  }

  /** @throws StoreError `WrongCredentials` when the file does not exist */
  async need(file: string): Promise<string> {
    const text = await this.read(file);
    if (text !== undefined) return text;
    throw new StoreError("WrongCredentials", `the Secret with the credentials has no ${file}`);
  }
}
