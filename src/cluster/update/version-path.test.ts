import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { THEIRS, withEachMember, withMember, withoutPeers } from "#kit/snapshots/cluster-changes.ts";
import {
  answering,
  madeFrom,
  NEXT_MINOR,
  OLD,
  recording,
  saying,
  withCrashing,
  withoutPod,
  withPeer,
  withPod,
  withReadableEntries,
  withRelease,
  withRunning,
} from "#kit/snapshots/cluster-rolling.ts";
import { askedDowngrade, whyNoPathTo, whyNotYet } from "./version-path.ts";

const settled = cluster();
/** Settled, and each member has a raft snapshot after all entries of etcd 3.5. */
const readable = withReadableEntries(settled);

/** The snapshot in which the container of this member has ended, and nothing else is known of it. */
function unheard(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const endpoints = new Map([...snapshot.endpoints].filter(([each]) => each !== name));
  return withCrashing({ ...snapshot, endpoints }, name);
}

const neverStarted = withEachMember(cluster(), ({ clientUrls }, n) => ({ clientUrls: n === 2 ? [] : clientUrls }));

/** The last member has never run, its EtcdPeer has this release, and the kubelet has reported nothing. */
function startingWith(version: string): ClusterSnapshot {
  return withPeer(answering(neverStarted, "3.6.16", "3.6.16", undefined), "my-etcd-2", { spec: { version } });
}

describe("the path to a release", () => {
  const cases: { name: string; given: ClusterSnapshot; to: string; isOpen: boolean }[] = [
    { name: "exists within the minor, forward", given: settled, to: "3.6.99", isOpen: true },
    { name: "exists within the minor, back", given: settled, to: "3.6.0", isOpen: true },
    { name: "exists to the next minor", given: settled, to: "3.7.0", isOpen: true },
    { name: "exists to the previous minor", given: settled, to: "3.5.35", isOpen: true },
    { name: "not to a patch release that could not start", given: settled, to: "3.5.25", isOpen: false },
    { name: "does not exist two minors back", given: settled, to: "3.4.35", isOpen: false },
    { name: "not to another major", given: settled, to: "2.5.35", isOpen: false },
    {
      name: "from 3.5 not to the previous minor",
      given: answering(settled, "3.5.35", "3.5.35", "3.5.35"),
      to: "3.4.35",
      isOpen: false,
    },
    {
      name: "one member with the next minor rules out the minor after it",
      given: answering(settled, "3.6.16", "3.6.16", "3.7.1"),
      to: "3.8.0",
      isOpen: false,
    },
    {
      name: "to the previous minor, while a member runs it",
      given: answering(settled, "3.6.16", "3.7.1", "3.7.1"),
      to: "3.6.17",
      isOpen: true,
    },
    {
      name: "also while most run the next minor",
      given: answering(settled, "3.5.11", "3.6.0", "3.6.0"),
      to: "3.5.35",
      isOpen: true,
    },
    {
      name: "not back by two minors, whatever runs the old one",
      given: answering(settled, "3.5.35", "3.7.1", "3.7.1"),
      to: "3.5.35",
      isOpen: false,
    },
    {
      name: "every release counts, not only the oldest",
      given: answering(settled, "3.5.20", "3.7.1", "3.7.1"),
      to: "3.6.17",
      isOpen: false,
    },
    {
      name: "a custom build is compared with nothing",
      given: answering(settled, "3.6.16", "3.6.16", "3.9.0-ours"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "also while it will get another template",
      given: madeFrom(answering(settled, "3.6.16", "3.6.16", "3.9.0-ours"), "my-etcd-2", NEXT_MINOR),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "an image tag counts, not the reported name",
      given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
        (given, name) => saying(given, name, { version: "3.6.16" }),
        answering(settled, "3.7.1", "3.7.1", "3.7.1"),
      ),
      to: "3.8.0",
      isOpen: true,
    },
    {
      name: "unless it will get another template",
      given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
        (given, name) => madeFrom(saying(given, name, { version: "3.6.16" }), name, OLD),
        answering(settled, "3.7.1", "3.7.1", "3.7.1"),
      ),
      to: "3.8.0",
      isOpen: false,
    },
    {
      name: "the last release of a silent member counts",
      given: recording(answering(settled, "3.6.16", "3.6.16", undefined), "3.6.16", "3.6.16", "3.5.20"),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "its own report counts more",
      given: recording(settled, "3.5.20", "3.5.20", "3.5.20"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "the EtcdPeer counts for a silent member without a record",
      given: withPeer(answering(settled, "3.6.16", "3.6.16", undefined), "my-etcd-2", { spec: { version: "3.7.1" } }),
      to: "3.6.17",
      isOpen: true,
    },
    {
      name: "a starting release counts, though it has never run",
      given: withRunning(startingWith("3.5.11"), "my-etcd-2"),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "a release that may start at any moment counts",
      given: withPod(startingWith("3.5.11"), "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } }),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "one that failed to start in time does not count",
      given: withPod(startingWith("3.5.11"), "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:50:00Z" } }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "a stuck member that never ran does not count",
      given: withPeer(unheard(neverStarted, "my-etcd-2"), "my-etcd-2", { spec: { version: "3.5.11" } }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "a member without a pod that never ran does not count",
      given: withPeer(withoutPod(unheard(neverStarted, "my-etcd-2"), "my-etcd-2"), "my-etcd-2", {
        spec: { version: "3.5.11" },
      }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "a member that is down has the release on its claim",
      given: withRelease(unheard(settled, "my-etcd-2"), "my-etcd-2", "3.5.11"),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "an unproven release that does not run does not count",
      given: withPeer(unheard(settled, "my-etcd-2"), "my-etcd-2", { spec: { version: "3.5.11" } }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "an unproven release without a pod does not count",
      given: withPeer(withoutPod(unheard(settled, "my-etcd-2"), "my-etcd-2"), "my-etcd-2", {
        spec: { version: "3.5.11" },
      }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "an unproven release that may be starting counts",
      given: withPeer(withRunning(unheard(settled, "my-etcd-2"), "my-etcd-2"), "my-etcd-2", {
        spec: { version: "3.5.11" },
      }),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "the last answer counts more than the claim",
      given: withRelease(settled, "my-etcd-2", "3.5.11"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "an invalid release on a claim is ignored",
      given: withRelease(withoutPeers(unheard(settled, "my-etcd-2"), "my-etcd-2"), "my-etcd-2", "latest"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "a member without a record and EtcdPeer has no release",
      given: withoutPeers(answering(settled, "3.6.16", "3.6.16", undefined), "my-etcd-2"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "a member without an EtcdPeer has the recorded release",
      given: recording(
        withoutPeers(answering(settled, "3.6.16", "3.6.16", undefined), "my-etcd-2"),
        "3.6.16",
        "3.6.16",
        "3.5.20",
      ),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "a recorded custom build has no release",
      given: recording(
        withoutPeers(answering(settled, "3.6.16", "3.6.16", undefined), "my-etcd-2"),
        "3.6.16",
        "3.6.16",
        "3.5.20-ours",
      ),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "a member that was added by hand has its own release",
      given: recordingTheirs("3.4.1"),
      to: "3.7.0",
      isOpen: true,
    },
  ];
  for (const { name, given, to, isOpen } of cases)
    test(name, () => expect(whyNoPathTo(given, to) === undefined, whyNoPathTo(given, to)).toBe(isOpen));

  test("the oldest of several is named", () => {
    const given = answering(settled, "3.7.1", "3.6.16", "3.5.30");
    expect(whyNoPathTo(given, "3.4.1")).toBe(
      "from 3.5.30 to 3.4.1 is a downgrade by a minor version, which etcd 3.5 does not support",
    );
  });
});

describe("the release of a requested downgrade", () => {
  const down = cluster({ spec: { version: "3.5.35" } });
  const cases: { name: string; given: ClusterSnapshot; is: string | undefined }[] = [
    { name: "is the previous minor", given: down, is: "3.5.35" },
    { name: "also for the last member", given: answering(down, "3.5.35", "3.5.35", "3.6.16"), is: "3.5.35" },
    { name: "does not exist when all run it", given: answering(down, "3.5.35", "3.5.35", "3.5.30"), is: undefined },
    { name: "is not an older patch release", given: cluster({ spec: { version: "3.6.1" } }), is: undefined },
    { name: "is not the next minor", given: cluster({ spec: { version: "3.7.1" } }), is: undefined },
    { name: "is not two minors back", given: cluster({ spec: { version: "3.4.35" } }), is: undefined },
    { name: "also not for one of the members", given: answering(down, "3.6.16", "3.6.16", "3.7.1"), is: undefined },
  ];
  for (const { name, given, is } of cases) test(name, () => expect(askedDowngrade(given)).toBe(is));
});

describe("a member that is downgraded by a minor", () => {
  const ready = { downgradeTo: "3.5.0", storageVersion: "3.5.0" };
  const name = "my-etcd-2";
  const cases: { name: string; given: ClusterSnapshot; to?: string; why: string | undefined }[] = [
    { name: "can when it reports converted data", given: saying(settled, name, ready), why: undefined },
    {
      name: "cannot without a downgrade",
      given: saying(settled, name, { ...ready, downgradeTo: undefined }),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot with a downgrade to another minor",
      given: saying(settled, name, { ...ready, downgradeTo: "3.6.0" }),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot with an unreadable downgrade",
      given: saying(settled, name, { ...ready, downgradeTo: "there" }),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot before its data is converted",
      given: saying(settled, name, { ...ready, storageVersion: "3.6.0" }),
      why: "my-etcd-2 has its data in the format of 3.6.0",
    },
    {
      name: "cannot without a reported format",
      given: saying(settled, name, { ...ready, storageVersion: undefined }),
      why: "my-etcd-2 has its data in the format of an unreported release",
    },
    {
      name: "cannot by the reports of others",
      given: saying(saying(settled, "my-etcd-0", ready), "my-etcd-1", ready),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot while it is silent, whatever others report",
      given: withRelease(
        unheard(saying(saying(settled, "my-etcd-0", ready), "my-etcd-1", ready), name),
        name,
        "3.6.16",
      ),
      why: "my-etcd-2 does not report the format of its data",
    },
    {
      name: "cannot while it knows no leader",
      given: withRelease(saying(settled, name, { ...ready, leaderId: undefined }), name, "3.6.16"),
      why: "my-etcd-2 does not report the format of its data",
    },
    {
      name: "can as long as a voter runs that minor",
      given: answering(settled, "3.5.30", "3.6.16", "3.6.16"),
      why: undefined,
    },
    {
      name: "also when it is silent",
      given: recording(unheard(answering(settled, "3.5.30", "3.6.16", "3.6.16"), name), "3.5.30", "3.6.16", "3.6.16"),
      why: undefined,
    },
    {
      name: "not when the one that ran it is silent",
      given: recording(
        unheard(answering(settled, "3.5.30", "3.6.16", "3.6.16"), "my-etcd-0"),
        "3.5.30",
        "3.6.16",
        "3.6.16",
      ),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "not because one runs something of its own",
      given: answering(settled, "3.5.30-ours", "3.6.16", "3.6.16"),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "can when it never ran and no member runs a newer release",
      given: ["my-etcd-0", "my-etcd-1", name].reduce(
        (given, each) => unheard(withPeer(given, each, { spec: { version: "3.7.99" } }), each),
        withEachMember(cluster(), () => ({ clientUrls: [] })),
      ),
      to: "3.6.17",
      why: undefined,
    },
    {
      name: "cannot when it never ran and others run a newer release",
      given: unheard(
        withPeer(answering(neverStarted, "3.7.1", "3.7.1", undefined), name, { spec: { version: "3.7.1" } }),
        name,
      ),
      to: "3.6.17",
      why: "the cluster runs 3.7.1, and no voter reports that it runs 3.6",
    },
    { name: "needs no downgrade within its minor", given: settled, to: "3.6.1", why: undefined },
    { name: "needs no downgrade for the next minor", given: readable, to: "3.7.1", why: undefined },
  ];
  for (const { name: so, given, to = "3.5.35", why } of cases)
    test(so, () => expect(whyNotYet(given, name, to)).toBe(why));
});

/** A voter that was added by hand, with this release recorded. */
function recordingTheirs(version: string): ClusterSnapshot {
  const given = recording(withMember(settled, THEIRS));
  const members = [
    ...given.cluster.status!.members!,
    { name: "theirs.f00", id: "f00", healthy: true, leader: false, learner: false, version },
  ];
  const status = { ...given.cluster.status, members };
  return { ...given, cluster: { ...given.cluster, status } };
}

/** The snapshot with this record of the member, and readable entries for all others. */
function recorded(name: string, change: object): ClusterSnapshot {
  const { cluster: live } = readable;
  const members = live.status!.members!.map((member) => (member.name === name ? { ...member, ...change } : member));
  return { ...readable, cluster: { ...live, status: { ...live.status, members } } };
}

/** The snapshot in which all members run this release. */
function allOf(version: string): ClusterSnapshot {
  return ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
    (given, name) => withPeer(given, name, { spec: { version } }),
    answering(settled, version, version, version),
  );
}

function withStorage(snapshot: ClusterSnapshot, storageVersion: string): ClusterSnapshot {
  return [...snapshot.endpoints.keys()].reduce((given, name) => saying(given, name, { storageVersion }), snapshot);
}

describe("members that are updated to the next minor", () => {
  const told = (words: Parameters<typeof saying>[2]) => saying(readable, "my-etcd-1", words);
  const old = (name: string) => `the raft log of ${name} may have entries of etcd 3.5, which etcd 3.7 cannot read`;
  const cases: { name: string; given: ClusterSnapshot; of?: string; to?: string; why: string | undefined }[] = [
    { name: "can when the data is in the running format", given: told({ storageVersion: "3.6.0" }), why: undefined },
    { name: "can without a reported format", given: told({ storageVersion: undefined }), why: undefined },
    {
      name: "cannot while a downgrade is enabled",
      given: told({ storageVersion: "3.6.0", downgradeTo: "3.5.0" }),
      why: "the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0",
    },
    {
      name: "cannot before all data is converted back",
      given: told({ storageVersion: "3.5.0" }),
      why: "the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0",
    },
    {
      name: "cannot when they never ran",
      given: saying(withReadableEntries(neverStarted), "my-etcd-1", { storageVersion: "3.5.0" }),
      of: "my-etcd-2",
      why: "the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0",
    },
    {
      name: "cannot as new members",
      given: told({ storageVersion: "3.5.0" }),
      of: "my-etcd-9",
      why: "the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0",
    },
    {
      name: "need nothing when they already run it",
      given: saying(answering(settled, "3.7.1"), "my-etcd-1", { storageVersion: "3.5.0" }),
      of: "my-etcd-0",
      why: undefined,
    },
    { name: "can with an unreadable format", given: told({ storageVersion: "mine" }), why: undefined },
    { name: "can with the report of a custom build", given: told({ version: "mine" }), why: undefined },
    { name: "need nothing within their minor", given: told({ storageVersion: "3.5.0" }), to: "3.6.17", why: undefined },
    {
      name: "are not stopped by the report of an unhealthy member",
      given: told({ storageVersion: "3.5.0", leaderId: undefined }),
      why: undefined,
    },
    { name: "cannot while raft logs may have entries of 3.5", given: settled, why: old("my-etcd-0") },
    {
      name: "cannot while one raft log may have such entries",
      given: withReadableEntries(settled, ["my-etcd-0", "my-etcd-2"]),
      why: old("my-etcd-1"),
    },
    {
      name: "cannot with a record of other entries",
      given: recorded("my-etcd-1", { raftEntriesFrom: "3.5" }),
      why: old("my-etcd-1"),
    },
    { name: "cannot as a new member", given: settled, of: "my-etcd-9", why: old("my-etcd-0") },
    { name: "can move within their minor even then", given: settled, to: "3.6.17", why: undefined },
    {
      name: "can move within their minor while all others run the previous one",
      given: recording(answering(settled, "3.5.35", undefined, "3.5.35"), "3.5.35", "3.6.16", "3.5.35"),
      of: "my-etcd-1",
      to: "3.6.17",
      why: undefined,
    },
    {
      name: "can when a member runs 3.7, which proves that it reads the entries",
      given: answering(settled, "3.7.1"),
      of: "my-etcd-2",
      why: undefined,
    },
    { name: "are not checked for entries without a path", given: settled, to: "3.8.0", why: undefined },
    { name: "can move from 3.5 to 3.6 even then", given: allOf("3.5.35"), to: "3.6.16", why: undefined },
    {
      name: "can move from 3.7 to 3.8 even then",
      given: withStorage(allOf("3.7.1"), "3.7.0"),
      to: "3.8.0",
      why: undefined,
    },
    {
      name: "can when none has data: then there are no entries",
      given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
        unheard,
        withEachMember(cluster(), () => ({ clientUrls: [] })),
      ),
      why: undefined,
    },
  ];
  for (const { name, given, of = "my-etcd-0", to = "3.7.1", why } of cases)
    test(name, () => expect(whyNotYet(given, of, to)).toBe(why));
});

test("a new member starts with the release that the cluster speaks", () => {
  const mixed = answering(settled, "3.6.16", "3.7.1", "3.7.1");
  expect(whyNotYet(mixed, "my-etcd-9", "3.6.17")).toBeUndefined();
  expect(whyNotYet(settled, "my-etcd-9", "3.5.35")).toBe(
    "the cluster runs 3.6.16, and no voter reports that it runs 3.5",
  );
});
