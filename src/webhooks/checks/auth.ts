import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

// Why again, when a rule of the schema says the same?
//   It is not asked of what is written in v1alpha1, nor what it means that spec.tls is left out, nor what etcd does by now.

const NEED =
  "it needs spec.tls.client with provider Operator, CertManager or Secret, and verifyClients true: by its certificate the operator logs in";

/** What keeps the operator from logging in where etcd asks for users. @param before what was there; undefined for a new cluster */
export function authRefusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  const { spec } = cluster;
  if (doClientsShowCertificates(spec)) return [];
  // Of a new cluster that says nothing of TLS others may decide.
  const isOpen = spec.tls === undefined && before?.status?.identity === undefined;
  if (isAuthWanted(spec) === true && !isOpen && !(before && wasSo(before)))
    return [{ field: "spec.auth.enabled", message: `it is true; ${NEED}` }];
  const isOn = before?.status?.auth?.enabled === true && doClientsShowCertificates(before.spec);
  if (!isOn) return [];
  const message =
    "clients would show no certificates, and etcd asks for users; set spec.auth.enabled to false first, and wait until status.auth.enabled is false: by its certificate the operator logs in";
  return [{ field: "spec.tls.client", message }];
}

/** What was stored already may be stored again. */
function wasSo({ spec }: EtcdCluster): boolean {
  return isAuthWanted(spec) === true && !doClientsShowCertificates(spec);
}
