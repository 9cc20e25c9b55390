import { expect, test } from "vitest";
import { present, unknown } from "#base/observed.ts";
import { HealthLog } from "#cluster/health-log.ts";
import { type ClusterReads, observeCluster } from "#cluster/observe.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { cluster, endpointStatus } from "#kit/cluster.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import type { CacheView } from "#runtime/controller.ts";

const clock = new FakeClock();
/** The health checks that were asked for. */
const asked: string[] = [];
const KEY = { namespace: "foo", name: "my-etcd" };
const settled = cluster();
const ids = settled.cluster.status!.identity!.initialMembers.map(({ id }) => id);

function view<T extends { metadata: { name: string } }>(items: readonly T[]): CacheView<T> {
  return { get: ({ name }) => items.find(({ metadata }) => metadata.name === name), byIndex: () => items };
}

interface Given {
  /** Whether the last of them is a learner. */
  readonly isLearner?: boolean;
  /** Whether the client port of the last of them is closed, and after how long that is found out. */
  readonly refusesAfterMs?: number;
  /** Whether the pod of the last of them is not ready. */
  readonly isUnready?: boolean;
}

/** What is seen when the members follow these leaders; `undefined`: none. */
async function seenWith(leaders: readonly (string | undefined)[], given: Given = {}): Promise<ClusterSnapshot> {
  const pods = [...settled.pods.values()].map((pod, i) => ({
    ...pod,
    status: {
      ...pod.status,
      podIP: `10.0.0.${i}`,
      ...(given.isUnready === true && i === 2 ? { conditions: [] } : {}),
    },
  }));
  const { clusterID } = settled.cluster.status!.identity!;
  const reads: ClusterReads = {
    clusters: view([settled.cluster]),
    peers: view(settled.peers),
    services: view([]),
    budgets: view([]),
    claims: view(settled.claims),
    pods: view(pods),
    etcd: {
      probe: async ({ address }: { address: string }, { deadlineMs = 0 }: { deadlineMs?: number }) => {
        const i = Number(address.slice("10.0.0.".length, -":2379".length));
        const status = endpointStatus(clusterID, ids[i]!, leaders[i]);
        if (i < 2 || given.refusesAfterMs === undefined)
          return present({ ...status, isLearner: given.isLearner === true && i === 2 });
        await clock.advance(Math.min(given.refusesAfterMs, deadlineMs));
        return unknown("connection refused");
      },
      health: (address: string, { deadlineMs = 0 }: { deadlineMs?: number }) => {
        asked.push(`${address} within ${deadlineMs} ms`);
        return Promise.resolve(present(memberIdFromHex(ids[2]!)));
      },
      memberList: () => Promise.resolve(settled.members.is === "present" ? settled.members.value : undefined),
    } as unknown as ClusterReads["etcd"],
    clock,
    replaceAfterMs: 0,
  };
  const seen = await observeCluster(reads, new HealthLog(), KEY, AbortSignal.timeout(1_000));
  if (seen.is !== "present") throw new Error("the cluster is there");
  return seen.value;
}

test("observe: members that follow one leader are asked for the list", async () => {
  expect((await seenWith([ids[0], ids[0], undefined])).members.is).toBe("present");
});

test("observe: while members follow different leaders nobody's list is believed", async () => {
  const { members } = await seenWith([ids[0], ids[1], ids[1]]);
  expect(members).toEqual({ is: "unknown", why: "members of the cluster follow different leaders" });
});

test("observe: a learner that was cut off keeps its old leader for ever, and says nothing about who leads", async () => {
  expect((await seenWith([ids[0], ids[0], ids[1]], { isLearner: true })).members.is).toBe("present");
});

test("observe: whose client port is closed is asked for its health, in what is left of its time", async () => {
  asked.length = 0;
  const { unpublished } = await seenWith([ids[0], ids[0], ids[0]], { refusesAfterMs: 300 });
  expect(asked).toEqual(["10.0.0.2:2381 within 700 ms"]);
  expect(unpublished).toEqual(new Map([["my-etcd-2", memberIdFromHex(ids[2]!)]]));
});

test("observe: whose pod is not ready gets little time before its health is asked for: it may be silent for long", async () => {
  asked.length = 0;
  const { unpublished } = await seenWith([ids[0], ids[0], ids[0]], { isUnready: true, refusesAfterMs: 7_000 });
  expect(asked).toEqual(["10.0.0.2:2381 within 950 ms"]);
  expect(unpublished.size).toBe(1);
});

test("observe: who has used its time up is not asked again, nor is who answers", async () => {
  asked.length = 0;
  expect((await seenWith([ids[0], ids[0], ids[0]], { refusesAfterMs: 1_000 })).unpublished.size).toBe(0);
  await seenWith([ids[0], ids[0], ids[0]]);
  expect(asked).toEqual([]);
});
