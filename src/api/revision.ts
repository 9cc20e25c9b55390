import { billionthsOf } from "#api/quantity.ts";
import type { EtcdPeerSpec } from "#api/v1alpha1/peer.ts";
import { fingerprint } from "#base/hash.ts";

// What makes a member restart?
//   Only what a person has asked for. The pod that the operator makes of it is the operator's business: a new release that makes another
//   one of the same wishes restarts nobody, and the next pod, whenever it comes, looks as that release wants it.

/** What of a member people decide. */
export type MemberTemplate = Pick<EtcdPeerSpec, "version" | "podTemplate">;

/** The name of a template: equal for all that mean the same, however they are written. 16 hexadecimal digits. */
export function revisionOf({ version, podTemplate }: MemberTemplate): string {
  const { metadata, resources, affinity } = podTemplate;
  return fingerprint({
    version,
    annotations: unlessEmpty(metadata?.annotations),
    limits: amounts(resources?.limits),
    requests: amounts(resources?.requests),
    affinity: unordered(affinity),
  });
}

function amounts(resources: Readonly<Record<string, string | number>> | undefined): object | undefined {
  const entries = Object.entries(resources ?? {});
  return unlessEmpty(
    Object.fromEntries(entries.map(([kind, amount]) => [kind, String(billionthsOf(amount) ?? amount)])),
  );
}

function unlessEmpty<T extends object>(object: T | undefined): T | undefined {
  return object === undefined || Object.keys(object).length === 0 ? undefined : object;
}

/** In an affinity the order means nothing: its terms are alternatives or all of them hold. What is empty means something. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .map((item) => [fingerprint(unordered(item)), item] as const)
      .sort(byName)
      .map(([, item]) => unordered(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unordered(item)]));
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b);
}
