import { describe, expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer, EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import { nextTemplate, templateOf, whyRefused } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { whyTlsSwitched } from "#cluster/switched-tls.ts";
import { cluster } from "#kit/cluster.ts";

const TRUST = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
const PEER = { peer: { secretName: "p", trust: TRUST } };
const CLIENT = { client: { secretName: "s", trust: TRUST, verifyClients: true } };

/** A cluster of which this is asked, and whose members have got that. */
function asking(tls: object | undefined, has: EtcdPeerSpec["tls"] = {}): ClusterSnapshot {
  const settled = cluster();
  const { tls: _, ...others } = settled.cluster.spec;
  const spec = tls === undefined ? others : { ...others, tls: clusterTlsSchema.parse(tls) };
  const identity = {
    ...settled.cluster.status!.identity!,
    ...(has.peer === undefined ? {} : { peerScheme: "https" as const }),
  };
  const known: EtcdCluster = { ...settled.cluster, spec, status: { ...settled.cluster.status, identity } };
  const peers = settled.peers.map(
    (peer): EtcdPeer => ({ ...peer, spec: Object.keys(has).length === 0 ? peer.spec : { ...peer.spec, tls: has } }),
  );
  return { ...settled, cluster: known, peers };
}

const NONE = { provider: "None" };
const lost = (side: string) =>
  `spec.tls is missing, and members have TLS (${side}); it must be there: as it was, or with the provider None for a cluster that is to go on without`;

/** The same, where one member alone has certificates for clients. */
function partly(tls: object | undefined): ClusterSnapshot {
  const bare = asking(tls);
  const [first, ...others] = bare.peers;
  return { ...bare, peers: [...others, { ...first!, spec: { ...first!.spec, tls: CLIENT } }] };
}

const cases: readonly { name: string; given: ClusterSnapshot; is: readonly string[] }[] = [
  { name: "nothing is asked for, and nothing there", given: asking(undefined), is: [] },
  { name: "None is asked for, and nothing there", given: asking({ peer: NONE, client: NONE }), is: [] },
  { name: "both are asked for, and there", given: asking({}, { ...PEER, ...CLIENT }), is: [] },
  { name: "one is asked for, and there", given: asking({ peer: NONE }, CLIENT), is: [] },
  { name: "the other one is asked for, and there", given: asking({ client: NONE }, PEER), is: [] },
  { name: "both are switched on", given: asking({}), is: [] },
  {
    name: "both are taken away",
    given: asking(undefined, { ...PEER, ...CLIENT }),
    is: [lost("peer"), lost("client")],
  },
  { name: "one is switched off", given: asking({ peer: NONE }, { ...PEER, ...CLIENT }), is: [] },
  { name: "one is switched on", given: asking({}, PEER), is: [] },
  { name: "one is taken away, and who has it is one of three", given: partly(undefined), is: [lost("client")] },
  { name: "it is there, and who has it is one of three", given: partly({ peer: NONE }), is: [] },
  { name: "nobody is there yet", given: { ...asking({}, PEER), peers: [] }, is: [] },
  {
    name: "it is not yet decided who the cluster is",
    given: cluster({ stage: "new", spec: { tls: clusterTlsSchema.parse({}) } }),
    is: [],
  },
];
describe("TLS that is switched:", () => {
  test.each(cases)("$name", ({ given, is }) => expect(whyTlsSwitched(given)).toEqual(is));

  test("members keep what they have, and it is told", () => {
    const given = asking(undefined, { ...PEER, ...CLIENT });
    expect(whyRefused(given)).toEqual([lost("peer"), lost("client")]);
    for (const peer of given.peers) expect(nextTemplate(given, peer)).toEqual(templateOf(peer));
  });
});
