import { formingNeverEnds, formingPollsForEver, founderForgot } from "./forming.ts";
import { endlessReplacement, healthyIsLost, outageIsPatience, secondPodIsBelieved } from "./lost.ts";
import {
  accessoryHoldsBack,
  asideIsUntold,
  foreignLearnerIsNagged,
  foreignVoterBlocksJoining,
  foreignVoterCostsOurs,
  noSpaceUnseen,
  undoneIsRepeated,
  versionLeaks,
} from "./others.ts";

/** Each under the name of what the operator would do wrong. */
export const STORIES = {
  outageIsPatience,
  healthyIsLost,
  secondPodIsBelieved,
  endlessReplacement,
  foreignVoterCostsOurs,
  foreignVoterBlocksJoining,
  foreignLearnerIsNagged,
  versionLeaks,
  formingNeverEnds,
  founderForgot,
  formingPollsForEver,
  noSpaceUnseen,
  accessoryHoldsBack,
  asideIsUntold,
  undoneIsRepeated,
};

export type StoryName = keyof typeof STORIES;
