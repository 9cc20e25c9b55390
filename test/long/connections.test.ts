import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ConnectionCount } from "#kit/e2e/connection-count.ts";
import { kubectl, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import type { KubeList, Pod } from "#kube/kinds.ts";
import { cpuSeconds, procFile } from "../../bench/process-usage.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// A handshake costs a member more than the requests after it, so connections must be kept. Two idle clusters, one with
// TLS and one without, run side by side for a minute. The kernel counts new connections by opener, and etcd's processor
// time.

const MINUTE_MS = 60_000;
/**
 * From Ready until the effects of the start are over: first reads, and connections made before names were resolvable.
 */
const SETTLED_MS = 45_000;
/**
 * New connections of the operator to a member. It asks every ten seconds and keeps a connection for fifteen:
 * docs/performance.md.
 */
const OPENED_BY_OPERATOR = 0;
/**
 * New connections between two members, in a minute. etcd keeps those over which it sends. It opens one every four
 * seconds to measure latency, with TLS and without (`proberInterval` of
 * server/etcdserver/api/rafthttp/probing_status.go).
 */
const OPENED_BY_PEER = 16;

/** How much more processor time the three members together may take with TLS than without, in percent of a core. */
const TLS_AT_REST_PERCENT = 1;

const addressesOf = ({ items }: KubeList<Pod>) => items.map(({ status }) => status?.podIP ?? "");

async function inNamespace(name: string, ...labels: readonly string[]): Promise<readonly string[]> {
  return addressesOf(await kubectl.json<KubeList<Pod>>(["-n", name, "get", "pods", "-l", ...labels]));
}

/** Processor time of all members in the namespace, in seconds. */
function etcdSeconds(namespace: string): number {
  const pids = readdirSync("/proc").filter(
    (each) => procFile(each, "comm") === "etcd\n" && procFile(each, "environ").includes(`.${namespace}.svc`),
  );
  expect(pids).toHaveLength(3);
  return pids.reduce((sum, pid) => sum + cpuSeconds(Number(pid)), 0);
}

test("in a settled cluster, operator, kubelet and members reuse connections instead of repeating handshakes", async () => {
  await using secure = await testNamespace("connections-tls");
  await using plain = await testNamespace("connections-plain");
  const clusters = [new UserCluster(secure.name), new UserCluster(plain.name)] as const;
  await clusters[0].create({ replicas: 3, tls: undefined });
  await clusters[1].create({ replicas: 3 });
  for (const each of clusters) await each.untilReady();
  await clusters[0].untilCondition("TLSReady", "True", "CertificatesValid");
  await sleep(SETTLED_MS);

  const operator = await inNamespace(OPERATOR_NAMESPACE, "app.kubernetes.io/name=etcd-cluster-operator");
  const [members, others] = await Promise.all(
    [secure, plain].map(({ name }) => inNamespace(name, "etcd.improbable.io/cluster-name=my-etcd")),
  );
  if (members === undefined || others === undefined) throw new Error("there are two clusters");
  await using count = await ConnectionCount.start(secure.name, [
    { name: "operator", from: operator, to: members, port: 2379 },
    { name: "operator to metrics", from: operator, to: members, port: 2381 },
    { name: "members to clients' port", from: members, to: members, port: 2379 },
    { name: "members", from: members, to: members, port: 2380 },
    { name: "members without TLS", from: others, to: others, port: 2380 },
    { name: "kubelet to clients' port", from: "kubelet", to: members, port: 2379 },
    { name: "kubelet in plain text", from: "kubelet", to: members, port: 2381 },
  ]);
  const seconds = () => [secure, plain].map(({ name }) => etcdSeconds(name));
  const before = seconds();
  await sleep(MINUTE_MS);
  const used = seconds().map((each, index) => Math.round(10 * ((each - before[index]!) / 0.6)) / 10);
  const opened = await count.opened();
  console.log(`at rest, in a minute: opened ${JSON.stringify(opened)}; all three members take ${used[0]} % of a core with TLS, ${used[1]} % without`); // biome-ignore format: a line

  expect(opened.operator).toBeLessThanOrEqual(3 * OPENED_BY_OPERATOR);
  expect(opened["operator to metrics"]).toBe(0);
  expect(opened["members to clients' port"]).toBe(0);
  for (const pair of ["members", "members without TLS"])
    expect(opened[pair], pair).toBeLessThanOrEqual(6 * OPENED_BY_PEER);
  expect(opened["kubelet to clients' port"]).toBe(0);
  // TLS cost idle members 0.1 to 0.3 % when measured. A busy machine makes both clusters more expensive.
  const bound = Math.max(TLS_AT_REST_PERCENT, used[1]! / 3);
  expect(used[0]! - used[1]!, "percent of a core").toBeLessThan(bound);
  // Proof that the counter works: this probe runs once a second, and shakes no hands.
  expect(opened["kubelet in plain text"]).toBeGreaterThan(100);
}, 400_000);
