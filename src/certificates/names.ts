import { clientServiceName, headlessServiceName, peerHost, peerName } from "#api/names.ts";
import { addressText } from "#certificates/facts.ts";

// Why one certificate for all members?
//   Scaling issues no certificate, a rotation is one write and one thing to verify, and a thousand clusters need
//   thousands of Secrets less. All members hold the same data, and each may become leader: separate keys would protect
//   nothing.

/** Names in the peer certificate: all present and future members, and the local host. */
export function memberNames(namespace: string, cluster: string): readonly string[] {
  const all = `*.${cluster}.${namespace}.svc`;
  return [all, `${all}.cluster.local`, "localhost", "127.0.0.1", "::1"];
}

/**
 * Names in the server certificate: those that clients use, and the local host. The headless Service is included because
 * a client that finds members by DNS verifies the name that it looked up (`etcdctl --discovery-srv`).
 */
export function wantedNames(namespace: string, cluster: string, extraNames: readonly string[] = []): readonly string[] {
  const services = [headlessServiceName(cluster), clientServiceName(cluster)];
  return unique([
    ...memberNames(namespace, cluster),
    ...services.flatMap((service) => serviceNames(namespace, service)),
    ...extraNames,
  ]);
}

/** DNS names of a Service inside the Kubernetes cluster. */
function serviceNames(namespace: string, service: string): readonly string[] {
  const full = `${service}.${namespace}.svc`;
  return [service, `${service}.${namespace}`, full, `${full}.cluster.local`];
}

/**
 * Names that a user's certificate must cover: the requested members, and the client Service for a server certificate.
 */
export function neededNames(
  namespace: string,
  cluster: string,
  replicas: number,
  shown: "peer" | "server",
): readonly string[] {
  const ordinals = Array.from({ length: replicas }, (_, ordinal) => ordinal);
  const members = ordinals.map((ordinal) => peerHost(namespace, cluster, peerName(cluster, ordinal)));
  return shown === "peer" ? members : [...members, `${clientServiceName(cluster)}.${namespace}.svc`];
}

/** Names that a certificate does not cover. A wildcard replaces one label, the first (RFC 6125). */
export function namesLacking(names: readonly string[], wanted: readonly string[]): readonly string[] {
  const has = new Set(names);
  return unique(wanted).filter((name) => !has.has(name) && !has.has(name.replace(/^[^.]+(?=\.)/, "*")));
}

/** A DNS name has neither a colon nor only digits after its last dot. */
export function isAddress(name: string): boolean {
  return name.includes(":") || /^\d+(\.\d+){3}$/.test(name);
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => addressText(name.toLowerCase())))];
}
