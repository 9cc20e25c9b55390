import { DEFAULT_AGENT_RESOURCES } from "#api/agent-resources.ts";
import { isEmpty } from "#api/meaning.ts";
import type { EtcdBackupSpec, ResourceNeeds } from "#api/v1beta1/backup.ts";
import type { Pod } from "#kube/kinds.ts";

// What `spec.podTemplate` of a backup or restore adds to the pods of its Jobs.

/** Pod template of a backup. That of a restore has fewer fields. */
export type JobPodTemplate = EtcdBackupSpec["podTemplate"];

type Labels = Readonly<Record<string, string>>;
type PodSpec = NonNullable<Pod["spec"]>;

/** Fields that are copied to the pod. No other field may be: some of them would give it a token or privileges. */
const FIELDS = ["serviceAccountName", "priorityClassName"] as const;

/**
 * Metadata of the pod.
 * @param own labels of the operator, which override those of the template
 * @param defaults labels that the template may override
 */
export function podMetadata(template: JobPodTemplate, own: Labels, defaults: Labels = {}) {
  const { labels, annotations } = template?.metadata ?? {};
  return { labels: { ...defaults, ...labels, ...own }, ...(annotations === undefined ? {} : { annotations }) };
}

/** Fields of the pod's spec. */
export function podFields(template: JobPodTemplate): Partial<PodSpec> {
  const spec = template?.spec ?? {};
  return Object.fromEntries(FIELDS.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])));
}

/** Resources and variables of the agent's containers. */
export interface AgentSettings {
  readonly resources: ResourceNeeds;
  readonly variables: Readonly<Record<string, string>>;
}

export function agentSettings(template: JobPodTemplate): AgentSettings {
  return {
    resources: askedResources(template?.spec?.resources) ?? DEFAULT_AGENT_RESOURCES,
    variables: proxyVariables(template?.spec?.proxy),
  };
}

/** Environment variables for proxies. Beside the task, the agent's containers may have no others. */
export const PROXY_VARIABLES = { httpsProxy: "HTTPS_PROXY", httpProxy: "HTTP_PROXY", noProxy: "NO_PROXY" } as const;

/**
 * Hosts for which no proxy is used, because a proxy cannot reach them for the pod. They are loopback, and the servers
 * with a pod's credentials at Amazon (node, ECS and EKS) and Google.
 */
const NEVER_PROXIED = [
  ...["localhost", "127.0.0.1", "169.254.169.254", "169.254.170.2", "169.254.170.23"],
  ...["metadata.google.internal", "metadata.google.internal."],
];

function proxyVariables(proxy: NonNullable<NonNullable<JobPodTemplate>["spec"]>["proxy"]): Record<string, string> {
  if (proxy?.httpsProxy === undefined && proxy?.httpProxy === undefined) return {};
  const { noProxy = "" } = proxy;
  const all = { ...proxy, noProxy: [...(noProxy === "" ? [] : [noProxy]), ...NEVER_PROXIED].join(",") };
  return Object.fromEntries(
    Object.entries(PROXY_VARIABLES).flatMap(([field, variable]) => {
      const value = all[field as keyof typeof PROXY_VARIABLES];
      return value === undefined ? [] : [[variable, value]];
    }),
  );
}

/** Compute resources, or `undefined` for empty ones, which many clients leave out. */
export function askedResources(asked: ResourceNeeds | undefined): ResourceNeeds | undefined {
  return asked === undefined || Object.values(asked).every(isEmpty) ? undefined : asked;
}
