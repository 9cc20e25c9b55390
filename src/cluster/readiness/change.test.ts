import { expect, test } from "vitest";
import { cluster } from "#kit/snapshots/cluster.ts";
import { THEIRS, withJoined, withMember } from "#kit/snapshots/cluster-changes.ts";
import { NEWER, wanting } from "#kit/snapshots/cluster-rolling.ts";
import { changeReason, isChanging } from "./change.ts";

test("a forming cluster is not changing, whatever number is wanted, also when etcd lists its members", () => {
  const wanted = cluster({ spec: { replicas: 5 } });
  expect([wanted, withJoined(wanted, 1)].map(isChanging)).toEqual([true, false]);
});

test("a voter that a person added is no change by the operator", () => {
  expect(changeReason(withMember(wanting(NEWER), THEIRS))).toBe("Rolling");
  expect(changeReason(cluster({ spec: { replicas: 5 } }))).toBe("Scaling");
});
