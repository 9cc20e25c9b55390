import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { absent } from "#base/observed.ts";
import type { LoopOptions } from "#runtime/control-loop.ts";
import type { CacheView, Key } from "#runtime/controller.ts";
import { isBackup, isIn, isPeer, isRoleOrUser, type Shard } from "#shards/belonging.ts";
import type { Caches } from "./caches.ts";

// Which objects belong to the shard of this process. Checked before each observation.

/** Whether the object of this key belongs to the shard. */
export type Decides = (key: Key) => boolean;

type Read = { readonly [Kind in "peers" | "backups" | "restores" | "roles" | "users"]: Pick<Caches[Kind], "get"> };

/**
 * The check for each controller. A missing object is left to the controller, which does nothing.
 * @param shard undefined: everything belongs to this process
 */
export function decidersOf({ peers, backups, restores, roles, users }: Read, shard: Shard | undefined) {
  if (shard === undefined) {
    const all: Decides = () => true;
    return { cluster: all, peer: all, backup: all, schedule: all, restore: all, role: all, user: all };
  }
  const byName: Decides = ({ namespace, name }) => isIn(shard, namespace, name);
  const byAccess =
    (cache: Pick<CacheView<EtcdRole | EtcdUser>, "get">): Decides =>
    (key) => {
      const object = cache.get(key, "known");
      return object === undefined || isRoleOrUser(shard, object);
    };
  return {
    cluster: byName,
    peer: (key: Key) => {
      const peer = peers.get(key, "known");
      return peer === undefined || isPeer(shard, peer);
    },
    backup: (key: Key) => {
      const backup = backups.get(key, "known");
      return backup === undefined || isBackup(shard, backup);
    },
    schedule: byName,
    restore: (key: Key) => {
      const restore = restores.get(key, "known");
      return restore === undefined || isIn(shard, key.namespace, restore.spec.clusterTemplate.clusterName);
    },
    role: byAccess(roles),
    user: byAccess(users),
  };
}

/**
 * Restricts a control loop to the objects of its shard. An object of another shard that is queued nevertheless is
 * observed as absent, so that nothing is done.
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
