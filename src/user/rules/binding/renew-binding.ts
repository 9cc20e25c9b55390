import { isDeleting } from "#access/claim.ts";
import { onlyRenews } from "#access/place.ts";
import { step } from "#runtime/decide.ts";
import { renewalWish } from "#user/desired/binding.ts";
import type { UserRule } from "#user/step.ts";
import { refusalOf } from "#user/trouble.ts";

/**
 * Renews the binding's certificate while the cluster is paused, by a CA that members trust, and while it sleeps, by the
 * CA that signed it. Otherwise the application would be cut off at its expiry. All other changes wait.
 */
export const renewBinding: UserRule = {
  name: "renew-binding",
  decide(snapshot) {
    const { user, cluster, elder } = snapshot;
    if (!onlyRenews(cluster) || isDeleting({ object: user }) || elder !== undefined) return undefined;
    const wish = refusalOf(snapshot) === undefined ? renewalWish(snapshot) : undefined;
    if (wish === undefined) return undefined;
    const because = `Secret ${wish.draft.metadata.name} is written: ${wish.because}`;
    return step("renew-binding", because, { do: "writeBinding", wish });
  },
};
