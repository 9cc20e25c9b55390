import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import type { KeyPair } from "#certificates/pem.ts";
import type { CallOptions } from "#etcd/client.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { PasswordClient } from "#kit/e2e/password-client.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import type { PodMember } from "#kit/pods/pod-etcd.ts";
import { ask, endpointOf, planSecureEtcd, type SecureEtcd } from "#kit/pods/pod-tls.ts";
import { etcdOf, etcdUser } from "#kit/snapshots/access.ts";
import { orderOf } from "#user/credentials.ts";

// Patroni, APISIX and curl speak only JSON with etcd. With auth enabled, etcd refuses their requests when the
// client certificate has a common name. These clients have the certificate and the password of a binding.

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

const base64 = (text: string) => Buffer.from(text).toString("base64");

// The tests of one version run in order, with the same etcd.
describe.each(ETCD_VERSIONS)("the JSON gateway of etcd %s with auth enabled", (version) => {
  let etcd: SecureEtcd;
  let member: PodMember;
  /** The certificate of a binding as the operator issues it. */
  let bound: KeyPair;

  const post = async (path: string, body: object, { pair = bound, token = "" } = {}) => {
    const { status, body: text } = await ask({
      at: member.clientAddress,
      ca: etcd.clientCA.pem,
      serverName: member.place.host,
      path,
      body,
      pair,
      ...(token === "" ? {} : { headers: { authorization: token } }),
    });
    return { status, answer: status === 400 ? text : JSON.parse(text) };
  };
  const login = async () =>
    (await post("/v3/auth/authenticate", { name: "app", password: "of app" })).answer.token as string;

  beforeAll(async () => {
    etcd = await planSecureEtcd({ version, members: 1 });
    [member] = etcd.members as [PodMember];
    const { durationMs: _, ...order } = orderOf(etcdUser(), etcdOf());
    bound = await etcd.clientCA.issue(order);
    const admin = endpointOf(etcd, member, await etcd.clientCA.issue({ names: [], commonName: "operator" }));
    member.start();
    await until("it has a leader", async () => {
      const seen = await client.probe(admin, { signal: neverAborted, deadlineMs: 1_000 });
      return seen.is === "present" && seen.value.leaderId !== undefined;
    });
    await client.userAdd(admin, "root", "of root", OPTIONS);
    await client.userAdd(admin, "operator", undefined, OPTIONS);
    for (const name of ["root", "operator"]) await client.userGrantRole(admin, name, "root", OPTIONS);
    await client.roleAdd(admin, "app", OPTIONS);
    const range = { key: Buffer.from("app/"), rangeEnd: Buffer.from("app0") };
    await client.roleGrantPermission(admin, "app", { access: "READWRITE", ...range }, OPTIONS);
    await client.userAdd(admin, "app", "of app", OPTIONS);
    await client.userGrantRole(admin, "app", "app", OPTIONS);
    await client.authEnable(admin, OPTIONS);
  });
  afterAll(() => etcd.pods.stop());

  test("a client with a binding logs in, and writes and reads the keys of its role", async () => {
    const token = await login();
    const put = await post("/v3/kv/put", { key: base64("app/a"), value: base64("1") }, { token });
    expect(put.status).toBe(200);
    const { status, answer } = await post("/v3/kv/range", { key: base64("app/a") }, { token });
    expect([status, answer.kvs[0].value]).toEqual([200, base64("1")]);
  });

  test("the certificate of a binding grants nothing without a token", async () => {
    const { status, answer } = await post("/v3/kv/range", { key: base64("app/a") });
    expect([status, answer.message]).toEqual([403, "etcdserver: permission denied"]);
  });

  test("a token grants no other keys", async () => {
    const { status } = await post("/v3/kv/range", { key: base64("b") }, { token: await login() });
    expect(status).toBe(403);
  });

  test("over gRPC a client logs in by password, with a certificate of this release or of an earlier one", async () => {
    const earlier = await etcd.clientCA.issue({ names: [], commonName: "binding:app", usages: ["clientAuth"] });
    for (const pair of [bound, earlier]) {
      const credentials = () => Promise.resolve({ name: "app", password: "of app" });
      const application = new PasswordClient({ credentials, logins: 0, refusedPasswords: 0 });
      expect(await application.put(endpointOf(etcd, member, pair), "app/b", "2", OPTIONS)).toBeGreaterThan(0);
      application.closeAll();
    }
  });
});
