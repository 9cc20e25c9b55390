import { rangeText } from "#access/permissions.ts";
import { ROOT } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import type { KeyRange, Permission } from "#etcd/auth.ts";
import type { EtcdRefusal } from "#etcd/error.ts";
import { refusal } from "./refusal.ts";

// etcd's users and roles, and whether authentication is enabled: server/auth/store.go of etcd 3.6. The refusals of a
// real etcd are in test/etcd/auth.test.ts. test/etcd/auth-likeness.test.ts compares this store with a real etcd.

/** A user of etcd. */
export interface StoredUser {
  /** undefined for a user without password, which authenticates by its certificate alone. */
  password: string | undefined;
  readonly roles: Set<string>;
}

/** The limit of bcrypt: longer passwords are refused. */
const MOST_PASSWORD_BYTES = 72;

/** A change of users, of roles, or of whether authentication is enabled. */
export type AuthChange = { readonly do: "enable" | "disable" } | UserChange | RoleChange;

type UserChange =
  | { readonly do: "userAdd"; readonly user: string; readonly password: string | undefined }
  | { readonly do: "userDelete"; readonly user: string }
  | { readonly do: "changePassword"; readonly user: string; readonly password: string }
  | { readonly do: "grantRole" | "revokeRole"; readonly user: string; readonly role: string };

type RoleChange =
  | { readonly do: "roleAdd" | "roleDelete"; readonly role: string }
  | { readonly do: "grantPermission"; readonly role: string; readonly permission: Permission }
  | { readonly do: "revokePermission"; readonly role: string; readonly range: KeyRange };

/** Users, roles and permissions of one etcd cluster. */
export class AuthStore {
  readonly users = new Map<string, StoredUser>();
  readonly roles = new Map<string, Permission[]>();
  enabled = false;
  /** Increases with each change. */
  revision = 1;

  /** @throws OperatorError EtcdRejected if etcd would refuse the change */
  check(change: AuthChange): void {
    const tried = new AuthStore();
    tried.enabled = this.enabled;
    for (const [name, { password, roles }] of this.users) tried.users.set(name, { password, roles: new Set(roles) });
    for (const [name, permissions] of this.roles) tried.roles.set(name, permissions);
    tried.change(change);
  }

  /** @throws OperatorError EtcdRejected with etcd's message; then nothing has changed */
  change(change: AuthChange): void {
    let isCounted = true;
    if ("user" in change) isCounted = this.#changeUser(change);
    else if ("role" in change) this.#changeRole(change);
    else isCounted = this.#switch(change.do === "enable");
    if (isCounted) this.revision += 1;
  }

  /**
   * Applies an entry of the log. A refused change is ignored, because another client's change may have come before it.
   */
  apply(change: AuthChange): void {
    try {
      this.change(change);
    } catch {
      // Nothing has changed.
    }
  }

  rolesOf(user: string): readonly string[] {
    return [...this.#user(user).roles].sort();
  }

  permissionsOf(role: string): readonly Permission[] {
    return this.#role(role);
  }

  /** @throws OperatorError EtcdRejected unless the user has this password */
  logIn(name: string, password: string): void {
    if (!this.enabled) throw refusal("AuthNotEnabled");
    const user = this.users.get(name);
    if (user !== undefined && user.password === undefined) throw refusal("NoPasswordUser");
    if (user?.password !== password.slice(0, MOST_PASSWORD_BYTES)) throw refusal("AuthFailed");
  }

  /**
   * Why this user may not make calls for administrators: `IsAdminPermitted`.
   * @param user undefined for a client without a name
   */
  whyNoAdministrator(user: string | undefined): EtcdRefusal | undefined {
    if (!this.enabled) return undefined;
    if (user === undefined || user === "") return "UserEmpty";
    const found = this.users.get(user);
    if (found === undefined) return "UserNotFound";
    return found.roles.has(ROOT) ? undefined : "PermissionDenied";
  }

  /** @returns whether the revision increases */
  #switch(isOn: boolean): boolean {
    if (this.enabled === isOn) return false;
    if (isOn && !this.users.has(ROOT)) throw refusal("RootUserNotExist");
    if (isOn && this.users.get(ROOT)?.roles.has(ROOT) !== true) throw refusal("RootRoleNotExist");
    this.enabled = isOn;
    return !isOn;
  }

  /** @returns whether the revision increases */
  #changeUser(change: UserChange): boolean {
    const { user: name } = change;
    switch (change.do) {
      case "userAdd": {
        if (name === "") throw refusal("UserEmpty");
        if (this.users.has(name)) throw refusal("UserAlreadyExist");
        needShort(change.password);
        this.users.set(name, { password: change.password, roles: new Set() });
        return true;
      }
      case "userDelete":
        if (this.enabled && name === ROOT) throw refusal("InvalidAuthMgmt");
        this.#user(name);
        this.users.delete(name);
        return true;
      case "changePassword": {
        const user = this.#user(name);
        needShort(change.password);
        if (user.password !== undefined) user.password = change.password;
        return true;
      }
      case "grantRole": {
        const user = this.#user(name);
        if (change.role !== ROOT) this.#role(change.role);
        if (user.roles.has(change.role)) return false;
        user.roles.add(change.role);
        return true;
      }
      case "revokeRole": {
        if (this.enabled && name === ROOT && change.role === ROOT) throw refusal("InvalidAuthMgmt");
        if (!this.#user(name).roles.delete(change.role)) throw refusal("RoleNotGranted");
        return true;
      }
    }
    return change satisfies never;
  }

  #changeRole(change: RoleChange): void {
    const { role } = change;
    switch (change.do) {
      case "roleAdd":
        if (this.roles.has(role)) throw refusal("RoleAlreadyExist");
        this.roles.set(role, []);
        return;
      case "roleDelete":
        if (this.enabled && role === ROOT) throw refusal("InvalidAuthMgmt");
        this.#role(role);
        this.roles.delete(role);
        for (const { roles } of this.users.values()) roles.delete(role);
        return;
      case "grantPermission": {
        const { permission } = change;
        // Sorted, as in etcd.
        const all = [...this.#others(role, permission), permission];
        this.roles.set(
          role,
          all.toSorted((a, b) => Buffer.compare(a.key, b.key)),
        );
        return;
      }
      case "revokePermission": {
        const others = this.#others(role, change.range);
        if (others.length === this.#role(role).length) throw refusal("PermissionNotGranted");
        this.roles.set(role, others);
        return;
      }
    }
    change satisfies never;
  }

  #user(name: string): StoredUser {
    const user = this.users.get(name);
    if (user === undefined) throw refusal("UserNotFound");
    return user;
  }

  #role(name: string): Permission[] {
    const role = this.roles.get(name);
    if (role === undefined) throw refusal("RoleNotFound");
    return role;
  }

  /** The role's permissions for other ranges. */
  #others(role: string, range: KeyRange): Permission[] {
    return this.#role(role).filter((each) => rangeText(each) !== rangeText(range));
  }
}

function needShort(password = ""): void {
  if (password.length > MOST_PASSWORD_BYTES)
    throw new OperatorError("EtcdRejected", "bcrypt: password length exceeds 72 bytes");
}
