import { describe, expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer, EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { nextTemplate } from "#cluster/update/next-template.ts";
import { templateOf, whyRefused } from "#cluster/update/wanted-template.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { whyTlsRemoved } from "./removed-tls.ts";

const TRUST = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
const PEER = { peer: { secretName: "p", trust: TRUST } };
const CLIENT = { client: { secretName: "s", trust: TRUST, clientCertificates: "Required" as const } };

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
  { name: "reports nothing when no TLS is requested and members have none", given: asking(undefined), is: [] },
  {
    name: "reports nothing when provider None is requested and members have no TLS",
    given: asking({ peer: NONE, client: NONE }),
    is: [],
  },
  {
    name: "reports nothing when both sides are requested and members have both",
    given: asking({}, { ...PEER, ...CLIENT }),
    is: [],
  },
  {
    name: "reports nothing when the client side is requested and members have it",
    given: asking({ peer: NONE }, CLIENT),
    is: [],
  },
  {
    name: "reports nothing when the peer side is requested and members have it",
    given: asking({ client: NONE }, PEER),
    is: [],
  },
  { name: "reports nothing when both sides are turned on", given: asking({}), is: [] },
  {
    name: "reports both sides when spec.tls is removed",
    given: asking(undefined, { ...PEER, ...CLIENT }),
    is: [lost("peer"), lost("client")],
  },
  {
    name: "reports nothing when provider None turns one side off",
    given: asking({ peer: NONE }, { ...PEER, ...CLIENT }),
    is: [],
  },
  { name: "reports nothing when one side is turned on", given: asking({}, PEER), is: [] },
  {
    name: "reports the client side when spec.tls is removed and one of three members has client TLS",
    given: partly(undefined),
    is: [lost("client")],
  },
  {
    name: "reports nothing when the client side is requested and one of three members has it",
    given: partly({ peer: NONE }),
    is: [],
  },
  { name: "reports nothing before there are members", given: { ...asking({}, PEER), peers: [] }, is: [] },
  {
    name: "reports nothing before the identity of the cluster is recorded",
    given: cluster({ stage: "new", spec: { tls: clusterTlsSchema.parse({}) } }),
    is: [],
  },
];
describe("whyTlsRemoved", () => {
  test.each(cases)("$name", ({ given, is }) => expect(whyTlsRemoved(given)).toEqual(is));

  test("members keep their TLS when spec.tls is removed, and the spec is refused", () => {
    const given = asking(undefined, { ...PEER, ...CLIENT });
    expect(whyRefused(given)).toEqual([lost("peer"), lost("client")]);
    for (const peer of given.peers) expect(nextTemplate(given, peer)).toEqual(templateOf(peer));
  });
});
