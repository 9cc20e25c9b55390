import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";

// Two objects may say the same name in etcd. The one that has it on record keeps it, as long as it is there, else the one that was made first has
// it; the other one waits.

interface OnRecord {
  readonly status?: { readonly roleName?: string | undefined; readonly userName?: string | undefined } | undefined;
}

/** The object that has the name in etcd, by its own name; `undefined` when it is this one. @param all those of its cluster, this one among them */
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
