type Values = Readonly<Record<string, unknown>>;

/** Whether it is an object of JSON: what somebody else wrote may be anything. */
export function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object; an empty one where there is something else. */
export function record(value: unknown): Values {
  return isMap(value) ? value : {};
}

/** What is said at all: `undefined` is no JSON. */
export function defined(object: Values): Values {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

export function without(object: Values, keys: readonly string[]): Values {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

/** For a sentence, and short: whoever writes nonsense shall not get all of it back. */
export function told(value: unknown): string {
  if (value === undefined) return "missing";
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
