import { REMOVAL_ANNOTATION } from "#api/names.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { interruptedBy, leavingBy, peerBefore, peerIn } from "#cluster/touched.ts";
import { canary } from "#cluster/update/canary.ts";
import { othersDown } from "#cluster/update/fitness.ts";
import { isOutdated } from "#cluster/update/next-template.ts";
import { isAboutToRestart } from "#cluster/update/pending-restart.ts";
import { isWaived } from "#cluster/update/waivers.ts";
import { ownJoining } from "./learners.ts";
import { intendedPeers, type KnownMember, knownMembers } from "./members.ts";

/** Only one member at a time joins, leaves, restarts or is replaced. */
export const oneAtATime: ClusterGuard = {
  name: "one-at-a-time",
  forbids(snapshot, step) {
    const leaving = leavingBy(snapshot, step);
    // Removing a joining member ends the change that would block it.
    if (leaving !== undefined)
      return isComing(snapshot, leaving.name) ? undefined : otherChange(snapshot, { except: leaving.name });
    if (hasTrait(step, "member", "comes")) return otherChange(snapshot, { except: step.name });
    if (isNewIntent(step)) return otherChange(snapshot, {});
    const stops = interruptedBy(snapshot, step);
    if (stops === undefined) return undefined;
    const why = otherChange(snapshot, { except: stops }) ?? otherDown(snapshot, stops);
    return why ?? (hasTrait(step, "interrupts", "peer") ? restartPending(snapshot) : undefined);
  },
};

/** Whether the step creates the EtcdPeer of a member that is not added yet. */
function isNewIntent(step: ClusterStep): boolean {
  const { bootstrap, memberID } = peerIn(step)?.spec ?? {};
  const isIntent = bootstrap?.initialClusterState === "Existing" && memberID === undefined;
  return isIntent && peerBefore(step) === undefined;
}

/** Names another member that does not participate in the quorum. */
function otherDown(snapshot: ClusterSnapshot, name: string): string | undefined {
  // The waiver covers neither the canary nor the quorum, which another guard checks.
  const isExcused = ({ id }: KnownMember) => isWaived(snapshot, "MembersHealthy") && canary(snapshot)?.id !== id;
  const other = othersDown(snapshot, name).find((member) => !isExcused(member));
  return other === undefined ? undefined : `${other.name} does not participate in the quorum`;
}

/** Names another member with a pending restart. An outdated one does not count. */
function restartPending(snapshot: ClusterSnapshot): string | undefined {
  const other = snapshot.peers.find((peer) => isAboutToRestart(snapshot, peer) && !isOutdated(snapshot, peer));
  return other === undefined ? undefined : `${other.metadata.name} is about to restart`;
}

function isComing(snapshot: ClusterSnapshot, name: string): boolean {
  return ownJoining(snapshot).some((member) => member.name === name);
}

/** Names another member that is joining or leaving. */
function otherChange(snapshot: ClusterSnapshot, { except }: { except?: string }): string | undefined {
  const coming = ownJoining(snapshot).find(({ name }) => name !== except);
  if (coming !== undefined) return `${coming.name} is still joining`;
  const intended = intendedPeers(snapshot).find(({ metadata }) => metadata.name !== except);
  if (intended !== undefined) return `${intended.metadata.name} is about to join`;
  const listed = new Set(knownMembers(snapshot).map(({ name }) => name));
  const leaving = snapshot.peers.find(
    ({ metadata }) =>
      metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined && listed.has(metadata.name) && metadata.name !== except,
  );
  return leaving === undefined ? undefined : `${leaving.metadata.name} is still leaving`;
}
