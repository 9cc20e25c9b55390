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

// The functions below handle missing fields that the schema has defaults for. Converted objects and dry-run edits have
// no defaults filled in.

type Tls = NonNullable<EtcdClusterSpec["tls"]>;
export type Provider = Tls["peer"]["provider"];
export type Side = "peer" | "client";

const VERSION = { minVersion: "TLS1.2" } as const;
/** TLS configuration of a new cluster without spec.tls. */
export const DEFAULT_TLS: Tls = {
  peer: { provider: "Operator" },
  client: { provider: "Operator", clientCertificates: "Required" },
  ...VERSION,
};
/** No TLS: the value for v1alpha1 objects, which have no `spec.tls`. */
export const NO_TLS: Tls = {
  peer: { provider: "None" },
  client: { provider: "None", clientCertificates: "Required" },
  ...VERSION,
};

/** Whether there is TLS for peers or for clients. */
export function hasTls(spec: Pick<EtcdClusterSpec, "tls">): boolean {
  return providerOf(spec, "peer") !== "None" || providerOf(spec, "client") !== "None";
}

/** Provider of members' certificates on this side. */
export function providerOf({ tls }: Pick<EtcdClusterSpec, "tls">, side: Side): Provider {
  if (tls === undefined) return "None";
  return (tls[side] as Partial<Tls[Side]> | undefined)?.provider ?? "Operator";
}

/** Peer scheme of a cluster that is created with this spec. */
export function peerSchemeOf(spec: Pick<EtcdClusterSpec, "tls">): Scheme {
  return providerOf(spec, "peer") === "None" ? "http" : "https";
}

/** Whether clients must present a certificate, when members serve TLS. */
export function areClientsVerified(spec: Pick<EtcdClusterSpec, "tls">): boolean {
  return clientCertificatesOf(spec) === "Required";
}

/** What the spec requires of clients, when members serve TLS. */
export function clientCertificatesOf({ tls }: Pick<EtcdClusterSpec, "tls">): Tls["client"]["clientCertificates"] {
  return (tls?.client as Partial<Tls["client"]> | undefined)?.clientCertificates ?? "Required";
}

const DEFAULT_DURATION_MS = 2_160 * 60 * 60_000;
/** Fraction of a certificate's lifetime that remains when it is renewed. */
const RENEWED_PART = 1 / 3;

/** Lifetime of a certificate on this side, and how long before its expiry it is renewed, both in milliseconds. */
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

/** How long members serve both http and https while clients switch to or from TLS, in milliseconds. */
export function plaintextForMs({ tls }: Pick<EtcdClusterSpec, "tls">): number {
  const { plaintextFor } = (tls?.client as Partial<Tls["client"]> | undefined) ?? {};
  return (plaintextFor === undefined ? undefined : millisecondsOf(plaintextFor)) ?? DEFAULT_PLAINTEXT_MS;
}

/** Scheme at which clients reach every member now. Before it is recorded in the status, the scheme of the spec. */
export function clientScheme({ spec, status }: Pick<EtcdCluster, "spec" | "status">): Scheme {
  return status?.tls?.client?.scheme ?? (providerOf(spec, "client") === "None" ? "http" : "https");
}

type Asked = Pick<EtcdCluster, "metadata" | "spec">;

/** Secret that the operator does not fill, with the field that names it. */
export interface NamedSecret {
  readonly field: string;
  readonly name: string;
}

/** Secrets that the spec names on this side. */
export function namedSecrets({ tls }: Pick<EtcdClusterSpec, "tls">, side: Side): readonly NamedSecret[] {
  if (side === "peer") return namedIn("spec.tls.peer.secret", tls?.peer?.secret);
  const { server, operator } = tls?.client?.secret ?? {};
  return [...namedIn("spec.tls.client.secret.server", server), ...namedIn("spec.tls.client.secret.operator", operator)];
}

function namedIn(field: string, secret: { readonly name: string } | undefined): readonly NamedSecret[] {
  return secret === undefined ? [] : [{ field: `${field}.name`, name: secret.name }];
}

/** Secret with members' peer certificate; `undefined` without peer TLS. */
export function peerSecretName({ metadata, spec }: Asked): string | undefined {
  return filledName(spec, "peer", peerCertificateName(metadata.name), spec.tls?.peer?.secret?.name);
}

/** Secret with members' server certificate; `undefined` without client TLS. */
export function serverSecretName({ metadata, spec }: Asked): string | undefined {
  return filledName(spec, "client", serverCertificateName(metadata.name), spec.tls?.client?.secret?.server.name);
}

/**
 * Secret with the client certificate of the operator and its agents, according to the spec; `undefined` without client
 * TLS.
 */
export function askedOperatorSecretName({ metadata, spec }: Asked): string | undefined {
  const brought = spec.tls?.client?.secret?.operator.name;
  return filledName(spec, "client", operatorCertificateName(metadata.name), brought);
}

/** Secret with an application's client certificate; `undefined` with provider Secret or None. */
export function applicationSecretName({ metadata, spec }: Asked): string | undefined {
  return filledName(spec, "client", applicationCertificateName(metadata.name), undefined);
}

/**
 * Secret with the client certificate that the operator and its agents use now; `undefined` without client TLS. During a
 * provider change it is that of the previous provider, until members trust and present the new one.
 */
export function operatorSecretName({
  metadata,
  spec,
  status,
}: Asked & Pick<EtcdCluster, "status">): string | undefined {
  if (providerOf(spec, "client") === "None") return undefined;
  const client = status?.tls?.client?.issuedBy as Tls["client"] | undefined;
  const inUse = client === undefined ? spec : { ...spec, tls: { ...spec.tls, client } as Tls };
  return askedOperatorSecretName({ metadata, spec: inUse });
}

/** @param own name for provider Operator @param brought name from the spec, for provider Secret */
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

/** cert-manager issuer of this side, with the schema's defaults. */
export function issuerOf({ tls }: Pick<EtcdClusterSpec, "tls">, side: Side) {
  const { name = "", kind = "Issuer", group = "cert-manager.io" } = tls?.[side]?.certManager?.issuerRef ?? {};
  return { name, kind, group };
}

/** Scheme of peer URLs in this template, which the next pod serves. */
export function reachedBy({ tls }: Pick<EtcdPeerSpec, "tls">): Scheme {
  return tls?.peer === undefined ? "http" : (tls.peer.scheme ?? "https");
}

/** Schemes that a member with this template serves to clients, all on the same port. */
export function servedBy({ tls }: Pick<EtcdPeerSpec, "tls">): readonly Scheme[] {
  if (tls?.client === undefined) return ["http"];
  return tls.client.plaintext === true ? ["http", "https"] : ["https"];
}
