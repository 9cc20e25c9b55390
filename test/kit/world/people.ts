import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { CLAIM_CLUSTER_ID_ANNOTATION, claimLabels, ownerlessLabels, PAUSED_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import {
  type AnyResource,
  type Draft,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  REPLICA_SETS,
  SERVICES,
} from "#kube/kinds.ts";
import { editAccessByHand, editBinding, putAccess } from "./access.ts";
import { addOwnMember, drain, removeOwnMembers } from "./administrator.ts";
import type { ApiServer } from "./api.ts";
import { CRASHES, NEVER_READY, NEVER_STARTED, WELL_BESIDE } from "./containers.ts";
import { copyClaims, type Place } from "./copies.ts";
import type { Etcd } from "./etcd.ts";
import type { Kubelets } from "./kubelet.ts";
import type { Random } from "./random.ts";
import { askForRotation, deleteSecret, putAuthoritiesBack, spoilSecret } from "./secrets.ts";
import { editRootSecret, editUsers, putRootSecretRight, switchAuth } from "./users.ts";

export const NAMESPACE = "foo";
export const CLUSTER = "db";
/** A second cluster. Its headless Service has the name of the first cluster's client Service. */
export const RIVAL = "db-client";
/** Where people make a cluster from copied claims: with the same name in another namespace, or with another name. */
const COPIES: readonly Place[] = [
  { namespace: "bar", name: CLUSTER },
  { namespace: NAMESPACE, name: "copy" },
];

/** What people may do; each history has its own weights. */
export const PEOPLES_ACTS = [
  "createCluster",
  "createRival",
  "copyCluster",
  "deleteCluster",
  "editReplicas",
  "editVersion",
  "editTemplate",
  "editClientService",
  "pause",
  "deletePod",
  "forceDeletePod",
  "deletePeer",
  "deleteReplicaSet",
  "deleteService",
  "deleteBudget",
  "deleteClaim",
  "editOwned",
  "unlabelOwned",
  "unlabelClaim",
  "placeForeign",
  "addOwnVoter",
  "addOwnLearner",
  "drain",
  "sleep",
  "askForRotation",
  "deleteSecret",
  "spoilSecret",
  "switchTls",
  "switchAuth",
  "editRootSecret",
  "editUsers",
  "putAccess",
  "editBinding",
  "editAccessByHand",
] as const;
/**
 * A person copies the claims of a cluster, and creates a cluster from the copies. Only in histories that are made for
 * it.
 */
export const COPY = "copyCluster" satisfies PeoplesAct;
/** Only in histories with EtcdRoles and EtcdUsers. */
export const ACTS_OF_ACCESS = ["putAccess", "editBinding", "editAccessByHand"] as const satisfies readonly PeoplesAct[];
/** Only in histories in which authentication may be enabled. */
export const ACTS_OF_AUTH = ["switchAuth", "editRootSecret", "editUsers"] as const satisfies readonly PeoplesAct[];
/** A person changes on which sides members use TLS, or reverts that. */
export const SWITCH = "switchTls" satisfies PeoplesAct;
/** Only in histories with TLS. */
export const ACTS_OF_TLS = ["askForRotation", "deleteSecret", "spoilSecret"] as const satisfies readonly PeoplesAct[];
export type PeoplesAct = (typeof PEOPLES_ACTS)[number];

export interface PeoplesParts {
  readonly api: ApiServer;
  readonly etcd: Etcd;
  readonly kubelets: Kubelets;
  readonly random: Random;
  readonly tell: (text: string) => void;
  readonly replicas: number;
  /** Values for `spec.version`. */
  readonly versions: readonly string[];
  /** `spec.tls` of the clusters that people create. */
  readonly tls: object;
  /** `spec.auth.enabled` of the clusters that people create; undefined leaves the field out. */
  readonly auth: boolean | undefined;
  readonly nowMs: () => number;
  readonly evicted: (pod: Pod) => void;
}

/**
 * Values for `spec.podTemplate`: nothing, restarts, templates with which no member starts, and fields that users may
 * not set.
 */
const TEMPLATES: readonly EtcdCluster["spec"]["podTemplate"][] = [
  {},
  { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "now" } } },
  { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "later" } } },
  { metadata: { annotations: { [CRASHES]: "true" } } },
  withResources({ requests: { cpu: "500" } }),
  { spec: { hostNetwork: true } },
  ...Object.values(WELL_BESIDE),
  ...Object.values(NEVER_READY),
  ...Object.values(NEVER_STARTED),
];

const CLOSED = { spec: { type: "ClusterIP" } } as const;
/** Values for `spec.clientService`. */
const CLIENT_SERVICES: readonly EtcdCluster["spec"]["clientService"][] = [
  CLOSED,
  { spec: { type: "NodePort" } },
  { spec: { type: "LoadBalancer" } },
  {
    spec: { type: "LoadBalancer", trafficDistribution: "PreferClose" },
    metadata: { annotations: { "example.test/lb": "internal" } },
  },
];

/** Sides on which people ask for TLS, and how long both TLS and plaintext clients are served. */
const WISHES = (["None", "Operator"] as const).flatMap((peer) =>
  (["None", "Operator"] as const).flatMap((client) =>
    (["0s", "20s"] as const).map((plaintextFor) => ({ peer, client, plaintextFor })),
  ),
);

const OWNED: readonly AnyResource[] = [SERVICES, POD_DISRUPTION_BUDGETS, ETCD_PEERS, REPLICA_SETS];

/** People with kubectl. Each act returns whether there was anything to do. */
export class People {
  /** Uids of objects that people created or orphaned: the operator must not touch them. */
  readonly foreign = new Set<string>();
  readonly #parts: PeoplesParts;

  constructor(parts: PeoplesParts) {
    this.#parts = parts;
  }

  do(act: PeoplesAct): boolean {
    switch (act) {
      case "createCluster":
        return this.#create(CLUSTER, this.#parts.replicas);
      case "createRival":
        return this.#create(RIVAL, 1);
      case "copyCluster":
        return this.#copyCluster();
      case "deleteCluster":
        return this.#deleteCluster();
      case "editReplicas":
        return this.#edit((spec) => ({ ...spec, replicas: this.#parts.random.between(1, 5) }));
      case "editVersion":
        return this.#editVersion();
      case "editTemplate":
        return this.#edit((spec, generation) => ({
          ...spec,
          podTemplate: this.#parts.random.pick(TEMPLATES) ?? {},
          // Every third template leaves restarts to people.
          updateStrategy: { type: generation % 3 === 2 ? "OnDelete" : "RollingUpdate" },
        }));
      case "editClientService":
        return this.#edit((spec) => ({ ...spec, clientService: this.#parts.random.pick(CLIENT_SERVICES) ?? CLOSED }));
      case "pause":
        return this.#pause();
      case "deletePod":
        return this.#delete(PODS);
      case "forceDeletePod":
        return this.#forceDeletePod();
      case "deletePeer":
        return this.#delete(ETCD_PEERS);
      case "deleteReplicaSet":
        return this.#delete(REPLICA_SETS);
      case "deleteService":
        return this.#delete(SERVICES);
      case "deleteBudget":
        return this.#delete(POD_DISRUPTION_BUDGETS);
      case "deleteClaim":
        return this.#delete(PERSISTENT_VOLUME_CLAIMS);
      case "editOwned":
        return this.#changeOwned("takes the annotations of", ({ annotations: _, ...rest }) => rest);
      case "unlabelOwned":
        return this.#changeOwned("takes the labels of", ({ labels: _, ...rest }) => rest, SERVICES);
      case "unlabelClaim":
        return this.#unlabelClaim();
      case "placeForeign":
        return this.#placeForeign();
      case "addOwnVoter":
        return addOwnMember(this.#parts, false);
      case "addOwnLearner":
        return addOwnMember(this.#parts, true);
      case "drain":
        return drain(this.#parts);
      case "sleep":
        return this.#edit((spec) => ({ ...spec, replicas: spec.replicas === 0 ? this.#awakeAgain() : 0 }));
      case "askForRotation":
        return askForRotation(this.#parts);
      case "deleteSecret":
        return deleteSecret(this.#parts);
      case "spoilSecret":
        return spoilSecret(this.#parts);
      case "switchTls":
        return this.#switchTls();
      case "switchAuth":
        return switchAuth(this.#parts);
      case "editRootSecret":
        return editRootSecret(this.#parts);
      case "editUsers":
        return editUsers(this.#parts);
      case "putAccess":
        return putAccess(this.#parts);
      case "editBinding":
        return editBinding(this.#parts);
      case "editAccessByHand":
        return editAccessByHand(this.#parts);
    }
    return act satisfies never;
  }

  /** Finally the operator restarts members, so that the simulation can check that every request is fulfilled. */
  letOperatorRestart(): void {
    for (const cluster of this.#parts.api.list(ETCD_CLUSTERS))
      this.#put(cluster, { ...cluster.spec, updateStrategy: { type: "RollingUpdate" } });
  }

  /** People undo their changes, as they must before the operator can finish. */
  tidy(): void {
    const { api, replicas } = this.#parts;
    this.#parts.tell("people tidy up");
    for (const { namespace, name } of COPIES)
      if (api.find(ETCD_CLUSTERS, { namespace, name }) !== undefined)
        api.delete("person", ETCD_CLUSTERS, { namespace, name });
    for (const resource of [...OWNED, PERSISTENT_VOLUME_CLAIMS])
      for (const object of api.list(resource))
        if (this.foreign.has(object.metadata.uid)) api.delete("person", resource, object.metadata);
    if (api.find(ETCD_CLUSTERS, { namespace: NAMESPACE, name: CLUSTER }) === undefined) this.#create(CLUSTER, replicas);
    for (const cluster of api.list(ETCD_CLUSTERS)) {
      const spec = this.#spec(cluster.spec.replicas || replicas);
      this.#put(cluster, spec);
      const { [PAUSED_ANNOTATION]: _, ...annotations } = cluster.metadata.annotations ?? {};
      api.update("person", ETCD_CLUSTERS, cluster, { metadata: { ...cluster.metadata, annotations } });
    }
    this.#deleteClaimsOfOthers();
    putAuthoritiesBack(this.#parts);
    putRootSecretRight(this.#parts);
    removeOwnMembers(this.#parts);
  }

  /** Deletes claims of deleted clusters. */
  #deleteClaimsOfOthers(): void {
    const { api } = this.#parts;
    const living = new Set(api.list(ETCD_CLUSTERS).map(({ status }) => status?.identity?.clusterID));
    for (const claim of api.list(PERSISTENT_VOLUME_CLAIMS)) {
      const clusterID = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
      if (!living.has(clusterID)) api.delete("person", PERSISTENT_VOLUME_CLAIMS, claim.metadata);
    }
  }

  #create(name: string, replicas: number, namespace = NAMESPACE): boolean {
    const { api, tell } = this.#parts;
    if (api.find(ETCD_CLUSTERS, { namespace, name }) !== undefined) return false;
    tell(`a person creates EtcdCluster ${namespace}/${name} with ${replicas} replicas`);
    api.create<EtcdCluster>("person", ETCD_CLUSTERS, {
      apiVersion: "etcd.improbable.io/v1beta1",
      kind: "EtcdCluster",
      metadata: { namespace, name },
      spec: this.#spec(replicas),
    });
    return true;
  }

  #copyCluster(): boolean {
    const { random, replicas } = this.#parts;
    const to = random.pick(COPIES);
    const copies = to === undefined ? [] : copyClaims(this.#parts, { namespace: NAMESPACE, name: CLUSTER }, to);
    for (const { metadata } of copies) this.foreign.add(metadata.uid);
    return copies.length > 0 && to !== undefined && this.#create(to.name, replicas, to.namespace);
  }

  #spec(replicas: number): EtcdCluster["spec"] {
    const { tls, auth } = this.#parts;
    return clusterSpecSchema.parse({
      replicas,
      version: DEFAULT_VERSION,
      tls,
      ...(auth === undefined ? {} : { auth: { enabled: auth } }),
    });
  }

  #deleteCluster(): boolean {
    const { api, random, tell } = this.#parts;
    const cluster = random.pick(api.list(ETCD_CLUSTERS));
    if (cluster === undefined) return false;
    const isForeground = random.chance(0.4);
    tell(`a person deletes EtcdCluster ${cluster.metadata.name}${isForeground ? " with --cascade=foreground" : ""}`);
    api.delete("person", ETCD_CLUSTERS, cluster.metadata, { isForeground });
    return true;
  }

  #edit(change: (spec: EtcdCluster["spec"], generation: number) => EtcdCluster["spec"]): boolean {
    const cluster = this.#parts.random.pick(this.#parts.api.list(ETCD_CLUSTERS));
    return cluster !== undefined && this.#put(cluster, change(cluster.spec, cluster.metadata.generation ?? 0));
  }

  /** The current number of members, or a different one: people may have changed their mind while the cluster slept. */
  #awakeAgain(): number {
    const { api, random } = this.#parts;
    return random.chance(0.5) ? random.between(1, 5) : Math.max(1, api.list(ETCD_PEERS).length);
  }

  #editVersion(): boolean {
    const version = this.#parts.random.pick(this.#parts.versions);
    return version !== undefined && this.#edit((spec) => ({ ...spec, version }));
  }

  #put(cluster: EtcdCluster, spec: EtcdCluster["spec"]): boolean {
    const { api, tell } = this.#parts;
    const after = api.replace("person", ETCD_CLUSTERS, { ...cluster, spec } as Draft<EtcdCluster>);
    if (after !== cluster)
      tell(
        `a person sets replicas ${spec.replicas}, version ${spec.version}, podTemplate ${JSON.stringify(spec.podTemplate)}, ${spec.updateStrategy.type}, ${spec.clientService.spec.type}`,
      );
    return after !== cluster;
  }

  /**
   * Possible at any time: a person asks for TLS on either side, asks for plaintext again, or reverts an earlier
   * request.
   */
  #switchTls(): boolean {
    const { api, random, tell } = this.#parts;
    const cluster = random.pick(api.list(ETCD_CLUSTERS));
    const wish = random.pick(WISHES);
    if (cluster === undefined || wish === undefined) return false;
    const { peer, client, plaintextFor } = wish;
    const tls = { peer: { provider: peer }, client: { provider: client, plaintextFor } };
    tell(
      `a person asks for TLS by ${peer} among members and by ${client} towards clients, both kinds for ${plaintextFor}`,
    );
    return this.#put(cluster, clusterSpecSchema.parse({ ...cluster.spec, tls }));
  }

  #delete(resource: AnyResource): boolean {
    const { api, random, tell } = this.#parts;
    const object = random.pick(api.list(resource).filter(({ metadata }) => metadata.deletionTimestamp === undefined));
    if (object === undefined) return false;
    tell(`a person deletes ${resource.kind} ${object.metadata.name}`);
    api.delete("person", resource, object.metadata);
    return true;
  }

  /** Pauses the operator for a cluster, or ends the pause. */
  #pause(): boolean {
    const { api, random, tell } = this.#parts;
    const cluster = random.pick(api.list(ETCD_CLUSTERS));
    if (cluster === undefined) return false;
    const { [PAUSED_ANNOTATION]: before, ...others } = cluster.metadata.annotations ?? {};
    const pauses = before === undefined && !cluster.spec.paused;
    const paused = pauses && (cluster.metadata.generation ?? 0) % 2 === 0; // else with the annotation
    const annotations = pauses && !paused ? { ...others, [PAUSED_ANNOTATION]: "true" } : others;
    tell(`a person ${pauses ? "pauses" : "unpauses"} ${cluster.metadata.name}`);
    const given = { ...cluster, spec: { ...cluster.spec, paused }, metadata: { ...cluster.metadata, annotations } };
    api.replace("person", ETCD_CLUSTERS, given);
    return true;
  }

  /** Only pods of nodes that are really down: their containers do not run. */
  #forceDeletePod(): boolean {
    const { api, kubelets, random, tell } = this.#parts;
    const down = new Set(kubelets.nodes.filter(({ isUp }) => !isUp).map(({ name }) => name));
    const pod = random.pick(api.list(PODS).filter(({ spec }) => down.has(spec?.nodeName ?? "")));
    if (pod === undefined) return false;
    tell(`a person deletes pod ${pod.metadata.name} of a dead node by force`);
    api.remove(PODS, pod);
    return true;
  }

  #changeOwned(
    what: string,
    change: (metadata: KubeObject["metadata"]) => KubeObject["metadata"],
    only?: AnyResource,
  ): boolean {
    const { api, random, tell } = this.#parts;
    const resource = only ?? random.pick(OWNED);
    const object = resource === undefined ? undefined : random.pick(api.list(resource));
    if (resource === undefined || object === undefined || this.foreign.has(object.metadata.uid)) return false;
    tell(`a person ${what} ${resource.kind} ${object.metadata.name}`);
    const metadata = change(object.metadata);
    api.update("person", resource, object, { metadata });
    if (metadata.labels === undefined) this.foreign.add(object.metadata.uid);
    return true;
  }

  #unlabelClaim(): boolean {
    const { api, random, tell } = this.#parts;
    const claim = random.pick(api.list(PERSISTENT_VOLUME_CLAIMS));
    if (claim?.metadata.labels === undefined || this.foreign.has(claim.metadata.uid)) return false;
    tell(`a person takes the labels of claim ${claim.metadata.name}`);
    const { labels: _, ...metadata } = claim.metadata;
    api.update("person", PERSISTENT_VOLUME_CLAIMS, claim, { metadata });
    return true;
  }

  /** A person's own object under a name that the operator needs, with or without the operator's labels. */
  #placeForeign(): boolean {
    const { api, random, tell } = this.#parts;
    const resource = random.pick([...OWNED, PERSISTENT_VOLUME_CLAIMS].filter((each) => each !== ETCD_PEERS));
    if (resource === undefined) return false;
    const isOfMember = resource === REPLICA_SETS || resource === PERSISTENT_VOLUME_CLAIMS;
    const name = isOfMember
      ? `${CLUSTER}-0`
      : (random.pick([CLUSTER, ...(resource === SERVICES ? [RIVAL] : [])]) ?? CLUSTER);
    if (api.find(resource, { namespace: NAMESPACE, name }) !== undefined) return false;
    const labels = isOfMember ? claimLabels(CLUSTER, name) : ownerlessLabels(CLUSTER);
    const isLabelled = random.chance(0.5);
    const draft = {
      apiVersion: "v1",
      kind: resource.kind,
      metadata: { namespace: NAMESPACE, name, ...(isLabelled ? { labels } : {}) },
      // With the selector of the operator's ReplicaSets. A selector is immutable, and a different one would prevent
      // adoption for another reason.
      spec: { replicas: 0, ...(resource === REPLICA_SETS ? { selector: { matchLabels: labels } } : {}) },
    };
    const object = api.create("person", resource, draft as Draft<KubeObject>);
    this.foreign.add(object.metadata.uid);
    tell(`a person makes a ${resource.kind} ${name} of their own, ${isLabelled ? "with" : "without"} labels`);
    return true;
  }
}
