import { createHash } from "node:crypto";

/**
 * A short fingerprint of plain data: equal for equal content, whatever the order of keys.
 * @param value what JSON can hold; keys whose value is undefined do not count
 * @returns 16 lower-case hexadecimal digits (64 bits of SHA-256): enough to tell versions of one object apart
 */
export function fingerprint(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex").slice(0, 16);
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}
