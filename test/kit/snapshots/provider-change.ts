import { serverSecretName } from "#api/tls.ts";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot, SeenCertificates } from "#cluster/snapshot.ts";
import { trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import type { ConfigMap } from "#kube/kinds.ts";
import { born } from "./cluster.ts";
import { asking, certified, tlsOfAll } from "./cluster-steps.ts";
import { bundle, goingTo, made, NEXT, OWN, running, THEIRS, withMade } from "./cluster-tls.ts";
import { issuedBy } from "./tls-status.ts";

/** Members change to a Secret that people provide. At first no member trusts its CA; then all members do. */
export const leaving = withMade(goingTo(certified, { peer: { provider: "Secret", secret: { name: "their-peer" } } }), {
  peer: { by: THEIRS, isOurs: false },
});

export const ofBoth = bundle(OWN, THEIRS);

export const shows = (secretName: string, trust: string) => ({ ...tlsOfAll, peer: { secretName, trust } });

export const turnedTrusting = running(leaving, undefined, shows("my-etcd-peer-tls", ofBoth));

export const lastTurns = withMade(running(turnedTrusting, ["my-etcd-2"], shows("their-peer", ofBoth)), {});

export const turnedClients = withMade(
  goingTo(certified, {
    client: {
      provider: "Secret",
      secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
    },
  }),
  { server: { by: THEIRS, isOurs: false }, operator: { by: THEIRS, isOurs: false } },
);

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
export const ofTwo = running(
  withMade(turnedClients, {
    server: { ...theirs, trust: bundle(THEIRS, NEXT) },
    operator: { ...theirs, trust: bundle(THEIRS, NEXT) },
  }),
  undefined,
  clientsOf("my-etcd-server-tls", ofThree),
);

/**
 * Members present the people's certificate, and the spec asks for the operator's again. Members and clients trust both
 * CAs.
 */
export const back = telling(
  running(
    withMade(goingTo(running(over, undefined, clientsOf("their-server", bundle(THEIRS))), {}), {
      clientCA: {},
      server: {},
      operator: {},
    }),
    undefined,
    clientsOf("their-server", ofBoth),
  ),
  ofBoth,
  LONG,
);

/** Members and the operator present certificates of cert-manager. */
export const asked = withMade(goingTo(certified, { client: issuer }), { server: theirs, operator: theirs });
export const managed = running(
  handedOver(asked, issuer),
  undefined,
  clientsOf(serverSecretName(asked.cluster) ?? "", ofBoth),
);
