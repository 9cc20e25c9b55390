import { revisionOf } from "#api/revision.ts";
import { type KnownMember, ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { isUpdated, stoppedUpdate, templateOf, wantedRevision } from "./wanted-template.ts";

/**
 * The first member that was restarted with the wanted template, until a member has been fit with it. `update.proven`
 * records that, so an outage does not make another member the canary. A member that lost its data is not a canary: it is
 * replaced.
 */
export function canary(snapshot: ClusterSnapshot): KnownMember | undefined {
  const wanted = wantedRevision(snapshot);
  const update = snapshot.cluster.status?.update;
  const voters = ownVoters(snapshot);
  if (update?.revision !== wanted || update.proven || voters.some((member) => isUpdated(snapshot, member)))
    return undefined;
  return voters.find((member) => {
    const { name, container, template, data } = member;
    const peer = peerNamed(snapshot, name);
    const isRestarted = (container.is === "none" || template.revision === wanted) && !data.isLost;
    return peer?.spec.previous !== undefined && revisionOf(templateOf(peer)) === wanted && isRestarted;
  });
}

/**
 * The canary, when three durations exceed its start timeout: unfit, since the update began, and with the new template.
 * `undefined` when the update is stopped already.
 */
export function overdueCanary(snapshot: ClusterSnapshot): KnownMember | undefined {
  const first = canary(snapshot);
  if (first === undefined || stoppedUpdate(snapshot) !== undefined) return undefined;
  const since = Date.parse(snapshot.cluster.status?.update?.startTime ?? "");
  const spansMs = [first.history.unfitForMs, Math.abs(snapshot.takenAtMs - since), withNewTemplateForMs(first)];
  return spansMs.every((ms) => ms >= snapshot.memberTimeoutMs) ? first : undefined;
}

/**
 * How long the canary has had its new template, in milliseconds. The pod may be recreated more often than the timeout.
 * Without a pod, only the time without one is certain to be after the restart.
 */
function withNewTemplateForMs({ container, history }: KnownMember): number {
  if (container.is === "none") return history.podlessForMs;
  return container.isYoung ? history.triedForMs : Number.POSITIVE_INFINITY;
}
