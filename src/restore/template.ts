import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { SPEC_LIMIT } from "#api/size-limit.ts";
import { hasTls } from "#api/tls.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { whyNotFlags } from "#etcd/flags.ts";
import { sizeOf } from "#kube/object-size.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { Lack } from "#restore/source.ts";

// Why is the cluster's spec validated before anything is read?
//   The spec of an EtcdRestore cannot be changed, and a refused spec never becomes a cluster. Without this check claims
//   would be created and filled before the user learns of a misspelt field.

/** Why no cluster can be created from `spec.clusterTemplate`, naming each field; `undefined` when it can. */
export function lackOfTemplate({ restore }: RestoreSnapshot): Lack | undefined {
  const { clusterName, spec } = restore.spec.clusterTemplate;
  const why = [
    ...oversize(spec),
    ...withoutCertificates(spec),
    ...whyNotNetworkPolicy(spec.networkPolicy).map(({ field, message }) => `${field}: ${message}`),
    ...whyNotFlags(spec.etcd?.extraArgs ?? {}, spec.version).map((flag) => `spec.etcd.extraArgs: ${flag}`),
    ...whyNotTemplate(spec.podTemplate, clusterName, hasTls(spec)),
  ];
  if (why.length === 0) return undefined;
  const message = why.map((sentence) => `spec.clusterTemplate.${sentence}`).join("; ");
  return { reason: "SpecRefused", message, isFinal: true };
}

/** Why the operator could not log in. Repeats the schema's rule, which does not cover objects written in v1alpha1. */
function withoutCertificates(spec: Pick<EtcdClusterSpec, "auth" | "tls">): readonly string[] {
  // The operator sets TLS for a new cluster without spec.tls.
  if (isAuthWanted(spec) !== true || spec.tls === undefined || doClientsShowCertificates(spec)) return [];
  return [
    "spec.auth.enabled is true, which needs spec.tls.client with provider Operator, CertManager or Secret, and clientCertificates Required, because the operator logs in with its certificate",
  ];
}

/** Why the spec is too large: the operator would read only the name of such an EtcdCluster. */
function oversize(spec: object): readonly string[] {
  const { characters, values } = sizeOf(spec);
  if (characters <= SPEC_LIMIT.characters && values <= SPEC_LIMIT.values) return [];
  return [
    `spec has ${characters} characters and ${values} values; it may have at most ${SPEC_LIMIT.characters} and ${SPEC_LIMIT.values}`,
  ];
}
