import { isAuthWanted } from "#api/auth.ts";
import { ROOT } from "#api/names.ts";
import { hindranceOf, stateOf } from "#cluster/auth/hindrance.ts";
import type { AuthState } from "#cluster/auth/seen.ts";
import { isAdministrator, isOnRecord, operatorUsers } from "#cluster/auth/users.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { notice, step, wait } from "#runtime/decide.ts";

/** Fallback when the write of the status has no event, in milliseconds. */
const RECORDED_MS = 5_000;

/**
 * Makes the operator, by the common name of its certificate, and root administrators of etcd. An operator that is no
 * administrator logs in as root with a certificate that it signs; without its own CA, a user has to act. The next name
 * of the operator is added before its certificate changes.
 */
export const administrators: ClusterRule = {
  name: "administrators",
  decide(snapshot) {
    const { cluster, auth } = snapshot;
    const hindrance = hindranceOf(snapshot);
    if (hindrance?.isForPeople) return notice(hindrance.message);
    const state = stateOf(snapshot);
    const user = auth?.user;
    if (isAuthWanted(cluster.spec) !== true || state === undefined || !user) return undefined;
    const asRoot = !isAdministrator(state);
    if (state.operator === undefined) {
      if (!isOnRecord(snapshot, user)) return recording(user);
      return step(`etcd gets a user for the operator: ${user}`, { do: "addUser", user, asRoot });
    }
    const lacking = [
      { name: user, roles: state.operator },
      { name: ROOT, roles: state.root },
    ].find(({ roles }) => roles !== undefined && !roles.includes(ROOT));
    if (lacking === undefined) return nextOne(snapshot, state);
    const because = `etcd's user ${lacking.name} gets the role ${ROOT}`;
    return step(because, { do: "grantRole", user: lacking.name, asRoot });
  },
};

/** The status is written at the end of this pass. */
function recording(user: string): ReturnType<ClusterRule["decide"]> {
  return wait(`the status first records that etcd's user ${user} is the operator's`, RECORDED_MS);
}

/** The next user becomes an administrator before the operator uses the next certificate. */
function nextOne(snapshot: ClusterSnapshot, state: AuthState): ReturnType<ClusterRule["decide"]> {
  const [, next] = operatorUsers(snapshot, state);
  if (next === undefined || next.roles?.includes(ROOT)) return undefined;
  const { name: user } = next;
  if (!isOnRecord(snapshot, user)) return recording(user);
  const because = `etcd's user ${user}, the name in the operator's next certificate, becomes an administrator`;
  return step(because, {
    do: next.roles === undefined ? "addUser" : "grantRole",
    user,
    asRoot: false,
  });
}
