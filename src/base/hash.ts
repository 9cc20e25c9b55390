import { hash } from "node:crypto";

// Why not a package for canonical JSON?
//   Fingerprints are stored in objects. If a new version of a package wrote other text, all members would restart.

/**
 * A short fingerprint of plain data: equal for equal content, whatever the order of keys.
 * @param value anything that JSON can hold; keys with the value undefined are ignored
 * @returns 16 lower-case hexadecimal digits (64 bits of SHA-256): enough to distinguish versions of one object
 */
export function fingerprint(value: unknown): string {
  return hash("sha256", canonical(value), "hex").slice(0, 16);
}

/** A number from 0 to 1, derived from the text and evenly distributed: spreads periodic work in time. */
export function partOf(text: string): number {
  return Number.parseInt(fingerprint(text).slice(0, 4), 16) / 0xffff;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  let text = "";
  for (const key of Object.keys(value).sort()) {
    const item: unknown = value[key as keyof typeof value];
    if (item !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonical(item)}`;
  }
  return `{${text}}`;
}

/** Deepest level that is compared: the stack is limited, and an API server accepts ten thousand levels. */
const DEEPEST = 500;

/**
 * Whether both have the same fingerprint, without computing it; stops at the first difference. Lists hold no undefined,
 * as in JSON.
 * Data nested more than 500 levels deep counts as different, unless it is the same object there.
 */
export function isSameData(a: unknown, b: unknown, levels = DEEPEST): boolean {
  if (Object.is(a, b)) return true;
  if (levels === 0) return false;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b) || (Array.isArray(a) && a.length !== (b as unknown[]).length)) return false;
  let fields = 0;
  for (const key of Object.keys(a)) {
    const item: unknown = a[key as keyof typeof a];
    if (item === undefined) continue;
    fields += 1;
    if (!Object.hasOwn(b, key) || !isSameData(item, b[key as keyof typeof b], levels - 1)) return false;
  }
  for (const key of Object.keys(b)) if (b[key as keyof typeof b] !== undefined) fields -= 1;
  return fields === 0;
}
