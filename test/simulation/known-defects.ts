import type { Violation } from "./history.ts";

/** A defect that the simulation has found and that is not mended yet. Histories that meet it end there; they are counted and told. */
export interface KnownDefect {
  readonly invariant: string;
  readonly detail: RegExp;
  readonly sentence: string;
}

export const KNOWN_DEFECTS: readonly KnownDefect[] = [
  {
    invariant: "ends well",
    detail: /^\S+ Available is True while etcd refuses everything/,
    sentence:
      "While the alarm CORRUPT is raised, etcd refuses every read and write, and Available stays True: the member list can still be read.",
  },
  {
    invariant: "ends well",
    detail: /^\S+ EtcdPeer \S+ is not Ready$/,
    sentence:
      "An EtcdPeer whose pod is ready and whose member could not be asked once stays Ready=False until the next slow look, 5 minutes later.",
  },
];

export function knownDefect(violation: Violation): KnownDefect | undefined {
  return KNOWN_DEFECTS.find(
    ({ invariant, detail }) => violation.invariant === invariant && detail.test(violation.detail),
  );
}
