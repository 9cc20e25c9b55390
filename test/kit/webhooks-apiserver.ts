import { OPERATOR, WEBHOOKS } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
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

// A real API server calls webhooks in a process of the test, as the shipped manifests tell it to, but for the port.

const OPTIONS = { signal: new AbortController().signal };
const PLURALS: Readonly<Record<string, string>> = { ValidatingAdmissionPolicy: "validatingadmissionpolicies" };

/** The kind of a manifest. */
export function kindOf(manifest: object): AnyResource {
  const { apiVersion = "", kind = "", metadata } = manifest as Partial<KubeObject>;
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return resource({ group, version, kind, plural, namespaced: metadata?.namespace !== undefined });
}

/** Makes what a manifest says; of the Service of the webhooks one that leads to this machine. */
export async function install(admin: KubeClient, manifest: object): Promise<void> {
  const draft = manifest as Draft<KubeObject>;
  if (draft.kind !== SERVICES.kind || draft.metadata.name !== WEBHOOKS)
    return void (await admin.create(kindOf(manifest), draft, OPTIONS));
  // There are no pods here. The API server follows an external name as kubectl would follow a cluster IP.
  const spec = { type: "ExternalName", externalName: "localhost" };
  await admin.create(SERVICES, { ...draft, spec } as never, OPTIONS);
}

/** The admission webhook as it is shipped, but for the port and, where a test asks for it, for what becomes of a failed call. */
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

/** The same for conversions. */
export async function leadConversions(admin: KubeClient, port: number): Promise<void> {
  const spec = { conversion: { webhook: { clientConfig: { service: { port } } } } };
  for (const of of [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS]) {
    const ref = { name: resourceName(of) };
    await admin.patch(CUSTOM_RESOURCE_DEFINITIONS, ref, { spec }, { ...OPTIONS, type: "merge" });
  }
}

export async function definitionOf(admin: KubeClient, of: AnyResource): Promise<CustomResourceDefinition> {
  return await admin.get(CUSTOM_RESOURCE_DEFINITIONS, { name: resourceName(of) }, OPTIONS);
}
