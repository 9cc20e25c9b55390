/** A fact that we tried to read. "Not there" and "could not look" are never the same thing. */
export type Observed<T> =
  | { readonly is: "present"; readonly value: T }
  | { readonly is: "absent" }
  | { readonly is: "unknown"; readonly why: string };

export function present<T>(value: T): Observed<T> {
  return { is: "present", value };
}

export const absent: Observed<never> = { is: "absent" };

/** @param why one clause for people: what was tried and how it failed */
export function unknown(why: string): Observed<never> {
  return { is: "unknown", why };
}

/** The value if it is present; `undefined` says neither "absent" nor "unknown", so use it only where both mean the same. */
export function valueIfPresent<T>(observed: Observed<T>): T | undefined {
  return observed.is === "present" ? observed.value : undefined;
}
