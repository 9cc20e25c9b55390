import type { Reason } from "#api/conditions.ts";
import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { isToSleep } from "#api/sleep.ts";
import { ownJoining } from "#cluster/members/learners.ts";
import { knownMembers } from "#cluster/members/members.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import { isRolling } from "#cluster/update/update-status.ts";

/**
 * Whether members are joining, or the wanted number differs from the actual. Members not added by the operator are not
 * counted.
 */
export function isChanging(snapshot: ClusterSnapshot): boolean {
  if (isForming(snapshot) || snapshot.members.is !== "present") return false;
  return isScaling(snapshot) || isRolling(snapshot);
}

/**
 * The reason for a change of membership. With spec.replicas 0 everything stays as it is. A member that leaves because
 * it is lost or could not start is replaced; otherwise it is scaling, or an update.
 */
export function changeReason(snapshot: ClusterSnapshot): Reason {
  if (isToSleep(snapshot.cluster)) return "FallingAsleep";
  const isReplacing = snapshot.peers.some(({ metadata }) => {
    const removal = metadata.annotations?.[REMOVAL_ANNOTATION];
    return removal !== undefined && removal !== "scale-down";
  });
  if (isReplacing) return "Replacing";
  return isScaling(snapshot) ? "Scaling" : "Rolling";
}

function isScaling(snapshot: ClusterSnapshot): boolean {
  const own = knownMembers(snapshot).filter(({ isOurs }) => isOurs);
  return ownJoining(snapshot).length > 0 || own.length !== snapshot.cluster.spec.replicas;
}
