import { hash } from "node:crypto";

/**
 * A short fingerprint of plain data: equal for equal content, whatever the order of keys.
 * @param value what JSON can hold; keys whose value is undefined do not count
 * @returns 16 lower-case hexadecimal digits (64 bits of SHA-256): enough to tell versions of one object apart
 */
export function fingerprint(value: unknown): string {
  return hash("sha256", canonical(value), "hex").slice(0, 16);
}

/** A number from 0 to 1 that is the same for the same text, and spread evenly over different ones: for turns in time. */
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

/** Deeper than that nothing is compared, in levels: a stack ends, and an API server takes ten thousand. */
const DEEPEST = 500;

/**
 * Whether both would have the same fingerprint, without making one: the first difference ends it. Lists hold no undefined, as in JSON. Never of what is nested more than 500 levels
 * deep, unless it is the very same object there.
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
