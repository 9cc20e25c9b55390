import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newAuthority, newLeaf } from "#certificates/issue.ts";
import { mainBinary, sourceFolder } from "#dev/components.ts";
import { eventually, instance, kubectl, type UserCluster } from "#kit/e2e/e2e.ts";
import type { Certificate } from "#kube/kinds.ts";
import { removeTemporaryDirs, type StoreServer, startStoreServer, temporaryDir } from "./store-server.ts";

// cert-manager itself for the local Kubernetes: its kinds, its controllers and its admission webhook. It runs next to
// the API server, with an administrator's rights. Nothing is simulated; dev/go/cert-manager builds it.

const DAY_MS = 86_400_000;
const KINDS = ["certificates", "certificaterequests", "issuers", "clusterissuers"].map(
  (kind) => `${kind}.cert-manager.io`,
);
const WEBHOOK = "cert-manager-webhook";

export class CertManager {
  readonly #resourceNamespace: string;
  #server: StoreServer | undefined;

  private constructor(resourceNamespace: string) {
    this.#resourceNamespace = resourceNamespace;
  }

  /** @param resourceNamespace namespace of the Secrets that ClusterIssuers name */
  static async install(resourceNamespace: string): Promise<CertManager> {
    const crds = sourceFolder("cert-manager", "crds");
    await kubectl.run(["apply", "--server-side", "-f", crds]);
    // A kind that the API server has not processed yet has no conditions, which makes `kubectl wait` fail.
    const established = ["wait", "--for=condition=Established", "--timeout=30s"];
    await eventually(() => kubectl.run([...established, ...KINDS.map((kind) => `crd/${kind}`)]));
    const manager = new CertManager(resourceNamespace);
    await manager.start();
    return manager;
  }

  async start(): Promise<void> {
    const folder = temporaryDir("cert-manager");
    const times = { fromMs: Date.now() - DAY_MS, untilMs: Date.now() + DAY_MS };
    const authority = await newAuthority("webhook", times);
    const pair = await newLeaf(authority, { names: ["127.0.0.1"], usages: ["serverAuth"], ...times });
    const [certificate, key] = [join(folder, "tls.crt"), join(folder, "tls.key")];
    writeFileSync(certificate, pair.certificate);
    writeFileSync(key, pair.key, { mode: 0o600 });
    this.#server = await startStoreServer((port) => [
      mainBinary("cert-manager"),
      `--kubeconfig=${instance.kubeconfig}`,
      `--cluster-resource-namespace=${this.#resourceNamespace}`,
      `--webhook-port=${port}`,
      `--webhook-cert-file=${certificate}`,
      `--webhook-key-file=${key}`,
    ]);
    await kubectl.apply(webhooks(this.#server.port, authority.certificate));
  }

  /** Ends the process and removes its webhooks. Stored objects remain. */
  async stop(): Promise<void> {
    for (const kind of ["validating", "mutating"])
      await kubectl.run(["delete", `${kind}webhookconfiguration`, WEBHOOK, "--ignore-not-found"]);
    await this.#server?.stop();
    this.#server = undefined;
  }

  /** Removes cert-manager with its kinds and all their objects. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await kubectl.run(["delete", "--ignore-not-found", "--wait=false", "-f", sourceFolder("cert-manager", "crds")]);
    removeTemporaryDirs();
  }
}

/** The webhook configurations of cert-manager's own installation. */
function webhooks(port: number, authority: string): object[] {
  const both = [
    { kind: "ValidatingWebhookConfiguration", path: "validate", operations: ["CREATE", "UPDATE"], resources: ["*/*"] },
    {
      kind: "MutatingWebhookConfiguration",
      path: "mutate",
      operations: ["CREATE"],
      resources: ["certificaterequests"],
    },
  ];
  return both.map(({ kind, path, operations, resources }) => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name: WEBHOOK },
    webhooks: [
      {
        name: "webhook.cert-manager.io",
        rules: [{ apiGroups: ["cert-manager.io"], apiVersions: ["v1"], operations, resources }],
        admissionReviewVersions: ["v1"],
        matchPolicy: "Equivalent",
        failurePolicy: "Fail",
        sideEffects: "None",
        timeoutSeconds: 10,
        clientConfig: {
          url: `https://127.0.0.1:${port}/${path}`,
          caBundle: Buffer.from(authority).toString("base64"),
        },
      },
    ],
  }));
}

const object = (kind: string, name: string, spec: object) => ({
  apiVersion: "cert-manager.io/v1",
  kind,
  metadata: { name },
  spec,
});
const KEY = { algorithm: "ECDSA", size: 256 };

/** Issuers for EtcdClusters of one namespace. */
export interface Issuers {
  /** An Issuer with a self-signed CA. */
  readonly company: { readonly name: string };
  /** A ClusterIssuer with a CA that the Issuer's CA has signed. */
  readonly everywhere: { readonly name: string; readonly kind: "ClusterIssuer" };
}

/** @param cluster the issuers are in its namespace, including the Secret of the ClusterIssuer */
export async function createIssuers({ namespace }: UserCluster): Promise<Issuers> {
  const everywhere = { name: `everywhere-${namespace}`, kind: "ClusterIssuer" } as const;
  const authority = (name: string, issuer: string) =>
    object("Certificate", name, {
      isCA: true,
      commonName: `${name} CA`,
      secretName: name,
      privateKey: KEY,
      issuerRef: { name: issuer },
    });
  const objects = [
    object("Issuer", "itself", { selfSigned: {} }),
    authority("company", "itself"),
    object("Issuer", "company", { ca: { secretName: "company" } }),
    authority("everywhere", "company"),
    object("ClusterIssuer", everywhere.name, { ca: { secretName: "everywhere" } }),
  ];
  for (const each of objects)
    await eventually(() => kubectl.run(["-n", namespace, "apply", "-f", "-"], { input: JSON.stringify(each) }));
  for (const ready of ["issuer/company", `clusterissuer/${everywhere.name}`])
    await kubectl.run(["-n", namespace, "wait", "--for=condition=Ready", ready, "--timeout=60s"]);
  return { company: { name: "company" }, everywhere };
}

/** The Certificates that the cluster has requested, sorted by name. */
export async function requestsOf(cluster: UserCluster): Promise<readonly Certificate[]> {
  const selector = `etcd.improbable.io/cluster-name=${cluster.name}`;
  return (await cluster.json<{ items: Certificate[] }>("get", "certificates.cert-manager.io", "-l", selector)).items;
}

/**
 * Renews a certificate now, as cmctl does, with the condition Issuing.
 * @param agoMs how long ago the renewal was requested
 */
export async function renew(cluster: UserCluster, name: string, agoMs = 0): Promise<void> {
  const { status = {} } = await cluster.json<Certificate>("get", "certificates.cert-manager.io", name);
  const lastTransitionTime = new Date(Date.now() - agoMs).toISOString().replace(/\.\d+Z$/, "Z");
  const issuing = { type: "Issuing", status: "True", reason: "ManuallyTriggered", message: "a person requests the renewal", lastTransitionTime }; // biome-ignore format: a condition
  const conditions = [...(status.conditions ?? []).filter(({ type }) => type !== "Issuing"), issuing];
  const patch = JSON.stringify({ status: { conditions } });
  await cluster.kubectl("patch", "certificates.cert-manager.io", name, "--subresource=status", "--type=merge", "-p", patch); // biome-ignore format: a command
}
