import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { StoreError } from "./error.ts";

const CA_FILE = "ca.crt";
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

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

  /** Whether `ca.crt` is there, and none of these files. */
  async hasOnlyCA(files: readonly string[]): Promise<boolean> {
    for (const file of files) if ((await this.read(file)) !== undefined) return false;
    return (await this.read(CA_FILE)) !== undefined;
  }

  /**
   * CAs in the file `ca.crt`, as PEM: the only ones that are trusted for the store and its token service.
   * @returns undefined when the file does not exist
   */
  async ca(): Promise<string | undefined> {
    const text = await this.read(CA_FILE);
    if (text === undefined) return undefined;
    const certificates = text.match(CERTIFICATE) ?? [];
    if (certificates.length > 0 && certificates.every(isCertificate)) return text;
    const message = `${CA_FILE} in the Secret with the credentials has no valid certificate; it must have one or more certificates in PEM`;
    throw new StoreError("WrongCredentials", message);
  }

  /** @throws StoreError `WrongCredentials` when the file does not exist */
  async need(file: string): Promise<string> {
    const text = await this.read(file);
    if (text !== undefined) return text;
    throw new StoreError("WrongCredentials", `the Secret with the credentials has no ${file}`);
  }
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
