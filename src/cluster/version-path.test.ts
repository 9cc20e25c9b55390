import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { whyNoPathTo } from "#cluster/version-path.ts";
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
    { name: "not to the one before", given: settled, to: "3.5.35", isOpen: false },
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
      name: "and not afterwards",
      given: answering(settled, "3.7.1", "3.7.1", "3.7.1"),
      to: "3.6.17",
      isOpen: false,
    },
    {
      name: "a member that does not answer does not keep it open",
      given: recording(answering(settled, undefined, "3.7.1", "3.7.1"), "3.6.16"),
      to: "3.6.17",
      isOpen: false,
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
      given: answering(settled, "3.5.30", "3.7.1", "3.7.1"),
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
      name: "and keeps no way open",
      given: answering(settled, "3.6.0-ours", "3.7.1", "3.7.1"),
      to: "3.6.17",
      isOpen: false,
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
    expect(whyNoPathTo(given, "3.4.1")).toBe("from 3.5.30 to 3.4.1 goes back by a minor version");
  });
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
