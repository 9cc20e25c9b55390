import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATOR } from "#api/names.ts";
import type { Unmanaged } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { absent } from "#base/observed.ts";
import { AuthReads } from "#cluster/auth/reads.ts";
import type { HeldNames } from "#cluster/auth/unmanaged.ts";
import type { CallOptions, CallReport } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import { endpointOf, planSecureEtcd, type SecureEtcd } from "#kit/pods/pod-tls.ts";
import { guarded } from "#kit/snapshots/cluster-auth.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";

// The operator reports users and roles of etcd that no EtcdUser or EtcdRole names. These tests check its report, and
// its requests, with real members.

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
const NOBODY: HeldNames = { users: new Map(), roles: new Set() };
/** Longer than a report is cached. */
const LATER_MS = 60_000;
const NAMES = ["UserList", "RoleList"];

const { cluster } = guarded();
const pool = new TransportPool(systemClock);
const calls: string[] = [];
const client = new GrpcClient({ pool, clock: systemClock, onCall: ({ method }: CallReport) => calls.push(method) });
afterAll(() => pool.closeAll());

// The tests of one version tell one story, in order.
describe.each(ETCD_VERSIONS)("users and roles of etcd %s without an EtcdUser or EtcdRole", (version) => {
  const clock = new FakeClock();
  let etcd: SecureEtcd;
  let at: Endpoint;
  let stranger: Endpoint;
  let reads: AuthReads;
  let certificates: Map<Endpoint, string>;
  let as: Endpoint;

  beforeAll(async () => {
    etcd = await planSecureEtcd({ version, members: 1 });
    const named = (commonName: string) => etcd.clientCA.issue({ names: [], commonName, usages: ["clientAuth"] });
    const [own, foreign] = await Promise.all([named(OPERATOR), named("nobody-knows")]);
    const [member] = etcd.members;
    at = endpointOf(etcd, member!, own);
    stranger = endpointOf(etcd, member!, foreign);
    certificates = new Map([
      [at, own.certificate],
      [stranger, foreign.certificate],
    ]);
    as = at;
    const identityOf = () => ({ ca: "", cert: certificates.get(as) ?? "", key: "", secretName: "its" });
    // Without root's Secret there is always something to do, so etcd is asked at each reconcile.
    const kube = { find: () => Promise.resolve(absent) };
    reads = new AuthReads({ kube, etcd: client, identities: { identityOf } as never, clock });
    member!.start();
    await until("it knows a leader", async () => {
      const seen = await client.probe(at, { signal: neverAborted, deadlineMs: 1_000 });
      return seen.is === "present" && seen.value.leaderId !== undefined;
    });
    for (const name of ["root", OPERATOR]) {
      await client.userAdd(at, name, undefined, OPTIONS);
      await client.userGrantRole(at, name, "root", OPTIONS);
    }
  });
  afterAll(() => etcd.pods.stop());

  async function told(held = NOBODY): Promise<Unmanaged | undefined> {
    await clock.advance(LATER_MS);
    const seen = await reads.look(cluster, { endpoint: as, options: OPTIONS }, undefined, () => held, neverAborted);
    return seen?.unmanaged;
  }

  /** How often all names were requested during `look`. */
  async function asked(look: () => Promise<unknown>): Promise<number> {
    const before = calls.length;
    await look();
    return calls.slice(before).filter((method) => NAMES.includes(method)).length;
  }

  test("do not include root and the operator's user, before and after auth is enabled", async () => {
    expect(await told()).toEqual({});
    await client.authEnable(at, OPTIONS);
    expect(await told()).toEqual({});
  });

  test("are reported, without those of EtcdUsers and EtcdRoles", async () => {
    await client.userAdd(at, "ann", "secret", OPTIONS);
    await client.userAdd(at, "shop", "secret", OPTIONS);
    await client.roleAdd(at, "readers", OPTIONS);
    await client.roleAdd(at, "shop", OPTIONS);
    expect(await told({ users: new Map([["shop", "shop"]]), roles: new Set(["shop"]) })).toEqual({
      users: { count: 1, names: ["ann"] },
      roles: { count: 1, names: ["readers"] },
    });
  });

  test("are requested only once while etcd's auth revision and the objects are unchanged", async () => {
    expect(await asked(told)).toBe(2);
    expect(await asked(told)).toBe(0);
    expect((await told())?.users).toEqual({ count: 2, names: ["ann", "shop"] });
    await client.userGrantRole(at, "ann", "readers", OPTIONS);
    expect(await asked(told)).toBe(2);
    // A new password changes no name, but etcd's auth revision.
    await client.userChangePassword(at, "ann", "another", OPTIONS);
    expect(await asked(told)).toBe(2);
    await client.put(at, "a", "1", OPTIONS);
    expect(await asked(told)).toBe(0);
  });

  test("are reported with escaped control characters, shortened and counted", async () => {
    const hostile = ['b"c', "b\u001b[2J\n", "b\u202e", "b".repeat(300), "b\u0000"];
    const taken: string[] = [];
    for (const name of hostile) {
      await client.userAdd(at, name, undefined, OPTIONS);
      taken.push(name);
    }
    for (let n = 0; n < 8; n++) await client.roleAdd(at, `role-${n}`, OPTIONS);
    const all = await client.userList(at, OPTIONS);
    expect(all).toEqual(expect.arrayContaining(taken));
    expect(await told()).toEqual({
      users: {
        count: 7,
        names: ["ann", "b\\u{0}", "b\\u{1b}[2J\\u{a}", "b\\u{22}c", `${"b".repeat(64)}…`, "b\\u{202e}", "shop"],
      },
      roles: { count: 10, names: ["readers", ...Array.from({ length: 8 }, (_, n) => `role-${n}`), "shop"] },
    });
    await client.roleAdd(at, "the-last-one", OPTIONS);
    expect((await told())?.roles).toMatchObject({ count: 11, names: expect.not.arrayContaining(["the-last-one"]) });
    for (const name of taken) await client.userDelete(at, name, OPTIONS);
    expect((await told())?.users).toEqual({ count: 2, names: ["ann", "shop"] });
  });

  test("are neither requested nor reported if the operator is no administrator", async () => {
    as = stranger;
    expect(await asked(async () => expect(await told()).toBeUndefined())).toBe(0);
    as = at;
    expect((await told())?.users?.count).toBe(2);
  });
});
