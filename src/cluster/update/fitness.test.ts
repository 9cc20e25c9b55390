import { describe, expect, test } from "vitest";
import { memberNamed } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { ALWAYS_WELL, cluster, unpublished } from "#kit/snapshots/cluster.ts";
import {
  madeFrom,
  NEWER,
  saying,
  UNREADY_BESIDE,
  wanting,
  withoutPod,
  withPod,
} from "#kit/snapshots/cluster-rolling.ts";
import { missingReadiness } from "./fitness.ts";
import { mayBeFixedByRestart } from "./rolling.ts";

const NAME = "my-etcd-2";
const settled = cluster();
const going = { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } };
const unready = (given: ClusterSnapshot) => withPod(given, NAME, UNREADY_BESIDE);
const saidOfEtcd = (containerStatuses: readonly object[]) =>
  withPod(unready(settled), NAME, { status: { containerStatuses } });

describe("missingReadiness", () => {
  const cases: { name: string; given: ClusterSnapshot; is: ReturnType<typeof missingReadiness> }[] = [
    {
      name: "is beside etcd when the etcd container is ready and the pod is not Ready",
      given: unready(settled),
      is: "beside etcd",
    },
    {
      name: "is of etcd when the etcd container is not ready",
      given: saidOfEtcd([{ name: "etcd", ready: false, state: { running: {} } }]),
      is: "of etcd",
    },
    {
      name: "is of etcd when the etcd container is not ready and its sidecar is",
      given: saidOfEtcd([
        { name: "etcd", ready: false },
        { name: "agent", ready: true },
      ]),
      is: "of etcd",
    },
    { name: "is of etcd when the pod has no status of the etcd container", given: saidOfEtcd([]), is: "of etcd" },
    { name: "is undefined when the pod is Ready", given: settled, is: undefined },
    { name: "is undefined when the member does not answer", given: unready(cluster({ down: [NAME] })), is: undefined },
    {
      name: "is undefined when the member serves no clients",
      given: unready(unpublished(settled, NAME)),
      is: undefined,
    },
    { name: "is undefined without a pod", given: withoutPod(settled, NAME), is: undefined },
    { name: "is undefined with a terminating pod", given: withPod(unready(settled), NAME, going), is: undefined },
    {
      name: "is undefined when the member is more than 1,000 raft entries behind",
      given: saying(unready(settled), "my-etcd-0", { raftIndex: 1_011 }),
      is: undefined,
    },
    {
      name: "is beside etcd when the member is at most 1,000 raft entries behind",
      given: saying(unready(settled), "my-etcd-0", { raftIndex: 1_010 }),
      is: "beside etcd",
    },
    {
      name: "is undefined when the pod has no recorded revision",
      given: madeFrom(unready(settled), NAME, undefined),
      is: undefined,
    },
  ];
  for (const { name, given, is } of cases)
    test(name, () => expect(missingReadiness(given, memberNamed(given, NAME)!)).toBe(is));
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
