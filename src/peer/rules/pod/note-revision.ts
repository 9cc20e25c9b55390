import { REVISION_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Annotates a pod of an earlier operator release with the revision of its EtcdPeer. The pod was created from the
 * current spec: spec does not change while a pod has no revision.
 */
export const noteRevision: PeerRule = {
  name: "note-revision",
  decide({ peer, pod }) {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
    if (pod.metadata.annotations?.[REVISION_ANNOTATION] !== undefined) return undefined;
    const because = `${pod.metadata.name} has no revision annotation yet`;
    const annotations = { [REVISION_ANNOTATION]: revisionOf(peer.spec) };
    return step("note-revision", because, { do: "annotatePod", pod, annotations });
  },
};
