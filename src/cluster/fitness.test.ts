import { describe, expect, test } from "vitest";
import { lackedReadiness } from "#cluster/fitness.ts";
import { memberNamed } from "#cluster/members.ts";
import { isMendedByTurn } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { ALWAYS_WELL, cluster, unpublished } from "#kit/cluster.ts";
import { madeFrom, NEWER, saying, UNREADY_BESIDE, wanting, withoutPod, withPod } from "#kit/cluster-rolling.ts";

const NAME = "my-etcd-2";
const settled = cluster();
const going = { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } };
const unready = (given: ClusterSnapshot) => withPod(given, NAME, UNREADY_BESIDE);
const saidOfEtcd = (containerStatuses: readonly object[]) =>
  withPod(unready(settled), NAME, { status: { containerStatuses } });

describe("all that the member lacks is its pod's readiness", () => {
  const cases: { name: string; given: ClusterSnapshot; is: ReturnType<typeof lackedReadiness> }[] = [
    { name: "when it is healthy, and its pod is not ready", given: unready(settled), is: "beside etcd" },
    {
      name: "when etcd itself is not ready, that of etcd: it may not acknowledge what others write",
      given: saidOfEtcd([{ name: "etcd", ready: false, state: { running: {} } }]),
      is: "of etcd",
    },
    {
      name: "also when only something beside it is",
      given: saidOfEtcd([
        { name: "etcd", ready: false },
        { name: "agent", ready: true },
      ]),
      is: "of etcd",
    },
    { name: "also when nothing is told of etcd", given: saidOfEtcd([]), is: "of etcd" },
    { name: "none when that is", given: settled, is: undefined },
    { name: "nor when it gives no answer", given: unready(cluster({ down: [NAME] })), is: undefined },
    { name: "nor when it serves no clients", given: unready(unpublished(settled, NAME)), is: undefined },
    { name: "nor when it has no pod", given: withoutPod(settled, NAME), is: undefined },
    { name: "nor when that is going", given: withPod(unready(settled), NAME, going), is: undefined },
    {
      name: "nor when it is behind",
      given: saying(unready(settled), "my-etcd-0", { raftIndex: 1_011 }),
      is: undefined,
    },
    { name: "but not much", given: saying(unready(settled), "my-etcd-0", { raftIndex: 1_010 }), is: "beside etcd" },
    {
      name: "nor when nobody knows what its pod was made from",
      given: madeFrom(unready(settled), NAME, undefined),
      is: undefined,
    },
  ];
  for (const { name, given, is } of cases)
    test(name, () => expect(lackedReadiness(given, memberNamed(given, NAME)!)).toBe(is));
});

describe("its turn may be what mends it", () => {
  const late = (given: ClusterSnapshot, ms: number): ClusterSnapshot => {
    const { id } = memberNamed(given, NAME)!;
    return { ...given, histories: new Map([[id, { ...ALWAYS_WELL, knownForMs: 0, unreadyForMs: ms }]]) };
  };
  const wanted = unready(wanting(NEWER));
  const cases: { name: string; given: ClusterSnapshot; is: boolean }[] = [
    { name: "when its pod has not been ready for long", given: late(wanted, 600_000), is: true },
    { name: "not for a while", given: late(wanted, 599_999), is: false },
    { name: "not of whom nothing has been seen", given: wanted, is: false },
    { name: "not when it runs what is wanted", given: late(unready(settled), 600_000), is: false },
    { name: "not when its pod is ready by now", given: late(wanting(NEWER), 600_000), is: false },
  ];
  for (const { name, given, is } of cases)
    test(name, () => expect(isMendedByTurn(given, memberNamed(given, NAME)!)).toBe(is));
});
