import { describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { noIdentities } from "#certificates/dial.ts";
import { Glances } from "#cluster/glances.ts";
import type { ClusterReads } from "#cluster/observe.ts";
import { settledMs } from "#cluster/rest.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { CallOptions } from "#etcd/client.ts";
import { clusterIdFromHex, type EndpointStatus, type MemberList } from "#etcd/types.ts";
import { etcdUser } from "#kit/access.ts";
import { cluster, endpointStatus } from "#kit/cluster.ts";
import {
  IDENTITY,
  IDS,
  LIST,
  NAMES,
  touched,
  unready,
  WHOLE,
  withAddresses,
  withCondition,
  withLastPod,
} from "#kit/cluster-rested.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import type { KubeObject } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const LARGE = 1_000;
const SETTLED: Plan<ClusterStep> = { next: "settled" };
type ListOptions = CallOptions & { readonly linearizable: boolean };
const OF_THIS_CLUSTER = { expectedClusterId: clusterIdFromHex(IDENTITY.clusterID), deadlineMs: 1_000 };

/** What there is: what caches show, what members say, what is read of Secrets. */
interface There {
  snapshot: ClusterSnapshot;
  users: readonly KubeObject[];
  others: number;
  fleet: number;
  leader: string;
  status: Partial<EndpointStatus>;
  list: MemberList;
  news: number;
  fails: OperatorError | undefined;
}

function setup(given: Partial<There> = {}) {
  const there: There = {
    snapshot: WHOLE,
    users: [],
    others: LARGE,
    fleet: 0,
    leader: IDS[0]!,
    status: {},
    list: LIST,
    news: 0,
    fails: undefined,
    ...given,
  };
  const clock = new FakeClock();
  const asked: string[] = [];
  const glanced: number[] = [];
  const looked: string[] = [];
  const one = (object: () => KubeObject | undefined) => ({
    get: ({ name }: { name: string }) => (object()?.metadata.name === name ? object() : undefined),
  });
  const several = (objects: () => Iterable<KubeObject>) => ({ byIndex: () => [...objects()] });
  const member = (address: string) => Number(address.slice("10.0.0.".length, -":2379".length));
  const reads = {
    clusters: one(() => there.snapshot.cluster),
    services: {
      get: ({ name }: { name: string }) =>
        [there.snapshot.headlessService, there.snapshot.clientService].find((each) => each?.metadata.name === name),
    },
    budgets: one(() => there.snapshot.budget),
    networkPolicies: one(() => there.snapshot.networkPolicy),
    restores: one(() => there.snapshot.restore),
    schedules: several(() => there.snapshot.schedules),
    backups: several(() => there.snapshot.sourceBackups),
    peers: several(() => there.snapshot.peers),
    claims: several(() => there.snapshot.claims),
    pods: several(() => there.snapshot.pods.values()),
    users: several(() => there.users),
    etcd: {
      status: ({ address }: { address: string }, { expectedClusterId, deadlineMs }: CallOptions) => {
        expect({ expectedClusterId, deadlineMs }).toEqual(OF_THIS_CLUSTER);
        if (there.fails !== undefined) return Promise.reject(there.fails);
        asked.push(NAMES[member(address)]!);
        const status = endpointStatus(IDENTITY.clusterID, IDS[member(address)]!, there.leader);
        return Promise.resolve({ ...status, ...there.status });
      },
      memberList: (_: unknown, { expectedClusterId, deadlineMs, linearizable }: ListOptions) => {
        expect({ expectedClusterId, deadlineMs, linearizable }).toEqual({ ...OF_THIS_CLUSTER, linearizable: true });
        return Promise.resolve(there.list);
      },
    },
    identities: noIdentities,
    clock,
    fleetSize: () => there.fleet,
    get othersAtRest() {
      return there.others;
    },
  } as unknown as ClusterReads;
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

describe("glances", () => {
  test("ask each member in its turn, four after each look, and leave the cluster alone until its own turn in a minute", async () => {
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

  test("end with the first thing that is not as it was, until the cluster has been looked at", async () => {
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
    { name: "something that caches know", to: { snapshot: { ...WHOLE, budget: touched(WHOLE.budget!) } } },
    { name: "a user", to: { users: [etcdUser()] } },
    { name: "what is read of its Secrets", to: { news: 1 } },
    { name: "the fleet is small by now", to: { others: 100 } },
    { name: "another member leads", to: { leader: IDS[1]! } },
    { name: "a member less is listed", to: { list: { ...LIST, members: LIST.members.slice(0, 2) } } },
    { name: "no answer", to: { fails: new OperatorError("EtcdUnavailable", "no answer") } },
    { name: "a refusal", to: { fails: new OperatorError("EtcdRejected", "no leader") } },
    { name: "another cluster answers", to: { fails: new OperatorError("EtcdWrongCluster", "it is another one") } },
  ];
  test.each(CHANGES)("see that it has to be looked at: $name", async ({ to }) => {
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
      name: "something is waited for",
      plan: { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false },
    },
    { name: "it is not at rest", snapshot: withAddresses(cluster({ down: ["my-etcd-1"] })) },
    { name: "the fleet is small", others: 289 },
  ];
  test.each(LOOKED)("follow no look while $name", async ({ snapshot = WHOLE, plan = SETTLED, others = LARGE }) => {
    const { there, glances, glance } = setup({ snapshot, others });
    glances.note(snapshot, plan);
    there.others = LARGE;
    expect(await glance()).toBeUndefined();
  });

  test("follow one in a fleet in which looks are a minute apart", async () => {
    const { glances, glance } = setup({ others: 290 });
    glances.note(WHOLE, SETTLED);
    expect(await glance()).toBeDefined();
  });

  const START = { others: 0, fleet: 290 };
  test("of a process that begins trust what is on record, once", async () => {
    const { glance, asked } = setup(START);
    const restMs = await glance();
    expect(restMs).toBeGreaterThan(0);
    expect(restMs).toBeLessThanOrEqual(58_500);
    expect(await glance()).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  test("of a process that begins come once more when the cluster was gone meanwhile", async () => {
    const { there, glance } = setup(START);
    expect(await glance()).toBeDefined();
    there.snapshot = { ...WHOLE, cluster: { ...WHOLE.cluster, metadata: { ...WHOLE.cluster.metadata, name: "gone" } } };
    expect(await glance()).toBeUndefined();
    there.snapshot = WHOLE;
    expect(await glance()).toBeDefined();
  });

  test("come after no look without having been noted, also when nothing was glanced at before", async () => {
    const { there, glances, glance } = setup({ ...START, fleet: LARGE });
    glances.note(WHOLE, { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false });
    there.others = LARGE;
    expect(await glance()).toBeUndefined();
  });

  const AMISS: readonly { name: string; given: Partial<There> }[] = [
    { name: "a small fleet", given: { fleet: 289 } },
    { name: "something is amiss on record", given: { snapshot: withCondition("Degraded", "True") } },
    { name: "a pod is not ready", given: { snapshot: withLastPod(unready) } },
    { name: "another member leads", given: { leader: IDS[1]! } },
    { name: "it has users", given: { users: [etcdUser()] } },
  ];
  test.each(AMISS)("of a process that begins see that it has to be looked at: $name", async ({ given }) => {
    const { glance } = setup({ ...START, ...given });
    expect(await glance()).toBeUndefined();
  });
});
