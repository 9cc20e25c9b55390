import { CLAIM_RELEASE_ANNOTATION } from "#api/names.ts";
import { askedIn, type MemberTemplate, revisionOf, templateIn } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { claimOf } from "#cluster/members/listed-members.ts";
import { runningRevision } from "#cluster/members/member-state.ts";
import { type KnownMember, knownMembers, memberNamed } from "#cluster/members/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { compareVersions, isRelease, isSameMinor, parseVersion } from "#etcd/version.ts";

// Why a member does not simply run `spec.version`:
// - A member may refuse data that another release wrote, or may never be able to return to the old one. Only an update
//   changes the release, one member at a time. Until then all members, and new ones, run the release of the cluster.
// - When the EtcdCluster is recreated, its status is lost. Each claim records the release that last answered with its
//   data, and members return with that one.

/** The release of the cluster, which new members get: the one of most members, and of equals the oldest. */
export function runningVersion(snapshot: ClusterSnapshot): string {
  const { cluster, peers } = snapshot;
  const members = cluster.status?.members ?? [];
  const answered = members.flatMap(({ version }) => version ?? []).filter(isRelease);
  const kept = knownMembers(snapshot).flatMap((member) => releaseOnClaim(snapshot, member) ?? []);
  const seen = answered.length > 0 ? answered : kept;
  const assigned = peers.map(({ metadata, spec }) => {
    const runs = members.find(({ name }) => name === metadata.name)?.version;
    // The release in an EtcdPeer is not in use before its member has restarted. Within a minor it counts at once,
    // because an image may report another patch release than its tag.
    return runs !== undefined && isRelease(runs) && !isSameMinor(runs, spec.version) ? runs : spec.version;
  });
  const versions = assigned.length > 0 ? assigned : seen;
  const count = (version: string) => versions.filter((each) => each === version).length;
  return (
    [...versions].sort((a, b) => count(b) - count(a) || older(a, b))[0] ??
    cluster.status?.version ??
    cluster.spec.version
  );
}

/** The release that the member of this name keeps. */
export function versionOf(snapshot: ClusterSnapshot, name: string): string {
  const recorded = snapshot.cluster.status?.members?.find((member) => member.name === name)?.version;
  const member = memberNamed(snapshot, name);
  return (
    peerNamed(snapshot, name)?.spec.version ??
    (recorded !== undefined && isRelease(recorded) ? recorded : undefined) ??
    (member && releaseOnClaim(snapshot, member)) ??
    runningVersion(snapshot)
  );
}

/** The release that last answered with the data on the member's claim; `undefined` when none has, or there is no claim. */
export function releaseOnClaim(snapshot: ClusterSnapshot, member: KnownMember): string | undefined {
  const release = claimOf(snapshot, member)?.metadata.annotations?.[CLAIM_RELEASE_ANNOTATION];
  return release !== undefined && isRelease(release) ? release : undefined;
}

/** The template of the member of this name: its own, or for a new member that of most members. */
export function templateFor(snapshot: ClusterSnapshot, name: string): MemberTemplate {
  const own = peerNamed(snapshot, name)?.spec ?? templateOfMost(snapshot);
  return withVersion(templateIn(own), versionOf(snapshot, name));
}

/** The template of most members with the release of the cluster. Without members, what the spec asks for. */
export function templateOfMost(snapshot: ClusterSnapshot): MemberTemplate {
  const version = runningVersion(snapshot);
  const running = snapshot.peers.map((peer) => templateRun(snapshot, peer));
  const alike = running.filter((each) => each.version === version);
  const templates = alike.length > 0 ? alike : running;
  const count = (one: MemberTemplate) => templates.filter((each) => revisionOf(each) === revisionOf(one)).length;
  const [most] = [...templates].sort((a, b) => count(b) - count(a));
  return withVersion(templateIn(most ?? askedIn(snapshot.cluster.spec, memberTls(snapshot))), version);
}

/** The template with the release of `source`. A digest names the image of one release, so it comes from `source` too. */
export function withReleaseOf(template: MemberTemplate, source: MemberTemplate): MemberTemplate {
  const { version } = source;
  const { image, ...rest } = template;
  if (image?.digest === undefined || template.version === version) return { ...template, version };
  return { ...rest, version, ...(source.image === undefined ? {} : { image: source.image }) };
}

/** The template with this release. A digest names the image of one release, so another release is taken by its tag. */
export function withVersion(template: MemberTemplate, version: string): MemberTemplate {
  const { image, ...rest } = template;
  if (image?.digest === undefined || template.version === version) return { ...template, version };
  const { digest: _, ...tagged } = image;
  return { ...rest, version, image: tagged };
}

/** The template that the member runs: the previous one until its restart. */
export function templateRun({ pods }: ClusterSnapshot, { metadata, spec }: EtcdPeer): MemberTemplate {
  const running = runningRevision(pods.get(metadata.name));
  const { previous } = spec;
  return previous !== undefined && running === revisionOf(previous) ? previous : spec;
}

function older(a: string, b: string): number {
  return compareVersions(parseVersion(a), parseVersion(b));
}
