import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { OPERATOR, shardLeaseName } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { systemClock } from "#base/clock.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { startFaultProxy } from "#kit/servers/fault-proxy.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition } from "#kit/tables/kinds.ts";
import { EVENTS, LEASES } from "#kube/kinds.ts";
import { shardNumber } from "#shards/belonging.ts";
import { crdManifests } from "../../scripts/manifests.ts";

// Several processes of the operator with shards, at a real API server. No kubelet runs: clusters start and never form.

const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
const AT_WORK = "this process leads the shard: at work";
const OPTIONS = { signal: new AbortController().signal };
/** The duration of a lease, and the time to look at it and to start work. */
const TAKEN_OVER_MS = 20_000;

let server: ApiServer;
const running: Operator[] = [];

beforeAll(async () => {
  server = await startApiServer();
  for (const crd of crdManifests())
    await server.client.create(CUSTOM_RESOURCE_DEFINITIONS, crd as unknown as CustomResourceDefinition, OPTIONS);
});
afterEach(async () => {
  for (const { process } of running) process.kill("SIGKILL");
  await Promise.all(running.splice(0).map(({ end }) => end));
});
afterAll(async () => await server?.stop());

interface Operator {
  readonly process: ChildProcess;
  readonly log: () => string;
  readonly end: Promise<number | null>;
}

function startOperator(shards: number, kubeconfig = server.kubeconfig): Operator {
  const ports = ["--http-port", "--webhook-port", "--metrics-port"].flatMap((flag) => [flag, "0"]);
  ports.push("--insecure-metrics");
  const args = [
    PROGRAM,
    "--kubeconfig",
    kubeconfig,
    ...ports,
    "--operator-namespace",
    "default",
    "--shards",
    String(shards),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (bytes) => (log += bytes));
  const operator = {
    process: child,
    log: () => log,
    end: new Promise<number | null>((end) => child.once("exit", end)),
  };
  running.push(operator);
  return operator;
}

async function until(what: string, isSo: () => Promise<boolean> | boolean, withinMs: number): Promise<number> {
  const startMs = performance.now();
  await vi.waitFor(async () => expect(await isSo(), what).toBe(true), { timeout: withinMs, interval: 200 });
  return performance.now() - startMs;
}

const count = (operator: Operator, words: string): number => operator.log().split(words).length - 1;
/** Number of shards that the process leads, according to its log. */
const led = (operator: Operator): number => count(operator, AT_WORK) - count(operator, "no longer leads the shard");

/** Number of full reads of all caches since the start, according to the process's metrics. */
async function readsOf(operator: Operator): Promise<number> {
  const [, port] =
    /"address":":(\d+)"/.exec(
      operator
        .log()
        .split("\n")
        .find((line) => line.includes("started")) ?? "",
    ) ?? [];
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(5_000) });
  const reads = (await answer.text()).matchAll(/^etcd_operator_cache_full_reads_total\{.*\} (\d+)$/gm);
  return [...reads].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function holders(shards: number): Promise<readonly (string | undefined)[]> {
  return await Promise.all(
    Array.from({ length: shards }, async (_, shard) => {
      const found = await server.client.find(LEASES, { namespace: "default", name: shardLeaseName(shard) }, OPTIONS);
      return found.is === "present" ? found.value.spec?.holderIdentity : undefined;
    }),
  );
}

async function makeCluster(name: string): Promise<void> {
  const manifest = {
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdCluster",
    metadata: { namespace: "default", name },
    spec: { replicas: 1, version: "3.6.16", tls: { enabled: false } },
  };
  await server.client.create(ETCD_CLUSTERS, manifest as never, OPTIONS);
}

/** Whether the operator has created the cluster's first member. */
async function isBegun(name: string): Promise<boolean> {
  return (await server.client.find(ETCD_PEERS, { namespace: "default", name: `${name}-0` }, OPTIONS)).is === "present";
}

/** Names of clusters, one for each shard. */
function namesFor(prefix: string, shards: number): readonly string[] {
  return Array.from({ length: shards }, (_, shard) => {
    for (let n = 0; ; n++) if (shardNumber("default", `${prefix}-x${n}`, shards) === shard) return `${prefix}-x${n}`;
  });
}

describe("shards", () => {
  test("three processes lead one shard each, take over after a kill or stop, and block another number of shards", async () => {
    const all = [startOperator(3), startOperator(3), startOperator(3)];
    const [a, b, c] = all as [Operator, Operator, Operator];
    await until("each process leads one", () => all.every((each) => led(each) === 1), 60_000);
    expect(new Set(await holders(3)).size).toBe(3);
    const own = await server.client.get(LEASES, { namespace: "default", name: OPERATOR }, OPTIONS);
    const whole = await server.client.get(LEASES, { namespace: "kube-system", name: OPERATOR }, OPTIONS);
    expect([own, whole].map(({ spec }) => spec?.holderIdentity)).toEqual([
      "shards-rule2-of-3",
      "default/shards-rule2-of-3",
    ]);

    const first = namesFor("first", 3);
    for (const name of first) await makeCluster(name);
    for (const name of first) await until(`${name} has its first member`, () => isBegun(name), 20_000);
    const deciders = await decidersOf(first);
    for (const name of first) expect([name, deciders.get(name)?.size]).toEqual([name, 1]);
    expect(new Set([...deciders.values()].flatMap((each) => [...each])).size).toBe(3);

    await systemClock.sleep(3_000);
    c.process.kill("SIGKILL");
    const second = namesFor("second", 3);
    for (const name of second) await makeCluster(name);
    for (const name of second)
      await until(`${name} has its first member after a kill`, () => isBegun(name), TAKEN_OVER_MS);
    expect([led(a), led(b)].toSorted()).toEqual([1, 2]);

    const d = startOperator(2);
    const e = startOperator(2);
    await until(
      "the new processes report the replica that they wait for",
      () => [d, e].every((each) => each.log().includes("a replica with another number of shards leads")),
      30_000,
    );
    a.process.kill("SIGTERM");
    expect(await a.end, a.log()).toBe(0);
    expect(await until("the last process leads all shards", () => led(b) === 3, 15_000)).toBeLessThan(10_000);
    expect([led(d), led(e)]).toEqual([0, 0]);
    b.process.kill("SIGTERM");
    expect(await b.end, b.log()).toBe(0);
    await until("the processes with the new number lead", () => [d, e].every((each) => led(each) === 1), 15_000);
    const third = namesFor("third", 2);
    for (const name of third) await makeCluster(name);
    for (const name of third)
      await until(`${name} has its first member from the new processes`, () => isBegun(name), 20_000);
    for (const { log } of [...all, d, e]) expect(log()).not.toMatch(/"level":"error"/);
  }, 180_000);

  test("a process that was suspended does not act without its lease, and shards are redistributed afterwards", async () => {
    const [a, b] = [startOperator(2), startOperator(2)] as [Operator, Operator];
    await until("each process leads one", () => [a, b].every((each) => led(each) === 1), 60_000);
    await systemClock.sleep(3_000);
    b.process.kill("SIGSTOP");
    await until("the other process leads both", () => led(a) === 2, TAKEN_OVER_MS + 5_000);
    const names = namesFor("frozen", 2);
    for (const name of names) await makeCluster(name);
    for (const name of names) await until(`${name} has its first member`, () => isBegun(name), 20_000);
    const reads = await readsOf(a);
    expect(reads).toBeGreaterThan(0);
    b.process.kill("SIGCONT");
    await until("shards are shared again", () => led(a) === 1 && led(b) === 1, 30_000);
    expect(await readsOf(a), "reads of a shard that is no longer led still count").toBeGreaterThanOrEqual(reads);
    const deciders = await decidersOf(names);
    for (const name of names) expect([name, deciders.get(name)?.size]).toEqual([name, 1]);
  }, 120_000);

  test("a process that gets SIGTERM while the API server does not answer ends within eleven seconds", async () => {
    const proxy = await startFaultProxy(server.port);
    const a = startOperator(2, server.kubeconfigFor("admin", proxy.port));
    await until("the process leads both", () => led(a) === 2, 60_000);
    proxy.freeze();
    const startMs = performance.now();
    a.process.kill("SIGTERM");
    expect(await a.end, a.log()).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(11_000);
    await proxy.stop();
  }, 120_000);
});

/** The processes that have recorded events about each cluster. */
async function decidersOf(names: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { items } = await server.client.list(EVENTS, { namespace: "default" }, OPTIONS);
  const told = new Map(names.map((name) => [name, new Set<string>()]));
  for (const { regarding, reportingInstance = "" } of items)
    if (regarding?.kind === ETCD_CLUSTERS.kind) told.get(regarding.name ?? "")?.add(reportingInstance);
  return told;
}
