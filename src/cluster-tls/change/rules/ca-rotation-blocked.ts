import type { ClusterRule } from "#cluster/step.ts";
import { rotationWait } from "#cluster-tls/change/ca-rotation.ts";
import { SIDES } from "#cluster-tls/read/purposes.ts";
import { notice } from "#runtime/decide.ts";

/**
 * How long a binding may delay a rotation before an event reports it, in milliseconds. A guess: longer than what passes
 * by itself, such as a restart of the API server.
 */
const LONG_MS = 60 * 60_000;

/**
 * Reports a CA rotation that has waited an hour for the binding of an EtcdUser. Only the user can fix that. All other
 * work continues.
 */
export const caRotationBlocked: ClusterRule = {
  name: "ca-rotation-blocked",
  decide(snapshot) {
    const blocked = SIDES.flatMap((side) => rotationWait(snapshot, side, LONG_MS) ?? []);
    return blocked.length === 0 ? undefined : notice(blocked.join("; "));
  },
};
