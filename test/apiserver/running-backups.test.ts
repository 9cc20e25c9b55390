import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { backupJobName } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import { systemClock } from "#base/clock.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startWithKinds } from "#kit/servers/shipped.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import { type Draft, JOBS, type Job } from "#kube/kinds.ts";

// A process of the operator bounds the backups that run, at a real API server. No Job controller runs: Jobs stay young.

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
const OPTIONS = { signal: new AbortController().signal };
/** Three of them are for one namespace alone. */
const MOST = 4;

let server: ApiServer;
let operator: ChildProcess;

beforeAll(async () => {
  server = await startWithKinds([ETCD_BACKUPS]);
  for (const name of ["many", "few"])
    await server.client.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, OPTIONS);
});
afterAll(async () => {
  operator?.kill("SIGKILL");
  await server?.stop();
});

async function request(namespace: string, name: string): Promise<void> {
  const spec = {
    source: { external: { endpoints: ["http://etcd.example:2379"] } },
    destination: { s3: { bucket: "backups", credentials: { secretName: "s3" } } },
  };
  const draft = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdBackup", metadata: { namespace, name }, spec };
  await server.client.create(ETCD_BACKUPS, draft as unknown as Draft<EtcdBackup>, OPTIONS);
}

async function jobsIn(namespace: string): Promise<readonly string[]> {
  const { items } = await server.client.list(JOBS, { namespace }, OPTIONS);
  return items.map(({ metadata }) => metadata.name);
}

/** The Job controller reports a Ready pod. */
async function makeReady(name: string): Promise<void> {
  const job = await server.client.get(JOBS, { namespace: "many", name }, OPTIONS);
  const status = { ...job.status, active: 1, ready: 1, startTime: job.metadata.creationTimestamp };
  await server.client.replace(JOBS, { ...job, status } as Job, { ...OPTIONS, subresource: "status" });
}

async function until(isSo: () => Promise<void>, timeout: number): Promise<void> {
  await vi.waitFor(isSo, { timeout, interval: 200 });
}

test("of backups that are requested at once, only the permitted number runs, and the next one starts when one is deleted", async () => {
  const names = Array.from({ length: 12 }, (_, n) => `night-${n}`);
  for (const name of names) await request("many", name);
  // The operator finds all of them at its start, and decides about them in the same instant.
  const ports = ["--http-port", "--webhook-port", "--metrics-port"].flatMap((flag) => [flag, "0"]);
  const flags = ["--insecure-metrics", "--operator-namespace", "default", "--agent-image", "operator:test"];
  const args = [PROGRAM, "--kubeconfig", server.kubeconfig, ...ports, ...flags, `--running-backups=${MOST}`];
  operator = spawn(process.execPath, args, { stdio: "ignore" });

  const waitingIn = async () => {
    const { items } = await server.client.list(ETCD_BACKUPS, { namespace: "many" }, OPTIONS);
    return items.filter(({ status }) => status?.conditions?.some(({ reason }) => reason === "Waiting"));
  };
  await until(async () => expect(await waitingIn()).toHaveLength(9), 60_000);
  expect((await waitingIn()).map(({ status }) => [status?.phase, status?.startTime])).toEqual(
    Array.from({ length: 9 }, () => ["BackingUp", undefined]),
  );
  const first = await jobsIn("many");
  expect(first).toHaveLength(3);
  for (const name of first) await makeReady(name);

  // All waiting backups look again within this time.
  await systemClock.sleep(22_000);
  expect(await jobsIn("many")).toEqual(first);

  const [gone = ""] = names.filter((name) => first.includes(backupJobName(name)));
  const { metadata } = await server.client.get(ETCD_BACKUPS, { namespace: "many", name: gone }, OPTIONS);
  await server.client.delete(ETCD_BACKUPS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
  await until(async () => expect(await jobsIn("many")).toHaveLength(4), 25_000);

  // The last place is for other namespaces.
  await request("few", "night");
  await until(async () => expect(await jobsIn("few")).toEqual([backupJobName("night")]), 5_000);
  expect(await jobsIn("many")).toHaveLength(4);
}, 180_000);
