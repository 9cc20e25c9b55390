import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { SnapshotSource } from "#etcd/snapshot-source.ts";
import { TransportPool } from "#etcd/transport.ts";
import { memberId } from "#etcd/types.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import type { PodMember } from "#kit/pods/pod-etcd.ts";
import { ask, endpointOf, planSecureEtcd, type SecureEtcd } from "#kit/pods/pod-tls.ts";

// Which requests members accept from which certificates while auth is enabled. This is why the operator's user has the
// role root, probes use a certificate without a user, and promotions are sent to the leader.

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
const NOBODY = memberId(5n);
const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

/** Certificates of an administrator, a user without roles, a user unknown to etcd, and one without a user. */
const WHO = ["operator", "user", "stranger", "nameless"] as const;
type Who = (typeof WHO)[number];

async function viaSource<T>(endpoint: Endpoint, use: (source: SnapshotSource) => Promise<T>): Promise<T> {
  const source = new SnapshotSource({ url: `https://${endpoint.address}`, tls: endpoint.tls });
  try {
    return await use(source);
  } finally {
    source.close();
  }
}

/** Requests that every certificate allows. */
const FOR_ALL: Readonly<Record<string, (at: Endpoint) => Promise<unknown>>> = {
  Status: (at) => client.status(at, OPTIONS),
  "MemberList, linearizable": (at) => client.memberList(at, { ...OPTIONS, linearizable: true }),
  MemberList: (at) => client.memberList(at, { ...OPTIONS, linearizable: false }),
  "Alarm, to read": (at) => client.alarms(at, OPTIONS),
  LeaseTimeToLive: (at) =>
    viaSource(at, (source) => source.changes.grantedTTL(5n, { signal: neverAborted, deadlineMs: 5_000 })),
};

/**
 * Requests for administrators only. They cannot succeed: with the right role, the error is about the member or
 * argument.
 */
const FOR_ADMINISTRATORS: Readonly<Record<string, (at: Endpoint) => Promise<unknown>>> = {
  MemberRemove: (at) => client.removeMember(at, NOBODY, OPTIONS),
  MemberPromote: (at) => client.promote(at, NOBODY, OPTIONS),
  MemberUpdate: (at) =>
    pool.servicesOf(at).cluster.memberUpdate({ ID: 5n, peerURLs: ["http://a:1"] }, { timeoutMs: 5_000 }),
  MoveLeader: (at) => client.moveLeader(at, NOBODY, OPTIONS),
  "Alarm, to lower": (at) => client.disarmAlarm(at, { memberId: NOBODY, type: "NOSPACE" }, OPTIONS),
  HashKV: (at) => client.hashKv(at, OPTIONS),
  Defragment: (at) => pool.servicesOf(at).maintenance.defragment({}, { timeoutMs: 5_000 }),
  Downgrade: (at) => client.downgrade(at, "VALIDATE", "3.4", OPTIONS),
  Compact: (at) => pool.servicesOf(at).kv.compact({ revision: 1n }, { timeoutMs: 5_000 }),
  Snapshot: (at) =>
    viaSource(at, async (source) => {
      for await (const _ of source.snapshot(neverAborted)) return;
    }),
};

/** Requests allowed by a role's permissions on keys. */
const ABOUT_KEYS: Readonly<Record<string, (at: Endpoint) => Promise<unknown>>> = {
  Range: (at) => client.get(at, "a", OPTIONS),
  "Range, serializable": (at) => client.get(at, "a", { ...OPTIONS, serializable: true }),
  Put: (at) => client.put(at, "b", "b", OPTIONS),
  Watch: (at) =>
    viaSource(at, async (source) => {
      const end = new AbortController();
      for await (const _ of source.changes.from(1n, end.signal)) return end.abort();
    }),
};

const DENIED = /permission denied|PermissionDenied|user (name )?not found|user name is empty/;

// The tests of one version tell one story, in order.
describe.each(ETCD_VERSIONS)("members of etcd %s with auth enabled", (version) => {
  let etcd: SecureEtcd;
  let leader: PodMember;
  let follower: PodMember;
  const ends = new Map<Who, (of: PodMember) => Endpoint>();
  const at = (who: Who, of = leader) => ends.get(who)!(of);

  beforeAll(async () => {
    etcd = await planSecureEtcd({ version, members: 3 });
    for (const who of WHO) {
      const name = who === "nameless" ? { names: ["x.example"] } : { names: [], commonName: who };
      const pair = await etcd.clientCA.issue({ ...name, usages: ["clientAuth"] });
      ends.set(who, (of) => endpointOf(etcd, of, pair));
    }
    for (const member of etcd.members) member.start();
    const led = async (member: PodMember) => {
      const seen = await client.probe(at("operator", member), { signal: neverAborted, deadlineMs: 1_000 });
      return seen.is === "present" && seen.value.leaderId !== undefined ? seen.value : undefined;
    };
    for (const member of etcd.members) await until("it knows a leader", async () => (await led(member)) !== undefined);
    for (const member of etcd.members) {
      const status = await led(member);
      if (status?.leaderId === status?.memberId) leader = member;
      else follower = member;
    }
    const own = at("operator");
    await client.put(own, "a", "a", OPTIONS);
    await client.userAdd(own, "root", "secret", OPTIONS);
    await client.userAdd(own, "operator", undefined, OPTIONS);
    await client.userAdd(own, "user", undefined, OPTIONS);
    for (const name of ["root", "operator"]) await client.userGrantRole(own, name, "root", OPTIONS);
  });
  afterAll(() => etcd.pods.stop());

  test("auth applies to existing connections as soon as it is enabled", async () => {
    expect(await client.get(at("stranger"), "a", OPTIONS)).toBeDefined();
    await client.authEnable(at("operator"), OPTIONS);
    await expect(client.get(at("stranger"), "a", OPTIONS)).rejects.toThrow(/permission denied/);
    expect(await client.get(at("operator"), "a", OPTIONS)).toBeDefined();
  });

  test.each(Object.entries(FOR_ALL))("%s is allowed with any certificate", async (_, call) => {
    for (const who of WHO) await call(at(who));
  });

  test.each(Object.entries(FOR_ADMINISTRATORS))("%s is allowed for an administrator only", async (_, call) => {
    const answers: string[] = [];
    // Sequentially: a connection to an address has one certificate.
    for (const who of WHO)
      answers.push(
        await call(at(who)).then(
          () => "done",
          (thrown: Error) => thrown.message,
        ),
      );
    const [mine, ...others] = answers;
    expect(mine).not.toMatch(DENIED);
    for (const answer of others) expect(answer).toMatch(DENIED);
  });

  test.each(Object.entries(ABOUT_KEYS))("%s is allowed with permissions on the keys", async (_, call) => {
    await call(at("operator"));
    for (const who of ["user", "stranger", "nameless"] as const) await expect(call(at(who))).rejects.toThrow(DENIED);
  });

  test("a request during changes of users may be refused for an old auth revision, and a later request succeeds", async () => {
    const refusals: string[] = [];
    const using = Array.from({ length: 200 }, (_, n) =>
      client.put(at("operator", n % 2 === 0 ? leader : follower), `race/${n}`, "x", OPTIONS).catch((thrown: Error) => {
        refusals.push(thrown.message);
      }),
    );
    for (let n = 0; n < 10; n++) await client.userAdd(at("operator"), `race-${n}`, undefined, OPTIONS);
    await Promise.all(using);
    for (const refusal of refusals) expect(refusal).toMatch(/revision of auth store is old/);
    expect(await client.put(at("operator"), "race/after", "x", OPTIONS)).toBeGreaterThan(0);
  });

  test("a follower forwards a promotion without the user's name, and the leader refuses it", async () => {
    // The follower retries until the deadline.
    const asked = client.promote(at("operator", follower), NOBODY, { ...OPTIONS, deadlineMs: 2_000 });
    await expect(asked).rejects.toThrow(/timed out|deadline|aborted/);
    await expect(client.promote(at("operator"), NOBODY, OPTIONS)).rejects.toThrow(/member not found/);
  });

  test("probes pass with a client certificate without an etcd user, also on a starting member", async () => {
    expect(await leader.probe()).toContain(version);
    const path = async (name: string) => (await fetch(`http://${follower.metricsAddress}${name}`)).status;
    for (const name of ["/health", "/readyz", "/livez"]) expect([name, await path(name)]).toEqual([name, 200]);
    const question = {
      at: follower.clientAddress,
      ca: etcd.clientCA.pem,
      serverName: follower.place.host,
      pair: etcd.client,
    };
    for (const name of ["/health", "/readyz"]) expect((await ask({ ...question, path: name })).status).toBe(200);
    await follower.kill();
    follower.start();
    await until("it passes", () =>
      follower.probe().then(
        () => true,
        () => false,
      ),
    );
    await until("it is ready", async () => (await path("/readyz")) === 200);
  });

  test("the gRPC gateway refuses a certificate with a common name, and treats a certificate without it as no user", async () => {
    const body = { key: Buffer.from("a").toString("base64") };
    const question = {
      at: leader.clientAddress,
      ca: etcd.clientCA.pem,
      serverName: leader.place.host,
      path: "/v3/kv/range",
      body,
    };
    const named = await ask({ ...question, pair: etcd.client });
    expect(named).toMatchObject({ status: 400, body: expect.stringContaining("CommonName of client") });
    const nameless = await etcd.clientCA.issue({ names: ["x.example"], usages: ["clientAuth"] });
    expect((await ask({ ...question, pair: nameless })).status).toBe(403);
  });

  test("auth stops applying to existing connections when it is disabled", async () => {
    await client.authDisable(at("operator"), OPTIONS);
    expect(await client.get(at("stranger"), "a", OPTIONS)).toBeDefined();
  });
});
