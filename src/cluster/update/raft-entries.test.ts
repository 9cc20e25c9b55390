import { describe, expect, test } from "vitest";
import { knownMembers } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { THEIRS, withMember, withoutPeers } from "#kit/snapshots/cluster-changes.ts";
import {
  answering,
  downgrading,
  NEXT_MINOR,
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
    { name: "does not exist for an unknown member", given: settled, is: undefined },
    { name: "is made when a downgrade has converted its data to 3.5", given: told(CONVERTED), is: "3.6" },
    {
      name: "not before its data is converted",
      given: told({ ...CONVERTED, storageVersion: "3.6.0" }),
      is: undefined,
    },
    { name: "not without a format", given: told({ ...CONVERTED, storageVersion: undefined }), is: undefined },
    { name: "not with an unreadable format", given: told({ ...CONVERTED, storageVersion: "mine" }), is: undefined },
    { name: "not without a downgrade", given: told({ ...CONVERTED, downgradeTo: undefined }), is: undefined },
    { name: "not by a downgrade to a later minor", given: told({ ...CONVERTED, downgradeTo: "3.6.0" }), is: undefined },
    { name: "not without a leader", given: told({ ...CONVERTED, leaderId: undefined }), is: undefined },
    {
      name: "not by the report of another member",
      given: saying(settled, "my-etcd-0", CONVERTED),
      is: undefined,
    },
    { name: "is kept", given: withReadableEntries(settled), is: "3.6" },
    {
      name: "is kept while the member is silent",
      given: withReadableEntries(cluster({ down: ["my-etcd-1"] })),
      is: "3.6",
    },
    {
      name: "is dropped when a member runs 3.5: it writes entries for all",
      given: answering(withReadableEntries(settled), "3.5.35"),
      is: undefined,
    },
    {
      name: "is not made then",
      given: answering(told(CONVERTED), "3.5.35"),
      is: undefined,
    },
    {
      name: "is dropped when a silent member has 3.5 in its EtcdPeer",
      given: withPeer(withReadableEntries(cluster({ down: ["my-etcd-0"] })), "my-etcd-0", {
        spec: { version: "3.5.35" },
      }),
      is: undefined,
    },
  ];
  for (const { name, given, is } of cases)
    test(name, () => {
      const member = knownMembers(given).find((each) => each.name === "my-etcd-1")!;
      expect(raftEntriesFrom(given, member)).toBe(is);
    });

  test("is in the status of each managed member", () => {
    const given = withMember(withReadableEntries(settled, ["my-etcd-0", "my-etcd-2"]), THEIRS);
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

test("taking snapshots counts as updating, before any member has a new template", () => {
  expect(updateStatus(cluster({ spec: NEXT_MINOR }))).toMatchObject({ from: "3.6.16", to: "3.7.1", updated: [] });
  expect(updateStatus(settled)).toBeUndefined();
});

describe("a downgrade is for snapshots", () => {
  const unread = cluster({ spec: NEXT_MINOR });
  const to36 = (given: ClusterSnapshot) => saying(given, "my-etcd-0", { downgradeTo: "3.6.0" });
  const cases: [name: string, given: ClusterSnapshot, is: boolean][] = [
    ["needs a missing snapshot", downgrading(unread), true],
    ["ends when none is missing", downgrading(withReadableEntries(unread)), false],
    ["needs an enabled downgrade", unread, false],
    ["needs a downgrade to 3.5", to36(downgrading(unread)), false],
    ["needs a wanted release with that need", downgrading(settled), false],
    ["ends after a stopped update", downgrading(withStop(unread, "my-etcd-2")), false],
    ["ends with a refused spec", downgrading(refusing(unread)), false],
  ];
  test.each(cases)("%s", (_name, given, is) => {
    expect(isDowngradeForSnapshots(given)).toBe(is);
  });
});

describe("a voter is not converted", () => {
  const cases: [name: string, given: ClusterSnapshot, is: string | undefined][] = [
    ["does not exist when all are converted", settled, undefined],
    ["while its data is in an older format", told({ storageVersion: "3.5.0" }), "my-etcd-1"],
    ["while it reports no format", told({ storageVersion: undefined }), "my-etcd-1"],
    ["while its format cannot be read", told({ storageVersion: "mine" }), "my-etcd-1"],
    [
      "a member counts with the release that it reports, not with that of its EtcdPeer",
      told({ version: "3.7.1", storageVersion: "3.7.0" }),
      undefined,
    ],
    ["a custom build counts as the release of its EtcdPeer", told({ version: "mine" }), undefined],
    ["while a custom build has older data", told({ version: "mine", storageVersion: "3.5.0" }), "my-etcd-1"],
    ["while a custom build has no EtcdPeer", withoutPeers(told({ version: "mine" }), "my-etcd-1"), "my-etcd-1"],
    ["while it does not answer", cluster({ down: ["my-etcd-1"] }), "my-etcd-1"],
  ];
  test.each(cases)("%s", (_name, given, is) => {
    expect(unconvertedVoter(given)?.name).toBe(is);
  });
});
