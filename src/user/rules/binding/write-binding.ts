import { step } from "#runtime/decide.ts";
import { bindingWish } from "#user/desired/binding.ts";
import type { UserRule } from "#user/step.ts";

/** The binding Secret is made, and made anew when its credentials are old, or when it does not say what it should. */
export const writeBinding: UserRule = {
  name: "write-binding",
  decide(snapshot) {
    const wish = bindingWish(snapshot);
    if (wish === undefined) return undefined;
    const because = `Secret ${wish.draft.metadata.name} is written: ${wish.because}`;
    return step("write-binding", because, { do: "writeBinding", wish });
  },
};
