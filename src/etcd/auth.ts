import type { Bytes, CallOptions } from "./call-options.ts";
import type { Endpoint } from "./endpoint.ts";

// etcd's users and roles (https://etcd.io/docs/v3.6/op-guide/authentication/). Even a read is an entry in etcd's raft
// log, so that all members give the same answer. So it needs a quorum and costs as much as a write.

/**
 * Longest password in bytes, a limit of bcrypt: etcd rejects a longer one, and compares only this many bytes at login.
 */
const MOST_PASSWORD_BYTES = 72;

/**
 * Clause that explains why etcd rejects the password; it never contains the password. Undefined when the password is
 * valid. https://pkg.go.dev/golang.org/x/crypto/bcrypt#ErrPasswordTooLong
 */
export function passwordTrouble(password: string): string | undefined {
  const bytes = new TextEncoder().encode(password).length;
  if (bytes <= MOST_PASSWORD_BYTES) return undefined;
  return `its password has ${bytes} bytes; etcd takes ${MOST_PASSWORD_BYTES} at most (bcrypt)`;
}

/** Whether authentication is enabled. */
export interface AuthStatus {
  readonly enabled: boolean;
  /** Increases with each change of a user or role. */
  readonly revision: number;
}

/** Access to keys that a permission grants, in etcd's terms. */
export type Access = "READ" | "WRITE" | "READWRITE";

/** A range of keys in a permission of a role. */
export interface KeyRange {
  readonly key: Uint8Array;
  /** End of the range (excluded). Empty: `key` only. One zero byte: all keys from `key` on. */
  readonly rangeEnd: Uint8Array;
}

export interface Permission extends KeyRange {
  readonly access: Access;
}

/**
 * Calls for users and roles, with the errors of EtcdClient. `refusalOf` (error.ts) distinguishes rejections:
 * `UserNotFound`, `UserAlreadyExist`, `RoleNotFound`, `RoleAlreadyExist`, `AuthNotEnabled`, `UserEmpty`,
 * `PermissionDenied` and others. While auth is enabled, these calls require the role `root`, except `authStatus`,
 * `authenticate`, and reading one's own user and roles.
 */
export interface EtcdAuth {
  authStatus(endpoint: Endpoint, options: CallOptions): Promise<AuthStatus>;
  /**
   * Enables authentication: from then on, calls without a valid user are rejected. No-op when enabled already.
   * Rejected with `RootUserNotExist` and `RootRoleNotExist`. etcd does not check that the caller keeps its access.
   */
  authEnable(endpoint: Endpoint, options: CallOptions): Promise<void>;
  /** Disables authentication and keeps users and roles. No-op when not enabled. */
  authDisable(endpoint: Endpoint, options: CallOptions): Promise<void>;
  /**
   * Checks a user's password. Rejected with `AuthFailed` and `AuthNotEnabled`. Costs the member 0.1 s of CPU (bcrypt).
   */
  authenticate(endpoint: Endpoint, name: string, password: string, options: CallOptions): Promise<void>;
  /** The names of all users. */
  userList(endpoint: Endpoint, options: CallOptions): Promise<readonly string[]>;
  /** The roles of a user, sorted. Rejected with `UserNotFound`. */
  userGet(endpoint: Endpoint, name: string, options: CallOptions): Promise<readonly string[]>;
  /**
   * Adds a user. Rejected with `UserAlreadyExist`.
   * @param password undefined: the user has no password and authenticates by the common name of its client certificate
   */
  userAdd(endpoint: Endpoint, name: string, password: string | undefined, options: CallOptions): Promise<void>;
  /** Rejected with `UserNotFound`. */
  userDelete(endpoint: Endpoint, name: string, options: CallOptions): Promise<void>;
  /**
   * Changes the password and invalidates the user's tokens. Rejected with `UserNotFound`. No-op for a passwordless
   * user.
   */
  userChangePassword(endpoint: Endpoint, name: string, password: string, options: CallOptions): Promise<void>;
  /** No-op when the user has the role. Rejected with `UserNotFound` and `RoleNotFound`. */
  userGrantRole(endpoint: Endpoint, name: string, role: string, options: CallOptions): Promise<void>;
  /** Rejected with `UserNotFound` and `RoleNotGranted`. */
  userRevokeRole(endpoint: Endpoint, name: string, role: string, options: CallOptions): Promise<void>;
  /** The names of all roles. `root` is listed only if it was created, but can be granted in any case. */
  roleList(endpoint: Endpoint, options: CallOptions): Promise<readonly string[]>;
  /** The permissions of a role. Rejected with `RoleNotFound`. */
  roleGet(endpoint: Endpoint, role: string, options: CallOptions): Promise<readonly Permission[]>;
  /** Rejected with `RoleAlreadyExist`. */
  roleAdd(endpoint: Endpoint, role: string, options: CallOptions): Promise<void>;
  /** Deletes a role and revokes it from all users. Rejected with `RoleNotFound`. */
  roleDelete(endpoint: Endpoint, role: string, options: CallOptions): Promise<void>;
  /** Grants a permission, and replaces an earlier one for the identical range. Rejected with `RoleNotFound`. */
  roleGrantPermission(endpoint: Endpoint, role: string, permission: Permission, options: CallOptions): Promise<void>;
  /** Revokes the permission for exactly this range. Rejected with `RoleNotFound` and `PermissionNotGranted`. */
  roleRevokePermission(endpoint: Endpoint, role: string, range: KeyRange, options: CallOptions): Promise<void>;
}

/** The range with only this key. */
export function oneKey(key: Bytes): KeyRange {
  return { key: bytesOf(key), rangeEnd: new Uint8Array() };
}

/** The range of all keys with this prefix. An empty prefix means all keys. */
export function keysWithPrefix(prefix: Bytes): KeyRange {
  const key = bytesOf(prefix);
  if (key.length === 0) return { key: new Uint8Array([0]), rangeEnd: new Uint8Array([0]) };
  // End of the range: the prefix with its last byte below 0xff incremented. A prefix of only 0xff has no such end.
  const last = key.findLastIndex((byte) => byte < 0xff);
  if (last === -1) return { key, rangeEnd: new Uint8Array([0]) };
  const rangeEnd = key.slice(0, last + 1);
  rangeEnd[last] = (rangeEnd[last] ?? 0) + 1;
  return { key, rangeEnd };
}

export function bytesOf(bytes: Bytes): Uint8Array {
  return typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
}
