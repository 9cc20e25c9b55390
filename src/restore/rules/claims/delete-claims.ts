import { isGivenUp, untoldClaims } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/** A restore that was given up leaves no claim behind: those that it has made hold nobody's data. Kubernetes waits for pods that still use them. */
export const deleteClaims: RestoreRule = {
  name: "delete-claims",
  holds: true,
  decide(snapshot) {
    if (!isGivenUp(snapshot)) return undefined;
    const claim = untoldClaims(snapshot).find(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (claim === undefined) return undefined;
    const because = `the restore was given up; claim ${claim.metadata.name} holds nobody's data and goes`;
    return step("delete-claims", because, { do: "deleteClaim", claim });
  },
};
