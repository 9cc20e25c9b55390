import type { Violation } from "./history.ts";

/** A defect that the simulation has found and that is not mended yet. Histories that meet it end there; they are counted and told. */
export interface KnownDefect {
  readonly invariant: string;
  readonly detail: RegExp;
  readonly sentence: string;
}

export const KNOWN_DEFECTS: readonly KnownDefect[] = [
  {
    invariant: "patience",
    detail: /was well for/,
    sentence:
      "status.members[].since outlives looks that found the member healthy (a pass that made a step writes no status, an operator that is down writes none): a member is then given up at its first bad moment.",
  },
  {
    invariant: "ends well",
    detail: /(ReplicaSet|pod) \S+ is not fenced$/,
    sentence:
      "A member that has joined and whose claim is gone is not fenced any more: the peer's rule claim-lost waits before replica-set and fence-pod are asked.",
  },
];

export function knownDefect(violation: Violation): KnownDefect | undefined {
  return KNOWN_DEFECTS.find(
    ({ invariant, detail }) => violation.invariant === invariant && detail.test(violation.detail),
  );
}
