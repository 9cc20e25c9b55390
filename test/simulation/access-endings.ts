import { elderOf } from "#access/namesakes.ts";
import { permissionText, wantedPermissions } from "#access/permissions.ts";
import { hindranceOf } from "#access/place.ts";
import { roleNameOf, userNameOf } from "#api/etcd-names.ts";
import { bindingCertificateName, bindingName, OPERATOR } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { textIn } from "#certificates/facts.ts";
import type { World } from "#kit/world.ts";
import type { AuthStore } from "#kit/world-auth.ts";
import { controllerOf, SECRETS, type Secret } from "#kube/kinds.ts";
import { bindingFactsOf } from "#user/facts.ts";
import { refusalOf } from "#user/trouble.ts";
import { isAdministrator, usersOf } from "./auth-memory.ts";
import { whatTheWorldHolds } from "./impediments.ts";
import type { Memory } from "./memory.ts";

// How must EtcdRoles and EtcdUsers be when all has come to rest?
//   As they say, in etcd and in the Secret, or the condition names what a person has to do.

/** What a person must do something about, or whoever makes the cluster ready. */
const TOLD = ["NameTaken", "PasswordRefused", "RoleMissing", "CertificatePending", "SpecRefused"];

/** What is wrong about one of them; undefined when nothing is. */
export function wrongAccess(world: World, memory: Memory): string | undefined {
  const wrong = (kind: string, { metadata }: EtcdRole | EtcdUser, why: string | undefined) =>
    why === undefined ? [] : [`${kind} ${metadata.name}: ${why}`];
  const { api } = world;
  return [
    ...api.list(ETCD_ROLES).flatMap((role) => wrong("EtcdRole", role, wrongObject(world, memory, role, wrongRole))),
    ...api.list(ETCD_USERS).flatMap((user) => wrong("EtcdUser", user, wrongObject(world, memory, user, wrongUser))),
  ][0];
}

function wrongObject<T extends EtcdRole | EtcdUser>(
  world: World,
  memory: Memory,
  object: T,
  whyNotAsSaid: (world: World, object: T, store: AuthStore, reason: string) => string | undefined,
): string | undefined {
  const { metadata, spec, status } = object;
  const { clusterName } = spec;
  const cluster = world.api.find(ETCD_CLUSTERS, { namespace: metadata.namespace, name: clusterName });
  const isGoing = metadata.deletionTimestamp !== undefined;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const hindrance = hindranceOf(clusterName, cluster);
  if (isGoing && (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined))
    return "its cluster is gone, and it is still there";
  if (hindrance !== undefined)
    return ready?.reason === hindrance.reason || isGoing || isRefused(object, cluster, ready?.reason)
      ? undefined
      : `Ready says ${ready?.reason}: ${hindrance.because}`;
  const identity = cluster?.status?.identity;
  if (cluster === undefined || identity === undefined) return undefined;
  const store = usersOf(world, cluster);
  if (store === undefined || !isAskable(world, memory, cluster, store)) return undefined;
  if (isGoing) return "it was to be deleted, and is still there";
  if (ready === undefined) return "nothing is said of it";
  if (ready.status === "True" || TOLD.includes(ready.reason)) return whyNotAsSaid(world, object, store, ready.reason);
  return `Ready says ${ready.reason}: ${ready.message}`;
}

/** Whether a spec that cannot be carried out, as its cluster's says, is called so: that is said whatever else is in the way. */
function isRefused(object: EtcdRole | EtcdUser, cluster: EtcdCluster | undefined, reason: string | undefined): boolean {
  if (reason !== "SpecRefused" || !("authentication" in object.spec)) return false;
  return refusalOf({ user: object as EtcdUser, cluster, operatorName: OPERATOR }) !== undefined;
}

/** Whether the operator is an administrator there, and a quorum can be asked. */
function isAskable(world: World, memory: Memory, cluster: EtcdCluster, store: AuthStore): boolean {
  const identity = cluster.status?.identity;
  if (identity === undefined || !whatTheWorldHolds(world, identity, memory).canHeal) return false;
  if (memory.excused.size > 0) return false;
  const isReady = cluster.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  return isReady === true && (!store.enabled || isAdministrator(store, OPERATOR));
}

function wrongRole(world: World, role: EtcdRole, store: AuthStore, reason: string): string | undefined {
  const all = world.api.list(ETCD_ROLES).filter(({ spec }) => spec.clusterName === role.spec.clusterName);
  const name = roleNameOf(role);
  const isAnothers = elderOf(role, all, roleNameOf) !== undefined;
  if (reason === "NameTaken" || isAnothers)
    return isAnothers || store.roles.has(name) ? expected(reason, "NameTaken") : `role ${name} is nobody's`;
  const has = store.roles.get(name)?.map(permissionText).toSorted() ?? ["no such role"];
  const wanted = wantedPermissions(role.spec.permissions).map(permissionText).toSorted();
  return same(has, wanted)
    ? undefined
    : `Ready says ${reason}, and role ${name} has ${has.join()}, not ${wanted.join()}`;
}

function wrongUser(world: World, user: EtcdUser, store: AuthStore, reason: string): string | undefined {
  const { namespace } = user.metadata;
  const all = world.api.list(ETCD_USERS).filter(({ spec }) => spec.clusterName === user.spec.clusterName);
  const name = userNameOf(user);
  if (elderOf(user, all, userNameOf) !== undefined && reason !== "SpecRefused") return expected(reason, "NameTaken");
  const found = store.users.get(name);
  const secret = world.api.find(SECRETS, { namespace, name: bindingName(user.metadata.name) });
  const has = [...(found?.roles ?? [])].toSorted();
  const more = has.filter((role) => !user.spec.roles.includes(role));
  const isItsOwn = user.status?.userName === name;
  if (isItsOwn && more.length > 0) return `Ready says ${reason}, and user ${name} has ${more.join()}, too`;
  if (reason === "RoleMissing")
    return user.spec.roles.some((role) => !store.roles.has(role))
      ? undefined
      : `it says ${reason}, and none is missing`;
  if (TOLD.includes(reason)) return wrongWord(world, user, { isThere: store.users.has(name) }, secret, reason);
  if (found === undefined) return `Ready says ${reason}, and there is no user ${name}`;
  if (!same(has, user.spec.roles.toSorted())) return `Ready says ${reason}, and user ${name} has ${has.join()}`;
  if (secret === undefined) return `Ready says ${reason}, and there is no Secret for it`;
  if (user.spec.authentication === "Certificate" || found.password === textIn(secret, "password")) return undefined;
  return `Ready says ${reason}, and nobody can log in with what Secret ${secret.metadata.name} says`;
}

/** Whether what the condition says is not so. @param secret of the binding's name */
function wrongWord(
  world: World,
  user: EtcdUser,
  { isThere }: { readonly isThere: boolean },
  secret: Secret | undefined,
  reason: string,
): string | undefined {
  const { metadata } = user;
  const isOwn = secret !== undefined && controllerOf(secret)?.uid === metadata.uid;
  const certificate = isOwn ? bindingFactsOf(secret).certificate : undefined;
  switch (reason) {
    case "NameTaken": {
      const issued = { namespace: metadata.namespace, name: bindingCertificateName(metadata.name) };
      const isTaken = isThere || (secret !== undefined && !isOwn) || world.api.find(SECRETS, issued) !== undefined;
      return isTaken ? undefined : `Ready says ${reason}, and nobody has the name`;
    }
    case "PasswordRefused":
      return isOwn && bindingFactsOf(secret).passwordTrouble !== undefined
        ? undefined
        : `Ready says ${reason}, and the password is one that etcd takes`;
    case "CertificatePending": {
      const isGood = certificate?.trouble === undefined && (certificate?.notAfterMs ?? 0) > world.time.nowMs;
      return isGood ? `Ready says ${reason}, and its certificate is there, and good` : undefined;
    }
    case "SpecRefused": {
      const key = { namespace: user.metadata.namespace, name: user.spec.clusterName };
      const isSo = isRefused(user, world.api.find(ETCD_CLUSTERS, key), reason);
      return isSo ? undefined : `Ready says ${reason}, and its spec can be carried out`;
    }
    default:
      return undefined;
  }
}

function expected(reason: string, wanted: string): string | undefined {
  return reason === wanted ? undefined : `Ready says ${reason}, not ${wanted}`;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
