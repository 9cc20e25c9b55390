import type { Draft, KubeObject } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";

/** The draft as the API server would store it, in place of the live object. */
export function stored<T extends KubeObject>(draft: Draft<T>, live?: T): T {
  if (live !== undefined) return { ...live, ...replacing<T>(live, draft) };
  const uid = `foretold-${draft.kind}-${draft.metadata.name}`;
  return { ...draft, metadata: { uid, resourceVersion: "", ...draft.metadata } } as unknown as T;
}

/** The object with other metadata. */
export function changedStored<T extends KubeObject>(live: T, metadata: Partial<KubeObject["metadata"]>): T {
  return { ...live, metadata: { ...live.metadata, ...metadata } };
}
