import { ETCD_CONTAINER } from "#api/names.ts";
import { neverRan } from "#cluster/learners.ts";
import { intendedPeers, isLeaving, type KnownMember } from "#cluster/members.ts";
import { givenUp, hasNoClaim, lostForMs, refusedEmptyVolume } from "#cluster/patience.ts";
import { retire } from "#cluster/rules/membership/retire-peer.ts";
import { type ClusterSnapshot, healthOf, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyNotRunning } from "#kube/pod.ts";
import { step } from "#runtime/decide.ts";

/**
 * A voter that is lost for longer than the stated time is given up; a fresh member takes its place afterwards. An intent is taken
 * back first: it waits for the lost member to be healthy, and would wait for ever.
 */
export const replaceLost: ClusterRule = {
  name: "replace-lost",
  decide(snapshot) {
    const [lost] = givenUp(snapshot);
    const peer = lost === undefined ? undefined : peerNamed(snapshot, lost.name);
    if (lost === undefined || peer === undefined) return undefined;
    if (isLeaving(snapshot, lost.name)) return undefined; // remove-member goes on with it
    const [intent] = intendedPeers(snapshot).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (intent !== undefined) return retire(intent, "replace-lost");
    const seconds = Math.round(lostForMs(snapshot, lost) / 1_000);
    const because = `${lost.name} is lost for ${seconds} s (${why(snapshot, lost)})`;
    const removal = neverRan(snapshot, lost) ? "never-started" : "replacement";
    return step("replace-lost", because, { do: "markRemoval", peer, removal });
  },
};

function why(snapshot: ClusterSnapshot, member: KnownMember): string {
  if (hasNoClaim(snapshot, member)) return "its claim is gone";
  if (refusedEmptyVolume(snapshot, member)) return "its volume is empty";
  const pod = snapshot.pods.get(member.name);
  const seen = healthOf(snapshot, member.name, member.id);
  return (
    (pod === undefined ? undefined : whyNotRunning(pod, ETCD_CONTAINER)) ??
    (seen.is === "healthy" ? "healthy" : seen.why)
  );
}
