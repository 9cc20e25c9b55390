import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import { ROOT } from "#api/names.ts";
import { serverSecretName } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { peerBefore, peerIn } from "#cluster/touched.ts";
import { membersWithoutQuestion, stateOf } from "./hindrance.ts";
import { holderOf, isOnRecord, operatorUsers, whyStranger } from "./users.ts";

/**
 * Users of etcd change only when spec.auth.enabled is true, and only root and the operator's own. Authentication is
 * switched off only when spec.auth.enabled is false.
 */
export const authIsAsked: ClusterGuard = {
  name: "auth-is-asked",
  forbids(snapshot, step) {
    const { cluster, auth } = snapshot;
    const wanted = isAuthWanted(cluster.spec);
    if (!hasTrait(step, "changes", "auth")) return undefined;
    if (step.do === "disableAuth") return wanted === false ? undefined : "spec.auth.enabled is not false";
    if (wanted !== true) return "spec.auth.enabled is not true";
    if (step.do === "createRootSecret") return auth?.rootSecret.is === "absent" ? undefined : "the Secret may exist";
    if (step.do === "setRootPassword") return step.secret.trouble;
    if (step.do === "enableAuth") return undefined;
    if (step.user === ROOT) return step.do === "grantRole" ? undefined : "root is created with a password";
    const state = stateOf(snapshot);
    const own = state && operatorUsers(snapshot, state).find(({ name }) => name === step.user);
    if (own === undefined) return `${step.user} is not the operator`;
    const holder = holderOf(snapshot, own);
    if (holder !== undefined) return `${step.user} is the user of ${holder}`;
    return isOnRecord(snapshot, step.user) ? undefined : `${step.user} is not recorded as the operator's user`;
  },
};

/**
 * Authentication is switched on only when the operator can log in and switch it off. The operator is an administrator
 * by the name in its certificate, and root has the password in its Secret. Every member requires client certificates.
 */
export const administratorFirst: ClusterGuard = {
  name: "administrator-first",
  forbids(snapshot, step) {
    if (step.do !== "enableAuth") return undefined;
    const { auth, cluster } = snapshot;
    const state = stateOf(snapshot);
    if (!doClientsShowCertificates(cluster.spec)) return "clients have no certificates";
    if (!auth?.user || auth.user === ROOT) return "the operator's certificate has no usable common name";
    if (state?.operator?.includes(ROOT) !== true) return `${auth.user} was not seen to be an administrator`;
    if (state.root?.includes(ROOT) !== true || !state.isRootsPassword)
      return "root was not seen to have the password in its Secret";
    const stranger = operatorUsers(snapshot, state).find(({ roles }) => !roles?.includes(ROOT));
    if (stranger !== undefined)
      return `${stranger.name}, the operator's next user, was not seen to be an administrator`;
    const names = membersWithoutQuestion(snapshot);
    return names.length === 0 ? undefined : `${names.join(", ")} would accept clients without a certificate`;
  },
};

/** Whether the member requires a certificate of every client: it has no plain HTTP port. */
function asksAll({ spec }: { readonly spec?: EtcdPeer["spec"] }): boolean {
  const { client } = spec?.tls ?? {};
  return client?.clientCertificates === "Required" && client.plaintext !== true;
}

/**
 * While authentication is on, no member gets a template without client certificates: it could identify no client, not
 * even the operator. Nor do members change to an issuer with an operator certificate that etcd does not know.
 */
export const loginStays: ClusterGuard = {
  name: "login-stays",
  forbids(snapshot, step) {
    const { cluster } = snapshot;
    const peer = peerIn(step);
    // Authentication may be on without a record: the operator may have crashed between the two writes.
    const isEnabled = cluster.status?.auth?.enabled === true || stateOf(snapshot)?.enabled === true;
    if (peer?.spec === undefined || !isEnabled) return undefined;
    const shown = peer.spec.tls?.client?.secretName;
    const before = peerBefore(step);
    const isOther = before !== undefined && shown !== before.spec.tls?.client?.secretName;
    const why = isOther && shown === serverSecretName(cluster) ? whyStranger(snapshot) : undefined;
    if (why !== undefined) return why;
    if ((before !== undefined && !asksAll(before)) || asksAll(peer)) return undefined;
    return `${peer.metadata.name} would require no client certificate, and authentication is on`;
  },
};
