import { StoreError } from "./error.ts";

/** Limit of S3 and Google, in bytes of UTF-8. */
const LONGEST_KEY_BYTES = 1024;

/**
 * Refuses a key that some store cannot keep, or that would leave the directory of a volume.
 * @throws StoreError `InvalidLocation`
 */
export function checkKey(key: string): string {
  const wrong = wrongWith(key);
  if (wrong === undefined) return key;
  throw new StoreError(
    "InvalidLocation",
    `key ${JSON.stringify(key)} ${wrong}; it may be names with "/" between them, of 1 to ${LONGEST_KEY_BYTES} bytes together`,
  );
}

function wrongWith(key: string): string | undefined {
  if (key === "") return "is empty";
  const bytes = Buffer.byteLength(key);
  if (bytes > LONGEST_KEY_BYTES) return `has ${bytes} bytes`;
  if (!key.isWellFormed()) return "is not well-formed Unicode";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(key)) return "has a control character";
  // Azure treats it as "/".
  if (key.includes("\\")) return 'has a "\\"';
  const names = key.split("/");
  if (names.includes("")) return 'has an empty name: it begins or ends with "/", or has "//"';
  if (names.includes(".") || names.includes("..")) return 'has a name "." or ".."';
  return undefined;
}
