import type { RolePermission } from "#api/v1beta1/role.ts";
import { type Access, type KeyRange, keysWithPrefix, oneKey, type Permission } from "#etcd/auth.ts";

const NUL = "\0";
/** etcd's encoding of an open end of a range, and of the smallest key. */
const ZERO = new Uint8Array([0]);

const ACCESS = { Read: "READ", Write: "WRITE", ReadWrite: "READWRITE" } as const satisfies Record<string, Access>;

/** The permissions as etcd stores them, one for each range, in the order of ranges. */
export function wantedPermissions(permissions: readonly RolePermission[]): readonly Permission[] {
  const byRange = new Map<string, Permission>();
  for (const permission of permissions) {
    const range = rangeOf(permission);
    if (range === undefined) continue;
    const access = ACCESS[permission.access];
    const before = byRange.get(rangeText(range))?.access;
    byRange.set(rangeText(range), {
      ...range,
      access: before === undefined || before === access ? access : "READWRITE",
    });
  }
  return [...byRange.values()];
}

/** The range in etcd's form; `undefined` when it is empty. */
function rangeOf({ key, prefix, range }: RolePermission): KeyRange | undefined {
  if (key !== undefined) return oneKey(key);
  if (prefix !== undefined) return keysWithPrefix(prefix);
  const { from = "", to } = range ?? {};
  // etcd would take NUL as an open end; no key precedes NUL.
  if (to === NUL) return undefined;
  return {
    key: from === "" ? ZERO : oneKey(from).key,
    rangeEnd: to === undefined ? ZERO : oneKey(to).key,
  };
}

/** The wanted permissions that etcd does not have in this form. */
export function lackingIn(found: readonly Permission[], wanted: readonly Permission[]): readonly Permission[] {
  const has = new Set(found.map(permissionText));
  return wanted.filter((each) => !has.has(permissionText(each)));
}

/**
 * The permissions on ranges that are not wanted. One with another access is not included, because granting replaces it.
 */
export function surplusIn(found: readonly Permission[], wanted: readonly Permission[]): readonly Permission[] {
  const ranges = new Set(wanted.map(rangeText));
  return found.filter((each) => !ranges.has(rangeText(each)));
}

/** Text of a permission, for messages and comparison. */
export function permissionText(permission: Permission): string {
  return `${permission.access} ${rangeText(permission)}`;
}

export function rangeText({ key, rangeEnd }: KeyRange): string {
  const text = (bytes: Uint8Array) => JSON.stringify(Buffer.from(bytes).toString("latin1"));
  if (rangeEnd.length === 0) return text(key);
  return rangeEnd.length === 1 && rangeEnd[0] === 0 ? `[${text(key)}, …)` : `[${text(key)}, ${text(rangeEnd)})`;
}
