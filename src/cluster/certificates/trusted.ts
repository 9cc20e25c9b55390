import { CLIENT_TLS_VOLUME, CLIENT_TRUST_ANNOTATION, PEER_TLS_VOLUME, PEER_TRUST_ANNOTATION } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import { bundleOf, certificatesIn, idOf, parsedIn } from "#certificates/pem.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Pod } from "#kube/kinds.ts";

// Whom does a member trust?
//   Whom its pod says: etcd reads authorities when it starts, and not again. What its EtcdPeer says counts besides, since its next pod is made
//   from that. So an authority is trusted when both say so, of every member.

const VOLUME = { peer: PEER_TLS_VOLUME, client: CLIENT_TLS_VOLUME } as const;
const TRUST = { peer: PEER_TRUST_ANNOTATION, client: CLIENT_TRUST_ANNOTATION } as const;

/** Members that do not trust one of these, by name. @param ids SHA-256 of authorities @param bundle PEM text that has all of them */
export function withoutTrust(
  snapshot: Pick<ClusterSnapshot, "peers" | "pods">,
  side: Side,
  ids: readonly string[],
  bundle?: string,
): readonly string[] {
  const trusts = (text: string | undefined) => {
    if (text === undefined) return false;
    if (text === bundle) return true; // the usual case, in which nothing has to be read
    const known = new Set(parsedIn(text).map(idOf));
    return ids.every((id) => known.has(id));
  };
  return snapshot.peers
    .filter(({ metadata, spec }) => {
      const pod = snapshot.pods.get(metadata.name);
      return (
        !trusts(spec.tls?.[side]?.trust) || (pod !== undefined && !trusts(pod.metadata.annotations?.[TRUST[side]]))
      );
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
