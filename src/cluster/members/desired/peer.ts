import { withHash } from "#api/applied-hash.ts";
import { memberLabels, type Scheme } from "#api/names.ts";
import { billionthsOf } from "#api/quantity.ts";
import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { reachedBy } from "#api/tls.ts";
import type { ClusterIdentity } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerSpec, type PeerBootstrap } from "#api/v1beta1/peer.ts";
import { claimOf } from "#cluster/members/listed-members.ts";
import { type KnownMember, knownMembers, memberNamed, ownVoters } from "#cluster/members/members.ts";
import { ownedBy } from "#cluster/owned.ts";
import { type ClusterSnapshot, hostOf, peerNamed, urlOf } from "#cluster/snapshot.ts";
import { templateFor } from "#cluster/update/versions.ts";
import { recordedScheme, withPeerScheme } from "#cluster-tls/change/peer-scheme.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";

// The life of an EtcdPeer, as its spec shows it:
//   first members:  bootstrap New, member ID computed → fenced
//   later members:  bootstrap Existing, no member ID (the intent) → with the member ID from etcd → fenced
//   fenced:         no bootstrap section. The pod's flags can restart the member but never bootstrap it. On an empty volume it
//   stops at once, instead of voting without the entries that it acknowledged.

/**
 * The EtcdPeer of an initial member that has not joined: all of them get the same list, so that they form one cluster.
 */
export function newPeer(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string): Draft<EtcdPeer> {
  const initialCluster = identity.initialMembers.map((member) => entry(snapshot, schemeOf(identity), member.name));
  const memberID = identity.initialMembers.find((member) => member.name === name)?.id;
  return peerFor(snapshot, identity, name, {
    bootstrap: { initialClusterState: "New", clusterToken: identity.token, static: { initialCluster } },
    memberID,
    scheme: schemeOf(identity),
  });
}

/** The EtcdPeer of a member that has joined. */
export function fencedPeer(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string): Draft<EtcdPeer> {
  const initial = identity.initialMembers.find((member) => member.name === name)?.id;
  const memberID = memberNamed(snapshot, name)?.id ?? peerNamed(snapshot, name)?.spec.memberID ?? initial;
  return peerFor(snapshot, identity, name, { bootstrap: undefined, memberID, scheme: ownScheme(snapshot, name) });
}

/**
 * An intent: the EtcdPeer of a member that etcd is about to be asked to add. Without a member ID nothing of it is
 * started.
 */
export function intendedPeer(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string): Draft<EtcdPeer> {
  return peerFor(snapshot, identity, name, joining(snapshot, identity, name, undefined));
}

/** The EtcdPeer of a member that etcd has added and that has not started yet. @param memberID as etcd gave it */
export function joiningPeer(
  snapshot: ClusterSnapshot,
  identity: ClusterIdentity,
  name: string,
  memberID: string,
): Draft<EtcdPeer> {
  return peerFor(snapshot, identity, name, joining(snapshot, identity, name, memberID));
}

/** The list has every member and the new one itself, because etcd compares it with its own. */
function joining(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string, memberID: string | undefined) {
  const others = knownMembers(snapshot).filter((member) => member.name !== name);
  const scheme = ownScheme(snapshot, name);
  const initialCluster = [
    ...others.map((member) => listEntry(snapshot, identity, member)),
    entry(snapshot, scheme, name),
  ];
  const bootstrap = {
    initialClusterState: "Existing",
    clusterToken: identity.token,
    static: { initialCluster },
  } as const;
  return { bootstrap, memberID, scheme };
}

/** The scheme of the member's peer URL: as in its EtcdPeer; without one as before; for a new member as for most. */
function ownScheme(snapshot: ClusterSnapshot, name: string): Scheme {
  const isKnown = peerNamed(snapshot, name) === undefined && memberNamed(snapshot, name) !== undefined;
  return isKnown ? recordedScheme(snapshot, name) : reachedBy(templateFor(snapshot, name));
}

/** A member in the initial cluster list, under the URLs that etcd lists: a person may have added it or changed them. */
function listEntry(snapshot: ClusterSnapshot, identity: ClusterIdentity, { name, peerUrls }: KnownMember) {
  const usual = entry(snapshot, schemeOf(identity), name);
  const isUsual =
    peerUrls.length === 0 || (peerUrls.length === 1 && peerUrls[0] === urlOf(snapshot, name, schemeOf(identity)));
  return isUsual ? usual : { ...usual, peerURLs: [...peerUrls] };
}

/** A member at its default address. An entry without a URL means http on the default port of its host. */
function entry(snapshot: ClusterSnapshot, scheme: Scheme, name: string) {
  return {
    name,
    host: hostOf(snapshot, name),
    ...(scheme === "http" ? {} : { peerURLs: [urlOf(snapshot, name, scheme)] }),
  };
}

/** The scheme of the initial members' peer URLs. */
function schemeOf({ peerScheme = "http" }: ClusterIdentity): Scheme {
  return peerScheme;
}

/** The EtcdPeer with another template, and nothing else changed. @param previous the template for a rollback */
export function revisedPeer(
  live: EtcdPeer,
  template: MemberTemplate,
  previous: MemberTemplate | undefined,
): Draft<EtcdPeer> {
  const { previous: before, ...rest } = live.spec;
  const back = previous ?? before;
  const isBack = back !== undefined && revisionOf(back) !== revisionOf(template);
  return draftOf(live, { ...withoutTemplate(rest), ...template, ...(isBack ? { previous: back } : {}) });
}

/** The EtcdPeer without a previous template. */
export function settledPeer(live: EtcdPeer): Draft<EtcdPeer> {
  const { previous: _, ...rest } = live.spec;
  return draftOf(live, rest);
}

function draftOf({ apiVersion, kind, metadata }: EtcdPeer, spec: EtcdPeerSpec): Draft<EtcdPeer> {
  const { namespace, name, labels, ownerReferences } = metadata;
  return withHash<EtcdPeer>({
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      ...(labels === undefined ? {} : { labels }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    spec,
  });
}

/** Template fields that the new template does not set are removed. */
function withoutTemplate<T extends MemberTemplate>({
  version: _,
  image: __,
  etcd: ___,
  tls: ____,
  podTemplate: _____,
  ...rest
}: T) {
  return rest;
}

/**
 * The storage of a member: immutable in its EtcdPeer. A new member's is at least as large as the voters' claims: a
 * person may have grown those, and a learner copies all data.
 */
function storageFor(snapshot: ClusterSnapshot, name: string): EtcdPeerSpec["storage"] {
  const own = peerNamed(snapshot, name)?.spec.storage;
  if (own !== undefined) return own;
  const { storage } = snapshot.cluster.spec;
  const sizes = ownVoters(snapshot).flatMap((member) => {
    const asked = claimOf(snapshot, member)?.spec?.resources?.requests?.storage;
    return asked === undefined ? [] : [asked];
  });
  const larger = (a: string | number, b: string | number) =>
    (billionthsOf(b) ?? 0n) > (billionthsOf(a) ?? 0n) ? b : a;
  return { ...storage, size: sizes.reduce(larger, storage.size) };
}

function peerFor(
  snapshot: ClusterSnapshot,
  identity: ClusterIdentity,
  name: string,
  start: { bootstrap: PeerBootstrap | undefined; memberID: string | undefined; scheme: Scheme },
): Draft<EtcdPeer> {
  const { cluster } = snapshot;
  const previous = peerNamed(snapshot, name)?.spec.previous;
  const spec: EtcdPeerSpec = {
    clusterName: cluster.metadata.name,
    ...withPeerScheme(templateFor(snapshot, name), start.scheme),
    ...(start.bootstrap === undefined ? {} : { bootstrap: start.bootstrap }),
    clusterID: identity.clusterID,
    ...(start.memberID === undefined ? {} : { memberID: start.memberID }),
    clusterToken: identity.token,
    storage: storageFor(snapshot, name),
    ...(previous === undefined ? {} : { previous }),
  };
  return withHash<EtcdPeer>({
    apiVersion: apiVersionOf(ETCD_PEERS),
    kind: ETCD_PEERS.kind,
    metadata: {
      namespace: cluster.metadata.namespace,
      name,
      labels: memberLabels(cluster.metadata.name, name),
      ownerReferences: [ownedBy(snapshot)],
    },
    spec,
  });
}
