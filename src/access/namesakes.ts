import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";

// Two objects may ask for the same name in etcd. The object with the name in its status keeps it; otherwise the older
// object gets it. The other one waits.

interface OnRecord {
  readonly status?: { readonly roleName?: string | undefined; readonly userName?: string | undefined } | undefined;
}

/**
 * The other object to which the name in etcd belongs; `undefined` when it belongs to this one. @param all the objects
 * of its cluster, this one included
 */
export function elderOf<T extends EtcdRole | EtcdUser>(
  object: T,
  all: readonly T[],
  nameOf: (object: T) => string,
): string | undefined {
  const name = nameOf(object);
  const isHolder = ({ status }: OnRecord) => (status?.userName ?? status?.roleName) === name;
  const [eldest] = all
    .filter((each) => nameOf(each) === name)
    .toSorted((a, b) => Number(isHolder(b)) - Number(isHolder(a)) || byAge(a, b));
  return eldest === undefined || eldest.metadata.uid === object.metadata.uid ? undefined : eldest.metadata.name;
}

function byAge(a: EtcdRole | EtcdUser, b: EtcdRole | EtcdUser): number {
  const madeAtMs = ({ metadata }: EtcdRole | EtcdUser) => Date.parse(metadata.creationTimestamp ?? "");
  return madeAtMs(a) - madeAtMs(b) || a.metadata.name.localeCompare(b.metadata.name);
}
