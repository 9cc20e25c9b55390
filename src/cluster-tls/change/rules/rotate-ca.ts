import type { ClusterRule } from "#cluster/step.ts";
import { type Phase, phaseOf } from "#cluster-tls/change/ca-rotation.ts";
import { providerChanges } from "#cluster-tls/change/provider-change.ts";
import { AUTHORITY_OF, SIDES } from "#cluster-tls/read/purposes.ts";
import { WHAT_FOR } from "#cluster-tls/read/words.ts";
import { step } from "#runtime/decide.ts";

/**
 * Rotates a CA a year before it expires, or when its annotation requests it. Every member trusts the new CA before it
 * signs, and the old CA as long as a member's pod uses one of its certificates. Members restart one at a time, in three
 * rounds.
 */
export const rotateCa: ClusterRule = {
  name: "rotate-ca",
  decide(snapshot) {
    for (const side of SIDES) {
      // No rotation during a provider change: it exchanges the certificates as well.
      const due = providerChanges(snapshot)[side] === undefined ? phaseOf(snapshot, side) : undefined;
      if (due === undefined) continue;
      const { phase, live } = due;
      const because = `${WHAT_FOR[AUTHORITY_OF[side]]} (Secret ${live.secretName}) ${DONE[phase]}: ${due.because}`;
      return step(because, { do: "rotateAuthority", side, phase, facts: live });
    }
    return undefined;
  },
};

const DONE: Readonly<Record<Phase, string>> = {
  add: "gets a successor, trusted beside it",
  switch: "is replaced by its successor",
  drop: "is now the only trusted one",
  forget: "can be rotated by the annotation again",
};
