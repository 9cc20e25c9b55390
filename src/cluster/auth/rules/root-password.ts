import { isAuthWanted } from "#api/auth.ts";
import { hindranceOf, stateOf } from "#cluster/auth/hindrance.ts";
import { isAdministrator } from "#cluster/auth/users.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { step } from "#runtime/decide.ts";

/** Gives root in etcd the password in its Secret: when root is created, and when the Secret changes. */
export const rootPassword: ClusterRule = {
  name: "root-password",
  decide(snapshot) {
    const { cluster, auth } = snapshot;
    const state = stateOf(snapshot);
    if (isAuthWanted(cluster.spec) !== true || state === undefined || auth?.rootSecret.is !== "present")
      return undefined;
    // Needs an administrator: the previous rule makes the operator one.
    if (state.isRootsPassword || !isAdministrator(state) || hindranceOf(snapshot)?.isForPeople) return undefined;
    const secret = auth.rootSecret.value;
    const isNew = state.root === undefined;
    const because = `etcd's user root ${isNew ? "is created with" : "gets"} the password in Secret ${secret.name}`;
    return step(because, { do: "setRootPassword", secret, isNew });
  },
};
