import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { keysWithPrefix, oneKey } from "#etcd/auth.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { type EtcdRefusal, refusalOf } from "#etcd/error.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import { endpointOf, planSecureEtcd, type SecureEtcd } from "#kit/pods/pod-tls.ts";

const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

const OPERATOR = "the-operator";
const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };

async function refused(call: Promise<unknown>, refusal: EtcdRefusal): Promise<void> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect([refusalOf(thrown), thrown]).toEqual([refusal, thrown]);
}

// The tests of one version tell one story, in order.
describe.each(ETCD_VERSIONS)("users and roles of etcd %s", (version) => {
  let etcd: SecureEtcd;
  let at: Endpoint;
  let stranger: Endpoint;
  let options = OPTIONS;
  beforeAll(async () => {
    etcd = await planSecureEtcd({ version, members: 1 });
    const [member] = etcd.members;
    const named = (commonName: string) => etcd.clientCA.issue({ names: [], commonName, usages: ["clientAuth"] });
    at = endpointOf(etcd, member!, await named(OPERATOR));
    stranger = endpointOf(etcd, member!, await named("nobody-knows"));
    member!.start();
    await until("it knows a leader", async () => {
      const seen = await client.probe(at, { signal: neverAborted, deadlineMs: 1_000 });
      return seen.is === "present" && seen.value.leaderId !== undefined;
    });
    options = { ...OPTIONS, expectedClusterId: (await client.status(at, OPTIONS)).clusterId };
  });
  afterAll(() => etcd.pods.stop());

  test("a new cluster has no users, and auth is disabled", async () => {
    expect(await client.authStatus(at, options)).toEqual({ enabled: false, revision: 1 });
    expect(await client.userList(at, options)).toEqual([]);
    expect(await client.roleList(at, options)).toEqual([]);
    await refused(client.authenticate(at, "root", "secret", options), "AuthNotEnabled");
  });

  test("errors tell missing users and roles apart from existing ones", async () => {
    await refused(client.userGet(at, "bob", options), "UserNotFound");
    await refused(client.userDelete(at, "bob", options), "UserNotFound");
    await refused(client.userChangePassword(at, "bob", "x", options), "UserNotFound");
    await refused(client.userGrantRole(at, "bob", "root", options), "UserNotFound");
    await refused(client.roleGet(at, "reader", options), "RoleNotFound");
    await refused(client.roleDelete(at, "reader", options), "RoleNotFound");
    await refused(client.roleRevokePermission(at, "reader", oneKey("a"), options), "RoleNotFound");
    await refused(
      client.roleGrantPermission(at, "reader", { access: "READ", ...oneKey("a") }, options),
      "RoleNotFound",
    );
    await refused(client.userAdd(at, "", "x", options), "UserEmpty");
    await refused(client.authEnable(at, options), "RootUserNotExist");

    await client.userAdd(at, "bob", "secret", options);
    await client.roleAdd(at, "reader", options);
    await refused(client.userAdd(at, "bob", "other", options), "UserAlreadyExist");
    await refused(client.roleAdd(at, "reader", options), "RoleAlreadyExist");
    await refused(client.userGrantRole(at, "bob", "writer", options), "RoleNotFound");
    await refused(client.userRevokeRole(at, "bob", "reader", options), "RoleNotGranted");
    await refused(client.roleRevokePermission(at, "reader", oneKey("a"), options), "PermissionNotGranted");
  });

  test("a role has one permission for each range, and a later grant replaces it", async () => {
    const permitted = () => client.roleGet(at, "reader", options);
    await client.roleGrantPermission(at, "reader", { access: "READ", ...keysWithPrefix("app/") }, options);
    await client.roleGrantPermission(at, "reader", { access: "WRITE", ...oneKey("flag") }, options);
    await client.roleGrantPermission(at, "reader", { access: "READWRITE", ...keysWithPrefix("app/") }, options);
    expect(await permitted()).toEqual([
      { access: "READWRITE", ...keysWithPrefix("app/") },
      { access: "WRITE", ...oneKey("flag") },
    ]);
    await client.roleRevokePermission(at, "reader", oneKey("flag"), options);
    expect(await permitted()).toEqual([{ access: "READWRITE", ...keysWithPrefix("app/") }]);
  });

  test("a user keeps its roles when its password changes", async () => {
    await client.userGrantRole(at, "bob", "reader", options);
    await client.userGrantRole(at, "bob", "reader", options);
    await client.userChangePassword(at, "bob", "newer", options);
    expect(await client.userGet(at, "bob", options)).toEqual(["reader"]);
  });

  test("auth can only be enabled when the user root has the role root", async () => {
    await client.userAdd(at, "root", "hunter2", options);
    await refused(client.authEnable(at, options), "RootRoleNotExist");
    await client.userGrantRole(at, "root", "root", options);
    await client.userAdd(at, OPERATOR, undefined, options);
    await client.userGrantRole(at, OPERATOR, "root", options);
    await client.authEnable(at, options);
    await client.authEnable(at, options);
    expect((await client.authStatus(at, options)).enabled).toBe(true);
    expect(await client.roleList(at, options)).toEqual(["reader"]);
  });

  test("the certificate of an administrator gives all rights, and that of an unknown user gives none", async () => {
    expect(await client.userList(at, options)).toEqual(["bob", "root", OPERATOR]);
    await client.put(at, "app/k", "v", options);
    await refused(client.userList(stranger, options), "UserNotFound");
    await refused(client.userGet(stranger, "bob", options), "UserNotFound");
    await refused(client.authDisable(stranger, options), "UserNotFound");
    await refused(client.get(stranger, "app/k", options), "PermissionDenied");
  });

  test("only the current password of a user with a password is accepted", async () => {
    await client.authenticate(at, "bob", "newer", options);
    await client.authenticate(at, "root", "hunter2", options);
    await refused(client.authenticate(at, "bob", "secret", options), "AuthFailed");
    await refused(client.authenticate(at, "nobody", "secret", options), "AuthFailed");
    await refused(client.authenticate(at, OPERATOR, "secret", options), "NoPasswordUser");
    await client.userChangePassword(at, OPERATOR, "secret", options);
    await refused(client.authenticate(at, OPERATOR, "secret", options), "NoPasswordUser");
  });

  test("a password may have at most 72 bytes, and a login ignores further bytes", async () => {
    const longest = "p".repeat(72);
    await expect(client.userAdd(at, "long", `${longest}q`, options)).rejects.toThrow("72 bytes");
    await expect(client.userChangePassword(at, "bob", `${longest}q`, options)).rejects.toThrow("72 bytes");
    await client.userChangePassword(at, "bob", longest, options);
    await client.authenticate(at, "bob", `${longest}q`, options);
    await refused(client.authenticate(at, "bob", longest.slice(1), options), "AuthFailed");
    await client.userChangePassword(at, "bob", "newer", options);
  });

  test("with auth enabled root cannot be deleted, and other users lose access at once with their role", async () => {
    await refused(client.userDelete(at, "root", options), "InvalidAuthMgmt");
    await refused(client.userRevokeRole(at, "root", "root", options), "InvalidAuthMgmt");
    const bob = { ...at, tls: { ...at.tls!, ...(await pairOf("bob")) } };
    expect(await client.get(bob, "app/k", options)).toBeDefined();
    await client.userRevokeRole(at, "bob", "reader", options);
    await refused(client.get(bob, "app/k", options), "PermissionDenied");
    await client.userGrantRole(at, "bob", "reader", options);
    expect(await client.get(bob, "app/k", options)).toBeDefined();
    await client.roleDelete(at, "reader", options);
    expect(await client.userGet(at, "bob", options)).toEqual([]);
    await client.userDelete(at, "bob", options);
    await refused(client.get(bob, "app/k", options), "PermissionDenied");
  });

  test("a permission for the range from NUL to NUL applies to all keys", async () => {
    const NUL = new Uint8Array([0]);
    const odd = { ...at, tls: { ...at.tls!, ...(await pairOf("odd")) } };
    await client.roleAdd(at, "odd", options);
    await client.userAdd(at, "odd", undefined, options);
    await client.userGrantRole(at, "odd", "odd", options);
    const first = { key: NUL, rangeEnd: new Uint8Array([0, 0]) };
    await client.roleGrantPermission(at, "odd", { access: "READ", ...first }, options);
    await refused(client.get(odd, "app/k", options), "PermissionDenied");
    await client.roleGrantPermission(at, "odd", { access: "READ", key: NUL, rangeEnd: NUL }, options);
    expect(await client.get(odd, "app/k", options)).toBeDefined();
    await client.userDelete(at, "odd", options);
    await client.roleDelete(at, "odd", options);
  });

  async function pairOf(commonName: string) {
    const pair = await etcd.clientCA.issue({ names: [], commonName, usages: ["clientAuth"] });
    return { cert: pair.certificate, key: pair.key };
  }

  test("after auth is disabled again, all clients have access, and the users still exist", async () => {
    await client.authDisable(at, options);
    await client.authDisable(at, options);
    expect((await client.authStatus(stranger, options)).enabled).toBe(false);
    expect(await client.userList(stranger, options)).toEqual(["root", OPERATOR]);
    expect(await client.get(stranger, "app/k", options)).toBeDefined();
  });
});
