import { ETCD_CONTAINER } from "#api/names.ts";
import { intendedPeers, type KnownMember } from "#cluster/members/members.ts";
import { votersToReplace } from "#cluster/members/patience.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { step } from "#runtime/decide.ts";
import { retire } from "./delete-peer-of-removed.ts";

/**
 * Records the removal of a voter that has been lost for longer than `spec.replacement.after`; a new member replaces it
 * later. An intent is dropped first: it would wait forever for the lost member to be healthy.
 */
export const replaceLost: ClusterRule = {
  name: "replace-lost",
  decide(snapshot) {
    const [lost] = votersToReplace(snapshot);
    const peer = lost === undefined ? undefined : peerNamed(snapshot, lost.name);
    if (lost === undefined || peer === undefined) return undefined;
    if (lost.removal !== undefined) return undefined; // remove-member carries it out
    const [intent] = intendedPeers(snapshot).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (intent !== undefined) return retire(intent);
    const seconds = Math.round(lost.history.lostForMs / 1_000);
    const because = `${lost.name} has been lost for ${seconds} s (${why(snapshot, lost)})`;
    const removal = lost.data.neverRan ? "never-started" : "replacement";
    return step(because, { do: "markRemoval", peer, removal });
  },
};

function why(snapshot: ClusterSnapshot, member: KnownMember): string {
  if (member.data.claim === "none") return "its claim is gone";
  if (member.data.fault === "emptyVolume") return "its volume is empty";
  const pod = snapshot.pods.get(member.name);
  const { health } = member;
  return (
    (pod === undefined ? undefined : whyNotRunning(pod, ETCD_CONTAINER)) ??
    (health.is === "healthy" ? "healthy" : health.why)
  );
}
