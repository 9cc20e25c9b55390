import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { eventually } from "#kit/e2e/e2e.ts";
import { expectPromised, LoadedCluster } from "#kit/e2e/loaded-cluster.ts";

// A cluster with few writes is upgraded from etcd 3.5 to 3.7. Its raft log keeps entries of 3.5 until a member takes a
// snapshot, and etcd 3.7 ends when it reads one (docs/adr/0043-raft-snapshots-before-etcd-3-7.md). Clients that write
// without pause would hide that: after 10,000 writes every member takes a snapshot by itself. These write twice a
// second.

const VERSIONS = ["3.6.16", "3.7.3"];
const KEYS = 20;

let cluster: LoadedCluster;

beforeAll(async () => {
  cluster = await LoadedCluster.start("quiet-upgrade", { version: "3.5.35", load: { everyMs: 2_000 } });
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

async function containerRestarts(): Promise<number> {
  const { items } = await cluster.json<{ items: { status?: { containerStatuses?: { restartCount: number }[] } }[] }>(
    "get",
    "pods",
  );
  return items
    .flatMap(({ status }) => status?.containerStatuses ?? [])
    .reduce((all, each) => all + each.restartCount, 0);
}

test("a cluster without writes is upgraded from 3.5 to 3.6 to 3.7 in quick succession, and no member crashes", async () => {
  for (let n = 0; n < KEYS; n++) await cluster.put("my-etcd-0", `key-${n}`, `value-${n}`);
  for (const version of VERSIONS) {
    const felt = await cluster.feltDuring(version, async () => {
      // The second edit is refused while a member still runs 3.5, and accepted after that.
      await eventually(() => cluster.patch({ version }), 240_000);
      await eventually(async () => {
        const { items } = await cluster.json<{ items: EtcdPeer[] }>("get", "etcdpeers");
        const told = items.map(({ status }) => status?.serverVersion);
        expect(told).toEqual([version, version, version]);
        expect(await containerRestarts()).toBe(0);
      }, 240_000);
    });
    expectPromised(felt, 3);
  }
  await cluster.untilWhole(3);
  for (let n = 0; n < KEYS; n++) expect(await cluster.read("my-etcd-0", `key-${n}`)).toBe(`value-${n}`);
  await cluster.end();
});
