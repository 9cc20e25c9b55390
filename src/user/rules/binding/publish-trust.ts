import { step } from "#runtime/decide.ts";
import { trustWish } from "#user/desired/binding.ts";
import type { UserRule } from "#user/step.ts";
import { refusalOf } from "#user/trouble.ts";

/**
 * Keeps the CAs in the binding of a refused user up to date: otherwise its application would lose the connection after
 * a CA rotation.
 */
export const publishTrust: UserRule = {
  name: "publish-trust",
  decide(snapshot) {
    const wish = refusalOf(snapshot) === undefined ? undefined : trustWish(snapshot);
    if (wish === undefined) return undefined;
    const because = `Secret ${wish.draft.metadata.name} is written: ${wish.because}`;
    return step("publish-trust", because, { do: "writeBinding", wish });
  },
};
