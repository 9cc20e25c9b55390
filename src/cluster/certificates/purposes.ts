import { applicationCertificateName, clientAuthorityName, peerAuthorityName } from "#api/names.ts";
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

/** The Secret with the authority of each side, where the operator issues. */
export const AUTHORITY_OF = { peer: "peerCA", client: "clientCA" } as const satisfies Record<Side, Purpose>;

/** In the order in which they are made: members wait for the first two. */
const LEAVES_OF: Readonly<Record<Side, readonly LeafPurpose[]>> = {
  peer: ["peer"],
  client: ["server", "operator", "application"],
};

/** What members show on each side. */
export const SHOWN_ON = { peer: "peer", client: "server" } as const satisfies Record<Side, LeafPurpose>;

/** Whether members show it, to each other or to clients: what it says to trust they come to trust. */
export function isShownByMembers(purpose: Purpose): boolean {
  return purpose === "peer" || purpose === "server";
}

export function sideOf(purpose: Purpose): Side {
  return purpose === "peer" || purpose === "peerCA" ? "peer" : "client";
}

export function isAuthority(purpose: Purpose): purpose is Exclude<Purpose, LeafPurpose> {
  return purpose === "peerCA" || purpose === "clientCA";
}

/** The certificates of the side by which somebody is known; for applications none is made of what somebody else brings. */
export function leavesOf({ spec }: Pick<EtcdCluster, "spec">, side: Side): readonly LeafPurpose[] {
  const provider = providerOf(spec, side);
  if (provider === "None") return [];
  return LEAVES_OF[side].filter((purpose) => provider !== "Secret" || purpose !== "application");
}

/** Whose Secrets the cluster has to do with; none without TLS. */
export function purposesOf(cluster: Pick<EtcdCluster, "spec">): readonly Purpose[] {
  return SIDES.flatMap((side) => {
    const isIssued = providerOf(cluster.spec, side) === "Operator";
    return [...(isIssued ? [AUTHORITY_OF[side]] : []), ...leavesOf(cluster, side)];
  });
}

/** The Secret of this purpose, whoever fills it; `undefined` when there is to be none. */
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

/** What a certificate of this purpose has to say, and for how long it is made. */
export interface LeafOrder {
  readonly commonName: string | undefined;
  readonly names: readonly string[];
  readonly usages: readonly ("serverAuth" | "clientAuth")[];
  readonly durationMs: number;
}

/** What is asked for, whoever issues it. */
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

/** Members are servers and clients of each other; of the server's own certificate etcd makes use as its gateway's client. */
function order(names: readonly string[], durationMs: number): LeafOrder {
  return { commonName: undefined, names, usages: ["serverAuth", "clientAuth"], durationMs };
}
