import { commonNameIn } from "#certificates/common-name.ts";
import type { EtcdAuth } from "#etcd/auth.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import type { AuthChange, AuthStore } from "./auth.ts";
import { authOf } from "./disk.ts";
import type { Etcd, Process } from "./etcd.ts";
import { refusal, timedOut } from "./refusal.ts";

// Members identify a client by the common name of its certificate, if they require one (`AuthInfoFromCtx` in
// server/etcdserver/v3_server.go). No client has a token here: the operator authenticates by its certificate alone.

const names = new WeakMap<TlsIdentity, string>();

/** The user name by which a member identifies a client; undefined when it requires no client certificate. */
export function askerOf({ speeches }: Process, { tls }: Endpoint): string | undefined {
  if (tls === undefined || !speeches.client.asks) return undefined;
  const known = names.get(tls) ?? commonNameIn(tls.cert) ?? "";
  names.set(tls, known);
  return known;
}

/**
 * Refuses a client that is not an administrator, while authentication is enabled.
 * @throws OperatorError EtcdRejected
 */
export function needAdministrator(store: AuthStore, asker: string | undefined): void {
  const why = store.whyNoAdministrator(asker);
  if (why !== undefined) throw refusal(why);
}

/**
 * One call to a member of this cluster.
 * @param run gets the dialled member and its leader
 */
type Call = <T>(
  method: string,
  endpoint: Endpoint,
  changes: boolean,
  options: CallOptions,
  run: (leader: Process, dialled: Process) => T,
) => Promise<T>;

/**
 * The Auth API of the simulated members. Each request passes through the leader, because each is an entry in etcd's
 * log.
 */
export function authClient(etcd: Etcd, call: Call): EtcdAuth {
  const ask = <T>(
    method: string,
    endpoint: Endpoint,
    options: CallOptions,
    run: (store: AuthStore, asker: string | undefined) => T,
  ): Promise<T> =>
    call(method, endpoint, false, options, (leader, dialled) => run(authOf(leader.data), askerOf(dialled, endpoint)));
  const asAdministrator = <T>(
    method: string,
    endpoint: Endpoint,
    options: CallOptions,
    run: (store: AuthStore) => T,
  ): Promise<T> =>
    ask(method, endpoint, options, (store, asker) => {
      needAdministrator(store, asker);
      return run(store);
    });
  const change = (method: string, endpoint: Endpoint, options: CallOptions, wanted: AuthChange): Promise<void> =>
    call(method, endpoint, true, options, (leader, dialled) => {
      needAdministrator(authOf(leader.data), askerOf(dialled, endpoint));
      if (!etcd.changeAuth(leader, wanted, "operator")) throw timedOut();
    });
  return {
    // Since 3.7 every client may call it; before, administrators only.
    authStatus: (at, options) =>
      asAdministrator("AuthStatus", at, options, ({ enabled, revision }) => ({ enabled, revision })),
    authEnable: (at, options) => change("AuthEnable", at, options, { do: "enable" }),
    authDisable: (at, options) => change("AuthDisable", at, options, { do: "disable" }),
    authenticate: (at, name, password, options) =>
      ask("Authenticate", at, options, (store) => store.logIn(name, password)),
    userList: (at, options) => asAdministrator("UserList", at, options, ({ users }) => [...users.keys()].sort()),
    userGet: (at, name, options) =>
      ask("UserGet", at, options, (store, asker) => {
        if (asker !== name) needAdministrator(store, asker);
        return store.rolesOf(name);
      }),
    userAdd: (at, user, password, options) => change("UserAdd", at, options, { do: "userAdd", user, password }),
    userDelete: (at, user, options) => change("UserDelete", at, options, { do: "userDelete", user }),
    userChangePassword: (at, user, password, options) =>
      change("UserChangePassword", at, options, { do: "changePassword", user, password }),
    userGrantRole: (at, user, role, options) => change("UserGrantRole", at, options, { do: "grantRole", user, role }),
    userRevokeRole: (at, user, role, options) =>
      change("UserRevokeRole", at, options, { do: "revokeRole", user, role }),
    roleList: (at, options) => asAdministrator("RoleList", at, options, ({ roles }) => [...roles.keys()].sort()),
    roleGet: (at, role, options) =>
      ask("RoleGet", at, options, (store, asker) => {
        if (store.users.get(asker ?? "")?.roles.has(role) !== true) needAdministrator(store, asker);
        return store.permissionsOf(role);
      }),
    roleAdd: (at, role, options) => change("RoleAdd", at, options, { do: "roleAdd", role }),
    roleDelete: (at, role, options) => change("RoleDelete", at, options, { do: "roleDelete", role }),
    roleGrantPermission: (at, role, permission, options) =>
      change("RoleGrantPermission", at, options, { do: "grantPermission", role, permission }),
    roleRevokePermission: (at, role, { key, rangeEnd }, options) =>
      change("RoleRevokePermission", at, options, { do: "revokePermission", role, range: { key, rangeEnd } }),
  };
}
