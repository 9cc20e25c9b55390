import { clientServiceName, peerHost, peerName } from "#api/names.ts";
import { addressText } from "#certificates/facts.ts";

// Why one certificate for all members?
//   Scaling makes no certificate, a rotation is one write and one thing to verify, and a thousand clusters have thousands of Secrets less.
//   All members of a cluster hold the same data, and each may lead it: keys of their own would separate nothing.

/** By which names members are called, and clients call: those of all that will ever be, of the Services, and of the pod by itself. */
export function wantedNames(namespace: string, cluster: string, extraNames: readonly string[] = []): readonly string[] {
  const service = clientServiceName(cluster);
  return unique([
    `*.${cluster}.${namespace}.svc`,
    `*.${cluster}.${namespace}.svc.cluster.local`,
    service,
    `${service}.${namespace}`,
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
    "localhost",
    "127.0.0.1",
    "::1",
    ...extraNames,
  ]);
}

/** The least that somebody else's certificate has to be good for: the members that are wanted, and the client Service. */
export function neededNames(namespace: string, cluster: string, replicas: number): readonly string[] {
  const members = Array.from({ length: replicas }, (_, ordinal) =>
    peerHost(namespace, cluster, peerName(cluster, ordinal)),
  );
  return [...members, `${clientServiceName(cluster)}.${namespace}.svc`, "localhost"];
}

/** Which of the names a certificate with these does not cover. A star stands for one label, and is the first one (RFC 6125). */
export function namesLacking(names: readonly string[], wanted: readonly string[]): readonly string[] {
  const has = new Set(names);
  return unique(wanted).filter((name) => !has.has(name) && !has.has(name.replace(/^[^.]+(?=\.)/, "*")));
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => addressText(name.toLowerCase())))];
}
