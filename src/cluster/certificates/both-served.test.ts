import { describe, expect, test } from "vitest";
import { clientSide, leftMs, servedStatus } from "#cluster/certificates/both-served.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/cluster.ts";
import { NEWER, withPod, withTurn } from "#kit/cluster-rolling.ts";
import { asking, certified } from "#kit/cluster-steps.ts";
import { HAS, switching, turnedTo, WITHOUT } from "#kit/cluster-switch.ts";
import { bundle, OWN } from "#kit/cluster-tls.ts";

// How members come to serve clients over TLS, and back.

const HOUR_AGO = "2026-01-01T11:00:00Z";
const LESS_AGO = "2026-01-01T11:00:01Z";
const issued = { secretName: "my-etcd-server-tls", trust: bundle(OWN) };
const both = { ...issued, plaintext: true };

function ofNobody(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, peers: [], pods: new Map() };
}

const gets: { name: string; given: ClusterSnapshot; is: object | undefined }[] = [
  { name: "the first ones serve over TLS alone where it is asked for", given: ofNobody(certified), is: issued },
  { name: "and without alone where it is not", given: ofNobody(cluster()), is: undefined },
  { name: "who serves without comes to serve both", given: switching({}, ["nothing", "nothing", "nothing"]), is: both },
  { name: "as long as one has yet to", given: switching({}, ["both", "both", "nothing"]), is: both },
  {
    name: "also where somebody serves over TLS alone already",
    given: switching({}, ["all", "all", "nothing"]),
    is: both,
  },
  { name: "and until clients had their time", given: switching({}, ["both", "both", "both"], LESS_AGO), is: both },
  { name: "which nobody counts before all do", given: switching({}, ["both", "both", "both"]), is: both },
  { name: "then over TLS alone", given: switching({}, ["both", "both", "both"], HOUR_AGO), is: issued },
  { name: "who has begun goes on, whatever the time says", given: switching({}, ["all", "both", "both"]), is: issued },
  { name: "nobody comes back from that", given: certified, is: issued },
  { name: "on the way back all serve both", given: switching(WITHOUT, ["all", "all", "all"]), is: both },
  { name: "until that time is over, too", given: switching(WITHOUT, ["both", "both", "both"], LESS_AGO), is: both },
  {
    name: "then they serve without alone",
    given: switching(WITHOUT, ["both", "both", "both"], HOUR_AGO),
    is: undefined,
  },
  { name: "and go on with it", given: switching(WITHOUT, ["both", "both", "nothing"]), is: undefined },
  {
    name: "who serves without goes on so",
    given: switching(WITHOUT, ["nothing", "nothing", "nothing"]),
    is: undefined,
  },
];

describe("what members get towards clients:", () => {
  test.each(gets)("$name", ({ given, is }) => {
    expect(clientSide(given, issued)).toEqual(is);
  });

  test("nothing before it is issued", () => {
    expect(clientSide(switching({}, ["nothing", "nothing", "nothing"]), undefined)).toBeUndefined();
  });
});

test("both are served for as long as spec.tls.client.plaintextFor says, counted once every member does", () => {
  const left = (given: ClusterSnapshot) => leftMs(given);
  expect(left(switching({}, ["both", "both", "both"], LESS_AGO))).toBe(1_000);
  expect(left(switching({}, ["both", "both", "both"], "2026-01-01T10:00:00Z"))).toBe(0);
  expect(left(switching({}, ["both", "both", "both"]))).toBeUndefined();
  for (const one of ["nothing", "all"] as const)
    expect(left(switching({}, ["both", "both", one], LESS_AGO))).toBeUndefined();
});

/** The snapshot of which this stands on record. */
function recording(snapshot: ClusterSnapshot, tls: object | undefined): ClusterSnapshot {
  const { tls: _, ...status } = snapshot.cluster.status!;
  const known = tls === undefined ? status : { ...status, tls };
  return { ...snapshot, cluster: { ...snapshot.cluster, status: known as typeof status } };
}

const allBoth = switching({}, ["both", "both", "both"]);
const plain = switching({}, ["nothing", "nothing", "nothing"]);
const withoutSpec = asking(cluster(), { tls: undefined as never });
const OVER_TLS = { client: { scheme: "https" } };

/** The first member has no pod, and its next one is made from this. */
function without(snapshot: ClusterSnapshot, has: keyof typeof HAS): ClusterSnapshot {
  const turned = turnedTo(snapshot, "my-etcd-0", has);
  return { ...turned, pods: new Map([...turned.pods].slice(1)) };
}

const records: { name: string; given: ClusterSnapshot; client: object | undefined }[] = [
  { name: "nothing where nobody has ever asked for TLS", given: withoutSpec, client: undefined },
  {
    name: "what was there before, as long as nobody is",
    given: ofNobody(recording(certified, OVER_TLS)),
    client: { scheme: "https" },
  },
  { name: "nothing before there is anybody", given: ofNobody(recording(certified, undefined)), client: undefined },
  { name: "how all are served", given: recording(certified, undefined), client: { scheme: "https" } },
  {
    name: "how the only one is",
    given: recording({ ...certified, peers: certified.peers.slice(0, 1) }, undefined),
    client: { scheme: "https" },
  },
  {
    name: "where it is asked for no more, too",
    given: recording(withoutSpec, OVER_TLS),
    client: { scheme: "http" },
  },
  {
    name: "what every member serves, and not what some of them do",
    given: switching({}, ["all", "all", "nothing"]),
    client: { scheme: "http" },
  },
  {
    name: "by which the next pod will be served, where there is none",
    given: without(certified, "all"),
    client: { scheme: "https" },
  },
  { name: "and by which it will not", given: without(certified, "nothing"), client: { scheme: "http" } },
  {
    name: "since when every member serves both",
    given: allBoth,
    client: { scheme: "https", bothServedSince: "2026-01-01T12:00:00Z" },
  },
  {
    name: "the same time later on",
    given: switching({}, ["both", "both", "both"], HOUR_AGO),
    client: { scheme: "https", bothServedSince: HOUR_AGO },
  },
  {
    name: "also while one of them is not ready",
    given: withPod(switching({}, ["both", "both", "both"], HOUR_AGO), "my-etcd-1", { status: {} }),
    client: { scheme: "https", bothServedSince: HOUR_AGO },
  },
  {
    name: "no time before one of them is ready for it",
    given: withPod(allBoth, "my-etcd-1", { status: { conditions: [{ type: "Ready", status: "False" }] } }),
    client: { scheme: "https" },
  },
  {
    name: "nor before it runs what its EtcdPeer says",
    given: withTurn(allBoth, "my-etcd-1", { ...NEWER, tls: HAS.both }),
    client: { scheme: "https" },
  },
  { name: "nor before it runs at all", given: without(allBoth, "both"), client: { scheme: "https" } },
  {
    name: "no time once one of them serves one kind",
    given: switching({}, ["both", "both", "all"], HOUR_AGO),
    client: { scheme: "https" },
  },
  {
    name: "nor while one of them does yet",
    given: switching({}, ["both", "nothing", "both"], HOUR_AGO),
    client: { scheme: "http" },
  },
  { name: "nor where nobody serves both", given: plain, client: { scheme: "http" } },
];

describe("by what clients are served there stands", () => {
  test.each(records)("$name", ({ given, client }) => {
    expect(servedStatus(given)).toStrictEqual(client === undefined ? {} : { tls: { client } });
  });
});
