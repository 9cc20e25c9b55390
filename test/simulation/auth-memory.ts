import { OPERATOR, ROOT } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { type ClusterId, hexOf } from "#etcd/types.ts";
import type { AuthStore } from "#kit/world/auth.ts";
import { authOf } from "#kit/world/disk.ts";
import type { Process } from "#kit/world/etcd.ts";
import type { World, WorldEvent } from "#kit/world/world.ts";
import { SECRETS } from "#kube/kinds.ts";

/** Whether auth is enabled, and since when. */
interface Asked {
  readonly enabled: boolean;
  /** When auth was last in the other state: the step, and the world time. */
  readonly otherwise: { readonly step: number; readonly ms: number };
}

/** Requirements while auth is enabled: the operator is an administrator, and every member verifies clients. */
export type Order = "administrator" | "asking";

/** Requirements that are not met, by the running members. */
function disorderOf(running: readonly Process[]): readonly Order[] {
  const store = storeOf(running);
  return [
    ...(store === undefined || isAdministrator(store, OPERATOR) ? [] : ["administrator" as const]),
    ...(running.every(asksWhoConnects) ? [] : ["asking" as const]),
  ];
}

export function isAdministrator({ users }: AuthStore, user: string): boolean {
  return users.get(user)?.roles.has(ROOT) === true;
}

export function asksWhoConnects({ speeches: { client } }: Process): boolean {
  return client.asks && !client.schemes.has("http");
}

/** Auth state of the cluster, by its most advanced running member; undefined when none runs. */
export function usersOf(world: World, { status }: EtcdCluster): AuthStore | undefined {
  return storeOf(
    [...world.etcd.processes.values()].filter(({ data }) => hexOf(data.clusterId) === status?.identity?.clusterID),
  );
}

function storeOf(running: readonly Process[]): AuthStore | undefined {
  const [first] = running.toSorted((a, b) => b.data.committed - a.data.committed);
  return first === undefined ? undefined : authOf(first.data);
}

/** Changes of etcd's users and of auth, with their times. */
export class AuthMemory {
  /** Auth state by cluster ID. */
  readonly #asked = new Map<string, Asked>();
  /** The last step in which a person changed users, by cluster ID. */
  readonly #byHand = new Map<string, number>();
  /** Requirements that a change by a person broke, until they are met again: by cluster ID. */
  readonly #outOfOrder = new Map<string, ReadonlySet<Order>>();
  /** The last step in which a person wrote a Secret. */
  #secretEdited = Number.NEGATIVE_INFINITY;

  note(event: WorldEvent, world: World): void {
    if (event.is === "usersChanged" && event.by === "person") this.#noteByHand(event.clusterId, world);
    if (event.is === "step") this.#noteOrder(world);
    if (event.is === "usersChanged") this.#noteAsked(event.clusterId, event.enabled, world);
    if (event.is === "write" && event.actor !== "operator" && event.resource === SECRETS)
      this.#secretEdited = world.step;
  }

  /** Attributes every unmet requirement right after a change by a person to that person. */
  #noteByHand(clusterId: ClusterId, world: World): void {
    const key = hexOf(clusterId);
    this.#byHand.set(key, world.step);
    const running = [...world.etcd.processes.values()].filter(({ data }) => data.clusterId === clusterId);
    const now = disorderOf(running).filter((each) => each === "administrator" || storeOf(running)?.enabled === true);
    this.#outOfOrder.set(key, new Set([...(this.#outOfOrder.get(key) ?? []), ...now]));
  }

  /** Ends the excuse for requirements that are met again. */
  #noteOrder({ etcd }: World): void {
    for (const [key, before] of this.#outOfOrder) {
      const running = [...etcd.processes.values()].filter(({ data }) => hexOf(data.clusterId) === key);
      if (running.length === 0) continue;
      const now = disorderOf(running);
      this.#outOfOrder.set(key, new Set([...before].filter((each) => now.includes(each))));
    }
  }

  #noteAsked(clusterId: ClusterId, enabled: boolean, { step, time }: World): void {
    const key = hexOf(clusterId);
    if (enabled === (this.#asked.get(key)?.enabled ?? false)) return;
    this.#asked.set(key, { enabled, otherwise: { step, ms: time.nowMs } });
  }

  /** Whether a person has changed users or Secrets since this step. */
  isEditedSince({ status }: EtcdCluster, step: number): boolean {
    const byHand = this.#byHand.get(status?.identity?.clusterID ?? "") ?? Number.NEGATIVE_INFINITY;
    return Math.max(byHand, this.#secretEdited) >= step;
  }

  /** Whether a change by a person has broken the requirement, which is not met again yet. */
  isOutOfOrder({ status }: EtcdCluster, order: Order): boolean {
    return this.#outOfOrder.get(status?.identity?.clusterID ?? "")?.has(order) === true;
  }

  /** Whether auth had this state in that step or later, or at that time or later. */
  wasSo({ status }: EtcdCluster, enabled: boolean, since: { step: number; ms: number }): boolean {
    const asked = this.#asked.get(status?.identity?.clusterID ?? "");
    if ((asked?.enabled ?? false) === enabled) return true;
    return asked !== undefined && (asked.otherwise.step >= since.step || asked.otherwise.ms >= since.ms);
  }
}
