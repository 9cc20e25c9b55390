import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLAIM_RELEASE_ANNOTATION,
  clusterToken,
  ordinalOf,
  PEER_SCHEME_ANNOTATION,
  placeOfToken,
  QUARANTINE_LABEL,
  type Scheme,
} from "#api/names.ts";
import { peerSchemeOf, providerOf } from "#api/tls.ts";
import type { ClusterIdentity } from "#api/v1beta1/cluster.ts";
import { mayHoldData } from "#cluster/members/listed-members.ts";
import { byOrdinal, type ClusterSnapshot, identityOf, initialPeerNames, urlOf } from "#cluster/snapshot.ts";
import { identityFor } from "#etcd/identity.ts";
import { hexOf } from "#etcd/types.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";

// Why is the identity written to status before anything else?
//   After a total outage the member list cannot be read, exactly as before the first start. Without a record the two
//   cases look alike, and a second bootstrap would fork the data.
// And when the cluster was deleted and is created again?
//   The record is gone with the object, and the new uid would give another cluster token. The kept claims have the IDs
//   of cluster and member, and the identity is taken from them. Every member counts as joined, so none of them can
//   bootstrap.
// Every one?
//   A claim that never had a volume never held data. The claims may be those of all first members, by ID. Then members
//   without a volume have not joined, and the same cluster continues to form. Otherwise such a claim belongs to a
//   member that was about to join. etcd knows whether it still is, so the identity omits it.
// And the scheme of peer URLs?
//   URLs contain it, and the IDs of first members come from their URLs. The record has the original scheme, which
//   follows from the IDs.
//   Each claim has the current one: returning members dial each other by the URLs on their disks.
// And when some claims appear later, such as from a tool that restores them one by one?
//   Without a quorum the present members wait. Until the member list of etcd has been read, claims of the same cluster
//   are added.
// What if writing the record fails?
//   Nothing exists yet; the next pass computes the same record and tries again.

/** The identity of a new cluster: its first members, with the member IDs and the cluster ID that etcd will compute. */
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

/** A missing field means http, as in clusters older than this field. */
function noted(scheme: Scheme): Pick<ClusterIdentity, "peerScheme"> {
  return scheme === "http" ? {} : { peerScheme: scheme };
}

/** Claims from which a cluster can come back; those quarantined with a lost member's data do not count. */
export function keptClaims(snapshot: ClusterSnapshot): readonly PersistentVolumeClaim[] {
  return snapshot.claims.filter(({ metadata }) => metadata.labels?.[QUARANTINE_LABEL] === undefined);
}

/** The annotations of a claim that identify the cluster, and the release that its data comes from. */
export function identityOnClaim(claim: PersistentVolumeClaim): object {
  const { uid, annotations = {}, labels = {}, deletionTimestamp } = claim.metadata;
  const said = [
    CLAIM_CLUSTER_ID_ANNOTATION,
    CLAIM_CLUSTER_TOKEN_ANNOTATION,
    CLAIM_MEMBER_ID_ANNOTATION,
    CLAIM_RELEASE_ANNOTATION,
    PEER_SCHEME_ANNOTATION,
  ].map((annotation) => annotations[annotation]);
  return { uid, said, quarantined: labels[QUARANTINE_LABEL], deletionTimestamp, hadVolume: mayHoldData(claim) };
}

/**
 * The identity according to the claims that an earlier cluster of the name left.
 * @returns the identity, or why the claims do not determine it
 */
export function adoptedIdentity(snapshot: ClusterSnapshot): ClusterIdentity | { readonly unclear: string } {
  const order = byOrdinal(snapshot);
  const claims = [...keptClaims(snapshot)].sort((a, b) => order(a.metadata.name, b.metadata.name));
  const recorded = claims.map((claim) => ({
    name: claim.metadata.name,
    clusterID: claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION],
    token: claim.metadata.annotations?.[CLAIM_CLUSTER_TOKEN_ANNOTATION],
    id: claim.metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION],
    isGoing: claim.metadata.deletionTimestamp !== undefined,
    hadVolume: mayHoldData(claim),
    scheme: schemeOn(claim),
  }));
  const going = recorded.find(({ isGoing }) => isGoing);
  if (going !== undefined) return { unclear: `claim ${going.name} is being deleted` };
  const unannotated = recorded.find(
    ({ clusterID, token, id, name }) =>
      clusterID === undefined || token === undefined || id === undefined || isForeign(snapshot, name),
  );
  if (unannotated !== undefined)
    return { unclear: `claim ${unannotated.name} lacks the annotations with its cluster and member` };
  const moved = recorded.find(({ token = "" }) => whyNotHere(snapshot, token) !== undefined);
  if (moved !== undefined)
    return { unclear: `claim ${moved.name} has ${whyNotHere(snapshot, moved.token ?? "")}. ${HOW_TO_COPY}` };
  const twins = twinsIn(recorded);
  if (twins !== undefined) return { unclear: `${twins}. ${HOW_TO_SPLIT}` };
  const clusterIDs = [...new Set(recorded.map(({ clusterID }) => clusterID))];
  if (clusterIDs.length > 1) {
    return {
      unclear: `they belong to different clusters: ${recorded.map(({ name, clusterID }) => `${name} to ${clusterID}`).join(", ")}`,
    };
  }
  const reached = recorded.find(({ scheme }) => scheme === "https");
  if (reached !== undefined && peerSchemeOf(snapshot.cluster.spec) === "http")
    return { unclear: otherwiseReached(snapshot, reached.name) };
  const clusterID = clusterIDs[0] ?? "";
  const token = recorded[0]?.token ?? "";
  const born = (["http", "https"] as const).find((scheme) =>
    isFrozenList(snapshot, { clusterID, token, scheme }, recorded),
  );
  const areFounders = born !== undefined;
  const members = recorded.filter(({ hadVolume }) => hadVolume || areFounders);
  if (members.length === 0) {
    const names = recorded.map(({ name }) => name).join(", ");
    return { unclear: `${names} never held data, and those that did are not there` };
  }
  return {
    clusterID,
    token,
    initialMembers: members.map(({ name, id, hadVolume }) => ({ name, id: id ?? "", joined: hadVolume })),
    ...noted(born ?? reached?.scheme ?? "http"),
    ...(members.every(({ hadVolume }) => hadVolume) ? { adopting: true } : {}),
  };
}

/**
 * The recorded identity, extended by members with claims that have appeared since it was taken from claims: tools
 * restore claims one by one. Each has data, so none can bootstrap. Undefined without such a claim, or once the member
 * list of etcd is available.
 */
export function extendedIdentity(snapshot: ClusterSnapshot): ClusterIdentity | undefined {
  const identity = identityOf(snapshot);
  const later = laterClaims(snapshot)
    .filter((claim, _, all) => whyLeftOut(snapshot, claim, all) === undefined)
    .map(({ name, id }) => ({ name, id, joined: true }));
  if (identity === undefined || later.length === 0) return undefined;
  return { ...identity, initialMembers: [...identity.initialMembers, ...later] };
}

/** Why later claims of the same cluster are not adopted: one sentence for each claim. */
export function whyNotExtended(snapshot: ClusterSnapshot): readonly string[] {
  return laterClaims(snapshot).flatMap((claim, _, all) => {
    const why = whyLeftOut(snapshot, claim, all);
    return why === undefined ? [] : [`Claim ${claim.name} is not adopted: ${why}.`];
  });
}

/** The claim of a member: its name, the ID of the member that wrote its data, and the scheme of its peer URL. */
interface MemberClaim {
  readonly name: string;
  readonly id: string;
  readonly scheme: Scheme;
}

/** Claims with data of this cluster's members that are not recorded, in order of ordinals. */
function laterClaims(snapshot: ClusterSnapshot): readonly MemberClaim[] {
  const identity = identityOf(snapshot);
  if (identity?.adopting !== true || snapshot.members.is === "present") return [];
  const order = byOrdinal(snapshot);
  return keptClaims(snapshot)
    .filter((claim) => isLater(snapshot, identity, claim))
    .map((claim) => ({
      name: claim.metadata.name,
      id: claim.metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION] ?? "",
      scheme: schemeOn(claim),
    }))
    .sort((a, b) => order(a.name, b.name));
}

/** Why this later claim cannot be adopted, as part of a sentence; `undefined` when it can. */
function whyLeftOut(
  snapshot: ClusterSnapshot,
  { name, id, scheme }: MemberClaim,
  all: readonly MemberClaim[],
): string | undefined {
  const twins = twinsIn(all.filter((each) => each.id === id));
  if (twins !== undefined) return `${twins}. ${HOW_TO_SPLIT}`;
  return scheme === "https" && peerSchemeOf(snapshot.cluster.spec) === "http"
    ? otherwiseReached(snapshot, name)
    : undefined;
}

/** Whether the claim has the data of a member of this cluster that is not recorded. */
function isLater(
  snapshot: ClusterSnapshot,
  { clusterID, token, initialMembers }: ClusterIdentity,
  claim: PersistentVolumeClaim,
): boolean {
  const { name, annotations = {}, deletionTimestamp } = claim.metadata;
  const id = annotations[CLAIM_MEMBER_ID_ANNOTATION];
  const isOfCluster =
    annotations[CLAIM_CLUSTER_ID_ANNOTATION] === clusterID && annotations[CLAIM_CLUSTER_TOKEN_ANNOTATION] === token;
  if (!isOfCluster || id === undefined || deletionTimestamp !== undefined) return false;
  if (!mayHoldData(claim) || isForeign(snapshot, name)) return false;
  return !initialMembers.some((member) => member.name === name || member.id === id);
}

/** The first claims with the data of the same member, as a clause; `undefined` when each has that of another member. */
function twinsIn(claims: readonly { readonly name: string; readonly id: string | undefined }[]): string | undefined {
  for (const { id } of claims) {
    const twins = claims.filter((each) => each.id === id).map(({ name }) => name);
    if (twins.length > 1) return `claims ${twins.join(" and ")} have the data of one member (${id})`;
  }
  return undefined;
}

/** What people can do about several claims of one member. */
const HOW_TO_SPLIT = "Two processes must never run as one member: delete the claims that are copies";

/** The scheme of this member's peer URL. A missing annotation means http, as on claims older than this annotation. */
export function schemeOn({ metadata }: PersistentVolumeClaim): Scheme {
  return metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
}

/**
 * Why no member may run here with this token, which is that of an EtcdCluster with another namespace or name. Member
 * data contains the cluster ID and the URLs of the others, so a copy would join the original cluster. Undefined when
 * the token belongs here.
 */
export function whyNotHere({ cluster }: Pick<ClusterSnapshot, "cluster">, token: string): string | undefined {
  const { namespace, name } = cluster.metadata;
  const place = placeOfToken(token);
  if (place?.namespace === namespace && place.name === name) return undefined;
  const what =
    place === undefined ? "of unknown origin" : `of EtcdCluster ${place.name} in namespace ${place.namespace}`;
  return `the data of a member ${what} (cluster token ${token})`;
}

/** What people can do about claims that were copied from another EtcdCluster. */
const HOW_TO_COPY =
  "Members that start on a copy join the cluster it was copied from, so copied claims are never used. To copy a cluster, make an EtcdBackup of it and an EtcdRestore here";

function otherwiseReached({ cluster }: ClusterSnapshot, name: string): string {
  return `the peer URL of ${name} has https, and spec.tls.peer.provider is ${providerOf(cluster.spec, "peer")}; set it to Operator, CertManager or Secret; it may be None once the cluster runs`;
}

/** Whether these are exactly the first members. Compares IDs, since a later member may have the same name. */
function isFrozenList(
  snapshot: ClusterSnapshot,
  { clusterID, token, scheme }: Pick<ClusterIdentity, "clusterID" | "token"> & { readonly scheme: Scheme },
  recorded: readonly { readonly name: string; readonly id: string | undefined }[],
): boolean {
  const members = recorded.map(({ name }) => ({ name, peerUrl: urlOf(snapshot, name, scheme) }));
  const computed = identityFor({ token, members });
  const ids = new Map(computed.members.map(({ name, id }) => [name, hexOf(id)]));
  return hexOf(computed.clusterId) === clusterID && recorded.every(({ name, id }) => ids.get(name) === id);
}

function isForeign(snapshot: ClusterSnapshot, claim: string): boolean {
  return ordinalOf(snapshot.cluster.metadata.name, claim) === undefined;
}
