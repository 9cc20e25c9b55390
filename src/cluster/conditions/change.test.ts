import { expect, test } from "vitest";
import { changeReason, isChanging } from "#cluster/conditions/change.ts";
import { cluster } from "#kit/cluster.ts";
import { THEIRS, withJoined, withMember } from "#kit/cluster-changes.ts";
import { NEWER, wanting } from "#kit/cluster-rolling.ts";

test("a cluster that forms is not changing, whatever number is wanted by now, also when etcd lists its members already", () => {
  const wanted = cluster({ spec: { replicas: 5 } });
  expect([wanted, withJoined(wanted, 1)].map(isChanging)).toEqual([true, false]);
});

test("a voter that a person added is no change of ours: what goes on beside it is the update", () => {
  expect(changeReason(withMember(wanting(NEWER), THEIRS))).toBe("Rolling");
  expect(changeReason(cluster({ spec: { replicas: 5 } }))).toBe("Scaling");
});
