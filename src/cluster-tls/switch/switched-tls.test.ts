import { describe, expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer, EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { nextTemplate, templateOf, whyRefused } from "#cluster/update/rolling.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { whyTlsSwitched } from "./switched-tls.ts";

const TRUST = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
const PEER = { peer: { secretName: "p", trust: TRUST } };
const CLIENT = { client: { secretName: "s", trust: TRUST, verifyClients: true } };

/** A cluster with this spec.tls and members with that TLS. */
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
  `spec.tls is missing, but members use TLS (${side}); set it as it was, or set provider None to turn TLS off`;

/** The cluster in which one member alone has a server certificate. */
function partly(tls: object | undefined): ClusterSnapshot {
  const bare = asking(tls);
  const [first, ...others] = bare.peers;
  return { ...bare, peers: [...others, { ...first!, spec: { ...first!.spec, tls: CLIENT } }] };
}

const cases: readonly { name: string; given: ClusterSnapshot; is: readonly string[] }[] = [
  { name: "no TLS is requested, and none exists", given: asking(undefined), is: [] },
  { name: "provider None is requested, and no TLS exists", given: asking({ peer: NONE, client: NONE }), is: [] },
  { name: "both sides are requested, and exist", given: asking({}, { ...PEER, ...CLIENT }), is: [] },
  { name: "one side is requested, and exists", given: asking({ peer: NONE }, CLIENT), is: [] },
  { name: "the other side is requested, and exists", given: asking({ client: NONE }, PEER), is: [] },
  { name: "both sides are turned on", given: asking({}), is: [] },
  {
    name: "spec.tls is removed",
    given: asking(undefined, { ...PEER, ...CLIENT }),
    is: [lost("peer"), lost("client")],
  },
  { name: "one side is turned off", given: asking({ peer: NONE }, { ...PEER, ...CLIENT }), is: [] },
  { name: "one side is turned on", given: asking({}, PEER), is: [] },
  { name: "one side is removed, and one of three members has it", given: partly(undefined), is: [lost("client")] },
  { name: "one side is requested, and one of three members has it", given: partly({ peer: NONE }), is: [] },
  { name: "there are no members yet", given: { ...asking({}, PEER), peers: [] }, is: [] },
  {
    name: "the identity of the cluster is not recorded yet",
    given: cluster({ stage: "new", spec: { tls: clusterTlsSchema.parse({}) } }),
    is: [],
  },
];
describe("TLS that is switched:", () => {
  test.each(cases)("$name", ({ given, is }) => expect(whyTlsSwitched(given)).toEqual(is));

  test("members keep their TLS, and the switch is reported", () => {
    const given = asking(undefined, { ...PEER, ...CLIENT });
    expect(whyRefused(given)).toEqual([lost("peer"), lost("client")]);
    for (const peer of given.peers) expect(nextTemplate(given, peer)).toEqual(templateOf(peer));
  });
});
