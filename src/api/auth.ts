import { areClientsVerified, providerOf } from "#api/tls.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";

type Spec = Pick<EtcdClusterSpec, "tls" | "auth">;

/** Whether etcd's users are to be asked for; `undefined`: nobody says, so it stays as it is. */
export function isAuthWanted({ auth }: Spec): boolean | undefined {
  return auth === undefined ? undefined : ((auth as Partial<typeof auth>).enabled ?? false);
}

/** Whether clients show certificates, by which the operator could log in. */
export function doClientsShowCertificates(spec: Spec): boolean {
  return providerOf(spec, "client") !== "None" && areClientsVerified(spec);
}
