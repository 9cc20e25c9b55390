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
import { mayBeMember } from "#cluster/members/members.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import { secretNameOf } from "#cluster-tls/read/purposes.ts";
import type { Pod } from "#kube/kinds.ts";

// Which CAs does a member trust?
//   Those in the annotation of its pod: etcd reads CAs only at start. Those of its EtcdPeer count as well, since its
//   next pod is created from that. So a CA is trusted when both list it, for every member.
// Which CA signed the certificate that a member uses?
//   The CA of the certificate that its Secret holds, or held a while ago: the kubelet updates the mounted files at any
//   time. The pod's annotation has the signer from before the pod was created. So the signer is certain when pod and
//   EtcdPeer agree for every member, and no pod is new.

const VOLUME = { peer: PEER_TLS_VOLUME, client: CLIENT_TLS_VOLUME } as const;
const TRUST = { peer: PEER_TRUST_ANNOTATION, client: CLIENT_TRUST_ANNOTATION } as const;
const SIGNER = { peer: PEER_SIGNER_ANNOTATION, client: CLIENT_SIGNER_ANNOTATION } as const;

/**
 * How long the kubelet usually takes to update a mounted Secret, in milliseconds. It syncs each pod every 90 s at most,
 * unless its `syncFrequency` differs.
 * https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod
 */
export const REACHED_MS = 150_000;

type MemberTls = NonNullable<MemberTemplate["tls"]>;
type Members = Pick<ClusterSnapshot, "peers" | "pods">;

/**
 * Members that do not trust all of these CAs, by name.
 * @param ids SHA-256 of CA certificates
 * @param bundle PEM text that contains all of them
 */
export function membersWithoutCa(
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
 * Members that would reject this certificate, by name. None for a certificate that lacks its signer in its own bundle.
 * The signer is compared by name and key: a renewed CA certificate is the same CA.
 */
export function membersRejecting(snapshot: Members, side: Side, signed: Signed): readonly string[] {
  // Usually all members trust the same text, and nothing is parsed: this runs at every reconcile of every cluster.
  return signed.signerId === undefined ? [] : membersWithout(snapshot, side, signed.trust, namerOf(signed));
}

/** Members that may still use a certificate of another CA, by name, whatever their Secret holds now. */
export function membersUsingOtherCa(
  { peers, pods, certificates }: Members & Pick<ClusterSnapshot, "certificates">,
  side: Side,
  authority: Pick<SeenCertificate, "fingerprint" | "trust">,
): readonly string[] {
  const isBy = (signerId: string | undefined, trust: string) => hasSigned(authority, { signerId, trust });
  const late = peers.filter(({ metadata: { name }, spec }) => {
    const own = spec.tls?.[side];
    const said = pods.get(name)?.metadata.annotations;
    // A pod without TLS on this side has no certificate.
    const trust = said?.[TRUST[side]];
    // A new pod may have got an old version that the kubelet cached for another pod.
    const isNew = (certificates?.podsForMs?.get(name) ?? REACHED_MS) < REACHED_MS;
    const isLate = own !== undefined && !isBy(own.signer, own.trust);
    return isLate || (trust !== undefined && (isNew || !isBy(said?.[SIGNER[side]], trust)));
  });
  return late.map(({ metadata }) => metadata.name);
}

/** Members that trust more CAs than this bundle has, by name. */
export function membersTrustingMore(snapshot: Members, side: Side, bundle: string): readonly string[] {
  return membersWithout(snapshot, side, bundle, (text) => {
    const wanted = new Set(parsedIn(bundle).map(idOf));
    return parsedIn(text).every((each) => wanted.has(idOf(each)));
  });
}

/**
 * @param bundle a text that is known to suffice
 * @param trusts whether another bundle suffices
 */
function membersWithout(
  { peers, pods }: Members,
  side: Side,
  bundle: string | undefined,
  trusts: (text: string) => boolean,
): readonly string[] {
  // Usually the texts are equal, and nothing is parsed.
  const suffices = (text: string) => text === bundle || trusts(text);
  return peers
    .filter(({ metadata, spec }) => {
      // A pod or an EtcdPeer without TLS on this side verifies no certificate, so only the other one counts.
      const said = [spec.tls?.[side]?.trust, pods.get(metadata.name)?.metadata.annotations?.[TRUST[side]]];
      return said.some((text) => text !== undefined && !suffices(text));
    })
    .map(({ metadata }) => metadata.name);
}

/**
 * Pods with a CA bundle that have outlived their EtcdPeers, one of each member. Until they end they may be members that
 * trust only those CAs. Members that etcd does not list are left out: on a lost node their pods may never end.
 */
export function leftTrusting(snapshot: ClusterSnapshot, side: Side): ReadonlyMap<string, Pod> {
  const known = new Set(snapshot.peers.map(({ metadata }) => metadata.name));
  const left = [...snapshot.pods].filter(([name, pod]) => !known.has(name) && pod.metadata.annotations?.[TRUST[side]]);
  return new Map(left.filter(([name]) => mayBeMember(snapshot, name)));
}

/** Every CA certificate in the templates of members, each once. */
export function trustInUse({ peers }: Pick<ClusterSnapshot, "peers">, side: Side): readonly string[] {
  return [...new Set(peers.flatMap(({ spec }) => certificatesIn(spec.tls?.[side]?.trust ?? "")))];
}

/** One bundle of all these, without duplicates. */
export function mergeBundles(...bundles: readonly string[]): string {
  return bundleOf(bundles.flatMap(certificatesIn));
}

/** Secrets that members use on this side, or will use after their next restart. */
export function secretsInUse({ peers, pods }: Members, side: Side): ReadonlySet<string> {
  const planned = peers.map(({ spec }) => spec.tls?.[side]?.secretName);
  const mounted = peers.map(({ metadata }) => mountedIn(pods.get(metadata.name), side));
  return new Set([...planned, ...mounted].filter((name) => name !== undefined));
}

/**
 * Whether the Secret of this purpose is used, or about to be. Applications may use NAME-client as soon as it exists.
 */
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

/** The name of the Secret that the pod mounts on this side. */
export function mountedIn(pod: Pod | undefined, side: Side): string | undefined {
  const volume = pod?.spec?.volumes?.find(({ name }) => name === VOLUME[side]);
  return volume?.projected?.sources?.find(({ secret }) => secret !== undefined)?.secret?.name;
}

/**
 * Largest assumed clock difference of two API servers, in milliseconds: one may date the Secret, the other the pod.
 * Smaller: an older pod could pass for a newer one, and a member be trusted with a certificate that it lacks. Larger: a
 * young cluster waits up to 150 s more often before it heals.
 */
const CLOCK_SKEW_MS = 5_000;

/**
 * Members with a pod that mounts the Secret on this side and may have been created before its last write, by name. A
 * pod that is newer by more than the clock skew has had the content from its start. Otherwise this process has to have
 * read the Secret before it saw the pod.
 */
export function olderThan(
  snapshot: Pick<ClusterSnapshot, "pods" | "certificates">,
  side: Side,
  shown: SeenCertificate,
) {
  const { secretName, writtenAtMs = Number.NaN, knownForMs } = shown;
  const older = [...snapshot.pods].filter(([name, pod]) => {
    if (mountedIn(pod, side) !== secretName) return false;
    const madeAtMs = Date.parse(pod.metadata.creationTimestamp ?? "");
    const podForMs = snapshot.certificates?.podsForMs?.get(name) ?? Number.POSITIVE_INFINITY;
    return !(madeAtMs > writtenAtMs + CLOCK_SKEW_MS || (madeAtMs >= writtenAtMs && knownForMs > podForMs));
  });
  return older.map(([name]) => name);
}

/** The template with trust and signer of the other one, on the sides where both use the same Secret. */
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
