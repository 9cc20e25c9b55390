import { expect, test } from "vitest";
import { isChanging } from "#cluster/conditions/change.ts";
import { cluster } from "#kit/cluster.ts";
import { withJoined } from "#kit/cluster-changes.ts";

test("a cluster that forms is not changing, whatever number is wanted by now, also when etcd lists its members already", () => {
  const wanted = cluster({ spec: { replicas: 5 } });
  expect([wanted, withJoined(wanted, 1)].map(isChanging)).toEqual([true, false]);
});
