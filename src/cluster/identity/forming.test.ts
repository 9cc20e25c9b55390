import { expect, test } from "vitest";
import { unknown } from "#base/observed.ts";
import { awaitMembers, joinRecheckMs } from "#cluster/identity/rules/await-members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, NOW } from "#kit/snapshots/cluster.ts";
import type { KubeObject, Pod } from "#kube/kinds.ts";

const starting = cluster({ stage: "starting" });
const names = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];

/** The pods are this old, in milliseconds, and can be dialled. */
function dialled(msAgo: Readonly<Record<string, number>>): ClusterSnapshot {
  const pods = [...starting.pods].map(([name, pod]): [string, Pod] => {
    const creationTimestamp = new Date(NOW - (msAgo[name] ?? 0)).toISOString();
    return [name, { ...pod, metadata: { ...pod.metadata, creationTimestamp } }];
  });
  const endpoints = new Map(Object.keys(msAgo).map((name) => [name, unknown("no leader yet")] as const));
  return { ...starting, pods: new Map(pods), endpoints };
}

const cases: { name: string; given: ClusterSnapshot; expect: number }[] = [
  { name: "every 100 ms when a pod has just started", given: dialled({ "my-etcd-0": 0 }), expect: 100 },
  {
    name: "every two seconds when the youngest pod is 20 s old",
    given: dialled({ "my-etcd-0": 20_000 }),
    expect: 2_000,
  },
  {
    name: "every five seconds when the youngest pod is an hour old",
    given: dialled({ "my-etcd-0": 3_600_000 }),
    expect: 5_000,
  },
  {
    name: "at the rate for the youngest pod",
    given: dialled({ "my-etcd-0": 40_000, "my-etcd-1": 10_000, "my-etcd-2": 30_000 }),
    expect: 1_000,
  },
  { name: "every five seconds while no pod has an address", given: dialled({}), expect: 5_000 },
];
for (const { name, given, expect: wanted } of cases) {
  test(`await-members: rechecks ${name}`, () => {
    expect(joinRecheckMs(given, names)).toBe(wanted);
    expect(awaitMembers.decide(given)).toMatchObject({ next: "wait", recheckAfterMs: wanted });
  });
}

test.each([
  [30_000, false],
  [30_001, true],
])(
  "await-members: %d ms after the headless Service was created, warn is %s, however old the EtcdCluster is",
  (ms, warn) => {
    const at = <T extends KubeObject>(object: T, msAgo: number): T => {
      return { ...object, metadata: { ...object.metadata, creationTimestamp: new Date(NOW - msAgo).toISOString() } };
    };
    const given = {
      ...starting,
      cluster: at(starting.cluster, 3_600_000),
      headlessService: at(starting.headlessService!, ms),
    };
    expect(awaitMembers.decide(given)).toMatchObject({ warn });
  },
);

test("await-members: waits only for members that have not joined", () => {
  const identity = starting.cluster.status!.identity!;
  const initialMembers = identity.initialMembers.map((member, n) => ({ ...member, joined: n === 1 }));
  const status = { ...starting.cluster.status, identity: { ...identity, initialMembers } };
  const given = { ...dialled({ "my-etcd-0": 30_000, "my-etcd-1": 0 }) };
  expect(awaitMembers.decide({ ...given, cluster: { ...given.cluster, status } })).toMatchObject({
    because: expect.stringMatching(/^waiting for members to join: my-etcd-0: [^;]+; my-etcd-2: [^;]+$/),
    recheckAfterMs: 3_000,
  });
});
