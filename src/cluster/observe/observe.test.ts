import { expect, test } from "vitest";
import { CLIENT_SCHEME_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { type Identities, noIdentities } from "#certificates/dial.ts";
import { Keyring } from "#certificates/keyring.ts";
import { AuthReads } from "#cluster/auth/reads.ts";
import { Monitoring } from "#cluster/exposure/monitoring.ts";
import { HealthLog } from "#cluster/members/health-log.ts";
import { votersToReplace } from "#cluster/members/patience.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { BindingTimes } from "#cluster-tls/read/binding-times.ts";
import { CertificateReads } from "#cluster-tls/read/reads.ts";
import { type MemberId, memberIdFromHex } from "#etcd/types.ts";
import { etcdUser } from "#kit/snapshots/access.ts";
import { claim, cluster, endpointStatus, pod, unpublished } from "#kit/snapshots/cluster.ts";
import { NEWER, wanting, withCanary, withoutPod } from "#kit/snapshots/cluster-rolling.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { etcdBackup } from "#kit/snapshots/etcd-backup.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { CacheView } from "#runtime/controller.ts";
import { Silences } from "#runtime/silences.ts";
import { LastChecks } from "./last-checks.ts";
import { type ClusterReads, observeCluster } from "./observe.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const settled = cluster();
const ids = settled.cluster.status!.identity!.initialMembers.map(({ id }) => id);

function view<T extends { metadata: { name: string } }>(items: readonly T[]): CacheView<T> {
  return { get: ({ name }) => items.find(({ metadata }) => metadata.name === name), byIndex: () => items };
}

const REFUSED = "Status: the server rejects our certificate (Secret my-etcd-operator-tls): tlsv1 alert unknown ca";

/** No test in this file has a PodMonitor. */
const never = () => Promise.reject(new Error("the API server is not asked"));

interface Given {
  /** Whether the last member is a learner. */
  readonly isLearner?: boolean;
  /** The member with a silent client port. */
  readonly silent?: number;
  /** Members that reject the operator's certificate. */
  readonly refusing?: readonly number[];
  /** The operator's certificates; default: none. */
  readonly identities?: Identities;
  readonly from?: ClusterSnapshot;
  /** Called with the name of each object that is read; none is found. */
  readonly onFind?: (name: string) => void;
  readonly schedules?: ClusterSnapshot["schedules"];
  readonly backups?: readonly EtcdBackup[];
  readonly users?: readonly EtcdUser[];
  /** Members that the leader has contact with; default: it does not answer. */
  readonly heard?: readonly number[];
  /** Number of observations, ten seconds apart. */
  readonly looks?: number;
  /** Whether connections through the client Service succeed, by attempt; the last value repeats. */
  readonly serves?: readonly boolean[];
  /** Called for each connection to the client Service. */
  readonly onService?: (address: string, deadlineMs: number) => void;
  readonly healthLog?: HealthLog | undefined;
  readonly lastChecks?: LastChecks;
  /** Whether the API server has a claim of this name that no cache shows; default: none. */
  readonly claimAt?: (name: string) => boolean;
  readonly onProbe?: (member: number, clock: FakeClock) => Promise<void>;
}

/** The last snapshot when the members follow these leaders; `undefined`: no leader. */
async function seenWith(leaders: readonly (string | undefined)[], given: Given = {}): Promise<ClusterSnapshot> {
  const pods = [...(given.from ?? settled).pods.values()].map((pod, i) => ({
    ...pod,
    status: { ...pod.status, podIP: `10.0.0.${i}` },
  }));
  const clock = new FakeClock();
  const find = ({ kind }: { kind: string }, { name }: { name: string }) => {
    if (kind === "PersistentVolumeClaim")
      return Promise.resolve(given.claimAt?.(name) === true ? present(claim(name)) : absent);
    given.onFind?.(name);
    return given.onFind === undefined ? never() : Promise.resolve(unknown("no answer"));
  };
  const kube = { find, raw: never } as unknown as ClusterReads["kube"];
  let tries = 0;
  const { clusterID } = settled.cluster.status!.identity!;
  const reads: ClusterReads = {
    clusters: view([(given.from ?? settled).cluster]),
    schedules: view(given.schedules ?? []),
    backups: view(given.backups ?? []),
    peers: view((given.from ?? settled).peers),
    services: view([settled.headlessService!, (given.from ?? settled).clientService!]),
    budgets: view([settled.budget!]),
    networkPolicies: view([]),
    restores: view([]),
    users: view(given.users ?? []),
    roles: view([]),
    claims: view(settled.claims),
    pods: view(pods),
    etcd: {
      serves: ({ address }: { address: string }, { deadlineMs }: { deadlineMs: number }) => {
        given.onService?.(address, deadlineMs);
        const serves = given.serves?.[Math.min(tries++, given.serves.length - 1)] ?? true;
        return Promise.resolve(serves ? present(true) : unknown("connect: refused"));
      },
      probe: async ({ address }: { address: string }) => {
        const i = Number(address.slice("10.0.0.".length, -":2379".length));
        await given.onProbe?.(i, clock);
        if (given.refusing?.includes(i)) return unknown(REFUSED);
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
    identities: given.identities ?? noIdentities,
    clock,
    kube,
    replaceAfterMs: 20_000,
    memberTimeoutMs: 600_000,
    rereadWithinMs: 200_000,
    operatorNamespace: "etcd-operator-system",
    ...(given.lastChecks === undefined ? {} : { lastChecks: given.lastChecks }),
  };
  const monitoring = new Monitoring(kube, clock);
  const certificates = new CertificateReads(kube, clock, new Keyring());
  const auth = new AuthReads(reads);
  const bindings = new BindingTimes(clock);
  const { healthLog = new HealthLog() } = given;
  const memory = { auth, healthLog, silences: new Silences(clock, "etcd"), monitoring, certificates, bindings };
  const look = async () => {
    const seen = observeCluster(reads, memory, KEY, new AbortController().signal);
    if (given.serves !== undefined) await clock.advance(5_000); // time between two attempts
    return await seen;
  };
  let seen = await look();
  for (let n = 1; n < (given.looks ?? 1); n++) {
    await clock.advance(10_000);
    seen = await look();
  }
  if (seen.is !== "present") throw new Error("the cluster is there");
  return seen.value;
}

test("observe: what the members answer is recorded as the last check", async () => {
  const lastChecks = new LastChecks();
  const { takenAtMs } = await seenWith([ids[0], ids[0], ids[0]], { lastChecks, silent: 1 });
  const { atMs, databases } = lastChecks.of(KEY)!;
  expect(atMs).toBe(takenAtMs);
  expect([...databases.keys()]).toEqual(["my-etcd-0", "my-etcd-2"]);
});

test("observe: members that follow one leader are asked for the member list", async () => {
  expect((await seenWith([ids[0], ids[0], undefined])).members.is).toBe("present");
});

test("observe: the member list is unknown while members follow different leaders", async () => {
  const { members } = await seenWith([ids[0], ids[1], ids[1]]);
  expect(members).toEqual({ is: "unknown", why: "members of the cluster follow different leaders" });
});

test("observe: the member list is read although a learner follows a different leader", async () => {
  expect((await seenWith([ids[0], ids[0], ids[1]], { isLearner: true })).members.is).toBe("present");
});

test("observe: a later member with a silent client port is asked for its health", async () => {
  const from = unpublished(settled, "my-etcd-2");
  const seen = await seenWith([ids[0], ids[0], ids[0]], { silent: 2, from });
  expect(seen.unpublished).toEqual(new Map([["my-etcd-2", memberIdFromHex(ids[2]!)]]));
  expect(seen.endpoints.get("my-etcd-2")?.is).toBe("unknown");
});

test("observe: an initial member with a silent client port is not asked for its health", async () => {
  expect((await seenWith([ids[0], ids[0], ids[0]], { silent: 2 })).unpublished.size).toBe(0);
});

const DOWN = { silent: 2, looks: 3, from: cluster({ down: ["my-etcd-2"] }) };

test("observe: a member with raft traffic to the leader is not replaced", async () => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], { ...DOWN, heard: [1, 2] });
  expect(seen.heard).toEqual(new Set([ids[2]]));
  expect(planCluster(seen)).toMatchObject({ next: "wait", rule: "await-health" });
});

test("observe: a lost member without raft traffic to the leader is replaced", async () => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], { ...DOWN, heard: [1] });
  expect(seen.heard.size).toBe(0);
  expect(planCluster(seen)).toMatchObject({ rule: "replace-lost", step: { do: "markRemoval" } });
});

test("observe: no member is replaced while the leader is a foreign member", async () => {
  const seen = await seenWith(["f00", "f00", "f00"], { ...DOWN, heard: [1] });
  expect(planCluster(seen)).toMatchObject({ next: "wait" });
  expect(seen.heard).toEqual(new Set([ids[2]]));
});

test("observe: no member is replaced while the leader does not report its raft traffic", async () => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], DOWN);
  expect(planCluster(seen)).toMatchObject({ next: "wait", rule: "await-health" });
});

test("observe: the leader is not asked for its raft traffic while no member is due for replacement", async () => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], { ...DOWN, looks: 2, heard: [1, 2] });
  expect(seen.heard.size).toBe(0);
});

/** All members run, and the operator does not reach the client port of the leader. */
const LEADER_UNREACHED = { silent: 0, looks: 3, from: cluster({ down: ["my-etcd-0"] }) };

test.each([
  ["when its metrics port lists the other members", { ...LEADER_UNREACHED, heard: [1, 2] }],
  ["when its metrics port lists no member", { ...LEADER_UNREACHED, heard: [] }],
  ["when its metrics port is silent", LEADER_UNREACHED],
])("observe: a leader with a silent client port is not replaced %s", async (_, given) => {
  const seen = await seenWith([ids[0], ids[0], ids[0]], given);
  expect(seen.heard).toEqual(new Set([ids[0]]));
  expect(planCluster(seen)).toMatchObject({ next: "wait", rule: "await-health" });
});

const LEADERS = [ids[0], ids[0], ids[0]];

/** The last member restarted with an update, which may take 20 s, and no cache shows its address. */
const hasty = { updateStrategy: { type: "RollingUpdate", memberTimeout: "20s" } } as const;
const tried = withCanary(wanting(NEWER, { spec: hasty }), "my-etcd-2");
const UNSEEN = { looks: 3, from: withoutPod(tried, "my-etcd-2") };

test("observe: a canary that was never dialled is not rolled back while it has raft traffic to the leader", async () => {
  const heard = await seenWith(LEADERS, { ...UNSEEN, heard: [1, 2] });
  expect(heard.heard).toEqual(new Set([ids[2]]));
  expect(planCluster(heard)).toMatchObject({ next: "wait", rule: "update-member" });
  // The leader is not asked before the time is over.
  expect((await seenWith(LEADERS, { ...UNSEEN, looks: 2, heard: [1, 2] })).heard.size).toBe(0);
});

test.each([
  ["when it has no raft traffic to the leader", { ...UNSEEN, heard: [1] }],
  ["when the leader does not report its raft traffic", UNSEEN],
  [
    "when it was dialled, although it has raft traffic to the leader",
    { ...UNSEEN, from: tried, silent: 2, heard: [1, 2] },
  ],
])("observe: the canary is rolled back %s", async (_, given) => {
  const seen = await seenWith(LEADERS, given);
  expect(seen.heard.size).toBe(0);
  expect(planCluster(seen)).toMatchObject({ rule: "stop-update", step: { do: "stopUpdate", name: "my-etcd-2" } });
});

// A rejected certificate is no evidence of a member's health. Here no pod is Ready, the leader has no contact to any
// member, and observations last twenty times the replacement time.
const ALL = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const unready = ALL.map((name) => [name, pod(name, { ready: false })] as const);
const MUTE = { heard: [], looks: 40, from: { ...settled, pods: new Map(unready) } };

/** The snapshot in which members use TLS. */
function overTls(from: ClusterSnapshot): ClusterSnapshot {
  const pods = [...from.pods].map(([name, given]) => {
    const annotations = { ...given.metadata.annotations, [CLIENT_SCHEME_ANNOTATION]: "https" };
    return [name, { ...given, metadata: { ...given.metadata, annotations } }] as const;
  });
  return { ...from, pods: new Map(pods) };
}

test("observe: no member is replaced when all members reject the operator's certificate", async () => {
  const seen = await seenWith(LEADERS, { ...MUTE, refusing: [0, 1, 2] });
  expect([...seen.endpoints.values()]).toEqual(ALL.map(() => unknown(REFUSED)));
  expect(seen.members.is).toBe("unknown");
  expect(votersToReplace(seen)).toEqual([]);
  const plan = planCluster(seen);
  expect(plan.next).toBe("wait");
  expect(clusterStatus(seen, plan).members?.map(({ message }) => message)).toEqual(ALL.map(() => REFUSED));
});

test("observe: without an operator certificate no member with TLS is dialled or replaced", async () => {
  const onProbe = () => Promise.reject(new Error("it was asked"));
  const seen = await seenWith(LEADERS, { ...MUTE, from: overTls(MUTE.from), onProbe });
  expect(seen.endpoints.get("my-etcd-1")).toMatchObject({
    is: "unknown",
    why: expect.stringContaining("requires TLS"),
  });
  expect(votersToReplace(seen)).toEqual([]);
  expect(planCluster(seen).next).toBe("wait");
});

test("observe: a member that rejects the operator's certificate is replaced only without Ready pod and raft traffic", async () => {
  const refusing = [2];
  expect(votersToReplace(await seenWith(LEADERS, { ...MUTE, from: settled, refusing }))).toEqual([]);
  const heard = await seenWith(LEADERS, { ...MUTE, heard: [1, 2], refusing });
  expect(planCluster(heard)).toMatchObject({ next: "wait", rule: "await-health" });
  // A member that is neither is lost, whatever its certificate.
  const alone = await seenWith(LEADERS, { ...MUTE, heard: [1], refusing });
  expect(votersToReplace(alone).map(({ name }) => name)).toEqual(["my-etcd-2"]);
});

test("observe: with an operator certificate members with TLS and the client Service are dialled", async () => {
  const identity = { ca: "ca", cert: "cert", key: "key" };
  const from = overTls(almostReady("False"));
  const identities: Identities = { identityOf: ({ name }) => (name === KEY.name ? identity : undefined) };
  const seen = await seenWith(LEADERS, { from, identities });
  expect(seen.members.is).toBe("present");
  expect(seen.throughService).toEqual(present(true));
  expect((await seenWith(LEADERS, { from })).throughService).toBeUndefined();
});

test("observe: with TLS the snapshot has the bindings of EtcdUsers and how long they are known", async () => {
  const user = etcdUser({ status: { binding: { name: "app-binding", trusts: ["a"] } } });
  const given = { users: [user], looks: 3, onFind: () => undefined };
  const { certificates } = await seenWith(LEADERS, { ...given, from: secured() });
  expect(certificates?.bindings).toMatchObject([{ user: "app", trustIds: ["a"], knownForMs: 20_000 }]);
  expect((await seenWith(LEADERS, given)).certificates).toBeUndefined();
});

test("observe: certificates are still read after spec.tls was removed", async () => {
  const secure = secured();
  const { tls: _, ...spec } = secure.cluster.spec;
  const found: string[] = [];
  const from = { ...secure, cluster: { ...secure.cluster, spec } };
  const { certificates } = await seenWith(LEADERS, { from, onFind: (name) => found.push(name) });
  expect(found.sort()).toEqual([
    "my-etcd-ca",
    "my-etcd-client",
    "my-etcd-operator-tls",
    "my-etcd-peer-tls",
    "my-etcd-server-tls",
  ]);
  expect(certificates?.operator).toEqual(unknown("no answer"));
});

/** A cluster that lacks only its status; its client Service has an address. */
function almostReady(ready: "True" | "False", generation = 1): ClusterSnapshot {
  const condition = { type: "Ready", status: ready, reason: "PodsNotReady", message: "", lastTransitionTime: "" };
  const { cluster: object, clientService } = settled;
  const status = { ...object.status, conditions: [{ ...condition, observedGeneration: generation }] };
  const service = { ...clientService!, spec: { ...clientService!.spec, clusterIP: "10.96.0.7" } };
  return { ...settled, cluster: { ...object, status }, clientService: service };
}

async function connectionsOf(given: Given): Promise<readonly string[]> {
  const connections: string[] = [];
  await seenWith(LEADERS, { ...given, onService: (address) => connections.push(address) });
  return connections;
}

test("observe: the client Service is dialled before a cluster becomes Ready", async () => {
  const given = { from: almostReady("False") };
  expect(await connectionsOf(given)).toEqual(["10.96.0.7:2379"]);
  expect((await seenWith(LEADERS, given)).throughService).toEqual(present(true));
});

test("observe: the client Service is dialled repeatedly for three seconds", async () => {
  const given = { from: almostReady("False") };
  expect((await seenWith(LEADERS, { ...given, serves: [false, false, true] })).throughService).toEqual(present(true));
  expect((await seenWith(LEADERS, { ...given, serves: [false] })).throughService).toEqual(unknown("connect: refused"));
  const tries = await connectionsOf({ ...given, serves: [false] });
  expect(tries.length).toBe(6); // refused at once, the pauses are 50, 100, 200, 400 and 800 ms
});

test("observe: the client Service of a Ready cluster is dialled only after an edit", async () => {
  expect(await connectionsOf({ from: almostReady("True") })).toEqual([]);
  expect(await connectionsOf({ from: almostReady("True", 0) })).toHaveLength(1);
});

test("observe: the client Service is not dialled while a pod is not Ready or a step is pending", async () => {
  const from = almostReady("False");
  const unready = pod("my-etcd-1", { ready: false });
  expect(await connectionsOf({ from: { ...from, pods: new Map(from.pods).set("my-etcd-1", unready) } })).toEqual([]);
  const grown = { ...from.cluster, spec: { ...from.cluster.spec, replicas: 5 } };
  expect(await connectionsOf({ from: { ...from, cluster: grown } })).toEqual([]);
});

test("observe: the snapshot has the schedules sorted by name, and the backups of the cluster", async () => {
  const named = (name: string) => ({ ...etcdBackupSchedule(), metadata: { ...etcdBackupSchedule().metadata, name } });
  const before = etcdBackup();
  const schedules = ["b", "a", "c"].map(named);
  const seen = await seenWith(LEADERS, { schedules, backups: [before] });
  expect(seen.schedules.map((each) => each.metadata.name)).toEqual(["a", "b", "c"]);
  expect(seen.sourceBackups).toEqual([before]);
});

test("observe: a client Service without a cluster IP is not dialled", async () => {
  expect(await connectionsOf({ from: { ...almostReady("False"), clientService: settled.clientService } })).toEqual([]);
});

const DEFAULT_TIMES = { replaceAfterMs: 20_000, memberTimeoutMs: 600_000 };
const settings: {
  name: string;
  spec: Partial<ClusterSnapshot["cluster"]["spec"]>;
  expect: Partial<ClusterSnapshot>;
}[] = [
  {
    name: "the operator's defaults apply without values in the spec",
    spec: {},
    expect: { replaceAfterMs: 20_000, memberTimeoutMs: 600_000, rereadWithinMs: 200_000 },
  },
  {
    name: "spec.replacement.after overrides the operator's default",
    spec: { replacement: { policy: "WhenLost", after: "1h30m" } },
    expect: { replaceAfterMs: 5_400_000, memberTimeoutMs: 600_000, defaultTimes: DEFAULT_TIMES },
  },
  {
    name: "spec.replacement.after may be 0s",
    spec: { replacement: { policy: "WhenLost", after: "0s" } },
    expect: { replaceAfterMs: 0 },
  },
  {
    name: "spec.replacement.policy Never makes the replacement time infinite",
    spec: { replacement: { policy: "Never" } },
    expect: { replaceAfterMs: Number.POSITIVE_INFINITY },
  },
  {
    name: "the operator's default applies when spec.replacement has no time",
    spec: { replacement: { policy: "WhenLost" } },
    expect: { replaceAfterMs: 20_000 },
  },
  {
    name: "spec.updateStrategy.memberTimeout overrides the operator's default",
    spec: { updateStrategy: { type: "RollingUpdate", memberTimeout: "45s" } },
    expect: { replaceAfterMs: 20_000, memberTimeoutMs: 45_000, defaultTimes: DEFAULT_TIMES },
  },
];
for (const { name, spec, expect: wanted } of settings) {
  test(`observe: settings: ${name}`, async () => {
    expect(await seenWith(LEADERS, { from: cluster({ spec }) })).toMatchObject(wanted);
  });
}

test("observe: no member is replaced when spec.replacement.policy is Never", async () => {
  const from = cluster({ down: ["my-etcd-2"], spec: { replacement: { policy: "Never" } } });
  const seen = await seenWith(LEADERS, { ...DOWN, from, heard: [1] });
  expect(planCluster(seen)).toMatchObject({ next: "wait", rule: "await-health" });
});

test("observe: a sleeping cluster counts no time and dials no member", async () => {
  const { pods } = settled;
  const counted = async (from: ClusterSnapshot, healthLog?: HealthLog) => {
    const its = healthLog === undefined ? pods : from.pods;
    return (await seenWith([], { from: { ...from, pods: new Map(its) }, looks: 3, healthLog })).histories;
  };
  expect((await counted(cluster())).get(ids[0]!)?.sickForMs).toBe(20_000);
  const healthLog = new HealthLog();
  expect(await counted(asleep(), healthLog)).toEqual(new Map());
  // A sleeping cluster counts as settled, from which the log derives its rest time.
  expect(healthLog.settled).toBe(1);
  const { endpoints, members } = await seenWith([], { from: asleep() });
  expect([endpoints.size, members.is]).toEqual([0, "unknown"]);
});

test("observe: before a member is added the API server is asked for claims with its name", async () => {
  const asked: string[] = [];
  const from = cluster({ spec: { replicas: 4 } });
  const seen = await seenWith(LEADERS, { from, claimAt: (name) => asked.push(name) === 1 });
  expect(asked).toEqual(["my-etcd-3", "my-etcd-4"]);
  expect(planCluster(seen)).toMatchObject({ rule: "scale-up", step: { peer: { metadata: { name: "my-etcd-4" } } } });
});
