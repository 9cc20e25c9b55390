import { expect, test } from "vitest";
import { hindranceOf, isGone, onlyRenews } from "#access/place.ts";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { etcdOf } from "#kit/snapshots/access.ts";

const deletionTimestamp = "2026-01-01T12:00:00Z";
const members = (role: "Voter" | "Learner") => ({
  members: [{ name: "m", id: "1", role, health: "Healthy" as const }],
});
const asleep = { spec: { replicas: 0 }, status: { sleep: { startTime: deletionTimestamp } } };

test.each<[string, EtcdCluster | undefined, string | undefined]>([
  ["that serves has no problem", etcdOf(), undefined],
  ["that does not exist is not found", undefined, "ClusterNotFound: EtcdCluster my-etcd does not exist"],
  ["that is being deleted is not ready", etcdOf({}, { metadata: { deletionTimestamp } }), "ClusterNotReady: EtcdCluster my-etcd is being deleted"],
  ["without a status is not ready", { ...etcdOf(), status: {} }, "ClusterNotReady: EtcdCluster my-etcd has not formed yet"],
  ["without an identity is not ready", etcdOf({}, { status: { identity: undefined } }), "ClusterNotReady: EtcdCluster my-etcd has not formed yet"],
  ["without members is not ready", etcdOf({}, { status: { members: [] } }), "ClusterNotReady: EtcdCluster my-etcd has not formed yet"],
  ["with only learners is not ready", etcdOf({}, { status: members("Learner") }), "ClusterNotReady: EtcdCluster my-etcd has not formed yet"],
  ["with a voter has no problem", etcdOf({}, { status: members("Voter") }), undefined],
  ["that sleeps is not ready", etcdOf({}, asleep), "ClusterNotReady: EtcdCluster my-etcd sleeps or is about to sleep: spec.replicas is 0"],
  ["that is about to sleep is not ready", etcdOf({}, { spec: { replicas: 0 } }), "ClusterNotReady: EtcdCluster my-etcd sleeps or is about to sleep: spec.replicas is 0"],
  ["that is paused is reported as paused", etcdOf({}, { metadata: { annotations: { [PAUSED_ANNOTATION]: "true" } } }), `Paused: EtcdCluster my-etcd is paused: the annotation ${PAUSED_ANNOTATION} is "true"`],
])("for an EtcdUser, a cluster %s", (_, cluster, expected) => {
  const hindrance = hindranceOf("my-etcd", cluster);
  expect(hindrance && `${hindrance.reason}: ${hindrance.because}`).toBe(expected);
}); // biome-ignore format: a table

test("a cluster is gone when it does not exist or is being deleted", () => {
  const going = etcdOf({}, { metadata: { deletionTimestamp } });
  expect([isGone(undefined), isGone(going), isGone(etcdOf()), isGone({ ...etcdOf(), status: {} })]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test.each<[string, EtcdCluster | undefined, boolean]>([
  ["no, when it serves", etcdOf(), false],
  ["yes, when it is paused by its spec", etcdOf({}, { spec: { paused: true } }), true],
  ["yes, when it is paused by its annotation", etcdOf({}, { metadata: { annotations: { [PAUSED_ANNOTATION]: "true" } } }), true],
  ["yes, when it sleeps", etcdOf({}, asleep), true],
  ["yes, when it is about to sleep", etcdOf({}, { spec: { replicas: 0 } }), true],
  ["no, when it does not exist", undefined, false],
  ["no, when it is being deleted", etcdOf({}, { metadata: { deletionTimestamp }, spec: { paused: true } }), false],
  ["no, when it has not formed", etcdOf({}, { status: { identity: undefined }, spec: { paused: true } }), false],
])("whether only certificates are renewed in a cluster: %s", (_, cluster, expected) => {
  expect(onlyRenews(cluster)).toBe(expected);
}); // biome-ignore format: a table
