import { isAuthWanted } from "#api/auth.ts";
import { hindranceOf, stateOf } from "#cluster/auth/hindrance.ts";
import { isAdministrator } from "#cluster/auth/users.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** etcd's user root has the password that its Secret says: it is made with it, and follows it when the Secret is edited, or made anew. */
export const rootPassword: ClusterRule = {
  name: "root-password",
  decide(snapshot) {
    const { cluster, auth } = snapshot;
    const state = stateOf(snapshot);
    if (isAuthWanted(cluster.spec) !== true || state === undefined || auth?.rootSecret.is !== "present")
      return undefined;
    // Who is no administrator comes to be one first.
    if (state.isRootsPassword || !isAdministrator(state) || hindranceOf(snapshot)?.isForPeople) return undefined;
    const secret = auth.rootSecret.value;
    const isNew = state.root === undefined;
    const because = `etcd's user root ${isNew ? "is made" : "gets its password"} by Secret ${secret.name}`;
    return step("root-password", because, { do: "setRootPassword", secret, isNew });
  },
};
