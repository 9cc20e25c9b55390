import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { runningRevision } from "#cluster/members/member-state.ts";
import { memberNamed, ownVoters } from "#cluster/members/members.ts";
import { isDown } from "#cluster/members/standstill.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { withAllowedScheme } from "#cluster-tls/change/peer-scheme.ts";
import { trustingAs } from "#cluster-tls/check/trusted.ts";
import { isOlderMinor, isSameMinor, whyNoPath } from "#etcd/version.ts";
import { lacksOnly } from "./fitness.ts";
import { hasPendingRestart } from "./pending-restart.ts";
import { versionOfData, whyNoPathTo, whyNotYet } from "./version-path.ts";
import { withReleaseOf } from "./versions.ts";
import { stoppedUpdate, templateOf, wantedRevision, wantedTemplate, whyRefused } from "./wanted-template.ts";

/**
 * The template that the member gets next: the wanted one, unless the member cannot run it yet or the update to it was
 * stopped.
 */
export function nextTemplate(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate {
  return withAllowedScheme(snapshot, peer, nextRequested(snapshot, peer));
}

function nextRequested(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate {
  const own = templateOf(peer);
  const stopped = stoppedUpdate(snapshot);
  if (stopped === undefined) {
    // A refused spec may arrive in the middle of an update: each member keeps what it runs until the spec is corrected.
    return whyRefused(snapshot).length > 0 ? (templateToReturnTo(snapshot, peer) ?? own) : nextWanted(snapshot, peer);
  }
  const wanted = wantedRevision(snapshot);
  if (revisionOf(own) !== wanted) return templateToKeepRunning(snapshot, peer) ?? own;
  if (hasComeUp(snapshot, peer)) return own;
  return rollbackCandidates(snapshot, peer)[0] ?? own;
}

/**
 * The templates for a rollback of this member, best first: its previous one, then that of a healthy member. The
 * previous template may not trust a rotated CA. So each template is also offered with the trust that the member has
 * now.
 */
export function rollbackTemplates(snapshot: ClusterSnapshot, peer: EtcdPeer): readonly MemberTemplate[] {
  const own = templateOf(peer);
  const back = rollbackCandidates(snapshot, peer);
  const reached = (template: MemberTemplate) => withAllowedScheme(snapshot, peer, template);
  const trusting = back.map((template) => reached(trustingAs(template, own)));
  return [...back.map(reached), ...trusting.filter((template) => revisionOf(template) !== revisionOf(own))];
}

/**
 * The templates for a rollback before TLS is adapted: the previous one, and that of a healthy member. Only releases
 * that the member can move to are included.
 */
function rollbackCandidates(
  snapshot: ClusterSnapshot,
  { metadata: { name }, spec }: EtcdPeer,
): readonly MemberTemplate[] {
  const own = [spec.previous, provenTemplate(snapshot, wantedRevision(snapshot))];
  // A member that never ran has no previous template that is known to work.
  const hasNeverRun = memberNamed(snapshot, name)?.hasStarted === false;
  const back = (hasNeverRun ? own.toReversed() : own).filter((each) => each !== undefined);
  return back.filter(
    ({ version }) => whyNoPathTo(snapshot, version) === undefined && whyNotYet(snapshot, name, version) === undefined,
  );
}

/**
 * The template that the pod still runs, when its pending restart is outdated. `undefined` without a pending restart, or
 * when the pod runs the template that failed.
 */
function templateToKeepRunning(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate | undefined {
  const running = runningRevision(snapshot.pods.get(peer.metadata.name));
  return running === wantedRevision(snapshot) ? undefined : templateStillRun(snapshot, peer);
}

/** The template that the pod still runs while its restart with a new template is pending. */
export function templateStillRun({ pods }: ClusterSnapshot, { metadata, spec }: EtcdPeer): MemberTemplate | undefined {
  const { previous } = spec;
  const isUnused = previous !== undefined && runningRevision(pods.get(metadata.name)) === revisionOf(previous);
  return isUnused ? previous : undefined;
}

/**
 * The template that the pod still runs, when its restart is pending. `undefined` for a member that never ran: it keeps
 * its new template, because it cannot start with the old one.
 */
function templateToReturnTo(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate | undefined {
  return versionOfData(snapshot, peer.metadata.name) === undefined ? undefined : templateStillRun(snapshot, peer);
}

/**
 * The part of the wanted template that the member can get now. It keeps its own release while no member can move to the
 * wanted one.
 */
function nextWanted(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate {
  const wanted = wantedTemplate(snapshot);
  const { name } = peer.metadata;
  // No member can move to `spec.version`: each keeps the release that it runs. A release that the EtcdPeer got before
  // the releases in use were known is not kept if the member cannot move to it.
  if (wanted.version !== snapshot.cluster.spec.version) {
    const from = versionOfData(snapshot, name);
    const kept = templateToReturnTo(snapshot, peer) ?? peer.spec;
    const why = from === undefined ? whyNoPathTo(snapshot, kept.version) : whyNoPath(from, kept.version);
    return why === undefined ? withReleaseOf(wanted, kept) : wanted;
  }
  if (whyNotYet(snapshot, name, wanted.version) === undefined) return wanted;
  const own = withReleaseOf(wanted, peer.spec);
  // A running member gets no partial update: it would have to restart again for the release. For a member that is down,
  // this costs nothing.
  const runsNothing = !snapshot.pods.has(name) || isDown(snapshot, name);
  // A pending restart with an outdated template is cancelled.
  if (!runsNothing)
    return replacementForOlderMinor(snapshot, peer) ?? templateStillRun(snapshot, peer) ?? templateOf(peer);
  // The outdated release in its EtcdPeer may be what keeps the member down: it gets the release that it ran last.
  const ranLast = versionOfData(snapshot, name);
  const isBack = ranLast !== undefined && own.version !== wanted.version && hasImage(snapshot, ranLast, own.version);
  return isBack ? { ...wanted, version: ranLast } : own;
}

/**
 * Whether an image with this release as its tag is known. An image may report another release of the same minor than
 * its tag.
 */
function hasImage({ peers }: ClusterSnapshot, reported: string, assigned: string): boolean {
  const names = peers.flatMap(({ spec }) => [spec.version, spec.previous?.version]);
  return names.includes(reported) || !isSameMinor(reported, assigned);
}

/**
 * The template for a healthy member with an older minor in its EtcdPeer that it cannot run any more, because the
 * downgrade was cancelled.
 */
function replacementForOlderMinor(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate | undefined {
  const { name } = peer.metadata;
  const ranLast = versionOfData(snapshot, name);
  const member = memberNamed(snapshot, name);
  if (member?.health.is !== "healthy" || ranLast === undefined || !isOlderMinor(peer.spec.version, ranLast))
    return undefined;
  return templateToKeepRunning(snapshot, peer) ?? { ...wantedTemplate(snapshot), version: ranLast };
}

/**
 * Whether the member works with the template of the stopped update after all. Once some member has been fit with it,
 * participating in the quorum is enough.
 */
function hasComeUp(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  if (hasPendingRestart(snapshot, peer)) return false;
  const member = memberNamed(snapshot, peer.metadata.name);
  const isFit = member?.lacks.length === 0;
  return isFit || (snapshot.cluster.status?.update?.proven === true && isWell(snapshot, peer));
}

function isWell(snapshot: ClusterSnapshot, { metadata }: EtcdPeer): boolean {
  const member = memberNamed(snapshot, metadata.name);
  return member?.participatesInQuorum === true;
}

/** The template of a healthy member, other than the one that failed. */
function provenTemplate(snapshot: ClusterSnapshot, tried: string): MemberTemplate | undefined {
  return snapshot.peers
    .filter((peer) => isWell(snapshot, peer) && !hasPendingRestart(snapshot, peer))
    .map(templateOf)
    .find((template) => revisionOf(template) !== tried);
}

export function isOutdated(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  return revisionOf(templateOf(peer)) !== revisionOf(nextTemplate(snapshot, peer));
}

/**
 * A member with a proven template is late, perhaps by its template, when it is unfit for a tenth of its start timeout,
 * or for a minute. Smaller: a slow start looks like a fault. Larger: a correction waits longer.
 */
const LATE_PART = 1 / 10;

const LATE_MS = 60_000;

/**
 * Whether a new template may fix a member that is still within its start timeout. It is not up or not Ready, and its
 * own template is new, or it is late.
 */
export function mayNeedNewTemplate(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const member = ownVoters(snapshot).find(({ name }) => name === metadata.name);
  if (member === undefined || !member.container.isYoung) return false;
  const isLate = member.history.unfitForMs >= Math.min(LATE_PART * snapshot.memberTimeoutMs, LATE_MS);
  if (spec.previous === undefined && !isLate) return false;
  return !member.participatesInQuorum || lacksOnly(member, "etcdReadiness") || lacksOnly(member, "sidecarReadiness");
}

/**
 * The template that the member last worked with: the previous one while it is on record
 * (rules/drop-previous-template.ts).
 */
export function lastGood(peer: EtcdPeer): MemberTemplate {
  return peer.spec.previous ?? templateOf(peer);
}
