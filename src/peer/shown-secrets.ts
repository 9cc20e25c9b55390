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

// Why does the controller of EtcdPeers check Secrets that the controller of EtcdClusters has already checked?
//   A user with write access to EtcdPeers could name any Secret of the namespace in one, together with an image of
//   their choice. The Secrets that the EtcdCluster asks for or has in its status are not under that user's control. A
//   Secret that a user fills is only in the status if it permits to be mounted.

type Tls = NonNullable<EtcdCluster["spec"]["tls"]>;
type Mounting = { readonly spec?: Pick<NonNullable<Pod["spec"]>, "volumes"> | undefined };

const SIDES: readonly Side[] = ["peer", "client"];
const NAME_OF = { peer: peerSecretName, client: serverSecretName } as const;
const VOLUMES: readonly string[] = [PEER_TLS_VOLUME, CLIENT_TLS_VOLUME];

/**
 * The Secrets that pods of the cluster may mount: those of spec.tls, those in use during a change of spec.tls, and
 * those in the status. Secrets for others only, such as the operator's client certificate, are excluded.
 */
export function shownSecrets(cluster: EtcdCluster): readonly string[] {
  const { status, spec, metadata } = cluster;
  const recorded = (status?.tls?.certificates ?? []).map(({ name }) => name);
  const views = [spec, { ...spec, tls: { ...NO_TLS, ...spec.tls, ...recordedSources(status) } as Tls }];
  const asked = SIDES.flatMap((side) =>
    views.map((each) => [NAME_OF[side]({ metadata, spec: each }), each, side] as const),
  );
  const issued = asked.flatMap(([name, each, side]) =>
    name === undefined || providerOf(each, side) === "Secret" ? [] : [name],
  );
  const others = views.map((each) => askedOperatorSecretName({ metadata, spec: each }));
  // One Secret may hold the certificate of the operator and of members.
  const isTheirs = (name: string) => asked.some(([own]) => own === name) || !others.includes(name);
  const usable = recorded.filter((name) => isTheirs(name) && !isForOthers(metadata.name, name));
  return [...new Set([...issued, ...usable])];
}

/** The sources of certificates in use, by side, where the status records them. */
function recordedSources(status: EtcdCluster["status"]): object {
  const recorded = SIDES.map((side) => [side, status?.tls?.[side]?.issuedBy] as const);
  return Object.fromEntries(recorded.filter(([, source]) => source !== undefined));
}

/** Whether the operator generates the Secret under this name, and not for members. */
function isForOthers(cluster: string, name: string): boolean {
  const shown = [peerCertificateName, serverCertificateName].map((nameOf) => nameOf(cluster));
  return isOwnSecretName(cluster, name) && !shown.some((own) => name === own || name.startsWith(`${own}-`));
}

/** The Secrets that the pod, or a pod of this template, mounts for TLS. */
export function secretsShownBy({ spec }: Mounting): readonly string[] {
  const volumes = (spec?.volumes ?? []).filter(({ name }) => VOLUMES.includes(name));
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? []);
  return sources.flatMap(({ secret }) => secret?.name ?? []);
}
