import { WarningsReader } from "#agent-job/warnings.ts";
import { RESTORE_LABEL } from "#api/names.ts";
import { ETCD_RESTORES, type EtcdRestoreStatus } from "#api/v1beta1/restore.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { actOnRestore, type RestoreWrites } from "#restore/act.ts";
import { observeRestore, type RestoreReads } from "#restore/observe.ts";
import { planRestore } from "#restore/plan.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import { failingStatus, restoreStatus } from "#restore/status.ts";
import { type RestoreStep, targetTextOf } from "#restore/step.ts";
import { type Controller, type Key, keysNamedBy } from "#runtime/controller.ts";
import { statusWriter } from "#runtime/status-writer.ts";

/**
 * Recheck interval, in milliseconds. Events wake the controller; this is only a slow second check. A restore that has
 * ended is observed again only when it changes.
 */
const REST_MS = 30 * 60_000;

/** The controller of EtcdRestore: observe, plan, act and status. */
export function restoreController(
  kube: RestoreWrites,
  reads: RestoreReads,
): Controller<RestoreSnapshot, RestoreStep, EtcdRestoreStatus> {
  const warnings = new WarningsReader(reads.kube, reads.clock);
  const report = statusWriter({
    kube,
    resource: ETCD_RESTORES,
    cache: reads.restores,
    clock: reads.clock,
    failing: failingStatus,
    objectOf: ({ restore }: RestoreSnapshot) => restore,
  });
  return {
    name: "restore",
    restMs: () => REST_MS,
    observe: (key, signal) => observeRestore(reads, warnings, key, signal),
    plan: planRestore,
    target: targetTextOf,
    act: (step, snapshot, signal) => actOnRestore(kube, step, snapshot, signal),
    status: restoreStatus,
    ...report,
  };
}

/** The EtcdRestore of a Job or a pod: by label, or by owner when a Job has lost its label. */
export function restoreKeysFor(object: KubeObject): readonly Key[] {
  return keysNamedBy(object, RESTORE_LABEL, ETCD_RESTORES);
}
