import { describe, expect, test } from "vitest";
import { present, unknown } from "#base/observed.ts";
import {
  begunAtMs,
  type ClusterSnapshot,
  corruptMembers,
  fullMembers,
  healthOf,
  isDataDisputed,
  isFounder,
  isQuiet,
  remembered,
  saidByPeer,
} from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { cluster, endpointStatus, LATER_ID, NOW } from "#kit/cluster.ts";
import { withAlarms } from "#kit/cluster-changes.ts";
import type { KubeObject } from "#kube/kinds.ts";

const settled = cluster();
const { clusterID, initialMembers } = settled.cluster.status!.identity!;
const [first, second] = initialMembers;

describe("a cluster gets no word on each pod's progress", () => {
  const bornAtMs = NOW - 3_600_000;
  const starting = cluster({ stage: "starting" });
  test.each([
    ["at once", starting, 0, true],
    ["a moment later", starting, 4_999, true],
    ["after five seconds", starting, 5_000, false],
    ["by a clock that is behind", starting, -1, false],
    ["when it has formed", settled, 1_000, false],
  ])("%s", (_when, given, ageMs, quiet) => {
    expect(isQuiet({ ...given, takenAtMs: bornAtMs + ageMs })).toBe(quiet);
  });
});

/** The snapshot with another time at which the cluster was made, and its headless Service. */
function madeAt<T extends ClusterSnapshot>(snapshot: T, made: string, service: string): T {
  const of = <O extends KubeObject>(object: O, creationTimestamp: string): O => {
    return { ...object, metadata: { ...object.metadata, creationTimestamp } };
  };
  const headlessService = of(snapshot.headlessService!, service);
  return { ...snapshot, cluster: of(snapshot.cluster, made), headlessService };
}

test("a cluster was begun when its headless Service was made, and before that when it was made itself", () => {
  const [made, begun] = ["2026-01-01T10:00:00Z", "2026-01-01T11:30:00Z"];
  const given = madeAt(settled, made, begun);
  expect(begunAtMs(given)).toBe(Date.parse(begun));
  expect(begunAtMs({ ...given, headlessService: undefined })).toBe(Date.parse(made));
});

test("a cluster that waited for its turn is as new as any other, and one without identity is told of as it is", () => {
  const starting = cluster({ stage: "starting" });
  const waited = madeAt(starting, "2026-01-01T00:00:00Z", new Date(starting.takenAtMs).toISOString());
  expect(isQuiet(waited)).toBe(true);
  const { identity: _, ...unrecorded } = waited.cluster.status!;
  expect(isQuiet({ ...waited, cluster: { ...waited.cluster, status: unrecorded } })).toBe(false);
});

test("what a peer says is in its condition Ready alone", () => {
  const condition = (type: string, status: "True" | "False", message: string) => {
    return { type, status, message, reason: "", observedGeneration: 1, lastTransitionTime: "2026-01-01T11:30:00Z" };
  };
  const saying = (...conditions: ReturnType<typeof condition>[]): ClusterSnapshot => {
    return { ...settled, peers: settled.peers.map((peer) => ({ ...peer, status: { conditions } })) };
  };
  const other = condition("Other", "False", "other");
  expect(saidByPeer(saying(other, condition("Ready", "False", "why")), "my-etcd-0")).toBe("why");
  expect(saidByPeer(saying(other, condition("Ready", "True", "well")), "my-etcd-0")).toBeUndefined();
});

test("of a first member whose client port is silent etcd's health check is no proof: another cluster's has its ID, too", () => {
  const endpoints = new Map([...settled.endpoints, ["my-etcd-1", unknown("silent")] as const]);
  const unpublished = new Map([["my-etcd-1", memberIdFromHex(second!.id)]]);
  expect(healthOf({ ...settled, endpoints, unpublished }, "my-etcd-1", second!.id)).toMatchObject({ is: "unhealthy" });
});

test("a first member is who stands in the frozen list; without one nobody is", () => {
  expect([first!.id, LATER_ID].map((id) => isFounder(settled.cluster, id))).toEqual([true, false]);
  expect(isFounder(cluster({ stage: "new" }).cluster, first!.id)).toBe(false);
});

describe("alarms", () => {
  const raised = withAlarms(
    settled,
    { type: "CORRUPT", id: "b" },
    { type: "NOSPACE", id: "d" },
    { type: "CORRUPT", id: "a" },
    { type: "NOSPACE", id: "c" },
    { type: "NOSPACE" },
  );
  const padded = (id: string) => corruptMembers(withAlarms(settled, { type: "CORRUPT", id }))[0];

  test("each is told once, in the order of IDs, and by its type", () => {
    expect(corruptMembers(raised)).toEqual([padded("a"), padded("b")]);
    expect(fullMembers(raised)).toEqual([padded("c"), padded("d")]);
    expect(isDataDisputed(raised)).toBe(false);
    expect(isDataDisputed(withAlarms(settled, { type: "CORRUPT" }))).toBe(true);
  });

  test("those of another cluster, which answers at a member's address, are not believed", () => {
    const answer = (id: string) => present({ ...endpointStatus(id, second!.id, second!.id), alarms: OF_SECOND });
    const OF_SECOND = [{ type: "CORRUPT", memberId: memberIdFromHex(second!.id) }] as const;
    const withAnswer = (id: string) => ({ ...settled, endpoints: new Map([["my-etcd-1", answer(id)]]) });
    expect(corruptMembers(withAnswer("abc"))).toEqual([]);
    expect(corruptMembers(withAnswer(clusterID))).toEqual([second!.id]);
  });
});

test("what is remembered of a snapshot is worked out once, also when there is none", () => {
  const asked: ClusterSnapshot[] = [];
  const answer = remembered((snapshot) => {
    asked.push(snapshot);
    return undefined;
  });
  const other = cluster();
  expect([settled, settled, other, settled].map(answer)).toEqual([undefined, undefined, undefined, undefined]);
  expect(asked).toEqual([settled, other]);
});
