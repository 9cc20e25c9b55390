import { CLAIM_MEMBER_ID_ANNOTATION, ordinalOf } from "#api/names.ts";
import { reachedBy } from "#api/tls.ts";
import {
  byOrdinal,
  type ClusterSnapshot,
  identityOf,
  isForming,
  peerNamed,
  peerScheme,
  urlOf,
} from "#cluster/snapshot.ts";
import { hexOf, type Member } from "#etcd/types.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";

/** A member that etcd lists or, while etcd cannot be asked, that the status records. */
export interface ListedMember {
  /** The name of its EtcdPeer; for a member that was added by hand, its own name. */
  readonly name: string;
  /** Member ID in hexadecimal. */
  readonly id: string;
  readonly isLearner: boolean;
  /** Has started at least once: it has published its client URLs, so it has data. */
  readonly hasStarted: boolean;
  /** Whether the operator manages it. A member that was added by hand counts for the quorum, and is left alone. */
  readonly isOurs: boolean;
  /** The peer URLs that etcd lists; none while etcd cannot be asked. */
  readonly peerUrls: readonly string[];
}

/** Members as etcd lists them, or as the status records them while etcd cannot be asked. Sorted by ordinal. */
export function listedMembers(snapshot: ClusterSnapshot): readonly ListedMember[] {
  const order = byOrdinal(snapshot);
  return [...membersIn(snapshot)].sort((a, b) => order(a.name, b.name));
}

function membersIn(snapshot: ClusterSnapshot): readonly ListedMember[] {
  if (snapshot.members.is === "present")
    return snapshot.members.value.members.map((member) => listed(snapshot, member));
  // While claims are being adopted, etcd's list was never read, and the status has only the claims adopted so far.
  const isAdopting = identityOf(snapshot)?.adopting === true;
  const recorded = isAdopting ? [] : (snapshot.cluster.status?.members ?? []);
  if (!isForming(snapshot) && recorded.length > 0) {
    return recorded.map(({ name, id, role }) => ({
      name,
      id,
      isLearner: role === "Learner",
      hasStarted: role !== "Learner",
      isOurs: isOurName(snapshot, name),
      peerUrls: [],
    }));
  }
  const initial = identityOf(snapshot)?.initialMembers ?? [];
  return initial.map(({ name, id, joined }) => ({
    name,
    id,
    isLearner: false,
    hasStarted: joined,
    isOurs: true,
    peerUrls: [],
  }));
}

/**
 * A listed member is identified by its ID, from its EtcdPeer, the initial members, or its claim. Otherwise by its peer
 * URL: that of an intent, or of a member without an EtcdPeer.
 */
function listed(snapshot: ClusterSnapshot, member: Member): ListedMember {
  const id = hexOf(member.id);
  const host = hostIn(member.peerUrls[0]);
  const inUrl = labelIn(member.peerUrls[0]);
  const isOurUrl = isOurName(snapshot, inUrl) && ownUrls(snapshot, inUrl).some((url) => member.peerUrls.includes(url));
  const name = nameOfId(snapshot, id, inUrl) ?? (isOurUrl ? inUrl : undefined);
  return {
    // A foreign member may have the name of a managed one: the ID makes it unique.
    name: name ?? [member.name || host, id].filter((part) => part !== "").join("."),
    id,
    isLearner: member.isLearner,
    hasStarted: member.clientUrls.length > 0,
    isOurs: name !== undefined,
    peerUrls: member.peerUrls,
  };
}

/**
 * The URLs under which a member of this name may have been added. That is the URL of its EtcdPeer, or during a switch
 * to TLS those of the others.
 */
function ownUrls(snapshot: ClusterSnapshot, name: string): readonly string[] {
  const own = peerNamed(snapshot, name);
  const others = snapshot.peers.map(({ spec }) => reachedBy(spec));
  const schemes = own === undefined ? [peerScheme(snapshot), ...others] : [reachedBy(own.spec)];
  return schemes.map((scheme) => urlOf(snapshot, name, scheme));
}

/** @param inUrl the name in the member's URL: copies of a claim have the same ID and other names */
function nameOfId(snapshot: ClusterSnapshot, id: string, inUrl: string): string | undefined {
  const peer = snapshot.peers.find(({ spec }) => spec.memberID === id);
  if (peer !== undefined) return peer.metadata.name;
  const founder = identityOf(snapshot)?.initialMembers.find((member) => member.id === id);
  if (founder !== undefined) return founder.name;
  const named = snapshot.claims
    .filter((claim) => memberIdIn(claim) === id && isOurName(snapshot, claim.metadata.name))
    .map(({ metadata }) => metadata.name);
  return named.find((name) => name === inUrl) ?? named[0];
}

function memberIdIn({ metadata }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION];
}

/** The claim for the data of exactly this member, as far as the cache knows. */
export function claimOf(snapshot: ClusterSnapshot, { name, id }: ListedMember): PersistentVolumeClaim | undefined {
  return snapshot.claims.find((claim) => claim.metadata.name === name && memberIdIn(claim) === id);
}

/** Whether the claim may hold data: it has a volume, or will get one from a data source such as a snapshot. */
export function mayHoldData({ spec }: PersistentVolumeClaim): boolean {
  return spec?.volumeName !== undefined || spec?.dataSource !== undefined || spec?.dataSourceRef !== undefined;
}

function hostIn(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).hostname : (url ?? "");
}

/** The name of a managed member in its URL. */
export function labelIn(url: string | undefined): string {
  return hostIn(url).split(".")[0] ?? "";
}

function isOurName(snapshot: ClusterSnapshot, name: string): boolean {
  return ordinalOf(snapshot.cluster.metadata.name, name) !== undefined;
}
