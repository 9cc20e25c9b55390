import { ETCD_CONTAINER } from "#api/names.ts";
import { MERGE_KEYS } from "#api/pod-template/merge-keys.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isMap } from "#base/json.ts";
import type { Draft, ReplicaSet } from "#kube/kinds.ts";

/** The field of the EtcdCluster that determines a field of a member's ReplicaSet. */
export interface Place {
  readonly field: string;
  /** Whether the user has set it; otherwise the operator has. */
  readonly isTheirs: boolean;
}

/** A step of a path: a field name, or the content of brackets. */
const STEP = /([^.[\]]+)|\[([^\]]*)\]/g;
const OF_ETCD = `spec.podTemplate.spec.containers[${ETCD_CONTAINER}]`;
const OF_PULL_SECRETS = "spec.podTemplate.spec.imagePullSecrets";

/**
 * @param path as in the API server's message, such as `spec.template.spec.containers[1].image`
 * @param trial the ReplicaSet of the dry run
 */
export function placeOf(path: string, trial: Draft<ReplicaSet>, spec: EtcdClusterSpec): Place {
  const steps = [...path.matchAll(STEP)].slice(2);
  // Kubernetes omits `metadata` in some paths.
  const isBare = /^(?:labels|annotations)$/.test(steps[0]?.[0] ?? "");
  const start = { field: `spec.podTemplate${isBare ? ".metadata" : ""}`, at: isBare ? "metadata" : "" };
  const template: unknown = trial.spec?.template;
  const both = isBare ? valueAt(template, "metadata") : template;
  const theirs = isBare ? valueAt(spec.podTemplate, "metadata") : spec.podTemplate;
  const walked = steps.reduce(walk, { ...start, both, theirs, isTheirs: false });
  return ofImage(walked.field, spec) ?? walked;
}

interface Walk extends Place {
  /** The path without list indexes, as in MERGE_KEYS. */
  readonly at: string;
  /** The value at this path in the ReplicaSet, and in the user's template. */
  readonly both: unknown;
  readonly theirs: unknown;
}

/** List items are addressed by name, because their indexes differ between the user's list and the merged one. */
function walk({ field, at, both, theirs, isTheirs }: Walk, [, name, key = ""]: RegExpExecArray): Walk {
  const step = name ?? key;
  if (Array.isArray(both) && name === undefined) {
    const item: unknown = both[Number(step)];
    const mergeKey = MERGE_KEYS[at];
    const called = mergeKey === undefined ? undefined : valueAt(item, mergeKey);
    const own = !Array.isArray(theirs)
      ? undefined
      : called === undefined
        ? theirs[Number(step)]
        : theirs.find((each) => valueAt(each, mergeKey ?? "") === called);
    return { field: `${field}[${called ?? step}]`, at, both: item, theirs: own, isTheirs: own !== undefined };
  }
  const next = {
    field: name === undefined ? `${field}[${step}]` : `${field}.${step}`,
    at: at === "" ? step : `${at}.${step}`,
    both: valueAt(both, step),
    theirs: valueAt(theirs, step),
  };
  // The path may lead to a missing field: it is the user's if its parent is the user's.
  const isWithin = at !== "" && (isTheirs || next.theirs !== undefined);
  return { ...next, isTheirs: isWithin && (next.theirs !== undefined || next.both === undefined) };
}

function valueAt(value: unknown, field: string): unknown {
  return isMap(value) && Object.hasOwn(value, field) ? value[field] : undefined;
}

/** The fields of spec.image. */
function ofImage(field: string, { image = {} }: EtcdClusterSpec): Place | undefined {
  if (field === `${OF_ETCD}.image`) {
    const isTheirs = image.repository !== undefined || image.digest !== undefined;
    return { field: "spec.image", isTheirs };
  }
  if (field === `${OF_ETCD}.imagePullPolicy`)
    return { field: "spec.image.pullPolicy", isTheirs: image.pullPolicy !== undefined };
  const isPullSecret = image.pullSecrets?.some(({ name }) => field.startsWith(`${OF_PULL_SECRETS}[${name}]`));
  if (isPullSecret) return { field: field.replace(OF_PULL_SECRETS, "spec.image.pullSecrets"), isTheirs: true };
  return undefined;
}
