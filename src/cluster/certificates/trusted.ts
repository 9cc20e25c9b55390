import {
  applicationCertificateName,
  CLIENT_SIGNER_ANNOTATION,
  CLIENT_TLS_VOLUME,
  CLIENT_TRUST_ANNOTATION,
  PEER_SIGNER_ANNOTATION,
  PEER_TLS_VOLUME,
  PEER_TRUST_ANNOTATION,
} from "#api/names.ts";
import type { MemberTemplate } from "#api/revision.ts";
import { operatorSecretName, type Side } from "#api/tls.ts";
import { bundleOf, certificatesIn, idOf, parsedIn } from "#certificates/pem.ts";
import { hasSigned, namerOf, type Signed } from "#certificates/trust.ts";
import { secretNameOf } from "#cluster/certificates/purposes.ts";
import { mayBeMember } from "#cluster/members.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";

// Whom does a member trust?
//   Whom its pod says: etcd reads authorities when it starts, and not again. What its EtcdPeer says counts besides, since its next pod is made
//   from that. So an authority is trusted when both say so, of every member.
// By whom is signed what a member shows?
//   By whoever signs what its Secret holds, or held a while ago: the kubelet brings that whenever it likes. The pod says who had signed it before
//   the pod was made, so that is settled, too, when both say so, of every member, and no pod was made just now.

const VOLUME = { peer: PEER_TLS_VOLUME, client: CLIENT_TLS_VOLUME } as const;
const TRUST = { peer: PEER_TRUST_ANNOTATION, client: CLIENT_TRUST_ANNOTATION } as const;
const SIGNER = { peer: PEER_SIGNER_ANNOTATION, client: CLIENT_SIGNER_ANNOTATION } as const;

/**
 * So long after a Secret has changed a member that mounts it usually has it, in milliseconds: the kubelet looks at each pod once in a minute and a
 * half, unless its `syncFrequency` says otherwise. https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod
 */
export const REACHED_MS = 150_000;

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type Members = Pick<ClusterSnapshot, "peers" | "pods">;

/** Members that do not trust one of these, by name. @param ids SHA-256 of authorities @param bundle PEM text that has all of them */
export function withoutTrust(
  snapshot: Members,
  side: Side,
  ids: readonly string[],
  bundle?: string,
): readonly string[] {
  return membersWithout(snapshot, side, bundle, (text) => {
    const known = new Set(parsedIn(text).map(idOf));
    return ids.every((id) => known.has(id));
  });
}

/**
 * Members that would not believe whoever shows this certificate, by name; nobody when it says by itself that nobody vouches for it. Who signed it
 * is known by name and key: an authority whose own certificate was renewed is the same to those that trust the one before.
 */
export function withoutBelief(snapshot: Members, side: Side, signed: Signed): readonly string[] {
  // Usually everybody trusts one text, and nothing is read: this is asked at each look at each cluster.
  return signed.signerId === undefined ? [] : membersWithout(snapshot, side, signed.trust, namerOf(signed));
}

/** Members that may show what another authority has signed, by name; whatever their Secret holds by now. */
export function notShowing(
  { peers, pods, certificates }: Members & Pick<ClusterSnapshot, "certificates">,
  side: Side,
  authority: Pick<SeenCertificate, "fingerprint" | "trust">,
): readonly string[] {
  const isBy = (signerId: string | undefined, trust: string) => hasSigned(authority, { signerId, trust });
  const late = peers.filter(({ metadata: { name }, spec }) => {
    const own = spec.tls?.[side];
    const said = pods.get(name)?.metadata.annotations;
    // Who speaks no TLS there shows nothing.
    const trust = said?.[TRUST[side]];
    // The kubelet may have given it what another pod of its node had.
    const isNew = (certificates?.podsForMs?.get(name) ?? REACHED_MS) < REACHED_MS;
    const isLate = own !== undefined && !isBy(own.signer, own.trust);
    return isLate || (trust !== undefined && (isNew || !isBy(said?.[SIGNER[side]], trust)));
  });
  return late.map(({ metadata }) => metadata.name);
}

/** @param bundle what needs no look @param trusts whether such a bundle suffices */
function membersWithout(
  { peers, pods }: Members,
  side: Side,
  bundle: string | undefined,
  trusts: (text: string) => boolean,
): readonly string[] {
  // In the usual case nothing has to be read.
  const suffices = (text: string) => text === bundle || trusts(text);
  return peers
    .filter(({ metadata, spec }) => {
      // Who speaks no TLS there, by its pod or its EtcdPeer, is shown nothing, and comes to trust what the other one of the two says.
      const said = [spec.tls?.[side]?.trust, pods.get(metadata.name)?.metadata.annotations?.[TRUST[side]]];
      return said.some((text) => text !== undefined && !suffices(text));
    })
    .map(({ metadata }) => metadata.name);
}

/**
 * Pods that trust somebody, and have outlived their EtcdPeers, of each member one: until they end they may be members that believe nobody else. Whom etcd
 * does not list takes no part any more, and its pod may never end, when its node is lost.
 */
export function leftTrusting(snapshot: ClusterSnapshot, side: Side): ReadonlyMap<string, Pod> {
  const known = new Set(snapshot.peers.map(({ metadata }) => metadata.name));
  const left = [...snapshot.pods].filter(([name, pod]) => !known.has(name) && pod.metadata.annotations?.[TRUST[side]]);
  return new Map(left.filter(([name]) => mayBeMember(snapshot, name)));
}

/** Every certificate that members are to trust by now, each of them once. */
export function trustInUse({ peers }: Pick<ClusterSnapshot, "peers">, side: Side): readonly string[] {
  return [...new Set(peers.flatMap(({ spec }) => certificatesIn(spec.tls?.[side]?.trust ?? "")))];
}

/** These bundles as one. */
export function united(...bundles: readonly string[]): string {
  return bundleOf(bundles.flatMap(certificatesIn));
}

/** From which Secrets members show what they show, and will. */
export function secretsInUse({ peers, pods }: Members, side: Side): ReadonlySet<string> {
  const planned = peers.map(({ spec }) => spec.tls?.[side]?.secretName);
  const mounted = peers.map(({ metadata }) => mountedIn(pods.get(metadata.name), side));
  return new Set([...planned, ...mounted].filter((name) => name !== undefined));
}

/** Whether somebody shows what the Secret of this purpose holds, or is about to. Applications have NAME-client from its first day on. */
export function isInUse(snapshot: ClusterSnapshot, purpose: LeafPurpose): boolean {
  const { cluster } = snapshot;
  const name = secretNameOf(cluster, purpose);
  if (name === undefined) return false;
  switch (purpose) {
    case "peer":
      return secretsInUse(snapshot, "peer").has(name);
    case "server":
      return secretsInUse(snapshot, "client").has(name);
    case "operator":
      return operatorSecretName(cluster) === name;
    case "application":
      return applicationCertificateName(cluster.metadata.name) === name;
  }
}

/** What the pod shows on this side: the name of the Secret that is mounted. */
export function mountedIn(pod: Pod | undefined, side: Side): string | undefined {
  const volume = pod?.spec?.volumes?.find(({ name }) => name === VOLUME[side]);
  return volume?.projected?.sources?.find(({ secret }) => secret !== undefined)?.secret?.name;
}

/** The template, by which whoever shows what the other one has shows that as well, and trusts as it does, whom that trusts. */
export function trustingAs(template: MemberTemplate, other: MemberTemplate): MemberTemplate {
  if (template.tls === undefined) return template;
  const { peer, client, ...rest } = template.tls;
  const tls: MemberTls = {
    ...rest,
    ...(peer && { peer: sideTrustingAs(peer, other.tls?.peer) }),
    ...(client && { client: sideTrustingAs(client, other.tls?.client) }),
  };
  return { ...template, tls };
}

function sideTrustingAs<T extends NonNullable<MemberTls[Side]>>(own: T, other: MemberTls[Side]): T {
  if (other?.secretName !== own.secretName) return own;
  const { signer: _, ...rest } = own;
  const { trust, signer } = other;
  return { ...rest, trust, ...(signer === undefined ? {} : { signer }) } as T;
}
