import { withHash } from "#api/applied-hash.ts";
import { memberLabels, type Scheme } from "#api/names.ts";
import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { reachedBy } from "#api/tls.ts";
import type { ClusterIdentity } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer, type EtcdPeerSpec, type PeerBootstrap } from "#api/v1beta1/peer.ts";
import { reachableBy, schemeKept } from "#cluster/certificates/scheme.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import { type KnownMember, knownMembers, memberNamed } from "#cluster/members.ts";
import { type ClusterSnapshot, hostOf, peerNamed, urlOf } from "#cluster/snapshot.ts";
import { templateFor } from "#cluster/versions.ts";
import { apiVersionOf, type Draft } from "#kube/kinds.ts";

// The life of an EtcdPeer, told by its spec:
//   first members:  bootstrap New, member ID computed              → fenced
//   later members:  bootstrap Existing, no member ID (the intent)  → with the member ID that etcd gave → fenced
//   fenced: no bootstrap section. Its pods get flags that can restart the member but can never bootstrap it: on an empty
//   volume it stops at once instead of voting without remembering what it acknowledged.

/** A member of the frozen list that has not joined: all of them get the same list, so that they form one cluster. */
export function newPeer(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string): Draft<EtcdPeer> {
  const initialCluster = identity.initialMembers.map((member) => entry(snapshot, schemeOf(identity), member.name));
  const memberID = identity.initialMembers.find((member) => member.name === name)?.id;
  return peerFor(snapshot, identity, name, {
    bootstrap: { initialClusterState: "New", clusterToken: identity.token, static: { initialCluster } },
    memberID,
    scheme: schemeOf(identity),
  });
}

/** A member that has joined. */
export function fencedPeer(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string): Draft<EtcdPeer> {
  const initial = identity.initialMembers.find((member) => member.name === name)?.id;
  const memberID = memberNamed(snapshot, name)?.id ?? peerNamed(snapshot, name)?.spec.memberID ?? initial;
  return peerFor(snapshot, identity, name, { bootstrap: undefined, memberID, scheme: ownScheme(snapshot, name) });
}

/** A member that is going to be asked for. Without a member ID nothing of it is started. */
export function intendedPeer(snapshot: ClusterSnapshot, identity: ClusterIdentity, name: string): Draft<EtcdPeer> {
  return peerFor(snapshot, identity, name, joining(snapshot, identity, name, undefined));
}

/** A member that etcd has added and that has not started yet. @param memberID as etcd gave it */
export function joiningPeer(
  snapshot: ClusterSnapshot,
  identity: ClusterIdentity,
  name: string,
  memberID: string,
): Draft<EtcdPeer> {
  return peerFor(snapshot, identity, name, joining(snapshot, identity, name, memberID));
}

/** etcd compares the list with the cluster's own, so it holds every member, and the new one itself. */
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

/** How the others reach the member: as its EtcdPeer says; when that is gone, as before; a new one as most of them. */
function ownScheme(snapshot: ClusterSnapshot, name: string): Scheme {
  const isKnown = peerNamed(snapshot, name) === undefined && memberNamed(snapshot, name) !== undefined;
  return isKnown ? schemeKept(snapshot, name) : reachedBy(templateFor(snapshot, name));
}

/** A member is where etcd lists it, which may be anywhere: somebody else may have added it, or changed its URL. */
function listEntry(snapshot: ClusterSnapshot, identity: ClusterIdentity, { name, peerUrls }: KnownMember) {
  const usual = entry(snapshot, schemeOf(identity), name);
  const isUsual =
    peerUrls.length === 0 || (peerUrls.length === 1 && peerUrls[0] === urlOf(snapshot, name, schemeOf(identity)));
  return isUsual ? usual : { ...usual, peerURLs: [...peerUrls] };
}

/** A member where the operator puts it: without a URL at the usual port of its host, by http. */
function entry(snapshot: ClusterSnapshot, scheme: Scheme, name: string) {
  return {
    name,
    host: hostOf(snapshot, name),
    ...(scheme === "http" ? {} : { peerURLs: [urlOf(snapshot, name, scheme)] }),
  };
}

/** How the first members reached each other. */
function schemeOf({ peerScheme = "http" }: ClusterIdentity): Scheme {
  return peerScheme;
}

/** The member with another wish on record, and nothing else changed. @param previous what it goes back to when it does not come up */
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

/** The member with nothing to go back to. */
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

/** What is not asked for any more goes. */
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
    ...reachableBy(templateFor(snapshot, name), start.scheme),
    ...(start.bootstrap === undefined ? {} : { bootstrap: start.bootstrap }),
    clusterID: identity.clusterID,
    ...(start.memberID === undefined ? {} : { memberID: start.memberID }),
    clusterToken: identity.token,
    storage: cluster.spec.storage,
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
