import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { hasCode } from "#base/error.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import type { PodMember } from "#kit/pods/pod-etcd.ts";
import {
  ask,
  endpointOf,
  fingerprintOf,
  PEER_SECRET,
  planSecureEtcd,
  SERVER_SECRET,
  type SecureEtcd,
  secretOf,
  type TestAuthority,
  testAuthority,
} from "#kit/pods/pod-tls.ts";

const OPTIONS = { signal: neverAborted, deadlineMs: 2_000 };
const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

async function started(options: Parameters<typeof planSecureEtcd>[0]): Promise<[SecureEtcd, PodMember]> {
  const etcd = await planSecureEtcd(options);
  const [member] = etcd.members;
  member!.start();
  try {
    await untilReady(member!);
  } catch (thrown) {
    await etcd.pods.stop();
    throw thrown;
  }
  return [etcd, member!];
}

async function untilReady(member: PodMember): Promise<void> {
  await until("the member is ready", async () => {
    const answer = await fetch(`http://${member.metricsAddress}/readyz`).catch(() => undefined);
    return answer?.status === 200;
  }).catch((thrown: Error) => {
    throw new Error(`${thrown.message}; its log ends with:\n${member.log.slice(-3_000)}`);
  });
}

describe.each(ETCD_VERSIONS)("clients of etcd %s with certificates", (version) => {
  let etcd: SecureEtcd;
  let member: PodMember;
  beforeAll(async () => {
    [etcd, member] = await started({ version, members: 1 });
  });
  afterAll(() => etcd.pods.stop());

  const served = async (pair?: KeyPair, serverCA = etcd.clientCA.pem) => {
    const { host } = member.place;
    const question = { at: member.clientAddress, path: "/health", ca: serverCA, serverName: host };
    return (await ask({ ...question, ...(pair === undefined ? {} : { pair }) })).status;
  };

  test("a client with a certificate of the client CA is served over gRPC and the gateway", async () => {
    expect(await served(etcd.client)).toBe(200);
    await client.put(endpointOf(etcd, member), "k", "v", OPTIONS);
    const { pem: ca } = etcd.clientCA;
    const key = Buffer.from("k").toString("base64");
    const question = { at: member.clientAddress, ca, serverName: member.place.host, pair: etcd.client };
    const { status, body } = await ask({ ...question, path: "/v3/kv/range", body: { key } });
    expect({ status, count: (JSON.parse(body) as { count: string }).count }).toEqual({ status: 200, count: "1" });
  });

  test.each<{ how: string; pair: () => Promise<KeyPair | undefined> }>([
    { how: "without a certificate", pair: async () => undefined },
    { how: "with another cluster's certificate", pair: async () => await (await testAuthority()).issue() },
    { how: "with a member's certificate", pair: async () => await etcd.peerCA.issue() },
    { how: "with an expired certificate", pair: async () => await etcd.clientCA.issue({ endsInMs: -60_000 }) },
    {
      how: "with a certificate for servers only",
      pair: async () => await etcd.clientCA.issue({ usages: ["serverAuth"] }),
    },
  ])("a client $how is refused", async ({ pair }) => {
    const shown = await pair();
    await expect(served(shown)).rejects.toThrow(/alert|ECONNRESET|closed|hang up/);
    if (shown === undefined) return;
    await expect(client.status(endpointOf(etcd, member, shown), OPTIONS)).rejects.toSatisfy((thrown) =>
      hasCode(thrown, "EtcdUnavailable"),
    );
  });

  test("requests without TLS are answered only at the metrics port", async () => {
    await expect(fetch(`http://${member.clientAddress}/health`)).rejects.toThrow();
    expect((await fetch(`http://${member.metricsAddress}/metrics`)).status).toBe(200);
  });

  /** Fingerprints of the certificates served at both ports. */
  const shown = async () => {
    const serverName = member.place.host;
    const own = { pair: await etcd.peerCA.issue(), ca: etcd.peerCA.pem, at: member.peerAddress, path: "/members" };
    const application = { pair: etcd.client, ca: etcd.clientCA.pem, at: member.clientAddress, path: "/health" };
    return await Promise.all([own, application].map(async (each) => (await ask({ ...each, serverName })).shown));
  };

  test("a renewed certificate is served at both ports without a restart, and open connections stay", async () => {
    const held = endpointOf(etcd, member);
    const feed = await client.status(held, OPTIONS);
    const { pid } = member;
    const pairs = [await etcd.peerCA.issue(), await etcd.clientCA.issue()] as const;
    expect(await shown()).not.toEqual(pairs.map(fingerprintOf));
    etcd.pods.secrets.set(PEER_SECRET, secretOf(pairs[0]));
    etcd.pods.secrets.set(SERVER_SECRET, secretOf(pairs[1]));
    member.refresh();
    expect(await shown()).toEqual(pairs.map(fingerprintOf));
    expect(member.pid).toBe(pid);
    expect((await client.status(held, OPTIONS)).memberId).toBe(feed.memberId);
  });

  test("clients are refused while certificate and key do not match, and served when they match again", async () => {
    const next = await etcd.clientCA.issue();
    const whole = etcd.pods.secrets.get(SERVER_SECRET)!;
    etcd.pods.secrets.set(SERVER_SECRET, { ...whole, "tls.crt": next.certificate });
    member.refresh();
    await expect(served(etcd.client)).rejects.toThrow();
    etcd.pods.secrets.set(SERVER_SECRET, whole);
    member.refresh();
    expect(await served(etcd.client)).toBe(200);
  });

  /** Whether a certificate of these CAs is accepted at the peer port and at the client port. */
  async function taken(peers: TestAuthority, clients: TestAuthority): Promise<readonly boolean[]> {
    const question = { serverName: member.place.host };
    const asked = [
      { ...question, at: member.peerAddress, path: "/members", ca: etcd.peerCA.pem, pair: await peers.issue() },
      { ...question, at: member.clientAddress, path: "/health", ca: etcd.clientCA.pem, pair: await clients.issue() },
    ];
    return await Promise.all(
      asked.map(async (each) => {
        const answer = await ask(each).catch(() => undefined);
        return answer?.status === 200;
      }),
    );
  }

  test("an added CA is trusted after a restart and not before", async () => {
    const [peers, clients] = await Promise.all([testAuthority(), testAuthority()]);
    const { tls } = member.peer.spec;
    member.become({
      tls: {
        ...tls,
        peer: { ...tls!.peer!, trust: etcd.peerCA.pem + peers.pem },
        client: { ...tls!.client!, trust: clients.pem + etcd.clientCA.pem },
      },
    });
    member.refresh();
    expect(await taken(peers, clients)).toEqual([false, false]);
    // Long enough for any process that would reread its files.
    await systemClock.sleep(2_000);
    expect(await taken(peers, clients)).toEqual([false, false]);
    await member.kill();
    member.start();
    await untilReady(member);
    expect(await taken(peers, clients)).toEqual([true, true]);
    expect(await taken(etcd.peerCA, etcd.clientCA)).toEqual([true, true]);
  });
});

describe.each(ETCD_VERSIONS)("etcd %s", (version) => {
  async function withMember<T>(
    options: Omit<Parameters<typeof planSecureEtcd>[0], "version" | "members">,
    use: (etcd: SecureEtcd, member: PodMember) => Promise<T>,
  ): Promise<T> {
    const [etcd, member] = await started({ version, members: 1, ...options });
    try {
      return await use(etcd, member);
    } finally {
      await etcd.pods.stop();
    }
  }

  const health = (etcd: SecureEtcd, member: PodMember) => ({
    at: member.clientAddress,
    path: "/health",
    ca: etcd.clientCA.pem,
    serverName: member.place.host,
  });

  test("requests no client certificate when none is required", async () => {
    await withMember({ clientCertificates: "NotRequired" }, async (etcd, member) => {
      expect((await ask(health(etcd, member))).status).toBe(200);
      const key = Buffer.from("k").toString("base64");
      const answer = await ask({ ...health(etcd, member), path: "/v3/kv/range", body: { key } });
      expect(answer.status).toBe(200);
      await member.probe();
    });
  });

  test("refuses TLS 1.2 with minVersion TLS1.3", async () => {
    await withMember({ tls: { minVersion: "TLS1.3" } }, async (etcd, member) => {
      const question = { ...health(etcd, member), pair: etcd.client };
      await expect(ask({ ...question, tls: { maxVersion: "TLSv1.2" } })).rejects.toThrow(/alert protocol version/);
      expect((await ask({ ...question, tls: { minVersion: "TLSv1.3" } })).status).toBe(200);
      await client.status(endpointOf(etcd, member), OPTIONS);
      await member.probe();
    });
  });

  test("accepts only the configured cipher suites below TLS 1.3", async () => {
    const suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
    await withMember({ tls: { cipherSuites: [suite] } }, async (etcd, member) => {
      const question = { ...health(etcd, member), pair: etcd.client };
      const below = (ciphers: string) => ask({ ...question, tls: { maxVersion: "TLSv1.2", ciphers } });
      expect((await below("ECDHE-ECDSA-AES128-GCM-SHA256")).status).toBe(200);
      await expect(below("ECDHE-ECDSA-AES256-GCM-SHA384")).rejects.toThrow(/handshake failure/);
      await client.status(endpointOf(etcd, member), OPTIONS);
      await member.probe();
    });
  });

  test("fails the startup probe without a cipher suite that HTTP/2 requires", async () => {
    const cipherSuites = ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" as const];
    const etcd = await planSecureEtcd({ version, members: 1, tls: { cipherSuites } });
    try {
      const [member] = etcd.members;
      member!.start();
      await until("it leads itself", async () => member!.log.includes("elected leader"));
      await expect(member!.probe()).rejects.toThrow(/context deadline exceeded/);
    } finally {
      await etcd.pods.stop();
    }
  });

  test("fails gateway requests if its certificate is for servers only", async () => {
    const etcd = await planSecureEtcd({ version, members: 1 });
    try {
      const [member] = etcd.members;
      etcd.pods.secrets.set(SERVER_SECRET, secretOf(await etcd.clientCA.issue({ usages: ["serverAuth"] })));
      member!.start();
      await untilReady(member!);
      await client.status(endpointOf(etcd, member!), OPTIONS);
      const key = Buffer.from("k").toString("base64");
      const question = { ...health(etcd, member!), pair: etcd.client, path: "/v3/kv/range", body: { key } };
      const answer = await ask(question).catch(() => undefined);
      expect(answer?.status).not.toBe(200);
    } finally {
      await etcd.pods.stop();
    }
  });
});
