import { serverSecretName } from "#api/tls.ts";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot, SeenCertificates } from "#cluster/snapshot.ts";
import { trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import type { ConfigMap } from "#kube/kinds.ts";
import { begin } from "./begin.ts";
import { born } from "./cluster.ts";
import { asking, certified, tlsOfAll } from "./cluster-steps.ts";
import { bundle, goingTo, made, NEXT, OWN, running, THEIRS, withMade } from "./cluster-tls.ts";
import { issuedBy } from "./tls-status.ts";

/** Members change to a Secret that people provide. At first no member trusts its CA; then all members do. */
export const leaving = begin(certified)
  .apply(goingTo, { peer: { provider: "Secret", secret: { name: "their-peer" } } })
  .apply(withMade, {
    peer: { by: THEIRS, isOurs: false },
  }).snapshot;

export const ofBoth = bundle(OWN, THEIRS);

export const shows = (secretName: string, trust: string) => ({ ...tlsOfAll, peer: { secretName, trust } });

export const turnedTrusting = running(leaving, undefined, shows("my-etcd-peer-tls", ofBoth));

export const lastTurns = begin(turnedTrusting)
  .apply(running, ["my-etcd-2"], shows("their-peer", ofBoth))
  .apply(withMade, {}).snapshot;

export const turnedClients = begin(certified)
  .apply(goingTo, {
    client: {
      provider: "Secret",
      secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
    },
  })
  .apply(withMade, { server: { by: THEIRS, isOurs: false }, operator: { by: THEIRS, isOurs: false } }).snapshot;

export const clientsOf = (secretName: string, trust: string) => ({
  ...tlsOfAll,
  client: { secretName, trust, clientCertificates: "Required" as const },
});

export const clientsTrusting = running(turnedClients, undefined, clientsOf("my-etcd-server-tls", ofBoth));

/** Client certificates are not required. */
export function notAsking(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { tls } = snapshot.cluster.spec;
  return asking(snapshot, { tls: { ...tls!, client: { ...tls!.client, clientCertificates: "NotRequired" } } });
}

export const BROUGHT = {
  provider: "Secret",
  secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
};
export const issuer = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
export const theirs = { by: THEIRS, isOurs: false };

export function seenToo(snapshot: ClusterSnapshot, more: Partial<SeenCertificates>): ClusterSnapshot {
  return { ...snapshot, certificates: { ...snapshot.certificates, ...more } };
}

/** The ConfigMap has had this CA bundle for so long. */
export function telling(snapshot: ClusterSnapshot, trust: string, trustMapForMs: number | undefined): ClusterSnapshot {
  const map = present(born<ConfigMap>(trustMap(snapshot, trust)));
  return seenToo(snapshot, { trustMap: map, ...(trustMapForMs === undefined ? {} : { trustMapForMs }) });
}

/** The Secret for applications has these facts. */
export function withHandout(snapshot: ClusterSnapshot, facts: Parameters<typeof made>[2]): ClusterSnapshot {
  return seenToo(snapshot, { clientSecret: present(made(certified, "application", facts)) });
}

export const LONG = 150_000;
export const told = telling(clientsTrusting, ofBoth, LONG);

/**
 * All members present the people's server certificate, and trust both CAs. The operator presents the one it has issued.
 */
export const shown = running(told, undefined, clientsOf("their-server", ofBoth));

/** The operator, too, presents the people's certificate. */
export function handedOver(snapshot: ClusterSnapshot, client: object): ClusterSnapshot {
  const { cluster } = snapshot;
  const status = issuedBy(cluster.status, { peer: cluster.status?.tls?.peer?.issuedBy, client });
  return { ...snapshot, cluster: { ...cluster, status } };
}

export const over = handedOver(shown, BROUGHT);

/** The people's certificates come with two CAs; members trust all three. */
export const ofThree = bundle(OWN, THEIRS, NEXT);
export const ofTwo = begin(turnedClients)
  .apply(withMade, {
    server: { ...theirs, trust: bundle(THEIRS, NEXT) },
    operator: { ...theirs, trust: bundle(THEIRS, NEXT) },
  })
  .apply(running, undefined, clientsOf("my-etcd-server-tls", ofThree)).snapshot;

/**
 * Members present the people's certificate, and the spec asks for the operator's again. Members and clients trust both
 * CAs.
 */
export const back = begin(over)
  .apply(running, undefined, clientsOf("their-server", bundle(THEIRS)))
  .apply(goingTo, {})
  .apply(withMade, {
    clientCA: {},
    server: {},
    operator: {},
  })
  .apply(running, undefined, clientsOf("their-server", ofBoth))
  .apply(telling, ofBoth, LONG).snapshot;

/** Members and the operator present certificates of cert-manager. */
export const asked = begin(certified)
  .apply(goingTo, { client: issuer })
  .apply(withMade, { server: theirs, operator: theirs }).snapshot;
export const managed = begin(asked)
  .apply(handedOver, issuer)
  .apply(running, undefined, clientsOf(serverSecretName(asked.cluster) ?? "", ofBoth)).snapshot;
