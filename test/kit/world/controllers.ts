import {
  type KubeObject,
  keyOf,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type PodDisruptionBudget,
} from "#kube/kinds.ts";
import { type ApiServer, CLAIM_PROTECTION, FOREGROUND, WORLD_KINDS } from "./api.ts";
import type { Etcd } from "./etcd.ts";
import { claimNameOf, isReady, type Kubelets } from "./kubelet.ts";
import type { Random } from "./random.ts";

/**
 * The garbage collector, the disruption controller and the protection of claims. Each method is one step, and returns
 * whether there was anything to do.
 */
export class KubeControllers {
  readonly #api: ApiServer;
  readonly #etcd: Etcd;
  readonly #kubelets: Kubelets;
  readonly #random: Random;

  constructor(parts: { api: ApiServer; etcd: Etcd; kubelets: Kubelets; random: Random }) {
    this.#api = parts.api;
    this.#etcd = parts.etcd;
    this.#kubelets = parts.kubelets;
    this.#random = parts.random;
  }

  /** https://kubernetes.io/docs/concepts/architecture/garbage-collection/ */
  collectGarbage(): boolean {
    const all = WORLD_KINDS.flatMap((resource) => this.#api.list(resource).map((object) => ({ resource, object })));
    const byUid = new Map(all.map(({ object }) => [object.metadata.uid, object]));
    const owners = (object: KubeObject) => object.metadata.ownerReferences ?? [];
    const isGarbage = ({ object }: { object: KubeObject }): boolean => {
      if (owners(object).length === 0 || object.metadata.deletionTimestamp !== undefined) return false;
      return owners(object).every(({ uid }) => isGoingFirst(byUid.get(uid)));
    };
    const garbage = this.#random.pick(all.filter(isGarbage));
    if (garbage !== undefined) {
      // A dependent of an owner that is deleted in the foreground is deleted in the foreground, too.
      const isForeground =
        owners(garbage.object).some(({ uid }) => byUid.has(uid)) && garbage.resource.plural !== PODS.plural;
      this.#api.delete("kubernetes", garbage.resource, garbage.object.metadata, { isForeground });
      return true;
    }
    const owned = new Set(all.flatMap(({ object }) => owners(object).map(({ uid }) => uid)));
    const empty = all.find(({ object }) => isGoingFirst(object) && !owned.has(object.metadata.uid));
    if (empty === undefined) return false;
    this.#api.release(empty.resource, empty.object, FOREGROUND);
    return true;
  }

  /**
   * The disruption controller counts pods that are Ready and not being deleted, as in pkg/controller/disruption.
   * Evictions use its last count.
   */
  countPods(): boolean {
    const pods = this.#api.list(PODS);
    return this.#api.list(POD_DISRUPTION_BUDGETS).some((budget) => {
      const selected = pods.filter((pod) => isSelected(budget, pod));
      const granted = Object.entries(budget.status?.disruptedPods ?? {}).filter(([name]) =>
        selected.some(({ metadata }) => metadata.name === name && metadata.deletionTimestamp === undefined),
      );
      const disruptedPods = Object.fromEntries(granted);
      const currentHealthy = selected.filter(
        (pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined && !(pod.metadata.name in disruptedPods),
      ).length;
      const desiredHealthy = Number(budget.spec?.minAvailable ?? 0);
      const status = {
        observedGeneration: budget.metadata.generation,
        currentHealthy,
        desiredHealthy,
        expectedPods: selected.length,
        disruptionsAllowed: Math.max(0, currentHealthy - desiredHealthy),
        disruptedPods,
      } as NonNullable<PodDisruptionBudget["status"]>;
      return this.#api.update("kubernetes", POD_DISRUPTION_BUDGETS, budget, { status }) !== budget;
    });
  }

  /**
   * Removes a deleted claim that no pod uses, together with its volume. A pod that has ended still uses its claims:
   * `podUsesPVCForDeletion` in pkg/controller/volume/pvcprotection.
   */
  releaseClaim(): boolean {
    const pods = this.#api.list(PODS);
    const users = new Set(
      pods
        .filter(({ spec }) => spec?.nodeName !== undefined)
        .map((pod) => keyOf({ namespace: pod.metadata.namespace, name: claimNameOf(pod) ?? "" })),
    );
    const claim = this.#random.pick(
      this.#api
        .list(PERSISTENT_VOLUME_CLAIMS)
        .filter((each) => each.metadata.deletionTimestamp !== undefined && !users.has(keyOf(each))),
    );
    if (claim === undefined) return false;
    const volume = claim.spec?.volumeName ?? "";
    const disk = this.#kubelets.disks.get(volume);
    if (disk !== undefined) this.#etcd.empty(disk);
    this.#kubelets.disks.delete(volume);
    this.#api.release(PERSISTENT_VOLUME_CLAIMS, claim, CLAIM_PROTECTION);
    return true;
  }
}

export function isSelected({ spec }: PodDisruptionBudget, { metadata }: KubeObject): boolean {
  const labels = Object.entries(spec?.selector?.matchLabels ?? {});
  return labels.length > 0 && labels.every(([key, value]) => metadata.labels?.[key] === value);
}

/** Whether the owner's dependents must be deleted: it is gone, or waits for their deletion. */
function isGoingFirst(owner: KubeObject | undefined): boolean {
  if (owner === undefined) return true;
  return owner.metadata.deletionTimestamp !== undefined && (owner.metadata.finalizers?.includes(FOREGROUND) ?? false);
}
