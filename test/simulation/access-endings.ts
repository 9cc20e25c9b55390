import { elderOf } from "#access/namesakes.ts";
import { permissionText, wantedPermissions } from "#access/permissions.ts";
import { hindranceOf } from "#access/place.ts";
import { roleNameOf, userNameOf } from "#api/etcd-names.ts";
import { bindingCertificateName, bindingName, OPERATOR } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { textIn } from "#certificates/facts.ts";
import type { AuthStore } from "#kit/world/auth.ts";
import type { World } from "#kit/world/world.ts";
import { controllerOf, SECRETS, type Secret } from "#kube/kinds.ts";
import { bindingFactsOf } from "#user/facts.ts";
import { refusalOf } from "#user/trouble.ts";
import { isAdministrator, usersOf } from "./auth-memory.ts";
import { prospectsOf } from "./impediments.ts";
import type { Memory } from "./memory.ts";

// At the end etcd and the Secrets match each EtcdRole and EtcdUser, or the condition names what a person has to do.

/** Reasons that require a person to act. */
const REASONS_TO_ACT = ["NameTaken", "PasswordRefused", "RoleMissing", "CertificatePending", "SpecRefused"];

/** The first problem of an EtcdRole or EtcdUser; undefined when there is none. */
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
  difference: (world: World, object: T, store: AuthStore, reason: string) => string | undefined,
): string | undefined {
  const { metadata, spec, status } = object;
  const clusterName = spec.clusterRef.name;
  const cluster = world.api.find(ETCD_CLUSTERS, { namespace: metadata.namespace, name: clusterName });
  const isGoing = metadata.deletionTimestamp !== undefined;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const hindrance = hindranceOf(clusterName, cluster);
  if (isGoing && (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined))
    return "its cluster is deleted, and it still exists";
  if (hindrance !== undefined)
    return ready?.reason === hindrance.reason || isGoing || isRefused(object, cluster, ready?.reason)
      ? undefined
      : `the reason of Ready is ${ready?.reason}, and ${hindrance.because}`;
  const identity = cluster?.status?.identity;
  if (cluster === undefined || identity === undefined) return undefined;
  const store = usersOf(world, cluster);
  if (store === undefined || !isAskable(world, memory, cluster, store)) return undefined;
  if (isGoing) return "it was to be deleted, and still exists";
  if (ready === undefined) return "it has no condition Ready";
  if (ready.status === "True" || REASONS_TO_ACT.includes(ready.reason))
    return difference(world, object, store, ready.reason);
  return `the reason of Ready is ${ready.reason}: ${ready.message}`;
}

/** Whether a spec that its cluster cannot carry out is reported so. That reason takes precedence over others. */
function isRefused(object: EtcdRole | EtcdUser, cluster: EtcdCluster | undefined, reason: string | undefined): boolean {
  if (reason !== "SpecRefused" || !("authentication" in object.spec)) return false;
  return refusalOf({ user: object as EtcdUser, cluster, operatorName: OPERATOR }) !== undefined;
}

/** Whether the operator is an administrator there, and etcd has a quorum. */
function isAskable(world: World, memory: Memory, cluster: EtcdCluster, store: AuthStore): boolean {
  const identity = cluster.status?.identity;
  if (identity === undefined || !prospectsOf(world, identity, memory).canHeal) return false;
  if (memory.excused.size > 0) return false;
  const isReady = cluster.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  return isReady === true && (!store.enabled || isAdministrator(store, OPERATOR));
}

function wrongRole(world: World, role: EtcdRole, store: AuthStore, reason: string): string | undefined {
  const all = world.api.list(ETCD_ROLES).filter(({ spec }) => spec.clusterRef.name === role.spec.clusterRef.name);
  const name = roleNameOf(role);
  const belongsToElder = elderOf(role, all, roleNameOf) !== undefined;
  if (reason === "NameTaken" || belongsToElder)
    return belongsToElder || store.roles.has(name) ? expected(reason, "NameTaken") : `no other owner has role ${name}`;
  const has = store.roles.get(name)?.map(permissionText).toSorted() ?? ["no such role"];
  const wanted = wantedPermissions(role.spec.permissions).map(permissionText).toSorted();
  return same(has, wanted)
    ? undefined
    : `the reason of Ready is ${reason}, and role ${name} has ${has.join()}, not ${wanted.join()}`;
}

function wrongUser(world: World, user: EtcdUser, store: AuthStore, reason: string): string | undefined {
  const { namespace } = user.metadata;
  const all = world.api.list(ETCD_USERS).filter(({ spec }) => spec.clusterRef.name === user.spec.clusterRef.name);
  const name = userNameOf(user);
  if (elderOf(user, all, userNameOf) !== undefined && reason !== "SpecRefused") return expected(reason, "NameTaken");
  const found = store.users.get(name);
  const secret = world.api.find(SECRETS, { namespace, name: bindingName(user.metadata.name) });
  const has = [...(found?.roles ?? [])].toSorted();
  const more = has.filter((role) => !user.spec.roles.includes(role));
  const isItsOwn = user.status?.userName === name;
  if (isItsOwn && more.length > 0) return `the reason of Ready is ${reason}, and user ${name} also has ${more.join()}`;
  if (reason === "RoleMissing")
    return user.spec.roles.some((role) => !store.roles.has(role))
      ? undefined
      : `the reason of Ready is ${reason}, and no role is missing`;
  if (REASONS_TO_ACT.includes(reason))
    return wrongReason(world, user, { isThere: store.users.has(name) }, secret, reason);
  if (found === undefined) return `the reason of Ready is ${reason}, and there is no user ${name}`;
  if (!same(has, user.spec.roles.toSorted()))
    return `the reason of Ready is ${reason}, and user ${name} has ${has.join()}`;
  if (secret === undefined) return `the reason of Ready is ${reason}, and there is no Secret for it`;
  if (user.spec.authentication.type === "Certificate" || found.password === textIn(secret, "password"))
    return undefined;
  return `the reason of Ready is ${reason}, and the password in Secret ${secret.metadata.name} is wrong`;
}

/** Checks the reason of the condition. @param secret the Secret with the binding's name */
function wrongReason(
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
      return isTaken ? undefined : `the reason of Ready is ${reason}, and the name is free`;
    }
    case "PasswordRefused":
      return isOwn && bindingFactsOf(secret).passwordTrouble !== undefined
        ? undefined
        : `the reason of Ready is ${reason}, and the password is valid`;
    case "CertificatePending": {
      const isGood = certificate?.trouble === undefined && (certificate?.notAfterMs ?? 0) > world.time.nowMs;
      return isGood ? `the reason of Ready is ${reason}, and its certificate is valid` : undefined;
    }
    case "SpecRefused": {
      const key = { namespace: user.metadata.namespace, name: user.spec.clusterRef.name };
      const isSo = isRefused(user, world.api.find(ETCD_CLUSTERS, key), reason);
      return isSo ? undefined : `the reason of Ready is ${reason}, and its spec can be carried out`;
    }
    default:
      return undefined;
  }
}

function expected(reason: string, wanted: string): string | undefined {
  return reason === wanted ? undefined : `the reason of Ready is ${reason} instead of ${wanted}`;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
