import { expect, test } from "vitest";
import { editIn } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION, METADATA_KEYS_ANNOTATION, ROTATE_CA_ANNOTATIONS, WAIVE_ANNOTATION } from "#api/names.ts";
import { rotationRequest } from "#api/rotation-request.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { waiversIn } from "#api/waivers.ts";
import { planStatus } from "#cluster/forecast/plan-status.ts";
import { planCluster } from "#cluster/plan.ts";
import { clusterStatus } from "#cluster/status.ts";
import { cpuMsOf, MAX_BLOCKED_MS } from "#kit/hostile/cost.ts";
import { cluster } from "#kit/snapshots/cluster.ts";

// Annotations of an EtcdCluster, chosen by its editors: the API server accepts 256 KiB in total.

const MOST = 262_000;
const deep = (levels: number) => `{"podTemplate":${'{"spec":'.repeat(levels)}1${"}".repeat(levels)}}`;
const wide = () => JSON.stringify({ podTemplate: { spec: { volumes: Array.from({ length: 80_000 }, () => ({})) } } });
const keys = () => JSON.stringify(Object.fromEntries(Array.from({ length: 14_000 }, (_, n) => [`field${n}`, n])));

const foretold = () => {
  const env = Array.from({ length: 1_000 }, (_, n) => ({ name: `N${n}`, value: "" }));
  return JSON.stringify({ podTemplate: { spec: { containers: [{ name: "etcd", env }] } } });
};

const cases: readonly [string, string, () => string][] = [
  ["waivers of only commas", WAIVE_ANNOTATION, () => ",".repeat(MOST)],
  ["131 000 waivers of one letter", WAIVE_ANNOTATION, () => "a,".repeat(MOST / 2)],
  ["waivers of only white space", WAIVE_ANNOTATION, () => " ".repeat(MOST)],
  ["a CA rotation request of 262 000 dashes", ROTATE_CA_ANNOTATIONS.peer, () => "-".repeat(MOST)],
  ["a dry run nested 20 000 levels deep", DRY_RUN_ANNOTATION, () => deep(20_000)],
  ["a dry run with 80 000 volumes", DRY_RUN_ANNOTATION, wide],
  ["a dry run with 14 000 unknown fields", DRY_RUN_ANNOTATION, keys],
  ["the largest dry run that gets a forecast", DRY_RUN_ANNOTATION, foretold],
  ["a dry run that is not JSON", DRY_RUN_ANNOTATION, () => "[".repeat(MOST)],
  [
    "a dry run with a version of 262 000 characters",
    DRY_RUN_ANNOTATION,
    () => JSON.stringify({ version: "3".repeat(MOST - 20) }),
  ],
  ["an invalid list of metadata keys", METADATA_KEYS_ANNOTATION, () => "[".repeat(MOST)],
];

test.each(cases)("a reconcile pass takes less than 200 ms with %s", async (_, annotation, text) => {
  const value = text();
  expect(value.length).toBeLessThan(MOST + 10);
  const snapshot = cluster({ annotations: { [annotation]: value } });
  const calm = cluster();
  clusterStatus(calm, planCluster(calm));
  const look = () => {
    waiversIn(snapshot.cluster, snapshot.takenAtMs);
    rotationRequest(snapshot.cluster, ROTATE_CA_ANNOTATIONS.peer);
    editIn(snapshot.cluster as EtcdCluster);
    planStatus(snapshot);
    clusterStatus(snapshot, planCluster(snapshot));
  };
  expect(await cpuMsOf(look)).toBeLessThan(MAX_BLOCKED_MS);
});
