import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { askedIn, type MemberTemplate, revisionOf, templateIn } from "#api/revision.ts";
import { whyNotShape } from "#api/shape.ts";
import { hasTls } from "#api/tls.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { asReached } from "#cluster/certificates/scheme.ts";
import { trustingAs } from "#cluster/certificates/trusted.ts";
import { memberTls } from "#cluster/certificates.ts";
import { lackedReadiness, whyUnfit } from "#cluster/fitness.ts";
import { health, type KnownMember, memberNamed, ownVoters, takesPart } from "#cluster/members.ts";
import { whyOwnSecrets } from "#cluster/own-secrets.ts";
import { hasNothing, unfitForMs, unreadyForMs } from "#cluster/patience.ts";
import { whyNotSpec } from "#cluster/refused-spec.ts";
import { type ClusterSnapshot, peerNamed, remembered } from "#cluster/snapshot.ts";
import { isDown, isYoung } from "#cluster/standstill.ts";
import { whyTlsSwitched } from "#cluster/switched-tls.ts";
import { versionOfData, versionsInUse, whyNoPathTo, whyNotYet } from "#cluster/version-path.ts";
import { runningRevision, runningVersion, templateOfMost } from "#cluster/versions.ts";
import { isOlderMinor, isSameMinor, whyNoPath } from "#etcd/version.ts";

// How is a running cluster changed?
//   Each member's EtcdPeer says what that member runs. The cluster gives one member its turn: it writes the wish to that EtcdPeer, whose
//   ReplicaSet takes it over without touching the pod; then the cluster restarts the pod, and waits until the member has caught
//   up. The first one that gets something new is the canary: when it does not come up, it is put back, and the update stops.
// And with OnDelete?
//   Every EtcdPeer says the wish as soon as it may, and a person deletes the pods. Such a turn holds up nothing, however long it lasts.

/** What the member's EtcdPeer says. */
export function templateOf({ spec }: EtcdPeer): MemberTemplate {
  return templateIn(spec);
}

/** What the spec asks for; of the release only what members can go to, else what they run; what no member could run, not at all. */
export const wantedTemplate = remembered((snapshot): MemberTemplate => {
  return whyRefused(snapshot).length === 0 ? askedTemplate(snapshot) : templateOfMost(snapshot);
});

/** Why what the spec asks for can be given to no member: a sentence for each reason. */
export const whyRefused = remembered((snapshot): readonly string[] => {
  // What is not of the right shape cannot be judged further.
  const why = whyNotShape(snapshot.cluster.spec, ETCD_CLUSTERS.kind);
  if (why !== undefined) return [why];
  const { metadata, spec } = snapshot.cluster;
  return [
    ...whyTlsSwitched(snapshot),
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
  return { ...askedIn(snapshot.cluster.spec, memberTls(snapshot)), version: possible ?? running };
});

/**
 * Of what is wanted. While the spec is refused, of what the update on record brings, as long as somebody has got it: its first member is judged
 * to the end, and put back if it does not come up.
 */
export const wantedRevision = remembered((snapshot): string => {
  const { update } = snapshot.cluster.status ?? {};
  const isJudged = update !== undefined && whyRefused(snapshot).length > 0 && isWithSomebody(snapshot, update.revision);
  return isJudged ? update.revision : revisionOf(wantedTemplate(snapshot));
});

function isWithSomebody({ peers, pods }: ClusterSnapshot, revision: string): boolean {
  return peers.some(
    (peer) => revisionOf(templateOf(peer)) === revision || runningRevision(pods.get(peer.metadata.name)) === revision,
  );
}

/** What the member is to run next: what is wanted and it can run by now, unless that has been tried in vain. */
export function nextTemplate(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate {
  return asReached(snapshot, peer, nextAsked(snapshot, peer));
}

function nextAsked(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate {
  const own = templateOf(peer);
  const stopped = stoppedUpdate(snapshot);
  if (stopped === undefined) {
    // Half of them may have been updated when something is asked for that is refused: each keeps what it runs until that is put right.
    return whyRefused(snapshot).length > 0 ? (turnToTakeBack(snapshot, peer) ?? own) : nextWanted(snapshot, peer);
  }
  const wanted = wantedRevision(snapshot);
  if (revisionOf(own) !== wanted) return staleTurn(snapshot, peer) ?? own;
  if (hasComeUp(snapshot, peer)) return own;
  return openBack(snapshot, peer)[0] ?? own;
}

/**
 * To what the member may be put back, as it may be reached by now: what it had before comes first. Where an authority was followed by another one
 * meanwhile, that does not trust what is in use: then it is the same, trusting whom the member has come to trust since.
 */
export function backTemplates(snapshot: ClusterSnapshot, peer: EtcdPeer): readonly MemberTemplate[] {
  const own = templateOf(peer);
  const back = openBack(snapshot, peer);
  const reached = (template: MemberTemplate) => asReached(snapshot, peer, template);
  const trusting = back.map((template) => reached(trustingAs(template, own)));
  return [...back.map(reached), ...trusting.filter((template) => revisionOf(template) !== revisionOf(own))];
}

/** The same as it was: what it had before, and what somebody who is well runs, of the releases to which it can go. */
function openBack(snapshot: ClusterSnapshot, { metadata: { name }, spec }: EtcdPeer): readonly MemberTemplate[] {
  const own = [spec.previous, provenTemplate(snapshot, wantedRevision(snapshot))];
  // Who has never run has been well with nothing that it had.
  const hasNeverRun = memberNamed(snapshot, name)?.hasStarted === false;
  const back = (hasNeverRun ? own.toReversed() : own).filter((each) => each !== undefined);
  return back.filter(
    ({ version }) => whyNoPathTo(snapshot, version) === undefined && whyNotYet(snapshot, name, version) === undefined,
  );
}

/**
 * What the member runs, while it waits for a restart with something that was wanted before: nobody gets that any more. `undefined` when it
 * does not, or when what it runs is what it was put back from.
 */
function staleTurn(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate | undefined {
  const running = runningRevision(snapshot.pods.get(peer.metadata.name));
  return running === wantedRevision(snapshot) ? undefined : unusedTurn(snapshot, peer);
}

/** What the member runs, while it waits for a restart with something else. */
export function unusedTurn({ pods }: ClusterSnapshot, { metadata, spec }: EtcdPeer): MemberTemplate | undefined {
  const { previous } = spec;
  const isUnused = previous !== undefined && runningRevision(pods.get(metadata.name)) === revisionOf(previous);
  return isUnused ? previous : undefined;
}

/** The same, for who runs that, or has run: who never has, and cannot start with it, goes on to what it was given. */
function turnToTakeBack(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate | undefined {
  return versionOfData(snapshot, peer.metadata.name) === undefined ? undefined : unusedTurn(snapshot, peer);
}

/** What the member is to run next of what is wanted: with its own release as long as nobody can go to what is asked for. */
function nextWanted(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate {
  const wanted = wantedTemplate(snapshot);
  const { name } = peer.metadata;
  // Nobody can go to what is asked for: then there is no release for all of them, and each keeps the one that it runs. Nor does it go on to one that it
  // was given before anybody knew what it has its data from, or what the others have theirs from when it has none.
  if (wanted.version !== snapshot.cluster.spec.version) {
    const from = versionOfData(snapshot, name);
    const { version } = turnToTakeBack(snapshot, peer) ?? peer.spec;
    const why = from === undefined ? whyNoPathTo(snapshot, version) : whyNoPath(from, version);
    return why === undefined ? { ...wanted, version } : wanted;
  }
  if (whyNotYet(snapshot, name, wanted.version) === undefined) return wanted;
  const own = { ...wanted, version: peer.spec.version };
  // Half of what is asked for is for no member that runs: with the release it would restart once more. Who runs nothing loses nothing.
  const runsNothing = !snapshot.pods.has(name) || isDown(snapshot, name);
  // And who waits for a restart with something that was asked for before goes on with what it runs.
  if (!runsNothing) return insteadOfOlder(snapshot, peer) ?? unusedTurn(snapshot, peer) ?? templateOf(peer);
  // The release that it was given, and that is asked for no more, may be what keeps it from running: it gets back the one that it ran last.
  const ranLast = versionOfData(snapshot, name);
  const isBack = ranLast !== undefined && own.version !== wanted.version && hasImage(snapshot, ranLast, own.version);
  return isBack ? { ...wanted, version: ranLast } : own;
}

/** Whether there is an image by this release's name, as far as is known: an image may call itself another release of its minor than its tag does. */
function hasImage({ peers }: ClusterSnapshot, told: string, given: string): boolean {
  const names = peers.flatMap(({ spec }) => [spec.version, spec.previous?.version]);
  return names.includes(told) || !isSameMinor(told, given);
}

/** What the member gets instead of an older minor that it cannot go to any more, because its downgrade was cancelled, and that it is well without. */
function insteadOfOlder(snapshot: ClusterSnapshot, peer: EtcdPeer): MemberTemplate | undefined {
  const { name } = peer.metadata;
  const told = versionOfData(snapshot, name);
  const member = memberNamed(snapshot, name);
  const isWell = member !== undefined && health(snapshot, member).is === "healthy";
  if (!isWell || told === undefined || !isOlderMinor(peer.spec.version, told)) return undefined;
  return staleTurn(snapshot, peer) ?? { ...wantedTemplate(snapshot), version: told };
}

/** Whether the member is well with what was tried after all. Who has been fit once need not be at every moment. */
function hasComeUp(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  if (hasTurn(snapshot, peer)) return false;
  const member = memberNamed(snapshot, peer.metadata.name);
  const isFit = member !== undefined && whyUnfit(snapshot, member) === undefined;
  return isFit || (snapshot.cluster.status?.update?.proven === true && isWell(snapshot, peer));
}

function isWell(snapshot: ClusterSnapshot, { metadata }: EtcdPeer): boolean {
  const member = memberNamed(snapshot, metadata.name);
  return member !== undefined && takesPart(snapshot, member);
}

/** What somebody who is well runs, other than what was tried in vain. */
function provenTemplate(snapshot: ClusterSnapshot, tried: string): MemberTemplate | undefined {
  return snapshot.peers
    .filter((peer) => isWell(snapshot, peer) && !hasTurn(snapshot, peer))
    .map(templateOf)
    .find((template) => revisionOf(template) !== tried);
}

export function isOutdated(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  return revisionOf(templateOf(peer)) !== revisionOf(nextTemplate(snapshot, peer));
}

/** The update to what is wanted now, if it was stopped. */
export function stoppedUpdate(snapshot: ClusterSnapshot): { member: string; message: string } | undefined {
  const update = snapshot.cluster.status?.update;
  return update?.revision === wantedRevision(snapshot) ? update.stopped : undefined;
}

/** Whether the member has its turn: its pod was made from something else than its EtcdPeer says. */
export function hasTurn(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  const pod = snapshot.pods.get(peer.metadata.name);
  const running = runningRevision(pod);
  if (pod?.metadata.deletionTimestamp !== undefined || running === undefined) return false;
  return running !== revisionOf(templateOf(peer));
}

/** Of its time to come up, the part after which what a member has may be why it does not, although it was well with it; and that in milliseconds at the most. */
const LATE_PART = 1 / 10;
const LATE_MS = 60_000;

/**
 * Whether the member's pod was made a while ago at most, and the member has not come up yet, or its pod has not become ready, and what it has may be
 * why: it is new to it, or the member takes long.
 */
export function isYetToComeUp(snapshot: ClusterSnapshot, { metadata, spec }: EtcdPeer): boolean {
  const member = ownVoters(snapshot).find(({ name }) => name === metadata.name);
  if (member === undefined || !isYoung(snapshot, member)) return false;
  const isLate = unfitForMs(snapshot, member) >= Math.min(LATE_PART * snapshot.memberTimeoutMs, LATE_MS);
  if (spec.previous === undefined && !isLate) return false;
  return !takesPart(snapshot, member) || lackedReadiness(snapshot, member) !== undefined;
}

/** What the member was last well with: what it had before, as long as that is on record (rules/rolling/forget-previous.ts). */
export function lastGood(peer: EtcdPeer): MemberTemplate {
  return peer.spec.previous ?? templateOf(peer);
}

/**
 * Whether the member gets what its EtcdPeer says only when somebody deletes its pod. Who is put back, because an update was stopped, is
 * restarted all the same, and so is who has never run.
 */
export function waitsForPerson(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  if (!isOnDelete(snapshot) || !hasTurn(snapshot, peer)) return false;
  const hasNeverRun = memberNamed(snapshot, peer.metadata.name)?.hasStarted === false;
  const isPutBack = stoppedUpdate(snapshot) !== undefined && !isTriedInVain(snapshot, peer);
  return !hasNeverRun && !isPutBack;
}

/** Whether people restart members, and not the operator. */
export function isOnDelete({ cluster }: ClusterSnapshot): boolean {
  return cluster.spec.updateStrategy.type === "OnDelete";
}

/** Whether the operator restarts the member as soon as it may. Nobody restarts with what was tried in vain, whoever has it on record. */
export function isAboutToRestart(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  return hasTurn(snapshot, peer) && !waitsForPerson(snapshot, peer) && !isTriedInVain(snapshot, peer);
}

function isTriedInVain(snapshot: ClusterSnapshot, peer: EtcdPeer): boolean {
  return stoppedUpdate(snapshot) !== undefined && revisionOf(templateOf(peer)) === wantedRevision(snapshot);
}

/** Whether the member's next pod would be made from what its EtcdPeer says: the ReplicaSet controller has taken it over. */
export function isTemplateReady(peer: EtcdPeer): boolean {
  return peer.status?.revision === revisionOf(templateOf(peer));
}

/** Whether the member is fit, and runs what the spec asks for. */
export function isUpdated(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const running = runningRevision(snapshot.pods.get(member.name));
  return running === wantedRevision(snapshot) && whyUnfit(snapshot, member) === undefined;
}

/**
 * Whether what the member is about to get may be what helps it: all that it has lacked for long is its pod's readiness, and its pod was made
 * from something else than the spec asks for. Nobody waits for it to be ready first: it does its part in etcd, whose quorum is not touched.
 */
export function isMendedByTurn(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const running = runningRevision(snapshot.pods.get(member.name));
  const isLate = unreadyForMs(snapshot, member) >= snapshot.memberTimeoutMs;
  return isLate && running !== wantedRevision(snapshot) && lackedReadiness(snapshot, member) === "beside etcd";
}

/**
 * The first member that was restarted with what is wanted, as long as nobody has been well with it. That somebody has been stands on record,
 * so that time in which nobody can be asked takes nothing back. Who has lost its data comes up with nothing, whatever it got, and is replaced.
 */
export function canary(snapshot: ClusterSnapshot): KnownMember | undefined {
  const wanted = wantedRevision(snapshot);
  const update = snapshot.cluster.status?.update;
  const voters = ownVoters(snapshot);
  if (update?.revision !== wanted || update.proven || voters.some((member) => isUpdated(snapshot, member)))
    return undefined;
  return voters.find((member) => {
    const { name } = member;
    const peer = peerNamed(snapshot, name);
    const pod = snapshot.pods.get(name);
    const isRestarted = (pod === undefined || runningRevision(pod) === wanted) && !hasNothing(snapshot, member);
    return peer?.spec.previous !== undefined && revisionOf(templateOf(peer)) === wanted && isRestarted;
  });
}

/**
 * Whether the update has restarted the member a while ago at most: its time to come up is that of the first one, however short the patience
 * with lost members is. How much of that time it has had, whatever pods it was in, the health log knows.
 */
export function isComingUp(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return hasGotNew(snapshot, member) && isYoung(snapshot, member) && !hasNothing(snapshot, member);
}

/** Whether the member's pod was made from what the update on record brings. */
export function hasGotNew({ cluster, pods }: ClusterSnapshot, { name }: KnownMember): boolean {
  const running = runningRevision(pods.get(name));
  return running !== undefined && running === cluster.status?.update?.revision;
}
