import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLUSTER_LABEL, PEER_LABEL } from "#api/names.ts";
import { systemClock } from "#base/clock.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { accountIn, lettingRead, operatorPods } from "#kit/e2e/operator-metrics.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";
import { type Job, type Prometheus, startPrometheus } from "#kit/servers/prometheus.ts";
import type { KubeList, Pod } from "#kube/kinds.ts";
import { CLUSTER, PEER } from "../../scripts/monitoring/alert.ts";
import { DASHBOARDS } from "../../scripts/monitoring/dashboards.ts";
import { ruleGroups } from "../../scripts/monitoring/rules.ts";

// A real Prometheus scrapes the installed operator and real members. It fires the alerts at once, without their waits.

const MEBI = 1024 ** 2;
/** Large enough for the quota of `full` with 70 of them; a request may have 1.5 MiB. */
const VALUE = new Uint8Array(MEBI).fill(7);
const FULL_AFTER = 80;
/** Small keys, which are deleted one by one: a full database takes no other writes. */
const MARKS = ["a", "b", "c", "d"];
const deadline = () => ({ signal: AbortSignal.timeout(30_000), deadlineMs: 30_000 });

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let mayRead: AsyncDisposable;
let prometheus: Prometheus;
let cluster: UserCluster;
let full: UserCluster;
let stopped: UserCluster;
let jobs: readonly Job[];

beforeAll(async () => {
  namespace = await testNamespace("monitoring");
  const { name } = namespace;
  const token = await accountIn(name);
  mayRead = await lettingRead(name);
  cluster = new UserCluster(name);
  [full, stopped] = ["full", "stopped"].map((each) => new UserCluster(name, each)) as [UserCluster, UserCluster];
  const tls = { client: { provider: "Operator" }, peer: { provider: "Operator" } } as const;
  await Promise.all([
    cluster.create({ replicas: 3, tls }),
    full.create({ replicas: 1, etcd: { backendQuota: { mode: "Fixed", size: "64Mi" } } }),
    stopped.create({ replicas: 1, updateStrategy: { memberTimeout: "10s" } }),
  ]);
  await backUp();
  await Promise.all([cluster, full, stopped].map((each) => each.untilReady()));
  jobs = [await jobOfOperator(token), await jobOfMembers()];
  prometheus = await startPrometheus(withoutWaits(), jobs);
});
afterAll(async () => {
  await prometheus?.stop();
  await mayRead?.[Symbol.asyncDispose]();
  await namespace?.[Symbol.asyncDispose]();
});

/** The schedule `good` makes a backup in seconds. The claim of the schedule `bad` does not exist. */
async function backUp(): Promise<void> {
  await new UserBackups(cluster).claim();
  for (const [name, claimName] of [
    ["good", "backups"],
    ["bad", "absent"],
  ] as const) {
    const destination = { volume: { claimName, path: name } };
    const backupTemplate = { spec: { source: { cluster: { name: cluster.name } }, destination } };
    const spec = { schedule: "@every 10s", retention: { keepLast: 1 }, backupTemplate };
    await cluster.make("EtcdBackupSchedule", name, spec);
  }
}

/** The rules with the waits and one bound that would take the test too long: 100 MiB of data. */
function withoutWaits() {
  return ruleGroups().map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => ({ ...rule, expr: rule.expr.replace("104857600", "1000"), for: "0s" })),
  }));
}

async function jobOfOperator(token: string): Promise<Job> {
  const targets = (await operatorPods()).map(({ status }) => `${status?.podIP}:8443`);
  return {
    job_name: "operator",
    scheme: "https",
    // As with a PodMonitor that has `honorLabels: true`.
    honor_labels: true,
    authorization: { credentials: token },
    tls_config: { insecure_skip_verify: true },
    static_configs: [{ targets, labels: { namespace: "etcd-operator-system" } }],
  };
}

/** The targets and labels that the PodMonitor of an EtcdCluster gives. */
async function jobOfMembers(): Promise<Job> {
  const { items } = await cluster.json<KubeList<Pod>>("get", "pods", "-l", "app.kubernetes.io/component=member");
  const static_configs = items.map(({ metadata, status }) => ({
    targets: [`${status?.podIP}:2381`],
    labels: {
      namespace: namespace.name,
      pod: metadata.name,
      [CLUSTER]: metadata.labels?.[CLUSTER_LABEL],
      [PEER]: metadata.labels?.[PEER_LABEL],
    },
  }));
  return { job_name: "members", static_configs };
}

/** What this test cannot have in its minutes: an archive, and a member that was replaced. */
const NOT_HERE: readonly string[] = ["Archives that are furthest behind", "Quarantined claims"];
const chosen = (expr: string) => expr.replaceAll("$namespace", namespace.name).replaceAll("$name", cluster.name);
const panels = DASHBOARDS.flatMap(({ name, rows }) =>
  rows.flatMap((row) => row.panels.map((panel) => [`${name}: ${panel.title}`, panel] as const)),
).filter(([, { title }]) => !NOT_HERE.includes(title));

const PROVOKED = [
  "EtcdClusterDatabaseFull",
  "EtcdClusterDatabaseNearQuota",
  "EtcdClusterQuorumLost",
  "EtcdClusterUpdateStopped",
  "EtcdDatabaseQuotaLowSpace",
  "EtcdInsufficientMembers",
  "EtcdMembersDown",
  "EtcdOperatorNotLeading",
];

describe("while all is well", () => {
  test.concurrent.each(panels)("every query has a series: %s", async (_, { queries }) => {
    for (const { expr } of queries)
      await eventually(async () => expect(await prometheus.query(chosen(expr)), expr).not.toEqual([]), 90_000);
  });

  test("none of the alerts fires that are provoked below", async () => {
    await eventually(async () => {
      const firing = await prometheus.firing();
      expect(PROVOKED.filter((name) => firing.has(name))).toEqual([]);
    }, 60_000);
  });
});

async function fires(...alerts: readonly string[]): Promise<void> {
  await eventually(async () => {
    const firing = await prometheus.firing();
    expect(alerts.filter((name) => !firing.has(name))).toEqual([]);
  }, 120_000);
}

describe("alerts fire when", () => {
  test("a backup cannot be stored", async () => await fires("EtcdBackupTooOld"));

  test("a database is full and then mostly free space", async () => {
    const pod = await full.json<Pod>("get", "pod", await full.podOf("full-0"));
    const pool = new TransportPool(systemClock);
    const etcd = new GrpcClient({ pool, clock: systemClock });
    const endpoint = { address: `${pod.status?.podIP}:2379` };
    const keys = Array.from({ length: FULL_AFTER }, (_, n) => new TextEncoder().encode(`key-${n}`));
    for (const key of MARKS) await full.put("full-0", key, "x");
    const fill = async () => {
      for (const key of keys) await etcd.put(endpoint, key, VALUE, deadline());
    };
    await expect(fill()).rejects.toThrow(/space/);
    await fires("EtcdClusterDatabaseFull", "EtcdClusterDatabaseNearQuota", "EtcdDatabaseQuotaLowSpace");
    for (const key of keys) await etcd.deleteRange(endpoint, key, deadline());
    const revision = await etcd.revision(endpoint, deadline());
    await full.etcdctl("full-0", "compact", `${revision}`);
    // etcd counts pages as free in the transactions after the one that freed them.
    for (const key of MARKS) await full.etcdctl("full-0", "del", key);
    await fires("EtcdDatabaseHighFragmentationRatio");
    pool.closeAll();
  });

  test("an update is rolled back", async () => {
    await stopped.patch({ image: { repository: "localhost/absent" } });
    await stopped.untilCondition("UpToDate", "False", "UpdateStopped");
    await fires("EtcdClusterUpdateStopped", "EtcdClusterNotReady");
  });

  test("members are killed, and the quorum is gone for good", async () => {
    const lost = ["my-etcd-1", "my-etcd-2"];
    const pods = await Promise.all(lost.map((peer) => cluster.podOf(peer)));
    await cluster.kubectl("delete", "pvc", ...lost, "--wait=false");
    await cluster.kubectl("delete", "pod", ...pods, "--wait=false", "--grace-period=1");
    await fires("EtcdMembersDown", "EtcdInsufficientMembers", "EtcdClusterQuorumLost");
  });

  test("Prometheus reads no replica of the operator", async () => {
    await prometheus.scrape(jobs.filter(({ job_name }) => job_name !== "operator"));
    await fires("EtcdOperatorNotLeading");
  });
});
