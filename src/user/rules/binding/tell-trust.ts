import { step } from "#runtime/decide.ts";
import { trustWish } from "#user/desired/binding.ts";
import type { UserRule } from "#user/step.ts";
import { refusalOf } from "#user/trouble.ts";

/**
 * Where nothing else of the spec can be carried out, the binding goes on to say whom to trust: its application would be cut off, when members come
 * to show what somebody else has signed.
 */
export const tellTrust: UserRule = {
  name: "tell-trust",
  decide(snapshot) {
    const wish = refusalOf(snapshot) === undefined ? undefined : trustWish(snapshot);
    if (wish === undefined) return undefined;
    const because = `Secret ${wish.draft.metadata.name} is written: ${wish.because}`;
    return step("tell-trust", because, { do: "writeBinding", wish });
  },
};
