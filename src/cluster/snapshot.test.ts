import { describe, expect, test } from "vitest";
import { present, unknown } from "#base/observed.ts";
import { healthOf } from "#cluster/members/member-health.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { cluster, endpointStatus, LATER_ID, NOW } from "#kit/snapshots/cluster.ts";
import { withAlarms } from "#kit/snapshots/cluster-changes.ts";
import type { KubeObject } from "#kube/kinds.ts";
import {
  begunAtMs,
  type ClusterSnapshot,
  corruptMembers,
  fullMembers,
  isDataDisputed,
  isFounder,
  isQuiet,
  remembered,
  saidByPeer,
} from "./snapshot.ts";

const settled = cluster();
const { clusterID, initialMembers } = settled.cluster.status!.identity!;
const [first, second] = initialMembers;

describe("isQuiet: a cluster", () => {
  const bornAtMs = NOW - 3_600_000;
  const starting = cluster({ stage: "starting" });
  test.each([
    ["is quiet immediately after it has begun to form", starting, 0, true],
    ["is quiet 4.999 s after it has begun to form", starting, 4_999, true],
    ["is not quiet five seconds after it has begun to form", starting, 5_000, false],
    ["is not quiet when the clock is behind its creation time", starting, -1, false],
    ["is not quiet when it has formed", settled, 1_000, false],
  ])("%s", (_when, given, ageMs, quiet) => {
    expect(isQuiet({ ...given, takenAtMs: bornAtMs + ageMs })).toBe(quiet);
  });
});

/** The snapshot with these creation times of the EtcdCluster and its headless Service. */
function madeAt<T extends ClusterSnapshot>(snapshot: T, made: string, service: string): T {
  const of = <O extends KubeObject>(object: O, creationTimestamp: string): O => {
    return { ...object, metadata: { ...object.metadata, creationTimestamp } };
  };
  const headlessService = of(snapshot.headlessService!, service);
  return { ...snapshot, cluster: of(snapshot.cluster, made), headlessService };
}

test("begunAtMs: a cluster begins with its headless Service, or without one with its own creation", () => {
  const [made, begun] = ["2026-01-01T10:00:00Z", "2026-01-01T11:30:00Z"];
  const given = madeAt(settled, made, begun);
  expect(begunAtMs(given)).toBe(Date.parse(begun));
  expect(begunAtMs({ ...given, headlessService: undefined })).toBe(Date.parse(made));
});

test("isQuiet: an old EtcdCluster with a new headless Service is quiet only with an identity", () => {
  const starting = cluster({ stage: "starting" });
  const waited = madeAt(starting, "2026-01-01T00:00:00Z", new Date(starting.takenAtMs).toISOString());
  expect(isQuiet(waited)).toBe(true);
  const { identity: _, ...unrecorded } = waited.cluster.status!;
  expect(isQuiet({ ...waited, cluster: { ...waited.cluster, status: unrecorded } })).toBe(false);
});

test("saidByPeer: the message is that of the EtcdPeer's condition Ready when it is False", () => {
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

test("healthOf: a founder with a silent client port is unhealthy although its metrics port answers", () => {
  const endpoints = new Map([...settled.endpoints, ["my-etcd-1", unknown("silent")] as const]);
  const unpublished = new Map([["my-etcd-1", memberIdFromHex(second!.id)]]);
  expect(healthOf({ ...settled, endpoints, unpublished }, "my-etcd-1", second!.id)).toMatchObject({ is: "unhealthy" });
});

test("isFounder: only members in the recorded identity are founders", () => {
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

  test("are listed by type, sorted by member ID", () => {
    expect(corruptMembers(raised)).toEqual([padded("a"), padded("b")]);
    expect(fullMembers(raised)).toEqual([padded("c"), padded("d")]);
    expect(isDataDisputed(raised)).toBe(false);
    expect(isDataDisputed(withAlarms(settled, { type: "CORRUPT" }))).toBe(true);
  });

  test("of another cluster that answers at a member's address are ignored", () => {
    const answer = (id: string) => present({ ...endpointStatus(id, second!.id, second!.id), alarms: OF_SECOND });
    const OF_SECOND = [{ type: "CORRUPT", memberId: memberIdFromHex(second!.id) }] as const;
    const withAnswer = (id: string) => ({ ...settled, endpoints: new Map([["my-etcd-1", answer(id)]]) });
    expect(corruptMembers(withAnswer("abc"))).toEqual([]);
    expect(corruptMembers(withAnswer(clusterID))).toEqual([second!.id]);
  });
});

test("remembered: a result is computed once per snapshot, even when it is undefined", () => {
  const asked: ClusterSnapshot[] = [];
  const answer = remembered((snapshot) => {
    asked.push(snapshot);
    return undefined;
  });
  const other = cluster();
  expect([settled, settled, other, settled].map(answer)).toEqual([undefined, undefined, undefined, undefined]);
  expect(asked).toEqual([settled, other]);
});
