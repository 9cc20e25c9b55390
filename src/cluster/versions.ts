import { REVISION_ANNOTATION } from "#api/names.ts";
import { askedIn, type MemberTemplate, revisionOf, templateIn } from "#api/revision.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { memberTls } from "#cluster/certificates.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { compareVersions, isRelease, isSameMinor, parseVersion } from "#etcd/version.ts";
import type { Pod } from "#kube/kinds.ts";

// Why does a member not simply run what spec.version says?
//   spec.version is a wish. A member that comes back on another release than its data was written by may refuse it, or may never
//   be able to go back. Only a planned change gives a member another release, one member at a time; until then everybody runs,
//   and whoever is added gets, what the cluster runs.

/** The release that the cluster runs, and that new members get: of several the one that most members have, of equals the oldest. */
export function runningVersion({ cluster, peers }: ClusterSnapshot): string {
  const members = cluster.status?.members ?? [];
  const seen = members.flatMap(({ version }) => version ?? []).filter(isRelease);
  const told = peers.map(({ metadata, spec }) => {
    const runs = members.find(({ name }) => name === metadata.name)?.version;
    // What an EtcdPeer says is a wish until its member has restarted. Within a minor it is believed: an image may bear another name.
    return runs !== undefined && isRelease(runs) && !isSameMinor(runs, spec.version) ? runs : spec.version;
  });
  const versions = told.length > 0 ? told : seen;
  const count = (version: string) => versions.filter((each) => each === version).length;
  return (
    [...versions].sort((a, b) => count(b) - count(a) || older(a, b))[0] ??
    cluster.status?.version ??
    cluster.spec.version
  );
}

/** The release of the member of this name: it keeps what it has. */
export function versionOf(snapshot: ClusterSnapshot, name: string): string {
  const recorded = snapshot.cluster.status?.members?.find((member) => member.name === name)?.version;
  return (
    peerNamed(snapshot, name)?.spec.version ??
    (recorded !== undefined && isRelease(recorded) ? recorded : runningVersion(snapshot))
  );
}

/** What the member of this name runs: it keeps what it has; a new one gets what most have. */
export function templateFor(snapshot: ClusterSnapshot, name: string): MemberTemplate {
  const own = peerNamed(snapshot, name)?.spec ?? templateOfMost(snapshot);
  return { ...templateIn(own), version: versionOf(snapshot, name) };
}

/** What most members run, of those that run the release of the cluster; what the spec asks for as long as there is none. */
export function templateOfMost(snapshot: ClusterSnapshot): MemberTemplate {
  const version = runningVersion(snapshot);
  const running = snapshot.peers.map((peer) => templateRun(snapshot, peer));
  const alike = running.filter((each) => each.version === version);
  const templates = alike.length > 0 ? alike : running;
  const count = (one: MemberTemplate) => templates.filter((each) => revisionOf(each) === revisionOf(one)).length;
  const [most] = [...templates].sort((a, b) => count(b) - count(a));
  return { ...templateIn(most ?? askedIn(snapshot.cluster.spec, memberTls(snapshot))), version };
}

/** What the member runs: what its EtcdPeer says is a wish until it has restarted. */
export function templateRun({ pods }: ClusterSnapshot, { metadata, spec }: EtcdPeer): MemberTemplate {
  const running = runningRevision(pods.get(metadata.name));
  const { previous } = spec;
  return previous !== undefined && running === revisionOf(previous) ? previous : spec;
}

/** The revision that the pod was made from; `undefined` for one that an earlier release made, until that is noted. */
export function runningRevision(pod: Pod | undefined): string | undefined {
  return pod?.metadata.annotations?.[REVISION_ANNOTATION];
}

function older(a: string, b: string): number {
  return compareVersions(parseVersion(a), parseVersion(b));
}
