import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { askedDowngrade, whyNoPathTo, whyNotYet } from "#cluster/version-path.ts";
import { cluster } from "#kit/cluster.ts";
import { THEIRS, withEachMember, withMember, withoutPeers } from "#kit/cluster-changes.ts";
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
  withRunning,
} from "#kit/cluster-rolling.ts";

const settled = cluster();

/** The snapshot in which the container of this member has ended, and that is all that is known of it. */
function unheard(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const endpoints = new Map([...snapshot.endpoints].filter(([each]) => each !== name));
  return withCrashing({ ...snapshot, endpoints }, name);
}

const neverStarted = withEachMember(cluster(), ({ clientUrls }, n) => ({ clientUrls: n === 2 ? [] : clientUrls }));

/** The last member has never run, and its EtcdPeer says this; the kubelet has told nothing of its pod. */
function startingWith(version: string): ClusterSnapshot {
  return withPeer(answering(neverStarted, "3.6.16", "3.6.16", undefined), "my-etcd-2", { spec: { version } });
}

describe("the way to a release", () => {
  const cases: { name: string; given: ClusterSnapshot; to: string; isOpen: boolean }[] = [
    { name: "is open within the minor, forward", given: settled, to: "3.6.99", isOpen: true },
    { name: "and back", given: settled, to: "3.6.0", isOpen: true },
    { name: "and to the next minor", given: settled, to: "3.7.0", isOpen: true },
    { name: "and to the one before", given: settled, to: "3.5.35", isOpen: true },
    { name: "but to none of it that could not come up again", given: settled, to: "3.5.25", isOpen: false },
    { name: "not to the one before that", given: settled, to: "3.4.35", isOpen: false },
    { name: "not to another major", given: settled, to: "2.5.35", isOpen: false },
    {
      name: "from 3.5 not to the one before",
      given: answering(settled, "3.5.35", "3.5.35", "3.5.35"),
      to: "3.4.35",
      isOpen: false,
    },
    {
      name: "one member with the next minor closes the way to the minor after it",
      given: answering(settled, "3.6.16", "3.6.16", "3.7.1"),
      to: "3.8.0",
      isOpen: false,
    },
    {
      name: "back to the minor before, as long as a member runs it",
      given: answering(settled, "3.6.16", "3.7.1", "3.7.1"),
      to: "3.6.17",
      isOpen: true,
    },
    {
      name: "the same while most run the next one, whichever patch the old one is",
      given: answering(settled, "3.5.11", "3.6.0", "3.6.0"),
      to: "3.5.35",
      isOpen: true,
    },
    {
      name: "not back by two minors, whoever runs the old one",
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
      name: "a build of somebody's own is compared with nothing",
      given: answering(settled, "3.6.16", "3.6.16", "3.9.0-ours"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "nor while it is to get another one",
      given: madeFrom(answering(settled, "3.6.16", "3.6.16", "3.9.0-ours"), "my-etcd-2", NEXT_MINOR),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "an image that bears another name than it calls itself is what its name says",
      given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
        (given, name) => saying(given, name, { version: "3.6.16" }),
        answering(settled, "3.7.1", "3.7.1", "3.7.1"),
      ),
      to: "3.8.0",
      isOpen: true,
    },
    {
      name: "unless it is to get another one",
      given: ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
        (given, name) => madeFrom(saying(given, name, { version: "3.6.16" }), name, OLD),
        answering(settled, "3.7.1", "3.7.1", "3.7.1"),
      ),
      to: "3.8.0",
      isOpen: false,
    },
    {
      name: "what a silent member ran last counts",
      given: recording(answering(settled, "3.6.16", "3.6.16", undefined), "3.6.16", "3.6.16", "3.5.20"),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "what it says counts more",
      given: recording(settled, "3.5.20", "3.5.20", "3.5.20"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "of a silent member that is not on record, what its EtcdPeer says",
      given: withPeer(answering(settled, "3.6.16", "3.6.16", undefined), "my-etcd-2", { spec: { version: "3.7.1" } }),
      to: "3.6.17",
      isOpen: true,
    },
    {
      name: "what it is starting with closes the way, though it has never run",
      given: withRunning(startingWith("3.5.11"), "my-etcd-2"),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "so does what it may be starting with any moment",
      given: withPod(startingWith("3.5.11"), "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:50:01Z" } }),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "not what it has had its time to start with",
      given: withPod(startingWith("3.5.11"), "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T11:50:00Z" } }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "who has never run, and does not run, closes nothing",
      given: withPeer(unheard(neverStarted, "my-etcd-2"), "my-etcd-2", { spec: { version: "3.5.11" } }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "nor does who has never run, and has no pod",
      given: withPeer(withoutPod(unheard(neverStarted, "my-etcd-2"), "my-etcd-2"), "my-etcd-2", {
        spec: { version: "3.5.11" },
      }),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "who has run, and does not run, does",
      given: withPeer(unheard(settled, "my-etcd-2"), "my-etcd-2", { spec: { version: "3.5.11" } }),
      to: "3.7.0",
      isOpen: false,
    },
    {
      name: "who has neither a record nor an EtcdPeer is of no release",
      given: withoutPeers(answering(settled, "3.6.16", "3.6.16", undefined), "my-etcd-2"),
      to: "3.7.0",
      isOpen: true,
    },
    {
      name: "who has no EtcdPeer is of the release that is on record",
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
      name: "a build of somebody's own that is on record is of none",
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
      name: "what a person added runs what it runs",
      given: recordingTheirs("3.4.1"),
      to: "3.7.0",
      isOpen: true,
    },
  ];
  for (const { name, given, to, isOpen } of cases)
    test(name, () => expect(whyNoPathTo(given, to) === undefined, whyNoPathTo(given, to)).toBe(isOpen));

  test("the oldest of several names itself", () => {
    const given = answering(settled, "3.7.1", "3.6.16", "3.5.30");
    expect(whyNoPathTo(given, "3.4.1")).toBe(
      "from 3.5.30 to 3.4.1 goes back by a minor version, which etcd 3.5 cannot",
    );
  });
});

describe("the release that members are asked to go back to", () => {
  const down = cluster({ spec: { version: "3.5.35" } });
  const cases: { name: string; given: ClusterSnapshot; is: string | undefined }[] = [
    { name: "is that of the minor before", given: down, is: "3.5.35" },
    { name: "also of the last one of them", given: answering(down, "3.5.35", "3.5.35", "3.6.16"), is: "3.5.35" },
    { name: "nobody has to go back who runs it", given: answering(down, "3.5.35", "3.5.35", "3.5.30"), is: undefined },
    { name: "a patch back is nothing to ask etcd for", given: cluster({ spec: { version: "3.6.1" } }), is: undefined },
    { name: "the next minor is no way back", given: cluster({ spec: { version: "3.7.1" } }), is: undefined },
    { name: "two minors are none", given: cluster({ spec: { version: "3.4.35" } }), is: undefined },
    { name: "nor for one of them", given: answering(down, "3.6.16", "3.6.16", "3.7.1"), is: undefined },
  ];
  for (const { name, given, is } of cases) test(name, () => expect(askedDowngrade(given)).toBe(is));
});

describe("a member that is to go back by a minor", () => {
  const ready = { downgradeTo: "3.5.0", storageVersion: "3.5.0" };
  const name = "my-etcd-2";
  const cases: { name: string; given: ClusterSnapshot; to?: string; why: string | undefined }[] = [
    { name: "can when it says that its data is there", given: saying(settled, name, ready), why: undefined },
    {
      name: "cannot without a downgrade",
      given: saying(settled, name, { ...ready, downgradeTo: undefined }),
      why: "my-etcd-2 does not say that a downgrade to its minor is enabled",
    },
    {
      name: "cannot by one that leads elsewhere",
      given: saying(settled, name, { ...ready, downgradeTo: "3.6.0" }),
      why: "my-etcd-2 does not say that a downgrade to its minor is enabled",
    },
    {
      name: "nor by one that leads nowhere that can be read",
      given: saying(settled, name, { ...ready, downgradeTo: "there" }),
      why: "my-etcd-2 does not say that a downgrade to its minor is enabled",
    },
    {
      name: "cannot before its data is converted",
      given: saying(settled, name, { ...ready, storageVersion: "3.6.0" }),
      why: "my-etcd-2 has its data in the format of 3.6.0",
    },
    {
      name: "nor when it does not say in which format that is",
      given: saying(settled, name, { ...ready, storageVersion: undefined }),
      why: "my-etcd-2 has its data in the format of a release that it does not name",
    },
    {
      name: "cannot by what the others say",
      given: saying(saying(settled, "my-etcd-0", ready), "my-etcd-1", ready),
      why: "my-etcd-2 does not say that a downgrade to its minor is enabled",
    },
    {
      name: "cannot while it is silent, whatever the others say",
      given: unheard(saying(saying(settled, "my-etcd-0", ready), "my-etcd-1", ready), name),
      why: "my-etcd-2 does not say in which format its data is",
    },
    {
      name: "cannot while it knows no leader",
      given: saying(settled, name, { ...ready, leaderId: undefined }),
      why: "my-etcd-2 does not say in which format its data is",
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
      why: "my-etcd-2 does not say that a downgrade to its minor is enabled",
    },
    {
      name: "not because one runs something of its own",
      given: answering(settled, "3.5.30-ours", "3.6.16", "3.6.16"),
      why: "my-etcd-2 does not say that a downgrade to its minor is enabled",
    },
    {
      name: "can when it has never run, and nobody else runs what is newer",
      given: ["my-etcd-0", "my-etcd-1", name].reduce(
        (given, each) => unheard(withPeer(given, each, { spec: { version: "3.7.99" } }), each),
        withEachMember(cluster(), () => ({ clientUrls: [] })),
      ),
      to: "3.6.17",
      why: undefined,
    },
    {
      name: "cannot when it has never run, and the others run what is newer",
      given: unheard(
        withPeer(answering(neverStarted, "3.7.1", "3.7.1", undefined), name, { spec: { version: "3.7.1" } }),
        name,
      ),
      to: "3.6.17",
      why: "the cluster runs 3.7.1, and nobody says that it runs 3.6",
    },
    { name: "need not ask within its minor", given: settled, to: "3.6.1", why: undefined },
    { name: "nor for the next one", given: settled, to: "3.7.1", why: undefined },
  ];
  for (const { name: so, given, to = "3.5.35", why } of cases)
    test(so, () => expect(whyNotYet(given, name, to)).toBe(why));
});

/** A voter that a person added, with this release on record. */
function recordingTheirs(version: string): ClusterSnapshot {
  const given = recording(withMember(settled, THEIRS));
  const members = [
    ...given.cluster.status!.members!,
    { name: "theirs.f00", id: "f00", healthy: true, leader: false, learner: false, version },
  ];
  const status = { ...given.cluster.status, members };
  return { ...given, cluster: { ...given.cluster, status } };
}

describe("members that are to go forward by a minor", () => {
  const told = (words: Parameters<typeof saying>[2]) => saying(settled, "my-etcd-1", words);
  const cases: { name: string; given: ClusterSnapshot; of?: string; to?: string; why: string | undefined }[] = [
    { name: "can when their data is in their own format", given: told({ storageVersion: "3.6.0" }), why: undefined },
    { name: "can when nobody tells of a format", given: told({ storageVersion: undefined }), why: undefined },
    {
      name: "cannot while a downgrade is enabled",
      given: told({ storageVersion: "3.6.0", downgradeTo: "3.5.0" }),
      why: "the data of my-etcd-1 is, or is to be, in the format of 3.5.0",
    },
    {
      name: "cannot before the data of all of them is converted back",
      given: told({ storageVersion: "3.5.0" }),
      why: "the data of my-etcd-1 is, or is to be, in the format of 3.5.0",
    },
    {
      name: "nor those that have never run",
      given: saying(neverStarted, "my-etcd-1", { storageVersion: "3.5.0" }),
      of: "my-etcd-2",
      why: "the data of my-etcd-1 is, or is to be, in the format of 3.5.0",
    },
    {
      name: "nor those that are to be",
      given: told({ storageVersion: "3.5.0" }),
      of: "my-etcd-9",
      why: "the data of my-etcd-1 is, or is to be, in the format of 3.5.0",
    },
    {
      name: "need not ask when they are there already",
      given: saying(answering(settled, "3.7.1"), "my-etcd-1", { storageVersion: "3.5.0" }),
      of: "my-etcd-0",
      why: undefined,
    },
    { name: "can when that cannot be read", given: told({ storageVersion: "mine" }), why: undefined },
    { name: "can by the word of a build of somebody's own", given: told({ version: "mine" }), why: undefined },
    { name: "need not ask within their minor", given: told({ storageVersion: "3.5.0" }), to: "3.6.17", why: undefined },
    {
      name: "nor when who says so is not healthy",
      given: told({ storageVersion: "3.5.0", leaderId: undefined }),
      why: undefined,
    },
  ];
  for (const { name, given, of = "my-etcd-0", to = "3.7.1", why } of cases)
    test(name, () => expect(whyNotYet(given, of, to)).toBe(why));
});

test("a member that is to be begins with what the cluster speaks", () => {
  const mixed = answering(settled, "3.6.16", "3.7.1", "3.7.1");
  expect(whyNotYet(mixed, "my-etcd-9", "3.6.17")).toBeUndefined();
  expect(whyNotYet(settled, "my-etcd-9", "3.5.35")).toBe("the cluster runs 3.6.16, and nobody says that it runs 3.5");
});
