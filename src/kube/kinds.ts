import type { IValidatingWebhookConfiguration } from "kubernetes-models/admissionregistration.k8s.io/v1";
import type { ICustomResourceDefinition } from "kubernetes-models/apiextensions.k8s.io/v1";
import type { IReplicaSet } from "kubernetes-models/apps/v1";
import type { IJob } from "kubernetes-models/batch/v1";
import type { ILease } from "kubernetes-models/coordination.k8s.io/v1";
import type { IEvent } from "kubernetes-models/events.k8s.io/v1";
import type { INetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import type { IPodDisruptionBudget } from "kubernetes-models/policy/v1";
import type { IStorageClass } from "kubernetes-models/storage.k8s.io/v1";
import type { IConfigMap, IPersistentVolumeClaim, IPod, ISecret, IService } from "kubernetes-models/v1";

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/#OwnerReference */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** True on the one owner that manages the object. */
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/**
 * Metadata of an object as read from the server: name, uid and resourceVersion are always set.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
 */
export interface ObjectMeta {
  readonly name: string;
  /** Absent exactly on cluster-scoped objects. */
  readonly namespace?: string;
  /** Differs between an object and a later one with the same name. */
  readonly uid: string;
  /** Decimal digits; since Kubernetes 1.35 comparable as a number within one resource. */
  readonly resourceVersion: string;
  /** Increases with every change of the spec, for kinds that have it. */
  readonly generation?: number;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  /** RFC 3339; set once deletion was requested. */
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  /** Field managers with the time of their last write (RFC 3339). Objects in a cache have none. */
  readonly managedFields?: readonly { readonly manager?: string; readonly time?: string }[];
}

/** Metadata of an object that lives in a namespace. */
export interface NamespacedMeta extends ObjectMeta {
  readonly namespace: string;
}

/** Metadata of an object to send. A uid or resourceVersion in it is a precondition. */
interface DraftMeta extends Partial<Omit<ObjectMeta, "name">> {
  readonly name: string;
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** Object to send. For server-side apply it holds only the fields to own. */
export type Draft<T extends KubeObject> = Pick<T, "apiVersion" | "kind"> & { readonly metadata: DraftMeta } & Partial<
    Omit<T, "apiVersion" | "kind" | "metadata">
  >;

/** Answer to a list. Items of built-in kinds lack apiVersion and kind; the client adds them. */
export interface KubeList<T extends KubeObject> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** Namespace and name of an object; `namespace` is absent exactly for cluster-scoped kinds. */
export interface Ref {
  readonly namespace?: string;
  readonly name: string;
}

/** Names of a kind in the API. `T` is the type of its objects, for the compiler only. */
export interface Resource<T extends KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Lower case, as in URLs. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: ties the descriptor to its type. */
  readonly objectType?: T;
}

/** Any kind, for code that uses only the metadata. */
export type AnyResource = Resource<KubeObject>;

/** Describes a kind, built-in or custom. */
export function resource<T extends KubeObject>(names: Omit<Resource<T>, "objectType">): Resource<T> {
  return names;
}

/** `group/version`, or only the version in the core group. */
export function apiVersionOf(resource: AnyResource): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** `plural.group`, as kubectl and error messages name it. */
export function resourceName(resource: AnyResource): string {
  return resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
}

/** Key of an object or Ref within its kind: `namespace/name`, or `name` when cluster-scoped. */
export function keyOf(of: Ref | { readonly metadata: Ref }): string {
  const ref = "metadata" in of ? of.metadata : of;
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
}

/** Controlling owner of the object, if any. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** Reference by which the garbage collector deletes an object with its owner. */
export function ownerReference(owner: AnyResource, { metadata: { name, uid } }: KubeObject): OwnerReference {
  const { kind } = owner;
  return { apiVersion: apiVersionOf(owner), kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Clause of a message about an object with a name that we need: what manages the object. */
export function controllerText(object: KubeObject): string {
  const owner = controllerOf(object);
  return owner === undefined ? "it has no controller" : `${owner.kind} ${owner.name} (uid ${owner.uid}) manages it`;
}

/**
 * A resourceVersion as a number to compare within one resource.
 * @returns undefined when it is not made of digits: such versions may only be tested for equality
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
 */
export function versionOf(resourceVersion: string): bigint | undefined {
  return /^[0-9]{1,40}$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
}

/** Type of a built-in kind as read from the server. */
export type Read<T, Meta extends ObjectMeta> = Omit<T, "metadata" | "apiVersion" | "kind"> &
  KubeObject & { readonly metadata: Meta };

export type Pod = Read<IPod, NamespacedMeta>;
export type Service = Read<IService, NamespacedMeta>;
export type PersistentVolumeClaim = Read<IPersistentVolumeClaim, NamespacedMeta>;
export type ReplicaSet = Read<IReplicaSet, NamespacedMeta>;
export type NetworkPolicy = Read<INetworkPolicy, NamespacedMeta>;
export type PodDisruptionBudget = Read<IPodDisruptionBudget, NamespacedMeta>;
export type Event = Read<IEvent, NamespacedMeta>;
export type Lease = Read<ILease, NamespacedMeta>;
export type Job = Read<IJob, NamespacedMeta>;
/**
 * Kind of the Prometheus Operator, with the fields used here.
 * https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PodMonitor
 */
export interface PodMonitor extends KubeObject {
  readonly metadata: NamespacedMeta;
  readonly spec?: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly namespaceSelector?: object;
    readonly podTargetLabels?: readonly string[];
    readonly podMetricsEndpoints?: readonly { readonly port: string; readonly path: string }[];
  };
}
export type StorageClass = Read<IStorageClass, ObjectMeta>;
export type Secret = Read<ISecret, NamespacedMeta>;
export type ConfigMap = Read<IConfigMap, NamespacedMeta>;
/**
 * Kind of cert-manager, with the fields used here.
 * https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.Certificate
 */
export interface Certificate extends KubeObject {
  readonly metadata: NamespacedMeta;
  readonly spec?: {
    readonly secretName: string;
    readonly issuerRef: { readonly name: string; readonly kind?: string; readonly group?: string };
    readonly commonName?: string;
    readonly dnsNames?: readonly string[];
    readonly ipAddresses?: readonly string[];
    readonly usages?: readonly string[];
    readonly duration?: string;
    readonly renewBefore?: string;
    readonly privateKey?: { readonly algorithm?: string; readonly size?: number; readonly rotationPolicy?: string };
    readonly secretTemplate?: { readonly labels?: Readonly<Record<string, string>> };
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}
export type ValidatingWebhookConfiguration = Read<IValidatingWebhookConfiguration, ObjectMeta>;
export type CustomResourceDefinition = Read<ICustomResourceDefinition, ObjectMeta>;

const core = { group: "", version: "v1" };
export const PODS = resource<Pod>({ ...core, kind: "Pod", plural: "pods", namespaced: true });
export const SERVICES = resource<Service>({ ...core, kind: "Service", plural: "services", namespaced: true });
export const PERSISTENT_VOLUME_CLAIMS = resource<PersistentVolumeClaim>({
  ...core,
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
});
export const REPLICA_SETS = resource<ReplicaSet>({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  namespaced: true,
});
export const SECRETS = resource<Secret>({ ...core, kind: "Secret", plural: "secrets", namespaced: true });
export const CONFIG_MAPS = resource<ConfigMap>({ ...core, kind: "ConfigMap", plural: "configmaps", namespaced: true });
export const CERTIFICATES = resource<Certificate>({
  group: "cert-manager.io",
  version: "v1",
  kind: "Certificate",
  plural: "certificates",
  namespaced: true,
});
export const POD_DISRUPTION_BUDGETS = resource<PodDisruptionBudget>({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
});
export const NETWORK_POLICIES = resource<NetworkPolicy>({
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
});
export const EVENTS = resource<Event>({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
});
export const LEASES = resource<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
});
export const JOBS = resource<Job>({ group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true });
export const POD_MONITORS = resource<PodMonitor>({
  group: "monitoring.coreos.com",
  version: "v1",
  kind: "PodMonitor",
  plural: "podmonitors",
  namespaced: true,
});
export const STORAGE_CLASSES = resource<StorageClass>({
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  namespaced: false,
});
export const VALIDATING_WEBHOOK_CONFIGURATIONS = resource<ValidatingWebhookConfiguration>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
});
export const CUSTOM_RESOURCE_DEFINITIONS = resource<CustomResourceDefinition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
