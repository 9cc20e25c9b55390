import { expect, test } from "vitest";
import { cluster } from "#kit/snapshots/cluster.ts";
import { THEIRS, withJoined, withMember } from "#kit/snapshots/cluster-changes.ts";
import { NEWER, wanting } from "#kit/snapshots/cluster-rolling.ts";
import { changeReason, isChanging } from "./change.ts";

test("isChanging: a forming cluster is not changing, although spec.replicas differs from its members", () => {
  const wanted = cluster({ spec: { replicas: 5 } });
  expect([wanted, withJoined(wanted, 1)].map(isChanging)).toEqual([true, false]);
});

test("changeReason: a voter that was added by hand does not count as scaling", () => {
  expect(changeReason(withMember(wanting(NEWER), THEIRS))).toBe("Rolling");
  expect(changeReason(cluster({ spec: { replicas: 5 } }))).toBe("Scaling");
});
