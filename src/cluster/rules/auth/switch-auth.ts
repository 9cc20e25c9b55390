import { isAuthWanted } from "#api/auth.ts";
import { areAdministratorsReady, hindranceOf, stateOf } from "#cluster/auth/hindrance.ts";
import { isAdministrator } from "#cluster/auth/users.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** etcd asks for users, or for none, as the spec says; last of all, when the operator and root are administrators. Without spec.auth it stays as it is. */
export const switchAuth: ClusterRule = {
  name: "switch-auth",
  decide(snapshot) {
    const wanted = isAuthWanted(snapshot.cluster.spec);
    const state = stateOf(snapshot);
    if (wanted === undefined || state === undefined || state.enabled === wanted) return undefined;
    if (hindranceOf(snapshot) !== undefined) return undefined;
    // Those are made first. Where that is refused, and rests, this is not held up by a guard: the rest of the cluster would wait with it.
    if (wanted && !areAdministratorsReady(snapshot, state)) return undefined;
    if (wanted) return step("switch-auth", "etcd asks for users from now on", { do: "enableAuth" });
    const asRoot = !isAdministrator(state);
    return step("switch-auth", "etcd asks for users no more; they stay", { do: "disableAuth", asRoot });
  },
};
