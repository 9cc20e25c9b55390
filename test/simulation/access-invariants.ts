import { permissionText, wantedPermissions } from "#access/permissions.ts";
import { isGone } from "#access/place.ts";
import { roleNameOf, userNameOf } from "#api/etcd-names.ts";
import { OPERATOR, ROOT } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { hexOf } from "#etcd/types.ts";
import type { World } from "#kit/world.ts";
import { subjectOf } from "./access-memory.ts";
import { usersOf } from "./auth-memory.ts";
import type { Invariant, Memory } from "./memory.ts";

// What do EtcdRoles and EtcdUsers promise?
//   That in etcd is what they say, and that nothing of anybody else's is changed for it.

export const peoplesNamesStay: Invariant = {
  name: "people's users stay",
  promise:
    "Users and roles that people have made in etcd are changed for no object that was not told to take them over.",
  breaks(event, _, memory) {
    if (event.is === "usersChanged" && event.by === "operator") {
      const subject = subjectOf(event.change) ?? "";
      const since = memory.access.peoplesSince(hexOf(event.clusterId), subject);
      return since === undefined
        ? undefined
        : `${event.change.do} of ${subject}, which a person has made in step ${since}`;
    }
    if (event.is !== "actsOnAccess" || (event.step.do !== "claimUser" && event.step.do !== "claimRole"))
      return undefined;
    const { do: what, name, clusterID } = event.step;
    const subject = `${what === "claimUser" ? "user" : "role"} ${name}`;
    const since = memory.access.peoplesSince(clusterID, subject);
    const { spec } = "user" in event.snapshot ? event.snapshot.user : event.snapshot.role;
    if (since === undefined || since >= event.lookedFrom || spec.takeOver) return undefined;
    return `${subject} is recorded as an object's, and a person has made it in step ${since}`;
  },
};

export const grantedAsSaid: Invariant = {
  name: "granted as said",
  promise: "Nobody gets a role or a permission that no EtcdUser or EtcdRole of that name says, or said a moment ago.",
  breaks(event, world, memory) {
    if (event.is !== "usersChanged" || event.by !== "operator") return undefined;
    const { change } = event;
    if (change.do === "grantRole" && change.user !== OPERATOR && change.user !== ROOT) {
      const all = said<EtcdUser>(world, memory, ETCD_USERS).filter((user) => userNameOf(user) === change.user);
      return all.some(({ spec }) => spec.roles.includes(change.role))
        ? undefined
        : `user ${change.user} gets role ${change.role}`;
    }
    if (change.do !== "grantPermission") return undefined;
    const all = said<EtcdRole>(world, memory, ETCD_ROLES).filter((role) => roleNameOf(role) === change.role);
    const text = permissionText(change.permission);
    return all.some(({ spec }) => wantedPermissions(spec.permissions).map(permissionText).includes(text))
      ? undefined
      : `role ${change.role} gets ${text}`;
  },
};

/** In every version that the operator may go by. */
function said<T>(world: World, memory: Memory, kind: typeof ETCD_USERS | typeof ETCD_ROLES): readonly T[] {
  const versions = world.api.log(kind).filter(({ isDeletion }) => !isDeletion);
  const lately = versions.filter(({ object }) => memory.access.isSaidLately(object, world.time.nowMs));
  return lately.map(({ object }) => object as unknown as T);
}

export const revokedFirst: Invariant = {
  name: "revoked first",
  promise: "An EtcdUser or EtcdRole that goes has nothing left in the etcd of a cluster that stays.",
  breaks(event, world, memory) {
    if (event.is !== "actsOnAccess" || (event.step.do !== "releaseUser" && event.step.do !== "releaseRole"))
      return undefined;
    const { snapshot } = event;
    const object = "user" in snapshot ? snapshot.user : snapshot.role;
    const { namespace } = object.metadata;
    const cluster = world.api.find(ETCD_CLUSTERS, { namespace, name: object.spec.clusterName });
    if (cluster === undefined || isGone(cluster) || snapshot.elder !== undefined) return undefined;
    const { status = {} } = object;
    if (status.clusterID !== cluster.status?.identity?.clusterID) return undefined;
    const store = usersOf(world, cluster);
    const isUser = "user" in snapshot;
    const name = isUser ? userNameOf(snapshot.user) : roleNameOf(snapshot.role);
    const subject = `${isUser ? "user" : "role"} ${name}`;
    if (memory.access.isMadeByHand(cluster, subject)) return undefined;
    return (isUser ? store?.users : store?.roles)?.has(name) === true ? `${subject} is still in etcd` : undefined;
  },
};
