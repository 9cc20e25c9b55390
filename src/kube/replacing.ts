import type { Draft, KubeObject } from "#kube/kinds.ts";

/**
 * What to PUT so that `live` becomes what `draft` says, and only if nobody has changed it since it was read.
 * Labels and annotations that others put there stay; so do finalizers. The rest is the draft's: what it no longer says goes away.
 */
export function replacing<T extends KubeObject>(live: KubeObject, draft: Draft<T>): T {
  const { metadata } = live;
  const merged = {
    ...draft,
    metadata: {
      ...draft.metadata,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      labels: { ...metadata.labels, ...draft.metadata.labels },
      annotations: { ...metadata.annotations, ...draft.metadata.annotations },
      ...(metadata.finalizers === undefined ? {} : { finalizers: metadata.finalizers }),
    },
  };
  // Draft and T differ only in which of the fields checked above may be missing.
  return merged as unknown as T;
}
