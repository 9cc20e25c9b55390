import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { clusterLabels, memberLabels, PEER_LABEL } from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { ETCD_RESTORES, type EtcdRestore } from "#api/v1beta1/restore.ts";
import { type ApiWrite, FallibleApi } from "#kit/servers/fallible-api.ts";
import { claimIdentity } from "#kit/snapshots/cluster.ts";
import { etcdRestore, sourceBackup } from "#kit/snapshots/etcd-restore.ts";
import {
  apiVersionOf,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
} from "#kube/kinds.ts";
import { formCluster } from "./restore-cluster.ts";
import { letClaimsGo, runJobs } from "./restore-kubernetes.ts";
import { wrongWrite } from "./restore-promises.ts";

export const CLAIMS = PERSISTENT_VOLUME_CLAIMS.plural;
export const CLUSTERS = ETCD_CLUSTERS.plural;
export const RESTORES = ETCD_RESTORES.plural;
/** Name of the cluster. */
export const NAME = "restored";
export const IN_USE = "kubernetes.io/pvc-protection";
const BACKUP = sourceBackup();
const SPEC = clusterSpecSchema.parse({ replicas: 3, version: DEFAULT_VERSION, tls: NO_TLS });
const START_MS = Date.parse("2026-01-01T12:00:00Z");

interface Given {
  /** The EtcdCluster exists, and its spec has requested the restore. */
  readonly isAsked?: boolean;
  /** The snapshot is encrypted with another key. */
  readonly isUnreadable?: boolean;
}

/** A fake API server with everything that affects an EtcdRestore: Kubernetes, the cluster controller, and people. */
export class RestoreWorld extends FallibleApi {
  /** Broken promises, in sentences. */
  readonly wrong: string[] = [];
  /** Uid of each filled claim: uid of the EtcdRestore that filled it. */
  readonly filled = new Map<string, string>();
  /** Uid of each adopted claim: ID of the cluster that has adopted it. */
  readonly taken = new Map<string, string>();
  /** IDs of the clusters that were ever Ready. */
  readonly served = new Set<string>();
  readonly isUnreadable: boolean;

  constructor({ isAsked = false, isUnreadable = false }: Given = {}) {
    super(START_MS);
    this.isUnreadable = isUnreadable;
    this.put(ETCD_BACKUPS.plural, BACKUP);
    const askedBy = isAsked
      ? this.makeCluster({ bootstrap: { fromBackup: { source: { backupName: "nightly" } } } })
      : undefined;
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

  /** One step of every actor except the operator's restore controller. */
  goOn(): void {
    runJobs(this);
    letClaimsGo(this);
    formCluster(this);
  }

  /** A person creates the EtcdCluster, if it does not exist. */
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

  /** A person creates the EtcdRestore, if it does not exist. */
  makeRestore(askedBy?: string): void {
    if (this.restore !== undefined) return;
    const { metadata, ...object } = etcdRestore({ held: false, ...(askedBy === undefined ? {} : { askedBy }) });
    const { uid: _, ...fresh } = metadata;
    this.put(RESTORES, { ...object, metadata: fresh } as never);
  }

  /** Creates a claim of an earlier cluster, or of a starting one, if it does not exist. */
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

  /** A person removes the claim's annotations about its data. */
  silence(name: string): void {
    const claim = this.find<PersistentVolumeClaim>(CLAIMS, name);
    if (claim !== undefined) this.put(CLAIMS, { ...claim, metadata: { ...claim.metadata, annotations: {} } } as never);
  }

  deleteAll(plural: string): void {
    for (const { metadata } of this.all(plural)) this.remove(plural, metadata.name);
  }
}
