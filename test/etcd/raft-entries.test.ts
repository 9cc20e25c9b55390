import { afterEach, expect, test } from "vitest";
import type { CallOptions } from "#etcd/client.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import {
  type EtcdMember,
  type EtcdVersionText,
  neverAborted,
  type RunningEtcd,
  startEtcd,
  until,
  untilLed,
} from "#kit/etcd/etcd.ts";

// etcd's behaviour on which the operator relies when a cluster that has run 3.5 is upgraded to 3.7
// (src/cluster/update/raft-entries.ts).

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
const KEYS = 20;
const UNREADABLE = "unmarshal should never fail";

let etcd: RunningEtcd;
afterEach(() => etcd?.stop());

async function untilAll(what: string, holds: (status: EndpointStatus) => boolean): Promise<void> {
  await until(what, async () => {
    const seen = await Promise.all(etcd.members.map(({ endpoint }) => etcd.client.status(endpoint, OPTIONS)));
    return seen.every(holds);
  });
}

async function restart(member: EtcdMember, version: EtcdVersionText): Promise<"runs" | "ends"> {
  await member.terminate();
  member.version = version;
  await member.start({ initialCluster: etcd.initialCluster, state: "existing" });
  return await Promise.race([
    untilLed(etcd.client, member).then(() => "runs" as const),
    member.exited().then(() => "ends" as const),
  ]);
}

async function restartAll(version: EtcdVersionText): Promise<void> {
  for (const member of etcd.members) expect(await restart(member, version)).toBe("runs");
}

async function quietClusterOf35(members: 1 | 3): Promise<void> {
  etcd = await startEtcd({ version: "3.5.35", members });
  for (let n = 0; n < KEYS; n++) await etcd.client.put(etcd.members[0]!.endpoint, `key-${n}`, `value-${n}`, OPTIONS);
  await restartAll("3.6.16");
  await untilAll("all data is in the format of 3.6", ({ storageVersion }) => storageVersion === "3.6.0");
}

/** Makes the operator's requests, and waits as the operator does. */
async function takeSnapshots(): Promise<void> {
  const { endpoint } = etcd.members[0]!;
  await etcd.client.downgrade(endpoint, "VALIDATE", "3.5", OPTIONS);
  await etcd.client.downgrade(endpoint, "ENABLE", "3.5", OPTIONS);
  await untilAll(
    "all data is in the format of 3.5",
    ({ downgradeTo, storageVersion }) => downgradeTo === "3.5.0" && storageVersion === "3.5.0",
  );
  await etcd.client.downgrade(endpoint, "CANCEL", "3.5", OPTIONS);
  await untilAll(
    "all data is in the format of 3.6 again",
    ({ downgradeTo, storageVersion }) => downgradeTo === undefined && storageVersion === "3.6.0",
  );
}

test("etcd 3.7 cannot start with raft entries of 3.5 after the last snapshot, and 3.6 can", async () => {
  await quietClusterOf35(3);
  const last = etcd.members[2]!;
  expect(await restart(last, "3.7.3")).toBe("ends");
  expect(last.log).toContain(UNREADABLE);
  expect(await restart(last, "3.6.16")).toBe("runs");
});

test.each([1, 3] as const)(
  "a cancelled downgrade makes each of %d members take a snapshot, and then 3.7 can start",
  async (count) => {
    await quietClusterOf35(count);
    const { revision } = await hashed(etcd.members[0]!);
    await takeSnapshots();
    expect((await hashed(etcd.members[0]!)).revision).toBe(revision);
    for (const member of etcd.members) {
      expect(member.log).toContain("Cluster version downgrade detected, forcing snapshot");
      expect(member.log).toContain("saved snapshot to disk");
    }
    await restartAll("3.7.3");
    for (const { endpoint } of etcd.members) {
      const found = await etcd.client.get(endpoint, `key-${KEYS - 1}`, OPTIONS);
      expect(Buffer.from(found!.value).toString()).toBe(`value-${KEYS - 1}`);
    }
  },
);

test("a member that reports data in the 3.5 format has a snapshot, even if it is killed immediately", async () => {
  await quietClusterOf35(1);
  const [only] = etcd.members as [EtcdMember];
  await etcd.client.downgrade(only.endpoint, "ENABLE", "3.5", OPTIONS);
  await untilAll("data is in the format of 3.5", ({ storageVersion }) => storageVersion === "3.5.0");
  await only.kill();
  await only.start({ initialCluster: etcd.initialCluster, state: "existing" });
  await untilLed(etcd.client, only);
  await etcd.client.downgrade(only.endpoint, "CANCEL", "3.5", OPTIONS);
  await untilAll("data is in the format of 3.6 again", ({ storageVersion }) => storageVersion === "3.6.0");
  expect(await restart(only, "3.7.3")).toBe("runs");
});

async function hashed({ endpoint }: EtcdMember): Promise<{ revision: bigint }> {
  return { revision: await etcd.client.revision(endpoint, OPTIONS) };
}
