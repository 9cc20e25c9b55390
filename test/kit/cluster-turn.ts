import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { asking, certified, tlsOfAll } from "#kit/cluster-steps.ts";
import { bundle, goingTo, OWN, running, THEIRS as SOMEBODY, withMade } from "#kit/cluster-tls.ts";

/** Members are to show what somebody else brings; nobody trusts that yet, or all do. */
export const leaving = withMade(
  goingTo(certified, { peer: { provider: "Secret", secret: { secretName: "their-peer" } } }),
  {
    peer: { by: SOMEBODY, isOurs: false },
  },
);

export const ofBoth = bundle(OWN, SOMEBODY);

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
  { server: { by: SOMEBODY, isOurs: false }, operator: { by: SOMEBODY, isOurs: false } },
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
