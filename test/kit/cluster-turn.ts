import { serverSecretName } from "#api/tls.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { present } from "#base/observed.ts";
import { trustMap } from "#cluster/desired/certificates.ts";
import type { ClusterSnapshot, SeenCertificates } from "#cluster/snapshot.ts";
import { born } from "#kit/cluster.ts";
import { asking, certified, tlsOfAll } from "#kit/cluster-steps.ts";
import { bundle, goingTo, made, NEXT, OWN, running, THEIRS, withMade } from "#kit/cluster-tls.ts";
import type { ConfigMap } from "#kube/kinds.ts";

/** Members are to show what somebody else brings; nobody trusts that yet, or all do. */
export const leaving = withMade(
  goingTo(certified, { peer: { provider: "Secret", secret: { secretName: "their-peer" } } }),
  {
    peer: { by: THEIRS, isOurs: false },
  },
);

export const ofBoth = bundle(OWN, THEIRS);

export const shows = (secretName: string, trust: string) => ({ ...tlsOfAll, peer: { secretName, trust } });

export const turnedTrusting = running(leaving, undefined, shows("my-etcd-peer-tls", ofBoth));

export const lastTurns = withMade(running(turnedTrusting, ["my-etcd-2"], shows("their-peer", ofBoth)), {});

export const turnedClients = withMade(
  goingTo(certified, {
    client: {
      provider: "Secret",
      secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
    },
  }),
  { server: { by: THEIRS, isOurs: false }, operator: { by: THEIRS, isOurs: false } },
);

export const clientsOf = (secretName: string, trust: string) => ({
  ...tlsOfAll,
  client: { secretName, trust, verifyClients: true },
});

export const clientsTrusting = running(turnedClients, undefined, clientsOf("my-etcd-server-tls", ofBoth));

/** Clients need not show anything. */
export function notAsking(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { tls } = snapshot.cluster.spec;
  return asking(snapshot, { tls: { ...tls!, client: { ...tls!.client, verifyClients: false } } });
}

export const BROUGHT = {
  provider: "Secret",
  secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
};
export const issuer = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
export const theirs = { by: THEIRS, isOurs: false };

export function seenToo(snapshot: ClusterSnapshot, more: Partial<SeenCertificates>): ClusterSnapshot {
  return { ...snapshot, certificates: { ...snapshot.certificates, ...more } };
}

/** Clients that read the ConfigMap are told this, for so long. */
export function telling(snapshot: ClusterSnapshot, trust: string, trustMapForMs: number | undefined): ClusterSnapshot {
  const map = present(born<ConfigMap>(trustMap(snapshot, trust)));
  return seenToo(snapshot, { trustMap: map, ...(trustMapForMs === undefined ? {} : { trustMapForMs }) });
}

/** Applications have this by now. */
export function withHandout(snapshot: ClusterSnapshot, facts: Parameters<typeof made>[2]): ClusterSnapshot {
  return seenToo(snapshot, { handout: present(made(certified, "application", facts)) });
}

export const LONG = 150_000;
export const told = telling(clientsTrusting, ofBoth, LONG);

/** All members show what people have brought for clients, and trust both; the operator shows what it has issued. */
export const shown = running(told, undefined, clientsOf("their-server", ofBoth));

/** The same, and the operator shows what people have brought, too. */
export function handedOver(snapshot: ClusterSnapshot, client: object): ClusterSnapshot {
  const { cluster } = snapshot;
  const issuedBy = { ...cluster.status?.issuedBy, client } as NonNullable<EtcdClusterStatus["issuedBy"]>;
  return { ...snapshot, cluster: { ...cluster, status: { ...cluster.status, issuedBy } } };
}

export const over = handedOver(shown, BROUGHT);

/** Two authorities come with what people have brought; members trust all three. */
export const ofThree = bundle(OWN, THEIRS, NEXT);
export const ofTwo = running(
  withMade(turnedClients, {
    server: { ...theirs, trust: bundle(THEIRS, NEXT) },
    operator: { ...theirs, trust: bundle(THEIRS, NEXT) },
  }),
  undefined,
  clientsOf("my-etcd-server-tls", ofThree),
);

/** Members show what people have brought, and the operator is to issue again; members and clients trust both. */
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

/** Members and the operator show what cert-manager has issued. */
export const asked = withMade(goingTo(certified, { client: issuer }), { server: theirs, operator: theirs });
export const managed = running(
  handedOver(asked, issuer),
  undefined,
  clientsOf(serverSecretName(asked.cluster) ?? "", ofBoth),
);
