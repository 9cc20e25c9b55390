import { isMap } from "#base/json.ts";
import type { Pod } from "#kube/kinds.ts";

// Where do the pods run that fill the claims?
//   Where the members can run: a volume that waits for its first pod is made where that pod is, and stays there. So they have all that the
//   member's own pod says of nodes. What it says of the other members has to hold among these pods, since no member is there yet: a
//   selector that selects the members selects the pods of the restore instead.

type Labels = Readonly<Record<string, string>>;
type PodSpec = NonNullable<Pod["spec"]>;

/** What of a member's pod tells on which node it can run, besides what it says of other pods. */
const FIELDS = ["nodeSelector", "tolerations", "schedulerName", "runtimeClassName", "imagePullSecrets"] as const;

/** @param member the spec of its pod @param labels of it @param own labels that all pods of the restore have, and no others */
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

/** The same with every label selector that selects members taken for one of the restore's pods. */
function translated(value: unknown, labels: Labels, own: Labels): unknown {
  if (Array.isArray(value)) return value.map((item) => translated(item, labels, own));
  if (!isMap(value)) return value;
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    key === "labelSelector" && selects(part, labels) ? { matchLabels: own } : translated(part, labels, own),
  ]);
  return Object.fromEntries(entries);
}

/** Whether the label selector selects these labels; one that cannot be read selects nothing. */
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
