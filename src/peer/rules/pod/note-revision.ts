import { REVISION_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import type { PeerRule } from "#peer/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * A pod that an earlier release of the operator made does not say what it was made from. It was the EtcdPeer as it is: nobody gets another
 * wish whose pod does not say it.
 */
export const noteRevision: PeerRule = {
  name: "note-revision",
  decide({ peer, pod }) {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
    if (pod.metadata.annotations?.[REVISION_ANNOTATION] !== undefined) return undefined;
    const because = `${pod.metadata.name} does not say yet what it was made from`;
    const annotations = { [REVISION_ANNOTATION]: revisionOf(peer.spec) };
    return step("note-revision", because, { do: "annotatePod", pod, annotations });
  },
};
