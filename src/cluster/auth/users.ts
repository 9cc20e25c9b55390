import { isAuthWanted } from "#api/auth.ts";
import { OPERATOR, ROOT } from "#api/names.ts";
import { askedOperatorSecretName, operatorSecretName } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { usable } from "#cluster-tls/read/usable.ts";
import type { AuthState } from "./seen.ts";

// Which user of etcd is the operator?
//   The one with the common name of its certificate. That name may be about to change, such as with another issuer.
//   Then the next user must become an administrator before the operator uses the next certificate: afterwards it could
//   no longer change users.
// Which user may become an administrator that way?
//   One that did not exist before. The author of a labelled Secret chooses the common name in it, which may be that of
//   an application or a person. So a new user is first recorded in status.auth.operators, and then created.
//   An administrator may become the operator's user at once, since it gains no right. etcd-cluster-operator is reserved by the schema: no EtcdUser
//   can have it.

/** Whether the operator has all rights in etcd. */
export function isAdministrator({ enabled, operator }: AuthState): boolean {
  return !enabled || operator?.includes(ROOT) === true;
}

/** The operator's current or next user. */
export interface OperatorUser {
  readonly name: string;
  /** Its roles in etcd; undefined when there is no such user. */
  readonly roles: readonly string[] | undefined;
  /** The Secret with the certificate that has this name. */
  readonly secretName: string | undefined;
}

/**
 * The user name of the certificate that spec.tls asks for. "" when its name cannot be determined; `undefined` when the
 * operator uses that certificate already, or it does not exist yet.
 */
export function nextUser(snapshot: ClusterSnapshot): string | undefined {
  const { cluster } = snapshot;
  const isShown = operatorSecretName(cluster) === askedOperatorSecretName(cluster);
  const next = isShown ? undefined : usable(snapshot, "operator");
  return next && (next.commonName ?? "");
}

/** The operator's users, the current one first, without names that are not read yet. */
export function operatorUsers({ cluster, auth }: ClusterSnapshot, state: AuthState): readonly OperatorUser[] {
  const { user, next } = auth ?? {};
  // Only an administrator may query other users.
  const isReadable = next !== user && isAdministrator(state);
  return [
    { name: user, roles: state.operator, secretName: operatorSecretName(cluster) },
    { name: isReadable ? next : undefined, roles: state.next, secretName: askedOperatorSecretName(cluster) },
  ].flatMap(({ name, ...others }) => (name === undefined ? [] : [{ name, ...others }]));
}

/** The owner of a user that is not the operator's; for people. */
export function holderOf(snapshot: ClusterSnapshot, { name, roles }: OperatorUser): string | undefined {
  const isAdministratorOnRecord = snapshot.cluster.status?.auth?.operators?.includes(name) && roles?.includes(ROOT);
  // A later EtcdUser with the name of the operator's user gains nothing: its own controller refuses it.
  if (isAdministratorOnRecord) return undefined;
  const holder = snapshot.auth?.holders.get(name);
  if (holder !== undefined) return `EtcdUser ${holder}`;
  if (roles === undefined || roles.includes(ROOT) || isOnRecord(snapshot, name)) return undefined;
  return "another owner";
}

/** The current and next user names of the operator that others could have used: to be recorded. */
export function recordedUsers(snapshot: ClusterSnapshot, state: AuthState): readonly string[] {
  const before = snapshot.cluster.status?.auth?.operators ?? [];
  const wanted = isAuthWanted(snapshot.cluster.spec) === true;
  return operatorUsers(snapshot, state)
    .filter(({ name }) => ![OPERATOR, ROOT, ""].includes(name))
    .filter((each) => before.includes(each.name) || (wanted && each.roles === undefined && !holderOf(snapshot, each)))
    .map(({ name }) => name);
}

/** Whether the user is recorded as the operator's, when others could have its name. */
export function isOnRecord({ cluster }: ClusterSnapshot, name: string): boolean {
  return name === OPERATOR || cluster.status?.auth?.operators?.includes(name) === true;
}

/** Why the operator may not use the certificate that spec.tls asks for, for people; `undefined` when it may. */
export function whyStranger(snapshot: ClusterSnapshot): string | undefined {
  const { cluster, auth } = snapshot;
  const name = nextUser(snapshot);
  const state = auth?.state.is === "present" ? auth.state.value : undefined;
  const isEnabled = (state?.enabled ?? cluster.status?.auth?.enabled) === true;
  if (name === undefined || name === auth?.user || !isEnabled) return undefined;
  if (name !== ROOT && auth?.next === name && state?.next?.includes(ROOT) === true) return undefined;
  const secret = `Secret ${askedOperatorSecretName(cluster)}, with which the operator is to log in`;
  if (name === "") return `${secret}, has no usable common name`;
  const named = `${secret}, has the common name ${name}`;
  if (name === ROOT) return `${named}, which is reserved for people`;
  if (auth?.state.is === "unknown")
    return `${named}; etcd did not answer whether that user has the role root: ${auth.state.why}`;
  // The last answer was about another name, or about none.
  if (auth?.next !== name) return `${named}; etcd has not yet answered whether that user has the role root`;
  return `${named}; that user does not have the role root in etcd yet`;
}
