import {
  applicationCertificateName,
  CERTIFICATE_FILE,
  CLIENT_TLS_VOLUME,
  CLUSTER_LABEL,
  clientAuthorityName,
  ETCD_CONTAINER,
  GROUP,
  KEY_FILE,
  operatorCertificateName,
  PEER_TLS_VOLUME,
  peerAuthorityName,
  peerCertificateName,
  serverCertificateName,
  trustConfigMapName,
  WEBHOOKS,
} from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { Named, Validation } from "./admission-policy.ts";

// Whoever may make Secrets may have the API server put a token of any account into one, and whoever may read them by name has to guess only the
// name. So what the operator writes is fixed here by name, owner and type; and which Secrets get into a member's pod, and there to etcd alone.

const LEAVES = [peerCertificateName, serverCertificateName, operatorCertificateName, applicationCertificateName];
const AUTHORITIES = [peerAuthorityName, clientAuthorityName];

function list(texts: readonly string[]): string {
  return `[${texts.map((text) => `'${text}'`).join(", ")}]`;
}

/** How the names of a cluster's objects end. */
function suffixes(names: readonly ((cluster: string) => string)[]): string {
  return list(names.map((name) => name("")));
}

/** Whether it belongs to the EtcdCluster of its label, and has one of its names. */
function isOfCluster(object: "object" | "oldObject", names: readonly ((cluster: string) => string)[]): string {
  const labels = object === "object" ? "variables.labels" : "variables.oldLabels";
  return (
    `(${suffixes(names)}.exists(suffix, ${object}.metadata.name == ${labels}[?'${CLUSTER_LABEL}'].orValue('') + suffix)` +
    ` && ${object}.metadata.?ownerReferences.orValue([]).exists(each, each.?controller.orValue(false) && each.kind == '${ETCD_CLUSTERS.kind}'` +
    ` && each.apiVersion.startsWith('${GROUP}/') && each.name == ${labels}[?'${CLUSTER_LABEL}'].orValue('')))`
  );
}

/** As it is, and as it was: what is somebody else's is not made the operator's own. */
function staysOfCluster(names: readonly ((cluster: string) => string)[]): string {
  return `!variables.deletes && ${isOfCluster("object", names)} && (variables.creates || ${isOfCluster("oldObject", names)})`;
}

export const CERTIFICATE_VARIABLES: readonly Named[] = [
  {
    name: "isWebhooks",
    expression:
      `(variables.creates ? object : oldObject).metadata.name == '${WEBHOOKS}'` +
      " && request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':')",
  },
];

/** Whether a source of a projected volume of a member is the key pair that the member shows, and no authority's, whoever asks for it; in CEL. */
export const isShownByMember =
  `(volume.name in ${list([PEER_TLS_VOLUME, CLIENT_TLS_VOLUME])} && has(source.secret) && source.secret.?items.orValue([]).size() > 0` +
  ` && source.secret.items.all(item, item.path == item.key && item.key in ${list([CERTIFICATE_FILE, KEY_FILE])})` +
  ` && !${suffixes(AUTHORITIES)}.exists(suffix, source.secret.name.endsWith(suffix)))`;

export const CERTIFICATE_VALIDATIONS: readonly Validation[] = [
  {
    // RBAC knows no name of what is yet to be made.
    expression: `variables.resource != 'secrets' || (variables.isWebhooks ? !variables.deletes : ${staysOfCluster([...AUTHORITIES, ...LEAVES])})`,
    message: `of Secrets the operator writes only ${WEBHOOKS} in its own namespace, and those of an EtcdCluster, which belong to it and have its name and ${[...AUTHORITIES, ...LEAVES].map((name) => name("")).join(", ")}; it deletes none`,
  },
  {
    // Of other types some are filled by Kubernetes itself, with tokens.
    expression:
      "variables.resource != 'secrets' || !variables.creates || object.?type.orValue('') == 'kubernetes.io/tls'",
    message: "the operator makes Secrets of the type kubernetes.io/tls only",
  },
  {
    expression: `variables.resource != 'configmaps' || (${staysOfCluster([trustConfigMapName])})`,
    message: `of ConfigMaps the operator writes only those of an EtcdCluster, which belong to it and have its name and ${trustConfigMapName("")}; it deletes none`,
  },
  {
    expression: `variables.resource != 'certificates' || (${staysOfCluster(LEAVES)} && object.spec.secretName == object.metadata.name && !object.spec.?isCA.orValue(false))`,
    message:
      "the operator asks cert-manager only for certificates of an EtcdCluster, to which they belong, in a Secret of their own name, and for no authority; it deletes none",
  },
  {
    expression: `!variables.writesReplicaSet || variables.containers.all(each, each.name == '${ETCD_CONTAINER}' || !each.?volumeMounts.orValue([]).exists(one, one.name in ${list([PEER_TLS_VOLUME, CLIENT_TLS_VOLUME])}))`,
    message: `of the containers of the operator's ReplicaSets only ${ETCD_CONTAINER} gets at the member's keys`,
  },
];
