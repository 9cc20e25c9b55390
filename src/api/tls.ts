import { millisecondsOf } from "#api/duration.ts";
import {
  applicationCertificateName,
  issuedSecretName,
  operatorCertificateName,
  peerCertificateName,
  type Scheme,
  serverCertificateName,
} from "#api/names.ts";
import type { EtcdCluster, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { fingerprint } from "#base/hash.ts";

// What the schema fills in is asked for here all the same: what comes from a conversion, or from an edit that is only to be explained, has
// not been filled in.

type Tls = NonNullable<EtcdClusterSpec["tls"]>;
export type Provider = Tls["peer"]["provider"];
export type Side = "peer" | "client";

const VERSION = { minVersion: "TLS1.2" } as const;
/** What a new cluster gets that does not say whether it has TLS. */
export const DEFAULT_TLS: Tls = {
  peer: { provider: "Operator" },
  client: { provider: "Operator", verifyClients: true },
  ...VERSION,
};
/** What v1alpha1 means, which cannot say it. */
export const NO_TLS: Tls = {
  peer: { provider: "None" },
  client: { provider: "None", verifyClients: true },
  ...VERSION,
};

/** Whether there is TLS on any side. */
export function hasTls(spec: Pick<EtcdClusterSpec, "tls">): boolean {
  return providerOf(spec, "peer") !== "None" || providerOf(spec, "client") !== "None";
}

/** Who issues what members show on this side. */
export function providerOf({ tls }: Pick<EtcdClusterSpec, "tls">, side: Side): Provider {
  if (tls === undefined) return "None";
  return (tls[side] as Partial<Tls[Side]> | undefined)?.provider ?? "Operator";
}

/** How the members of a cluster that is made by this spec reach each other. */
export function peerSchemeOf(spec: Pick<EtcdClusterSpec, "tls">): Scheme {
  return providerOf(spec, "peer") === "None" ? "http" : "https";
}

/** Whether clients must show a certificate, where members do. */
export function areClientsVerified({ tls }: Pick<EtcdClusterSpec, "tls">): boolean {
  return (tls?.client as Partial<Tls["client"]> | undefined)?.verifyClients ?? true;
}

const DEFAULT_DURATION_MS = 2_160 * 60 * 60_000;
/** Of its life, what is left of a certificate when it is renewed. */
const RENEWED_PART = 1 / 3;

/** How long a certificate of this side is good, and how long before its end it is renewed, both in milliseconds. */
export function lifeOf(
  { tls }: Pick<EtcdClusterSpec, "tls">,
  side: Side,
): { durationMs: number; renewBeforeMs: number } {
  const { duration, renewBefore } = (tls?.[side] as Partial<Tls[Side]> | undefined) ?? {};
  const durationMs = (duration && millisecondsOf(duration)) || DEFAULT_DURATION_MS;
  const renewBeforeMs = (renewBefore && millisecondsOf(renewBefore)) || Math.floor(durationMs * RENEWED_PART);
  return { durationMs, renewBeforeMs };
}

const DEFAULT_PLAINTEXT_MS = 60 * 60_000;

/** How long clients of both kinds are served while they go over to TLS, or back, in milliseconds. */
export function plaintextForMs({ tls }: Pick<EtcdClusterSpec, "tls">): number {
  const { plaintextFor } = (tls?.client as Partial<Tls["client"]> | undefined) ?? {};
  return (plaintextFor === undefined ? undefined : millisecondsOf(plaintextFor)) ?? DEFAULT_PLAINTEXT_MS;
}

/** How every member of a cluster is reached by clients: as they serve by now, else as its spec asks for. */
export function clientScheme({ spec, status }: Pick<EtcdCluster, "spec" | "status">): Scheme {
  return status?.tls?.client?.scheme ?? (providerOf(spec, "client") === "None" ? "http" : "https");
}

type Asked = Pick<EtcdCluster, "metadata" | "spec">;

/** A Secret that somebody else fills, by the field that names it. */
export interface NamedSecret {
  readonly field: string;
  readonly name: string;
}

/** The Secrets that people name on this side. */
export function namedSecrets({ tls }: Pick<EtcdClusterSpec, "tls">, side: Side): readonly NamedSecret[] {
  return Object.entries(tls?.[side]?.secret ?? {}).map(([key, name]) => ({
    field: `spec.tls.${side}.secret.${key}`,
    name,
  }));
}

/** The Secret with what members show to each other; `undefined` without TLS between them. */
export function peerSecretName({ metadata, spec }: Asked): string | undefined {
  return filledName(spec, "peer", peerCertificateName(metadata.name), spec.tls?.peer?.secret?.secretName);
}

/** The Secret with what members show to clients; `undefined` without TLS towards them. */
export function serverSecretName({ metadata, spec }: Asked): string | undefined {
  return filledName(spec, "client", serverCertificateName(metadata.name), spec.tls?.client?.secret?.serverSecretName);
}

/** The Secret that the spec has for the operator and its agents; `undefined` without TLS towards clients. */
export function askedOperatorSecretName({ metadata, spec }: Asked): string | undefined {
  const brought = spec.tls?.client?.secret?.operatorClientSecretName;
  return filledName(spec, "client", operatorCertificateName(metadata.name), brought);
}

/** The Secret with what an application shows, where somebody issues it; `undefined` where people bring what is theirs. */
export function applicationSecretName({ metadata, spec }: Asked): string | undefined {
  return filledName(spec, "client", applicationCertificateName(metadata.name), undefined);
}

/**
 * The Secret with what the operator and its agents show to members by now; `undefined` without TLS towards clients. Where what members show comes
 * from somewhere else than the spec says, it does so until they trust, and show, the other one.
 */
export function operatorSecretName({
  metadata,
  spec,
  status,
}: Asked & Pick<EtcdCluster, "status">): string | undefined {
  if (providerOf(spec, "client") === "None") return undefined;
  const client = status?.issuedBy?.client as Tls["client"] | undefined;
  const own = operatorCertificateName(metadata.name);
  const asked = askedOperatorSecretName({ metadata, spec });
  const recorded = (status?.certificates ?? []).map(({ name }) => name);
  // An earlier operator had cert-manager fill that, and nothing else is on record yet.
  const isEarlier = client === undefined && providerOf(spec, "client") === "CertManager";
  if (isEarlier && recorded.includes(own) && !recorded.includes(asked ?? "")) return own;
  const inUse = client === undefined ? spec : { ...spec, tls: { ...spec.tls, client } as Tls };
  return askedOperatorSecretName({ metadata, spec: inUse });
}

/** @param own the Secret of the operator's own @param brought the one that people name */
function filledName(spec: EtcdClusterSpec, side: Side, own: string, brought: string | undefined): string | undefined {
  switch (providerOf(spec, side)) {
    case "None":
      return undefined;
    case "Operator":
      return own;
    case "Secret":
      return brought;
    case "CertManager":
      return issuedSecretName(own, fingerprint(issuerOf(spec, side)).slice(0, ISSUER_DIGITS));
  }
}

const ISSUER_DIGITS = 8;

/** Which issuer of cert-manager signs, with what the schema fills in. */
export function issuerOf({ tls }: Pick<EtcdClusterSpec, "tls">, side: Side) {
  const { name = "", kind = "Issuer", group = "cert-manager.io" } = tls?.[side]?.certManager?.issuerRef ?? {};
  return { name, kind, group };
}

/** How the others reach a member of this template: what its next pod listens to. */
export function reachedBy({ tls }: Pick<EtcdPeerSpec, "tls">): Scheme {
  return tls?.peer === undefined ? "http" : (tls.peer.scheme ?? "https");
}

/** By which schemes a member of this template serves clients, all at the same port. */
export function servedBy({ tls }: Pick<EtcdPeerSpec, "tls">): readonly Scheme[] {
  if (tls?.client === undefined) return ["http"];
  return tls.client.plaintext === true ? ["http", "https"] : ["https"];
}
