import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { type ClusterId, hexOf } from "#etcd/types.ts";
import type { World, WorldEvent } from "#kit/world.ts";
import type { AuthStore } from "#kit/world-auth.ts";
import { authOf } from "#kit/world-disk.ts";
import { SECRETS } from "#kube/kinds.ts";

/** Whether etcd asks for users, and since when that is so. */
interface Asked {
  readonly enabled: boolean;
  /** When it was last otherwise: the step, and in world time. */
  readonly otherwise: { readonly step: number; readonly ms: number };
}

/** What etcd of this cluster has of users, by whoever knows most of those who run; undefined when nobody runs. */
export function usersOf(world: World, { status }: EtcdCluster): AuthStore | undefined {
  const running = [...world.etcd.processes.values()].filter(
    ({ data }) => hexOf(data.clusterId) === status?.identity?.clusterID,
  );
  const [first] = running.toSorted((a, b) => b.data.committed - a.data.committed);
  return first === undefined ? undefined : authOf(first.data);
}

/** Who has changed users, and when etcd asked for them. */
export class AuthMemory {
  /** By cluster ID. */
  readonly #asked = new Map<string, Asked>();
  /** The last step in which a person changed users, by cluster ID. */
  readonly #byHand = new Map<string, number>();
  /** The last step in which a person wrote a Secret. */
  #secretEdited = Number.NEGATIVE_INFINITY;

  note(event: WorldEvent, world: World): void {
    if (event.is === "usersChanged" && event.by === "person") this.#byHand.set(hexOf(event.clusterId), world.step);
    if (event.is === "usersChanged") this.#noteAsked(event.clusterId, event.enabled, world);
    if (event.is === "write" && event.actor !== "operator" && event.resource === SECRETS)
      this.#secretEdited = world.step;
  }

  #noteAsked(clusterId: ClusterId, enabled: boolean, { step, time }: World): void {
    const key = hexOf(clusterId);
    if (enabled === (this.#asked.get(key)?.enabled ?? false)) return;
    this.#asked.set(key, { enabled, otherwise: { step, ms: time.nowMs } });
  }

  /** Whether a person has changed users, or Secrets, since this step. */
  isEditedSince({ status }: EtcdCluster, step: number): boolean {
    const byHand = this.#byHand.get(status?.identity?.clusterID ?? "") ?? Number.NEGATIVE_INFINITY;
    return Math.max(byHand, this.#secretEdited) >= step;
  }

  /** Whether a person has ever changed users. */
  isEverEdited({ status }: EtcdCluster): boolean {
    return this.#byHand.has(status?.identity?.clusterID ?? "");
  }

  /** Whether this was so in that step or later, or at that time or later. */
  wasSo({ status }: EtcdCluster, enabled: boolean, since: { step: number; ms: number }): boolean {
    const asked = this.#asked.get(status?.identity?.clusterID ?? "");
    if ((asked?.enabled ?? false) === enabled) return true;
    return asked !== undefined && (asked.otherwise.step >= since.step || asked.otherwise.ms >= since.ms);
  }
}
