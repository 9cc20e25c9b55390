import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster, EtcdClusterStatus, MemberStatus } from "#api/v1beta1/cluster.ts";
import { WAIVABLE } from "#api/waivers.ts";
import type { LastCheck } from "#cluster/observe/last-checks.ts";
import { cluster as snapshot } from "#kit/snapshots/cluster.ts";
import { healthMetrics, type Managed, NORMAL } from "./health-metrics.ts";

const NAMES = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const ZONES = new Map(NAMES.map((name, n) => [name, `zone-${n}`]));
const DATABASE = { dbSizeBytes: 900, dbSizeInUseBytes: 500, dbSizeQuotaBytes: 2_000 };
const CHECK: LastCheck = {
  atMs: 1_500_000,
  leaderChanges: 2,
  databases: new Map(NAMES.map((name, n) => [name, { ...DATABASE, dbSizeQuotaBytes: 2_000 + n }])),
};

const member = (name: string, given: Partial<MemberStatus> = {}): MemberStatus => ({
  name,
  id: "1",
  role: "Voter",
  health: "Healthy",
  ...given,
});
const MEMBERS = NAMES.map((name) => member(name));
const condition = (type: string, status: string, reason: string) =>
  ({ type, status, reason, message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" }) as never;

const AVAILABLE = condition("Available", "True", "QuorumAvailable");

interface Given {
  readonly status?: Partial<EtcdClusterStatus>;
  readonly spec?: Partial<EtcdCluster["spec"]>;
  readonly metadata?: object;
  readonly check?: LastCheck | undefined;
  readonly ledSinceMs?: number;
}

function managed({ status, spec, metadata, ...given }: Given = {}): Managed {
  const { cluster } = snapshot();
  const made = {
    ...cluster,
    metadata: { ...cluster.metadata, ...metadata },
    spec: { ...cluster.spec, ...spec },
    status: { members: MEMBERS, conditions: [AVAILABLE, condition("Ready", "True", "AllMembersHealthy")], ...status },
  };
  const check = "check" in given ? given.check : CHECK;
  return { cluster: made, check, ledSinceMs: given.ledSinceMs, zones: ZONES };
}

/** Lines of the page: without the prefix of all names, and without the labels of the cluster. */
async function linesOf(...all: readonly Managed[]): Promise<string[]> {
  const registry = new Registry();
  healthMetrics(registry, () => all);
  const lines = (await registry.metrics()).split("\n").filter((line) => line.includes("{"));
  return lines.map((line) => line.replace("etcd_operator_", "").replace('namespace="foo",name="my-etcd"', ""));
}

async function valuesOf(given: Given, ...metrics: readonly string[]): Promise<Record<string, string | undefined>> {
  const lines = (await linesOf(managed(given))).map((line) => line.split("{} "));
  return Object.fromEntries(metrics.map((metric) => [metric, lines.find(([name]) => name === metric)?.[1]]));
}

const HEALTHY = [
  "cluster_members_wanted{} 3",
  "cluster_members{} 3",
  "cluster_members_healthy{} 3",
  "cluster_quorum_margin{} 1",
  "cluster_leader_changes_total{} 2",
  "cluster_last_check_timestamp_seconds{} 1500",
  "cluster_database_quota_bytes{} 2000",
  ...NAMES.map((name, n) => `member_healthy{,member="${name}",zone="zone-${n}"} 1`),
  ...NAMES.map((name) => `member_database_bytes{,member="${name}"} 900`),
  ...NAMES.map((name) => `member_database_in_use_bytes{,member="${name}"} 500`),
];

test("a healthy cluster has these series and no others, and none once it is deleted", async () => {
  expect(await linesOf(managed())).toEqual(HEALTHY);
  const registry = new Registry();
  let all: readonly Managed[] = [managed()];
  healthMetrics(registry, () => all);
  expect(await registry.metrics()).toContain("cluster_members_wanted{");
  all = [];
  expect(await registry.metrics()).not.toContain("{");
});

test("a cluster that this process has not checked yet has what its status records", async () => {
  const lines = await linesOf(managed({ check: undefined }));
  expect(lines).toEqual(HEALTHY.filter((line) => !/database|leader|last_check/.test(line)));
});

test.each([
  ["before this process leads", undefined, "2026-01-01T00:00:00Z", undefined],
  ["of an older cluster", 5_000, "1970-01-01T00:00:02Z", "5"],
  ["of a cluster that was created since", 5_000, "1970-01-01T00:00:09Z", "9"],
  ["of a cluster without a time of its creation", 5_000, undefined, "5"],
])("a first check %s is awaited since then", async (_, ledSinceMs, creationTimestamp, expected) => {
  const given = {
    check: undefined,
    ...(ledSinceMs === undefined ? {} : { ledSinceMs }),
    metadata: { creationTimestamp },
  };
  const metric = "cluster_last_check_timestamp_seconds";
  expect(await valuesOf(given, metric)).toEqual({ [metric]: expected });
});

test("a cluster without a status, or the stub of one that is too large, does not break the page", async () => {
  const { cluster } = snapshot();
  const bare = {
    cluster: { ...cluster, status: undefined } as never,
    check: undefined,
    ledSinceMs: undefined,
    zones: new Map(),
  };
  expect(await linesOf(bare)).toEqual(["cluster_members_wanted{} 3"]);
  expect(await linesOf({ ...bare, cluster: { ...cluster, spec: {}, status: undefined } as never })).toEqual([]);
});

describe("health of members", () => {
  test.each([
    [3, 3, "1"],
    [3, 2, "0"],
    [3, 1, "-1"],
    [5, 4, "1"],
    [1, 1, "0"],
    [1, 0, "-1"],
  ])("of %i voters %i are healthy: the quorum margin is %s", async (voters, healthy, margin) => {
    const members = Array.from({ length: voters }, (_, n) =>
      member(`m-${n}`, { health: n < healthy ? "Healthy" : "Unhealthy" }),
    );
    const metrics = ["cluster_members", "cluster_members_healthy", "cluster_quorum_margin"];
    expect(Object.values(await valuesOf({ status: { members } }, ...metrics))).toEqual([
      String(voters),
      String(healthy),
      margin,
    ]);
  });

  test.each([
    ["True", "QuorumAvailable", "-1"],
    ["False", "QuorumLost", "-1"],
    ["False", "NoSpaceAlarm", "-1"],
    ["False", "CorruptionAlarm", "-1"],
    ["False", "Forming", undefined],
    ["False", "Waking", undefined],
    ["False", "Asleep", undefined],
    ["Unknown", "MembersUnreachable", undefined],
    ["Unknown", "InternalError", undefined],
  ])("with Available %s %s the quorum margin is %s", async (status, reason, margin) => {
    const members = NAMES.map((name, n) => member(name, { health: n === 0 ? "Healthy" : "Unhealthy" }));
    const given = { status: { members, conditions: [condition("Available", status, reason)] } };
    expect(await valuesOf(given, "cluster_quorum_margin")).toEqual({ cluster_quorum_margin: margin });
  });

  test("a learner has no vote, and a member of others counts but has no series of its own", async () => {
    const learner = member("my-etcd-3", { role: "Learner" });
    const foreign = member('x"\n\\'.repeat(100), { health: "Unknown" });
    const given = { status: { members: [...MEMBERS, learner, foreign] } };
    const metrics = ["cluster_members", "cluster_members_healthy", "cluster_learners", "cluster_quorum_margin"];
    expect(Object.values(await valuesOf(given, ...metrics))).toEqual(["5", "3", "1", "0"]);
    const named = (await linesOf(managed(given))).filter((line) => line.startsWith("member_healthy"));
    expect(named).toHaveLength(4);
    expect(named[3]).toBe('member_healthy{,member="my-etcd-3"} 1');
  });

  test("an unhealthy member is 0, and without an answer it has no sizes", async () => {
    const members = [member("my-etcd-0", { health: "Unhealthy" })];
    const lines = await linesOf(managed({ status: { members }, check: { ...CHECK, databases: new Map() } }));
    expect(lines).toContain('member_healthy{,member="my-etcd-0",zone="zone-0"} 0');
    expect(lines.filter((line) => line.includes("database"))).toEqual([]);
  });

  test("without the members' quotas there is no quota", async () => {
    const databases = new Map([["my-etcd-0", { ...DATABASE, dbSizeQuotaBytes: undefined }]]);
    const lines = await linesOf(managed({ check: { ...CHECK, databases } }));
    expect(lines.filter((line) => line.includes("quota_bytes"))).toEqual([]);
  });
});

describe("state of a cluster", () => {
  const sleep = { startTime: "2026-01-01T00:00:00Z" };
  test.each<[string, Given, string, string | undefined]>([
    ["is paused by its spec", { spec: { paused: true } }, "cluster_paused", "1"],
    [
      "is paused by its annotation",
      { metadata: { annotations: { [PAUSED_ANNOTATION]: "true" } } },
      "cluster_paused",
      "1",
    ],
    ["is not paused", {}, "cluster_paused", undefined],
    ["sleeps", { spec: { replicas: 0 }, status: { sleep } }, "cluster_sleeping", "1"],
    ["wakes up", { status: { sleep: { ...sleep, wakeTime: sleep.startTime } } }, "cluster_sleeping", undefined],
    ["has a stopped update", { status: { update: { stopped: {} } as never } }, "cluster_update_stopped", "1"],
    ["has an update", { status: { update: {} as never } }, "cluster_update_stopped", undefined],
  ])("%s", async (_, given, metric, value) => {
    expect(await valuesOf(given, metric)).toEqual({ [metric]: value });
  });

  test("a waived check has the time when it applies again", async () => {
    const lines = await linesOf(
      managed({ status: { waivers: [{ check: "BackupFirst", until: "1970-01-01T00:01:00Z" }] } }),
    );
    expect(lines).toContain('cluster_waiver_end_timestamp_seconds{,check="BackupFirst"} 60');
  });

  test.each([
    ["Ready", "False", "MembersUnhealthy", true],
    ["Available", "Unknown", "MembersUnreachable", true],
    ["Degraded", "True", "MembersUnhealthy", true],
    ["Degraded", "False", "FullStrength", false],
    ["Stalled", "True", "UpdateStopped", true],
    ["Progressing", "True", "Rolling", false],
    ["Progressing", "False", "Settled", false],
    ["Paused", "True", "Paused", true],
    ["TLSReady", "False", "CertificateEnding", true],
    ["TLSReady", "False", "TLSDisabled", false],
    ["Ready", "False", "Asleep", false],
    ["BackupReady", "Unknown", "NoSchedule", false],
    ["ClusterIDMismatch", "True", "OtherClusterAnswered", true],
    ["OfALaterRelease", "True", "X", false],
  ])("condition %s %s with reason %s is abnormal: %s", async (type, status, reason, isAbnormal) => {
    const lines = await linesOf(managed({ status: { conditions: [condition(type, status, reason)] } }));
    const line = `cluster_abnormal_condition{,type="${type}",status="${status}",reason="${reason}"} 1`;
    expect(lines.filter((each) => each.startsWith("cluster_abnormal"))).toEqual(isAbnormal ? [line] : []);
  });
});

describe("what a cluster costs", () => {
  /** Everything that adds a series. */
  const ILL: Given = {
    status: {
      members: [...MEMBERS.slice(1), member("my-etcd-0", { role: "Learner", health: "Unhealthy" })],
      update: { stopped: {} } as never,
      conditions: Object.entries(NORMAL).map(([type, normal]) =>
        condition(type, normal === "True" ? "False" : "True", type === "Available" ? "QuorumLost" : "X"),
      ),
      waivers: Object.keys(WAIVABLE).map((check) => ({ check, until: "2026-01-01T00:00:00Z" })),
    },
    metadata: { annotations: { [PAUSED_ANNOTATION]: "true" } },
  };

  test("16 series with three members, and at most 35 when everything is wrong", async () => {
    expect((await linesOf(managed())).length).toBe(16);
    expect((await linesOf(managed(ILL))).length).toBe(35);
  });

  test("for 1,000 clusters below two megabytes, and the clusters are read once for each scrape", async () => {
    const all = Array.from({ length: 1_000 }, (_, n) =>
      managed({ metadata: { namespace: `tenant-${String(n).padStart(4, "0")}` } }),
    );
    const registry = new Registry();
    let reads = 0;
    healthMetrics(registry, () => {
      reads++;
      return all;
    });
    const text = await registry.metrics();
    expect(reads).toBe(1);
    expect(text.split("\n").filter((line) => line.includes("{"))).toHaveLength(16_000);
    expect(Buffer.byteLength(text)).toBeLessThan(2_000_000);
  });

  test("a status with very many members has series for 16", async () => {
    const members = Array.from({ length: 500 }, (_, n) => member(`m-${n}`));
    const lines = await linesOf(managed({ status: { members } }));
    expect(lines.filter((line) => line.startsWith("member_healthy"))).toHaveLength(16);
  });
});
