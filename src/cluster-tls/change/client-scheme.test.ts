import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { NEWER, NOT_READY, withPod, withTurn } from "#kit/snapshots/cluster-rolling.ts";
import { asking, certified } from "#kit/snapshots/cluster-steps.ts";
import { bundle, OWN } from "#kit/snapshots/cluster-tls.ts";
import { HAS, switching, turnedTo, WITHOUT } from "#kit/snapshots/scheme-change.ts";
import { clientSide, remainingMs, servedStatus } from "./client-scheme.ts";

// How members change the scheme that they serve to clients.

const HOUR_AGO = "2026-01-01T11:00:00Z";
const LESS_AGO = "2026-01-01T11:00:01Z";
const issued = { secretName: "my-etcd-server-tls", trust: bundle(OWN) };
const both = { ...issued, plaintext: true };

function withoutMembers(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, peers: [], pods: new Map() };
}

const gets: { name: string; given: ClusterSnapshot; is: object | undefined }[] = [
  { name: "new members serve https only when TLS is requested", given: withoutMembers(certified), is: issued },
  { name: "new members serve http only when TLS is not requested", given: withoutMembers(cluster()), is: undefined },
  {
    name: "members with http begin to serve http and https",
    given: switching({}, ["nothing", "nothing", "nothing"]),
    is: both,
  },
  {
    name: "members keep serving both schemes until all members do",
    given: switching({}, ["both", "both", "nothing"]),
    is: both,
  },
  {
    name: "members serve both schemes although some serve only https already",
    given: switching({}, ["all", "all", "nothing"]),
    is: both,
  },
  {
    name: "members keep serving both schemes until spec.tls.client.plaintextFor is over",
    given: switching({}, ["both", "both", "both"], LESS_AGO),
    is: both,
  },
  {
    name: "plaintextFor does not begin before it is recorded that all members serve both schemes",
    given: switching({}, ["both", "both", "both"]),
    is: both,
  },
  {
    name: "members serve https only after plaintextFor",
    given: switching({}, ["both", "both", "both"], HOUR_AGO),
    is: issued,
  },
  {
    name: "members serve https only once one member has stopped serving http",
    given: switching({}, ["all", "both", "both"]),
    is: issued,
  },
  { name: "no member returns to http", given: certified, is: issued },
  {
    name: "all members serve both schemes first when TLS is turned off",
    given: switching(WITHOUT, ["all", "all", "all"]),
    is: both,
  },
  {
    name: "members serve both schemes until plaintextFor is over when TLS is turned off",
    given: switching(WITHOUT, ["both", "both", "both"], LESS_AGO),
    is: both,
  },
  {
    name: "members serve http only after plaintextFor when TLS is turned off",
    given: switching(WITHOUT, ["both", "both", "both"], HOUR_AGO),
    is: undefined,
  },
  {
    name: "members serve http only once one member has stopped serving https",
    given: switching(WITHOUT, ["both", "both", "nothing"]),
    is: undefined,
  },
  {
    name: "members with http keep it when TLS is not requested",
    given: switching(WITHOUT, ["nothing", "nothing", "nothing"]),
    is: undefined,
  },
];

describe("the client side of the member template:", () => {
  test.each(gets)("$name", ({ given, is }) => {
    expect(clientSide(given, issued)).toEqual(is);
  });

  test("is empty before certificates are issued", () => {
    expect(clientSide(switching({}, ["nothing", "nothing", "nothing"]), undefined)).toBeUndefined();
  });
});

test("plaintextFor is counted from the recorded time at which every member serves both schemes", () => {
  const left = (given: ClusterSnapshot) => remainingMs(given);
  expect(left(switching({}, ["both", "both", "both"], LESS_AGO))).toBe(1_000);
  expect(left(switching({}, ["both", "both", "both"], "2026-01-01T10:00:00Z"))).toBe(0);
  expect(left(switching({}, ["both", "both", "both"]))).toBeUndefined();
  for (const one of ["nothing", "all"] as const)
    expect(left(switching({}, ["both", "both", one], LESS_AGO))).toBeUndefined();
});

/** The snapshot with this status. */
function recording(snapshot: ClusterSnapshot, tls: object | undefined): ClusterSnapshot {
  const { tls: _, ...status } = snapshot.cluster.status!;
  const known = tls === undefined ? status : { ...status, tls };
  return { ...snapshot, cluster: { ...snapshot.cluster, status: known as typeof status } };
}

const allBoth = switching({}, ["both", "both", "both"]);
const plain = switching({}, ["nothing", "nothing", "nothing"]);
const withoutSpec = asking(cluster(), { tls: undefined as never });
const OVER_TLS = { client: { scheme: "https" } };

/** The first member has no pod, and its EtcdPeer has this template. */
function without(snapshot: ClusterSnapshot, has: keyof typeof HAS): ClusterSnapshot {
  const turned = turnedTo(snapshot, "my-etcd-0", has);
  return { ...turned, pods: new Map([...turned.pods].slice(1)) };
}

const records: { name: string; given: ClusterSnapshot; client: object | undefined }[] = [
  { name: "nothing when TLS was never requested", given: withoutSpec, client: undefined },
  {
    name: "the previous record while there are no members",
    given: begin(certified).apply(recording, OVER_TLS).apply(withoutMembers).snapshot,
    client: { scheme: "https" },
  },
  {
    name: "nothing before there are members",
    given: begin(certified).apply(recording, undefined).apply(withoutMembers).snapshot,
    client: undefined,
  },
  { name: "the scheme of all members", given: recording(certified, undefined), client: { scheme: "https" } },
  {
    name: "the scheme of a single member",
    given: recording({ ...certified, peers: certified.peers.slice(0, 1) }, undefined),
    client: { scheme: "https" },
  },
  {
    name: "http after spec.tls was removed and members have no TLS",
    given: recording(withoutSpec, OVER_TLS),
    client: { scheme: "http" },
  },
  {
    name: "http while one member serves only http",
    given: switching({}, ["all", "all", "nothing"]),
    client: { scheme: "http" },
  },
  {
    name: "the scheme of the template for a member without a pod",
    given: without(certified, "all"),
    client: { scheme: "https" },
  },
  {
    name: "http when the template of a member without a pod has it",
    given: without(certified, "nothing"),
    client: { scheme: "http" },
  },
  {
    name: "the current time when every member serves both schemes",
    given: allBoth,
    client: { scheme: "https", bothServedSince: "2026-01-01T12:00:00Z" },
  },
  {
    name: "the recorded time in later passes",
    given: switching({}, ["both", "both", "both"], HOUR_AGO),
    client: { scheme: "https", bothServedSince: HOUR_AGO },
  },
  {
    name: "the recorded time while a pod is not Ready",
    given: withPod(switching({}, ["both", "both", "both"], HOUR_AGO), "my-etcd-1", { status: {} }),
    client: { scheme: "https", bothServedSince: HOUR_AGO },
  },
  {
    name: "no time before every member is Ready with both schemes",
    given: withPod(allBoth, "my-etcd-1", NOT_READY),
    client: { scheme: "https" },
  },
  {
    name: "no time before a member runs its current template",
    given: withTurn(allBoth, "my-etcd-1", { ...NEWER, tls: HAS.both }),
    client: { scheme: "https" },
  },
  { name: "no time before a member runs", given: without(allBoth, "both"), client: { scheme: "https" } },
  {
    name: "no time once a member serves one scheme",
    given: switching({}, ["both", "both", "all"], HOUR_AGO),
    client: { scheme: "https" },
  },
  {
    name: "no time while a member still serves one scheme",
    given: switching({}, ["both", "nothing", "both"], HOUR_AGO),
    client: { scheme: "http" },
  },
  { name: "http and no time when no member has TLS", given: plain, client: { scheme: "http" } },
];

describe("the status records", () => {
  test.each(records)("$name", ({ given, client }) => {
    expect(servedStatus(given)).toStrictEqual(client ?? {});
  });
});
