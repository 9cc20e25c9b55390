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

// Whoever may make Secrets may have the API server put a token of any account into one, and whoever may read them by name has to guess only the
// name. So what the operator writes is fixed here by name, owner and type; and which Secrets get into a member's pod, and there to etcd alone.

const LEAVES = [peerCertificateName, serverCertificateName, operatorCertificateName, applicationCertificateName];
const AUTHORITIES = [peerAuthorityName, clientAuthorityName];
/** All of an EtcdCluster that the operator writes. */
const SECRETS = [...AUTHORITIES, ...LEAVES, rootSecretName];

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
    ` && ${isOwned(object)})`
  );
}

/** Whether it belongs to the EtcdCluster of its label. */
function isOwned(object: "object" | "oldObject"): string {
  const labels = object === "object" ? "variables.labels" : "variables.oldLabels";
  return (
    `${object}.metadata.?ownerReferences.orValue([]).exists(each, each.?controller.orValue(false) && each.kind == '${ETCD_CLUSTERS.kind}'` +
    ` && each.apiVersion.startsWith('${GROUP}/') && each.name == ${labels}[?'${CLUSTER_LABEL}'].orValue(''))`
  );
}

/** The same of what an issuer of cert-manager is asked for: eight digits tell whose it is. */
function isIssued(object: "object" | "oldObject"): string {
  const label = `${object === "object" ? "variables.labels" : "variables.oldLabels"}[?'${CLUSTER_LABEL}'].orValue('')`;
  const named = `(${suffixes(LEAVES)}.exists(suffix, ${object}.metadata.name.startsWith(${label} + suffix + '-') && ${object}.metadata.name.size() == (${label} + suffix).size() + 9) && ${object}.metadata.name.matches('-[0-9a-f]{8}$'))`;
  return `(${named} && ${isOwned(object)})`;
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

/** Whether the name of a Secret is that of an authority; in CEL. */
export function isAuthoritys(name: string): string {
  return `${suffixes(AUTHORITIES)}.exists(suffix, ${name}.endsWith(suffix))`;
}

/** Whether a source of a projected volume of a member is the key pair that the member shows, and no authority's, whoever asks for it; in CEL. */
export const isShownByMember =
  `(volume.name in ${list([PEER_TLS_VOLUME, CLIENT_TLS_VOLUME])} && has(source.secret) && source.secret.?items.orValue([]).size() > 0` +
  ` && source.secret.items.all(item, item.path == item.key && item.key in ${list([CERTIFICATE_FILE, KEY_FILE])})` +
  ` && !${isAuthoritys("source.secret.name")})`;

/** The name of the Secret with the password of etcd's user root, of the cluster of the label. */
const ROOT_SECRET = `variables.labels[?'${CLUSTER_LABEL}'].orValue('') + '${rootSecretName("")}'`;

export const CERTIFICATE_VALIDATIONS: readonly Validation[] = [
  {
    // RBAC knows no name of what is yet to be made.
    expression: `variables.resource != 'secrets' || variables.isBinding || (variables.isWebhooks ? !variables.deletes : ${staysOfCluster(SECRETS)})`,
    message: `of Secrets the operator writes only ${WEBHOOKS} in its own namespace, and those of an EtcdCluster, which belong to it and have its name and ${SECRETS.map((name) => name("")).join(", ")}, or to an EtcdUser and its name and ${bindingName("")}; it deletes none`,
  },
  {
    // Of other types some are filled by Kubernetes itself, with tokens.
    expression: `variables.resource != 'secrets' || !variables.creates || (variables.isBinding ? ${isBindingType} : object.?type.orValue('') == (object.metadata.name == ${ROOT_SECRET} ? 'kubernetes.io/basic-auth' : 'kubernetes.io/tls'))`,
    message: `the operator makes Secrets of the type kubernetes.io/tls only, that of etcd's user root of the type kubernetes.io/basic-auth, and those of EtcdUsers of the type ${BINDING_TYPE}`,
  },
  {
    expression: `variables.resource != 'configmaps' || (${staysOfCluster([trustConfigMapName])})`,
    message: `of ConfigMaps the operator writes only those of an EtcdCluster, which belong to it and have its name and ${trustConfigMapName("")}; it deletes none`,
  },
  {
    expression: `variables.resource != 'certificates' || ((variables.isOfBinding || (!variables.deletes && ${isIssued("object")} && (variables.creates || ${isIssued("oldObject")}))) && object.spec.secretName == object.metadata.name && !object.spec.?isCA.orValue(false))`,
    message:
      "the operator asks cert-manager only for certificates of an EtcdCluster, whose names end in eight digits, or of an EtcdUser, to which they belong, in a Secret of their own name, and for no authority; it deletes none",
  },
  {
    expression: `!variables.writesReplicaSet || variables.containers.all(each, each.name == '${ETCD_CONTAINER}' || !each.?volumeMounts.orValue([]).exists(one, one.name in ${list([PEER_TLS_VOLUME, CLIENT_TLS_VOLUME])}))`,
    message: `of the containers of the operator's ReplicaSets only ${ETCD_CONTAINER} gets at the member's keys`,
  },
];
