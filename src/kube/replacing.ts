import type { Draft, KubeObject } from "#kube/kinds.ts";

/**
 * Body of a PUT that makes `live` equal to `draft`, with uid and resourceVersion as precondition. Keeps labels,
 * annotations and finalizers that are not in the draft; all other fields that the draft lacks are removed.
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
  // Draft and T differ only in which fields are optional, and all required metadata was set above.
  return merged as unknown as T;
}
