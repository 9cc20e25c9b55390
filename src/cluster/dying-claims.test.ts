import { expect, test } from "vitest";
import { whyHeldAwake, whyHeldUp } from "#cluster/dying-claims.ts";
import { fallAsleep } from "#cluster/rules/life/fall-asleep.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/cluster.ts";
import { withDyingClaims } from "#kit/cluster-changes.ts";
import { tired } from "#kit/cluster-sleep.ts";

// What a guard promises of it: guards/claims.test.ts. Here: what people read.

test.each<[string, ClusterSnapshot, string | undefined]>([
  [
    "the only member",
    withDyingClaims(cluster({ replicas: 1 }), "my-etcd-0"),
    "claim my-etcd-0 is being deleted, and what is on it goes when its pod ends: 0 of 1 members would be left with data; have a backup, and delete the pod to give it up",
  ],
  [
    "one of three of whom another one is down",
    withDyingClaims(cluster({ down: ["my-etcd-1"] }), "my-etcd-0"),
    "claim my-etcd-0 is being deleted, and what is on it goes when its pod ends: 1 of 3 members would be left with data; have a backup, and delete the pod to give it up",
  ],
  ["one of three", withDyingClaims(cluster(), "my-etcd-0", "my-etcd-1"), undefined],
  ["whose claim stays", withDyingClaims(cluster({ replicas: 2 }), "my-etcd-1"), undefined],
])("the pod of %s ends, or people read why not", (_, given, says) => {
  expect(whyHeldUp(given, "my-etcd-0")).toBe(says);
});

const most = withDyingClaims(tired(), "my-etcd-0", "my-etcd-2");

test("people read why nobody sleeps", () => {
  const why =
    "claims my-etcd-0, my-etcd-2 are being deleted, and what is on it goes when its pod ends: 1 of 3 members would be left with data; have a backup, and delete the pod to give it up";
  expect(whyHeldAwake(most)).toBe(why);
  expect(fallAsleep.decide(most)).toMatchObject({ next: "remark", because: `members run on: ${why}` });
  expect(whyHeldAwake(withDyingClaims(tired(), "my-etcd-0"))).toBeUndefined();
});
