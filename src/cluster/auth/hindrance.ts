import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import type { Reason } from "#api/conditions.ts";
import { REVISION_ANNOTATION, ROOT } from "#api/names.ts";
import { revisionOf, templateIn } from "#api/revision.ts";
import { operatorSecretName, providerOf } from "#api/tls.ts";
import type { AuthState } from "#cluster/auth/seen.ts";
import { holderOf, isAdministrator, operatorUsers } from "#cluster/auth/users.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/** What keeps etcd's users from being as the spec says. */
export interface Hindrance {
  readonly reason: Reason;
  readonly message: string;
  /** Whether it stays so until a person does something. */
  readonly isForPeople: boolean;
}

/** What etcd said of its users; `undefined` when it was not asked, or did not tell. */
export function stateOf({ auth }: ClusterSnapshot): AuthState | undefined {
  return auth?.state.is === "present" ? auth.state.value : undefined;
}

/**
 * Whether the operator can log in as root, by a certificate that it signs itself and that nobody else ever sees: it has the authority whose
 * certificates members take.
 */
export function maySignRoot({ cluster }: ClusterSnapshot): boolean {
  return providerOf(cluster.spec, "client") === "Operator";
}

/** Why users cannot be asked for, or asked for no more; `undefined` when nothing is in the way. */
export function hindranceOf(snapshot: ClusterSnapshot): Hindrance | undefined {
  const { cluster, auth } = snapshot;
  const wanted = isAuthWanted(cluster.spec);
  const state = stateOf(snapshot);
  if (wanted === true && !doClientsShowCertificates(cluster.spec))
    return people(
      "ClientCertificatesRequired",
      "spec.auth.enabled is true, and clients show no certificates; spec.tls.client.provider must be Operator, CertManager or Secret, and verifyClients true: by its certificate the operator logs in",
    );
  if (auth === undefined) return { reason: "AuthUnknown", message: "nobody has looked yet", isForPeople: false };
  if (state === undefined)
    return {
      reason: "AuthUnknown",
      message: auth.state.is === "unknown" ? auth.state.why : "etcd did not tell",
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
        `the certificate in Secret ${secretName} has ${name === "" ? "no common name" : `the common name ${ROOT}`}; it must be one by which etcd can know the operator, such as etcd-cluster-operator`,
      );
    const holder = holderOf(snapshot, each);
    const object = snapshot.auth?.holders.get(name);
    if (holder !== undefined)
      return people(
        "OperatorUserTaken",
        `the certificate in Secret ${secretName} has the common name ${name}, and etcd's user ${name} is of ${holder}, who would be an administrator by it; have a certificate with another common name there, or delete ${object === undefined ? "that user of etcd" : `EtcdUser ${object}`}`,
      );
  }
  if (rootSecret?.is === "present" && rootSecret.value.trouble !== undefined)
    return people("RootSecretInvalid", `Secret ${rootSecret.value.name}: ${rootSecret.value.trouble}`);
  if (state.isRootWithoutPassword === true)
    return people(
      "RootWithoutPassword",
      `etcd's user ${ROOT} was made without a password, and etcd gives it none while users are asked for; set spec.auth.enabled to false, and to true again once AuthReady says AuthDisabled: then it is made anew`,
    );
  return whyNotLetIn(snapshot, state) ?? whyNotYet(snapshot, state);
}

/** Without the right to do everything, nothing of users can be changed. */
function whyNotLetIn(snapshot: ClusterSnapshot, state: AuthState): Hindrance | undefined {
  if (isAdministrator(state) || maySignRoot(snapshot)) return undefined;
  const { user = "NAME" } = snapshot.auth ?? {};
  const who =
    snapshot.auth?.user ??
    `NAME, the common name of the certificate in Secret ${operatorSecretName(snapshot.cluster)},`;
  return people(
    "NotAdministrator",
    `etcd asks for users, and ${who} is no administrator there; as root: etcdctl user add ${user} --no-password, and etcdctl user grant-role ${user} ${ROOT}`,
  );
}

/** Whether the operator, who it is about to be, and root with the password of its Secret, were seen to be administrators. */
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
  const message = `${names.join(", ")}: they do not ask clients for certificates yet`;
  return { reason: "AuthPending", message, isForPeople: false };
}

/** Members that would not know by its certificate who asks, or of which that is not certain: by their EtcdPeers, and by what their pods were made from. */
export function membersWithoutQuestion({ peers, pods }: ClusterSnapshot): readonly string[] {
  return peers
    .filter(({ metadata, spec }) => {
      const pod = pods.get(metadata.name);
      const isAsWanted = pod?.metadata.annotations?.[REVISION_ANNOTATION] === revisionOf(templateIn(spec));
      return spec.tls?.client?.verifyClients !== true || !isAsWanted;
    })
    .map(({ metadata }) => metadata.name);
}

function people(reason: Reason, message: string): Hindrance {
  return { reason, message, isForPeople: true };
}
