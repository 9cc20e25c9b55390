import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { DRY_RUN_ANNOTATION, memberLabels, PAUSED_ANNOTATION } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import type { ApiServer, User } from "#kit/servers/apiserver.ts";
import { startWithKinds } from "#kit/servers/shipped.ts";
import { install } from "#kit/servers/webhooks-apiserver.ts";
import { claim, claimIdentity, cluster } from "#kit/snapshots/cluster.ts";
import { seenCluster } from "#kit/snapshots/pictures.ts";
import { TEMPLATE } from "#kit/snapshots/schedule.ts";
import type { KubeClient } from "#kube/client.ts";
import { PERSISTENT_VOLUME_CLAIMS, SECRETS } from "#kube/kinds.ts";

// The plugin as people run it, from its sources, against a real API server. Statuses are those that the operator writes.

const OPTIONS = { signal: new AbortController().signal };
const NAMESPACE = "shop";
const KINDS = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES, ETCD_USERS];
const RBAC = "rbac.authorization.k8s.io";

const folder = mkdtempSync(join(tmpdir(), "plugin-apiserver-"));
let server: ApiServer;
let admin: KubeClient;

beforeAll(async () => {
  server = await startWithKinds(KINDS);
  admin = server.client;
  await install(admin, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  await make("well", seenCluster(cluster()));
  await make("ill", seenCluster(cluster({ down: ["my-etcd-1"] })));
  await make("lost", seenCluster(cluster({ down: ["my-etcd-1", "my-etcd-2"] })));
}, 120_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Creates an EtcdCluster with the status of this one, which is called `my-etcd`. */
async function make(name: string, { status }: Record<string, unknown>): Promise<void> {
  const metadata = { namespace: NAMESPACE, name };
  const draft = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", metadata };
  const spec = { replicas: 3, version: "3.6.16", paused: false } as EtcdCluster["spec"];
  await admin.create(ETCD_CLUSTERS, { ...draft, spec }, OPTIONS);
  if (status !== undefined)
    await admin.patch(ETCD_CLUSTERS, metadata, { status }, { type: "merge", subresource: "status", ...OPTIONS });
}

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(user: User, ...args: readonly string[]): Promise<Ended> {
  const env = { PATH: process.env.PATH, KUBECONFIG: server.kubeconfigFor(user), NO_COLOR: "1" };
  const argv = ["src/plugin/main.ts", "--namespace", NAMESPACE, ...args];
  return new Promise((resolve) =>
    execFile(process.execPath, argv, { env }, (failed, out, err) =>
      resolve({ code: typeof failed?.code === "number" ? failed.code : failed === null ? 0 : -1, out, err }),
    ),
  );
}

test("list shows the worst cluster first, and ends with its exit code", async () => {
  const { code, out, err } = await run("admin", "list");
  expect(err).toBe("");
  expect(out.split("\n").map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
    ["NAME", "STATE"],
    ["lost", "not serving"],
    ["ill", "degraded"],
    ["well", "well"],
    [""],
  ]);
  expect(code).toBe(2);
  expect((await run("admin", "list", "-A")).out).toMatch(/^NAMESPACE .*\nshop /);
});

test.each([
  ["well", 0],
  ["ill", 1],
  ["lost", 2],
  ["none", 3],
])("status and why of %s end with %i", async (name, exitCode) => {
  const [status, why] = await Promise.all([run("admin", "status", name), run("admin", "why", name)]);
  expect([status.code, why.code]).toEqual([exitCode, exitCode]);
  if (name === "none") expect(status.err).toBe("There is no EtcdCluster none in namespace shop.\n");
  else expect(status.out).toMatch(new RegExp(`^${name}  .*\nquorum  `));
});

test("json and yaml hold the cluster and its state", async () => {
  const { out } = await run("admin", "status", "ill", "-o", "json");
  expect(JSON.parse(out)).toMatchObject({
    state: "degraded",
    exitCode: 1,
    cluster: { metadata: { name: "ill" } },
    unread: {},
  });
  expect((await run("admin", "status", "ill", "-o", "yaml")).out).toMatch(/^state: degraded\nexitCode: 1\n/);
});

test("version names the API server's release and misses no kind", async () => {
  const { code, out } = await run("admin", "version");
  expect(code).toBe(0);
  expect(out).toContain("API         v1beta1, v1alpha1\nKubernetes  v1.");
  expect(out).not.toContain("!");
});

test("without any right a command names the right that is missing, and cannot tell", async () => {
  for (const args of [["list"], ["status", "well"], ["list", "--orphans"]]) {
    const { code, out, err } = await run("visitor", ...args);
    expect([code, out]).toEqual([3, ""]);
    expect(err).toMatch(/cannot be read: .*etcdclusters.* cannot (list|get) resource/);
  }
});

test("with the right to clusters alone, status shows the cluster and what it could not read", async () => {
  const rules = [{ apiGroups: ["etcd.improbable.io"], resources: ["etcdclusters"], verbs: ["get", "list"] }];
  const metadata = { namespace: NAMESPACE, name: "clusters-only" };
  await install(admin, { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules });
  const roleRef = { apiGroup: RBAC, kind: "Role", name: metadata.name };
  const subjects = [{ apiGroup: RBAC, kind: "User", name: "visitor" }];
  await install(admin, { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects });
  await vi.waitFor(async () => expect((await run("visitor", "status", "well")).code).toBe(0), { timeout: 30_000 });
  const { out } = await run("visitor", "status", "well");
  for (const what of ["The peers of the cluster", "The schedules of the cluster"])
    expect(out).toContain(`${what} cannot be read: `);
  expect(out).toContain("Also unread: Its users, Its events; -o json has the reasons.\n");
  const orphans = await run("visitor", "list", "--orphans");
  expect(orphans.err).toMatch(/^The claims, for --orphans, cannot be read: .*persistentvolumeclaims/);
  const report = await run("visitor", "report", "well", "-o", join(folder, "poor.tgz"));
  expect(report.code).toBe(0);
  const missing = await textIn("poor.tgz", "report/missing.txt");
  expect(missing).toMatch(/^etcdpeers: .*\n[\s\S]*^pods: .*cannot list/m);
});

test("check without the right to reach pods names it", async () => {
  for (const n of [0, 1, 2]) {
    const metadata = { namespace: NAMESPACE, name: `well-pod-${n}`, labels: memberLabels("well", `my-etcd-${n}`) };
    const spec = { containers: [{ name: "etcd", image: "etcd" }] };
    await install(admin, { apiVersion: "v1", kind: "Pod", metadata, spec } as never);
  }
  const { code, out, err } = await run("visitor", "check", "well", "--for", "1s");
  expect([code, out]).toEqual([3, ""]);
  expect(err).toMatch(/^The pods of EtcdCluster well cannot be read: .*cannot list resource "pods"/);
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }];
  const metadata = { namespace: NAMESPACE, name: "pods-only" };
  await install(admin, { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules });
  const roleRef = { apiGroup: RBAC, kind: "Role", name: metadata.name };
  const subjects = [{ apiGroup: RBAC, kind: "User", name: "visitor" }];
  await install(admin, { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects });
  await vi.waitFor(
    async () => {
      const refused = await run("visitor", "check", "well", "--for", "1s");
      expect([refused.code, refused.err]).toEqual([3, ""]);
      const text = refused.out.replaceAll("\n  ", " ");
      expect(text).toContain("my-etcd-2: the right get pods/proxy in namespace shop is missing.");
    },
    { timeout: 30_000 },
  );
  const unreachable = await run("admin", "check", "well", "--for", "1s");
  expect([unreachable.code, unreachable.err]).toEqual([3, ""]);
  expect(unreachable.out).toContain("! No metrics of my-etcd-0");
  expect(unreachable.out).not.toContain("pods/proxy");
});

function textIn(file: string, entry: string): Promise<string> {
  return new Promise((resolve, reject) =>
    execFile("tar", ["-xzOf", join(folder, file), entry], (failed, out) => (failed ? reject(failed) : resolve(out))),
  );
}

test("a report has objects without secrets, and --list shows its parts", async () => {
  await admin.create(
    SECRETS,
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: NAMESPACE, name: "s" },
      stringData: { key: "swordfish" },
    } as never,
    OPTIONS,
  );
  expect((await run("admin", "report", "well", "--list")).out).toMatch(/^etcdclusters in shop\n[\s\S]*never: Secrets/);
  expect((await run("admin", "report", "well", "-o", join(folder, "rich.tgz"))).code).toBe(0);
  expect(await textIn("rich.tgz", "report/missing.txt")).toBe("nothing\n");
  const all = await textIn("rich.tgz", "report");
  expect(all).toContain('"name": "well"');
  expect(all).not.toContain("swordfish");
});

test("pause, resume and restart write one annotation each, as kubectl-etcd", async () => {
  const read = async () => await admin.get(ETCD_CLUSTERS, { namespace: NAMESPACE, name: "well" }, OPTIONS);
  expect((await run("admin", "pause", "well")).code).toBe(0);
  expect((await read()).metadata.annotations?.[PAUSED_ANNOTATION]).toBe("true");
  expect((await run("admin", "resume", "well")).code).toBe(0);
  expect((await read()).metadata.annotations?.[PAUSED_ANNOTATION]).toBeUndefined();
  expect(await run("admin", "restart", "well")).toMatchObject({ code: 0, err: "" });
  const restarted = await read();
  expect(restarted.spec.podTemplate.metadata?.annotations).toHaveProperty("kubectl.kubernetes.io/restartedAt");
  expect(restarted.metadata.managedFields?.map(({ manager }) => manager)).toContain("kubectl-etcd");
  expect(await run("admin", "restart", "well", "well-0")).toMatchObject({ code: 3, err: /well-0 .* has no pod/ });
});

test("backup and restore create objects that the API server takes", async () => {
  const none = await run("admin", "backup", "my-etcd");
  expect(none).toMatchObject({
    code: 3,
    err: expect.stringContaining("No EtcdBackupSchedule names EtcdCluster my-etcd"),
  });
  await make("my-etcd", {});
  const metadata = { namespace: NAMESPACE, name: "nightly" };
  const spec = { schedule: "@hourly", backupTemplate: { spec: TEMPLATE } };
  await install(admin, { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdBackupSchedule", metadata, spec });
  const made = await run("admin", "backup", "my-etcd");
  expect(made).toMatchObject({ code: 0, err: "" });
  const [, name = ""] = /^EtcdBackup (my-etcd-\d{8}-\d{6}) is created\.\n$/.exec(made.out) ?? [];
  const backup = await admin.get(ETCD_BACKUPS, { namespace: NAMESPACE, name }, OPTIONS);
  expect(backup.spec).toMatchObject(TEMPLATE);
  const restored = await run(
    "admin",
    "restore",
    "my-etcd",
    "--from",
    name,
    "--until",
    "2026-11-22T09:59:00Z",
    "--as",
    "back",
  );
  expect(restored).toMatchObject({ code: 0, out: "EtcdRestore back is created.\n" });
  const restore = await admin.get(ETCD_RESTORES, { namespace: NAMESPACE, name: "back" }, OPTIONS);
  expect(restore.spec).toMatchObject({
    source: { backupName: name },
    until: { time: "2026-11-22T09:59:00Z" },
    clusterTemplate: { clusterName: "back", spec: { replicas: 3, version: "3.6.16" } },
  });
  expect((await run("admin", "schedule", "my-etcd")).out).toMatch(/^NAME .*\nnightly +@hourly /);
});

test("undelete shows the cluster of the claims, and creates it with --yes", async () => {
  for (const n of [0, 1, 2]) {
    const name = `gone-${n}`;
    const { metadata, ...made } = claim(name, {
      ...claimIdentity("abc", String(n)),
      "etcd.improbable.io/etcd-version": "3.6.16",
      "etcd.improbable.io/peer-scheme": "https",
    });
    const labels = { "etcd.improbable.io/cluster-name": "gone" };
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "8Gi" } } };
    const { annotations } = metadata;
    await admin.create(
      PERSISTENT_VOLUME_CLAIMS,
      { ...made, metadata: { namespace: NAMESPACE, name, labels, annotations }, spec } as never,
      OPTIONS,
    );
  }
  expect((await run("admin", "list", "--orphans")).out).toMatch(/gone-0 +gone +8Gi .*no EtcdCluster has this name/);
  const shown = await run("admin", "undelete", "gone");
  expect(shown.out).toContain("replicas: 3\n  version: 3.6.16\n  storage:\n    size: 8Gi\n");
  expect(shown.err).toContain("Nothing is created yet.");
  const file = join(folder, "gone.yaml");
  writeFileSync(file, "spec: { replica: 3 }\n");
  const mistyped = await run("admin", "undelete", "gone", "--yes", "-f", file);
  expect(mistyped).toMatchObject({ code: 3, err: expect.stringContaining('unknown field "spec.replica"') });
  writeFileSync(file, "spec: { updateStrategy: { type: OnDelete } }\n");
  expect(await run("admin", "undelete", "gone", "--yes", "-f", file)).toMatchObject({ code: 0, err: "" });
  const back = await admin.get(ETCD_CLUSTERS, { namespace: NAMESPACE, name: "gone" }, OPTIONS);
  expect(back.spec).toMatchObject({
    replicas: 3,
    version: "3.6.16",
    storage: { size: "8Gi" },
    updateStrategy: { type: "OnDelete" },
  });
  expect((await run("admin", "undelete", "gone")).err).toMatch(/^EtcdCluster gone exists/);
});

test("certificate creates an EtcdUser, and binding shows what is known of it", async () => {
  expect(await run("admin", "certificate", "well", "Ada", "--roles", "reader,writer")).toMatchObject({
    code: 0,
    err: "",
  });
  const user = await admin.get(ETCD_USERS, { namespace: NAMESPACE, name: "ada" }, OPTIONS);
  expect(user.spec).toMatchObject({
    userName: "Ada",
    roles: ["reader", "writer"],
    authentication: { type: "Certificate" },
  });
  expect((await run("admin", "binding", "ada")).out).toContain("The Secret with its credentials is not there yet.");
});

test("plan asks the operator, prints the answer and takes the question back", async () => {
  const ref = { namespace: NAMESPACE, name: "ill" };
  const read = async () => await admin.get(ETCD_CLUSTERS, ref, OPTIONS);
  const planning = run("admin", "plan", "ill", "--version", "3.7.3", "--replicas", "5");
  const question = await vi.waitFor(
    async () => {
      const found = (await read()).metadata.annotations?.[DRY_RUN_ANNOTATION];
      expect(found).toBeDefined();
      return found;
    },
    { timeout: 30_000 },
  );
  expect(question).toBe('{"version":"3.7.3","replicas":5}');
  const dryRun = {
    edit: question,
    outcome: "Waits",
    message: "then it waits",
    restarts: ["ill-0"],
    steps: [{ rule: "RestartMember", step: "RestartPod", member: "ill-0", message: "ill-0 restarts" }],
  };
  await admin.patch(ETCD_CLUSTERS, ref, { status: { dryRun } }, { type: "merge", subresource: "status", ...OPTIONS });
  expect(await planning).toEqual({
    code: 1,
    out: "Waits: then it waits\nrestarts, in this order: ill-0\n1 step:\n1.  RestartPod  ill-0  RestartMember  ill-0 restarts\n",
    err: "",
  });
  expect((await read()).metadata.annotations?.[DRY_RUN_ANNOTATION]).toBeUndefined();
});

test("plan without an operator gives up, and leaves nothing behind", async () => {
  const { code, err } = await run("admin", "plan", "well", "--replicas", "5", "--timeout", "1");
  expect([code, err]).toEqual([3, expect.stringContaining("The operator has not answered within 1 s")]);
  const { metadata } = await admin.get(ETCD_CLUSTERS, { namespace: NAMESPACE, name: "well" }, OPTIONS);
  expect(metadata.annotations?.[DRY_RUN_ANNOTATION]).toBeUndefined();
});
