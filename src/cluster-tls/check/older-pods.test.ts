import { expect, test } from "vitest";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import { membersTrustEachOther } from "#cluster-tls/check/guards.ts";
import { olderThan } from "#cluster-tls/check/trusted.ts";
import { made, secured } from "#kit/snapshots/cluster-tls.ts";
import { seenToo } from "#kit/snapshots/provider-change.ts";

// Members with pods older than the content of their Secret. All pods here were created at eleven o'clock.

const MADE_MS = Date.parse("2026-01-01T11:00:00Z");
const whole = secured();
const ALL = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];

function shown(change: Partial<SeenCertificate>): SeenCertificate {
  return { ...made(whole, "peer"), knownForMs: 1_000, ...change };
}

/** The snapshot in which this process has known the pods this long, in milliseconds. */
function knowing(podsForMs: readonly number[]): ClusterSnapshot {
  return seenToo(whole, { podsForMs: new Map(podsForMs.map((ms, n) => [`my-etcd-${n}`, ms])) });
}

/** The snapshot in which the pod was created this much later, in milliseconds. */
function later(name: string, ms: number): ClusterSnapshot {
  const pod = whole.pods.get(name)!;
  const creationTimestamp = new Date(MADE_MS + ms).toISOString();
  return {
    ...whole,
    pods: new Map([...whole.pods, [name, { ...pod, metadata: { ...pod.metadata, creationTimestamp } }]]),
  };
}

test.each<[string, ClusterSnapshot, Partial<SeenCertificate>, readonly string[]]>([
  ["no pod that is newer by more than the skew of clocks", whole, { writtenAtMs: MADE_MS - 5_001 }, []],
  ["every pod that is newer by no more than the skew of clocks", whole, { writtenAtMs: MADE_MS - 5_000 }, ALL],
  ["every pod that is older than the Secret's last write", whole, { writtenAtMs: MADE_MS + 1_000 }, ALL],
  ["every pod, when the Secret lacks the time of its write", whole, { writtenAtMs: undefined }, ALL],
  ["older pods and not the newer one", later("my-etcd-1", 7_000), { writtenAtMs: MADE_MS + 1_000 }, ["my-etcd-0", "my-etcd-2"]],
  ["every pod of the same second when nothing is known about the order", whole, { writtenAtMs: MADE_MS }, ALL],
  ["no pod of the same second that was seen after the Secret was read", knowing([999, 0, 999]), { writtenAtMs: MADE_MS }, []],
  ["a pod of the same second that was seen with the Secret or before", knowing([999, 1_000, 1_001]), { writtenAtMs: MADE_MS }, ["my-etcd-1", "my-etcd-2"]],
  ["no slightly newer pod that was seen after the Secret was read", knowing([999, 0, 999]), { writtenAtMs: MADE_MS - 5_000 }, []],
  ["a slightly newer pod that was seen with the Secret or before", knowing([999, 1_000, 1_001]), { writtenAtMs: MADE_MS - 5_000 }, ["my-etcd-1", "my-etcd-2"]],
  ["an older pod that was seen late", knowing([0, 0, 0]), { writtenAtMs: MADE_MS + 1_000 }, ALL],
  ["no pod with another Secret", whole, { secretName: "other", writtenAtMs: MADE_MS + 1_000 }, []],
  ["a pod without a creation time", undated("my-etcd-1"), { writtenAtMs: MADE_MS - 6_000 }, ["my-etcd-1"]],
])("pods that may lack the current content of their Secret include %s", (_, given, change, expected) => {
  expect(olderThan(given, "peer", shown(change))).toEqual(expected);
}); // biome-ignore format: a table

function undated(name: string): ClusterSnapshot {
  const pod = whole.pods.get(name)!;
  const { creationTimestamp: _, ...metadata } = pod.metadata;
  return { ...whole, pods: new Map([...whole.pods, [name, { ...pod, metadata }]]) };
}

test("a forbidden removal names the members with older pods", () => {
  const young = (given: ClusterSnapshot) =>
    seenToo(given, { peer: { is: "present", value: shown({ writtenAtMs: MADE_MS + 1_000 }) } });
  const step = { do: "markRemoval", peer: whole.peers[2]!, removal: "replacement" } as const;
  const rest = "may not have the new peer certificate of Secret my-etcd-peer-tls yet: the kubelet takes up to 150 s";
  expect(membersTrustEachOther.forbids(young(whole), step)).toBe(`the pods of my-etcd-0, my-etcd-1, my-etcd-2 ${rest}`);
  const newer = {
    ...whole,
    pods: new Map([...later("my-etcd-0", 7_000).pods, ["my-etcd-1", later("my-etcd-1", 7_000).pods.get("my-etcd-1")!]]),
  };
  expect(membersTrustEachOther.forbids(young(newer), step)).toBe(`the pod of my-etcd-2 ${rest}`);
});
