import { userNameOf } from "#api/etcd-names.ts";
import { areClientsVerified, providerOf } from "#api/tls.ts";
import { hasPassword, isOperators, type UserSnapshot } from "#user/snapshot.ts";

/** Why the spec cannot be carried out, as far as the cluster's own spec says; undefined when it can. */
export function refusalOf(snapshot: Pick<UserSnapshot, "user" | "cluster" | "operatorName">): string | undefined {
  const { user, cluster } = snapshot;
  const name = userNameOf(user);
  if (isOperators(snapshot))
    return `spec.userName is ${name}; it must be another name: the operator itself is known to etcd by it`;
  if (cluster === undefined || hasPassword(snapshot)) return undefined;
  const because = whyNoCertificate(cluster.spec);
  return (
    because &&
    `spec.authentication is Certificate; it must be Password, because of EtcdCluster ${cluster.metadata.name}: ${because}`
  );
}

function whyNoCertificate(spec: NonNullable<UserSnapshot["cluster"]>["spec"]): string | undefined {
  const provider = providerOf(spec, "client");
  if (provider === "None") return "clients do not speak TLS there (tls.client.provider is None)";
  if (provider === "Secret") return "nobody here can sign there (tls.client.provider is Secret)";
  return areClientsVerified(spec)
    ? undefined
    : "no client is asked for a certificate there (tls.client.verifyClients is false)";
}
