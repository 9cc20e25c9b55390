import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  clusterToken,
  ordinalOf,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_LABEL,
  type Scheme,
} from "#api/names.ts";
import { peerSchemeOf, providerOf } from "#api/tls.ts";
import type { ClusterIdentity } from "#api/v1beta1/cluster.ts";
import { mayHoldData } from "#cluster/members.ts";
import { byOrdinal, type ClusterSnapshot, initialPeerNames, urlOf } from "#cluster/snapshot.ts";
import { identityFor } from "#etcd/identity.ts";
import { hexOf } from "#etcd/types.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";

// Why is the identity written to status before anything else?
//   After a total outage the member list cannot be read, exactly as before the first start. Without a note of our own the
//   two look alike, and bootstrapping again would fork the data.
// And when the cluster was deleted and is made again?
//   The note is gone with the object, and the new uid would give another token. The claims were kept and say whose data they
//   hold: the identity is taken from them, every member counts as joined, and none of them can bootstrap.
// Every one? A claim that never had a volume never held data. When the claims are those of all first members, by their IDs, the
//   ones without a volume have not joined, and forming the cluster goes on where it ended: as the same one. Otherwise such a claim
//   belongs to a member that was on its way in: etcd knows whether it still is, and it has no part in who the cluster is.
// And how members reach each other? It is a part of their URLs, from which the IDs of the first ones come: as it was then stands in the note, and
//   follows from the IDs. As it is now stands on each claim: members that come back find each other by what they have on their disks.
// What if writing the note fails? Nothing exists yet; the next pass computes the same note and tries again.

/** Who the cluster is going to be: its first members, with the IDs that etcd will give them and the cluster. */
export function newIdentity(snapshot: ClusterSnapshot): ClusterIdentity {
  const { namespace, name, uid } = snapshot.cluster.metadata;
  const token = clusterToken(namespace, name, uid);
  const names = initialPeerNames(snapshot, snapshot.cluster.spec.replicas);
  const scheme = peerSchemeOf(snapshot.cluster.spec);
  const members = names.map((peer) => ({ name: peer, peerUrl: urlOf(snapshot, peer, scheme) }));
  const identity = identityFor({ token, members });
  return {
    clusterID: hexOf(identity.clusterId),
    token,
    initialMembers: identity.members.map((member) => ({ name: member.name, id: hexOf(member.id), joined: false })),
    ...noted(scheme),
  };
}

/** What is not there says http, as it does of clusters that are older than the note. */
function noted(scheme: Scheme): Pick<ClusterIdentity, "peerScheme"> {
  return scheme === "http" ? {} : { peerScheme: scheme };
}

/** Claims that a cluster could come back from; those that were put aside with a lost member's data do not count. */
export function keptClaims(snapshot: ClusterSnapshot): readonly PersistentVolumeClaim[] {
  return snapshot.claims.filter(({ metadata }) => metadata.labels?.[QUARANTINE_LABEL] === undefined);
}

/** All of a claim by which it is told who the cluster is. */
export function toldBy(claim: PersistentVolumeClaim): object {
  const { uid, annotations = {}, labels = {}, deletionTimestamp } = claim.metadata;
  const said = [
    CLAIM_CLUSTER_ID_ANNOTATION,
    CLAIM_CLUSTER_TOKEN_ANNOTATION,
    CLAIM_MEMBER_ID_ANNOTATION,
    PEER_SCHEME_ANNOTATION,
  ].map((annotation) => annotations[annotation]);
  return { uid, said, aside: labels[QUARANTINE_LABEL], deletionTimestamp, hadVolume: mayHoldData(claim) };
}

/**
 * Who the cluster is by the claims that an earlier one of its name left behind.
 * @returns the identity, or in words why the claims do not tell
 */
export function adoptedIdentity(snapshot: ClusterSnapshot): ClusterIdentity | { readonly unclear: string } {
  const order = byOrdinal(snapshot);
  const claims = [...keptClaims(snapshot)].sort((a, b) => order(a.metadata.name, b.metadata.name));
  const told = claims.map((claim) => ({
    name: claim.metadata.name,
    clusterID: claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION],
    token: claim.metadata.annotations?.[CLAIM_CLUSTER_TOKEN_ANNOTATION],
    id: claim.metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION],
    isGoing: claim.metadata.deletionTimestamp !== undefined,
    hadVolume: mayHoldData(claim),
    scheme: schemeOn(claim),
  }));
  const going = told.find(({ isGoing }) => isGoing);
  if (going !== undefined) return { unclear: `claim ${going.name} is being deleted` };
  const silent = told.find(
    ({ clusterID, id, name }) => clusterID === undefined || id === undefined || isForeign(snapshot, name),
  );
  if (silent !== undefined)
    return { unclear: `claim ${silent.name} does not say which member of which cluster it belongs to` };
  const clusterIDs = [...new Set(told.map(({ clusterID }) => clusterID))];
  if (clusterIDs.length > 1) {
    return {
      unclear: `they belong to different clusters: ${told.map(({ name, clusterID }) => `${name} to ${clusterID}`).join(", ")}`,
    };
  }
  const reached = told.find(({ scheme }) => scheme === "https");
  if (reached !== undefined && peerSchemeOf(snapshot.cluster.spec) === "http")
    return { unclear: otherwiseReached(snapshot, reached.name) };
  const clusterID = clusterIDs[0] ?? "";
  const token = told.find((each) => each.token !== undefined)?.token ?? "";
  const born = (["http", "https"] as const).find((scheme) =>
    isFrozenList(snapshot, { clusterID, token, scheme }, told),
  );
  const areFounders = born !== undefined;
  const members = told.filter(({ hadVolume }) => hadVolume || areFounders);
  if (members.length === 0) {
    const names = told.map(({ name }) => name).join(", ");
    return { unclear: `${names} never held data, and those that did are not there` };
  }
  return {
    clusterID,
    token,
    initialMembers: members.map(({ name, id, hadVolume }) => ({ name, id: id ?? "", joined: hadVolume })),
    ...noted(born ?? reached?.scheme ?? "http"),
  };
}

/** How others reach the member of this claim. What is not there says http, as it does on claims that are older than the note. */
export function schemeOn({ metadata }: PersistentVolumeClaim): Scheme {
  return metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
}

function otherwiseReached({ cluster }: ClusterSnapshot, name: string): string {
  return `the others reach ${name} by https, and spec.tls.peer.provider is ${providerOf(cluster.spec, "peer")}; it must be Operator, CertManager or Secret, and may become None when the cluster runs`;
}

/** Whether these are all first members, and no others: by their IDs, since a name may belong to a later member by now. */
function isFrozenList(
  snapshot: ClusterSnapshot,
  { clusterID, token, scheme }: Pick<ClusterIdentity, "clusterID" | "token"> & { readonly scheme: Scheme },
  told: readonly { readonly name: string; readonly id: string | undefined }[],
): boolean {
  const members = told.map(({ name }) => ({ name, peerUrl: urlOf(snapshot, name, scheme) }));
  const computed = identityFor({ token, members });
  const ids = new Map(computed.members.map(({ name, id }) => [name, hexOf(id)]));
  return hexOf(computed.clusterId) === clusterID && told.every(({ name, id }) => ids.get(name) === id);
}

function isForeign(snapshot: ClusterSnapshot, claim: string): boolean {
  return ordinalOf(snapshot.cluster.metadata.name, claim) === undefined;
}
