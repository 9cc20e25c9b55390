import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientUrl } from "#api/names.ts";
import { systemClock } from "#base/clock.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import type { PodMember } from "#kit/pods/pod-etcd.ts";
import { ask, endpointOf, planSecureEtcd, type SecureEtcd } from "#kit/pods/pod-tls.ts";

// While clients switch to TLS or back, a member serves plaintext and TLS at one port.

const OPTIONS = { signal: neverAborted, deadlineMs: 2_000 };
const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

const FILES = ["--cacert", "--cert", "--key"].map((flag, at) => {
  return `${flag}=/etc/etcd/tls/client/${["ca.crt", "tls.crt", "tls.key"][at]}`;
});

describe.each(ETCD_VERSIONS)("a member of etcd %s that serves plaintext and TLS", (version) => {
  describe.each(["Required", "NotRequired"] as const)("with client certificates %s", (clientCertificates) => {
    let etcd: SecureEtcd;
    let member: PodMember;
    beforeAll(async () => {
      etcd = await planSecureEtcd({ version, members: 1, clientCertificates });
      [member] = etcd.members as unknown as [PodMember];
      serves({ plaintext: true });
      member.start();
      await untilReady();
    });
    afterAll(() => etcd.pods.stop());

    function serves({ plaintext }: { plaintext: boolean }): void {
      const { tls } = member.peer.spec;
      member.become({ tls: { ...tls, client: { ...tls!.client!, plaintext } } });
    }

    async function untilReady(): Promise<void> {
      await until("the member is ready", async () => {
        const answer = await fetch(`http://${member.metricsAddress}/readyz`).catch(() => undefined);
        return answer?.status === 200;
      });
      await until("its client port answers", async () => {
        return (
          await member.etcdctl(`--endpoints=${clientUrl(member.place.host, "https")}`, ...FILES, "endpoint", "status")
        ).isDone;
      });
    }

    const tls = () => ({
      at: member.clientAddress,
      ca: etcd.clientCA.pem,
      serverName: member.place.host,
      ...(clientCertificates === "Required" ? { pair: etcd.client } : {}),
    });
    const range = { key: Buffer.from("k").toString("base64") };

    test("serves gRPC to clients with and without TLS", async () => {
      await client.put({ address: member.clientAddress }, "k", "without", OPTIONS);
      await client.put(endpointOf(etcd, member), "k", "with", OPTIONS);
      const found = await client.get({ address: member.clientAddress }, "k", OPTIONS);
      expect(found?.version).toBe(2);
    });

    test("serves JSON and probes to clients with and without TLS", async () => {
      const plain = await fetch(`http://${member.clientAddress}/v3/kv/range`, {
        method: "POST",
        body: JSON.stringify(range),
      });
      expect({ status: plain.status, count: ((await plain.json()) as { count: string }).count }).toEqual({
        status: 200,
        count: "1",
      });
      const secure = await ask({ ...tls(), path: "/v3/kv/range", body: range });
      expect({ status: secure.status, count: (JSON.parse(secure.body) as { count: string }).count }).toEqual({
        status: 200,
        count: "1",
      });
      expect((await fetch(`http://${member.clientAddress}/health`)).status).toBe(200);
      expect((await ask({ ...tls(), path: "/health" })).status).toBe(200);
      await member.probe();
    });

    test("requires a certificate of TLS clients only if the spec does", async () => {
      const { pair: _, ...without } = { pair: undefined, ...tls() };
      const asked = ask({ ...without, path: "/health" });
      if (clientCertificates === "Required") await expect(asked).rejects.toThrow(/alert|ECONNRESET|closed|hang up/);
      else expect((await asked).status).toBe(200);
    });

    test("publishes both URLs, so that etcdctl finds all members with either scheme", async () => {
      const [http, https] = [clientUrl(member.place.host, "http"), clientUrl(member.place.host, "https")];
      const { members } = await client.memberList(endpointOf(etcd, member), { ...OPTIONS, linearizable: true });
      expect(members[0]!.clientUrls).toEqual([http, https]);
      const plain = await member.etcdctl(`--endpoints=${http}`, "put", "k", "v");
      const secure = await member.etcdctl(`--endpoints=${https}`, ...FILES, "put", "k", "v");
      expect([plain, secure]).toEqual([
        { isDone: true, told: "OK\n" },
        { isDone: true, told: "OK\n" },
      ]);
      const health = ["endpoint", "health", "--cluster"];
      const found = await member.etcdctl(`--endpoints=${https}`, ...FILES, ...health);
      for (const line of [/^http:.* is healthy/m, /^https:.* is healthy/m]) expect(found.told).toMatch(line);
      // Without certificates, etcdctl reports the https URL as unhealthy and continues with its own.
      const { told } = await member.etcdctl(`--endpoints=${http}`, ...health);
      for (const line of [/^http:.* is healthy/m, /^https:.* is unhealthy/m]) expect(told).toMatch(line);
      // etcdctl treats URLs that differ only in the scheme as the first of them; etcd sorts http first.
      expect((await member.etcdctl(`--endpoints=${http},${https}`, "get", "k")).told).toBe("k\nv\n");
      expect((await member.etcdctl(`--endpoints=${http},${https}`, ...FILES, "get", "k")).told).toBe("k\nv\n");
    });

    test("serves only TLS after a restart without the plaintext listener", async () => {
      await member.kill();
      serves({ plaintext: false });
      member.start();
      await untilReady();
      await expect(fetch(`http://${member.clientAddress}/health`)).rejects.toThrow();
      expect((await ask({ ...tls(), path: "/health" })).status).toBe(200);
      const { members } = await client.memberList(endpointOf(etcd, member), { ...OPTIONS, linearizable: true });
      expect(members[0]!.clientUrls).toEqual([clientUrl(member.place.host, "https")]);
    });
  });
});
