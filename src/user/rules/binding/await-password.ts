import { wait } from "#runtime/decide.ts";
import { hasPassword, ownBinding } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** In milliseconds: nobody tells when the Secret is another one. */
const RECHECK_MS = 60_000;

/** A password that somebody has written into the binding, and that etcd does not take, is told; the one before stays good. */
export const awaitPassword: UserRule = {
  name: "await-password",
  decide(snapshot) {
    const own = ownBinding(snapshot);
    if (own?.passwordTrouble === undefined || !hasPassword(snapshot)) return undefined;
    const because = `Secret ${own.name}: ${own.passwordTrouble}; write a shorter one, or take it out to have one made`;
    return wait("await-password", because, RECHECK_MS, { warn: true });
  },
};
