import type { Access, AuthStatus, EtcdAuth, KeyRange, Permission } from "./auth.ts";
import type { CallOptions } from "./client.ts";
import type { Endpoint } from "./endpoint.ts";
import { MemberCalls } from "./member-calls.ts";
import { Permission_Type as AccessNumber, type Permission as PermissionMessage } from "./proto/authpb/auth_pb.js";

/** Users and roles over gRPC. */
export abstract class GrpcAuth extends MemberCalls implements EtcdAuth {
  async authStatus(endpoint: Endpoint, options: CallOptions): Promise<AuthStatus> {
    const answer = await this.ask("AuthStatus", endpoint, options, (member, rpc) => member.auth.authStatus({}, rpc));
    return { enabled: answer.enabled, revision: Number(answer.authRevision) };
  }

  async authEnable(endpoint: Endpoint, options: CallOptions): Promise<void> {
    await this.change("AuthEnable", endpoint, options, (member, rpc) => member.auth.authEnable({}, rpc));
  }

  async authDisable(endpoint: Endpoint, options: CallOptions): Promise<void> {
    await this.change("AuthDisable", endpoint, options, (member, rpc) => member.auth.authDisable({}, rpc));
  }

  async authenticate(endpoint: Endpoint, name: string, password: string, options: CallOptions): Promise<void> {
    await this.ask("Authenticate", endpoint, options, (member, rpc) =>
      member.auth.authenticate({ name, password }, rpc),
    );
  }

  async userList(endpoint: Endpoint, options: CallOptions): Promise<readonly string[]> {
    return (await this.ask("UserList", endpoint, options, (member, rpc) => member.auth.userList({}, rpc))).users;
  }

  async userGet(endpoint: Endpoint, name: string, options: CallOptions): Promise<readonly string[]> {
    return (await this.ask("UserGet", endpoint, options, (member, rpc) => member.auth.userGet({ name }, rpc))).roles;
  }

  async userAdd(endpoint: Endpoint, name: string, password: string | undefined, options: CallOptions): Promise<void> {
    const request = { name, password: password ?? "", options: { noPassword: password === undefined } };
    await this.change("UserAdd", endpoint, options, (member, rpc) => member.auth.userAdd(request, rpc));
  }

  async userDelete(endpoint: Endpoint, name: string, options: CallOptions): Promise<void> {
    await this.change("UserDelete", endpoint, options, (member, rpc) => member.auth.userDelete({ name }, rpc));
  }

  async userChangePassword(endpoint: Endpoint, name: string, password: string, options: CallOptions): Promise<void> {
    await this.change("UserChangePassword", endpoint, options, (member, rpc) =>
      member.auth.userChangePassword({ name, password }, rpc),
    );
  }

  async userGrantRole(endpoint: Endpoint, name: string, role: string, options: CallOptions): Promise<void> {
    await this.change("UserGrantRole", endpoint, options, (member, rpc) =>
      member.auth.userGrantRole({ user: name, role }, rpc),
    );
  }

  async userRevokeRole(endpoint: Endpoint, name: string, role: string, options: CallOptions): Promise<void> {
    await this.change("UserRevokeRole", endpoint, options, (member, rpc) =>
      member.auth.userRevokeRole({ name, role }, rpc),
    );
  }

  async roleList(endpoint: Endpoint, options: CallOptions): Promise<readonly string[]> {
    return (await this.ask("RoleList", endpoint, options, (member, rpc) => member.auth.roleList({}, rpc))).roles;
  }

  async roleGet(endpoint: Endpoint, role: string, options: CallOptions): Promise<readonly Permission[]> {
    const answer = await this.ask("RoleGet", endpoint, options, (member, rpc) => member.auth.roleGet({ role }, rpc));
    return answer.perm.map(permissionOf);
  }

  async roleAdd(endpoint: Endpoint, role: string, options: CallOptions): Promise<void> {
    await this.change("RoleAdd", endpoint, options, (member, rpc) => member.auth.roleAdd({ name: role }, rpc));
  }

  async roleDelete(endpoint: Endpoint, role: string, options: CallOptions): Promise<void> {
    await this.change("RoleDelete", endpoint, options, (member, rpc) => member.auth.roleDelete({ role }, rpc));
  }

  async roleGrantPermission(
    endpoint: Endpoint,
    role: string,
    { access, key, rangeEnd }: Permission,
    options: CallOptions,
  ): Promise<void> {
    const perm = { permType: AccessNumber[access], key, rangeEnd };
    await this.change("RoleGrantPermission", endpoint, options, (member, rpc) =>
      member.auth.roleGrantPermission({ name: role, perm }, rpc),
    );
  }

  async roleRevokePermission(
    endpoint: Endpoint,
    role: string,
    { key, rangeEnd }: KeyRange,
    options: CallOptions,
  ): Promise<void> {
    await this.change("RoleRevokePermission", endpoint, options, (member, rpc) =>
      member.auth.roleRevokePermission({ role, key, rangeEnd }, rpc),
    );
  }
}

function permissionOf({ permType, key, rangeEnd }: PermissionMessage): Permission {
  return { access: AccessNumber[permType] as Access, key, rangeEnd };
}
