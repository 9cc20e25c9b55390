import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { OPERATOR_USER } from "../../scripts/manifests.ts";
import { API_PORT, SERVICE_NETWORK } from "./addresses.ts";
import type { Api } from "./api.ts";
import { pkiFile } from "./certificates.ts";
import { httpMissing } from "./health.ts";
import type { Instance } from "./instance.ts";
import { inside } from "./network.ts";
import { type ProcessTable, waitReady } from "./processes.ts";

/** Port of etcd's /readyz on all addresses inside. The client port is open on loopback only. */
const ETCD_METRICS_PORT = 2381;

export interface ControlPlaneBinaries {
  readonly etcd: string;
  readonly "kube-apiserver": string;
  readonly "kube-controller-manager": string;
  readonly "kube-scheduler": string;
}

/** Starts etcd and the API server, and waits until the API server serves. */
export async function ensureApiServer(
  instance: Instance,
  table: ProcessTable,
  binaries: ControlPlaneBinaries,
  api: Api,
): Promise<void> {
  const etcd = await table.ensure("etcd", inside(instance, [binaries.etcd, ...etcdFlags(instance)]));
  writeFileSync(auditPolicyFile(instance), stringify(AUDIT_POLICY));
  const apiServer = await table.ensure(
    "kube-apiserver",
    inside(instance, [binaries["kube-apiserver"], ...apiServerFlags(instance)]),
  );
  await waitReady(etcd, () => httpMissing(`http://${instance.link.insideAddress}:${ETCD_METRICS_PORT}/readyz`));
  await waitReady(apiServer, async () => {
    const answer = await api.call("GET", "/readyz").catch((cause: Error) => ({ status: 0, body: cause.message }));
    return answer.status === 200 ? undefined : `/readyz answers ${String(answer.body).trim() || answer.status}`;
  });
}

/** Starts controller manager and scheduler, and waits until they are healthy. */
export async function ensureControllers(
  instance: Instance,
  table: ProcessTable,
  binaries: ControlPlaneBinaries,
): Promise<void> {
  const ports = { "kube-controller-manager": 10257, "kube-scheduler": 10259 };
  const flags = {
    "kube-controller-manager": controllerManagerFlags(instance),
    "kube-scheduler": schedulerFlags(instance),
  };
  const names = ["kube-controller-manager", "kube-scheduler"] as const;
  await Promise.all(
    names.map(async (name) => {
      const component = await table.ensure(name, inside(instance, [binaries[name], ...flags[name]]));
      await waitReady(component, () => httpMissing(`https://${instance.link.insideAddress}:${ports[name]}/healthz`));
    }),
  );
}

function etcdFlags(instance: Instance): string[] {
  return [
    `--data-dir=${join(instance.folder, "etcd")}`,
    "--listen-client-urls=http://127.0.0.1:2379",
    "--advertise-client-urls=http://127.0.0.1:2379",
    "--listen-peer-urls=http://127.0.0.1:2380",
    `--listen-metrics-urls=http://0.0.0.0:${ETCD_METRICS_PORT}`,
    "--log-level=warn",
    // A crash of the machine loses only a local instance, which can be made again in seconds.
    "--unsafe-no-fsync",
  ];
}

function apiServerFlags(instance: Instance): string[] {
  const pki = (file: string) => pkiFile(instance, file);
  return [
    "--etcd-servers=http://127.0.0.1:2379",
    "--bind-address=0.0.0.0",
    `--secure-port=${API_PORT}`,
    `--advertise-address=${instance.link.insideAddress}`,
    `--service-cluster-ip-range=${SERVICE_NETWORK}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged=true",
    `--client-ca-file=${pki("ca.crt")}`,
    `--tls-cert-file=${pki("apiserver.crt")}`,
    `--tls-private-key-file=${pki("apiserver.key")}`,
    `--kubelet-certificate-authority=${pki("ca.crt")}`,
    `--kubelet-client-certificate=${pki("apiserver-to-kubelet.crt")}`,
    `--kubelet-client-key=${pki("apiserver-to-kubelet.key")}`,
    // Node names do not resolve: exec and logs would fail.
    "--kubelet-preferred-address-types=InternalIP",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${pki("tokens.pub")}`,
    `--service-account-signing-key-file=${pki("tokens.key")}`,
    // Pods of a lost node are evicted after 10 s instead of 300 s, so that tests can wait for it.
    "--default-not-ready-toleration-seconds=10",
    "--default-unreachable-toleration-seconds=10",
    `--audit-policy-file=${auditPolicyFile(instance)}`,
    `--audit-log-path=${join(instance.logs, "audit.log")}`,
    "--audit-log-maxsize=500",
    "--audit-log-maxbackup=1",
    "--profiling=false",
  ];
}

function controllerManagerFlags(instance: Instance): string[] {
  return [
    `--kubeconfig=${join(instance.config, "controller-manager.kubeconfig")}`,
    `--authentication-kubeconfig=${join(instance.config, "controller-manager.kubeconfig")}`,
    `--authorization-kubeconfig=${join(instance.config, "controller-manager.kubeconfig")}`,
    `--service-account-private-key-file=${pkiFile(instance, "tokens.key")}`,
    `--root-ca-file=${pkiFile(instance, "ca.crt")}`,
    `--cluster-signing-cert-file=${pkiFile(instance, "ca.crt")}`,
    `--cluster-signing-key-file=${pkiFile(instance, "ca.key")}`,
    "--use-service-account-credentials=true",
    "--leader-elect=false",
    // A lost node is NotReady after 20 s instead of 50 s. The kubelet renews its lease every 3 s (node-config.ts):
    // after six missed renewals, so that live nodes stay Ready on a busy machine.
    "--node-monitor-period=2s",
    "--node-monitor-grace-period=20s",
    // Some tests create many objects at once, and would measure the defaults (20 and 30).
    "--kube-api-qps=100",
    "--kube-api-burst=200",
    "--profiling=false",
  ];
}

function schedulerFlags(instance: Instance): string[] {
  const kubeconfig = join(instance.config, "scheduler.kubeconfig");
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--profiling=false",
  ];
}

function auditPolicyFile(instance: Instance): string {
  return join(instance.config, "audit-policy.yaml");
}

/**
 * One line for each request, so that benches can count the requests of each user. The operator's writes have their
 * bodies, except Secrets and TokenReviews: a test searches the log for keys.
 */
const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "Metadata", resources: [{ group: "", resources: ["secrets"] }, { group: "authentication.k8s.io" }] },
    { level: "Request", users: [OPERATOR_USER], verbs: ["create", "update", "patch"] },
    { level: "Metadata" },
  ],
};
