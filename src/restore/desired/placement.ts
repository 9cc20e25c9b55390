import { isMap } from "#base/json.ts";
import type { Pod } from "#kube/kinds.ts";

// Where do the pods that fill the claims run?
//   Where the members can run: a volume with WaitForFirstConsumer is provisioned on the node of its first pod and stays
//   there. So these pods copy everything in the member's pod that selects nodes. Terms about the other members must
//   hold among the restore's pods, since no member exists yet. So a label selector that matches the members is replaced
//   by one that matches the pods of the restore.

type Labels = Readonly<Record<string, string>>;
type PodSpec = NonNullable<Pod["spec"]>;

/** Fields of a member's pod that decide on which node it can run, except those about other pods. */
const FIELDS = ["nodeSelector", "tolerations", "schedulerName", "runtimeClassName", "imagePullSecrets"] as const;

/**
 * @param member spec of the member's pod @param labels of the member's pod @param own labels that all pods of this
 * restore have, and no other pods
 */
export function placementOf(member: PodSpec, labels: Labels, own: Labels): Partial<PodSpec> {
  const said = FIELDS.flatMap((field) => (member[field] === undefined ? [] : [[field, member[field]] as const]));
  const { affinity, topologySpreadConstraints } = member;
  return {
    ...Object.fromEntries(said),
    ...(affinity === undefined ? {} : { affinity: translated(affinity, labels, own) as PodSpec["affinity"] }),
    ...(topologySpreadConstraints === undefined
      ? {}
      : { topologySpreadConstraints: translated(topologySpreadConstraints, labels, own) }),
  } as Partial<PodSpec>;
}

/** Copies the value and replaces each label selector that matches members by one that matches the restore's pods. */
function translated(value: unknown, labels: Labels, own: Labels): unknown {
  if (Array.isArray(value)) return value.map((item) => translated(item, labels, own));
  if (!isMap(value)) return value;
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    key === "labelSelector" && selects(part, labels) ? { matchLabels: own } : translated(part, labels, own),
  ]);
  return Object.fromEntries(entries);
}

/** Whether the label selector matches these labels; an invalid selector matches nothing. */
function selects(selector: unknown, labels: Labels): boolean {
  if (!isMap(selector)) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!isMap(matchLabels) || !Array.isArray(matchExpressions)) return false;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((expression) => isMap(expression) && holds(expression, labels))
  );
}

function holds({ key, operator, values }: Readonly<Record<string, unknown>>, labels: Labels): boolean {
  const value = labels[String(key)];
  const listed = Array.isArray(values) && values.includes(value);
  switch (operator) {
    case "In":
      return listed;
    case "NotIn":
      return !listed;
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}
