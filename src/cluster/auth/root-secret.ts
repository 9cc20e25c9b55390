import { randomBytes } from "node:crypto";
import { CLUSTER_LABEL, clusterLabels, ROOT, rootSecretName } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { OperatorError } from "#base/error.ts";
import { textIn } from "#certificates/facts.ts";
import type { RootSecret } from "#cluster/auth/seen.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { passwordTrouble } from "#etcd/auth.ts";
import { apiVersionOf, controllerOf, type Draft, SECRETS, type Secret } from "#kube/kinds.ts";

/** Of the password, before it is written as text: nobody guesses it. */
const PASSWORD_BYTES = 24;

/** A new Secret, with a password that nobody has seen. It stands in no step, log or status. */
export function newRootSecret(snapshot: ClusterSnapshot): Draft<Secret> {
  const { namespace, name: cluster } = snapshot.cluster.metadata;
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  return {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: {
      namespace,
      name: rootSecretName(cluster),
      labels: clusterLabels(cluster),
      ownerReferences: [ownedBy(snapshot)],
    },
    type: "kubernetes.io/basic-auth",
    data: { username: base64(ROOT), password: base64(password) },
  };
}

/** All that is known of a Secret but its password. */
export function rootSecretOf(cluster: EtcdCluster, secret: Secret): RootSecret {
  const { name, uid, resourceVersion } = secret.metadata;
  return { name, version: `${uid} ${resourceVersion}`, trouble: troubleOf(cluster, secret) };
}

export function passwordIn(secret: Secret): string {
  return textIn(secret, "password");
}

/** @throws OperatorError KubeConflict when it is not what was seen any more */
export function passwordAsSeen(cluster: EtcdCluster, seen: RootSecret, live: Secret): string {
  const { version, trouble } = rootSecretOf(cluster, live);
  if (version === seen.version && trouble === undefined) return passwordIn(live);
  throw new OperatorError("KubeConflict", `Secret ${live.metadata.name} has changed since it was looked at`);
}

// Why is not everybody's Secret taken?
//   Whoever may write EtcdClusters chooses their image, and etcd is told the password: by the cluster's name they would get at any Secret of the
//   namespace that is called so.
function troubleOf({ metadata }: EtcdCluster, secret: Secret): string | undefined {
  const isOurs = controllerOf(secret)?.uid === metadata.uid;
  if (!isOurs && secret.metadata.labels?.[CLUSTER_LABEL] !== metadata.name)
    return `it is not this cluster's; label it ${CLUSTER_LABEL}=${metadata.name} to have its password taken, or delete it to have one made`;
  const username = textIn(secret, "username");
  if (username !== ROOT) return `its username is ${username === "" ? "empty" : `not ${ROOT}`}; it must be ${ROOT}`;
  const password = passwordIn(secret);
  if (password === "") return "its password is empty; set one, or delete the Secret to have one made";
  return passwordTrouble(password);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
