import { isGivenUp, untoldClaims } from "#restore/snapshot.ts";
import type { RestoreRule } from "#restore/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Deletes the claims of a restore that was given up: no cluster uses them. Kubernetes delays the deletion while pods
 * still use them.
 */
export const deleteClaims: RestoreRule = {
  name: "delete-claims",
  holds: true,
  decide(snapshot) {
    if (!isGivenUp(snapshot)) return undefined;
    const claim = untoldClaims(snapshot).find(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (claim === undefined) return undefined;
    const because = `the restore was given up; claim ${claim.metadata.name}, which no cluster uses, is deleted`;
    return step("delete-claims", because, { do: "deleteClaim", claim });
  },
};
