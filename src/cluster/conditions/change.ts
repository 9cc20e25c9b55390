import type { Reason } from "#api/conditions.ts";
import { REMOVAL_ANNOTATION } from "#api/names.ts";
import { isToSleep } from "#api/sleep.ts";
import { ownArriving } from "#cluster/learners.ts";
import { knownMembers } from "#cluster/members.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import { isRolling } from "#cluster/update-status.ts";

/** Whether members are on their way in, or others are wanted than there are. Members that a person added are not counted. */
export function isChanging(snapshot: ClusterSnapshot): boolean {
  if (isForming(snapshot) || snapshot.members.is !== "present") return false;
  return isScaling(snapshot) || isRolling(snapshot);
}

/** Whatever was under way stays as it is when nobody is wanted. Else a change is a replacement when a member leaves because it is lost or could not start; otherwise it is scaling, or an update. */
export function changeReason(snapshot: ClusterSnapshot): Reason {
  if (isToSleep(snapshot.cluster)) return "FallingAsleep";
  const isReplacing = snapshot.peers.some(({ metadata }) => {
    const removal = metadata.annotations?.[REMOVAL_ANNOTATION];
    return removal === "replacement" || removal === "never-started";
  });
  if (isReplacing) return "Replacing";
  return isScaling(snapshot) ? "Scaling" : "Rolling";
}

function isScaling(snapshot: ClusterSnapshot): boolean {
  const own = knownMembers(snapshot).filter(({ isOurs }) => isOurs);
  return ownArriving(snapshot).length > 0 || own.length !== snapshot.cluster.spec.replicas;
}
