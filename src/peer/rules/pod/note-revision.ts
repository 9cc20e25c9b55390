import { REVISION_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Annotates a pod with the revision of its EtcdPeer when another client has removed the annotation. While the EtcdPeer
 * has a previous template, the pod may run either one: its revision stays unknown until the pod is deleted.
 */
export const noteRevision: PeerRule = {
  name: "note-revision",
  decide({ peer, pod }) {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
    if (pod.metadata.annotations?.[REVISION_ANNOTATION] !== undefined || peer.spec.previous !== undefined)
      return undefined;
    const because = `${pod.metadata.name} has no revision annotation yet`;
    const annotations = { [REVISION_ANNOTATION]: revisionOf(peer.spec) };
    return step("note-revision", because, { do: "annotatePod", pod, annotations });
  },
};
