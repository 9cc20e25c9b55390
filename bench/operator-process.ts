import { readdirSync, readFileSync } from "node:fs";
import { get } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { OPERATOR } from "#api/names.ts";
import { hasCode } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import { PODS, type Pod } from "#kube/kinds.ts";
import { isReady } from "#kube/pod.ts";
import { OPERATOR_NAMESPACE as NAMESPACE, OPERATOR_REPLICAS } from "../scripts/manifests.ts";
import { METRICS_READER_ROLE } from "../src/bin/permissions.ts";
import { median } from "./figure.ts";
import { DEPLOYMENTS, OPTIONS } from "./kube.ts";
import { cpuSeconds, memoryMb, procFile, startedAtSeconds } from "./process-usage.ts";
import { until } from "./until.ts";

const METRICS_PORT = 8443;

/** Memory and processor time of a process. */
export interface Usage {
  readonly rssMb: number;
  /** Part of `rssMb`: heaps and stacks, which no other process shares. */
  readonly anonymousMb: number;
  /** Peak of `rssMb`. */
  readonly peakMb: number;
  readonly cpuMillicores: number;
}

/**
 * Ends all operators and starts a single new one, so that the measured process is the leader.
 * @returns seconds from the start of the process to the end of its first pass
 */
export async function restartOperator(kube: KubeClient): Promise<number> {
  const token = await metricsToken(kube);
  await scale(kube, 0);
  await until("the operator has ended", async () => (await podsOf(kube)).length === 0 || undefined, { everyMs: 100 });
  await scale(kube, 1);
  const pod = await until(
    "the operator's pod has an address",
    async () => (await podsOf(kube)).find(({ status }) => status?.podIP !== undefined),
    { everyMs: 10 },
  );
  await until("the operator has made a pass", async () => (await hasMadePass(pod, token)) || undefined, {
    everyMs: 10,
  });
  return uptimeSeconds() - startedAtSeconds(await processOf(pod));
}

/** Scales the operator back to its usual replicas: a leader and a standby. */
export async function allOperators(kube: KubeClient): Promise<void> {
  await scale(kube, OPERATOR_REPLICAS);
}

/**
 * Samples the operator's process once per second.
 * @param forMs milliseconds
 * @returns memory as the median of all samples
 */
export async function usage(kube: KubeClient, forMs: number): Promise<Usage> {
  const pod = await until("the operator is ready", async () => (await podsOf(kube)).find(isReady), { everyMs: 200 });
  const pid = await processOf(pod);
  const looks: { rss: number; anonymous: number }[] = [];
  const startMs = performance.now();
  const cpuBefore = cpuSeconds(pid);
  while (performance.now() - startMs < forMs) {
    looks.push({ rss: memoryMb(pid, "VmRSS"), anonymous: memoryMb(pid, "RssAnon") });
    await sleep(1_000);
  }
  const elapsedSeconds = (performance.now() - startMs) / 1000;
  return {
    rssMb: Math.round(median(looks.map(({ rss }) => rss))),
    anonymousMb: Math.round(median(looks.map(({ anonymous }) => anonymous))),
    peakMb: Math.round(memoryMb(pid, "VmHWM")),
    cpuMillicores: Math.round((1000 * (cpuSeconds(pid) - cpuBefore)) / elapsedSeconds),
  };
}

async function scale(kube: KubeClient, replicas: number): Promise<void> {
  const ref = { namespace: NAMESPACE, name: OPERATOR };
  await kube.patch(DEPLOYMENTS, ref, { spec: { replicas } }, { ...OPTIONS, type: "merge" });
}

async function podsOf(kube: KubeClient): Promise<readonly Pod[]> {
  const labelSelector = `app.kubernetes.io/name=${OPERATOR}`;
  return (await kube.list(PODS, { namespace: NAMESPACE, labelSelector }, OPTIONS)).items;
}

async function hasMadePass(pod: Pod, token: string): Promise<boolean> {
  const metrics = await metricsOf(pod, token).catch(() => ""); // the operator does not listen yet
  return /^etcd_operator_passes_total\{[^}]*\} [1-9]/m.test(metrics);
}

async function metricsOf(pod: Pod, token: string): Promise<string> {
  const to = { host: pod.status?.podIP, port: METRICS_PORT, path: "/metrics", rejectUnauthorized: false, agent: false };
  return await new Promise((resolve, reject) => {
    get({ ...to, headers: { authorization: `Bearer ${token}` } }, (answer) => text(answer).then(resolve, reject)).on(
      "error",
      reject,
    );
  });
}

/** A token that may read the operator's metrics. */
async function metricsToken(kube: KubeClient): Promise<string> {
  const rbac = "rbac.authorization.k8s.io";
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "bench-metrics" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: METRICS_READER_ROLE },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: NAMESPACE }],
  };
  const path = `/apis/${rbac}/v1/clusterrolebindings`;
  await kube.raw("POST", path, { ...OPTIONS, body: binding }).catch((thrown) => {
    if (!hasCode(thrown, "KubeAlreadyExists")) throw thrown;
  });
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 86_400 } };
  const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default/token`;
  const { status } = JSON.parse(await kube.raw("POST", account, { ...OPTIONS, body })) as { status: { token: string } };
  return status.token;
}

/** The container's process, found by the container's ID, which is the name of its cgroup. */
async function processOf(pod: Pod): Promise<number> {
  const namespace = pod.metadata.namespace;
  return await until(`pod ${namespace}/${pod.metadata.name} has a process`, () => {
    const id = pod.status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, "");
    return id === undefined ? processInCgroup(pod.metadata.uid, "node") : processInCgroup(id, "node");
  });
}

/** The first process that runs this program, in a cgroup with this text in its path. */
function processInCgroup(text: string, program: string): number | undefined {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.find(
    (pid) =>
      procFile(pid, "cgroup").includes(text) && (procFile(pid, "cmdline").split("\0")[0] ?? "").endsWith(`/${program}`),
  );
  return found === undefined ? undefined : Number(found);
}

function uptimeSeconds(): number {
  return Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
}
