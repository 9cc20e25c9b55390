import { expect, test } from "vitest";
import { hindranceOf, isGone, onlyRenews } from "#access/place.ts";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { etcdOf } from "#kit/snapshots/access.ts";

const deletionTimestamp = "2026-01-01T12:00:00Z";
const members = (learner: boolean) => ({ members: [{ name: "m", id: "1", healthy: true, leader: false, learner }] });
const asleep = { spec: { replicas: 0 }, status: { sleep: { since: deletionTimestamp } } };

test.each<[string, EtcdCluster | undefined, string | undefined]>([
  ["that serves", etcdOf(), undefined],
  ["that does not exist", undefined, "ClusterNotFound: EtcdCluster my-etcd does not exist"],
  ["that is being deleted", etcdOf({}, { metadata: { deletionTimestamp } }), "ClusterNotReady: EtcdCluster my-etcd is being deleted"],
  ["without a status", { ...etcdOf(), status: {} }, "ClusterNotReady: EtcdCluster my-etcd has not formed yet"],
  ["without an identity", etcdOf({}, { status: { identity: undefined } }), "ClusterNotReady: EtcdCluster my-etcd has not formed yet"],
  ["without members", etcdOf({}, { status: { members: [] } }), "ClusterNotReady: EtcdCluster my-etcd has not formed yet"],
  ["with learners alone", etcdOf({}, { status: members(true) }), "ClusterNotReady: EtcdCluster my-etcd has not formed yet"],
  ["with a voter", etcdOf({}, { status: members(false) }), undefined],
  ["that sleeps", etcdOf({}, asleep), "ClusterNotReady: EtcdCluster my-etcd sleeps or is about to sleep: spec.replicas is 0"],
  ["that is about to sleep", etcdOf({}, { spec: { replicas: 0 } }), "ClusterNotReady: EtcdCluster my-etcd sleeps or is about to sleep: spec.replicas is 0"],
  ["that is paused", etcdOf({}, { metadata: { annotations: { [PAUSED_ANNOTATION]: "true" } } }), `Paused: EtcdCluster my-etcd is paused: the annotation ${PAUSED_ANNOTATION} is "true"`],
])("a cluster %s", (_, cluster, expected) => {
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
  ["that serves", etcdOf(), false],
  ["that is paused", etcdOf({}, { spec: { paused: true } }), true],
  ["that is paused by its annotation", etcdOf({}, { metadata: { annotations: { [PAUSED_ANNOTATION]: "true" } } }), true],
  ["that sleeps", etcdOf({}, asleep), true],
  ["that is about to sleep", etcdOf({}, { spec: { replicas: 0 } }), true],
  ["that does not exist", undefined, false],
  ["that is being deleted", etcdOf({}, { metadata: { deletionTimestamp }, spec: { paused: true } }), false],
  ["that has not formed", etcdOf({}, { status: { identity: undefined }, spec: { paused: true } }), false],
])("only certificates are renewed in a cluster %s: %#", (_, cluster, expected) => {
  expect(onlyRenews(cluster)).toBe(expected);
}); // biome-ignore format: a table
