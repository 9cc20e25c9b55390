import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
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
  return begin(neverStarted)
    .apply(answering, "3.6.16", "3.6.16", undefined)
    .apply(withPeer, "my-etcd-2", { spec: { version } }).snapshot;
}

describe("the path to a release", () => {
  const cases: { name: string; given: ClusterSnapshot; to: string; isOpen: boolean }[] = [
    { name: "exists within the minor, forward", given: settled, to: "3.6.99", isOpen: true },
    { name: "exists within the minor, back", given: settled, to: "3.6.0", isOpen: true },
    { name: "exists to the next minor", given: settled, to: "3.7.0", isOpen: true },
    { name: "exists to the previous minor", given: settled, to: "3.5.35", isOpen: true },
    { name: "does not exist to a patch release that could not start", given: settled, to: "3.5.25", isOpen: false },
    { name: "does not exist two minors back", given: settled, to: "3.4.35", isOpen: false },
    { name: "does not exist to another major", given: settled, to: "2.5.35", isOpen: false },
    {
      name: "does not exist from 3.5 to the previous minor",
      given: answering(settled, "3.5.35", "3.5.35", "3.5.35"),
      to: "3.4.35",
      isOpen: false,
    },
    {
      name: "does not exist to 3.8 when only one member runs 3.7",
      given: answering(settled, "3.6.16", "3.6.16", "3.7.1"),
      to: "3.8.0",
      isOpen: false,
    },
    {
      name: "exists to the previous minor while a member runs it",
      given: answering(settled, "3.6.16", "3.7.1", "3.7.1"),
      to: "3.6.17",
      isOpen: true,
    },
    {
      name: "exists to 3.5 while one member runs 3.5 and most run 3.6",
      given: answering(settled, "3.5.11", "3.6.0", "3.6.0"),
      to: "3.5.35",
      isOpen: true,
    },
    {
      name: "does not exist two minors back, also while a member runs that minor",
      given: answering(settled, "3.5.35", "3.7.1", "3.7.1"),
      to: "3.5.35",
      isOpen: false,
    },
    {
      name: "does not exist when any release in use rules it out, not only the oldest",
      given: answering(settled, "3.5.20", "3.7.1", "3.7.1"),
      to: "3.6.17",
      isOpen: false,
    },
    {
      name: "ignores the version that a custom build reports",
      given: answering(settled, "3.6.16", "3.6.16", "3.9.0-ours"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "ignores the version of a custom build with a pending restart",
      given: begin(settled).apply(answering, "3.6.16", "3.6.16", "3.9.0-ours").apply(madeFrom, "my-etcd-2", NEXT_MINOR)
        .snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "starts at the image tag when members report another release than their tag",
      given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
        (given, name) => saying(given, name, { version: "3.6.16" }),
        answering(settled, "3.7.1", "3.7.1", "3.7.1"),
      ),
      to: "3.8.0",
      isOpen: true,
    },
    {
      name: "starts at the reported release when the pod has another template than the EtcdPeer",
      given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
        (given, name) => begin(given).apply(saying, name, { version: "3.6.16" }).apply(madeFrom, name, OLD).snapshot,
        answering(settled, "3.7.1", "3.7.1", "3.7.1"),
      ),
      to: "3.8.0",
      isOpen: false,
    },
    {
      name: "counts the recorded release of a member that does not answer",
      given: begin(settled)
        .apply(answering, "3.6.16", "3.6.16", undefined)
        .apply(recording, "3.6.16", "3.6.16", "3.5.20").snapshot,
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "prefers the reported release to the recorded one",
      given: recording(settled, "3.5.20", "3.5.20", "3.5.20"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "exists to 3.6 when a member without answer and record has 3.7 in its EtcdPeer",
      given: begin(settled)
        .apply(answering, "3.6.16", "3.6.16", undefined)
        .apply(withPeer, "my-etcd-2", { spec: { version: "3.7.1" } }).snapshot,
      to: "3.6.17",
      isOpen: true,
    },
    {
      name: "counts the release of a member that is running for the first time",
      given: withRunning(startingWith("3.5.11"), "my-etcd-2"),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "counts the release of a young pod that may start at any moment",
      given: withPod(startingWith("3.5.11"), "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } }),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "ignores the release of a member that did not start in time",
      given: withPod(startingWith("3.5.11"), "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:50:00Z" } }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "ignores the release of a stuck member that never ran",
      given: begin(neverStarted)
        .apply(unheard, "my-etcd-2")
        .apply(withPeer, "my-etcd-2", { spec: { version: "3.5.11" } }).snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "ignores the recorded release of a stuck member that never ran",
      given: begin(neverStarted).apply(unheard, "my-etcd-2").apply(recording, "3.6.16", "3.6.16", "3.5.11").snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "ignores the release of a member that never ran and has no pod",
      given: begin(neverStarted)
        .apply(unheard, "my-etcd-2")
        .apply(withoutPod, "my-etcd-2")
        .apply(withPeer, "my-etcd-2", {
          spec: { version: "3.5.11" },
        }).snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "counts the release on the claim of a member that is down",
      given: begin(settled).apply(unheard, "my-etcd-2").apply(withRelease, "my-etcd-2", "3.5.11").snapshot,
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "ignores the release in the EtcdPeer of a stuck member that never reported it",
      given: begin(settled)
        .apply(unheard, "my-etcd-2")
        .apply(withPeer, "my-etcd-2", { spec: { version: "3.5.11" } }).snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "ignores the release in the EtcdPeer of a member that has no pod and never reported it",
      given: begin(settled)
        .apply(unheard, "my-etcd-2")
        .apply(withoutPod, "my-etcd-2")
        .apply(withPeer, "my-etcd-2", {
          spec: { version: "3.5.11" },
        }).snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "counts the release in the EtcdPeer of a member with a running container",
      given: begin(settled)
        .apply(unheard, "my-etcd-2")
        .apply(withRunning, "my-etcd-2")
        .apply(withPeer, "my-etcd-2", {
          spec: { version: "3.5.11" },
        }).snapshot,
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "prefers the reported release to the one on the claim",
      given: withRelease(settled, "my-etcd-2", "3.5.11"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "ignores an invalid release on a claim",
      given: begin(settled)
        .apply(unheard, "my-etcd-2")
        .apply(withoutPeers, "my-etcd-2")
        .apply(withRelease, "my-etcd-2", "latest").snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "ignores a member that has no record and no EtcdPeer",
      given: begin(settled).apply(answering, "3.6.16", "3.6.16", undefined).apply(withoutPeers, "my-etcd-2").snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "counts the recorded release of a member without an EtcdPeer",
      given: begin(settled)
        .apply(answering, "3.6.16", "3.6.16", undefined)
        .apply(withoutPeers, "my-etcd-2")
        .apply(recording, "3.6.16", "3.6.16", "3.5.20").snapshot,
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "ignores a recorded custom build",
      given: begin(settled)
        .apply(answering, "3.6.16", "3.6.16", undefined)
        .apply(withoutPeers, "my-etcd-2")
        .apply(recording, "3.6.16", "3.6.16", "3.5.20-ours").snapshot,
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "ignores the release of a member that was added by hand",
      given: recordingTheirs("3.4.1"),
      to: "3.7.0",
      isOpen: true,
    },
  ];
  for (const { name, given, to, isOpen } of cases)
    test(name, () => expect(whyNoPathTo(given, to) === undefined, whyNoPathTo(given, to)).toBe(isOpen));

  test("the message names the oldest release in use", () => {
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
    {
      name: "is the previous minor until the last member runs it",
      given: answering(down, "3.5.35", "3.5.35", "3.6.16"),
      is: "3.5.35",
    },
    {
      name: "does not exist once all members run the previous minor",
      given: answering(down, "3.5.35", "3.5.35", "3.5.30"),
      is: undefined,
    },
    { name: "is not an older patch release", given: cluster({ spec: { version: "3.6.1" } }), is: undefined },
    { name: "is not the next minor", given: cluster({ spec: { version: "3.7.1" } }), is: undefined },
    { name: "is not two minors back", given: cluster({ spec: { version: "3.4.35" } }), is: undefined },
    {
      name: "does not exist when it is two minors back for one member",
      given: answering(down, "3.6.16", "3.6.16", "3.7.1"),
      is: undefined,
    },
  ];
  for (const { name, given, is } of cases) test(name, () => expect(askedDowngrade(given)).toBe(is));
});

describe("a member that moves to the previous minor", () => {
  const ready = { downgradeTo: "3.5.0", storageVersion: "3.5.0" };
  const name = "my-etcd-2";
  const cases: { name: string; given: ClusterSnapshot; to?: string; why: string | undefined }[] = [
    { name: "can move when it reports converted data", given: saying(settled, name, ready), why: undefined },
    {
      name: "cannot move without an enabled downgrade",
      given: saying(settled, name, { ...ready, downgradeTo: undefined }),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot move while a downgrade to another minor is enabled",
      given: saying(settled, name, { ...ready, downgradeTo: "3.6.0" }),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot move while the reported downgrade is no release",
      given: saying(settled, name, { ...ready, downgradeTo: "there" }),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot move before its data is converted",
      given: saying(settled, name, { ...ready, storageVersion: "3.6.0" }),
      why: "my-etcd-2 has its data in the format of 3.6.0",
    },
    {
      name: "cannot move without a reported format",
      given: saying(settled, name, { ...ready, storageVersion: undefined }),
      why: "my-etcd-2 has its data in the format of an unreported release",
    },
    {
      name: "cannot move when only other members report converted data",
      given: begin(settled).apply(saying, "my-etcd-0", ready).apply(saying, "my-etcd-1", ready).snapshot,
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot move while it does not answer, also when other members report converted data",
      given: begin(settled)
        .apply(saying, "my-etcd-0", ready)
        .apply(saying, "my-etcd-1", ready)
        .apply(unheard, name)
        .apply(withRelease, name, "3.6.16").snapshot,
      why: "my-etcd-2 does not report the format of its data",
    },
    {
      name: "cannot move while it has no leader",
      given: begin(settled)
        .apply(saying, name, { ...ready, leaderId: undefined })
        .apply(withRelease, name, "3.6.16").snapshot,
      why: "my-etcd-2 does not report the format of its data",
    },
    {
      name: "can move while a voter runs that minor",
      given: answering(settled, "3.5.30", "3.6.16", "3.6.16"),
      why: undefined,
    },
    {
      name: "can move without an answer while a voter runs that minor",
      given: begin(settled)
        .apply(answering, "3.5.30", "3.6.16", "3.6.16")
        .apply(unheard, name)
        .apply(recording, "3.5.30", "3.6.16", "3.6.16").snapshot,
      why: undefined,
    },
    {
      name: "cannot move when the voter with that minor does not answer",
      given: begin(settled)
        .apply(answering, "3.5.30", "3.6.16", "3.6.16")
        .apply(unheard, "my-etcd-0")
        .apply(recording, "3.5.30", "3.6.16", "3.6.16").snapshot,
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "cannot move when only a custom build reports that minor",
      given: answering(settled, "3.5.30-ours", "3.6.16", "3.6.16"),
      why: "my-etcd-2 does not report that a downgrade to this minor is enabled",
    },
    {
      name: "can move when it never ran and no member runs a newer release",
      given: ["my-etcd-0", "my-etcd-1", name].reduce(
        (given, each) =>
          begin(given)
            .apply(withPeer, each, { spec: { version: "3.7.99" } })
            .apply(unheard, each).snapshot,
        withEachMember(cluster(), () => ({ clientUrls: [] })),
      ),
      to: "3.6.17",
      why: undefined,
    },
    {
      name: "cannot move when it never ran and other members run a newer release",
      given: begin(neverStarted)
        .apply(answering, "3.7.1", "3.7.1", undefined)
        .apply(withPeer, name, { spec: { version: "3.7.1" } })
        .apply(unheard, name).snapshot,
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
  const given = begin(settled).apply(withMember, THEIRS).apply(recording).snapshot;
  const members = [
    ...given.cluster.status!.members!,
    { name: "theirs.f00", id: "f00", role: "Voter" as const, health: "Healthy" as const, version },
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

describe("a member that moves to a newer release", () => {
  const told = (words: Parameters<typeof saying>[2]) => saying(readable, "my-etcd-1", words);
  const old = (name: string) => `the raft log of ${name} may have entries of etcd 3.5, which etcd 3.7 cannot read`;
  const cases: { name: string; given: ClusterSnapshot; of?: string; to?: string; why: string | undefined }[] = [
    {
      name: "can move to 3.7 when all data is in the format of 3.6",
      given: told({ storageVersion: "3.6.0" }),
      why: undefined,
    },
    {
      name: "can move when another member reports no format",
      given: told({ storageVersion: undefined }),
      why: undefined,
    },
    {
      name: "cannot move while a downgrade is enabled",
      given: told({ storageVersion: "3.6.0", downgradeTo: "3.5.0" }),
      why: "the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0",
    },
    {
      name: "cannot move before all data is converted back",
      given: told({ storageVersion: "3.5.0" }),
      why: "the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0",
    },
    {
      name: "cannot move before all data is converted back, if it never ran",
      given: begin(neverStarted).apply(withReadableEntries).apply(saying, "my-etcd-1", { storageVersion: "3.5.0" })
        .snapshot,
      of: "my-etcd-2",
      why: "the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0",
    },
    {
      name: "cannot start as a new member before all data is converted back",
      given: told({ storageVersion: "3.5.0" }),
      of: "my-etcd-9",
      why: "the data of my-etcd-1 is in, or is being converted to, the format of 3.5.0",
    },
    {
      name: "can move when it already runs the release",
      given: begin(settled).apply(answering, "3.7.1").apply(saying, "my-etcd-1", { storageVersion: "3.5.0" }).snapshot,
      of: "my-etcd-0",
      why: undefined,
    },
    { name: "can move when a reported format is no release", given: told({ storageVersion: "mine" }), why: undefined },
    { name: "can move when another member reports a custom build", given: told({ version: "mine" }), why: undefined },
    {
      name: "can move within its minor before all data is converted back",
      given: told({ storageVersion: "3.5.0" }),
      to: "3.6.17",
      why: undefined,
    },
    {
      name: "can move when only an unhealthy member reports data in an older format",
      given: told({ storageVersion: "3.5.0", leaderId: undefined }),
      why: undefined,
    },
    { name: "cannot move while raft logs may have entries of 3.5", given: settled, why: old("my-etcd-0") },
    {
      name: "cannot move while one raft log may have entries of 3.5",
      given: withReadableEntries(settled, ["my-etcd-0", "my-etcd-2"]),
      why: old("my-etcd-1"),
    },
    {
      name: "cannot move while a raft log has recorded entries of 3.5",
      given: recorded("my-etcd-1", { raftEntriesFrom: "3.5" }),
      why: old("my-etcd-1"),
    },
    {
      name: "cannot start as a new member while raft logs may have entries of 3.5",
      given: settled,
      of: "my-etcd-9",
      why: old("my-etcd-0"),
    },
    {
      name: "can move within its minor while raft logs may have entries of 3.5",
      given: settled,
      to: "3.6.17",
      why: undefined,
    },
    {
      name: "can move within its minor while all other members run the previous minor",
      given: begin(settled)
        .apply(answering, "3.5.35", undefined, "3.5.35")
        .apply(recording, "3.5.35", "3.6.16", "3.5.35").snapshot,
      of: "my-etcd-1",
      to: "3.6.17",
      why: undefined,
    },
    {
      name: "can move when a member runs 3.7, which proves that it reads the entries",
      given: answering(settled, "3.7.1"),
      of: "my-etcd-2",
      why: undefined,
    },
    { name: "needs no check of raft entries for an unreachable release", given: settled, to: "3.8.0", why: undefined },
    {
      name: "can move from 3.5 to 3.6 while raft logs may have entries of 3.5",
      given: allOf("3.5.35"),
      to: "3.6.16",
      why: undefined,
    },
    {
      name: "can move from 3.7 to 3.8 without a record of raft entries",
      given: withStorage(allOf("3.7.1"), "3.7.0"),
      to: "3.8.0",
      why: undefined,
    },
    {
      name: "can move when no member has data, so that there are no entries",
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

test("a new member may start with a minor that a voter reports, and with no older one", () => {
  const mixed = answering(settled, "3.6.16", "3.7.1", "3.7.1");
  expect(whyNotYet(mixed, "my-etcd-9", "3.6.17")).toBeUndefined();
  expect(whyNotYet(settled, "my-etcd-9", "3.5.35")).toBe(
    "the cluster runs 3.6.16, and no voter reports that it runs 3.5",
  );
});
