import { randomBytes } from "node:crypto";
import { CLUSTER_LABEL, clusterLabels, ROOT, rootSecretName } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { OperatorError } from "#base/error.ts";
import { textIn } from "#certificates/facts.ts";
import { ownedBy } from "#cluster/owned.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { passwordTrouble } from "#etcd/auth.ts";
import { apiVersionOf, controllerOf, type Draft, SECRETS, type Secret } from "#kube/kinds.ts";
import type { RootSecret } from "./seen.ts";

/** Random bytes of the password: 192 bits cannot be guessed. More gains nothing; much fewer could be guessed. */
const PASSWORD_BYTES = 24;

/** A new Secret with a random password. The password is in no step, log or status. */
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

/** Everything about the Secret except the password. */
export function rootSecretOf(cluster: EtcdCluster, secret: Secret): RootSecret {
  const { name, uid, resourceVersion } = secret.metadata;
  return { name, version: `${uid} ${resourceVersion}`, trouble: troubleOf(cluster, secret) };
}

export function passwordIn(secret: Secret): string {
  return textIn(secret, "password");
}

/** @throws OperatorError KubeConflict when the Secret has changed since the observation */
export function passwordAsSeen(cluster: EtcdCluster, seen: RootSecret, live: Secret): string {
  const { version, trouble } = rootSecretOf(cluster, live);
  if (version === seen.version && trouble === undefined) return passwordIn(live);
  throw new OperatorError("KubeConflict", `Secret ${live.metadata.name} has changed since it was read`);
}

// Why does the Secret need a label?
//   The author of an EtcdCluster chooses the image, and etcd receives the password. Without the label, the name of a
//   cluster would give
//   access to any Secret of the namespace with the derived name.
function troubleOf({ metadata }: EtcdCluster, secret: Secret): string | undefined {
  const isOurs = controllerOf(secret)?.uid === metadata.uid;
  if (!isOurs && secret.metadata.labels?.[CLUSTER_LABEL] !== metadata.name)
    return `it is not this cluster's; label it ${CLUSTER_LABEL}=${metadata.name} to use its password, or delete it to have one created`;
  const username = textIn(secret, "username");
  if (username !== ROOT) return `its username is ${username === "" ? "empty" : `not ${ROOT}`}; it must be ${ROOT}`;
  const password = passwordIn(secret);
  if (password === "") return "its password is empty; set one, or delete the Secret to have one created";
  return passwordTrouble(password);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
