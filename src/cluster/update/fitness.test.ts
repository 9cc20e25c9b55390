import { describe, expect, test } from "vitest";
import type { Lack } from "#cluster/members/member-state.ts";
import { memberNamed } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { ALWAYS_WELL, cluster, unpublished, withArrival } from "#kit/snapshots/cluster.ts";
import {
  madeFrom,
  NEWER,
  saying,
  UNREADY_BESIDE,
  wanting,
  withoutPod,
  withPod,
} from "#kit/snapshots/cluster-rolling.ts";
import { mayBeFixedByRestart } from "./pending-restart.ts";

const NAME = "my-etcd-2";
const settled = cluster();
const going = { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } };
const unready = (given: ClusterSnapshot) => withPod(given, NAME, UNREADY_BESIDE);
const saidOfEtcd = (containerStatuses: readonly object[]) =>
  withPod(unready(settled), NAME, { status: { containerStatuses } });

describe("a member that is unfit by its readiness", () => {
  const cases: { name: string; given: ClusterSnapshot; is: readonly Lack[] }[] = [
    {
      name: "lacks that of a sidecar when the etcd container is ready and the pod is not Ready",
      given: unready(settled),
      is: ["sidecarReadiness"],
    },
    {
      name: "lacks that of etcd when the etcd container is not ready",
      given: saidOfEtcd([{ name: "etcd", ready: false, state: { running: {} } }]),
      is: ["etcdReadiness"],
    },
    {
      name: "lacks that of etcd when the etcd container is not ready and its sidecar is",
      given: saidOfEtcd([
        { name: "etcd", ready: false },
        { name: "agent", ready: true },
      ]),
      is: ["etcdReadiness"],
    },
    {
      name: "lacks that of etcd when the pod has no status of the etcd container",
      given: saidOfEtcd([]),
      is: ["etcdReadiness"],
    },
    { name: "lacks nothing when the pod is Ready", given: settled, is: [] },
    { name: "lacks health when the member does not answer", given: unready(cluster({ down: [NAME] })), is: ["health"] },
    {
      name: "lacks health when the member serves no clients",
      given: unready(unpublished(settled, NAME)),
      is: ["health"],
    },
    { name: "lacks a pod without one", given: withoutPod(settled, NAME), is: ["pod", "revision"] },
    { name: "lacks a pod with a terminating one", given: withPod(unready(settled), NAME, going), is: ["pod"] },
    {
      name: "lacks raft entries, too, when it is more than 1,000 behind",
      given: saying(unready(settled), "my-etcd-0", { raftIndex: 1_011 }),
      is: ["sidecarReadiness", "raftLog"],
    },
    {
      name: "does not lack raft entries that only a learner has",
      given: begin(unready(settled))
        .apply(withArrival, "my-etcd-3", "synced")
        .apply(saying, "my-etcd-3", { raftIndex: 1_011 }).snapshot,
      is: ["sidecarReadiness"],
    },
    {
      name: "lacks only the readiness of a sidecar when it is at most 1,000 raft entries behind",
      given: saying(unready(settled), "my-etcd-0", { raftIndex: 1_010 }),
      is: ["sidecarReadiness"],
    },
    {
      name: "lacks a recorded revision, too, when the pod has none",
      given: madeFrom(unready(settled), NAME, undefined),
      is: ["sidecarReadiness", "revision"],
    },
  ];
  for (const { name, given, is } of cases) test(name, () => expect(memberNamed(given, NAME)!.lacks).toEqual(is));
});

describe("an update may fix a member", () => {
  const late = (given: ClusterSnapshot, ms: number): ClusterSnapshot => {
    const { id } = memberNamed(given, NAME)!;
    return { ...given, histories: new Map([[id, { ...ALWAYS_WELL, knownForMs: 0, unreadyForMs: ms }]]) };
  };
  const wanted = unready(wanting(NEWER));
  const cases: { name: string; given: ClusterSnapshot; is: boolean }[] = [
    { name: "when its pod has not been Ready for the start timeout", given: late(wanted, 600_000), is: true },
    { name: "not before the start timeout has passed", given: late(wanted, 599_999), is: false },
    { name: "not when nothing is recorded about its readiness", given: wanted, is: false },
    { name: "not when it has the wanted template already", given: late(unready(settled), 600_000), is: false },
    { name: "not when its pod is Ready", given: late(wanting(NEWER), 600_000), is: false },
  ];
  for (const { name, given, is } of cases)
    test(name, () => expect(mayBeFixedByRestart(given, memberNamed(given, NAME)!)).toBe(is));
});
