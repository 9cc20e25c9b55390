import { OPERATOR, ROOT } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { type ClusterId, hexOf } from "#etcd/types.ts";
import type { World, WorldEvent } from "#kit/world.ts";
import type { AuthStore } from "#kit/world-auth.ts";
import { authOf } from "#kit/world-disk.ts";
import type { Process } from "#kit/world-etcd.ts";
import { SECRETS } from "#kube/kinds.ts";

/** Whether etcd asks for users, and since when that is so. */
interface Asked {
  readonly enabled: boolean;
  /** When it was last otherwise: the step, and in world time. */
  readonly otherwise: { readonly step: number; readonly ms: number };
}

/** What has to be in order while etcd asks for users: the operator is an administrator, and every member asks who connects. */
export type Order = "administrator" | "asking";

/** What of it is not in order, among those who run. */
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

/** What etcd of this cluster has of users, by whoever knows most of those who run; undefined when nobody runs. */
export function usersOf(world: World, { status }: EtcdCluster): AuthStore | undefined {
  return storeOf(
    [...world.etcd.processes.values()].filter(({ data }) => hexOf(data.clusterId) === status?.identity?.clusterID),
  );
}

function storeOf(running: readonly Process[]): AuthStore | undefined {
  const [first] = running.toSorted((a, b) => b.data.committed - a.data.committed);
  return first === undefined ? undefined : authOf(first.data);
}

/** Who has changed users, and when etcd asked for them. */
export class AuthMemory {
  /** By cluster ID. */
  readonly #asked = new Map<string, Asked>();
  /** The last step in which a person changed users, by cluster ID. */
  readonly #byHand = new Map<string, number>();
  /** What is out of order because a person has changed users, until it is as it should be: by cluster ID. */
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

  /** What is not as it should be right after a person has changed something is that person's doing, or was so before. */
  #noteByHand(clusterId: ClusterId, world: World): void {
    const key = hexOf(clusterId);
    this.#byHand.set(key, world.step);
    const running = [...world.etcd.processes.values()].filter(({ data }) => data.clusterId === clusterId);
    const now = disorderOf(running).filter((each) => each === "administrator" || storeOf(running)?.enabled === true);
    this.#outOfOrder.set(key, new Set([...(this.#outOfOrder.get(key) ?? []), ...now]));
  }

  /** What is in order again is excused no more. */
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

  /** Whether a person has changed users, or Secrets, since this step. */
  isEditedSince({ status }: EtcdCluster, step: number): boolean {
    const byHand = this.#byHand.get(status?.identity?.clusterID ?? "") ?? Number.NEGATIVE_INFINITY;
    return Math.max(byHand, this.#secretEdited) >= step;
  }

  /** Whether this is not as it should be since a person has changed users. */
  isOutOfOrder({ status }: EtcdCluster, order: Order): boolean {
    return this.#outOfOrder.get(status?.identity?.clusterID ?? "")?.has(order) === true;
  }

  /** Whether this was so in that step or later, or at that time or later. */
  wasSo({ status }: EtcdCluster, enabled: boolean, since: { step: number; ms: number }): boolean {
    const asked = this.#asked.get(status?.identity?.clusterID ?? "");
    if ((asked?.enabled ?? false) === enabled) return true;
    return asked !== undefined && (asked.otherwise.step >= since.step || asked.otherwise.ms >= since.ms);
  }
}
