import {
  type AgentReport,
  type FetchedSnapshot,
  type FetchReport,
  type FinishReport,
  failure,
  reportText,
} from "#agent/report.ts";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { BACKUP_DESTINATION_LABEL, CLAIMS_FINALIZER, RESTORED_FROM, restoreLabels } from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_RESTORES, type EtcdRestore, type EtcdRestoreStatus } from "#api/v1beta1/restore.ts";
import { restoreSpecSchema } from "#api/v1beta1/restore-schema.ts";
import { apiVersionOf, type Job, type PersistentVolumeClaim, type Pod } from "#kube/kinds.ts";
import { restoredCluster } from "#restore/desired/cluster.ts";
import { restoreJob } from "#restore/desired/job.ts";
import { restoredClaim } from "#restore/desired/member.ts";
import { identityAnnotations, memberNames, restoredIdentity } from "#restore/identity.ts";
import { objectOf, type SourceObject } from "#restore/object.ts";
import type { RestoredMember, RestoreSnapshot } from "#restore/snapshot.ts";
import { born, claim, NOW } from "./cluster.ts";
import { destinationClaim, etcdBackup, IMAGE, STORED } from "./etcd-backup.ts";

/** How far the restore of a snapshot has progressed. */
export type RestoreStage = "new" | "claims" | "made" | "starting" | "running" | "filled" | "told" | "forming" | "ready";

interface Given {
  /** Default: "running". */
  readonly stage?: RestoreStage;
  /** The spec as a person would write it. */
  readonly spec?: object;
  readonly status?: EtcdRestoreStatus;
  readonly deleting?: boolean;
  /** Default: true as soon as claims exist. */
  readonly held?: boolean;
  /** Uid of the EtcdCluster that requested it in its spec. */
  readonly askedBy?: string;
  /** Overrides of the finished snapshot. */
  readonly with?: Partial<RestoreSnapshot>;
}

export const UID = "0123456789-uid-of-restore";
export const NAMES = ["restored-0", "restored-1", "restored-2"];
/** When Jobs and pods were made: ten seconds ago. */
export const MADE_AT = "2026-01-01T11:59:50Z";

export const BROUGHT: FetchReport = {
  ok: true,
  kind: "fetch",
  snapshot: {
    ...{ key: "k.db", bytes: 1_000, sha256: "ab", revision: "12", etcdVersion: "3.6.16" },
    ...{ clusterID: "cd", clusterUID: "uid-of-cluster", backupUID: "u", hasManifest: true },
  },
};
export const FINISHED: FinishReport = {
  ...{ ok: true, kind: "finish", moved: true },
  ...{ revision: "1000000012", sha256: BROUGHT.snapshot.sha256 },
};
export const WRONG_KEY = failure("BadKey", "the object is encrypted with the key 01234567");

/** The source of an object at a URL. */
export const BY_URL = { source: { object: { url: { url: "s3://bucket/k.db?region=eu-1" } } } };
/** The source of an encrypted object on the claim of backups. */
export const ON_VOLUME = {
  source: {
    object: { volume: { claimName: "backups", key: "nightly/k.db" }, encryption: { keySecretRef: { name: "key" } } },
  },
};

export function etcdRestore(given: Given = {}): EtcdRestore {
  const { status, askedBy } = given;
  const isHeld = given.held ?? (given.stage ?? "running") !== "new";
  const owner = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", name: "restored", uid: askedBy ?? "" };
  return {
    apiVersion: apiVersionOf(ETCD_RESTORES),
    kind: ETCD_RESTORES.kind,
    metadata: {
      namespace: "foo",
      name: "back",
      uid: UID,
      resourceVersion: "100",
      generation: 1,
      creationTimestamp: "2026-01-01T11:59:00Z",
      ...(askedBy === undefined ? {} : { ownerReferences: [{ ...owner, controller: true }] }),
      ...(isHeld ? { finalizers: [CLAIMS_FINALIZER] } : {}),
      ...(given.deleting === true ? { deletionTimestamp: "2026-01-01T12:00:00Z" } : {}),
    },
    spec: restoreSpecSchema.parse({
      source: { backupName: "nightly" },
      clusterTemplate: { clusterName: "restored", spec: { replicas: 3, version: DEFAULT_VERSION, tls: NO_TLS } },
      ...given.spec,
    }),
    ...(status === undefined ? {} : { status }),
  };
}

/** The EtcdBackup `nightly`, completed by default. */
export function sourceBackup(status: object = {}, spec: object = {}): EtcdBackup {
  const key = "foo/my-etcd/u/nightly.db";
  return etcdBackup({ spec, status: { phase: "Completed", objectKey: key, object: stored(), ...status } });
}

function stored() {
  const { key: _, startedAt: __, completedAt: ___, ...object } = STORED;
  return object;
}

/** A snapshot of EtcdRestore `back` in namespace `foo`; by default its Jobs run. */
export function restore(given: Given = {}): RestoreSnapshot {
  const stage = given.stage ?? "running";
  const object = etcdRestore(given);
  const isOnVolume = object.spec.source.object?.volume !== undefined;
  const bare: RestoreSnapshot = {
    takenAtMs: NOW,
    restore: object,
    members: memberNames(object).map((name, ordinal) => ({ name, ordinal, claim: undefined, filling: undefined })),
    otherClaims: [],
    cluster: undefined,
    backup: object.spec.source.backupName === undefined ? undefined : sourceBackup(),
    sourceClaim: isOnVolume ? destinationClaim({ [BACKUP_DESTINATION_LABEL]: "true" }) : undefined,
    warnings: [],
    read: undefined,
    agentImage: IMAGE,
    imageRepository: "registry.example/etcd",
  };
  const known = { ...bare, ...given.with };
  const staged = {
    ...bare,
    members: known.members.map((member) => memberAt(known, member, stage)),
    ...(stage === "forming" || stage === "ready" ? { cluster: clusterOf(bare, stage === "ready") } : {}),
    ...(stage === "ready" ? { read: { is: "present" as const, value: 1_000_000_012n } } : {}),
  };
  const { members: _, ...others } = given.with ?? {};
  return { ...staged, ...others };
}

const STAGES: readonly RestoreStage[] = [
  ...(["new", "claims", "made", "starting", "running", "filled", "told", "forming", "ready"] as const),
];

export function memberAt(snapshot: RestoreSnapshot, member: RestoredMember, stage: RestoreStage): RestoredMember {
  const at = STAGES.indexOf(stage);
  if (at === 0) return member;
  const own = claimAt(snapshot, member.name, at >= STAGES.indexOf("told"));
  const unseen = { ...snapshot, backup: snapshot.backup ?? sourceBackup() };
  return at < STAGES.indexOf("made")
    ? { ...member, claim: own }
    : { ...member, claim: own, filling: fillingAt(unseen, member, stage) };
}

/** The claim of a member, as this restore has made it. */
export function claimAt(snapshot: RestoreSnapshot, name: string, isTold = false): PersistentVolumeClaim {
  const made = born(restoredClaim(snapshot, name), `uid-of-claim-${name}`);
  const annotations = isTold ? identityAnnotations(snapshot.restore, name) : {};
  return {
    ...made,
    metadata: { ...made.metadata, annotations },
    spec: { volumeName: `volume-of-${name}` },
  } as PersistentVolumeClaim;
}

/** A claim that the restore has not made. */
export function foreignClaim(name: string, uid?: string): PersistentVolumeClaim {
  const made = claim(name);
  return uid === undefined ? made : { ...made, metadata: { ...made.metadata, labels: { [RESTORED_FROM]: uid } } };
}

export function goodObject(snapshot: RestoreSnapshot): SourceObject {
  const object = objectOf(snapshot);
  if (typeof object === "string") throw new Error(object);
  return object;
}

export function jobOf(snapshot: RestoreSnapshot, member: RestoredMember): Job {
  const draft = restoreJob(snapshot, member, goodObject(snapshot), IMAGE);
  return born<Job>({ ...draft, metadata: { ...draft.metadata, creationTimestamp: MADE_AT } });
}

const RUNNING = { running: { startedAt: MADE_AT } };
const WAITING = { waiting: { reason: "PodInitializing" } };
const ENDED_AT = "2026-01-01T11:59:57Z";

export function ended(exitCode: number, report: AgentReport | string = "") {
  const message = typeof report === "string" ? report : reportText(report);
  return { terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error", message, finishedAt: ENDED_AT } };
}

function fillingAt(snapshot: RestoreSnapshot, member: RestoredMember, stage: RestoreStage): RestoredMember["filling"] {
  const job = jobOf(snapshot, member);
  if (stage === "made") return { job, pods: [] };
  if (stage === "starting")
    return {
      job,
      pods: [restorePod(job, "Pending", [{ waiting: { reason: "ContainerCreating" } }, WAITING, WAITING])],
    };
  if (stage === "running") return { job, pods: [restorePod(job, "Pending", [RUNNING, WAITING, WAITING])] };
  return succeeded(job);
}

/** The agent's report of a fetched snapshot, with overrides. */
export function broughtWith(change: Partial<FetchedSnapshot>): FetchReport {
  return { ...BROUGHT, snapshot: { ...BROUGHT.snapshot, ...change } };
}

/**
 * The Job after its success.
 * @param brought the report of the last pod's fetch
 * @param finished the report of the last container; by default it has moved what was fetched
 */
export function succeeded(
  job: Job,
  brought: FetchReport = BROUGHT,
  finished: AgentReport = { ...FINISHED, sha256: brought.snapshot.sha256 },
): NonNullable<RestoredMember["filling"]> {
  const conditions = [{ type: "Complete", status: "True", lastTransitionTime: "2026-01-01T11:59:58Z" }];
  const pods = [restorePod(job, "Succeeded", [ended(0, brought), ended(0), ended(0, finished)])];
  return { job: { ...job, status: { conditions } } as Job, pods };
}

/**
 * The failed Job.
 * @param states of its containers, in the order in which they run
 */
export function failed(
  job: Job,
  states: readonly object[] = [ended(2, WRONG_KEY), WAITING, WAITING],
  reason = "PodFailurePolicy",
) {
  const end = { lastTransitionTime: "2026-01-01T11:59:58Z", status: "True", message: "m" };
  const conditions = [{ ...end, type: "Failed", reason }];
  return {
    job: { ...job, status: { conditions } } as Job,
    pods: states.length === 0 ? [] : [restorePod(job, "Failed", states)],
  };
}

/** @param states of its containers, in the order in which they run */
export function restorePod(job: Job, phase: string, states: readonly object[], metadata: object = {}): Pod {
  const { namespace, name, uid } = job.metadata;
  const statuses = ["fetch", "etcdutl", "finish"].map((container, n) => ({
    ...{ name: container, state: states[n] ?? WAITING, image: "", imageID: "", ready: false, restartCount: 0 },
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name: `${name}-abcde`,
      uid: `uid-of-pod-of-${name}`,
      resourceVersion: "300",
      creationTimestamp: MADE_AT,
      labels: restoreLabels("back", "restored"),
      ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name, uid, controller: true }],
      ...metadata,
    },
    spec: { containers: [] },
    status: { phase, initContainerStatuses: statuses.slice(0, 2), containerStatuses: statuses.slice(2) },
  } as unknown as Pod;
}

/** The snapshot with a change of one member. */
export function withMember(
  snapshot: RestoreSnapshot,
  ordinal: number,
  change: Partial<RestoredMember>,
): RestoreSnapshot {
  const members = snapshot.members.map((member) => (member.ordinal === ordinal ? { ...member, ...change } : member));
  return { ...snapshot, members };
}

/**
 * The cluster that the restore has made.
 * @param isReady whether it has adopted its claims, and is Ready
 */
export function clusterOf(snapshot: RestoreSnapshot, isReady = false, change: object = {}): EtcdCluster {
  const made = born<EtcdCluster>(restoredCluster(snapshot), "uid-of-restored");
  const { clusterID, token } = restoredIdentity(snapshot.restore);
  const ready = { type: "Ready", status: "True" as const, reason: "AllMembersHealthy", message: "3 of 3" };
  const conditions = [{ ...ready, observedGeneration: 1, lastTransitionTime: MADE_AT }];
  const status = isReady ? { identity: { clusterID, token, initialMembers: [] }, conditions } : undefined;
  return { ...made, ...(status === undefined ? {} : { status }), ...change };
}
