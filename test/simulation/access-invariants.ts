import { permissionText, wantedPermissions } from "#access/permissions.ts";
import { isGone } from "#access/place.ts";
import { roleNameOf, userNameOf } from "#api/etcd-names.ts";
import { OPERATOR, ROOT } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { hexOf } from "#etcd/types.ts";
import type { World } from "#kit/world/world.ts";
import { subjectOf } from "./access-memory.ts";
import { usersOf } from "./auth-memory.ts";
import type { Invariant, Memory } from "./memory.ts";

// EtcdRoles and EtcdUsers promise that etcd has what their specs contain, and that nothing of other owners changes.

export const peoplesNamesStay: Invariant = {
  name: "people's users stay",
  promise: "Users and roles that people made in etcd are changed only for an object with spec.takeOver.",
  breaks(event, _, memory) {
    if (event.is === "usersChanged" && event.by === "operator") {
      const subject = subjectOf(event.change) ?? "";
      const since = memory.access.ownedByPersonSince(hexOf(event.clusterId), subject);
      return since === undefined ? undefined : `${event.change.do} of ${subject}, which a person made in step ${since}`;
    }
    if (event.is !== "actsOnAccess" || (event.step.do !== "claimUser" && event.step.do !== "claimRole"))
      return undefined;
    const { do: what, name, clusterID } = event.step;
    const subject = `${what === "claimUser" ? "user" : "role"} ${name}`;
    const since = memory.access.ownedByPersonSince(clusterID, subject);
    const { spec } = "user" in event.snapshot ? event.snapshot.user : event.snapshot.role;
    if (since === undefined || since >= event.lookedFrom || spec.takeOver) return undefined;
    return `${subject} is recorded for an object, and a person made it in step ${since}`;
  },
};

export const grantsFollowObjects: Invariant = {
  name: "grants follow objects",
  promise: "A user or role gets only what an EtcdUser or EtcdRole of its name has, or had a moment ago.",
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

/** All recent versions of the objects, which the operator may still follow. */
function said<T>(world: World, memory: Memory, kind: typeof ETCD_USERS | typeof ETCD_ROLES): readonly T[] {
  const versions = world.api.log(kind).filter(({ isDeletion }) => !isDeletion);
  const lately = versions.filter(({ object }) => memory.access.isRecentVersion(object, world.time.nowMs));
  return lately.map(({ object }) => object as unknown as T);
}

export const revokedFirst: Invariant = {
  name: "revoked first",
  promise: "A deleted EtcdUser or EtcdRole leaves nothing in the etcd of a remaining cluster.",
  breaks(event, world, memory) {
    if (event.is !== "actsOnAccess" || (event.step.do !== "releaseUser" && event.step.do !== "releaseRole"))
      return undefined;
    const { snapshot } = event;
    const object = "user" in snapshot ? snapshot.user : snapshot.role;
    const { namespace } = object.metadata;
    const cluster = world.api.find(ETCD_CLUSTERS, { namespace, name: object.spec.clusterRef.name });
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
