import { afterEach, describe, expect, test } from "vitest";
import type { CallOptions, DowngradeAction } from "#etcd/client.ts";
import { refusalOf } from "#etcd/error.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { minorOf } from "#etcd/version.ts";
import {
  type EtcdMember,
  type EtcdVersionText,
  neverAborted,
  type RunningEtcd,
  startEtcd,
  until,
  untilLed,
} from "#kit/etcd/etcd.ts";

// etcd's behaviour on which the operator relies for a downgrade by one minor version (src/cluster/update/downgrade.ts).

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };

const PAIRS: readonly { from: EtcdVersionText; to: EtcdVersionText; refuses: RegExp }[] = [
  {
    from: "3.6.16",
    to: "3.5.35",
    refuses: /invalid downgrade; server version is lower than determined cluster version/,
  },
  { from: "3.7.3", to: "3.6.16", refuses: /version \\"3\.7\.0\\" is not supported/ },
];

let etcd: RunningEtcd;
afterEach(() => etcd?.stop());

/** etcd's refusal of the downgrade request; undefined when it accepts. */
async function asked(action: DowngradeAction, to: string, at = 0): Promise<string | undefined> {
  const { endpoint } = etcd.members[at]!;
  return await etcd.client.downgrade(endpoint, action, to, OPTIONS).then(
    () => undefined,
    (thrown: unknown) => refusalOf(thrown) ?? String(thrown),
  );
}

async function statuses(): Promise<readonly EndpointStatus[]> {
  return await Promise.all(etcd.members.map(({ endpoint }) => etcd.client.status(endpoint, OPTIONS)));
}

/** Waits until the condition holds for the status of every member. */
async function untilAll(what: string, holds: (status: EndpointStatus) => boolean): Promise<void> {
  await until(what, async () => (await statuses()).every(holds));
}

const restart = async (member: EtcdMember, version: EtcdVersionText): Promise<"runs" | "ends"> => {
  await member.terminate();
  member.version = version;
  await member.start({ initialCluster: etcd.initialCluster, state: "existing" });
  return await Promise.race([
    untilLed(etcd.client, member).then(() => "runs" as const),
    member.exited().then(() => "ends" as const),
  ]);
};

describe.each(PAIRS)("a downgrade from $from to $to", ({ from, to, refuses }) => {
  const [high, low] = [`${minorOf(from)}.0`, `${minorOf(to)}.0`];
  const isConverted = ({ storageVersion, downgradeTo }: EndpointStatus) =>
    storageVersion === low && downgradeTo === low;

  test("is done member by member, and members can be upgraded again", async () => {
    etcd = await startEtcd({ version: from, members: 3 });
    const [m0, m1, m2] = etcd.members as [EtcdMember, EtcdMember, EtcdMember];
    await untilAll("data is in the format of today", ({ storageVersion }) => storageVersion === high);

    // Only one minor version down is allowed, and only after it is enabled.
    expect(await asked("VALIDATE", "3.4")).toBe("InvalidDowngradeTargetVersion");
    expect(await asked("VALIDATE", minorOf(from))).toBe("InvalidDowngradeTargetVersion");
    expect(await asked("VALIDATE", minorOf(to))).toBeUndefined();
    expect((await statuses())[0]?.downgradeTo).toBeUndefined();
    expect(await restart(m2, to)).toBe("ends");
    expect(m2.log).toMatch(refuses);
    expect(await restart(m2, from)).toBe("runs");

    // Once it is enabled, every member converts its data within seconds.
    expect(await asked("ENABLE", minorOf(to), 1)).toBeUndefined();
    expect(await asked("ENABLE", minorOf(to))).toBe("DowngradeInProcess");
    await untilAll("data is in the format of the minor before", isConverted);

    // No new member can join in between, with either release.
    const joining = await etcd.spare("m3");
    await until("a learner is added", async () => {
      const added = etcd.client.addLearner(m0.endpoint, [joining.peerUrl], OPTIONS);
      return await added.then(
        () => true,
        (thrown: unknown) => refusalOf(thrown) !== "Unhealthy",
      );
    });
    const list = (await etcd.client.memberList(m0.endpoint, { ...OPTIONS, linearizable: true })).members;
    for (const version of [from, to]) {
      joining.version = version;
      await joining.start({ initialCluster: `${etcd.initialCluster},m3=${joining.peerUrl}`, state: "existing" });
      expect(await joining.exited()).not.toBe(0);
      expect(joining.log).toContain("incompatible with current running cluster");
    }
    const learner = list.find(({ peerUrls }) => peerUrls.includes(joining.peerUrl))!;
    await etcd.client.removeMember(m0.endpoint, learner.id, OPTIONS);

    // One member is downgraded. While it runs, the others may follow even without a downgrade.
    expect(await restart(m0, to)).toBe("runs");
    expect(await asked("CANCEL", "", 1)).toBeUndefined();
    await until("it is cancelled", async () =>
      (await statuses()).every(({ downgradeTo }) => downgradeTo === undefined),
    );
    expect(await asked("VALIDATE", minorOf(to), 1)).toBe("InvalidDowngradeTargetVersion");
    expect(await restart(m1, to)).toBe("runs");

    // Upgrade: the cluster version rises again once all members run the later release.
    expect(await restart(m0, from)).toBe("runs");
    expect(await restart(m1, from)).toBe("runs");
    await untilAll("data is in the later format again", ({ storageVersion }) => storageVersion === high);
  });
});

test("data is not converted while a member is down, and that member cannot start with the earlier release", async () => {
  etcd = await startEtcd({ version: "3.6.16", members: 3 });
  const [m0, , m2] = etcd.members as [EtcdMember, EtcdMember, EtcdMember];
  await untilAll("data is in the format of today", ({ storageVersion }) => storageVersion === "3.6.0");
  await m2.kill();
  await until("it is enabled", async () => ["DowngradeInProcess", undefined].includes(await asked("ENABLE", "3.5")));
  m2.version = "3.5.35";
  await m2.start({ initialCluster: etcd.initialCluster, state: "existing" });
  expect(await m2.exited()).not.toBe(0);
  expect((await etcd.client.status(m0.endpoint, OPTIONS)).storageVersion).toBe("3.6.0");
});

test("the only member of a cluster is downgraded, and etcd ends the downgrade when it is complete or cancelled", async () => {
  etcd = await startEtcd({ version: "3.6.16", members: 1 });
  const [only] = etcd.members as [EtcdMember];
  const goBack = async () => {
    await untilAll("data is in the later format", ({ storageVersion }) => storageVersion === "3.6.0");
    expect(await asked("ENABLE", "3.5")).toBeUndefined();
    await untilAll(
      "data is in the earlier format",
      ({ storageVersion, downgradeTo }) => storageVersion === "3.5.0" && downgradeTo === "3.5.0",
    );
    expect(await restart(only, "3.5.35")).toBe("runs");
  };
  await goBack();
  // Upgraded again at once: etcd does not end the downgrade, and the cluster version stays until it is cancelled.
  expect(await restart(only, "3.6.16")).toBe("runs");
  expect((await statuses()).map(({ downgradeTo }) => downgradeTo)).toEqual(["3.5.0"]);
  expect(await asked("CANCEL", "")).toBeUndefined();
  await goBack();
  // Release 3.5 does not report the target: the downgrade is over once 3.4 is a valid target.
  await until("it is over", async () => (await asked("VALIDATE", "3.4")) === undefined);
});
