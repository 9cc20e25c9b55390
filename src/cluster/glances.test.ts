import { describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { noIdentities } from "#certificates/dial.ts";
import { Glances } from "#cluster/glances.ts";
import type { ClusterReads } from "#cluster/observe.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { EndpointStatus, MemberId, MemberList } from "#etcd/types.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { etcdUser } from "#kit/access.ts";
import { calm, cluster, endpointStatus, LATER_ID } from "#kit/cluster.ts";
import { withAuth } from "#kit/cluster-auth.ts";
import { MONITOR } from "#kit/cluster-monitoring.ts";
import { etcdBackup } from "#kit/etcd-backup.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import { etcdBackupSchedule } from "#kit/schedule.ts";
import type { KubeObject } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const LARGE = 1_000;
const SETTLED: Plan<ClusterStep> = { next: "settled" };
const WHOLE = withAddresses(calm(cluster()));
const { identity } = WHOLE.cluster.status!;
const IDS = identity!.initialMembers.map(({ id }) => id);
const NAMES = identity!.initialMembers.map(({ name }) => name);
const LIST = listOf(WHOLE);

/** What there is: what caches show, what members say, what is read of Secrets. */
interface There {
  snapshot: ClusterSnapshot;
  users: readonly KubeObject[];
  others: number;
  leader: string;
  status: Partial<EndpointStatus>;
  list: MemberList;
  news: number;
  fails: OperatorError | undefined;
}

function withAddresses(snapshot: ClusterSnapshot): ClusterSnapshot {
  const pods = [...snapshot.pods].map(
    ([name, pod], n) => [name, { ...pod, status: { ...pod.status, podIP: `10.0.0.${n}` } }] as const,
  );
  return { ...snapshot, pods: new Map(pods) };
}

function listOf({ members }: ClusterSnapshot): MemberList {
  if (members.is !== "present") throw new Error("the members of a whole cluster are listed");
  return members.value;
}

function touched<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: "999" } };
}

function setup(given: Partial<There> = {}) {
  const there: There = {
    snapshot: WHOLE,
    users: [],
    others: LARGE,
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
      status: ({ address }: { address: string }) => {
        if (there.fails !== undefined) return Promise.reject(there.fails);
        asked.push(NAMES[member(address)]!);
        const status = endpointStatus(identity!.clusterID, IDS[member(address)]!, there.leader);
        return Promise.resolve({ ...status, ...there.status });
      },
      memberList: () => Promise.resolve(there.list),
    },
    identities: noIdentities,
    clock,
    get othersAtRest() {
      return there.others;
    },
  } as unknown as ClusterReads;
  const glances = new Glances({
    reads,
    certificates: { look: () => Promise.resolve(undefined), newsOf: () => there.news },
    healthLog: { settled: 0, glanced: (_, atMs) => void glanced.push(atMs) },
  });
  const glance = () => glances.glance(KEY, new AbortController().signal);
  return { there, glances, glance, asked, glanced, clock };
}

describe("glances", () => {
  test("of a cluster that nobody has looked at say nothing", async () => {
    const { glance, asked } = setup();
    expect(await glance()).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test("ask each member in its turn, four after each look, and leave the cluster alone for up to a minute", async () => {
    const { glances, glance, asked, glanced, clock } = setup();
    for (const turns of [4, 4]) {
      glances.note(WHOLE, SETTLED);
      for (let n = 0; n < turns; n++) {
        const restMs = await glance();
        expect(restMs).toBeGreaterThan(0);
        expect(restMs).toBeLessThanOrEqual(58_500);
        await clock.advance(restMs!);
      }
      expect(await glance()).toBeUndefined();
    }
    expect(asked).toEqual([1, 0, 2, 1, 1, 0, 2, 1].map((n) => NAMES[n]));
    expect(glanced).toHaveLength(8);
  });

  test("do without what a member has of its own, and a change of who is asked", async () => {
    const { there, glances, glance } = setup();
    glances.note(WHOLE, SETTLED);
    there.status = { dbSizeBytes: 1, raftIndex: 999_999, raftTerm: 7 };
    there.list = { ...LIST, members: LIST.members.toReversed(), answeredBy: memberIdFromHex(IDS[1]!), raftTerm: 7 };
    expect(await glance()).toBeDefined();
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

  const [schedule, backup] = [etcdBackupSchedule(), etcdBackup()];
  const first = <T extends KubeObject>(all: readonly T[]) => all.map((each, n) => (n === 0 ? touched(each) : each));
  const changed = (change: Partial<ClusterSnapshot>) => ({ snapshot: { ...WHOLE, ...change } });
  const CHANGES: readonly { name: string; to: Partial<There> }[] = [
    { name: "the cluster", to: changed({ cluster: touched(WHOLE.cluster) }) },
    { name: "its headless Service", to: changed({ headlessService: touched(WHOLE.headlessService!) }) },
    { name: "its client Service is gone", to: changed({ clientService: undefined }) },
    { name: "its budget", to: changed({ budget: touched(WHOLE.budget!) }) },
    { name: "a peer", to: changed({ peers: first(WHOLE.peers) }) },
    { name: "a peer is gone", to: changed({ peers: WHOLE.peers.slice(1) }) },
    { name: "a claim", to: changed({ claims: first(WHOLE.claims) }) },
    { name: "a pod", to: changed({ pods: new Map([...WHOLE.pods].map(([name, pod]) => [name, touched(pod)])) }) },
    { name: "a pod is gone", to: changed({ pods: new Map([...WHOLE.pods].slice(1)) }) },
    { name: "a schedule", to: changed({ schedules: [schedule] }) },
    { name: "a backup", to: changed({ sourceBackups: [backup] }) },
    { name: "a user", to: { users: [etcdUser()] } },
    { name: "what is read of its Secrets", to: { news: 1 } },
    { name: "the fleet is small by now", to: { others: 100 } },
    { name: "another member leads", to: { leader: IDS[1]! } },
    { name: "nobody leads", to: { status: { leaderId: undefined } } },
    { name: "it is a learner by its own word", to: { status: { isLearner: true } } },
    { name: "another member answers", to: { status: { memberId: memberIdFromHex(IDS[2]!) as MemberId } } },
    { name: "a downgrade is under way", to: { status: { downgradeTo: "3.5.0" } } },
    {
      name: "a member more is listed",
      to: { list: { ...LIST, members: [...LIST.members, { ...LIST.members[0]!, id: memberIdFromHex(LATER_ID) }] } },
    },
    { name: "a member less is listed", to: { list: { ...LIST, members: LIST.members.slice(0, 2) } } },
    {
      name: "a member is listed at another address",
      to: {
        list: { ...LIST, members: LIST.members.map((each) => ({ ...each, peerUrls: ["http://elsewhere:2380"] })) },
      },
    },
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

  const aside = [{ rule: "no-space", because: "it is full", is: "remark" }] as const;
  const planned = { ...WHOLE.cluster.status!, plan: {} } as never;
  const LOOKED: readonly { name: string; snapshot?: ClusterSnapshot; plan?: Plan<ClusterStep>; others?: number }[] = [
    {
      name: "something is waited for",
      plan: { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false },
    },
    { name: "something is said", plan: { next: "settled", aside } },
    { name: "it is not at rest", snapshot: withAddresses(cluster({ down: ["my-etcd-1"] })) },
    { name: "a PodMonitor is read", snapshot: { ...WHOLE, podMonitor: { is: "present", value: MONITOR } } },
    { name: "users are read", snapshot: withAuth(WHOLE) },
    { name: "an edit is foretold", snapshot: { ...WHOLE, cluster: { ...WHOLE.cluster, status: planned } } },
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
});
