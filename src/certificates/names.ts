import { clientServiceName, headlessServiceName, peerHost, peerName } from "#api/names.ts";
import { addressText } from "#certificates/facts.ts";

// Why one certificate for all members?
//   Scaling makes no certificate, a rotation is one write and one thing to verify, and a thousand clusters have thousands of Secrets less.
//   All members of a cluster hold the same data, and each may lead it: keys of their own would separate nothing.

/** By which names members call each other: those of all that will ever be, and of the pod by itself. */
export function memberNames(namespace: string, cluster: string): readonly string[] {
  const all = `*.${cluster}.${namespace}.svc`;
  return [all, `${all}.cluster.local`, "localhost", "127.0.0.1", "::1"];
}

/**
 * By which names clients call members, and members call themselves. The headless Service is among them since who finds members by DNS asks to be shown
 * the name under which it has looked (`etcdctl --discovery-srv`).
 */
export function wantedNames(namespace: string, cluster: string, extraNames: readonly string[] = []): readonly string[] {
  const services = [headlessServiceName(cluster), clientServiceName(cluster)];
  return unique([
    ...memberNames(namespace, cluster),
    ...services.flatMap((service) => serviceNames(namespace, service)),
    ...extraNames,
  ]);
}

/** What a Service is called inside the Kubernetes cluster. */
function serviceNames(namespace: string, service: string): readonly string[] {
  const full = `${service}.${namespace}.svc`;
  return [service, `${service}.${namespace}`, full, `${full}.cluster.local`];
}

/** The least that somebody else's certificate has to be good for: the members that are wanted, and for clients the client Service. */
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

/** Which of the names a certificate with these does not cover. A star stands for one label, and is the first one (RFC 6125). */
export function namesLacking(names: readonly string[], wanted: readonly string[]): readonly string[] {
  const has = new Set(names);
  return unique(wanted).filter((name) => !has.has(name) && !has.has(name.replace(/^[^.]+(?=\.)/, "*")));
}

/** No DNS name has a colon, nor only digits after its last dot. */
export function isAddress(name: string): boolean {
  return name.includes(":") || /^\d+(\.\d+){3}$/.test(name);
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => addressText(name.toLowerCase())))];
}
