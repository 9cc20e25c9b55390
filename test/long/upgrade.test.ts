import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { eventually } from "#kit/e2e/e2e.ts";
import { expectPromised, killOperator, LoadedCluster } from "#kit/e2e/loaded-cluster.ts";
import { asApplicationUser } from "#kit/etcd/application-user.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";

// A running cluster is edited while clients write and read without pause. It gets the next release, a refused one and a
// template with which no member starts, and is restarted while the operator is killed. TLS and auth are enabled:
// members of two minor versions talk over TLS, and each knows the user.

const [OLD, NEXT, LAST] = ["3.5.35", "3.6.16", "3.7.3"];
/** How long the first member of an update may take to become ready here, in seconds. */
const MEMBER_TIMEOUT_SECONDS = 20;

const TLS = { peer: { provider: "Operator" }, client: { provider: "Operator" } } as const;
const REFUSED = /user name is empty|permission denied|invalid user ID or password/;

let cluster: LoadedCluster;

beforeAll(async () => {
  cluster = await LoadedCluster.start("upgrade", {
    version: OLD,
    tls: TLS,
    auth: { enabled: true },
    reachedBy: asApplicationUser,
    operatorFlags: [`--member-timeout=${MEMBER_TIMEOUT_SECONDS}s`],
  });
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

/** Requests without a user, or as root with a wrong password, are refused. */
async function expectGuarded(): Promise<void> {
  for (const user of [[], ["--user=root:guessed"]])
    await expect(cluster.etcdctl("my-etcd-0", ...user, "get", "a")).rejects.toThrow(REFUSED);
}

/** UIDs of the members' pods, by peer. */
async function podUids(): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries([...(await cluster.memberPods())].map(([peer, { metadata }]) => [peer, metadata.uid]));
}

/** Members with another pod than before. */
async function restarted(before: Readonly<Record<string, string>>): Promise<readonly string[]> {
  return Object.entries(await podUids()).flatMap(([peer, uid]) => (before[peer] === uid ? [] : [peer]));
}

async function serverVersions(): Promise<readonly (string | undefined)[]> {
  const { items } = await cluster.json<{ items: EtcdPeer[] }>("get", "etcdpeers");
  return items.map(({ status }) => status?.serverVersion);
}

test("an edit that skips a minor version is refused at once, and no member restarts", async () => {
  const before = await podUids();
  await expect(cluster.patch({ version: LAST })).rejects.toThrow("skips 3.6");
  expect(await restarted(before)).toEqual([]);
});

test("an upgrade to the next minor version takes less than two minutes, and clients notice only short pauses", async () => {
  const [before, ids] = [await podUids(), (await cluster.members("my-etcd-0")).map(({ id }) => id)];
  const felt = await cluster.feltDuring("upgrade", async () => {
    await cluster.patch({ version: NEXT }, "v1alpha1"); // the old API version works, too
    await eventually(async () => expect(await serverVersions()).toEqual([NEXT, NEXT, NEXT]), 120_000);
    await cluster.untilWhole(3);
  });
  expectPromised(felt, 3);
  expect(await restarted(before)).toHaveLength(3);
  expect((await cluster.members("my-etcd-0")).map(({ id }) => id)).toEqual(ids);
  expect((await cluster.get()).status).toMatchObject({ version: NEXT, clusterVersion: "3.6.0" });
  expect((await cluster.get()).status).not.toHaveProperty("update");
  await expectGuarded();
});

test("a template with which no member can start is rolled back after one restart and reported", async () => {
  const before = await podUids();
  const felt = await cluster.feltDuring("a request that no node can hold", async () => {
    await cluster.patch({ podTemplate: withResources({ requests: { cpu: "500" } }) });
    const { status } = await cluster.untilCondition("Ready", "False", "UpdateStopped", 120_000);
    expect(status?.update?.stopped?.message).toContain("Insufficient cpu");
    await eventually(async () => expect((await cluster.get()).status?.readyMembers).toBe("3/3"));
  });
  expectPromised(felt, 2); // one restart, one rollback
  expect(await restarted(before)).toHaveLength(1);
  const after = await podUids();
  await cluster.patch({ podTemplate: null });
  await cluster.untilWhole(3);
  expect(await restarted(after)).toEqual([]);
});

test("a rolling restart restarts every member once, even if the operator is killed halfway", async () => {
  const before = await podUids();
  const annotations = { "kubectl.kubernetes.io/restartedAt": "2026-01-01T12:00:00Z" };
  const felt = await cluster.feltDuring("restart", async () => {
    await cluster.patch({ podTemplate: { metadata: { annotations } } });
    await eventually(async () => expect((await restarted(before)).length).toBeGreaterThan(0));
    const first = await podUids();
    await killOperator();
    await cluster.untilWhole(3);
    for (const peer of await restarted(before))
      if (first[peer] !== before[peer]) expect((await podUids())[peer]).toBe(first[peer]);
  });
  expectPromised(felt, 3);
  expect(await restarted(before)).toHaveLength(3);
});

test("etcd options are rolled out member by member, and a flag unknown to the release is refused at once", async () => {
  const before = await podUids();
  await expect(cluster.patch({ etcd: { extraArgs: { "max-txn-op": "256" } } })).rejects.toThrow(
    'spec.etcd.extraArgs: "max-txn-op" is not a flag of etcd 3.6; did you mean max-txn-ops?',
  );
  const felt = await cluster.feltDuring("options", async () => {
    await cluster.patch({ etcd: { snapshotCount: 5_000, extraArgs: { "max-txn-ops": "256" } } });
    await eventually(async () => expect((await restarted(before)).length).toBeGreaterThan(0));
    await killOperator();
    await eventually(async () => expect(await restarted(before)).toHaveLength(3), 120_000);
    await cluster.untilWhole(3);
  });
  expectPromised(felt, 3);
});

test("an upgrade to the latest minor version keeps the etcd options", async () => {
  const felt = await cluster.feltDuring("upgrade to the last one", async () => {
    await cluster.patch({ version: LAST });
    await eventually(async () => expect(await serverVersions()).toEqual([LAST, LAST, LAST]), 120_000);
    await cluster.untilWhole(3);
  });
  expectPromised(felt, 3);
  await expectGuarded();
});

test.each([
  ["an unpublished release", { version: "3.7.99" }, { version: LAST }, /ImagePull|ErrImage|not found/],
  ["a flag with which etcd ends at once", { etcd: { extraArgs: { "max-txn-ops": "256", "log-level": "loud" } } }, { etcd: { extraArgs: { "log-level": null } } }, /ended|exit|CrashLoop|invalid/], // biome-ignore format: one line
])("%s is rolled back after one restart and reported", async (what, edit, back, says) => {
  const before = await podUids();
  const felt = await cluster.feltDuring(what, async () => {
    await cluster.patch(edit);
    const { status } = await cluster.untilCondition("Ready", "False", "UpdateStopped", 120_000);
    expect(status?.update?.stopped?.message).toMatch(says);
    await eventually(async () => expect((await cluster.get()).status?.readyMembers).toBe("3/3"));
  });
  expectPromised(felt, 2); // one restart, one rollback
  expect(await restarted(before)).toHaveLength(1);
  const after = await podUids();
  await cluster.patch(back);
  await cluster.untilWhole(3);
  expect(await restarted(after)).toEqual([]);
  expect(await serverVersions()).toEqual([LAST, LAST, LAST]);
});

test("a downgrade by one minor version uses etcd's own downgrade, even if the operator is killed halfway", async () => {
  const before = await podUids();
  await expect(cluster.patch({ version: OLD })).rejects.toThrow("go to 3.6 first");
  const felt = await cluster.feltDuring("downgrade", async () => {
    await cluster.patch({ version: NEXT });
    await eventually(async () => expect((await restarted(before)).length).toBeGreaterThan(0));
    await killOperator();
    await eventually(async () => expect(await serverVersions()).toEqual([NEXT, NEXT, NEXT]), 120_000);
    await cluster.untilWhole(3);
  });
  expectPromised(felt, 3);
  expect(await restarted(before)).toHaveLength(3);
  expect((await cluster.get()).status).toMatchObject({ version: NEXT, clusterVersion: "3.6.0" });
  await expectGuarded();
});

test("no acknowledged write is missing, and all members have the same data", async () => {
  // Only administrators may request hashes.
  await cluster.patch({ auth: { enabled: false } });
  await cluster.untilCondition("AuthReady", "True", "AuthDisabled");
  await cluster.end();
});
