import {
  correctionComesTooLate,
  hangingIsNotPutBack,
  illAgentBlocksTheRest,
  neverStartedForEver,
  pendingIsNotAsked,
  pullingIsKilled,
  sidecarBlocksItsMend,
} from "./beside.ts";
import { learnerIsCountedLate } from "./drained.ts";
import { formingNeverEnds, formingPollsForEver, founderForgot, founderStaysAway, readyIsUnasked } from "./forming.ts";
import {
  endlessRefusal,
  endlessRefusalOfSets,
  endlessReplacement,
  healthyIsLost,
  learnerStaysFenced,
  outageIsPatience,
  refusalHoldsBack,
  secondPodIsBelieved,
} from "./lost.ts";
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
import { refusalKeepsTheCanaryDown, turnOutlivesItsWish } from "./refused.ts";
import {
  crashSpreads,
  editIsNotTakenBack,
  learnerKeepsWhatAilsIt,
  mistypedForEver,
  onlyMemberIsLost,
  peopleAreNotWaitedFor,
  peoplesCanarySpreads,
  switchedRollIsReckless,
  turnsTakeLonger,
  upgradeIsIgnored,
  wordsRestart,
} from "./rolling.ts";
import { flippingCostsAMember, flippingKeepsAwake, sleeperStartsOver } from "./sleeping.ts";
import { waiverIsIgnored } from "./waived.ts";

/** Each under the name of what the operator would do wrong. */
export const STORIES = {
  outageIsPatience,
  healthyIsLost,
  secondPodIsBelieved,
  learnerStaysFenced,
  endlessReplacement,
  endlessRefusal,
  endlessRefusalOfSets,
  refusalHoldsBack,
  foreignVoterCostsOurs,
  foreignVoterBlocksJoining,
  foreignLearnerIsNagged,
  versionLeaks,
  formingNeverEnds,
  founderForgot,
  founderStaysAway,
  formingPollsForEver,
  readyIsUnasked,
  noSpaceUnseen,
  accessoryHoldsBack,
  asideIsUntold,
  undoneIsRepeated,
  learnerIsCountedLate,
  upgradeIsIgnored,
  wordsRestart,
  crashSpreads,
  onlyMemberIsLost,
  editIsNotTakenBack,
  mistypedForEver,
  learnerKeepsWhatAilsIt,
  peopleAreNotWaitedFor,
  peoplesCanarySpreads,
  switchedRollIsReckless,
  turnsTakeLonger,
  refusalKeepsTheCanaryDown,
  turnOutlivesItsWish,
  neverStartedForEver,
  correctionComesTooLate,
  hangingIsNotPutBack,
  pullingIsKilled,
  pendingIsNotAsked,
  sidecarBlocksItsMend,
  illAgentBlocksTheRest,
  waiverIsIgnored,
  flippingCostsAMember,
  flippingKeepsAwake,
  sleeperStartsOver,
};

export type StoryName = keyof typeof STORIES;
