import { bindingCertificateName } from "#api/names.ts";
import { wait } from "#runtime/decide.ts";
import { isOwned, wouldOverwrite } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** In milliseconds: nobody tells when the Secret is gone. How often it is read: user/reads.ts. */
const RECHECK_MS = 10_000;

/** A Secret of the binding's name that is somebody else's is never written, nor is cert-manager asked to write over one. */
export const bindingTaken: UserRule = {
  name: "binding-taken",
  decide(snapshot) {
    const { user, binding } = snapshot;
    if (wouldOverwrite(snapshot)) {
      const name = bindingCertificateName(user.metadata.name);
      const because = `Secret ${name} exists, and cert-manager has not filled it for this EtcdUser: it would write over it; delete it, or make another EtcdUser`;
      return wait("binding-taken", because, RECHECK_MS, { warn: true });
    }
    if (binding.is !== "present" || isOwned(snapshot, binding.value)) return undefined;
    const because = `Secret ${binding.value.name} exists, and this EtcdUser has not made it; delete it, or make another EtcdUser`;
    return wait("binding-taken", because, RECHECK_MS, { warn: true });
  },
};
