import { userNameOf } from "#api/etcd-names.ts";
import { areClientsVerified, providerOf } from "#api/tls.ts";
import { hasPassword, isOperatorsOwn, type UserSnapshot } from "#user/snapshot.ts";

/** Why the spec contradicts the EtcdCluster's spec or the operator's own user; undefined when it does not. */
export function refusalOf(snapshot: Pick<UserSnapshot, "user" | "cluster" | "operatorName">): string | undefined {
  const { user, cluster } = snapshot;
  const name = userNameOf(user);
  if (isOperatorsOwn(snapshot))
    return `spec.userName is ${name}; it must be another name: the operator itself logs in to etcd with it`;
  if (cluster === undefined || hasPassword(snapshot)) return undefined;
  // The operator has yet to write spec.tls of a new cluster.
  if (cluster.spec.tls === undefined && cluster.status?.identity === undefined) return undefined;
  const because = whyNoCertificate(cluster.spec);
  return (
    because &&
    `spec.authentication.type is Certificate; it must be Password, because of EtcdCluster ${cluster.metadata.name}: ${because}`
  );
}

function whyNoCertificate(spec: NonNullable<UserSnapshot["cluster"]>["spec"]): string | undefined {
  const provider = providerOf(spec, "client");
  if (provider === "None") return "clients do not use TLS (tls.client.provider is None)";
  if (provider === "Secret")
    return "the operator has no CA to sign certificates for clients (tls.client.provider is Secret)";
  return areClientsVerified(spec)
    ? undefined
    : "members request no client certificates (tls.client.clientCertificates is NotRequired)";
}
