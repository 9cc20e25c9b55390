import { step } from "#runtime/decide.ts";
import { bindingWish } from "#user/desired/binding.ts";
import type { UserRule } from "#user/step.ts";

/** Creates the binding Secret, and updates it when its credentials are due for rotation or its keys are outdated. */
export const writeBinding: UserRule = {
  name: "write-binding",
  decide(snapshot) {
    const wish = bindingWish(snapshot);
    if (wish === undefined) return undefined;
    const because = `Secret ${wish.draft.metadata.name} is written: ${wish.because}`;
    return step("write-binding", because, { do: "writeBinding", wish });
  },
};
