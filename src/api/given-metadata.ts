import { METADATA_KEYS_ANNOTATION } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";

// Labels, annotations and fields that a spec gives to objects of the operator.

export interface GivenMetadata {
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
 * @param own labels that the operator sets
 * @param fields of the draft's spec that the owner's spec gives
 */
export function withGiven(
  own: Readonly<Record<string, string>>,
  { labels = {}, annotations = {} }: GivenMetadata = {},
  fields: readonly string[] = [],
) {
  const keys: Keys = {
    labels: Object.keys(labels).sort(),
    annotations: Object.keys(annotations).sort(),
    ...(fields.length === 0 ? {} : { fields }),
  };
  const isPlain = keys.labels.length + keys.annotations.length + fields.length === 0;
  return {
    labels: { ...labels, ...own },
    ...(isPlain ? {} : { annotations: { ...annotations, [METADATA_KEYS_ANNOTATION]: JSON.stringify(keys) } }),
  };
}

/** The live object without the labels and annotations that a spec gave it. Those of other clients stay. */
export function withoutGiven<T extends KubeObject>(live: T): T {
  const keys = keysIn(live.metadata.annotations);
  const metadata = {
    ...live.metadata,
    labels: without(live.metadata.labels, keys.labels),
    annotations: without(live.metadata.annotations, [...keys.annotations, METADATA_KEYS_ANNOTATION]),
  };
  return { ...live, metadata };
}

/** The fields of the live object's spec that a cluster's spec gave it. */
export function givenFields(live: KubeObject): readonly string[] {
  return keysIn(live.metadata.annotations).fields ?? [];
}

/**
 * Identifies the labels and annotations that a spec gave the object, with their values. Undefined when it gave none.
 * Labels and annotations of other clients do not count.
 */
export function givenText({ labels, annotations }: GivenMetadata): string | undefined {
  const text = annotations?.[METADATA_KEYS_ANNOTATION];
  if (text === undefined) return undefined;
  const keys = keysIn(annotations);
  return fingerprint([text, only(labels, keys.labels), only(annotations, keys.annotations)]);
}

/** Whether the live object has all labels and annotations of the draft, such as the hash of its content. */
export function hasMetadata<T extends KubeObject>({ metadata }: KubeObject, wanted: Draft<T>): boolean {
  return has(metadata.labels, wanted.metadata.labels) && has(metadata.annotations, wanted.metadata.annotations);
}

/** @returns none when another client has overwritten the annotation with something else */
function keysIn(annotations: GivenMetadata["annotations"]): Keys {
  try {
    const text = annotations?.[METADATA_KEYS_ANNOTATION] ?? "{}";
    const { labels, annotations: keys, fields } = JSON.parse(text);
    return { labels: strings(labels), annotations: strings(keys), fields: strings(fields) };
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

function only(all: Readonly<Record<string, string>> = {}, keys: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)));
}

function has(live: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => live[key] === value);
}
