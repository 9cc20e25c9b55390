import { CLIENT_TLS_VOLUME, PEER_TLS_VOLUME } from "#api/names.ts";
import { peerSecretName, providerOf, type Side, serverSecretName } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Pod } from "#kube/kinds.ts";

// Why does a member's own room ask, when the room of clusters has judged what it gives to EtcdPeers?
//   Whoever may write EtcdPeers could name any Secret of the namespace in one of theirs, with an image of their choice. What its EtcdCluster asks
//   for, or has on record, they cannot choose; and of what somebody else fills only that is on record which says that it may be shown.

type Tls = NonNullable<EtcdCluster["spec"]["tls"]>;
type Mounting = { readonly spec?: Pick<NonNullable<Pod["spec"]>, "volumes"> | undefined };

const SIDES: readonly Side[] = ["peer", "client"];
const NAME_OF = { peer: peerSecretName, client: serverSecretName } as const;
const VOLUMES: readonly string[] = [PEER_TLS_VOLUME, CLIENT_TLS_VOLUME];

/** The Secrets that members of the cluster may show: those that are asked for, and those that are in use while something else is asked for. */
export function shownSecrets(cluster: EtcdCluster): readonly string[] {
  const { status, spec } = cluster;
  const recorded = new Set((status?.certificates ?? []).map(({ name }) => name));
  return SIDES.flatMap((side) => {
    const inUse = { ...spec, tls: { ...spec.tls, [side]: status?.issuedBy?.[side] } as Tls };
    return [spec, ...(status?.issuedBy?.[side] === undefined ? [] : [inUse])].flatMap((each) => {
      const name = NAME_OF[side]({ ...cluster, spec: each });
      const isKnown = name !== undefined && (providerOf(each, side) !== "Secret" || recorded.has(name));
      return isKnown ? [name] : [];
    });
  });
}

/** The Secrets that a pod, or one of this template, shows. */
export function secretsShownBy({ spec }: Mounting): readonly string[] {
  const volumes = (spec?.volumes ?? []).filter(({ name }) => VOLUMES.includes(name));
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? []);
  return sources.flatMap(({ secret }) => secret?.name ?? []);
}
