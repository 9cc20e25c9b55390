import { clusterLabels, memberLabels, PEER_LABEL } from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { ETCD_RESTORES, type EtcdRestore } from "#api/v1beta1/restore.ts";
import {
  apiVersionOf,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
} from "#kube/kinds.ts";
import { claimIdentity } from "./cluster.ts";
import { etcdRestore, sourceBackup } from "./etcd-restore.ts";
import { type ApiWrite, FallibleApi } from "./fallible-api.ts";
import { formCluster } from "./restore-cluster.ts";
import { letClaimsGo, runJobs } from "./restore-kubernetes.ts";
import { wrongWrite } from "./restore-promises.ts";

export const CLAIMS = PERSISTENT_VOLUME_CLAIMS.plural;
export const CLUSTERS = ETCD_CLUSTERS.plural;
export const RESTORES = ETCD_RESTORES.plural;
/** Of the cluster. */
export const NAME = "restored";
export const IN_USE = "kubernetes.io/pvc-protection";
const BACKUP = sourceBackup();
const SPEC = clusterSpecSchema.parse({ replicas: 3, tls: NO_TLS });
const START_MS = Date.parse("2026-01-01T12:00:00Z");

interface Given {
  /** The EtcdCluster of the name is there, and has asked for the restore by its spec. */
  readonly isAsked?: boolean;
  /** The snapshot is encrypted with another key. */
  readonly isUnreadable?: boolean;
}

/** The API server, with all that an EtcdRestore meets there: Kubernetes, the room of clusters, and people. */
export class RestoreWorld extends FallibleApi {
  /** What was not as promised, in sentences. */
  readonly wrong: string[] = [];
  /** By uid of a claim: the uid of the EtcdRestore whose data it holds, all of it. */
  readonly filled = new Map<string, string>();
  /** By uid of a claim: the ID of the cluster that has taken it. */
  readonly taken = new Map<string, string>();
  /** IDs of the clusters that have been Ready. */
  readonly served = new Set<string>();
  readonly isUnreadable: boolean;

  constructor({ isAsked = false, isUnreadable = false }: Given = {}) {
    super(START_MS);
    this.isUnreadable = isUnreadable;
    this.put(ETCD_BACKUPS.plural, BACKUP);
    const askedBy = isAsked ? this.makeCluster({ bootstrap: { fromBackup: { backupName: "nightly" } } }) : undefined;
    this.makeRestore(askedBy?.metadata.uid);
  }

  get restore(): EtcdRestore | undefined {
    return this.find(RESTORES, "back");
  }

  get cluster(): EtcdCluster | undefined {
    return this.find(CLUSTERS, NAME);
  }

  get claims(): readonly PersistentVolumeClaim[] {
    return this.all(CLAIMS);
  }

  get pods(): readonly Pod[] {
    return this.all(PODS.plural);
  }

  protected override admitted(plural: string, draft: KubeObject): KubeObject {
    const finalizers = plural === CLAIMS ? { finalizers: [IN_USE] } : {};
    return { ...draft, metadata: { ...draft.metadata, ...finalizers } } as KubeObject;
  }

  protected override written(write: ApiWrite): void {
    this.wrong.push(...wrongWrite(this, write));
  }

  /** Everybody but the operator's room of restores goes on by one step. */
  goOn(): void {
    runJobs(this);
    letClaimsGo(this);
    formCluster(this);
  }

  /** Somebody makes an EtcdCluster of the name, if there is none. */
  makeCluster(spec: object = {}): EtcdCluster {
    const metadata = { namespace: "foo", name: NAME, labels: clusterLabels(NAME) };
    const object = { apiVersion: apiVersionOf(ETCD_CLUSTERS), kind: ETCD_CLUSTERS.kind, metadata };
    return this.cluster ?? this.put(CLUSTERS, { ...object, spec: { ...SPEC, ...spec } } as never);
  }

  deleteCluster(): void {
    this.remove(CLUSTERS, NAME);
    for (const { metadata } of this.pods)
      if (metadata.labels?.[PEER_LABEL] !== undefined) this.remove(PODS.plural, metadata.name);
  }

  /** Somebody makes the EtcdRestore, if there is none of its name. */
  makeRestore(askedBy?: string): void {
    if (this.restore !== undefined) return;
    const { metadata, ...object } = etcdRestore({ held: false, ...(askedBy === undefined ? {} : { askedBy }) });
    const { uid: _, ...fresh } = metadata;
    this.put(RESTORES, { ...object, metadata: fresh } as never);
  }

  /** A claim that an earlier cluster of the name has left, or that one begins with, if there is none of its name. */
  makeClaim(name: string, clusterID = "dead", id = "1"): PersistentVolumeClaim {
    const metadata = {
      namespace: "foo",
      name,
      labels: memberLabels(NAME, name),
      annotations: claimIdentity(clusterID, id),
    };
    const spec = { volumeName: `volume-of-${clusterID}-${name}` };
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { ...metadata, finalizers: [IN_USE] },
      spec,
    };
    return this.find(CLAIMS, name) ?? this.put(CLAIMS, claim as never);
  }

  /** Somebody takes away what the claim says of whose data it holds. */
  silence(name: string): void {
    const claim = this.find<PersistentVolumeClaim>(CLAIMS, name);
    if (claim !== undefined) this.put(CLAIMS, { ...claim, metadata: { ...claim.metadata, annotations: {} } } as never);
  }

  deleteAll(plural: string): void {
    for (const { metadata } of this.all(plural)) this.remove(plural, metadata.name);
  }
}
