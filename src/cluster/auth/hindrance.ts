import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import type { Reason } from "#api/conditions.ts";
import { REVISION_ANNOTATION, ROOT } from "#api/names.ts";
import { revisionOf, templateIn } from "#api/revision.ts";
import { operatorSecretName, providerOf } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { AuthState } from "./seen.ts";
import { holderOf, isAdministrator, operatorUsers } from "./users.ts";

/** What keeps authentication from being as the spec asks for. */
export interface Hindrance {
  readonly reason: Reason;
  readonly message: string;
  /** Whether a person has to act. */
  readonly isForPeople: boolean;
}

/** The answer of etcd about its users; `undefined` when it was not queried, or did not answer. */
export function stateOf({ auth }: ClusterSnapshot): AuthState | undefined {
  return auth?.state.is === "present" ? auth.state.value : undefined;
}

/**
 * Whether the operator can log in as root with a certificate that it signs itself and never publishes. Then it has the
 * CA that members trust for clients.
 */
export function maySignRoot({ cluster }: ClusterSnapshot): boolean {
  return providerOf(cluster.spec, "client") === "Operator";
}

/** Why authentication cannot be switched on or off; `undefined` when nothing prevents it. */
export function hindranceOf(snapshot: ClusterSnapshot): Hindrance | undefined {
  const { cluster, auth } = snapshot;
  const wanted = isAuthWanted(cluster.spec);
  const state = stateOf(snapshot);
  if (wanted === true && !doClientsShowCertificates(cluster.spec))
    return people(
      "ClientCertificatesRequired",
      "spec.auth.enabled is true, and clients have no certificates; spec.tls.client.provider must be Operator, CertManager or Secret, and clientCertificates Required. The operator logs in with its certificate",
    );
  if (auth === undefined)
    return { reason: "AuthUnknown", message: "the operator has not asked etcd yet", isForPeople: false };
  if (state === undefined)
    return {
      reason: "AuthUnknown",
      message: auth.state.is === "unknown" ? auth.state.why : "etcd did not answer",
      isForPeople: false,
    };
  if (wanted === undefined) return undefined;
  return wanted ? whyNotOn(snapshot, state) : whyNotLetIn(snapshot, state);
}

function whyNotOn(snapshot: ClusterSnapshot, state: AuthState): Hindrance | undefined {
  const { rootSecret, user } = snapshot.auth ?? {};
  if (user === undefined && !state.enabled)
    return {
      reason: "AuthPending",
      message: `Secret ${operatorSecretName(snapshot.cluster)} is being read`,
      isForPeople: false,
    };
  for (const each of operatorUsers(snapshot, state)) {
    const { name, secretName } = each;
    if (name === "" || name === ROOT)
      return people(
        "OperatorUserInvalid",
        `the certificate in Secret ${secretName} has ${name === "" ? "no common name" : `the common name ${ROOT}`}; it must have one that identifies the operator, such as etcd-cluster-operator`,
      );
    const holder = holderOf(snapshot, each);
    const object = snapshot.auth?.holders.get(name);
    if (holder !== undefined)
      return people(
        "OperatorUserTaken",
        `the certificate in Secret ${secretName} has the common name ${name}, and would make etcd's user ${name} of ${holder} an administrator; issue a certificate with another common name, or delete ${object === undefined ? "that user of etcd" : `EtcdUser ${object}`}`,
      );
  }
  if (rootSecret?.is === "present" && rootSecret.value.trouble !== undefined)
    return people("RootSecretInvalid", `Secret ${rootSecret.value.name}: ${rootSecret.value.trouble}`);
  if (state.isRootWithoutPassword === true)
    return people(
      "RootWithoutPassword",
      `etcd's user ${ROOT} has no password and cannot get one while authentication is on; set spec.auth.enabled to false. Once AuthReady has reason AuthDisabled, set it to true again: then the user is created again`,
    );
  return whyNotLetIn(snapshot, state) ?? whyNotYet(snapshot, state);
}

/** Without the role root, the operator cannot change users. */
function whyNotLetIn(snapshot: ClusterSnapshot, state: AuthState): Hindrance | undefined {
  if (isAdministrator(state) || maySignRoot(snapshot)) return undefined;
  const { user = "NAME" } = snapshot.auth ?? {};
  const who =
    snapshot.auth?.user ??
    `NAME, the common name of the certificate in Secret ${operatorSecretName(snapshot.cluster)},`;
  return people(
    "NotAdministrator",
    `authentication is on, and ${who} is no administrator of etcd; as root: etcdctl user add ${user} --no-password, and etcdctl user grant-role ${user} ${ROOT}`,
  );
}

/**
 * Whether all three were seen to be administrators: the operator's current and next user, and root with the password in
 * its Secret.
 */
export function areAdministratorsReady(snapshot: ClusterSnapshot, state: AuthState): boolean {
  const users = operatorUsers(snapshot, state);
  return (
    [...users.map(({ roles }) => roles), state.root].every((roles) => roles?.includes(ROOT)) &&
    users.length > 0 &&
    state.isRootsPassword
  );
}

function whyNotYet(snapshot: ClusterSnapshot, { enabled }: AuthState): Hindrance | undefined {
  const names = enabled ? [] : membersWithoutQuestion(snapshot);
  if (names.length === 0) return undefined;
  const message = `${names.join(", ")}: they do not require client certificates yet`;
  return { reason: "AuthPending", message, isForPeople: false };
}

/**
 * Members that may accept clients without a certificate, according to their EtcdPeers or to the templates of their
 * pods.
 */
export function membersWithoutQuestion({ peers, pods }: ClusterSnapshot): readonly string[] {
  return peers
    .filter(({ metadata, spec }) => {
      const pod = pods.get(metadata.name);
      const isAsWanted = pod?.metadata.annotations?.[REVISION_ANNOTATION] === revisionOf(templateIn(spec));
      return spec.tls?.client?.clientCertificates !== "Required" || !isAsWanted;
    })
    .map(({ metadata }) => metadata.name);
}

function people(reason: Reason, message: string): Hindrance {
  return { reason, message, isForPeople: true };
}
