import { afterAll, beforeAll, expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { asApplicationUser } from "#kit/application-user.ts";
import { eventually } from "#kit/e2e.ts";
import { expectPromised, killOperator, LoadedCluster } from "#kit/loaded-cluster.ts";
import { withResources } from "#kit/pod-template.ts";

// A running cluster is edited while clients write and read without pause: to another release, to one that it cannot go to, to what no
// member comes up with, and to a restart of everybody while the operator is killed. Members and clients speak TLS, as they do unless somebody asks
// for something else, and etcd asks for users: so members of two minor versions meet over TLS, and each of them knows who asks.

const [OLD, NEXT, LAST] = ["3.5.35", "3.6.16", "3.7.3"];
/** How long the first member that an update restarts may take here, in seconds. */
const MEMBER_TIMEOUT_SECONDS = 20;

const TLS = { peer: { provider: "Operator" }, client: { provider: "Operator" } };
const REFUSED = /user name is empty|permission denied|invalid user ID or password/;

let cluster: LoadedCluster;

beforeAll(async () => {
  cluster = await LoadedCluster.start("upgrade", {
    version: OLD,
    tls: TLS as never, // the API server fills in the rest
    auth: { enabled: true },
    reachedBy: asApplicationUser,
    operatorFlags: [`--member-timeout=${MEMBER_TIMEOUT_SECONDS}`],
  });
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

/** Whoever is nobody, or root by a wrong password, is let in by none. */
async function expectGuarded(): Promise<void> {
  for (const user of [[], ["--user=root:guessed"]])
    await expect(cluster.etcdctl("my-etcd-0", ...user, "get", "a")).rejects.toThrow(REFUSED);
}

/** Uids of the members' pods, by peer. */
async function podUids(): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries([...(await cluster.memberPods())].map(([peer, { metadata }]) => [peer, metadata.uid]));
}

/** Who of them has another pod than before. */
async function restarted(before: Readonly<Record<string, string>>): Promise<readonly string[]> {
  return Object.entries(await podUids()).flatMap(([peer, uid]) => (before[peer] === uid ? [] : [peer]));
}

async function serverVersions(): Promise<readonly (string | undefined)[]> {
  const { items } = await cluster.json<{ items: EtcdPeer[] }>("get", "etcdpeers");
  return items.map(({ status }) => status?.serverVersion);
}

test("a minor version is not skipped: it is said at once, and nobody is touched", async () => {
  const before = await podUids();
  await expect(cluster.patch({ version: LAST })).rejects.toThrow("skips 3.6");
  expect(await restarted(before)).toEqual([]);
});

test("every member runs the next minor version two minutes after it was asked for, and clients hardly notice", async () => {
  const [before, ids] = [await podUids(), (await cluster.members("my-etcd-0")).map(({ id }) => id)];
  const felt = await cluster.feltDuring("upgrade", async () => {
    await cluster.patch({ version: NEXT }, "v1alpha1"); // as those do who know no other
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

test("what no member comes up with costs one member for a while, is put back and said, and taken back without a restart", async () => {
  const before = await podUids();
  const felt = await cluster.feltDuring("a request that no node can hold", async () => {
    await cluster.patch({ podTemplate: withResources({ requests: { cpu: "500" } }) });
    const { status } = await cluster.untilCondition("Ready", "False", "UpdateStopped", 120_000);
    expect(status?.update?.stopped?.message).toContain("Insufficient cpu");
    await eventually(async () => expect((await cluster.get()).status?.ready).toBe("3/3"));
  });
  expectPromised(felt, 2); // it is restarted, and put back
  expect(await restarted(before)).toHaveLength(1);
  const after = await podUids();
  await cluster.patch({ podTemplate: null });
  await cluster.untilWhole(3);
  expect(await restarted(after)).toEqual([]);
});

test("everybody is restarted once, also when the operator is killed meanwhile", async () => {
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

test("options of etcd are changed member by member, and a flag that this release does not have is refused at once", async () => {
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

test("every member runs the last minor version, with the options of before", async () => {
  const felt = await cluster.feltDuring("upgrade to the last one", async () => {
    await cluster.patch({ version: LAST });
    await eventually(async () => expect(await serverVersions()).toEqual([LAST, LAST, LAST]), 120_000);
    await cluster.untilWhole(3);
  });
  expectPromised(felt, 3);
  await expectGuarded();
});

test.each([
  ["a release that nobody has published", { version: "3.7.99" }, { version: LAST }, /ImagePull|ErrImage|not found/],
  ["a flag with which etcd ends at once", { etcd: { extraArgs: { "max-txn-ops": "256", "log-level": "loud" } } }, { etcd: { extraArgs: { "log-level": null } } }, /ended|exit|CrashLoop|invalid/], // biome-ignore format: one line
])("%s costs one member for a while, is put back and said", async (what, edit, back, says) => {
  const before = await podUids();
  const felt = await cluster.feltDuring(what, async () => {
    await cluster.patch(edit);
    const { status } = await cluster.untilCondition("Ready", "False", "UpdateStopped", 120_000);
    expect(status?.update?.stopped?.message).toMatch(says);
    await eventually(async () => expect((await cluster.get()).status?.ready).toBe("3/3"));
  });
  expectPromised(felt, 2); // it is restarted, and put back
  expect(await restarted(before)).toHaveLength(1);
  const after = await podUids();
  await cluster.patch(back);
  await cluster.untilWhole(3);
  expect(await restarted(after)).toEqual([]);
  expect(await serverVersions()).toEqual([LAST, LAST, LAST]);
});

test("every member goes back to the minor version before, by etcd's own downgrade, also when the operator is killed meanwhile", async () => {
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
  // Only administrators may ask for hashes.
  await cluster.patch({ auth: { enabled: false } });
  await cluster.untilCondition("AuthReady", "True", "AuthDisabled");
  await cluster.end();
});
