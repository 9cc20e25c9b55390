import { expect, test } from "vitest";
import { present, unknown } from "#base/observed.ts";
import { HealthLog } from "#cluster/health-log.ts";
import { type ClusterReads, observeCluster } from "#cluster/observe.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { cluster, endpointStatus, unpublished } from "#kit/cluster.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import type { CacheView } from "#runtime/controller.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const settled = cluster();
const ids = settled.cluster.status!.identity!.initialMembers.map(({ id }) => id);

function view<T extends { metadata: { name: string } }>(items: readonly T[]): CacheView<T> {
  return { get: ({ name }) => items.find(({ metadata }) => metadata.name === name), byIndex: () => items };
}

interface Given {
  /** Whether the last of them is a learner. */
  readonly isLearner?: boolean;
  /** The client port of this one is silent. */
  readonly silent?: number;
  readonly from?: ClusterSnapshot;
}

/** What is seen when the members follow these leaders; `undefined`: none. */
async function seenWith(leaders: readonly (string | undefined)[], given: Given = {}): Promise<ClusterSnapshot> {
  const pods = [...settled.pods.values()].map((pod, i) => ({
    ...pod,
    status: { ...pod.status, podIP: `10.0.0.${i}` },
  }));
  const { clusterID } = settled.cluster.status!.identity!;
  const reads: ClusterReads = {
    clusters: view([(given.from ?? settled).cluster]),
    peers: view(settled.peers),
    services: view([]),
    budgets: view([]),
    claims: view(settled.claims),
    pods: view(pods),
    etcd: {
      probe: ({ address }: { address: string }) => {
        const i = Number(address.slice("10.0.0.".length, -":2379".length));
        if (i === given.silent) return Promise.resolve(unknown("it is silent"));
        const status = endpointStatus(clusterID, ids[i]!, leaders[i]);
        return Promise.resolve(present({ ...status, isLearner: given.isLearner === true && i === 2 }));
      },
      health: (address: string) =>
        Promise.resolve(present(memberIdFromHex(ids[Number(address.at("10.0.0.".length))]!))),
      memberList: () => Promise.resolve(settled.members.is === "present" ? settled.members.value : undefined),
    } as unknown as ClusterReads["etcd"],
    clock: new FakeClock(),
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

test("observe: the health of a later member is asked for when its client port is silent", async () => {
  const from = unpublished(settled, "my-etcd-2");
  const seen = await seenWith([ids[0], ids[0], ids[0]], { silent: 2, from });
  expect(seen.unpublished).toEqual(new Map([["my-etcd-2", memberIdFromHex(ids[2]!)]]));
  expect(seen.endpoints.get("my-etcd-2")?.is).toBe("unknown");
});

test("observe: that of a first member is not: another cluster may have been formed with its ID", async () => {
  expect((await seenWith([ids[0], ids[0], ids[0]], { silent: 2 })).unpublished.size).toBe(0);
});
