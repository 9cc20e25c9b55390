/** A fact that was read, or could not be read. "Not there" and "could not look" are never the same thing. */
export type Observed<T> =
  | { readonly is: "present"; readonly value: T }
  | { readonly is: "absent" }
  | { readonly is: "unknown"; readonly why: string };

export function present<T>(value: T): Observed<T> {
  return { is: "present", value };
}

export const absent: Observed<never> = { is: "absent" };

/** @param why one clause for users: what was tried and how it failed */
export function unknown(why: string): Observed<never> {
  return { is: "unknown", why };
}
