import { expect, test } from "vitest";
import type { ClusterStep } from "#cluster/step.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { NEWER, wanting, withStop } from "#kit/snapshots/cluster-rolling.ts";
import { type Plan, wait } from "#runtime/decide.ts";
import { stalled } from "./stalled.ts";

const settled: Plan<ClusterStep> = { next: "settled" };
const waits = (rule: string): Plan<ClusterStep> => ({ rule: rule, ...wait("m", 1) });
const stopped = withStop(wanting(NEWER), "my-etcd-2");
const deleted = cluster();
const going = {
  ...deleted,
  cluster: { ...deleted.cluster, metadata: { ...deleted.cluster.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } },
};

test.each<[string, Parameters<typeof stalled>[0]["snapshot"], Plan<ClusterStep>, string]>([
  ["nothing is amiss", cluster(), settled, "False NotStalled"],
  ["the spec is refused", cluster(), waits("refused-spec"), "True SpecRefused: m"],
  ["no path leads to spec.version", cluster(), waits("no-version-path"), "True NoVersionPath: m"],
  ["an update has stopped", cluster(), waits("roll-back-member"), "True UpdateStopped: m"],
  ["an update has stopped, and other work waits", stopped, settled, "True UpdateStopped: my-etcd-2 did not come up: it ended"],
  ["an update has stopped, and a name is taken", stopped, waits("name-taken"), "True UpdateStopped: my-etcd-2 did not come up: it ended"],
  ["the restore has failed", cluster(), waits("restore-failed"), "True RestoreFailed: m"],
  ["a name is taken", cluster(), waits("name-taken"), "False NotStalled"],
  ["an alarm stops writes", cluster(), waits("no-space"), "False NotStalled"],
  ["a member is awaited", cluster(), waits("await-health"), "False NotStalled"],
  ["the cluster is being deleted", going, settled, "False NotStalled"],
])("Stalled when %s", (_, snapshot, plan, expected) => {
  const { status, reason, message } = stalled({ snapshot, plan, own: [{ name: "my-etcd-0" } as never] });
  expect(`${status} ${reason}${status === "True" ? `: ${message}` : ""}`).toBe(expected);
}); // biome-ignore format: a table
