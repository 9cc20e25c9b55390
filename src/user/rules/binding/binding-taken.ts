import { bindingCertificateName } from "#api/names.ts";
import { wait } from "#runtime/decide.ts";
import { isOwned, wouldOverwrite } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** Recheck in milliseconds: Secrets are not watched. user/reads.ts limits how often it is read. */
const RECHECK_MS = 10_000;

/**
 * Waits while a Secret of the binding's name has another owner: neither the operator nor cert-manager overwrites it.
 */
export const bindingTaken: UserRule = {
  name: "binding-taken",
  decide(snapshot) {
    const { user, binding } = snapshot;
    if (wouldOverwrite(snapshot)) {
      const name = bindingCertificateName(user.metadata.name);
      const because = `Secret ${name} exists already, and was not issued for this EtcdUser. cert-manager would overwrite it. Delete it, or create another EtcdUser.`;
      return wait("binding-taken", because, RECHECK_MS, { warn: true });
    }
    if (binding.is !== "present" || isOwned(snapshot, binding.value)) return undefined;
    const because = `Secret ${binding.value.name} exists, and this EtcdUser has not created it; delete it, or create another EtcdUser`;
    return wait("binding-taken", because, RECHECK_MS, { warn: true });
  },
};
