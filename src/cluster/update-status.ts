import { revisionOf } from "#api/revision.ts";
import type { UpdateStatus } from "#api/v1alpha1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { ownVoters } from "#cluster/members.ts";
import {
  isOutdated,
  isUpdated,
  stoppedUpdate,
  templateOf,
  wantedRevision,
  wantedTemplate,
  whyUnfit,
} from "#cluster/rolling.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import { runningRevision, runningVersion } from "#cluster/versions.ts";

/** Whether members are being restarted with what the spec asks for, or are to be. */
export function isUpdating(snapshot: ClusterSnapshot): boolean {
  if (isForming(snapshot)) return false;
  return snapshot.peers.some((peer) => {
    const running = runningRevision(snapshot.pods.get(peer.metadata.name));
    const isBehind = running !== undefined && running !== revisionOf(templateOf(peer));
    return isBehind || isOutdated(snapshot, peer);
  });
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
  return {
    revision,
    from: before?.from ?? runningVersion(snapshot),
    to: wantedTemplate(snapshot).version,
    updated,
    proven: before?.proven === true || updated.length > 0,
    ...(waitingFor === undefined ? {} : { waitingFor }),
    since: before?.since ?? rfc3339(takenAtMs),
    ...(stopped === undefined ? {} : { stopped }),
  };
}
