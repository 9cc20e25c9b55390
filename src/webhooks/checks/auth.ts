import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

// Why is this checked again, when a schema rule does the same?
//   The schema rule does not cover objects written in v1alpha1, the default of a missing spec.tls, or the present state
//   of etcd.

const NEED =
  "it needs spec.tls.client with provider Operator, CertManager or Secret, and clientCertificates Required, because the operator logs in with its certificate";

/**
 * Refuses a spec with which the operator could not log in while auth is enabled. @param before the stored object;
 * undefined for a new cluster
 */
export function authRefusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  const { spec } = cluster;
  if (doClientsShowCertificates(spec)) return [];
  // A mutating webhook may still set spec.tls of a new cluster.
  const isOpen = spec.tls === undefined && before?.status?.identity === undefined;
  if (isAuthWanted(spec) === true && !isOpen && !(before && wasStoredSo(before)))
    return [{ field: "spec.auth.enabled", message: `it is true; ${NEED}` }];
  const isOn = before?.status?.auth?.enabled === true && doClientsShowCertificates(before.spec);
  if (!isOn) return [];
  const message =
    "etcd would not verify client certificates, and the operator logs in with one while auth is enabled; set spec.auth.enabled to false first, and wait until status.auth.enabled is false";
  return [{ field: "spec.tls.client", message }];
}

/** Whether the stored object already had this problem; it may then be stored again. */
function wasStoredSo({ spec }: EtcdCluster): boolean {
  return isAuthWanted(spec) === true && !doClientsShowCertificates(spec);
}
