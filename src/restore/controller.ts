import { RESTORE_LABEL } from "#api/names.ts";
import { ETCD_RESTORES, type EtcdRestore, type EtcdRestoreStatus } from "#api/v1beta1/restore.ts";
import { WarningsReader } from "#backup/warnings.ts";
import { isSameData } from "#base/hash.ts";
import { apiVersionOf, controllerOf, type KubeObject } from "#kube/kinds.ts";
import { actOnRestore, type RestoreWrites, writeStatus } from "#restore/act.ts";
import { observeRestore, type RestoreReads } from "#restore/observe.ts";
import { planRestore } from "#restore/plan.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import { failingStatus, restoreStatus } from "#restore/status.ts";
import { type RestoreStep, targetTextOf } from "#restore/step.ts";
import type { Controller, Key, Subject } from "#runtime/controller.ts";

/** What has ended is only ever looked at again when somebody changes it; the rest is a slow second look, in milliseconds. */
const REST_MS = 30 * 60_000;

/** Joins what the room of EtcdRestore does: observe, plan, act and status. */
export function restoreController(
  kube: RestoreWrites,
  reads: RestoreReads,
): Controller<RestoreSnapshot, RestoreStep, EtcdRestoreStatus> {
  const warnings = new WarningsReader(reads.kube, reads.clock);
  return {
    name: "restore",
    restMs: () => REST_MS,
    observe: (key, signal) => observeRestore(reads, warnings, key, signal),
    plan: planRestore,
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnRestore(kube, step, snapshot, signal),
    status: restoreStatus,
    writeStatus: (snapshot, status, signal) =>
      isSameData(status, snapshot.restore.status ?? {})
        ? Promise.resolve(undefined)
        : writeStatus(kube, snapshot, status, signal),
    subject: ({ restore }) => subjectOf(restore),
    subjectOf: (key) => {
      const restore = reads.restores.get(key);
      return restore && subjectOf(restore);
    },
    writeFailing: (key, because, signal) => {
      const restore = reads.restores.get(key);
      if (restore === undefined) return Promise.resolve(undefined);
      const status = failingStatus(restore, because, reads.clock.wallMs());
      return isSameData(status, restore.status ?? {})
        ? Promise.resolve(undefined)
        : writeStatus(kube, { restore }, status, signal);
    },
  };
}

function subjectOf({ metadata: { namespace, name, uid } }: EtcdRestore): Subject {
  return { apiVersion: apiVersionOf(ETCD_RESTORES), kind: ETCD_RESTORES.kind, namespace, name, uid };
}

/** The restore that a Job or a pod is of: both carry the label, and a Job that lost it has its owner. */
export function restoreKeysFor(object: KubeObject): readonly Key[] {
  const owner = controllerOf(object);
  const name = object.metadata.labels?.[RESTORE_LABEL] ?? (owner?.kind === ETCD_RESTORES.kind ? owner.name : undefined);
  const { namespace } = object.metadata;
  return name === undefined || namespace === undefined ? [] : [{ namespace, name }];
}

/** Restores whose cluster or source may matter to them. */
export function isOpen({ status }: EtcdRestore): boolean {
  return status?.phase !== "Completed" && status?.phase !== "Failed";
}
