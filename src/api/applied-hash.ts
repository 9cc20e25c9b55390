import { APPLIED_HASH_ANNOTATION } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";

/** The draft with the fingerprint of its content, by which a later pass sees that nothing has to be written. */
export function withHash<T extends KubeObject>(draft: Draft<T>): Draft<T> {
  const annotations = { ...draft.metadata.annotations, [APPLIED_HASH_ANNOTATION]: fingerprint(draft) };
  return { ...draft, metadata: { ...draft.metadata, annotations } };
}

/** Whether the live object was last written from another draft than this one. */
export function isStale<T extends KubeObject>(live: KubeObject, wanted: Draft<T>): boolean {
  return (
    live.metadata.annotations?.[APPLIED_HASH_ANNOTATION] !== wanted.metadata.annotations?.[APPLIED_HASH_ANNOTATION]
  );
}

/** What the draft asks for, in a few words: two drafts with the same words are the same wish. */
export function draftText<T extends KubeObject>(draft: Draft<T> | T): string {
  return `${draft.metadata.name} ${draft.metadata.annotations?.[APPLIED_HASH_ANNOTATION] ?? ""}`;
}
