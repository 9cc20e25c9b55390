import { clusterLabels, METADATA_KEYS_ANNOTATION } from "#api/names.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";

// Labels, annotations and fields that the spec of a cluster gives to objects of the operator.

interface Metadata {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Labels, annotations and fields that the operator has set and may remove again. */
interface Keys {
  readonly fields?: readonly string[];
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

/**
 * Labels and annotations of a draft. The operator's own labels take precedence over those of the spec.
 * @param fields of the draft's spec that the cluster's spec gives
 */
export function withGiven(
  cluster: string,
  { labels = {}, annotations = {} }: Metadata = {},
  fields: readonly string[] = [],
) {
  const keys: Keys = {
    labels: Object.keys(labels).sort(),
    annotations: Object.keys(annotations).sort(),
    ...(fields.length === 0 ? {} : { fields }),
  };
  const isPlain = keys.labels.length + keys.annotations.length + fields.length === 0;
  return {
    labels: { ...labels, ...clusterLabels(cluster) },
    ...(isPlain ? {} : { annotations: { ...annotations, [METADATA_KEYS_ANNOTATION]: JSON.stringify(keys) } }),
  };
}

/** The live object without the labels and annotations that a spec gave it. Those of other clients stay. */
export function withoutGiven<T extends KubeObject>(live: T): T {
  const keys = keysOn(live);
  const metadata = {
    ...live.metadata,
    labels: without(live.metadata.labels, keys.labels),
    annotations: without(live.metadata.annotations, [...keys.annotations, METADATA_KEYS_ANNOTATION]),
  };
  return { ...live, metadata };
}

/** The fields of the live object's spec that a cluster's spec gave it. */
export function givenFields(live: KubeObject): readonly string[] {
  return keysOn(live).fields ?? [];
}

/** Whether the live object has all labels and annotations of the draft, such as the hash of its content. */
export function hasMetadata<T extends KubeObject>({ metadata }: KubeObject, wanted: Draft<T>): boolean {
  return has(metadata.labels, wanted.metadata.labels) && has(metadata.annotations, wanted.metadata.annotations);
}

/** @returns none when another client has overwritten the annotation with something else */
function keysOn({ metadata }: KubeObject): Keys {
  try {
    const text = metadata.annotations?.[METADATA_KEYS_ANNOTATION] ?? "{}";
    const { labels = [], annotations = [], fields = [] } = JSON.parse(text);
    return { labels: strings(labels), annotations: strings(annotations), fields: strings(fields) };
  } catch {
    return { labels: [], annotations: [] };
  }
}

function strings(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

function without(
  all: Readonly<Record<string, string>> = {},
  keys: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => !keys.includes(key)));
}

function has(live: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => live[key] === value);
}
