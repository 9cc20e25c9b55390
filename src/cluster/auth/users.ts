import { isAuthWanted } from "#api/auth.ts";
import { OPERATOR, ROOT } from "#api/names.ts";
import { askedOperatorSecretName, operatorSecretName } from "#api/tls.ts";
import type { AuthState } from "#cluster/auth/seen.ts";
import { usable } from "#cluster/certificates/usable.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

// As whom does the operator log in?
//   By the common name of the certificate that it shows. Where that comes to be another one, such as of another issuer, etcd has to know the next
//   name for an administrator before the operator goes over to it: afterwards nobody would be left who could tell etcd.
// Who may be made an administrator by that?
//   A user whose name nobody else has. Whoever labels a Secret chooses the name in it, and that may be the name of an application, or of a person,
//   who has a password or a certificate already. So only a user that was not there before becomes the operator's own, and that is on record
//   (status.auth.operators) before it is made. One that is an administrator already loses nothing by it. The name etcd-cluster-operator is the
//   operator's by its schema: no EtcdUser can have it.

/** Whether etcd lets the operator do everything. */
export function isAdministrator({ enabled, operator }: AuthState): boolean {
  return !enabled || operator?.includes(ROOT) === true;
}

/** A user that the operator is, or is about to be. */
export interface OperatorUser {
  readonly name: string;
  /** In etcd; undefined when there is no such user. */
  readonly roles: readonly string[] | undefined;
  /** Which Secret has the certificate with the name. */
  readonly secretName: string | undefined;
}

/**
 * By which name etcd is to know the operator when it shows what spec.tls asks for; "" when that says none that can be told; `undefined` where it
 * shows that by now, or where that is not there to be shown.
 */
export function nextUser(snapshot: ClusterSnapshot): string | undefined {
  const { cluster } = snapshot;
  const isShown = operatorSecretName(cluster) === askedOperatorSecretName(cluster);
  const next = isShown ? undefined : usable(snapshot, "operator");
  return next && (next.commonName ?? "");
}

/** The operator's users, the one of today first; nothing of those whose names are not read yet. */
export function operatorUsers({ cluster, auth }: ClusterSnapshot, state: AuthState): readonly OperatorUser[] {
  const { user, next } = auth ?? {};
  // Of others only an administrator is told.
  const isTold = next !== user && isAdministrator(state);
  return [
    { name: user, roles: state.operator, secretName: operatorSecretName(cluster) },
    { name: isTold ? next : undefined, roles: state.next, secretName: askedOperatorSecretName(cluster) },
  ].flatMap(({ name, ...others }) => (name === undefined ? [] : [{ name, ...others }]));
}

/** Whose the user is, when it is not the operator's; for people. */
export function holderOf(snapshot: ClusterSnapshot, { name, roles }: OperatorUser): string | undefined {
  const isAdministratorOnRecord = snapshot.cluster.status?.auth?.operators?.includes(name) && roles?.includes(ROOT);
  // An EtcdUser that comes later and says the name of the operator's own user has nothing by it: its own room refuses it.
  if (isAdministratorOnRecord) return undefined;
  const holder = snapshot.auth?.holders.get(name);
  if (holder !== undefined) return `EtcdUser ${holder}`;
  if (roles === undefined || roles.includes(ROOT) || isOnRecord(snapshot, name)) return undefined;
  return "somebody whom the operator has not made";
}

/** The names that are the operator's own by now, or are about to be, and that somebody could have had: for the record. */
export function recordedUsers(snapshot: ClusterSnapshot, state: AuthState): readonly string[] {
  const before = snapshot.cluster.status?.auth?.operators ?? [];
  const wanted = isAuthWanted(snapshot.cluster.spec) === true;
  return operatorUsers(snapshot, state)
    .filter(({ name }) => ![OPERATOR, ROOT, ""].includes(name))
    .filter((each) => before.includes(each.name) || (wanted && each.roles === undefined && !holderOf(snapshot, each)))
    .map(({ name }) => name);
}

/** Whether it is on record that the user is the operator's own, where somebody else could have it. */
export function isOnRecord({ cluster }: ClusterSnapshot, name: string): boolean {
  return name === OPERATOR || cluster.status?.auth?.operators?.includes(name) === true;
}

/** Why the operator may not go over to the certificate that spec.tls asks for, for people; `undefined` when it may. */
export function whyStranger(snapshot: ClusterSnapshot): string | undefined {
  const { cluster, auth } = snapshot;
  const name = nextUser(snapshot);
  const state = auth?.state.is === "present" ? auth.state.value : undefined;
  const isEnabled = (state?.enabled ?? cluster.status?.auth?.enabled) === true;
  if (name === undefined || name === auth?.user || !isEnabled) return undefined;
  if (name !== ROOT && auth?.next === name && state?.next?.includes(ROOT) === true) return undefined;
  const show = `etcd asks for users, and the operator is to show Secret ${askedOperatorSecretName(cluster)}`;
  if (name === "") return `${show}: it has no common name that can be told`;
  if (name === ROOT) return `${show}: ${name}, its common name, is for people alone`;
  if (auth?.state.is === "unknown")
    return `${show}: etcd could not be asked whether ${name}, its common name, is an administrator there: ${auth.state.why}`;
  // What is known by now is about another name, or about nobody.
  if (auth?.next !== name)
    return `${show}: etcd is yet to be asked whether ${name}, its common name, is an administrator there`;
  return `${show}: ${name}, its common name, is no administrator there yet`;
}
