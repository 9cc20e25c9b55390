import { CERTIFICATE_FILE, clientAuthorityName, KEY_FILE, ROOT, rootSecretName } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import type { Identities } from "#certificates/dial.ts";
import { textIn } from "#certificates/facts.ts";
import type { Issuer } from "#certificates/issue.ts";
import { follower, ofThisCluster } from "#cluster/addressee.ts";
import { stateOf } from "#cluster/auth/hindrance.ts";
import { passwordAsSeen } from "#cluster/auth/root-secret.ts";
import { isOurs, seen } from "#cluster/certificates/usable.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { AuthStep } from "#cluster/step.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import type { KubeClient } from "#kube/client.ts";
import { SECRETS } from "#kube/kinds.ts";

/**
 * How long what makes the operator root is good for, in milliseconds by its own clock, which may be hours behind that of members: they would call
 * what is good for minutes ended from its birth, and nobody would get in. It is made for one step, and nobody else ever has it: the connection
 * that it opens ends with the operator's next question to that member, which shows another certificate, or seconds later when there is none
 * (etcd/transport.ts). So it is never used after its end, about which etcd asks only when a connection is made.
 */
const ROOT_MS = 24 * 60 * 60_000;

export type AuthChange =
  | "userAdd"
  | "userDelete"
  | "userChangePassword"
  | "userGrantRole"
  | "authEnable"
  | "authDisable";

interface Writes {
  readonly kube: Pick<KubeClient, "get">;
  readonly etcd: Pick<EtcdClient, AuthChange>;
  readonly identities: Identities;
  readonly issuer: Pick<Issuer, "newLeaf">;
}

/** Changes etcd's users, or whether it asks for them. Passwords and keys are in the variables of these functions, and nowhere else. */
export async function actOnAuth(
  writes: Writes,
  step: Exclude<AuthStep, { do: "createRootSecret" }>,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const { kube, etcd } = writes;
  const options = ofThisCluster(snapshot, signal);
  const own = follower(snapshot, writes.identities);
  const at = "asRoot" in step && step.asRoot ? await asRoot(writes, own, snapshot, signal) : own;
  switch (step.do) {
    case "setRootPassword": {
      const { namespace, name } = snapshot.cluster.metadata;
      const live = await kube.get(SECRETS, { namespace, name: rootSecretName(name) }, { signal });
      const password = passwordAsSeen(snapshot.cluster, step.secret, live);
      // One that was made without a password never gets one. While etcd asks for no users, nobody is in the way of another one.
      const isMadeAnew = !step.isNew && stateOf(snapshot)?.enabled === false;
      if (isMadeAnew) await etcd.userDelete(at, ROOT, options);
      if (step.isNew || isMadeAnew) return await etcd.userAdd(at, ROOT, password, options);
      return await etcd.userChangePassword(at, ROOT, password, options);
    }
    case "addUser":
      return await etcd.userAdd(at, step.user, undefined, options);
    case "grantRole":
      return await etcd.userGrantRole(at, step.user, ROOT, options);
    case "enableAuth":
      return await etcd.authEnable(at, options);
    case "disableAuth":
      return await etcd.authDisable(at, options);
  }
}

/** The same member, to which the operator shows a certificate of root's: signed here, for this, and kept nowhere. */
async function asRoot(
  { kube, issuer }: Writes,
  own: Endpoint,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<Endpoint> {
  const facts = seen(snapshot, "clientCA");
  if (own.tls === undefined || facts === undefined || !isOurs(snapshot, facts))
    throw new OperatorError("EtcdNotNow", "the authority that would sign for root cannot be read at this moment");
  const { namespace, name } = snapshot.cluster.metadata;
  const authority = await kube.get(SECRETS, { namespace, name: clientAuthorityName(name) }, { signal });
  const pair = { certificate: textIn(authority, CERTIFICATE_FILE), key: textIn(authority, KEY_FILE) };
  const root = await issuer.newLeaf(pair, {
    commonName: ROOT,
    names: [],
    usages: ["clientAuth"],
    fromMs: facts.notBeforeMs,
    untilMs: snapshot.takenAtMs + ROOT_MS,
  });
  const { ca, serverName } = own.tls;
  return { address: own.address, tls: { ca, serverName, cert: root.certificate, key: root.key } };
}
