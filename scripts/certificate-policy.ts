import {
  applicationCertificateName,
  BINDING_TYPE,
  bindingName,
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
  rootSecretName,
  serverCertificateName,
  trustConfigMapName,
  WEBHOOKS,
} from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { Named, Validation } from "./admission-policy.ts";
import { isBindingType } from "./binding-policy.ts";

// Limits the operator's Secrets, ConfigMaps and Certificates by name, owner and type. With a right to create Secrets,
// the operator could otherwise have the API server put a token of any account into one. With a right to read Secrets,
// it has only to guess names. Limited are also the Secrets in a member's pod, which only etcd's container gets.

const LEAVES = [peerCertificateName, serverCertificateName, operatorCertificateName, applicationCertificateName];
const AUTHORITIES = [peerAuthorityName, clientAuthorityName];
/** Names of an EtcdCluster's Secrets that the operator writes. */
const SECRETS = [...AUTHORITIES, ...LEAVES, rootSecretName];

function list(texts: readonly string[]): string {
  return `[${texts.map((text) => `'${text}'`).join(", ")}]`;
}

/** Suffixes of the names of a cluster's objects, in CEL. */
function suffixes(names: readonly ((cluster: string) => string)[]): string {
  return list(names.map((name) => name("")));
}

/** Whether the object belongs to the EtcdCluster of its label, and has one of these names, in CEL. */
function isOfCluster(object: "object" | "oldObject", names: readonly ((cluster: string) => string)[]): string {
  const labels = object === "object" ? "variables.labels" : "variables.oldLabels";
  return (
    `(${suffixes(names)}.exists(suffix, ${object}.metadata.name == ${labels}[?'${CLUSTER_LABEL}'].orValue('') + suffix)` +
    ` && ${isOwned(object)})`
  );
}

/** Whether the object belongs to the EtcdCluster of its label, in CEL. */
function isOwned(object: "object" | "oldObject"): string {
  const labels = object === "object" ? "variables.labels" : "variables.oldLabels";
  return (
    `${object}.metadata.?ownerReferences.orValue([]).exists(each, each.?controller.orValue(false) && each.kind == '${ETCD_CLUSTERS.kind}'` +
    ` && each.apiVersion.startsWith('${GROUP}/') && each.name == ${labels}[?'${CLUSTER_LABEL}'].orValue(''))`
  );
}

/**
 * Whether a Certificate for cert-manager belongs to the EtcdCluster of its label, in CEL. Eight digits end its name.
 */
function isIssued(object: "object" | "oldObject"): string {
  const label = `${object === "object" ? "variables.labels" : "variables.oldLabels"}[?'${CLUSTER_LABEL}'].orValue('')`;
  const named = `(${suffixes(LEAVES)}.exists(suffix, ${object}.metadata.name.startsWith(${label} + suffix + '-') && ${object}.metadata.name.size() == (${label} + suffix).size() + 9) && ${object}.metadata.name.matches('-[0-9a-f]{8}$'))`;
  return `(${named} && ${isOwned(object)})`;
}

/**
 * Whether the object is of an EtcdCluster both before and after the request, in CEL: no other object may be taken over.
 */
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

/** Whether the name of a Secret is that of a CA, in CEL. */
export function isAuthoritys(name: string): string {
  return `${suffixes(AUTHORITIES)}.exists(suffix, ${name}.endsWith(suffix))`;
}

/** Whether a source of a member's projected volume is the member's own certificate and key, and not a CA's, in CEL. */
export const isShownByMember =
  `(volume.name in ${list([PEER_TLS_VOLUME, CLIENT_TLS_VOLUME])} && has(source.secret) && source.secret.?items.orValue([]).size() > 0` +
  ` && source.secret.items.all(item, item.path == item.key && item.key in ${list([CERTIFICATE_FILE, KEY_FILE])})` +
  ` && !${isAuthoritys("source.secret.name")})`;

/** Name of the Secret with the password of etcd's user root, for the cluster of the label, in CEL. */
const ROOT_SECRET = `variables.labels[?'${CLUSTER_LABEL}'].orValue('') + '${rootSecretName("")}'`;

export const CERTIFICATE_VALIDATIONS: readonly Validation[] = [
  {
    // RBAC cannot limit creations by name.
    expression: `variables.resource != 'secrets' || variables.isBinding || (variables.isWebhooks ? !variables.deletes : ${staysOfCluster(SECRETS)})`,
    message: `of Secrets the operator writes only ${WEBHOOKS} in its own namespace, and those of an EtcdCluster or EtcdUser. They belong to it, and have its name and ${SECRETS.map((name) => name("")).join(", ")} (EtcdCluster) or ${bindingName("")} (EtcdUser). It deletes none`,
  },
  {
    // Kubernetes fills some other types itself, with tokens.
    expression: `variables.resource != 'secrets' || !variables.creates || (variables.isBinding ? ${isBindingType} : object.?type.orValue('') == (object.metadata.name == ${ROOT_SECRET} ? 'kubernetes.io/basic-auth' : 'kubernetes.io/tls'))`,
    message: `the operator makes Secrets of the type kubernetes.io/tls only, except for etcd's user root (kubernetes.io/basic-auth) and for EtcdUsers (${BINDING_TYPE})`,
  },
  {
    expression: `variables.resource != 'configmaps' || (${staysOfCluster([trustConfigMapName])})`,
    message: `of ConfigMaps the operator writes only those of an EtcdCluster, which belong to it and have its name and ${trustConfigMapName("")}; it deletes none`,
  },
  {
    expression: `variables.resource != 'certificates' || ((variables.isOfBinding || (!variables.deletes && ${isIssued("object")} && (variables.creates || ${isIssued("oldObject")}))) && object.spec.secretName == object.metadata.name && !object.spec.?isCA.orValue(false))`,
    message:
      "the operator asks cert-manager only for certificates of an EtcdCluster, with names that end in eight digits, or of an EtcdUser. They belong to it, are stored in a Secret of their own name, and are no CA. It deletes none",
  },
  {
    expression: `!variables.writesReplicaSet || variables.containers.all(each, each.name == '${ETCD_CONTAINER}' || !each.?volumeMounts.orValue([]).exists(one, one.name in ${list([PEER_TLS_VOLUME, CLIENT_TLS_VOLUME])}))`,
    message: `of the containers of the operator's ReplicaSets only ${ETCD_CONTAINER} gets at the member's keys`,
  },
  {
    // Containers that share processes can read each other's files.
    expression: `!variables.writesReplicaSet || !object.spec.template.spec.?shareProcessNamespace.orValue(false) || !object.spec.template.spec.?volumes.orValue([]).exists(volume, volume.name in ${list([PEER_TLS_VOLUME, CLIENT_TLS_VOLUME])})`,
    message: "containers of the operator's ReplicaSets share no processes where the member has keys",
  },
];
