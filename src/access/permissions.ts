import type { RolePermission } from "#api/v1beta1/role.ts";
import { type Access, type KeyRange, keysWithPrefix, oneKey, type Permission } from "#etcd/auth.ts";

const NUL = "\0";
/** As etcd says "all keys from here on", and "the first key that there can be". */
const ZERO = new Uint8Array([0]);

const ACCESS = { Read: "READ", Write: "WRITE", ReadWrite: "READWRITE" } as const satisfies Record<string, Access>;

/** What etcd is to know of the permissions that people wrote; etcd has one for each range. In the order of ranges. */
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

/** `undefined` when no key is meant. */
function rangeOf({ key, prefix, range }: RolePermission): KeyRange | undefined {
  if (key !== undefined) return oneKey(key);
  if (prefix !== undefined) return keysWithPrefix(prefix);
  const { from = "", to } = range ?? {};
  // As an end it would mean all keys from the first one on, and there is none before it.
  if (to === NUL) return undefined;
  return {
    key: from === "" ? ZERO : oneKey(from).key,
    rangeEnd: to === undefined ? ZERO : oneKey(to).key,
  };
}

/** Those that etcd does not have so. */
export function lackingIn(found: readonly Permission[], wanted: readonly Permission[]): readonly Permission[] {
  const has = new Set(found.map(permissionText));
  return wanted.filter((each) => !has.has(permissionText(each)));
}

/** Those whose ranges nobody wants; one with another access is replaced when the right one is granted. */
export function surplusIn(found: readonly Permission[], wanted: readonly Permission[]): readonly Permission[] {
  const ranges = new Set(wanted.map(rangeText));
  return found.filter((each) => !ranges.has(rangeText(each)));
}

/** For words and for comparing. */
export function permissionText(permission: Permission): string {
  return `${permission.access} ${rangeText(permission)}`;
}

export function rangeText({ key, rangeEnd }: KeyRange): string {
  const text = (bytes: Uint8Array) => JSON.stringify(Buffer.from(bytes).toString("latin1"));
  if (rangeEnd.length === 0) return text(key);
  return rangeEnd.length === 1 && rangeEnd[0] === 0 ? `[${text(key)}, …)` : `[${text(key)}, ${text(rangeEnd)})`;
}
