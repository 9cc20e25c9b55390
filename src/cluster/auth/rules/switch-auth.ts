import { isAuthWanted } from "#api/auth.ts";
import { areAdministratorsReady, hindranceOf, stateOf } from "#cluster/auth/hindrance.ts";
import { isAdministrator } from "#cluster/auth/users.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Switches authentication on or off as spec.auth.enabled asks for, once the operator and root are administrators.
 * Without spec.auth it stays as it is.
 */
export const switchAuth: ClusterRule = {
  name: "switch-auth",
  decide(snapshot) {
    const wanted = isAuthWanted(snapshot.cluster.spec);
    const state = stateOf(snapshot);
    if (wanted === undefined || state === undefined || state.enabled === wanted) return undefined;
    if (hindranceOf(snapshot) !== undefined) return undefined;
    // Administrators come first. When their creation is refused and in backoff, no step is returned here. A guard would
    // hold it, and with it the rest of the plan.
    if (wanted && !areAdministratorsReady(snapshot, state)) return undefined;
    if (wanted) return step("authentication is switched on", { do: "enableAuth" });
    const asRoot = !isAdministrator(state);
    return step("authentication is switched off; users stay", { do: "disableAuth", asRoot });
  },
};
