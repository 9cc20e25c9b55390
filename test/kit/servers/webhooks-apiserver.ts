import { OPERATOR, WEBHOOKS } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { type Clock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type AnyResource,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type Draft,
  type KubeObject,
  resource,
  resourceName,
  SERVICES,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from "#kube/kinds.ts";
import { startWebhooks } from "#webhooks/start.ts";
import { OPERATOR_NAMESPACE } from "../../../scripts/manifests.ts";

// A real API server calls webhooks in the test's process, as the shipped manifests configure it, except for the port.

const OPTIONS = { signal: new AbortController().signal };
const PLURALS: Readonly<Record<string, string>> = {
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
  NetworkPolicy: "networkpolicies",
};

/** The kind of a manifest. */
export function kindOf(manifest: object): AnyResource {
  const { apiVersion = "", kind = "", metadata } = manifest as Partial<KubeObject>;
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return resource({ group, version, kind, plural, namespaced: metadata?.namespace !== undefined });
}

/** Creates the manifest's object. The Service of the webhooks leads to this machine instead. */
export async function install(admin: KubeClient, manifest: object): Promise<void> {
  const draft = manifest as Draft<KubeObject>;
  if (draft.kind !== SERVICES.kind || draft.metadata.name !== WEBHOOKS)
    return void (await admin.create(kindOf(manifest), draft, OPTIONS));
  // There are no pods here. The API server resolves an external name as it would use a cluster IP.
  const spec = { type: "ExternalName", externalName: "localhost" };
  await admin.create(SERVICES, { ...draft, spec } as never, OPTIONS);
}

/** Webhooks that are served, with their calls and log. */
export interface Served {
  readonly port: number;
  /** Path and HTTP status of each call. */
  readonly asked: string[];
  /** Each line of the log: the message and its fields. */
  readonly logged: string[];
  close(): Promise<void>;
}

/**
 * Serves the webhooks and renews their certificate, which is checked twice a second instead of every few minutes.
 * @param operator client with the rights of the operator
 * @param offMs by how much its clock is wrong
 */
export async function serve(operator: KubeClient, offMs: () => number = () => 0): Promise<Served> {
  const [asked, logged]: [string[], string[]] = [[], []];
  const say = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const clock: Clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + offMs(),
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 500), signal),
  };
  const webhooks = await startWebhooks({
    port: 0,
    namespace: OPERATOR_NAMESPACE,
    imageRepository: "registry.example/etcd",
    kube: operator,
    clock,
    log: { ...silentLog, info: say, warn: say, error: say },
    observe: (path, code) => asked.push(`${path} ${code}`),
    mayWrite: () => true,
  });
  const stop = new AbortController();
  const keeping = webhooks.run(stop.signal);
  const close = async () => {
    stop.abort();
    await keeping;
    await webhooks.close();
  };
  return { port: webhooks.port, asked, logged, close };
}

/** The shipped admission webhook, with another port and, if a test wants it, another failure policy. */
export async function leadAdmission(
  admin: KubeClient,
  port: number,
  failurePolicy: "Ignore" | "Fail" = "Ignore",
): Promise<void> {
  const found = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OPERATOR }, OPTIONS);
  const webhooks = found.webhooks!.map((webhook) => ({
    ...webhook,
    failurePolicy,
    clientConfig: { ...webhook.clientConfig, service: { ...webhook.clientConfig.service!, port } },
  }));
  await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...found, webhooks }, OPTIONS);
}

/** The conversion webhooks, with another port. */
export async function leadConversions(admin: KubeClient, port: number): Promise<void> {
  const spec = { conversion: { webhook: { clientConfig: { service: { port } } } } };
  for (const kind of [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_BACKUP_SCHEDULES]) {
    const ref = { name: resourceName(kind) };
    await admin.patch(CUSTOM_RESOURCE_DEFINITIONS, ref, { spec }, { ...OPTIONS, type: "merge" });
  }
}

export async function definitionOf(admin: KubeClient, of: AnyResource): Promise<CustomResourceDefinition> {
  return await admin.get(CUSTOM_RESOURCE_DEFINITIONS, { name: resourceName(of) }, OPTIONS);
}
