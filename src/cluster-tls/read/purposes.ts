import { withGiven } from "#api/given-metadata.ts";
import { applicationCertificateName, clientAuthorityName, clusterLabels, peerAuthorityName } from "#api/names.ts";
import {
  applicationSecretName,
  askedOperatorSecretName,
  lifeOf,
  peerSecretName,
  providerOf,
  type Side,
  serverSecretName,
} from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { memberNames, wantedNames } from "#certificates/names.ts";
import type { LeafPurpose, Purpose } from "#cluster/snapshot.ts";

export const SIDES: readonly Side[] = ["peer", "client"];

/** The CA's Secret of each side, with provider Operator. */
export const AUTHORITY_OF = { peer: "peerCA", client: "clientCA" } as const satisfies Record<Side, Purpose>;

/** The order in which they are issued: members wait for the first two. */
const LEAVES_OF: Readonly<Record<Side, readonly LeafPurpose[]>> = {
  peer: ["peer"],
  client: ["server", "operator", "application"],
};

/** The certificate that members use on each side. */
export const SHOWN_ON = { peer: "peer", client: "server" } as const satisfies Record<Side, LeafPurpose>;

/** Whether members use this certificate. The bundle in its Secret becomes their trust. */
export function isShownByMembers(purpose: Purpose): boolean {
  return purpose === "peer" || purpose === "server";
}

export function sideOf(purpose: Purpose): Side {
  return purpose === "peer" || purpose === "peerCA" ? "peer" : "client";
}

export function isAuthority(purpose: Purpose): purpose is Exclude<Purpose, LeafPurpose> {
  return purpose === "peerCA" || purpose === "clientCA";
}

/** The leaf certificates of a side. With provider Secret there is none for applications. */
export function leavesOf({ spec }: Pick<EtcdCluster, "spec">, side: Side): readonly LeafPurpose[] {
  const provider = providerOf(spec, side);
  if (provider === "None") return [];
  return LEAVES_OF[side].filter((purpose) => provider !== "Secret" || purpose !== "application");
}

/** The purposes of all Secrets that the cluster uses; none without TLS. */
export function purposesOf(cluster: Pick<EtcdCluster, "spec">): readonly Purpose[] {
  return SIDES.flatMap((side) => {
    const isIssued = providerOf(cluster.spec, side) === "Operator";
    return [...(isIssued ? [AUTHORITY_OF[side]] : []), ...leavesOf(cluster, side)];
  });
}

/** The name of the Secret of this purpose, with any provider. `undefined` when there is none. */
export function secretNameOf(cluster: Pick<EtcdCluster, "metadata" | "spec">, purpose: Purpose): string | undefined {
  const { name } = cluster.metadata;
  switch (purpose) {
    case "peerCA":
      return peerAuthorityName(name);
    case "clientCA":
      return clientAuthorityName(name);
    case "peer":
      return peerSecretName(cluster);
    case "server":
      return serverSecretName(cluster);
    case "operator":
      return askedOperatorSecretName(cluster);
    case "application":
      return applicationSecretName(cluster);
  }
}

/** Labels and annotations of Secret NAME-client, without the operator's own annotations. */
export function clientSecretMetadata({ metadata: { name }, spec }: Pick<EtcdCluster, "metadata" | "spec">) {
  return withGiven(clusterLabels(name), spec.clientSecret?.metadata);
}

/** What a certificate of this purpose has to contain, and how long it is valid. */
export interface LeafOrder {
  readonly commonName: string | undefined;
  readonly names: readonly string[];
  readonly usages: readonly ("serverAuth" | "clientAuth")[];
  readonly durationMs: number;
}

/** The order for a certificate, with any issuer. */
export function orderOf({ metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">, purpose: LeafPurpose): LeafOrder {
  const { namespace, name } = metadata;
  const { durationMs } = lifeOf(spec, sideOf(purpose));
  switch (purpose) {
    case "peer":
      return order(memberNames(namespace, name), durationMs);
    case "server":
      return order(wantedNames(namespace, name, spec.tls?.client.extraNames), durationMs);
    case "operator":
      return { commonName: "etcd-cluster-operator", names: [], usages: ["clientAuth"], durationMs };
    case "application":
      return { commonName: applicationCertificateName(name), names: [], usages: ["clientAuth"], durationMs };
  }
}

/** Members are servers and clients of each other. etcd's gateway uses the server certificate as a client. */
function order(names: readonly string[], durationMs: number): LeafOrder {
  return { commonName: undefined, names, usages: ["serverAuth", "clientAuth"], durationMs };
}
