import { wait } from "#runtime/decide.ts";
import { hasPassword, ownBinding } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** Recheck in milliseconds: Secrets are not watched. */
const RECHECK_MS = 60_000;

/** Reports a password in the binding that etcd would refuse. The previous password stays valid. */
export const awaitPassword: UserRule = {
  name: "await-password",
  decide(snapshot) {
    const own = ownBinding(snapshot);
    if (own?.passwordTrouble === undefined || !hasPassword(snapshot)) return undefined;
    const because = `Secret ${own.name}: ${own.passwordTrouble}; write a shorter one, or remove it so that the operator creates one`;
    return wait("await-password", because, RECHECK_MS, { warn: true });
  },
};
