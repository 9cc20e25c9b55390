import type { Bytes, CallOptions } from "./call-options.ts";
import type { Endpoint } from "./endpoint.ts";

// etcd's users and roles (https://etcd.io/docs/v3.6/op-guide/authentication/). Every question here is an entry in etcd's log, so that all
// members answer alike: it needs a quorum, and costs what a write costs.

/** In bytes. bcrypt has no place for a longer one: etcd refuses to be given it, and compares no more of it than this. */
const MOST_PASSWORD_BYTES = 72;

/** Why etcd does not take the password, as a clause that quotes nothing of it. https://pkg.go.dev/golang.org/x/crypto/bcrypt#ErrPasswordTooLong */
export function passwordTrouble(password: string): string | undefined {
  const bytes = new TextEncoder().encode(password).length;
  if (bytes <= MOST_PASSWORD_BYTES) return undefined;
  return `its password has ${bytes} bytes; etcd takes ${MOST_PASSWORD_BYTES} at most (bcrypt)`;
}

/** Whether users must log in. */
export interface AuthStatus {
  readonly enabled: boolean;
  /** Grows with each change of a user or a role. */
  readonly revision: number;
}

/** What a role may do with keys, in etcd's own words. */
export type Access = "READ" | "WRITE" | "READWRITE";

/** Keys, as etcd's roles know them. */
export interface KeyRange {
  readonly key: Uint8Array;
  /** The first key behind the range; empty: `key` alone; one zero byte: all keys from `key` on. */
  readonly rangeEnd: Uint8Array;
}

export interface Permission extends KeyRange {
  readonly access: Access;
}

/**
 * Users and roles; the errors are those of EtcdClient. What is refused is told apart by `refusalOf` (error.ts): `UserNotFound`,
 * `UserAlreadyExist`, `RoleNotFound`, `RoleAlreadyExist`, `AuthNotEnabled`, `UserEmpty`, `PermissionDenied` and others.
 * While auth is enabled only a user with the role `root` may call these, but for `authStatus`, `authenticate`, and users and roles that are
 * one's own.
 */
export interface EtcdAuth {
  authStatus(endpoint: Endpoint, options: CallOptions): Promise<AuthStatus>;
  /**
   * From its answer on who is no user gets nothing. Does nothing when it is enabled. Refused with `RootUserNotExist` and `RootRoleNotExist`;
   * etcd does not ask whether whoever calls will be let in afterwards.
   */
  authEnable(endpoint: Endpoint, options: CallOptions): Promise<void>;
  /** Users and roles stay. Does nothing when it is not enabled. */
  authDisable(endpoint: Endpoint, options: CallOptions): Promise<void>;
  /** Whether this user has this password; refused with `AuthFailed` and `AuthNotEnabled`. etcd takes a tenth of a second of CPU for it. */
  authenticate(endpoint: Endpoint, name: string, password: string, options: CallOptions): Promise<void>;
  /** The names of all users. */
  userList(endpoint: Endpoint, options: CallOptions): Promise<readonly string[]>;
  /** The roles of a user, sorted; refused with `UserNotFound`. */
  userGet(endpoint: Endpoint, name: string, options: CallOptions): Promise<readonly string[]>;
  /** @param password undefined: the user has none, and is known by the common name of its certificate. Refused with `UserAlreadyExist`. */
  userAdd(endpoint: Endpoint, name: string, password: string | undefined, options: CallOptions): Promise<void>;
  /** Refused with `UserNotFound`. */
  userDelete(endpoint: Endpoint, name: string, options: CallOptions): Promise<void>;
  /** Ends what the user's tokens are good for. Refused with `UserNotFound`; does nothing for a user that was made without a password. */
  userChangePassword(endpoint: Endpoint, name: string, password: string, options: CallOptions): Promise<void>;
  /** Does nothing when the user has the role. Refused with `UserNotFound` and `RoleNotFound`. */
  userGrantRole(endpoint: Endpoint, name: string, role: string, options: CallOptions): Promise<void>;
  /** Refused with `UserNotFound` and `RoleNotGranted`. */
  userRevokeRole(endpoint: Endpoint, name: string, role: string, options: CallOptions): Promise<void>;
  /** The names of all roles. `root` is among them only if somebody has made it; users may have it in any case. */
  roleList(endpoint: Endpoint, options: CallOptions): Promise<readonly string[]>;
  /** The permissions of a role; refused with `RoleNotFound`. */
  roleGet(endpoint: Endpoint, role: string, options: CallOptions): Promise<readonly Permission[]>;
  /** Refused with `RoleAlreadyExist`. */
  roleAdd(endpoint: Endpoint, role: string, options: CallOptions): Promise<void>;
  /** Whoever has the role loses it. Refused with `RoleNotFound`. */
  roleDelete(endpoint: Endpoint, role: string, options: CallOptions): Promise<void>;
  /** A role has one permission for one range: its access is replaced. Refused with `RoleNotFound`. */
  roleGrantPermission(endpoint: Endpoint, role: string, permission: Permission, options: CallOptions): Promise<void>;
  /** Of just this range. Refused with `RoleNotFound` and `PermissionNotGranted`. */
  roleRevokePermission(endpoint: Endpoint, role: string, range: KeyRange, options: CallOptions): Promise<void>;
}

/** This key, and no other. */
export function oneKey(key: Bytes): KeyRange {
  return { key: bytesOf(key), rangeEnd: new Uint8Array() };
}

/** All keys that begin so; without a prefix: all that there are. */
export function keysWithPrefix(prefix: Bytes): KeyRange {
  const key = bytesOf(prefix);
  if (key.length === 0) return { key: new Uint8Array([0]), rangeEnd: new Uint8Array([0]) };
  // The first text behind all that begin so; behind bytes that are the greatest there is only the end of all keys.
  const last = key.findLastIndex((byte) => byte < 0xff);
  if (last === -1) return { key, rangeEnd: new Uint8Array([0]) };
  const rangeEnd = key.slice(0, last + 1);
  rangeEnd[last] = (rangeEnd[last] ?? 0) + 1;
  return { key, rangeEnd };
}

export function bytesOf(bytes: Bytes): Uint8Array {
  return typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
}
