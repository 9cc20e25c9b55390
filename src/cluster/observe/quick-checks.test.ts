import { describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { etcdUser } from "#kit/snapshots/access.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import {
  IDS,
  LIST,
  NAMES,
  touched,
  unready,
  WHOLE,
  withAddresses,
  withCondition,
  withLastPod,
} from "#kit/snapshots/cluster-rested.ts";
import { LARGE, quickCheckReads, type There } from "#kit/snapshots/quick-check-reads.ts";
import type { Plan } from "#runtime/decide.ts";
import { LastChecks } from "./last-checks.ts";
import { QuickChecks } from "./quick-checks.ts";
import { settledMs } from "./rest.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const SETTLED: Plan<ClusterStep> = { next: "settled" };
function setup(given: Partial<There> = {}) {
  const { there, reads, asked, clock } = quickCheckReads(given);
  const quicklyChecked: number[] = [];
  const looked: string[] = [];
  const lastChecks = new LastChecks();
  const quickChecks = new QuickChecks({
    reads: Object.assign(reads, { lastChecks }),
    certificates: {
      look: ({ metadata }) => {
        looked.push(metadata.name);
        return Promise.resolve(undefined);
      },
      newsOf: () => there.news,
    },
    healthLog: { settled: 0, quicklyChecked: (_, atMs) => void quicklyChecked.push(atMs) },
  });
  const check = () => quickChecks.quickCheck(KEY, new AbortController().signal);
  return { there, quickChecks, check, asked, quicklyChecked, looked, lastChecks, clock };
}

describe("quick checks of clusters at rest", () => {
  test("follow each observation four times and dial the members in turn", async () => {
    const { quickChecks, check, asked, quicklyChecked, looked, clock } = setup();
    for (const turns of [4, 4]) {
      quickChecks.note(WHOLE, SETTLED);
      for (let n = 0; n < turns; n++) {
        const nowMs = clock.monotonicMs();
        expect(await check()).toBe(settledMs(WHOLE.cluster, LARGE, nowMs));
        await clock.advance(settledMs(WHOLE.cluster, LARGE, nowMs));
      }
      expect(await check()).toBeUndefined();
    }
    expect(asked).toEqual([0, 1, 2, 0, 1, 2, 0, 1].map((n) => NAMES[n]));
    expect(quicklyChecked).toHaveLength(8);
    expect(looked).toHaveLength(8);
  });

  test("record what the member answered as the last check, unless it differs", async () => {
    const { there, quickChecks, check, lastChecks, clock } = setup();
    quickChecks.note(WHOLE, SETTLED);
    there.status = { dbSizeBytes: 9 };
    await check();
    const found = {
      atMs: clock.wallMs(),
      databases: new Map([[NAMES[0], expect.objectContaining({ dbSizeBytes: 9 })]]),
    };
    expect(lastChecks.of(KEY)).toMatchObject(found);
    await clock.advance(1_000);
    there.status = { alarms: [{ memberId: undefined, type: "NOSPACE" }] };
    await check();
    expect(lastChecks.of(KEY)).toMatchObject(found);
  });

  test("end at the first difference until the cluster has been observed again", async () => {
    const { there, quickChecks, check } = setup();
    quickChecks.note(WHOLE, SETTLED);
    there.status = { alarms: [{ memberId: undefined, type: "NOSPACE" }] };
    expect(await check()).toBeUndefined();
    there.status = {};
    expect(await check()).toBeUndefined();
    quickChecks.note(WHOLE, SETTLED);
    expect(await check()).toBeDefined();
  });

  const CHANGES: readonly { name: string; to: Partial<There> }[] = [
    { name: "an object in a cache has changed", to: { snapshot: { ...WHOLE, budget: touched(WHOLE.budget!) } } },
    { name: "an EtcdUser exists", to: { users: [etcdUser()] } },
    { name: "a Secret of the cluster has changed", to: { news: 1 } },
    { name: "the fleet is small", to: { others: 100 } },
    { name: "etcd has a new leader", to: { leader: IDS[1]! } },
    { name: "etcd lists one member less", to: { list: { ...LIST, members: LIST.members.slice(0, 2) } } },
    { name: "the member does not answer", to: { fails: new OperatorError("EtcdUnavailable", "no answer") } },
    { name: "the member refuses the request", to: { fails: new OperatorError("EtcdRejected", "no leader") } },
    {
      name: "a member of another cluster answers",
      to: { fails: new OperatorError("EtcdWrongCluster", "it is another one") },
    },
  ];
  test.each(CHANGES)("request an observation when $name", async ({ to }) => {
    const { there, quickChecks, check, quicklyChecked } = setup();
    quickChecks.note(WHOLE, SETTLED);
    Object.assign(there, to);
    expect(await check()).toBeUndefined();
    expect(quicklyChecked).toEqual([]);
  });

  test("are cancelled with the pass", async () => {
    const fails = new OperatorError("Cancelled", "the pass is over");
    const { quickChecks, check } = setup({ fails });
    quickChecks.note(WHOLE, SETTLED);
    await expect(check()).rejects.toBe(fails);
  });

  const LOOKED: readonly { name: string; snapshot?: ClusterSnapshot; plan?: Plan<ClusterStep>; others?: number }[] = [
    {
      name: "the plan waits",
      plan: { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false },
    },
    { name: "the cluster is not at rest", snapshot: withAddresses(cluster({ down: ["my-etcd-1"] })) },
    { name: "the fleet is small", others: 289 },
  ];
  test.each(LOOKED)(
    "do not follow an observation when $name",
    async ({ snapshot = WHOLE, plan = SETTLED, others = LARGE }) => {
      const { there, quickChecks, check } = setup({ snapshot, others });
      quickChecks.note(snapshot, plan);
      there.others = LARGE;
      expect(await check()).toBeUndefined();
    },
  );

  test("follow an observation when 290 clusters are at rest", async () => {
    const { quickChecks, check } = setup({ others: 290 });
    quickChecks.note(WHOLE, SETTLED);
    expect(await check()).toBeDefined();
  });

  const START = { others: 0, fleet: 290 };
  test("rely on the recorded status once at the start of the process", async () => {
    const { check, asked, clock } = setup(START);
    expect(await check()).toBe(settledMs(WHOLE.cluster, START.fleet, clock.monotonicMs()));
    expect(await check()).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  test("use the number of clusters at rest at the start of the process if it is larger than the fleet", async () => {
    const { check, clock } = setup({ others: LARGE, fleet: 0 });
    expect(await check()).toBe(settledMs(WHOLE.cluster, LARGE, clock.monotonicMs()));
  });

  test("rely on the recorded status again when the cluster was gone in between", async () => {
    const { there, check } = setup(START);
    expect(await check()).toBeDefined();
    there.snapshot = { ...WHOLE, cluster: { ...WHOLE.cluster, metadata: { ...WHOLE.cluster.metadata, name: "gone" } } };
    expect(await check()).toBeUndefined();
    there.snapshot = WHOLE;
    expect(await check()).toBeDefined();
  });

  test("do not rely on the recorded status after an observation with a plan that waits", async () => {
    const { there, quickChecks, check } = setup({ ...START, fleet: LARGE });
    quickChecks.note(WHOLE, { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false });
    there.others = LARGE;
    expect(await check()).toBeUndefined();
  });

  const pods = [...WHOLE.pods].map(([name, { status, ...pod }]) => {
    const { podIP: _, ...rest } = status!;
    return [name, { ...pod, status: rest }] as const;
  });
  const withoutAddresses = { ...WHOLE, pods: new Map(pods) };
  const AMISS: readonly { name: string; given: Partial<There> }[] = [
    { name: "the fleet is small", given: { fleet: 289 } },
    { name: "the recorded condition Degraded is True", given: { snapshot: withCondition("Degraded", "True") } },
    { name: "a pod is not ready", given: { snapshot: withLastPod(unready) } },
    { name: "etcd has a new leader", given: { leader: IDS[1]! } },
    { name: "a pod has no address", given: { snapshot: withoutAddresses } },
    { name: "the cluster has EtcdUsers", given: { users: [etcdUser()] } },
  ];
  test.each(AMISS)("request an observation at the start of the process when $name", async ({ given }) => {
    const { check } = setup({ ...START, ...given });
    expect(await check()).toBeUndefined();
  });
});
