import { describe, expect, test } from "vitest";
import { knownMembers } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { THEIRS, withMember, withoutPeers } from "#kit/snapshots/cluster-changes.ts";
import {
  answering,
  downgrading,
  NEXT_MINOR,
  recording,
  refusing,
  saying,
  withPeer,
  withReadableEntries,
  withStop,
} from "#kit/snapshots/cluster-rolling.ts";
import { isDowngradeForSnapshots, raftEntriesFrom, unconvertedVoter } from "./raft-entries.ts";
import { updateStatus } from "./update-status.ts";

const settled = cluster();
const CONVERTED = { downgradeTo: "3.5.0", storageVersion: "3.5.0" };
const told = (words: Parameters<typeof saying>[2], given = settled) => saying(given, "my-etcd-1", words);

describe("the record of a member's raft entries", () => {
  const cases: { name: string; given: ClusterSnapshot; is: string | undefined }[] = [
    { name: "does not exist before a downgrade", given: settled, is: undefined },
    { name: "is made when a downgrade has converted its data to 3.5", given: told(CONVERTED), is: "3.6" },
    {
      name: "is not made before the member's data is converted",
      given: told({ ...CONVERTED, storageVersion: "3.6.0" }),
      is: undefined,
    },
    {
      name: "is not made when the member reports no format",
      given: told({ ...CONVERTED, storageVersion: undefined }),
      is: undefined,
    },
    {
      name: "is not made when the reported format is no release",
      given: told({ ...CONVERTED, storageVersion: "mine" }),
      is: undefined,
    },
    {
      name: "is not made without an enabled downgrade",
      given: told({ ...CONVERTED, downgradeTo: undefined }),
      is: undefined,
    },
    { name: "is not made by a downgrade to 3.6", given: told({ ...CONVERTED, downgradeTo: "3.6.0" }), is: undefined },
    {
      name: "is not made while the member has no leader",
      given: told({ ...CONVERTED, leaderId: undefined }),
      is: undefined,
    },
    {
      name: "is not made from the report of another member",
      given: saying(settled, "my-etcd-0", CONVERTED),
      is: undefined,
    },
    { name: "is kept after the downgrade", given: withReadableEntries(settled), is: "3.6" },
    {
      name: "is kept while the member does not answer",
      given: withReadableEntries(cluster({ down: ["my-etcd-1"] })),
      is: "3.6",
    },
    {
      name: "is dropped when a member runs 3.5, which writes entries into every log",
      given: begin(settled).apply(withReadableEntries).apply(answering, "3.5.35").snapshot,
      is: undefined,
    },
    {
      name: "is not made while a member runs 3.5",
      given: answering(told(CONVERTED), "3.5.35"),
      is: undefined,
    },
    {
      name: "is dropped when a member that does not answer has 3.5 in its EtcdPeer",
      given: begin(cluster({ down: ["my-etcd-0"] }))
        .apply(withReadableEntries)
        .apply(withPeer, "my-etcd-0", {
          spec: { version: "3.5.35" },
        }).snapshot,
      is: undefined,
    },
    {
      name: "is dropped when a silent member last ran 3.5",
      given: begin(cluster({ down: ["my-etcd-0"] }))
        .apply(recording, "3.5.35", "3.6.16", "3.6.16")
        .apply(withReadableEntries).snapshot,
      is: undefined,
    },
  ];
  for (const { name, given, is } of cases)
    test(name, () => {
      const member = knownMembers(given).find((each) => each.name === "my-etcd-1")!;
      expect(raftEntriesFrom(given, member)).toBe(is);
    });

  test("is in the status of each managed member", () => {
    const given = begin(settled)
      .apply(withReadableEntries, ["my-etcd-0", "my-etcd-2"])
      .apply(withMember, THEIRS).snapshot;
    const { members } = clusterStatus(downgrading(given, ["my-etcd-0"]), { next: "settled" });
    expect(members![1]).not.toHaveProperty("raftEntriesFrom");
    expect(members!.map(({ name, raftEntriesFrom: from }) => [name, from])).toEqual([
      ["my-etcd-0", "3.6"],
      ["my-etcd-1", undefined],
      ["my-etcd-2", "3.6"],
      ["theirs.f00", undefined],
    ]);
  });
});

test("status.update exists while members take raft snapshots, before a member has a new template", () => {
  expect(updateStatus(cluster({ spec: NEXT_MINOR }))).toMatchObject({ from: "3.6.16", to: "3.7.1", updated: [] });
  expect(updateStatus(settled)).toBeUndefined();
});

describe("a downgrade is for snapshots", () => {
  const unread = cluster({ spec: NEXT_MINOR });
  const to36 = (given: ClusterSnapshot) => saying(given, "my-etcd-0", { downgradeTo: "3.6.0" });
  const cases: [name: string, given: ClusterSnapshot, is: boolean][] = [
    ["when a member has no raft snapshot yet", downgrading(unread), true],
    [
      "not when all members have a raft snapshot",
      begin(unread).apply(withReadableEntries).apply(downgrading).snapshot,
      false,
    ],
    ["not when no downgrade is enabled", unread, false],
    ["not when one member reports a downgrade to 3.6", to36(downgrading(unread)), false],
    ["not when the spec asks for a release that reads all entries", downgrading(settled), false],
    ["not after the update was stopped", begin(unread).apply(withStop, "my-etcd-2").apply(downgrading).snapshot, false],
    ["not while the spec is refused", begin(unread).apply(refusing).apply(downgrading).snapshot, false],
  ];
  test.each(cases)("%s", (_name, given, is) => {
    expect(isDowngradeForSnapshots(given)).toBe(is);
  });
});

describe("the unconverted voter", () => {
  const cases: [name: string, given: ClusterSnapshot, is: string | undefined][] = [
    ["does not exist when the data of all voters is converted", settled, undefined],
    ["is the one with data in an older format", told({ storageVersion: "3.5.0" }), "my-etcd-1"],
    ["is the one that reports no format", told({ storageVersion: undefined }), "my-etcd-1"],
    ["is the one with a format that is no release", told({ storageVersion: "mine" }), "my-etcd-1"],
    [
      "is not a member with data in the format of the release that it reports, whatever its EtcdPeer has",
      told({ version: "3.7.1", storageVersion: "3.7.0" }),
      undefined,
    ],
    ["is not a custom build with data in the format of its EtcdPeer's release", told({ version: "mine" }), undefined],
    ["is a custom build with data in an older format", told({ version: "mine", storageVersion: "3.5.0" }), "my-etcd-1"],
    ["is a custom build without an EtcdPeer", withoutPeers(told({ version: "mine" }), "my-etcd-1"), "my-etcd-1"],
    ["is the one that does not answer", cluster({ down: ["my-etcd-1"] }), "my-etcd-1"],
  ];
  test.each(cases)("%s", (_name, given, is) => {
    expect(unconvertedVoter(given)?.name).toBe(is);
  });
});
