import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { eventually, instance, kubectl, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";

// The plugin as people run it, against the operator on a real Kubernetes: a healthy cluster and one that never forms.

const folder = mkdtempSync(join(tmpdir(), "plugin-e2e-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function plugin(namespace: string, ...args: readonly string[]): Promise<Ended> {
  const env = { PATH: process.env.PATH, KUBECONFIG: instance.kubeconfig, NO_COLOR: "1" };
  return new Promise((resolve) => {
    const argv = ["src/plugin/main.ts", "-n", namespace, ...args];
    const child = execFile(process.execPath, argv, { env }, (failed, out, err) =>
      resolve({ code: failed === null ? 0 : typeof failed.code === "number" ? failed.code : -1, out, err }),
    );
    child.stdin?.end();
  });
}

async function well(namespace: string): Promise<string> {
  return await eventually(async () => {
    const { code, out, err } = await plugin(namespace, "status", "my-etcd");
    expect([code, out, err]).toEqual([0, expect.anything(), ""]);
    return out;
  });
}

test.concurrent("status, logs, shell, plan, restart and report of a healthy cluster", async () => {
  await using namespace = await testNamespace("plugin");
  const name = namespace.name;
  await new UserCluster(name).create({ replicas: 3 });
  const screen = await well(name);
  expect(screen).toMatch(/^my-etcd {2}well {2}/);
  expect(screen).toContain("healthy voters: 3 of 3, may lose 1");
  expect((await plugin(name, "status", "my-etcd", "-o", "wide")).out).toMatch(/my-etcd-0 .* node-\d/);

  const logs = await plugin(name, "logs", "my-etcd", "--since", "1h");
  expect(logs.code).toBe(0);
  const times = logs.out
    .trim()
    .split("\n")
    .map((line) => line.slice(0, 12));
  expect(times).toEqual(times.toSorted());
  for (const n of [0, 1, 2]) expect(logs.out).toContain(` my-etcd-${n} info `);

  expect(await plugin(name, "shell", "my-etcd", "--", "put", "greeting", "hello you")).toMatchObject({
    code: 0,
    out: "OK\n",
  });
  const got = await plugin(name, "shell", "my-etcd", "--", "etcdctl", "get", "greeting", "--print-value-only");
  expect(got).toMatchObject({ code: 0, out: "hello you\n" });
  expect((await plugin(name, "shell", "my-etcd", "--", "nonsense")).code).not.toBe(0);

  const { status } = await new UserCluster(name).get();
  const follower = status?.members?.find(({ role }) => role === "Voter")?.name ?? "";
  expect(await plugin(name, "leader", "my-etcd", follower)).toMatchObject({ code: 0, err: "" });
  await eventually(async () =>
    expect(await plugin(name, "leader", "my-etcd", follower)).toMatchObject({ out: `${follower} leads already.\n` }),
  );
  expect(await plugin(name, "leader", "my-etcd", "my-etcd-7")).toMatchObject({
    code: 3,
    err: "my-etcd-7 cannot lead my-etcd: in its status the member is missing; it must be a Voter and Healthy.\n",
  });

  await checkDisks(name);

  const plan = await plugin(name, "plan", "my-etcd", "--replicas", "5");
  expect([plan.code, plan.err]).toEqual([0, ""]);
  expect(plan.out).toMatch(/^Done: [\s\S]*steps:\n1\. /);

  const uid = async () => await podUid(name, "my-etcd-1");
  const before = await uid();
  await eventually(async () =>
    expect(await plugin(name, "restart", "my-etcd", "my-etcd-1")).toMatchObject({ code: 0 }),
  );
  await eventually(async () => expect(await uid()).not.toBe(before));
  await well(name);
  const second = await uid();
  expect((await plugin(name, "restart", "my-etcd")).code).toBe(0);
  await eventually(async () => expect(await uid()).not.toBe(second));
  await well(name);

  const file = join(folder, "report.tgz");
  expect((await plugin(name, "report", "my-etcd", "-o", file)).code).toBe(0);
  const { stdout } = await kubectl.run(["get", "pods", "-n", name, "-o", "name"]);
  const listed = await new Promise<string>((resolve) => execFile("tar", ["-tzf", file], (_, out) => resolve(out)));
  for (const pod of stdout.trim().split("\n"))
    expect(listed).toContain(`report/logs/${pod.slice("pod/".length)}/etcd.log`);
});

/** Each member and each peer must be measured. The disks of this machine may be slow. */
async function checkDisks(namespace: string): Promise<void> {
  const load = plugin(namespace, "shell", "my-etcd", "--", "check", "perf", "--load=s");
  const { out, err } = await plugin(namespace, "check", "my-etcd", "--for", "45s", "-o", "json");
  expect(err).toBe("");
  const { state, members, findings } = JSON.parse(out);
  expect(findings.filter(({ kind }: { kind: string }) => kind === "unread" || kind === "too-few")).toEqual([]);
  expect(["well", "degraded"]).toContain(state);
  const names = [0, 1, 2].map((n) => `my-etcd-${n}`);
  expect(members.map((each: { name: string }) => each.name)).toEqual(names);
  for (const { name, fsync, commit, roundTrips } of members) {
    expect([name, fsync.basis, commit.basis]).toEqual([name, "window", "window"]);
    expect(Object.keys(roundTrips)).toEqual(names.filter((each) => each !== name));
  }
  await load;
  const screen = await plugin(namespace, "check", "my-etcd", "--for", "1s");
  expect(screen.code).toBeLessThan(3);
  expect(screen.out).toMatch(/^my-etcd {2}(well|degraded) {2}.*3 of 3 members measured for 1 s\nmember /);
  expect(screen.out).toMatch(/^from -0 .* ms/m);
}

async function podUid(namespace: string, member: string): Promise<string> {
  const selector = `etcd.improbable.io/peer-name=${member}`;
  const { stdout } = await kubectl.run([
    "get",
    "pods",
    "-n",
    namespace,
    "-l",
    selector,
    "-o",
    "jsonpath={.items[0].metadata.uid}",
  ]);
  return stdout;
}

test.concurrent("status and why of a cluster with pods that no node can run", async () => {
  await using namespace = await testNamespace("plugin-ill");
  const podTemplate = { spec: { nodeSelector: { "example.com/none": "here" } } };
  await new UserCluster(namespace.name).create({ replicas: 1, podTemplate });
  await eventually(async () => {
    const { code, out } = await plugin(namespace.name, "why", "my-etcd");
    expect(code).toBe(2);
    expect(out).toMatch(/Available is False: Forming/);
    expect(out).toMatch(/my-etcd-0: .*(node|sched)/i);
  });
  expect((await plugin(namespace.name, "list")).code).toBe(2);
  expect((await plugin(namespace.name, "logs", "my-etcd")).code).toBe(0);
  const shell = await plugin(namespace.name, "shell", "my-etcd", "--", "version");
  expect(shell).toMatchObject({ code: 3, err: "The status of the EtcdCluster names no healthy member.\n" });
});
