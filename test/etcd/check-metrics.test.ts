import { expect, test } from "vitest";
import { hexOf } from "#etcd/types.ts";
import { ETCD_VERSIONS, type EtcdMember, neverAborted, startEtcd, until } from "#kit/etcd/etcd.ts";
import { type Reading, readingOf, speedOf } from "../../src/plugin/reading.ts";

// Every supported etcd serves the metrics from which `kubectl etcd check` judges disks and network.

const options = { signal: neverAborted, deadlineMs: 5_000 };
async function read({ metricsAddress }: EtcdMember): Promise<Reading> {
  return readingOf(await (await fetch(`http://${metricsAddress}/metrics`)).text());
}

// All at once: etcd measures a round trip every half a minute.
test.concurrent.each(ETCD_VERSIONS)("etcd %s serves what check reads", { timeout: 120_000 }, async (version) => {
  const etcd = await startEtcd({ version, members: 3 });
  try {
    const [first] = etcd.members as [EtcdMember];
    const idOf = async ({ endpoint }: EtcdMember) => hexOf((await etcd.client.status(endpoint, options)).memberId);
    const [id, ...peers] = await Promise.all(etcd.members.map(idOf));
    await until("round trips are measured", async () => (await read(first)).roundTrips.size === 2);
    const after = await read(first);
    expect(after.memberId).toBe(id);
    expect(Math.abs((after.startMs ?? 0) - Date.now())).toBeLessThan(120_000);
    // Test members do without fsync, but for those of their start.
    const speed = speedOf(undefined, after);
    for (const latency of [speed.sync, speed.commit]) expect(latency?.count).toBeGreaterThan(0);
    expect([...speed.roundTrips.keys()].sort()).toEqual(peers.sort());
    for (const counted of Object.values(speed.counters)) expect(counted?.total).toBeGreaterThanOrEqual(0);
  } finally {
    await etcd.stop();
  }
});
