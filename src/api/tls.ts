import { millisecondsOf } from "#api/duration.ts";
import { operatorCertificateName, peerCertificateName, type Scheme, serverCertificateName } from "#api/names.ts";
import type { EtcdCluster, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";

// What the schema fills in is asked for here all the same: what comes from a conversion, or from an edit that is only to be explained, has
// not been filled in.

type Tls = NonNullable<EtcdClusterSpec["tls"]>;
export type Provider = Tls["peer"]["provider"];
export type Side = "peer" | "client";

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

/** How clients reach the members of a cluster. */
export function clientScheme({ spec }: Pick<EtcdCluster, "spec">): Scheme {
  return providerOf(spec, "client") === "None" ? "http" : "https";
}

/** The Secret with what members show to each other; `undefined` without TLS between them. */
export function peerSecretName({ metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">): string | undefined {
  const provider = providerOf(spec, "peer");
  if (provider === "None") return undefined;
  return provider === "Secret" ? spec.tls?.peer.secret?.secretName : peerCertificateName(metadata.name);
}

/** The Secret with what members show to clients; `undefined` without TLS towards them. */
export function serverSecretName({ metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">): string | undefined {
  const provider = providerOf(spec, "client");
  if (provider === "None") return undefined;
  return provider === "Secret" ? spec.tls?.client.secret?.serverSecretName : serverCertificateName(metadata.name);
}

/** The Secret with what the operator and its agents show to members; `undefined` without TLS towards clients. */
export function operatorSecretName({ metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">): string | undefined {
  const provider = providerOf(spec, "client");
  if (provider === "None") return undefined;
  return provider === "Secret"
    ? spec.tls?.client.secret?.operatorClientSecretName
    : operatorCertificateName(metadata.name);
}
