import { CLIENT_TLS_VOLUME, CLIENT_TRUST_ANNOTATION, PEER_TLS_VOLUME, PEER_TRUST_ANNOTATION } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import { authorityKeyOf, bundleOf, certificatesIn, idOf, parsedIn } from "#certificates/pem.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";

// Whom does a member trust?
//   Whom its pod says: etcd reads authorities when it starts, and not again. What its EtcdPeer says counts besides, since its next pod is made
//   from that. So an authority is trusted when both say so, of every member.

const VOLUME = { peer: PEER_TLS_VOLUME, client: CLIENT_TLS_VOLUME } as const;
const TRUST = { peer: PEER_TRUST_ANNOTATION, client: CLIENT_TRUST_ANNOTATION } as const;

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
export function withoutBelief(
  snapshot: Members,
  side: Side,
  { signerId, trust }: Pick<SeenCertificate, "signerId" | "trust">,
): readonly string[] {
  const signer = parsedIn(trust).find((each) => idOf(each) === signerId);
  if (signer === undefined) return [];
  const key = authorityKeyOf(signer);
  return membersWithout(snapshot, side, trust, (text) => parsedIn(text).some((each) => authorityKeyOf(each) === key));
}

/** @param bundle what needs no look @param trusts whether such a bundle suffices */
function membersWithout(
  { peers, pods }: Members,
  side: Side,
  bundle: string | undefined,
  trusts: (text: string) => boolean,
): readonly string[] {
  // In the usual case nothing has to be read.
  const suffices = (text: string | undefined) => text !== undefined && (text === bundle || trusts(text));
  return peers
    .filter(({ metadata, spec }) => {
      const pod = pods.get(metadata.name);
      const isRunning = pod !== undefined;
      return !suffices(spec.tls?.[side]?.trust) || (isRunning && !suffices(pod.metadata.annotations?.[TRUST[side]]));
    })
    .map(({ metadata }) => metadata.name);
}

/** Every certificate that members are to trust by now, each of them once. */
export function trustInUse({ peers }: ClusterSnapshot, side: Side): readonly string[] {
  return [...new Set(peers.flatMap(({ spec }) => certificatesIn(spec.tls?.[side]?.trust ?? "")))];
}

/** These bundles as one. */
export function united(...bundles: readonly string[]): string {
  return bundleOf(bundles.flatMap(certificatesIn));
}

/** From which Secrets members show what they show, and will. */
export function secretsInUse({ peers, pods }: ClusterSnapshot, side: Side): ReadonlySet<string> {
  const planned = peers.map(({ spec }) => spec.tls?.[side]?.secretName);
  const mounted = peers.map(({ metadata }) => mountedIn(pods.get(metadata.name), side));
  return new Set([...planned, ...mounted].filter((name) => name !== undefined));
}

function mountedIn(pod: Pod | undefined, side: Side): string | undefined {
  const volume = pod?.spec?.volumes?.find(({ name }) => name === VOLUME[side]);
  return volume?.projected?.sources?.find(({ secret }) => secret !== undefined)?.secret?.name;
}
