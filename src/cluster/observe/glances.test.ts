import { describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { etcdUser } from "#kit/snapshots/access.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { glancing, LARGE, type There } from "#kit/snapshots/cluster-glanced.ts";
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
import type { Plan } from "#runtime/decide.ts";
import { Glances } from "./glances.ts";
import { settledMs } from "./rest.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const SETTLED: Plan<ClusterStep> = { next: "settled" };
function setup(given: Partial<There> = {}) {
  const { there, reads, asked, clock } = glancing(given);
  const glanced: number[] = [];
  const looked: string[] = [];
  const glances = new Glances({
    reads,
    certificates: {
      look: ({ metadata }) => {
        looked.push(metadata.name);
        return Promise.resolve(undefined);
      },
      newsOf: () => there.news,
    },
    healthLog: { settled: 0, glanced: (_, atMs) => void glanced.push(atMs) },
  });
  const glance = () => glances.glance(KEY, new AbortController().signal);
  return { there, glances, glance, asked, glanced, looked, clock };
}

describe("quick checks", () => {
  test("dial each member in turn, four after each observation, and then leave the cluster until its turn", async () => {
    const { glances, glance, asked, glanced, looked, clock } = setup();
    for (const turns of [4, 4]) {
      glances.note(WHOLE, SETTLED);
      for (let n = 0; n < turns; n++) {
        const nowMs = clock.monotonicMs();
        expect(await glance()).toBe(settledMs(WHOLE.cluster, LARGE, nowMs));
        await clock.advance(settledMs(WHOLE.cluster, LARGE, nowMs));
      }
      expect(await glance()).toBeUndefined();
    }
    expect(asked).toEqual([0, 1, 2, 0, 1, 2, 0, 1].map((n) => NAMES[n]));
    expect(glanced).toHaveLength(8);
    expect(looked).toHaveLength(8);
  });

  test("end at the first difference, until the cluster has been observed", async () => {
    const { there, glances, glance } = setup();
    glances.note(WHOLE, SETTLED);
    there.status = { alarms: [{ memberId: undefined, type: "NOSPACE" }] };
    expect(await glance()).toBeUndefined();
    there.status = {};
    expect(await glance()).toBeUndefined();
    glances.note(WHOLE, SETTLED);
    expect(await glance()).toBeDefined();
  });

  const CHANGES: readonly { name: string; to: Partial<There> }[] = [
    { name: "an object in a cache", to: { snapshot: { ...WHOLE, budget: touched(WHOLE.budget!) } } },
    { name: "a user", to: { users: [etcdUser()] } },
    { name: "news about its Secrets", to: { news: 1 } },
    { name: "a small fleet", to: { others: 100 } },
    { name: "a new leader", to: { leader: IDS[1]! } },
    { name: "a member less in the list", to: { list: { ...LIST, members: LIST.members.slice(0, 2) } } },
    { name: "no answer", to: { fails: new OperatorError("EtcdUnavailable", "no answer") } },
    { name: "a refusal", to: { fails: new OperatorError("EtcdRejected", "no leader") } },
    { name: "an answer of another cluster", to: { fails: new OperatorError("EtcdWrongCluster", "it is another one") } },
  ];
  test.each(CHANGES)("request an observation after a change: $name", async ({ to }) => {
    const { there, glances, glance, glanced } = setup();
    glances.note(WHOLE, SETTLED);
    Object.assign(there, to);
    expect(await glance()).toBeUndefined();
    expect(glanced).toEqual([]);
  });

  test("end with the pass", async () => {
    const fails = new OperatorError("Cancelled", "the pass is over");
    const { glances, glance } = setup({ fails });
    glances.note(WHOLE, SETTLED);
    await expect(glance()).rejects.toBe(fails);
  });

  const LOOKED: readonly { name: string; snapshot?: ClusterSnapshot; plan?: Plan<ClusterStep>; others?: number }[] = [
    {
      name: "a condition is waited for",
      plan: { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false },
    },
    { name: "it is not at rest", snapshot: withAddresses(cluster({ down: ["my-etcd-1"] })) },
    { name: "the fleet is small", others: 289 },
  ];
  test.each(LOOKED)(
    "do not follow an observation while $name",
    async ({ snapshot = WHOLE, plan = SETTLED, others = LARGE }) => {
      const { there, glances, glance } = setup({ snapshot, others });
      glances.note(snapshot, plan);
      there.others = LARGE;
      expect(await glance()).toBeUndefined();
    },
  );

  test("follow an observation in a fleet with observations a minute apart", async () => {
    const { glances, glance } = setup({ others: 290 });
    glances.note(WHOLE, SETTLED);
    expect(await glance()).toBeDefined();
  });

  const START = { others: 0, fleet: 290 };
  test("at the start of the process rely on the recorded status once", async () => {
    const { glance, asked, clock } = setup(START);
    expect(await glance()).toBe(settledMs(WHOLE.cluster, START.fleet, clock.monotonicMs()));
    expect(await glance()).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  test("at the start of the process use the number of clusters known to be at rest, if larger", async () => {
    const { glance, clock } = setup({ others: LARGE, fleet: 0 });
    expect(await glance()).toBe(settledMs(WHOLE.cluster, LARGE, clock.monotonicMs()));
  });

  test("at the start of the process may be repeated when the cluster was gone in between", async () => {
    const { there, glance } = setup(START);
    expect(await glance()).toBeDefined();
    there.snapshot = { ...WHOLE, cluster: { ...WHOLE.cluster, metadata: { ...WHOLE.cluster.metadata, name: "gone" } } };
    expect(await glance()).toBeUndefined();
    there.snapshot = WHOLE;
    expect(await glance()).toBeDefined();
  });

  test("do not follow an observation that was not noted", async () => {
    const { there, glances, glance } = setup({ ...START, fleet: LARGE });
    glances.note(WHOLE, { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false });
    there.others = LARGE;
    expect(await glance()).toBeUndefined();
  });

  const pods = [...WHOLE.pods].map(([name, { status, ...pod }]) => {
    const { podIP: _, ...rest } = status!;
    return [name, { ...pod, status: rest }] as const;
  });
  const withoutAddresses = { ...WHOLE, pods: new Map(pods) };
  const AMISS: readonly { name: string; given: Partial<There> }[] = [
    { name: "a small fleet", given: { fleet: 289 } },
    { name: "a wrong condition is recorded", given: { snapshot: withCondition("Degraded", "True") } },
    { name: "a pod is not ready", given: { snapshot: withLastPod(unready) } },
    { name: "a new leader", given: { leader: IDS[1]! } },
    { name: "a pod has no address", given: { snapshot: withoutAddresses } },
    { name: "it has users", given: { users: [etcdUser()] } },
  ];
  test.each(AMISS)("at the start of the process request an observation: $name", async ({ given }) => {
    const { glance } = setup({ ...START, ...given });
    expect(await glance()).toBeUndefined();
  });
});
