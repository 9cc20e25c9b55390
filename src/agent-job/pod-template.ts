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
const FIELDS = ["serviceAccountName", "nodeSelector", "tolerations", "priorityClassName", "imagePullSecrets"] as const;

/** Metadata of the pod. @param own labels of the operator, which take precedence */
export function podMetadata(template: JobPodTemplate, own: Labels) {
  const { labels, annotations } = template?.metadata ?? {};
  return { labels: { ...labels, ...own }, ...(annotations === undefined ? {} : { annotations }) };
}

/** Fields of the pod's spec. */
export function podFields(template: JobPodTemplate): Partial<PodSpec> {
  const spec = template?.spec ?? {};
  return Object.fromEntries(FIELDS.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])));
}

/** Compute resources of the agent's containers. Empty ones count as absent, because many clients leave them out. */
export function agentResources(template: JobPodTemplate): ResourceNeeds {
  const asked = template?.spec?.resources ?? {};
  return Object.values(asked).every(isEmpty) ? DEFAULT_AGENT_RESOURCES : asked;
}
