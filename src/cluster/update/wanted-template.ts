import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { askedIn, type MemberTemplate, revisionOf, templateIn } from "#api/revision.ts";
import { whyNotShape } from "#api/shape.ts";
import { hasTls } from "#api/tls.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { runningRevision } from "#cluster/members/member-state.ts";
import type { KnownMember } from "#cluster/members/members.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import { whyOwnSecrets } from "#cluster-tls/check/own-secrets.ts";
import { whyTlsRemoved } from "#cluster-tls/effective/removed-tls.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { whyNotSpec } from "./refused-spec.ts";
import { versionsInUse, whyNoPathTo } from "./version-path.ts";
import { runningVersion, templateOfMost, withReleaseOf, withVersion } from "./versions.ts";

// How a running cluster is updated:
// - The spec of each EtcdPeer holds the template of its member. The cluster controller writes the new template to one
//   EtcdPeer at a time.
// - The ReplicaSet of that EtcdPeer takes the template over without touching the pod. The cluster controller then
//   restarts the pod and waits until the member has caught up.
// - The first member with a new template is the canary. If it does not become healthy in time, it is rolled back and
//   the update stops.
// - With OnDelete, every EtcdPeer gets the new template as soon as possible, and people delete the pods. A pending
//   restart then blocks nothing.

/** The template in the spec of the EtcdPeer. */
export function templateOf({ spec }: EtcdPeer): MemberTemplate {
  return templateIn(spec);
}

/**
 * The template that the update aims at: what the spec asks for. The release is replaced by the running one when no
 * member can move to `spec.version`. For a refused spec it is the template of most members.
 */
export const wantedTemplate = remembered((snapshot): MemberTemplate => {
  return whyRefused(snapshot).length === 0 ? askedTemplate(snapshot) : templateOfMost(snapshot);
});

/** Why the spec is refused for all members: one sentence for each reason. */
export const whyRefused = remembered((snapshot): readonly string[] => {
  // An object with an invalid shape cannot be checked further.
  const why = whyNotShape(snapshot.cluster.spec, ETCD_CLUSTERS.kind);
  if (why !== undefined) return [why];
  const { metadata, spec } = snapshot.cluster;
  return [
    ...whyTlsRemoved(snapshot),
    ...whyOwnSecrets(snapshot.cluster),
    ...whyNotNetworkPolicy(spec.networkPolicy).map(({ field, message }) => `${field}: ${message}`),
    ...whyNotSpec(
      { ...spec, tls: hasTls(spec) ? spec.tls : undefined },
      askedTemplate(snapshot).version,
      metadata.name,
    ),
  ];
});

const askedTemplate = remembered((snapshot): MemberTemplate => {
  const { version } = snapshot.cluster.spec;
  const running = runningVersion(snapshot);
  const possible = [version, running, ...versionsInUse(snapshot)].find(
    (each) => whyNoPathTo(snapshot, each) === undefined,
  );
  const asked = askedIn(snapshot.cluster.spec, memberTls(snapshot));
  return withReleaseOf(asked, withVersion(templateOfMost(snapshot), possible ?? running));
});

/**
 * The revision that the update aims at. While the spec is refused, it is that of the recorded update, as long as a
 * member has it. The canary is then still judged, and rolled back if it fails.
 */
export const wantedRevision = remembered((snapshot): string => {
  const { update } = snapshot.cluster.status ?? {};
  const isJudged = update !== undefined && whyRefused(snapshot).length > 0 && isInUse(snapshot, update.revision);
  return isJudged ? update.revision : revisionOf(wantedTemplate(snapshot));
});

function isInUse({ peers, pods }: ClusterSnapshot, revision: string): boolean {
  return peers.some(
    (peer) => revisionOf(templateOf(peer)) === revision || runningRevision(pods.get(peer.metadata.name)) === revision,
  );
}

/** The stop of the current update, if it was stopped. */
export function stoppedUpdate(snapshot: ClusterSnapshot): { member: string; message: string } | undefined {
  const update = snapshot.cluster.status?.update;
  return update?.revision === wantedRevision(snapshot) ? update.stopped : undefined;
}

/** Whether the member is fit and runs the wanted template. */
export function isUpdated(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return member.template.revision === wantedRevision(snapshot) && member.lacks.length === 0;
}
