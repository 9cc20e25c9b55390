import { isAuthWanted } from "#api/auth.ts";
import { ROOT } from "#api/names.ts";
import { hindranceOf, isAdministrator, stateOf } from "#cluster/auth/hindrance.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/**
 * Where users are asked for, etcd knows the operator by the common name of its certificate, and lets it and root do everything. If etcd asks for
 * users already and does not know it, it lets itself in as root, where it signs the certificates of clients; else a person has to.
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
    if (state.operator === undefined)
      return step("administrators", `etcd gets a user for the operator: ${user}`, { do: "addUser", user, asRoot });
    const lacking = [
      { name: user, roles: state.operator },
      { name: ROOT, roles: state.root },
    ].find(({ roles }) => roles !== undefined && !roles.includes(ROOT));
    if (lacking === undefined) return undefined;
    const because = `etcd's user ${lacking.name} gets the role ${ROOT}`;
    return step("administrators", because, { do: "grantRole", user: lacking.name, asRoot });
  },
};
