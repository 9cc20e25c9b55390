import {
  BACKUP_LABEL,
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLUSTER_LABEL,
  DATA_VOLUME,
  GROUP,
  MANAGED_BY_LABEL,
  OPERATOR,
  PEER_LABEL,
  QUARANTINE_LABEL,
  RESTORE_LABEL,
  RESTORED_FROM,
  SCHEDULE_LABEL,
  WEBHOOKS,
} from "#api/names.ts";
import { SYSTEM_PRIORITY } from "#api/pod-template/reserved-power.ts";
import { BINDING_VALIDATIONS, BINDING_VARIABLES } from "./binding-policy.ts";
import { CERTIFICATE_VALIDATIONS, CERTIFICATE_VARIABLES, isShownByMember } from "./certificate-policy.ts";
import { isConfinedPod, listOf } from "./confinement.ts";
import { jobValidations } from "./job-policy.ts";
import { admissionPolicyNamed } from "./policy.ts";

// RBAC grants rights to kinds, not to objects: a right to patch pods is one to every pod. This policy forbids what the
// operator never needs. The API server evaluates it on requests of the operator's account alone.
//
// Variables are CEL, and evaluated only where they are used: a deletion has no `object`, and a creation no `oldObject`.

export interface Named {
  readonly name: string;
  readonly expression: string;
}

export interface Validation {
  /** Condition that must hold; https://kubernetes.io/docs/reference/using-api/cel/ */
  readonly expression: string;
  /** Error that the operator gets, and logs, when it does not hold. */
  readonly message: string;
}

/** Annotations of a claim that identify the member and cluster of its data. */
const IDENTITY = [CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_CLUSTER_TOKEN_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION];

const VARIABLES: readonly Named[] = [
  { name: "resource", expression: "request.resource.resource" },
  { name: "creates", expression: "request.operation == 'CREATE'" },
  { name: "updates", expression: "request.operation == 'UPDATE'" },
  { name: "deletes", expression: "request.operation == 'DELETE'" },
  { name: "labels", expression: "object.metadata.?labels.orValue({})" },
  { name: "oldLabels", expression: "oldObject.metadata.?labels.orValue({})" },
  { name: "annotations", expression: "object.metadata.?annotations.orValue({})" },
  { name: "oldAnnotations", expression: "oldObject.metadata.?annotations.orValue({})" },
  { name: "isClaim", expression: "variables.resource == 'persistentvolumeclaims'" },
  { name: "changesClaim", expression: "variables.isClaim && variables.updates" },
  { name: "changesPod", expression: "variables.resource == 'pods' && variables.updates" },
  { name: "writesReplicaSet", expression: "variables.resource == 'replicasets' && !variables.deletes" },
  { name: "writesService", expression: "variables.resource == 'services' && !variables.deletes" },
  { name: "changesBackup", expression: "variables.resource == 'etcdbackups' && variables.updates" },
  { name: "changesCluster", expression: "variables.resource == 'etcdclusters' && variables.updates" },
  { name: "isDefinition", expression: "variables.resource == 'customresourcedefinitions'" },
  {
    name: "changesDefinition",
    expression: "variables.isDefinition && variables.updates && request.?subResource.orValue('') == ''",
  },
  {
    name: "changesDefinitionStatus",
    expression: "variables.isDefinition && variables.updates && request.?subResource.orValue('') == 'status'",
  },
  { name: "memberPrefix", expression: `variables.labels[?'${CLUSTER_LABEL}'].orValue('') + '-'` },
  { name: "podAnnotations", expression: "object.spec.template.?metadata.?annotations.orValue({})" },
  { name: "containers", expression: "pod.containers + pod.?initContainers.orValue([])" },
  {
    name: "probes",
    expression:
      "variables.containers.map(each, each.?startupProbe) + variables.containers.map(each, each.?livenessProbe)" +
      " + variables.containers.map(each, each.?readinessProbe)",
  },
  {
    name: "hooks",
    expression:
      "variables.containers.map(each, each.?lifecycle.?postStart) + variables.containers.map(each, each.?lifecycle.?preStop)",
  },
  ...BINDING_VARIABLES,
  ...CERTIFICATE_VARIABLES,
].map(({ name, expression }) => ({ name, expression: inTemplate(expression) }));

/** Handlers by which a probe or a hook connects over the network. */
const HANDLERS = ["httpGet", "tcpSocket"];

/** Kinds of volumes that pods may mount. */
const VOLUMES = ["configMap", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected"];
/** Sources that a projected volume may have. */
const SOURCES = ["clusterTrustBundle", "configMap", "downwardAPI"];
/** Sources that values of the environment may have. */
const VALUES = ["configMapKeyRef", "fieldRef", "resourceFieldRef"];
/** Fields by which a claim requests an existing volume, or a copy of existing data. */
const EXISTING = ["volumeName", "selector", "dataSource", "dataSourceRef"];

/** Fields of an endpoint of a PodMonitor, with those that the kind's definition sets by default. */
const MONITOR_FIELDS = ["port", "path", "scheme", "filterRunning"];

function isOneOf(thing: string, kinds: readonly string[]): string {
  return `(${kinds.map((kind) => `has(${thing}.${kind})`).join(" || ")})`;
}

/** Replaces `pod` by the spec of the pods that a ReplicaSet makes. */
function inTemplate(expression: string): string {
  return expression.replaceAll(/\bpod\./g, "object.spec.template.spec.");
}

function isManaged(labels: string): string {
  return `${labels}[?'${MANAGED_BY_LABEL}'].orValue('') == '${OPERATOR}'`;
}

/** Whether an update keeps a field of the metadata, in CEL. */
function isSame(field: string): string {
  return `object.metadata.?${field} == oldObject.metadata.?${field}`;
}

function isOwnKey(key: string): string {
  return `${key}.startsWith('${GROUP}/')`;
}

/** Field with the address of the conversion webhook. */
const CALL = "conversion.?webhook.?clientConfig";
/** Fields of a CustomResourceDefinition's spec, except the one that the operator may write. */
const DEFINITION_FIELDS = [
  ...["group", "names", "scope", "versions", "preserveUnknownFields", "conversion.?strategy"],
  ...["conversion.?webhook.?conversionReviewVersions", `${CALL}.?service`, `${CALL}.?url`],
];

/** Whether a claim has data of a cluster, in CEL. A claim that lost its labels is recognized so, and gets them back. */
const HELD_DATA_OF_OURS = `'${CLAIM_CLUSTER_ID_ANNOTATION}' in variables.oldAnnotations`;

/** Labels of pods that the operator deletes: of members, and of the Jobs of its agent. */
const DELETABLE = [PEER_LABEL, BACKUP_LABEL, RESTORE_LABEL];

/** Validations of the operator's requests: each has one message, so that the error names the broken rule. */
export const VALIDATIONS: readonly Validation[] = [
  {
    expression: `!variables.creates || (variables.resource != 'pods' && ${isManaged("variables.labels")})`,
    message: `the operator creates no pods, and nothing without the label ${MANAGED_BY_LABEL}=${OPERATOR}`,
  },
  {
    // CustomResourceDefinitions have rules of their own: an administrator creates them. Other exceptions are checked
    // below: of users' backups, roles and users the operator changes only finalizers, and of their clusters spec.tls.
    expression: `variables.creates || variables.isDefinition || variables.changesBackup || variables.changesCluster || variables.changesAccess || ${isManaged("variables.oldLabels")} || (variables.isClaim && ${HELD_DATA_OF_OURS})`,
    message: `the operator changes and deletes only what has the label ${MANAGED_BY_LABEL}=${OPERATOR}`,
  },
  {
    expression: `!variables.updates || !(${isManaged("variables.oldLabels")}) || ${isManaged("variables.labels")}`,
    message: `the operator does not take the label ${MANAGED_BY_LABEL}=${OPERATOR} away`,
  },
  {
    expression: `variables.resource != 'pods' || !variables.deletes || ${listOf(DELETABLE)}.exists(label, label in variables.oldLabels)`,
    message: `of pods the operator deletes only those of members, backups and restores, which have one of the labels ${DELETABLE.join(", ")}`,
  },
  {
    expression: `variables.resource != 'etcdbackups' || !variables.deletes || '${SCHEDULE_LABEL}' in variables.oldLabels`,
    message: `of EtcdBackups the operator deletes only those of schedules, which have the label ${SCHEDULE_LABEL}`,
  },
  {
    expression: `!variables.changesBackup || (object.spec == oldObject.spec && variables.labels == variables.oldLabels && ${isSame("ownerReferences")})`,
    message: "of an EtcdBackup the operator changes only its finalizers and annotations",
  },
  {
    expression:
      "!variables.changesCluster || (!has(oldObject.spec.tls) && has(object.spec.tls) && !oldObject.?status.?identity.hasValue())",
    message: "of an EtcdCluster the operator writes only spec.tls, where there is none and the cluster is not made yet",
  },
  {
    expression: `!variables.changesCluster || (object.spec.all(field, field == 'tls' || (field in oldObject.spec && object.spec[field] == oldObject.spec[field])) && oldObject.spec.all(field, field in object.spec) && ${["labels", "annotations", "finalizers", "ownerReferences"].map((each) => isSame(each)).join(" && ")})`,
    message: "of an EtcdCluster the operator changes nothing but spec.tls",
  },
  {
    expression: "!variables.changesPod || object.spec == oldObject.spec",
    message: "of a pod the operator changes only annotations, not its spec",
  },
  {
    expression: "!variables.changesPod || variables.labels == variables.oldLabels",
    message: "of a pod the operator changes only annotations, not its labels",
  },
  {
    expression: `!variables.changesPod || (${isSame("finalizers")} && ${isSame("ownerReferences")})`,
    message: "of a pod the operator changes only annotations, not its finalizers or owners",
  },
  {
    expression:
      `!variables.changesPod || (variables.annotations.all(key, ${isOwnKey("key")} || key in variables.oldAnnotations)` +
      ` && variables.oldAnnotations.all(key, ${isOwnKey("key")} || variables.annotations[?key] == variables.oldAnnotations[?key]))`,
    message: `of a pod the operator changes only annotations that begin with ${GROUP}/`,
  },
  {
    expression: "!variables.changesClaim || object.spec == oldObject.spec",
    message: "of a claim the operator changes only labels and annotations, not its spec",
  },
  {
    expression: `!variables.changesClaim || ${isSame("finalizers")}`,
    message: "of a claim the operator changes only labels and annotations, not its finalizers",
  },
  {
    // With an owner, the garbage collector would delete the claim and its data together with the owner.
    expression: `!variables.isClaim || variables.deletes || (variables.creates ? !has(object.metadata.ownerReferences) : ${isSame("ownerReferences")})`,
    message: "the operator gives no claim an owner",
  },
  {
    expression: `!variables.changesClaim || [${IDENTITY.map((key) => `'${key}'`).join(", ")}].all(key, !(key in variables.oldAnnotations) || variables.annotations[?key] == variables.oldAnnotations[?key])`,
    message: "the operator does not rewrite a claim's record of its data",
  },
  {
    // A claim could take an existing volume, or a copy of existing data.
    expression:
      "!variables.isClaim || !variables.creates || !(has(object.spec.volumeName) || has(object.spec.dataSource) || has(object.spec.dataSourceRef))",
    message: "the operator's claims are for new volumes, neither for one by its name nor for a copy",
  },
  {
    expression: `!variables.isClaim || !variables.deletes || !('${QUARANTINE_LABEL}' in variables.oldLabels)`,
    message: "quarantined claims are deleted by people only",
  },
  {
    // Otherwise the operator could remove the label first and then delete the claim.
    expression: `!variables.changesClaim || !('${QUARANTINE_LABEL}' in variables.oldLabels) || variables.labels[?'${QUARANTINE_LABEL}'] == variables.oldLabels[?'${QUARANTINE_LABEL}']`,
    message: "quarantined claims are taken back by people only",
  },
  {
    // No pod template may read a Secret. Secrets of spec.bootstrap.fromBackup are only for Jobs, which job-policy.ts
    // limits. Kinds of volumes that are missing in the list may name Secrets, too.
    expression: inTemplate(
      `!variables.writesReplicaSet || pod.?volumes.orValue([]).all(volume, ${isOneOf("volume", VOLUMES)}` +
        ` && volume.?projected.?sources.orValue([]).all(source, ${isOneOf("source", SOURCES)} || ${isShownByMember}))`,
    ),
    message: `pods of the operator's ReplicaSets mount nothing but ${VOLUMES.join(", ")}, no tokens, and of Secrets only the key pair that a member shows`,
  },
  {
    expression: inTemplate(
      "!variables.writesReplicaSet || pod.?volumes.orValue([]).all(volume," +
        ` ${EXISTING.map((field) => `!volume.?ephemeral.?volumeClaimTemplate.?spec.?${field}.hasValue()`).join(" && ")})`,
    ),
    message: "volumes that pods of the operator's ReplicaSets bring are new ones, neither one by its name nor a copy",
  },
  {
    // Two processes that write to the same data destroy them.
    expression: inTemplate(
      `!variables.writesReplicaSet || pod.?volumes.orValue([]).all(volume, volume.name == '${DATA_VOLUME}'` +
        " || !volume.?persistentVolumeClaim.?claimName.orValue('').startsWith(variables.memberPrefix)" +
        " || !volume.persistentVolumeClaim.claimName.substring(size(variables.memberPrefix)).matches('^[0-9]+$'))",
    ),
    message: "pods of the operator's ReplicaSets mount no claim of a member beside its own data",
  },
  {
    expression:
      "!variables.writesReplicaSet || variables.containers.all(each, each.?envFrom.orValue([]).all(one, has(one.configMapRef))" +
      ` && each.?env.orValue([]).all(one, !has(one.valueFrom) || ${isOneOf("one.valueFrom", VALUES)}))`,
    message: "containers of the operator's ReplicaSets have no Secrets in their environment",
  },
  {
    expression: inTemplate("!variables.writesReplicaSet || !pod.?automountServiceAccountToken.orValue(true)"),
    message: "pods of the operator's ReplicaSets get no token",
  },
  {
    // An account has its own pull secrets, and policies of the cluster may allow more to it. The account of
    // spec.bootstrap.fromBackup is for Jobs alone.
    expression: inTemplate("!variables.writesReplicaSet || pod.?serviceAccountName.orValue('default') == 'default'"),
    message: "pods of the operator's ReplicaSets run under no service account but the default one",
  },
  {
    expression: inTemplate("!variables.writesReplicaSet || pod.?resourceClaims.orValue([]).size() == 0"),
    message: "pods of the operator's ReplicaSets claim no devices",
  },
  {
    expression: inTemplate(
      `!variables.writesReplicaSet || (!has(pod.nodeName) && !pod.?priorityClassName.orValue('').startsWith('${SYSTEM_PRIORITY}'))`,
    ),
    message:
      "pods of the operator's ReplicaSets are placed by a scheduler, and have no priority of Kubernetes' own components",
  },
  {
    expression: inTemplate(
      "!variables.writesReplicaSet || !(pod.?hostNetwork.orValue(false) || pod.?hostPID.orValue(false) || pod.?hostIPC.orValue(false))",
    ),
    message: "pods of the operator's ReplicaSets do not share the network, processes or memory of their node",
  },
  {
    // Forbids privileged containers, too: the API server refuses them without allowPrivilegeEscalation.
    expression:
      "!variables.writesReplicaSet || variables.containers.all(each, !each.?securityContext.?allowPrivilegeEscalation.orValue(true)" +
      " && !each.?securityContext.?capabilities.?add.hasValue())",
    message: "containers of the operator's ReplicaSets do not gain privileges",
  },
  {
    expression: inTemplate(
      `!variables.writesReplicaSet || (${isConfinedPod("variables.containers", "variables.podAnnotations")})`,
    ),
    message: "pods of the operator's ReplicaSets are confined as Pod Security baseline wants them",
  },
  {
    expression:
      "!variables.writesReplicaSet || variables.containers.all(each, each.?ports.orValue([]).all(port, port.?hostPort.orValue(0) == 0))",
    message: "containers of the operator's ReplicaSets take no port of their node",
  },
  {
    // The kubelet connects from the node: it reaches servers that a pod may not reach, and those on the node's
    // loopback.
    expression: `!variables.writesReplicaSet || [variables.probes, variables.hooks].all(list, list.all(each, ${HANDLERS.map((handler) => `!each.?${handler}.?host.hasValue()`).join(" && ")}))`,
    message: "probes and hooks of the operator's ReplicaSets name no host: they ask their own pod",
  },
  {
    expression: `variables.resource != 'etcdclusters' || !variables.creates || '${RESTORED_FROM}' in variables.annotations`,
    message: `the operator makes EtcdClusters only of restores, with the annotation ${RESTORED_FROM}`,
  },
  {
    expression:
      "variables.resource != 'etcdrestores' || object.metadata.?ownerReferences.orValue([]).exists(each, each.?controller.orValue(false) && each.kind == 'EtcdCluster')",
    message: "the operator makes EtcdRestores only for EtcdClusters, to which they belong",
  },
  ...CERTIFICATE_VALIDATIONS,
  ...BINDING_VALIDATIONS,
  {
    // A policy for other pods could cut them off, or allow what another policy forbids.
    expression: `variables.resource != 'networkpolicies' || variables.deletes || (object.spec.podSelector.?matchLabels.orValue({})[?'${CLUSTER_LABEL}'].orValue('') == object.metadata.name && object.spec.policyTypes == ['Ingress'])`,
    message:
      "the operator's NetworkPolicies select the members of the EtcdCluster of their name, and limit only ingress",
  },
  {
    // A Prometheus reads the endpoints with its own rights, and could be made to send Secrets to them.
    expression:
      "variables.resource != 'podmonitors' || variables.deletes || (!has(object.spec.namespaceSelector)" +
      ` && object.spec.podMetricsEndpoints.all(each, each.all(field, field in ${listOf(MONITOR_FIELDS)})))`,
    message: "the operator's PodMonitors lead to pods of their own namespace, and name no Secrets",
  },
  {
    expression: "!variables.isDefinition || variables.updates",
    message: "the operator neither makes nor deletes a CustomResourceDefinition",
  },
  {
    expression: `!variables.isDefinition || !variables.updates || oldObject.spec.group == '${GROUP}'`,
    message: `of CustomResourceDefinitions the operator changes only those of ${GROUP}`,
  },
  {
    expression: `!variables.isDefinition || !variables.updates || (${["labels", "annotations", "finalizers", "ownerReferences"].map((each) => isSame(each)).join(" && ")})`,
    message: "of the metadata of a CustomResourceDefinition the operator changes nothing",
  },
  {
    // The operator writes only the CA bundle of the conversion webhook. Its address and all other fields are the
    // administrator's.
    expression: `!variables.changesDefinition || (${DEFINITION_FIELDS.map((each) => `object.spec.?${each} == oldObject.spec.?${each}`).join(" && ")})`,
    message: "of the spec of a CustomResourceDefinition the operator changes only the CA bundle for conversions",
  },
  {
    expression: `!variables.changesDefinition || object.spec.?${CALL}.?caBundle == oldObject.spec.?${CALL}.?caBundle || oldObject.spec.?${CALL}.?service.?name.orValue('') == '${WEBHOOKS}'`,
    message: `the operator sets a CA bundle only for conversions by its own Service ${WEBHOOKS}`,
  },
  {
    expression:
      "!variables.changesDefinitionStatus || object.status.?storedVersions == oldObject.status.?storedVersions || oldObject.spec.versions.exists(each, each.storage && object.status.?storedVersions.orValue([]) == [each.name])",
    message: "as stored versions of a CustomResourceDefinition the operator sets only the one that is stored",
  },
  {
    expression: `!variables.changesDefinitionStatus || (${["conditions", "acceptedNames"].map((each) => `object.status.?${each} == oldObject.status.?${each}`).join(" && ")})`,
    message: "of the status of a CustomResourceDefinition the operator changes only its stored versions",
  },
  {
    // A node port or a load balancer opens the cluster to the outside. The operator may set these types only for the
    // client Service, as spec.clientService.spec.type requests. Types that a user has set are kept.
    expression:
      "!variables.writesService || object.spec.?type.orValue('ClusterIP') == 'ClusterIP' || (variables.updates && object.spec.?type == oldObject.spec.?type)" +
      " || (object.metadata.name.endsWith('-client') && object.spec.?type.orValue('') in ['NodePort', 'LoadBalancer'])",
    message:
      "the operator's Services have the type ClusterIP, or, when their names end with -client, NodePort or LoadBalancer",
  },
  {
    // A Service with external IPs takes over the traffic that all nodes send to these addresses.
    expression:
      "!variables.writesService || object.spec.?externalIPs.orValue([]).size() == 0 || (variables.updates && object.spec.?externalIPs == oldObject.spec.?externalIPs)",
    message: "the operator's Services take no externalIPs",
  },
];

/**
 * The policy and its binding (admissionregistration.k8s.io/v1, Kubernetes 1.30 or later).
 * @param user the operator's account
 * @param image the operator's own image, which pods of backups run
 * @param repositories of etcd's images that may have a cloud identity
 */
export function admissionPolicy(
  user: string,
  image: string,
  repositories: readonly string[],
  labels: Readonly<Record<string, string>>,
) {
  const all = [...VALIDATIONS, ...jobValidations(image, repositories)];
  const rule = (group: string, resources: readonly string[], operations: readonly string[]) => ({
    apiGroups: [group],
    apiVersions: ["*"],
    resources,
    operations,
  });
  const every = ["CREATE", "UPDATE", "DELETE"];
  return admissionPolicyNamed(OPERATOR, labels, {
    matchConstraints: {
      resourceRules: [
        rule("", ["configmaps", "persistentvolumeclaims", "pods", "secrets", "services"], every),
        rule("apps", ["replicasets"], every),
        rule("batch", ["jobs"], every),
        rule("policy", ["poddisruptionbudgets"], every),
        rule("networking.k8s.io", ["networkpolicies"], every),
        rule("monitoring.coreos.com", ["podmonitors"], every),
        rule("cert-manager.io", ["certificates"], every),
        rule("apiextensions.k8s.io", ["customresourcedefinitions", "customresourcedefinitions/status"], every),
        // Only CREATE: an EtcdPeer that lost its labels still belongs to its cluster, and is managed.
        rule(GROUP, ["etcdpeers", "etcdrestores"], ["CREATE"]),
        rule(GROUP, ["etcdclusters"], ["CREATE", "UPDATE"]),
        rule(GROUP, ["etcdbackups", "etcdroles", "etcdusers"], every),
      ],
    },
    matchConditions: [{ name: "operator", expression: `request.userInfo.username == '${user}'` }],
    variables: VARIABLES,
    validations: all.map((validation) => ({ ...validation, reason: "Forbidden" })),
  });
}
