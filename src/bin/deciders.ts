import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { absent } from "#base/observed.ts";
import type { LoopOptions } from "#runtime/control-loop.ts";
import type { CacheView, Key } from "#runtime/controller.ts";
import { isBackup, isIn, isOfCluster, type Shard } from "#shards/belonging.ts";
import type { Caches } from "./caches.ts";

// Which objects are decided about here, where another process leads another shard. Asked of every object before it is looked at.

/** Whether the object of this key is decided about here. */
export type Decides = (key: Key) => boolean;

type Read = { readonly [Kind in "peers" | "backups" | "restores" | "roles" | "users"]: Pick<Caches[Kind], "get"> };

/**
 * By controller. An object that is not there is left to its controller, which knows what to do of it: nothing.
 * @param shard undefined: everything is decided about here
 */
export function decidersOf({ peers, backups, restores, roles, users }: Read, shard: Shard | undefined) {
  if (shard === undefined) {
    const all: Decides = () => true;
    return { cluster: all, peer: all, backup: all, schedule: all, restore: all, role: all, user: all };
  }
  const byName: Decides = ({ namespace, name }) => isIn(shard, namespace, name);
  const byCluster =
    (cache: Pick<CacheView<EtcdPeer | EtcdRole | EtcdUser>, "get">): Decides =>
    (key) => {
      const object = cache.get(key);
      return object === undefined || isOfCluster(shard, object);
    };
  return {
    cluster: byName,
    peer: byCluster(peers),
    backup: (key: Key) => {
      const backup = backups.get(key);
      return backup === undefined || isBackup(shard, backup);
    },
    schedule: byName,
    restore: (key: Key) => {
      const restore = restores.get(key);
      return restore === undefined || isIn(shard, key.namespace, restore.spec.clusterTemplate.clusterName);
    },
    role: byCluster(roles),
    user: byCluster(users),
  };
}

/**
 * A loop that wakes up only for what it decides about. Whatever has come to be queued all the same is looked at as what is not there, so that
 * nothing is done about it.
 */
export function narrowed<Snapshot, Step extends { readonly do: string }, Status>(
  options: LoopOptions<Snapshot, Step, Status>,
  decides: Decides,
): LoopOptions<Snapshot, Step, Status> {
  const { controller, watches, allKeys } = options;
  return {
    ...options,
    controller: {
      ...controller,
      observe: (key, signal) => (decides(key) ? controller.observe(key, signal) : Promise.resolve(absent)),
    },
    watches: watches.map((watch) => ({ ...watch, keysFor: (object) => watch.keysFor(object).filter(decides) })),
    allKeys: () => allKeys().filter(decides),
  };
}
