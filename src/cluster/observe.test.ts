import { expect, test } from "vitest";
import { present, unknown } from "#base/observed.ts";
import { HealthLog } from "#cluster/health-log.ts";
import { type ClusterReads, observeCluster } from "#cluster/observe.ts";
import { planCluster } from "#cluster/plan.ts";
import { Silences } from "#cluster/silences.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { type MemberId, memberIdFromHex } from "#etcd/types.ts";
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
  /** From whom the leader hears; default: it gives no answer. */
  readonly heard?: readonly number[];
  /** How often it is looked, ten seconds apart. */
  readonly looks?: number;
  readonly onProbe?: (member: number, clock: FakeClock) => Promise<void>;
}

/** What is seen when the members follow these leaders; `undefined`: none. */
async function seenWith(leaders: readonly (string | undefined)[], given: Given = {}): Promise<ClusterSnapshot> {
  const pods = [...(given.from ?? settled).pods.values()].map((pod, i) => ({
    ...pod,
    status: { ...pod.status, podIP: `10.0.0.${i}` },
  }));
  const clock = new FakeClock();
  const { clusterID } = settled.cluster.status!.identity!;
  const reads: ClusterReads = {
    clusters: view([(given.from ?? settled).cluster]),
    peers: view(settled.peers),
    services: view([settled.headlessService!, settled.clientService!]),
    budgets: view([settled.budget!]),
    claims: view(settled.claims),
    pods: view(pods),
    etcd: {
      probe: async ({ address }: { address: string }) => {
        const i = Number(address.slice("10.0.0.".length, -":2379".length));
        await given.onProbe?.(i, clock);
        if (i === given.silent) return unknown("it is silent");
        const status = endpointStatus(clusterID, ids[i]!, leaders[i]);
        return present({ ...status, isLearner: given.isLearner === true && i === 2 });
      },
      health: (address: string) =>
        Promise.resolve(present(memberIdFromHex(ids[Number(address.at("10.0.0.".length))]!))),
      heardPeers: (_address: string, { expectedMemberId: by }: { expectedMemberId: MemberId }) =>
        Promise.resolve(
          given.heard === undefined
            ? unknown("it does not tell")
            : present({ by, isLeader: true, heard: new Set(given.heard.map((n) => memberIdFromHex(ids[n]!))) }),
        ),
      memberList: () => Promise.resolve(settled.members.is === "present" ? settled.members.value : undefined),
    } as unknown as ClusterReads["etcd"],
    clock,
    replaceAfterMs: 20_000,
  };
  const memory = { healthLog: new HealthLog(), silences: new Silences(clock) };
  const look = () => observeCluster(reads, memory, KEY, AbortSignal.timeout(1_000));
  let seen = await look();
  for (let n = 1; n < (given.looks ?? 1); n++) {
    await clock.advance(10_000);
    seen = await look();
  }
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

const DOWN = { silent: 2, looks: 3, from: cluster({ down: ["my-etcd-2"] }) };

test("observe: before a member is given up the leader is asked whether it hears it", async () => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], { ...DOWN, heard: [1, 2] });
  expect(seen.heard).toEqual(new Set([ids[2]]));
  expect(planCluster(seen)).toMatchObject({ next: "wait", rule: "await-health" });
});

test("observe: whom the leader does not hear is given up", async () => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], { ...DOWN, heard: [1] });
  expect(seen.heard.size).toBe(0);
  expect(planCluster(seen)).toMatchObject({ rule: "replace-lost", step: { do: "markRemoval" } });
});

test("observe: while the leader does not tell nobody is given up", async () => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], DOWN);
  expect(planCluster(seen)).toMatchObject({ next: "wait", rule: "await-health" });
});

test("observe: nobody is asked about while there is nobody to give up", async () => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], { ...DOWN, looks: 2, heard: [1, 2] });
  expect(seen.heard.size).toBe(0);
});
