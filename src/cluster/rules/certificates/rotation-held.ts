import { SIDES } from "#cluster/certificates/purposes.ts";
import { rotationWait } from "#cluster/certificates/rotation.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark } from "#runtime/decide.ts";

/** Applications that read what they are given have done so long before. A guess: longer than what passes by itself, such as a restart of the API server. */
const LONG_MS = 60 * 60_000;

/**
 * An authority cannot be followed by another one, since the binding of an EtcdUser has not been for an hour what it should be. People are told: only
 * they can mend that; all else goes on.
 */
export const rotationHeld: ClusterRule = {
  name: "rotation-held",
  decide(snapshot) {
    const told = SIDES.flatMap((side) => rotationWait(snapshot, side, LONG_MS) ?? []);
    return told.length === 0 ? undefined : remark("rotation-held", told.join("; "));
  },
};
