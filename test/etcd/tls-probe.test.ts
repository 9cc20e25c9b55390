import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#base/clock.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { ETCD_VERSIONS, neverAborted, until } from "#kit/etcd/etcd.ts";
import type { PodMember } from "#kit/pods/pod-etcd.ts";
import { endpointOf, planSecureEtcd, type SecureEtcd } from "#kit/pods/pod-tls.ts";

const pool = new TransportPool(systemClock);
const client = new GrpcClient({ pool, clock: systemClock });
afterAll(() => pool.closeAll());

async function passes(member: PodMember): Promise<boolean> {
  return await member.probe().then(
    () => true,
    () => false,
  );
}

async function metricsSay(member: PodMember, path: string): Promise<number | undefined> {
  const signal = AbortSignal.timeout(3_000);
  return (await fetch(`http://${member.metricsAddress}${path}`, { signal }).catch(() => undefined))?.status;
}

// Our probes with client certificates, which the kubelet lacks, need this: a member counts as started only when its
// client port answers. It is not killed while it waits for the others. The tests of one version tell one story, in
// order.
describe.each(ETCD_VERSIONS)("the startup probe of etcd %s with certificates", (version) => {
  let etcd: SecureEtcd;
  beforeAll(async () => {
    etcd = await planSecureEtcd({ version, members: 3 });
  });
  afterAll(() => etcd.pods.stop());
  const first = () => etcd.members[0]!;
  const isServed = async (member: PodMember) => {
    const seen = await client.probe(endpointOf(etcd, member), { signal: neverAborted, deadlineMs: 1_000 });
    return seen.is === "present";
  };

  test("fails before its timeout while the first of three members waits for a quorum", async () => {
    first().start();
    await until("it is alive", async () => (await metricsSay(first(), "/livez")) === 200);
    const askedAtMs = performance.now();
    await expect(first().probe()).rejects.toThrow(/context deadline exceeded/);
    expect(performance.now() - askedAtMs).toBeLessThan(4_500);
    await expect(first().probe()).rejects.not.toThrow(/^killed/);
    expect(await isServed(first())).toBe(false);
  });

  test("passes when there is a leader and the client port answers", async () => {
    etcd.members[1]!.start();
    await until("it passes", () => passes(first()));
    expect(await isServed(first())).toBe(true);
    expect(await metricsSay(first(), "/readyz")).toBe(200);
    await until("the other member passes, too", () => passes(etcd.members[1]!));
  });

  test("still passes when the member loses the quorum later, and the metrics port reports not ready", async () => {
    await etcd.members[1]!.kill();
    await until("it is not ready", async () => (await metricsSay(first(), "/readyz")) !== 200);
    expect(await passes(first())).toBe(true);
    expect(await metricsSay(first(), "/livez")).toBe(200);
  });

  test("fails again after a restart without a quorum, and the member keeps running", async () => {
    await first().kill();
    first().start();
    await until("it is alive", async () => (await metricsSay(first(), "/livez")) === 200);
    expect(await passes(first())).toBe(false);
    expect(await metricsSay(first(), "/livez")).toBe(200);
    etcd.members[1]!.start();
    await until("it passes", () => passes(first()));
  });

  test("does not pass for the third member before its client port answers", async () => {
    const third = etcd.members[2]!;
    third.start();
    await until("it passes", () => passes(third));
    expect(await isServed(third)).toBe(true);
  });

  test("does not depend on the environment by which etcdctl in the container needs no TLS flags", async () => {
    const third = etcd.members[2]!;
    const etcdctl = (...words: string[]) => third.exec(["etcdctl", `--endpoints=${third.place.host}:2379`, ...words]);
    expect(await etcdctl("put", "a", "1")).toContain("OK");
    expect((await etcdctl("get", "a", "--print-value-only")).trim()).toBe("1");
    expect((await etcdctl("endpoint", "status", "--cluster")).trim().split("\n")).toHaveLength(3);
    await expect(etcdctl("--cert=/etc/etcd/tls/client/tls.crt", "get", "a")).rejects.toThrow(/ETCDCTL_CERT/);
    expect(third.log).toContain("serving client traffic");
    expect(third.log).not.toContain("ETCDCTL_");
  });
});
