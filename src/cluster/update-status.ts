import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import type { UpdateStatus } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { whyUnfit } from "#cluster/fitness.ts";
import { ownVoters } from "#cluster/members.ts";
import {
  isOnDelete,
  isOutdated,
  isUpdated,
  stoppedUpdate,
  templateOf,
  waitsForPerson,
  wantedRevision,
  wantedTemplate,
  whyRefused,
} from "#cluster/rolling.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import { askedDowngrade } from "#cluster/version-path.ts";
import { runningRevision, runningVersion } from "#cluster/versions.ts";

/** Whether members are being restarted with what the spec asks for, or are to be. */
export function isUpdating(snapshot: ClusterSnapshot): boolean {
  if (isForming(snapshot)) return false;
  // Members that wait for a downgrade are given nothing yet.
  const isRefused = whyRefused(snapshot).length > 0 || stoppedUpdate(snapshot) !== undefined;
  if (askedDowngrade(snapshot) !== undefined && !isRefused) return true;
  return snapshot.peers.some((peer) => {
    const running = runningRevision(snapshot.pods.get(peer.metadata.name));
    const isBehind = running !== undefined && running !== revisionOf(templateOf(peer));
    return isBehind || isOutdated(snapshot, peer);
  });
}

/** Whether the operator is restarting members, or is to: with OnDelete that is not its business. */
export function isRolling(snapshot: ClusterSnapshot): boolean {
  return !isOnDelete(snapshot) && isUpdating(snapshot);
}

/** Members that get what is wanted when somebody deletes their pods. */
export function waitingForDeletion(snapshot: ClusterSnapshot): readonly string[] {
  if (isForming(snapshot)) return [];
  return snapshot.peers.filter((peer) => waitsForPerson(snapshot, peer)).map(({ metadata }) => metadata.name);
}

/** @param names of members of which at least one waits */
export function awaitedText(names: readonly string[]): string {
  return `${names.join(", ")} ${names.length === 1 ? "gets" : "get"} what the spec asks for when somebody deletes ${names.length === 1 ? "its pod" : "their pods"}`;
}

/** How far the update is; `undefined` when there is none. */
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
  const waitingFor = voters.find((member) => whyUnfit(snapshot, member) !== undefined)?.name;
  const awaited = waitingForDeletion(snapshot);
  return {
    revision,
    from: before?.from ?? runningVersion(snapshot),
    to: before?.to ?? wantedTemplate(snapshot).version,
    updated,
    proven: before?.proven === true || updated.length > 0,
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...(awaited.length === 0 ? {} : { waitingForDeletion: [...awaited] }),
    since: before?.since ?? rfc3339(takenAtMs),
    ...(stopped === undefined ? {} : { stopped }),
  };
}

/** Whom the update on record waits for at its end, as a sentence; `undefined` when there is none, or it waits for nobody. */
export function unfinishedText(snapshot: ClusterSnapshot): string | undefined {
  const { to, waitingFor } = updateStatus(snapshot) ?? {};
  const member = ownVoters(snapshot).find(({ name }) => name === waitingFor);
  return member && `the update to etcd ${to} ends once ${member.name} ${whyUnfit(snapshot, member)}`;
}

/** Whether a member gets that because the spec asks for it, for people: what is put back, or was asked for before it was refused, it does not ask for. */
export function wishText(snapshot: ClusterSnapshot, template: MemberTemplate): string {
  const isTriedInVain = stoppedUpdate(snapshot) !== undefined && revisionOf(template) !== wantedRevision(snapshot);
  const isRelease = template.version === snapshot.cluster.spec.version;
  const isAsked = isRelease && whyRefused(snapshot).length === 0 && !isTriedInVain;
  return isAsked ? " as the spec has it by now" : ", and not as the spec has it by now";
}
