import { areClientsVerified, providerOf } from "#api/tls.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";

type Spec = Pick<EtcdClusterSpec, "tls" | "auth">;

/** Whether auth is to be enabled; `undefined`: not specified, so it stays as it is. */
export function isAuthWanted({ auth }: Spec): boolean | undefined {
  return auth?.enabled;
}

/** Whether clients present certificates, which the operator needs to log in. */
export function doClientsShowCertificates(spec: Spec): boolean {
  return providerOf(spec, "client") !== "None" && areClientsVerified(spec);
}
