import {
  CLIENT_TLS_VOLUME,
  isOwnSecretName,
  PEER_TLS_VOLUME,
  peerCertificateName,
  serverCertificateName,
} from "#api/names.ts";
import { askedOperatorSecretName, NO_TLS, peerSecretName, providerOf, type Side, serverSecretName } from "#api/tls.ts";
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

/**
 * The Secrets that members of the cluster may show: those that are asked for, those that are in use while something else is asked for, and what is
 * on record besides, since some show it. What is for others alone, such as the operator's own, is none of them.
 */
export function shownSecrets(cluster: EtcdCluster): readonly string[] {
  const { status, spec, metadata } = cluster;
  const recorded = (status?.certificates ?? []).map(({ name }) => name);
  const views = [spec, { ...spec, tls: { ...NO_TLS, ...spec.tls, ...status?.issuedBy } as Tls }];
  const asked = SIDES.flatMap((side) =>
    views.map((each) => [NAME_OF[side]({ metadata, spec: each }), each, side] as const),
  );
  const issued = asked.flatMap(([name, each, side]) =>
    name === undefined || providerOf(each, side) === "Secret" ? [] : [name],
  );
  const others = views.map((each) => askedOperatorSecretName({ metadata, spec: each }));
  // One certificate may be for the operator and for members alike.
  const isTheirs = (name: string) => asked.some(([own]) => own === name) || !others.includes(name);
  const besides = recorded.filter((name) => isTheirs(name) && !isForOthers(metadata.name, name));
  return [...new Set([...issued, ...besides])];
}

/** Whether it has a name of the operator's own, and is not what members show. */
function isForOthers(cluster: string, name: string): boolean {
  const shown = [peerCertificateName, serverCertificateName].map((nameOf) => nameOf(cluster));
  return isOwnSecretName(cluster, name) && !shown.some((own) => name === own || name.startsWith(`${own}-`));
}

/** The Secrets that a pod, or one of this template, shows. */
export function secretsShownBy({ spec }: Mounting): readonly string[] {
  const volumes = (spec?.volumes ?? []).filter(({ name }) => VOLUMES.includes(name));
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? []);
  return sources.flatMap(({ secret }) => secret?.name ?? []);
}
