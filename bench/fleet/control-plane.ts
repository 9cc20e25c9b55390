import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { OPERATOR } from "#api/names.ts";
import { ensureComponents } from "#dev/components.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { kindOf } from "#kit/servers/webhooks-apiserver.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import { KubeClient } from "#kube/client.ts";
import { kubeconfigFile } from "#kube/config.ts";
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type Draft,
  type KubeObject,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from "#kube/kinds.ts";
import { crdManifests, OPERATOR_USER, operatorManifests } from "../../scripts/manifests.ts";
import { OPTIONS } from "../kube.ts";
import { until } from "../until.ts";

/** Range of the cluster IPs. */
export const SERVICE_ADDRESSES = "10.96.0.0/12";

/** Programs that must be built before the bench starts. */
export const COMPONENTS = ["kube-apiserver", "kube-controller-manager", "etcd-3.6.16"] as const;

/**
 * Controllers that act on the operator's objects. Those of EndpointSlices, nodes and volumes are left out: there is no
 * kube-proxy, and nodes and volumes are simulated.
 */
const CONTROLLERS = [
  "replicaset-controller",
  "garbage-collector-controller",
  "disruption-controller",
  "persistentvolumeclaim-protection-controller",
  "namespace-controller",
];

/** One line for each request of the operator, and none for other clients. */
const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata", users: [OPERATOR_USER] }, { level: "None" }],
};

/** A real API server, and a real controller manager with CONTROLLERS. */
export interface ControlPlane {
  readonly server: ApiServer;
  /** A client with a rate limit that it never reaches. */
  readonly kube: KubeClient;
  readonly auditLog: string;
  stop(): Promise<void>;
}

/**
 * From so many clusters on, the API server holds gigabytes. On two processors it then stops answering for seconds while
 * it collects garbage. A real control plane of that size has more processors; here the API server collects less often.
 */
const LARGE = 5_000;
const COLLECTS_RARELY = { GOGC: "300", GOMEMLIMIT: "10GiB" };

/** @param folder for files; @param namespaces to create for the fleet; @param clusters size of the fleet */
export async function startControlPlane(
  folder: string,
  namespaces: readonly string[],
  clusters: number,
): Promise<ControlPlane> {
  const auditLog = join(folder, "audit.log");
  const policy = join(folder, "audit-policy.json");
  writeFileSync(policy, JSON.stringify(AUDIT_POLICY));
  const flags = [
    `--service-cluster-ip-range=${SERVICE_ADDRESSES}`,
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${auditLog}`,
    "--audit-log-maxsize=2000",
  ];
  const server = await startApiServer(flags, clusters < LARGE ? {} : COLLECTS_RARELY);
  const config = await kubeconfigFile(server.kubeconfig);
  const kube = new KubeClient({ config, userAgent: "bench", limits: { qps: 2_000, burst: 2_000 } });
  await installOperator(kube);
  for (const name of namespaces) {
    const namespace: Draft<KubeObject> = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await kube.create(NAMESPACES, namespace as never, OPTIONS);
  }
  const manager = await startControllers(folder, server);
  const stop = async () => {
    manager.kill("SIGKILL");
    await kube.close();
    await server.stop();
  };
  return { server, kube, auditLog, stop };
}

/** Installs the operator's manifests except its Deployment: the bench starts the operator's process itself. */
async function installOperator(kube: KubeClient): Promise<void> {
  for (const crd of crdManifests()) await kube.create(CUSTOM_RESOURCE_DEFINITIONS, crd as never, OPTIONS);
  const names = crdManifests().map(({ metadata }) => metadata.name);
  await until("the operator's kinds are served", async () => {
    const { items } = await kube.list(CUSTOM_RESOURCE_DEFINITIONS, {}, OPTIONS);
    const served = items.filter(({ status }) =>
      status?.conditions?.some((each) => each.type === "Established" && each.status === "True"),
    );
    return names.every((name) => served.some(({ metadata }) => metadata.name === name)) || undefined;
  });
  const left = ["Deployment", "PodDisruptionBudget"];
  for (const manifest of operatorManifests("localhost/operator:bench").filter(({ kind }) => !left.includes(kind)))
    await kube.create(kindOf(manifest), manifest as never, OPTIONS);
}

async function startControllers(folder: string, server: ApiServer): Promise<ChildProcess> {
  const built = await ensureComponents(["kube-controller-manager"], async (_text, work) => await work(() => {}));
  const flags = [
    `--kubeconfig=${server.kubeconfig}`,
    `--authentication-kubeconfig=${server.kubeconfig}`,
    `--authorization-kubeconfig=${server.kubeconfig}`,
    `--cert-dir=${join(folder, "controller-manager")}`,
    `--controllers=${CONTROLLERS.join(",")}`,
    "--leader-elect=false",
    // High limits, so that the controller manager is never the bottleneck.
    "--kube-api-qps=1000",
    "--kube-api-burst=2000",
    "--concurrent-replicaset-syncs=20",
    "--profiling=false",
  ];
  return spawn(built["kube-controller-manager"], flags, { stdio: "ignore", env: {} });
}

/** Whether the API server calls the operator's admission webhooks: the operator has written its CA bundle. */
export async function asksWebhooks(kube: KubeClient): Promise<boolean> {
  const found = await kube.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OPERATOR }, OPTIONS);
  return found.webhooks?.every(({ clientConfig }) => clientConfig.caBundle !== undefined) ?? false;
}
