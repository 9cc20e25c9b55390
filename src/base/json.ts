type Values = Readonly<Record<string, unknown>>;

/** Whether it is a JSON object: input from outside may be anything. */
export function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object itself, or an empty one for any other value. */
export function record(value: unknown): Values {
  return isMap(value) ? value : {};
}

/** The object without fields that are `undefined`, which is no JSON. */
export function defined(object: Values): Values {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

export function without(object: Values, keys: readonly string[]): Values {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

/** A value for a message, cut short: nonsense is not repeated in full. */
export function quoted(value: unknown): string {
  if (value === undefined) return "missing";
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}

/**
 * Longest text that is parsed, in characters: an API server accepts 256 KiB of annotations. The worst 256 KiB take 30
 * ms to parse.
 */
const MAX_TEXT_LENGTH = 256 * 1024;

/** Parses the JSON object in an annotation. @returns undefined when it is no JSON object, or too long */
export function mapInText(text: unknown): Values | undefined {
  if (typeof text !== "string" || text.length > MAX_TEXT_LENGTH) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : undefined;
  } catch {
    return undefined; // The caller reports it to the user.
  }
}
