import { courses } from "#cluster/certificates/course.ts";
import { AUTHORITY_OF, SIDES } from "#cluster/certificates/purposes.ts";
import { type Phase, phaseOf } from "#cluster/certificates/rotation.ts";
import { WHAT_FOR } from "#cluster/certificates/words.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * An authority is followed by another one, a year before its end or when somebody asks for it: the next one is trusted by everybody before it
 * signs, and the one before until nothing of its is in use, by what every member's pod was made from. Members restart three times, one after another.
 */
export const rotateAuthority: ClusterRule = {
  name: "rotate-authority",
  decide(snapshot) {
    for (const side of SIDES) {
      // While what members show comes to be another one, nothing else is exchanged.
      const due = courses(snapshot)[side].at === "settled" ? phaseOf(snapshot, side) : undefined;
      if (due === undefined) continue;
      const { phase, live } = due;
      const because = `${WHAT_FOR[AUTHORITY_OF[side]]} (Secret ${live.secretName}) ${DONE[phase]}: ${due.because}`;
      return step("rotate-authority", because, { do: "rotateAuthority", side, phase, facts: live });
    }
    return undefined;
  },
};

const DONE: Readonly<Record<Phase, string>> = {
  add: "gets one that is to follow it",
  switch: "is followed by the next one",
  drop: "is trusted alone",
  forget: "can be asked for another one again",
};
