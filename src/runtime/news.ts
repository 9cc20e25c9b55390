import { isSameData } from "#base/hash.ts";
import type { KubeObject } from "#kube/kinds.ts";

/** What has become of an object. */
export interface SeenChange {
  readonly type?: "added" | "modified" | "deleted";
  readonly object: KubeObject;
  readonly previous?: KubeObject | undefined;
}

/**
 * Whether a change is one of what a room reads. Most changes are of status that others write, such as how many replicas there are by now: each
 * would be a look with all its questions.
 * @param read what the room reads of the object beside its metadata; its version is in none of it
 */
export function isNewsOf<T extends KubeObject>(read: (object: T) => unknown): (change: SeenChange) => boolean {
  const seen = (object: KubeObject) => {
    const { resourceVersion: _, ...metadata } = object.metadata;
    return [metadata, read(object as T)];
  };
  return ({ object, previous }) => previous === undefined || !isSameData(seen(object), seen(previous));
}
