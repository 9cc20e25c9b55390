import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { clusterLabels, memberSelector, OPERATOR } from "#api/names.ts";
import { mergePodTemplate } from "#api/pod-template/merge.ts";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { asOperatorError } from "#base/error.ts";
import { disruptionBudget } from "#cluster/exposure/desired/disruption-budget.ts";
import { networkPolicy } from "#cluster/exposure/desired/network-policy.ts";
import { podMonitor } from "#cluster/exposure/desired/pod-monitor.ts";
import { clientService } from "#cluster/exposure/desired/services.ts";
import { fencedPeer } from "#cluster/members/desired/peer.ts";
import { ownedBy } from "#cluster/owned.ts";
import { identityOf } from "#cluster/snapshot.ts";
import { TLS_IN_PODS } from "#kit/pods/pod-keys.ts";
import { POD_MONITOR_DEFINITION } from "#kit/pods/pod-monitor.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { definitionOf } from "#kit/servers/foreign-kind.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { kindOf } from "#kit/servers/webhooks-apiserver.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { peer } from "#kit/snapshots/peer.ts";
import {
  ALLOWED,
  CONFINED_OTHERWISE,
  FORBIDDEN,
  type PodPart,
  UNCONFINED,
  WHOLE_TEMPLATE,
} from "#kit/tables/pod-power.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type AnyResource,
  apiVersionOf,
  CERTIFICATES,
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  type Draft,
  type KubeObject,
  NETWORK_POLICIES,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  POD_MONITORS,
  PODS,
  REPLICA_SETS,
  resource,
  resourceName,
  SECRETS,
  SERVICES,
  type Secret,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from "#kube/kinds.ts";
import { podTemplate } from "#peer/desired/pod.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import { caBundleOf } from "#webhooks/certificate/bundle.ts";
import { newAuthority } from "#webhooks/certificate/issue.ts";
import { secretFor } from "#webhooks/certificate/material.ts";
import { VALIDATIONS } from "../../scripts/admission-policy.ts";
import { crdManifests, OPERATOR_NAMESPACE, OPERATOR_USER } from "../../scripts/manifests.ts";

/** Removes etcd's own lifecycle hook: a hook has one handler only, and some parts of a template bring a handler. */
const HOOKLESS = { spec: { containers: [{ name: "etcd", lifecycle: null }] } };

// What the operator's account may do, according to a real API server with the shipped manifests.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "foo";

let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;

beforeAll(async () => {
  // A plugin of some distributions: an owner that blocks deletion may be set only with a right on that owner.
  const flags = ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"];
  const kinds = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_BACKUP_SCHEDULES, POD_MONITORS, CERTIFICATES];
  const foreign = [POD_MONITOR_DEFINITION, definitionOf(CERTIFICATES)];
  ({ server, admin, operator } = await startShipped({ namespace, kinds, foreign, flags }));
});
afterAll(async () => await server?.stop());

/** An object as the operator writes it, under the test's own name. */
function ours(of: AnyResource, name: string): Draft<KubeObject> {
  const draft = drafts(clusterIn(name))[of.plural]!;
  return { ...draft, metadata: { ...draft.metadata, name, namespace } };
}

/** The EtcdCluster at the beginning of the test's name. */
function clusterIn(name: string): string {
  return /^case-[0-9]+/.exec(name)?.[0] ?? "my-etcd";
}

/** @param its name of the EtcdCluster that owns the certificates */
function drafts(its: string): Readonly<Record<string, Draft<KubeObject>>> {
  const [member, whole] = [peer(), cluster()];
  const { metadata, spec } = podTemplate(member);
  const annotations = { ...metadata.annotations, "example.com/of": "others" };
  return {
    pods: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "", labels: metadata.labels, annotations },
      spec,
    } as Draft<KubeObject>,
    services: clientService(whole),
    persistentvolumeclaims: volumeClaim(member),
    secrets: ofCluster(its, SECRETS, { type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } }),
    configmaps: ofCluster(its, CONFIG_MAPS, { data: { "ca.crt": "" } }),
    certificates: ofCluster(its, CERTIFICATES, {}),
    replicasets: replicaSet(member),
    poddisruptionbudgets: disruptionBudget(whole),
    networkpolicies: ofCluster(its, NETWORK_POLICIES, {
      spec: { ...networkPolicy(whole).spec, podSelector: { matchLabels: memberSelector(its) } },
    }),
    podmonitors: podMonitor(whole),
    etcdpeers: fencedPeer(whole, identityOf(whole)!, "my-etcd-0"),
  };
}

/** The spec of a Certificate for this Secret. */
function asking(secretName: string) {
  return { spec: { secretName } };
}

/** An object of the cluster, as the operator creates it. */
function ofCluster(its: string, of: AnyResource, rest: object): Draft<KubeObject> {
  const metadata = { name: "", labels: clusterLabels(its), ownerReferences: [{ ...ownedBy(cluster()), name: its }] };
  return { apiVersion: apiVersionOf(of), kind: of.kind, metadata, ...rest };
}

function certificate(): Draft<Secret> {
  return secretFor(OPERATOR_NAMESPACE, { authority: NO_PAIR, serving: NO_PAIR, earlier: [] }, undefined);
}

const NO_PAIR = { certificate: "a", key: "b" };

type Json = { [key: string]: unknown };

/** A merge patch (RFC 7386), as far as these tests need it. */
function merged(to: unknown, change: unknown): unknown {
  if (typeof change !== "object" || change === null || Array.isArray(change)) return change;
  const result: Json = { ...(to as Json) };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key] ?? {}, value);
  }
  return result;
}

const UNLABELLED = { metadata: { labels: { "app.kubernetes.io/managed-by": null } } };
const QUARANTINED = { metadata: { labels: { "etcd.improbable.io/quarantined": "true" } } };
const NOT_OURS = {
  metadata: {
    labels: null,
    annotations: { "etcd.improbable.io/cluster-id": null },
  },
};
const OWNER = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "11111111-1111-1111-1111-111111111111" };

interface Case {
  readonly what: string;
  readonly of: AnyResource;
  /** How the existing object differs from one that the operator would have created. */
  readonly was?: object;
  readonly write: { create: object } | { patch: object } | "delete";
  /** End of the object's name. */
  readonly suffix?: string;
  /** The refusal; absent when the write is allowed. */
  readonly says?: string;
}

const NO_LABEL = "nothing without the label app.kubernetes.io/managed-by=etcd-cluster-operator";
const NOT_MANAGED = "changes and deletes only what has the label";
const KEEPS_LABEL = "does not take the label";
const POD = "of a pod the operator changes only annotations";
const PODS_SPEC = `${POD}, not its spec`;
const PODS_LABELS = `${POD}, not its labels`;
const PODS_OWNERS = `${POD}, not its finalizers or owners`;
const PODS_ANNOTATIONS = `${POD} that begin with etcd.improbable.io/`;
const CLAIM = "of a claim the operator changes only labels and annotations, ";
const OTHER_SECRET =
  "of Secrets the operator writes only etcd-cluster-operator-webhooks in its own namespace, and those of";
const OTHER_TYPE = "makes Secrets of the type kubernetes.io/tls only";
const OTHER_MAP = "of ConfigMaps the operator writes only those of an EtcdCluster";
const OTHER_CERTIFICATE = "asks cert-manager only for certificates of an EtcdCluster";
const NEW_VOLUME = "claims are for new volumes, neither for one by its name nor for a copy";
const TYPE = "have the type ClusterIP";
const ADDRESSES = "take no externalIPs";

const REACHED = "select the members of the EtcdCluster of their name, and limit only ingress";
const MONITOR = "PodMonitors lead to pods of their own namespace, and name no Secrets";

const MADE = [
  SERVICES,
  POD_DISRUPTION_BUDGETS,
  NETWORK_POLICIES,
  POD_MONITORS,
  REPLICA_SETS,
  PERSISTENT_VOLUME_CLAIMS,
  ETCD_PEERS,
];

/** A patch that removes all of that. */
const UNMONITORED = { namespaceSelector: null, podMetricsEndpoints: [{ port: "etcd-metrics", path: "/metrics" }] };

const CASES: readonly Case[] = [
  ...MADE.flatMap((of): Case[] => [
    { what: "create an object with its label", of, write: { create: {} } },
    { what: "create an object without its label", of, write: { create: UNLABELLED }, says: NO_LABEL },
    {
      what: "change an object with its label",
      of,
      write: { patch: { metadata: { annotations: { "etcd.improbable.io/new": "1" } } } },
    },
    { what: "delete an object with its label", of, write: "delete" },
  ]),
  ...[...MADE, PODS]
    .filter((of) => of !== ETCD_PEERS)
    .flatMap((of): Case[] => [
      {
        what: "change a foreign object",
        of,
        was: NOT_OURS,
        write: { patch: { metadata: { annotations: { "etcd.improbable.io/new": "1" } } } },
        says: NOT_MANAGED,
      },
      {
        what: "add its label to a foreign object",
        of,
        was: NOT_OURS,
        write: { patch: { metadata: { labels: { "app.kubernetes.io/managed-by": OPERATOR } } } },
        says: NOT_MANAGED,
      },
      { what: "remove its label", of, write: { patch: UNLABELLED }, says: KEEPS_LABEL },
      { what: "delete a foreign object", of, was: NOT_OURS, write: "delete", says: NOT_MANAGED },
    ]),
  {
    what: "change a foreign object with an annotation of a cluster",
    of: SERVICES,
    was: { metadata: { labels: null, annotations: { "etcd.improbable.io/cluster-id": "1" } } },
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/new": "1" } } } },
    says: NOT_MANAGED,
  },
  {
    what: "create a policy that selects all pods",
    of: NETWORK_POLICIES,
    write: { create: { spec: { podSelector: { matchLabels: null } } } },
    says: REACHED,
  },
  {
    what: "create a policy that selects members of another cluster",
    of: NETWORK_POLICIES,
    write: { create: { spec: { podSelector: { matchLabels: { "etcd.improbable.io/cluster-name": "my-etcd" } } } } },
    says: REACHED,
  },
  {
    what: "restrict egress of members",
    of: NETWORK_POLICIES,
    write: { patch: { spec: { policyTypes: ["Ingress", "Egress"] } } },
    says: REACHED,
  },
  // A peer that lost its labels still belongs to its cluster.
  {
    what: "change an EtcdPeer without labels",
    of: ETCD_PEERS,
    was: UNLABELLED,
    write: { patch: { metadata: { finalizers: ["etcdpeer.etcd.improbable.io/pvc-cleanup"] } } },
  },
  { what: "delete an EtcdPeer without labels", of: ETCD_PEERS, was: UNLABELLED, write: "delete" },

  {
    what: "fence a running pod",
    of: PODS,
    write: {
      patch: {
        metadata: { annotations: { "etcd.improbable.io/initial-cluster": "fenced", "etcd.improbable.io/more": "1" } },
      },
    },
  },
  {
    what: "remove an annotation of its own",
    of: PODS,
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/initial-cluster": null } } } },
  },
  { what: "create a pod", of: PODS, write: { create: {} }, says: "creates no pods" },
  { what: "delete a member's pod", of: PODS, write: "delete" },
  ...["backup-name", "restore-name"].map((label) => ({
    what: `delete a pod with the label ${label}`,
    of: PODS,
    was: { metadata: { labels: { "etcd.improbable.io/peer-name": null, [`etcd.improbable.io/${label}`]: "a" } } },
    write: "delete" as const,
  })),
  {
    what: "delete a pod that belongs to no member, backup or restore",
    of: PODS,
    was: { metadata: { labels: { "etcd.improbable.io/peer-name": null } } },
    write: "delete",
    says: "deletes only those of members",
  },
  {
    what: "change the spec of a pod",
    of: PODS,
    write: { patch: { spec: { activeDeadlineSeconds: 1 } } },
    says: PODS_SPEC,
  },
  {
    what: "change the labels of a pod",
    of: PODS,
    write: { patch: { metadata: { labels: { "example.com/new": "1" } } } },
    says: PODS_LABELS,
  },
  {
    what: "add a finalizer",
    of: PODS,
    write: { patch: { metadata: { finalizers: ["example.com/hold"] } } },
    says: PODS_OWNERS,
  },
  { what: "add an owner", of: PODS, write: { patch: { metadata: { ownerReferences: [OWNER] } } }, says: PODS_OWNERS },
  {
    what: "add a foreign annotation",
    of: PODS,
    write: { patch: { metadata: { annotations: { "example.com/new": "1" } } } },
    says: PODS_ANNOTATIONS,
  },
  {
    what: "change a foreign annotation",
    of: PODS,
    write: { patch: { metadata: { annotations: { "example.com/of": "us" } } } },
    says: PODS_ANNOTATIONS,
  },
  {
    what: "remove a foreign annotation",
    of: PODS,
    write: { patch: { metadata: { annotations: { "example.com/of": null } } } },
    says: PODS_ANNOTATIONS,
  },

  {
    what: "restore the labels of a claim",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { metadata: { labels: null } },
    write: { patch: { metadata: { labels: ours(PERSISTENT_VOLUME_CLAIMS, "").metadata.labels } } },
  },
  {
    what: "quarantine a claim",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: {
      patch: merged(QUARANTINED, {
        metadata: { annotations: { "etcd.improbable.io/quarantine-reason": "lost" } },
      }) as object,
    },
  },
  {
    what: "quarantine a claim again after a person has released it",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: quarantinedSince("2026-01-01T00:00:00Z", "lost", null),
    write: { patch: quarantinedSince("2026-02-02T00:00:00Z", "lost once more", "true") },
  },
  {
    what: "quarantine a claim without labels",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { metadata: { labels: null } },
    write: { patch: QUARANTINED },
  },
  {
    what: "delete its own claim without labels",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { metadata: { labels: null } },
    write: "delete",
  },
  {
    what: "delete a quarantined claim",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: QUARANTINED,
    write: "delete",
    says: "quarantined claims are deleted by people only",
  },
  ...[null, "false"].map(
    (label): Case => ({
      what: `release a quarantined claim (label ${label})`,
      of: PERSISTENT_VOLUME_CLAIMS,
      was: QUARANTINED,
      write: { patch: { metadata: { labels: { "etcd.improbable.io/quarantined": label } } } },
      says: "quarantined claims are taken back by people only",
    }),
  ),
  {
    what: "change the volume of a claim",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { spec: { storageClassName: "" } },
    write: { patch: { spec: { volumeName: "somebody-elses" } } },
    says: `${CLAIM}not its spec`,
  },
  {
    what: "change the finalizers of a claim",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { finalizers: [] } } },
    says: `${CLAIM}not its finalizers`,
  },
  {
    what: "give it an owner",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { ownerReferences: [OWNER] } } },
    says: "gives no claim an owner",
  },
  {
    what: "quarantine a claim with an owner that a person has set",
    of: PERSISTENT_VOLUME_CLAIMS,
    was: { metadata: { ownerReferences: [OWNER] } },
    write: { patch: QUARANTINED },
  },
  {
    what: "create a claim with an owner",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { create: { metadata: { ownerReferences: [OWNER] } } },
    says: "gives no claim an owner",
  },
  ...[
    { volumeName: "somebody-elses" },
    { dataSource: { kind: "PersistentVolumeClaim", name: "somebody-elses" } },
    { dataSourceRef: { apiGroup: "example.com", kind: "Image", name: "somebody-elses" } },
  ].map(
    (spec): Case => ({
      what: `create a claim with ${Object.keys(spec)}`,
      of: PERSISTENT_VOLUME_CLAIMS,
      write: { create: { spec } },
      says: NEW_VOLUME,
    }),
  ),
  {
    what: "write another cluster ID on a claim",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/cluster-id": "1" } } } },
    says: "does not rewrite a claim's record of its data",
  },
  {
    what: "remove the member ID from a claim",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/member-id": null } } } },
    says: "does not rewrite a claim's record of its data",
  },
  {
    what: "write another cluster token on a claim",
    of: PERSISTENT_VOLUME_CLAIMS,
    write: { patch: { metadata: { annotations: { "etcd.improbable.io/cluster-token": "other" } } } },
    says: "does not rewrite a claim's record of its data",
  },

  ...["peer-ca", "client-ca", "peer-tls", "server-tls", "operator-tls", "client"].flatMap((name) =>
    ofName(SECRETS, name, { data: { "tls.crt": "YQ==" } }, OTHER_SECRET),
  ),
  ...ofName(CONFIG_MAPS, "ca", { data: { "ca.crt": "a" } }, OTHER_MAP),
  ...["peer-tls", "server-tls", "operator-tls", "client"].flatMap((name) =>
    ofName(CERTIFICATES, `${name}-0123abcd`, { metadata: { annotations: { a: "b" } } }, OTHER_CERTIFICATE),
  ),
  { what: "delete an object of a cluster", of: SECRETS, write: "delete", says: OTHER_SECRET, suffix: "-client" },
  { what: "delete an object of a cluster", of: CONFIG_MAPS, write: "delete", says: OTHER_MAP, suffix: "-ca" },
  {
    what: "delete an object of a cluster",
    of: CERTIFICATES,
    write: "delete",
    says: OTHER_CERTIFICATE,
    suffix: "-client-0123abcd",
  },
  {
    what: "create a Secret that Kubernetes fills with a token",
    of: SECRETS,
    suffix: "-client",
    write: {
      create: {
        type: "kubernetes.io/service-account-token",
        metadata: { annotations: { "kubernetes.io/service-account.name": "default" } },
      },
    },
    says: OTHER_TYPE,
  },
  {
    what: "create the Secret with the password of etcd's root",
    of: SECRETS,
    suffix: "-root",
    write: { create: { type: "kubernetes.io/basic-auth", data: { username: "cm9vdA==", password: "YQ==" } } },
  },
  {
    what: "create the Secret of etcd's root with a different type",
    of: SECRETS,
    suffix: "-root",
    write: { create: { type: "kubernetes.io/tls" } },
    says: OTHER_TYPE,
  },
  {
    what: "create any other Secret with a password",
    of: SECRETS,
    suffix: "-client",
    write: { create: { type: "kubernetes.io/basic-auth", data: { username: "cm9vdA==", password: "YQ==" } } },
    says: OTHER_TYPE,
  },
  {
    what: "request a certificate into another Secret",
    of: CERTIFICATES,
    suffix: "-client-0123abcd",
    write: { create: { spec: { secretName: "somebody-elses" } } },
    says: OTHER_CERTIFICATE,
  },
  {
    what: "request a certificate into a Secret that the operator fills itself",
    of: CERTIFICATES,
    suffix: "-client",
    write: { create: asking("CLUSTER-client") },
    says: OTHER_CERTIFICATE,
  },
  {
    what: "request a CA",
    of: CERTIFICATES,
    suffix: "-client-0123abcd",
    write: { create: { spec: { secretName: "CLUSTER-client-0123abcd", isCA: true } } },
    says: OTHER_CERTIFICATE,
  },

  ...["LoadBalancer", "NodePort"].flatMap((type) => [
    ...inService(`of the type ${type}`, { type }, TYPE),
    ...inService(`for clients of the type ${type}`, { type }, undefined, "-client"),
  ]),
  ...inService(
    "for clients of the type ExternalName",
    { type: "ExternalName", externalName: "example.com" },
    TYPE,
    "-client",
  ),
  ...inService(
    "for clients with externalIPs",
    { type: "LoadBalancer", externalIPs: ["192.0.2.1"] },
    ADDRESSES,
    "-client",
  ),
  {
    what: "create a Service for clients of the type NodePort without its label",
    of: SERVICES,
    suffix: "-client",
    write: { create: { ...UNLABELLED, spec: { type: "NodePort" } } },
    says: NO_LABEL,
  },
  {
    what: "change a foreign Service to the type NodePort",
    of: SERVICES,
    suffix: "-client",
    was: NOT_OURS,
    write: { patch: { spec: { type: "NodePort" } } },
    says: NOT_MANAGED,
  },
  ...inService("of the type ExternalName", { type: "ExternalName", externalName: "example.com" }, TYPE),
  ...inService("with externalIPs", { externalIPs: ["192.0.2.1"] }, ADDRESSES),
  ...(
    [
      ["that selects other namespaces", { namespaceSelector: { any: true } }],
      [
        "that names a Secret",
        { podMetricsEndpoints: [{ port: "a", basicAuth: { password: { name: "a", key: "b" } } }] },
      ],
      ["that selects a port by number", { podMetricsEndpoints: [{ targetPort: 22 }] }],
    ] as const
  ).flatMap(([what, spec]): Case[] => [
    { what: `create one ${what}`, of: POD_MONITORS, write: { create: { spec } }, says: MONITOR },
    { what: `turn its own one into one ${what}`, of: POD_MONITORS, write: { patch: { spec } }, says: MONITOR },
    { what: `repair one ${what}`, of: POD_MONITORS, was: { spec }, write: { patch: { spec: UNMONITORED } } },
  ]),
  {
    what: "repair a Service that a person has exposed externally",
    of: SERVICES,
    was: { spec: { type: "LoadBalancer", externalIPs: ["192.0.2.1"], selector: { "example.com/of": "others" } } },
    write: { patch: { spec: { selector: { "example.com/of": null } } } },
  },
  {
    what: "close a Service that a person has exposed externally",
    of: SERVICES,
    was: { spec: { type: "NodePort", externalIPs: ["192.0.2.1"] } },
    write: { patch: { spec: { type: "ClusterIP", externalIPs: null } } },
  },
  {
    what: "add external IPs to those that a person has set",
    of: SERVICES,
    was: { spec: { externalIPs: ["192.0.2.1"] } },
    write: { patch: { spec: { externalIPs: ["192.0.2.1", "192.0.2.2"] } } },
    says: ADDRESSES,
  },

  ...[...FORBIDDEN, ...UNCONFINED].flatMap((each) => inPods(each, each.says)),
  ...TLS_IN_PODS.flatMap(({ says, ...each }) => inPods(each, says)),
  ...[...ALLOWED, ...CONFINED_OTHERWISE].flatMap((each) => inPods(each)),
];

const DEFINITION = "CustomResourceDefinition";
const ONLY_CA_BUNDLE = `of the spec of a ${DEFINITION} the operator changes only the CA bundle for conversions`;
const METADATA = `of the metadata of a ${DEFINITION} the operator changes nothing`;
const STATUS = `of the status of a ${DEFINITION} the operator changes only its stored versions`;
const STORED = `as stored versions of a ${DEFINITION} the operator sets only the one that is stored`;

interface DefinitionCase {
  readonly what: string;
  /** A merge patch that a person applied before. Default: none, the definition is as shipped. */
  readonly was?: object;
  readonly patch: object;
  readonly subresource?: "status";
  readonly says?: string;
}

function inConversion(change: object): object {
  return { spec: { conversion: { webhook: change } } };
}

const AUTHORITY = caBundleOf([(await newAuthority(Date.now())).certificate]);

const ONLY_TLS = "of an EtcdCluster the operator writes only spec.tls";
const NOTHING_ELSE = "of an EtcdCluster the operator changes nothing but spec.tls";

/** Writes of the definition of EtcdClusters. */
const DEFINITION_CASES: readonly DefinitionCase[] = [
  { what: "set caBundle", patch: inConversion({ clientConfig: { caBundle: AUTHORITY } }) },
  {
    what: "set caBundle for a foreign Service",
    was: inConversion({ clientConfig: { service: { name: "somebody-elses" }, caBundle: null } }),
    patch: inConversion({ clientConfig: { caBundle: AUTHORITY } }),
    says: "the operator sets a CA bundle only for conversions by its own Service",
  },
  {
    what: "redirect conversions to a foreign Service",
    patch: inConversion({ clientConfig: { service: { name: "somebody-elses" } } }),
    says: ONLY_CA_BUNDLE,
  },
  {
    what: "redirect conversions to a Service in another namespace",
    patch: inConversion({ clientConfig: { service: { namespace: "foo" } } }),
    says: ONLY_CA_BUNDLE,
  },
  {
    what: "redirect conversions to a different path",
    patch: inConversion({ clientConfig: { service: { path: "/other" } } }),
    says: ONLY_CA_BUNDLE,
  },
  {
    what: "redirect conversions to a URL",
    patch: inConversion({ clientConfig: { service: null, url: "https://example.com/" } }),
    says: ONLY_CA_BUNDLE,
  },
  {
    what: "change the review versions",
    patch: inConversion({ conversionReviewVersions: ["v1", "v1beta1"] }),
    says: ONLY_CA_BUNDLE,
  },
  {
    what: "disable conversion",
    patch: { spec: { conversion: { strategy: "None", webhook: null } } },
    says: ONLY_CA_BUNDLE,
  },
  { what: "change its names", patch: { spec: { names: { shortNames: ["e"] } } }, says: ONLY_CA_BUNDLE },
  { what: "label it", patch: { metadata: { labels: { a: "b" } } }, says: METADATA },
  { what: "annotate it", patch: { metadata: { annotations: { a: "b" } } }, says: METADATA },
  { what: "add a finalizer", patch: { metadata: { finalizers: ["example.com/hold"] } }, says: METADATA },
  { what: "give it an owner", patch: { metadata: { ownerReferences: [OWNER] } }, says: METADATA },
  {
    what: "remove an old stored version",
    patch: { status: { storedVersions: ["v1beta1"] } },
    subresource: "status",
  },
  {
    what: "add a stored version",
    patch: { status: { storedVersions: ["v1beta1", "v1alpha1"] } },
    subresource: "status",
    says: STORED,
  },
  { what: "write its conditions", patch: { status: { conditions: [] } }, subresource: "status", says: STATUS },
  {
    what: "write its names",
    patch: { status: { acceptedNames: { shortNames: ["e"] } } },
    subresource: "status",
    says: STATUS,
  },
];

/**
 * Cases for a cluster's object with this suffix: it is created and changed, unless its label or owner is wrong.
 * @param change an allowed change
 */
function ofName(of: AnyResource, suffix: string, change: object, says: string): readonly Case[] {
  const own = { of, suffix: `-${suffix}` };
  const asked: object = of === CERTIFICATES ? asking(`CLUSTER-${suffix}`) : {};
  const label = (name: string | null) => ({ metadata: { labels: { "etcd.improbable.io/cluster-name": name } } });
  const owner = (other: object) => ({
    metadata: { ownerReferences: [{ ...ownedBy(cluster()), name: "CLUSTER", ...other }] },
  });
  const wrong: readonly (readonly [string, object])[] = [
    ["of another cluster", label("other")],
    ["of no cluster", label(null)],
    ["without an owner", { metadata: { ownerReferences: null } }],
    ["of another owner", owner({ name: "other" })],
    ["of another kind of owner", owner({ kind: "EtcdBackup" })],
    ["of another group's owner", owner({ apiVersion: "example.com/v1" })],
    ["without a controller", owner({ controller: false })],
  ];
  const made = (part: object) => ({ ...asked, ...part });
  return [
    { what: `create an object named ${suffix}`, write: { create: asked }, ...own },
    { what: `change an object named ${suffix}`, was: asked, write: { patch: change }, ...own },
    { what: `create an object named ${suffix}-more`, write: { create: asked }, says, of, suffix: `-${suffix}-more` },
    ...wrong.flatMap(([what, part]): Case[] => [
      { what: `create an object named ${suffix} ${what}`, write: { create: made(part) }, says, ...own },
      { what: `turn an object named ${suffix} into one ${what}`, was: asked, write: { patch: part }, says, ...own },
      { what: `change an object named ${suffix} ${what}`, was: made(part), write: { patch: change }, says, ...own },
    ]),
  ];
}

/** The quarantine marks that the operator writes. @param label null after a person has removed it */
function quarantinedSince(at: string, reason: string, label: "true" | null): object {
  const annotations = { "etcd.improbable.io/quarantine-reason": reason, "etcd.improbable.io/quarantined-at": at };
  return { metadata: { labels: { "etcd.improbable.io/quarantined": label }, annotations } };
}

/** Cases for a Service that is created like this, and for one that is changed to it. */
function inService(what: string, spec: object, says: string | undefined, suffix = ""): readonly Case[] {
  const rest = { of: SERVICES, suffix, ...(says === undefined ? {} : { says }) };
  return [
    { what: `create one ${what}`, write: { create: { spec } }, ...rest },
    { what: `turn a Service into one ${what}`, write: { patch: { spec } }, ...rest },
  ];
}

/** Cases for a ReplicaSet that is created like this, and for one that is changed to it. */
function inPods({ what, ...part }: PodPart, says?: string): readonly Case[] {
  const { metadata, spec } = mergePodTemplate(podTemplate(peer({ spec: { podTemplate: HOOKLESS } })), part);
  const gone = Object.fromEntries(Object.keys(part.spec).map((field) => [field, null]));
  const change = { spec: { template: { metadata, spec: { ...gone, ...spec } } } };
  return [
    {
      what: `create a ReplicaSet with pods that ${what}`,
      of: REPLICA_SETS,
      write: { create: change },
      ...(says && { says }),
    },
    {
      what: `change a ReplicaSet so that its pods ${what}`,
      of: REPLICA_SETS,
      write: { patch: change },
      ...(says && { says }),
    },
  ];
}

/** Writes as the operator. @returns the refusal; undefined when the write is allowed */
async function outcome(given: Case, name: string): Promise<string | undefined> {
  const { of } = given;
  const { was, write } = JSON.parse(JSON.stringify(given).replaceAll("CLUSTER", clusterIn(name))) as Case;
  const ref = { namespace, name };
  const draft = ours(of, name);
  const object =
    typeof write === "object" && "create" in write
      ? (merged(draft, write.create) as Draft<KubeObject>)
      : await admin.create(of, merged(draft, was ?? {}) as Draft<KubeObject>, OPTIONS);
  const done =
    write === "delete"
      ? operator.delete(of, ref, { ...OPTIONS, preconditions: { uid: (object as KubeObject).metadata.uid } })
      : "create" in write
        ? operator.create(of, object, OPTIONS)
        : operator.patch(of, ref, write.patch, { ...OPTIONS, type: "merge" });
  return await done.then(
    () => undefined,
    (thrown) => asOperatorError(thrown).message,
  );
}

describe("with the shipped RBAC rules", () => {
  test("the operator may set owner references with blockOwnerDeletion to its own kinds", async () => {
    const peerOf = await operator.create(ETCD_PEERS, ours(ETCD_PEERS, "owned") as never, OPTIONS);
    expect(peerOf.metadata.ownerReferences).toMatchObject([{ kind: "EtcdCluster", blockOwnerDeletion: true }]);
    const set = await operator.create(REPLICA_SETS, ours(REPLICA_SETS, "owned") as never, OPTIONS);
    expect(set.metadata.ownerReferences).toMatchObject([{ kind: "EtcdPeer", blockOwnerDeletion: true }]);
    for (const each of [peerOf, set]) {
      const metadata = { name: "other-owner", namespace, ownerReferences: [{ ...OWNER, blockOwnerDeletion: true }] };
      const draft = {
        ...ours(kindOf(each), "other-owner"),
        metadata: { ...ours(kindOf(each), "").metadata, ...metadata },
      };
      await expect(operator.create(kindOf(each), draft, OPTIONS)).rejects.toThrow(/cannot set blockOwnerDeletion/);
    }
  });

  test("a ReplicaSet with sidecars, init containers, volumes and labels from users is accepted, and so is its pod", async () => {
    const group = "scheduling.k8s.io";
    const important = {
      apiVersion: `${group}/v1`,
      kind: "PriorityClass",
      metadata: { name: "important" },
      value: 1_000,
    };
    const classes = resource({
      group,
      version: "v1",
      kind: "PriorityClass",
      plural: "priorityclasses",
      namespaced: false,
    });
    await admin.create(classes, important as never, OPTIONS);
    const member = peer({ stage: "starting", spec: { podTemplate: WHOLE_TEMPLATE } });
    const { metadata: _, ...rest } = ours(REPLICA_SETS, "whole");
    const draft = { ...rest, ...replicaSet(member), metadata: ours(REPLICA_SETS, "whole").metadata };
    const made = await operator.create(REPLICA_SETS, draft, OPTIONS);
    expect(made.spec?.selector?.matchLabels).not.toHaveProperty(["example.com/team"]);
    // The ReplicaSet controller creates this pod.
    const { metadata, spec } = made.spec!.template!;
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, namespace, name: "whole" }, spec };
    const taken = await admin.create(PODS, pod as never, OPTIONS);
    expect(taken.metadata.labels).toMatchObject(WHOLE_TEMPLATE.metadata.labels);
    expect(taken.metadata.annotations).toMatchObject(WHOLE_TEMPLATE.metadata.annotations);
    expect(taken.spec).toMatchObject({
      priority: 1_000,
      tolerations: expect.arrayContaining(WHOLE_TEMPLATE.spec.tolerations),
      nodeSelector: WHOLE_TEMPLATE.spec.nodeSelector,
      initContainers: WHOLE_TEMPLATE.spec.initContainers,
      containers: [{ name: "etcd", command: ["etcd"] }, WHOLE_TEMPLATE.spec.containers[1]],
      volumes: [{ name: "etcd-data" }, WHOLE_TEMPLATE.spec.volumes[0]],
    });
  });

  test("certificates of clusters may be read and written by name, and neither listed nor deleted", async () => {
    const names = [
      [SECRETS, "mine-peer-ca"],
      [CONFIG_MAPS, "mine-ca"],
      [CERTIFICATES, "mine-peer-tls-0123abcd"],
    ] as const;
    for (const [of, name] of names as readonly (readonly [AnyResource, string])[]) {
      const { metadata, ...rest } = drafts("mine")[of.plural]!;
      const draft = { ...rest, metadata: { ...metadata, namespace, name }, ...(of === CERTIFICATES && asking(name)) };
      const { uid } = (await operator.create<KubeObject>(of, draft, OPTIONS)).metadata;
      await operator.replace(of, await operator.get<KubeObject>(of, { namespace, name }, OPTIONS), OPTIONS);
      const refused = { code: "KubeForbidden" };
      await expect(operator.list(of, { namespace }, OPTIONS)).rejects.toMatchObject(refused);
      const gone = operator.delete(of, { namespace, name }, { ...OPTIONS, preconditions: { uid } });
      await expect(gone).rejects.toMatchObject(refused);
    }
  });

  test("the operator may not list Secrets", async () => {
    for (const at of [namespace, OPERATOR_NAMESPACE]) {
      const lists = operator.list(SECRETS, { namespace: at }, OPTIONS);
      await expect(lists).rejects.toMatchObject({ code: "KubeForbidden" });
    }
  });

  test("the certificate of the webhooks may be read and written by name in the operator's namespace only", async () => {
    const made = await operator.create(SECRETS, certificate(), OPTIONS);
    await operator.replace(SECRETS, { ...made, data: { ...made.data, "tls.key": "" } }, OPTIONS);
    await expect(
      operator.create(SECRETS, { ...certificate(), metadata: { ...certificate().metadata, name: "other" } }, OPTIONS),
    ).rejects.toThrow(OTHER_SECRET);
    await expect(
      operator.create(SECRETS, { ...certificate(), metadata: { ...certificate().metadata, namespace } }, OPTIONS),
    ).rejects.toThrow(OTHER_SECRET);
    const { uid } = made.metadata;
    const gone = operator.delete(SECRETS, made.metadata, { ...OPTIONS, preconditions: { uid } });
    await expect(gone).rejects.toMatchObject({ code: "KubeForbidden" });
  });

  test("the operator may read and write its own CustomResourceDefinitions and no others", async () => {
    for (const name of [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_BACKUP_SCHEDULES].map((of) => resourceName(of))) {
      const live = await operator.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, OPTIONS);
      const same = await operator.replace(CUSTOM_RESOURCE_DEFINITIONS, live, OPTIONS);
      await operator.replace(CUSTOM_RESOURCE_DEFINITIONS, same, { ...OPTIONS, subresource: "status" });
    }
    const draft = { ...crdManifests()[0], metadata: { name: "things.example.com" } } as never;
    const refused: readonly (() => Promise<unknown>)[] = [
      () => operator.list(CUSTOM_RESOURCE_DEFINITIONS, {}, OPTIONS),
      () => operator.get(CUSTOM_RESOURCE_DEFINITIONS, { name: "things.example.com" }, OPTIONS),
      () => operator.create(CUSTOM_RESOURCE_DEFINITIONS, draft, OPTIONS),
    ];
    for (const ask of refused) await expect(ask()).rejects.toMatchObject({ code: "KubeForbidden" });
  });

  test("the operator may write its own webhook configuration and no others", async () => {
    const own = await operator.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OPERATOR }, OPTIONS);
    await operator.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, own, OPTIONS);
    const { metadata: _, ...rest } = own;
    const others = { ...rest, metadata: { name: "others" }, webhooks: [] };
    await expect(operator.create(VALIDATING_WEBHOOK_CONFIGURATIONS, others, OPTIONS)).rejects.toMatchObject({
      code: "KubeForbidden",
    });
    const made = await admin.create(VALIDATING_WEBHOOK_CONFIGURATIONS, others, OPTIONS);
    await expect(operator.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, made, OPTIONS)).rejects.toMatchObject({
      code: "KubeForbidden",
    });
  });
});

describe("the admission policy lets the operator, even with the role cluster-admin,", () => {
  beforeAll(async () => {
    const group = "rbac.authorization.k8s.io";
    const binding = {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "everything" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: group, kind: "User", name: OPERATOR_USER }],
    };
    await admin.create(kindOf(binding), binding, OPTIONS);
    const probe: Case = { what: "", of: PODS, write: { create: {} }, says: "" };
    let number = 0;
    await vi.waitFor(async () => expect(await outcome(probe, `probe-${number++}`)).toContain("creates no pods"), {
      timeout: 30_000,
      interval: 200,
    });
  });

  for (const [index, one] of CASES.entries()) {
    const { what, of, says } = one;
    test(`${says === undefined ? "" : "not "}${what} (${of.plural})`, async () => {
      const said = await outcome(one, `case-${index}${one.suffix ?? ""}`);
      if (says === undefined) expect(said).toBeUndefined();
      else expect(said).toMatch(new RegExp(`ValidatingAdmissionPolicy '${OPERATOR}' .*${says}`));
    });
  }

  const definitions = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_BACKUP_SCHEDULES].map((of) => resourceName(of));
  const [ofClusters = ""] = definitions;
  const REFUSED = (says: string) => new RegExp(`ValidatingAdmissionPolicy '${OPERATOR}' .*${says}`);
  const MERGE = { ...OPTIONS, type: "merge" } as const;

  for (const { what, was, patch, subresource, says } of DEFINITION_CASES) {
    test(`${says === undefined ? "" : "not "}${what} (${DEFINITION})`, async () => {
      const ref = { name: ofClusters };
      if (was !== undefined) await admin.patch(CUSTOM_RESOURCE_DEFINITIONS, ref, was, MERGE);
      const options = subresource === undefined ? MERGE : { ...MERGE, subresource };
      const written = operator.patch(CUSTOM_RESOURCE_DEFINITIONS, ref, patch, options);
      try {
        if (says === undefined) expect(await written).toMatchObject(patch);
        else await expect(written).rejects.toThrow(REFUSED(says));
      } finally {
        const { spec } = crdManifests().find(({ metadata }) => metadata.name === ofClusters)!;
        if (was !== undefined) await admin.patch(CUSTOM_RESOURCE_DEFINITIONS, ref, { spec }, MERGE);
      }
    });
  }

  const MADE = { identity: { clusterID: "1", token: "a", initialMembers: [] } };
  const OWN_TLS = { spec: { tls: DEFAULT_TLS } };
  const CLUSTER_CASES: readonly { what: string; tls?: object; status?: object; patch: object; says?: string }[] = [
    { what: "write spec.tls where there is none", patch: OWN_TLS },
    {
      what: "spec.tls where it is set",
      tls: NO_TLS,
      patch: { spec: { tls: { minVersion: "TLS1.3" } } },
      says: ONLY_TLS,
    },
    { what: "spec.tls of a cluster with an identity", status: MADE, patch: { spec: { tls: NO_TLS } }, says: ONLY_TLS },
    { what: "replicas", patch: { spec: { ...OWN_TLS.spec, replicas: 1 } }, says: NOTHING_ELSE },
    { what: "the spec by removing a field", patch: { spec: { ...OWN_TLS.spec, image: null } }, says: NOTHING_ELSE },
    { what: "the spec by adding a field", patch: { spec: { ...OWN_TLS.spec, etcd: {} } }, says: NOTHING_ELSE },
    { what: "labels", patch: { ...OWN_TLS, metadata: { labels: { a: "b" } } }, says: NOTHING_ELSE },
    { what: "annotations", patch: { ...OWN_TLS, metadata: { annotations: { a: "b" } } }, says: NOTHING_ELSE },
    { what: "finalizers", patch: { ...OWN_TLS, metadata: { finalizers: ["example.com/a"] } }, says: NOTHING_ELSE },
    { what: "owners", patch: { ...OWN_TLS, metadata: { ownerReferences: [OWNER] } }, says: NOTHING_ELSE },
    { what: "annotations alone", patch: { metadata: { annotations: { a: "b" } } }, says: ONLY_TLS },
  ];
  for (const [index, { what, tls, status, patch, says }] of CLUSTER_CASES.entries()) {
    test(`${says === undefined ? "" : "not change "}${what} (etcdclusters)`, async () => {
      const draft = {
        ...{ apiVersion: apiVersionOf(ETCD_CLUSTERS), kind: "EtcdCluster" },
        metadata: { namespace, name: `open-${index}` },
        spec: {
          replicas: 3,
          version: "3.6.16",
          image: { pullPolicy: "Always" },
          ...(tls === undefined ? {} : { tls }),
        },
      } as unknown as Draft<EtcdCluster>;
      const live = await admin.create(ETCD_CLUSTERS, draft, OPTIONS);
      if (status !== undefined)
        await admin.replace(ETCD_CLUSTERS, { ...live, status } as never, { ...OPTIONS, subresource: "status" });
      const written = operator.patch(ETCD_CLUSTERS, { namespace, name: live.metadata.name }, patch, MERGE);
      if (says === undefined) expect(await written).toMatchObject(patch);
      else await expect(written).rejects.toThrow(REFUSED(says));
    });
  }

  test(`not change a version of any ${DEFINITION}`, async () => {
    for (const name of definitions) {
      const live = await operator.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, OPTIONS);
      const [first, ...others] = live.spec.versions;
      const versions = [{ ...first!, deprecated: true }, ...others];
      const written = operator.replace(
        CUSTOM_RESOURCE_DEFINITIONS,
        { ...live, spec: { ...live.spec, versions } },
        OPTIONS,
      );
      await expect(written).rejects.toThrow(REFUSED(ONLY_CA_BUNDLE));
    }
  });

  test(`not change a foreign ${DEFINITION}, nor create or delete one`, async () => {
    const [{ spec }] = crdManifests() as unknown as [{ spec: object }];
    const names = { kind: "Thing", plural: "things", listKind: "ThingList", singular: "thing" };
    const draft = {
      apiVersion: apiVersionOf(CUSTOM_RESOURCE_DEFINITIONS),
      kind: DEFINITION,
      metadata: { name: "things.example.com" },
      spec: { ...spec, group: "example.com", names },
    } as never;
    await expect(operator.create(CUSTOM_RESOURCE_DEFINITIONS, draft, OPTIONS)).rejects.toThrow(
      REFUSED(`the operator (creates no pods|neither makes nor deletes a ${DEFINITION})`),
    );
    const { metadata } = await admin.create(CUSTOM_RESOURCE_DEFINITIONS, draft, OPTIONS);
    const trust = inConversion({ clientConfig: { caBundle: AUTHORITY } });
    const others = REFUSED("of CustomResourceDefinitions the operator changes only those of etcd.improbable.io");
    await expect(operator.patch(CUSTOM_RESOURCE_DEFINITIONS, metadata, trust, MERGE)).rejects.toThrow(others);
    const deleted = ({ name, uid }: KubeObject["metadata"]) =>
      operator.delete(CUSTOM_RESOURCE_DEFINITIONS, { name }, { ...OPTIONS, preconditions: { uid } });
    const neither = `neither makes nor deletes a ${DEFINITION}`;
    await expect(deleted(metadata)).rejects.toThrow(REFUSED(neither));
    const own = await admin.get(CUSTOM_RESOURCE_DEFINITIONS, { name: ofClusters }, OPTIONS);
    // Two policies refuse this one, and the API server reports either of them.
    await expect(deleted(own.metadata)).rejects.toThrow(
      new RegExp(`${neither}|deleting this definition would delete all`),
    );
  });

  test("each validation of the policy refuses at least one case of these tests", () => {
    const others = [
      ...[`neither makes nor deletes a ${DEFINITION}`, "changes only those of etcd.improbable.io"],
      // restore.test.ts
      ...["makes EtcdClusters only of restores", "makes EtcdRestores only for EtcdClusters"],
      // binding-policy.test.ts
      "EtcdRole or EtcdUser the operator changes only its finalizers",
      // job-policy.test.ts
      ...["deletes only those of schedules", "changes only its finalizers and annotations"],
    ];
    const said = [...CASES, ...DEFINITION_CASES, ...CLUSTER_CASES].flatMap(({ says }) => says ?? []);
    const silent = VALIDATIONS.filter(({ message }) => ![...said, ...others].some((says) => message.includes(says)));
    expect(silent.map(({ message }) => message)).toEqual([]);
  });

  test("the policy does not restrict other accounts", async () => {
    const draft = merged(ours(PODS, "by-somebody"), NOT_OURS) as Draft<KubeObject>;
    expect(await admin.create(PODS, draft as never, OPTIONS)).toMatchObject({ apiVersion: apiVersionOf(PODS) });
  });
});
