import { APPLIED_HASH_ANNOTATION } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";

/** Adds the hash of the draft's content, so that a later pass can skip an unchanged object. */
export function withHash<T extends KubeObject>(draft: Draft<T>): Draft<T> {
  const annotations = { ...draft.metadata.annotations, [APPLIED_HASH_ANNOTATION]: fingerprint(draft) };
  return { ...draft, metadata: { ...draft.metadata, annotations } };
}

/** Whether the live object was last written from a different draft. */
export function isStale<T extends KubeObject>(live: KubeObject, wanted: Draft<T>): boolean {
  return (
    live.metadata.annotations?.[APPLIED_HASH_ANNOTATION] !== wanted.metadata.annotations?.[APPLIED_HASH_ANNOTATION]
  );
}

/** Short text that identifies the draft's content: equal texts mean equal content. */
export function draftText<T extends KubeObject>(draft: Draft<T> | T): string {
  return `${draft.metadata.name} ${draft.metadata.annotations?.[APPLIED_HASH_ANNOTATION] ?? ""}`;
}
