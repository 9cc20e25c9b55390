import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import type { UpdateStatus } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { runningRevision } from "#cluster/members/member-state.ts";
import { ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import { podTrouble, restartBlocker } from "./fitness.ts";
import { isOutdated } from "./next-template.ts";
import { awaitsManualRestart, isOnDelete } from "./pending-restart.ts";
import { whySnapshotsFirst } from "./raft-entries.ts";
import { askedDowngrade } from "./version-path.ts";
import { runningVersion } from "./versions.ts";
import { isUpdated, stoppedUpdate, templateOf, wantedRevision, wantedTemplate, whyRefused } from "./wanted-template.ts";

/** Whether an update is in progress or about to begin. */
export function isUpdating(snapshot: ClusterSnapshot): boolean {
  if (isForming(snapshot)) return false;
  // Members that wait for a downgrade or for snapshots have no new template yet.
  const isRefused = whyRefused(snapshot).length > 0 || stoppedUpdate(snapshot) !== undefined;
  if (askedDowngrade(snapshot) !== undefined && !isRefused) return true;
  if (whySnapshotsFirst(snapshot) !== undefined) return true;
  return snapshot.peers.some((peer) => {
    if (peer.metadata.deletionTimestamp !== undefined) return false; // Its member has left, and its pod does not restart.
    const running = runningRevision(snapshot.pods.get(peer.metadata.name));
    const isBehind = running !== undefined && running !== revisionOf(templateOf(peer));
    return isBehind || isOutdated(snapshot, peer);
  });
}

/** Whether the operator itself restarts members. With OnDelete people do. */
export function isRolling(snapshot: ClusterSnapshot): boolean {
  return !isOnDelete(snapshot) && isUpdating(snapshot);
}

/** The members that restart with their new template when a person deletes their pods. */
export function waitingForDeletion(snapshot: ClusterSnapshot): readonly string[] {
  if (isForming(snapshot)) return [];
  return snapshot.peers.filter((peer) => awaitsManualRestart(snapshot, peer)).map(({ metadata }) => metadata.name);
}

/** @param names of members of which at least one waits */
export function awaitedText(names: readonly string[]): string {
  return `${names.join(", ")} ${names.length === 1 ? "gets" : "get"} what the spec asks for when ${names.length === 1 ? "its pod is" : "their pods are"} deleted`;
}

/** The progress of the update; `undefined` when there is none. */
export function updateStatus(snapshot: ClusterSnapshot): UpdateStatus | undefined {
  const { cluster, takenAtMs } = snapshot;
  const revision = wantedRevision(snapshot);
  const recorded = cluster.status?.update;
  const before = recorded?.revision === revision ? recorded : undefined;
  const stopped = stoppedUpdate(snapshot);
  const voters = ownVoters(snapshot);
  const isEnding = recorded !== undefined && voters.some((member) => !isUpdated(snapshot, member));
  if (!isUpdating(snapshot) && !isEnding) return undefined;
  const updated = voters.filter((member) => isUpdated(snapshot, member)).map(({ name }) => name);
  const waitingFor = voters.find((member) => member.lacks.length > 0)?.name;
  const awaited = waitingForDeletion(snapshot);
  return {
    revision,
    from: before?.from ?? runningVersion(snapshot),
    to: before?.to ?? wantedTemplate(snapshot).version,
    updated,
    proven: before?.proven === true || updated.length > 0,
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...(awaited.length === 0 ? {} : { waitingForDeletion: [...awaited] }),
    startTime: before?.startTime ?? rfc3339(takenAtMs),
    ...(stopped === undefined ? {} : { stopped }),
  };
}

/**
 * The member that the recorded update waits for, as a sentence; `undefined` without an update, or when none is unfit.
 */
export function unfinishedText(snapshot: ClusterSnapshot): string | undefined {
  const { to, waitingFor } = updateStatus(snapshot) ?? {};
  const member = ownVoters(snapshot).find(({ name }) => name === waitingFor);
  return (
    member &&
    `the update to etcd ${to} ends once ${member.name} ${restartBlocker(member)}${podTrouble(snapshot, member.name)}`
  );
}

/**
 * Whether the spec asks for this template, as a clause for people. A rollback template, or one from before a refused
 * spec, is not asked for.
 */
export function wishText(snapshot: ClusterSnapshot, template: MemberTemplate): string {
  const hasFailedTemplate = stoppedUpdate(snapshot) !== undefined && revisionOf(template) !== wantedRevision(snapshot);
  const isRelease = template.version === snapshot.cluster.spec.version;
  const isAsked = isRelease && whyRefused(snapshot).length === 0 && !hasFailedTemplate;
  return isAsked ? " as the spec asks" : ", which is not what the spec asks for";
}
