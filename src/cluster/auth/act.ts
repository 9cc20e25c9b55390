import { CERTIFICATE_FILE, clientAuthorityName, KEY_FILE, ROOT, rootSecretName } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import type { Identities } from "#certificates/dial.ts";
import { textIn } from "#certificates/facts.ts";
import type { Issuer } from "#certificates/issue.ts";
import { answeringVoter, ofThisCluster } from "#cluster/observe/addressee.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { AuthStep } from "#cluster/step.ts";
import { isOurs, seen } from "#cluster-tls/read/usable.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import type { KubeClient } from "#kube/client.ts";
import { SECRETS } from "#kube/kinds.ts";
import { stateOf } from "./hindrance.ts";
import { passwordAsSeen } from "./root-secret.ts";

/**
 * Validity of the certificate by which the operator becomes root, in milliseconds. Shorter: with clocks hours apart,
 * members would reject it as expired. Longer gains nothing: it is made in memory for one step, and its connection ends
 * seconds later (etcd/transport.ts).
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

/** Changes users of etcd, or switches authentication. Passwords and keys exist only in variables of these functions. */
export async function actOnAuth(
  writes: Writes,
  step: Exclude<AuthStep, { do: "createRootSecret" }>,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const { kube, etcd } = writes;
  const options = ofThisCluster(snapshot, signal);
  const own = answeringVoter(snapshot, writes.identities);
  const at = "asRoot" in step && step.asRoot ? await asRoot(writes, own, snapshot, signal) : own;
  switch (step.do) {
    case "setRootPassword": {
      const { namespace, name } = snapshot.cluster.metadata;
      const live = await kube.get(SECRETS, { namespace, name: rootSecretName(name) }, { signal });
      const password = passwordAsSeen(snapshot.cluster, step.secret, live);
      // A user created without a password never gets one, so it is deleted and created again. Only while authentication
      // is off: it is not in use then.
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

/** The given member, dialled with a certificate of root that is signed here and stored nowhere. */
async function asRoot(
  { kube, issuer }: Writes,
  own: Endpoint,
  snapshot: ClusterSnapshot,
  signal: AbortSignal,
): Promise<Endpoint> {
  const facts = seen(snapshot, "clientCA");
  if (own.tls === undefined || facts === undefined || !isOurs(snapshot, facts))
    throw new OperatorError("EtcdNotNow", "the CA that would sign for root cannot be read at this moment");
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
