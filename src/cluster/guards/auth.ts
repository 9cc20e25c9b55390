import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import { ROOT } from "#api/names.ts";
import { serverSecretName } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { membersWithoutQuestion, stateOf } from "#cluster/auth/hindrance.ts";
import { holderOf, isOnRecord, operatorUsers, whyStranger } from "#cluster/auth/users.ts";
import { isAboutAuth, peerIn } from "#cluster/guards/touched.ts";
import type { ClusterGuard } from "#cluster/step.ts";

/**
 * etcd's users are changed only where the spec says that they are to be asked for, and only root and the operator, whose name nobody else may have;
 * they are asked for no more only where it says so.
 */
export const authIsAsked: ClusterGuard = {
  name: "auth-is-asked",
  forbids(snapshot, step) {
    const { cluster, auth } = snapshot;
    const wanted = isAuthWanted(cluster.spec);
    if (step.do === "disableAuth")
      return wanted === false ? undefined : "nobody says that etcd is to ask for users no more";
    if (!isAboutAuth(step)) return undefined;
    if (wanted !== true) return "nobody says that etcd is to ask for users";
    if (step.do === "createRootSecret") return auth?.rootSecret.is === "absent" ? undefined : "the Secret may be there";
    if (step.do === "setRootPassword") return step.secret.trouble;
    if (step.do === "enableAuth") return undefined;
    if (step.user === ROOT) return step.do === "grantRole" ? undefined : "root is made with a password";
    const state = stateOf(snapshot);
    const own = state && operatorUsers(snapshot, state).find(({ name }) => name === step.user);
    if (own === undefined) return `${step.user} is not the operator`;
    const holder = holderOf(snapshot, own);
    if (holder !== undefined) return `${step.user} is the user of ${holder}`;
    return isOnRecord(snapshot, step.user) ? undefined : `it is not on record that ${step.user} is the operator`;
  },
};

/**
 * etcd asks for users only when the operator was seen to be an administrator there by the name in its certificate, root to have the password in its
 * Secret, and every member to run so that it asks clients for certificates: otherwise nobody could log in, and nobody switch it off.
 */
export const administratorFirst: ClusterGuard = {
  name: "administrator-first",
  forbids(snapshot, step) {
    if (step.do !== "enableAuth") return undefined;
    const { auth, cluster } = snapshot;
    const state = stateOf(snapshot);
    if (!doClientsShowCertificates(cluster.spec)) return "clients show no certificates";
    if (!auth?.user || auth.user === ROOT) return "the operator's certificate does not name it";
    if (state?.operator?.includes(ROOT) !== true) return `${auth.user} was not seen to be an administrator`;
    if (state.root?.includes(ROOT) !== true || !state.isRootsPassword)
      return "root was not seen to be as its Secret says";
    const stranger = operatorUsers(snapshot, state).find(({ roles }) => !roles?.includes(ROOT));
    if (stranger !== undefined)
      return `${stranger.name}, who the operator is about to be, was not seen to be an administrator`;
    const names = membersWithoutQuestion(snapshot);
    return names.length === 0 ? undefined : `${names.join(", ")} would not know who asks`;
  },
};

/** Whether each client of the member shows a certificate: it serves nobody over plain HTTP besides. */
function asksAll({ spec }: { readonly spec?: EtcdPeer["spec"] }): boolean {
  const { client } = spec?.tls ?? {};
  return client?.verifyClients === true && client.plaintext !== true;
}

/**
 * While etcd asks for users, no member gets what would let it ask no certificate of clients: it would know nobody, the operator included. Nor do
 * members go over to another issuer by whose certificate the operator would be nobody to etcd.
 */
export const loginStays: ClusterGuard = {
  name: "login-stays",
  forbids(snapshot, step) {
    const { cluster } = snapshot;
    const peer = peerIn(step);
    // After a crash etcd may ask for users before that is on record.
    const isEnabled = cluster.status?.auth?.enabled === true || stateOf(snapshot)?.enabled === true;
    if (peer?.spec === undefined || !isEnabled) return undefined;
    const shown = peer.spec.tls?.client?.secretName;
    const isOther = step.do === "replacePeer" && shown !== step.live.spec.tls?.client?.secretName;
    const why = isOther && shown === serverSecretName(cluster) ? whyStranger(snapshot) : undefined;
    if (why !== undefined) return why;
    const had = step.do === "replacePeer" ? asksAll(step.live) : true;
    if (!had || asksAll(peer)) return undefined;
    return `${peer.metadata.name} would ask clients for no certificate, and etcd asks for users`;
  },
};
