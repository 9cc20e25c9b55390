import { isAuthWanted } from "#api/auth.ts";
import { ROOT } from "#api/names.ts";
import { hindranceOf, stateOf } from "#cluster/auth/hindrance.ts";
import type { AuthState } from "#cluster/auth/seen.ts";
import { isAdministrator, isOnRecord, operatorUsers } from "#cluster/auth/users.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step, wait } from "#runtime/decide.ts";

/** News of the status wakes this room; this is for news that never comes, in milliseconds. */
const RECORDED_MS = 5_000;

/**
 * Where users are asked for, etcd knows the operator by the common name of its certificate, and lets it and root do everything. If etcd asks for
 * users already and does not know it, it lets itself in as root, where it signs the certificates of clients; else a person has to. Where its
 * certificate comes to have another name, that one is let in before.
 */
export const administrators: ClusterRule = {
  name: "administrators",
  decide(snapshot) {
    const { cluster, auth } = snapshot;
    const hindrance = hindranceOf(snapshot);
    if (hindrance?.isForPeople) return remark("administrators", hindrance.message);
    const state = stateOf(snapshot);
    const user = auth?.user;
    if (isAuthWanted(cluster.spec) !== true || state === undefined || !user) return undefined;
    const asRoot = !isAdministrator(state);
    if (state.operator === undefined) {
      if (!isOnRecord(snapshot, user)) return recording(user);
      return step("administrators", `etcd gets a user for the operator: ${user}`, { do: "addUser", user, asRoot });
    }
    const lacking = [
      { name: user, roles: state.operator },
      { name: ROOT, roles: state.root },
    ].find(({ roles }) => roles !== undefined && !roles.includes(ROOT));
    if (lacking === undefined) return nextOne(snapshot, state);
    const because = `etcd's user ${lacking.name} gets the role ${ROOT}`;
    return step("administrators", because, { do: "grantRole", user: lacking.name, asRoot });
  },
};

/** At the end of this look it is. */
function recording(user: string): ReturnType<ClusterRule["decide"]> {
  return wait("administrators", `that etcd's user ${user} is the operator's own comes on record first`, RECORDED_MS);
}

/** Who the operator is about to be is an administrator before it goes over to that certificate. */
function nextOne(snapshot: ClusterSnapshot, state: AuthState): ReturnType<ClusterRule["decide"]> {
  const [, next] = operatorUsers(snapshot, state);
  if (next === undefined || next.roles?.includes(ROOT)) return undefined;
  const { name: user } = next;
  if (!isOnRecord(snapshot, user)) return recording(user);
  const because = `etcd gets the operator's next certificate's name for an administrator: ${user}`;
  return step("administrators", because, {
    do: next.roles === undefined ? "addUser" : "grantRole",
    user,
    asRoot: false,
  });
}
