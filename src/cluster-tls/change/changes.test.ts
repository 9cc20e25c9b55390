import { describe, expect, test } from "vitest";
import { absent, unknown } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { tlsStatus } from "#cluster-tls/check/tls-status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { boundTo } from "#kit/snapshots/bindings.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import {
  bundle,
  CORP,
  goingTo,
  listedBy,
  NEXT,
  OWN,
  RENEWED,
  running,
  secured,
  THEIRS,
  withMade,
  withSeen,
} from "#kit/snapshots/cluster-tls.ts";
import {
  BROUGHT,
  back,
  clientsTrusting,
  issuer,
  leaving,
  over,
  seenToo,
  shown,
  told,
  turnedClients,
  turnedTrusting,
} from "#kit/snapshots/provider-change.ts";
import { type Progress, switching, turnedTo, WITHOUT } from "#kit/snapshots/scheme-change.ts";
import { recordedChange, tlsChanges } from "./changes.ts";
import { pendingTls } from "./progress.ts";

const settled = secured();
const both = bundle(OWN, NEXT);

/** All certificates of the client side have this. */
function clients(snapshot: ClusterSnapshot, given: object): ClusterSnapshot {
  return withMade(snapshot, { server: given, operator: given, application: given });
}

const added = withMade(settled, { clientCA: { next: NEXT } });
const trusting = begin(added).apply(clients, { trust: both }).apply(running).snapshot;
const signing = withMade(trusting, { clientCA: { by: NEXT, trust: both } });
const replaced = begin(signing).apply(clients, { by: NEXT, trust: both }).apply(running).snapshot;
const dropping = begin(replaced)
  .apply(withMade, { clientCA: { by: NEXT } })
  .apply(clients, { by: NEXT }).snapshot;

const MINUTE_AGO = "2026-01-01T11:59:00Z";
const LONG_AGO = "2026-01-01T10:00:00Z";
const all = (has: Progress[number]): Progress => [has, has, has];
const on = (has: Progress, since?: string) => switching({}, has, since);
const off = (has: Progress, since?: string) => switching(WITHOUT, has, since);
const [FIRST, SECOND, LAST] = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const ALL = `${FIRST}, ${SECOND}, ${LAST}`;

function unlisted(snapshot: ClusterSnapshot): ClusterSnapshot {
  return { ...snapshot, members: unknown("no member answers") };
}

/** The kind, the direction and the round of the change on this side, and what it waits for. */
function changeIn(snapshot: ClusterSnapshot, side: "peer" | "client"): readonly (string | undefined)[] {
  const change = tlsChanges(snapshot)[side];
  if (change === undefined) return [];
  const { kind, from, to, round, waitsFor } = change;
  return [`${kind} ${from} to ${to}`, round, waitsFor];
}

const NO_CHANGE = [] as const;
const URLS = "Scheme http to https";
const BACK = "Scheme https to http";
const ROTATION = `CARotation ${OWN.id} to ${NEXT.id}`;
const BOTH_SERVED = "members are being updated to serve clients both with and without TLS";

const peers: [name: string, given: ClusterSnapshot, change: readonly string[]][] = [
  ["TLS is not used", off(all("nothing")), NO_CHANGE],
  ["TLS is complete", on(all("all")), NO_CHANGE],
  ["there are no members yet", { ...on(all("nothing")), peers: [] }, NO_CHANGE],
  ["there are neither members nor certificates", withSeen({ ...on(all("nothing")), peers: [] }, { peer: absent }), NO_CHANGE],
  ["no certificates exist yet", withSeen(on(all("nothing")), { peer: absent }), [URLS, "Prepare", "members run without TLS until their certificates exist"]],
  ["no member has a certificate", on(all("nothing")), [URLS, "AcceptBoth", `peer URLs change to https once ${ALL} can dial the others over TLS`]],
  ["only one member has an EtcdPeer, without a certificate", { ...on(all("nothing")), peers: on(all("nothing")).peers.slice(0, 1) }, [URLS, "AcceptBoth", `peer URLs change to https once ${ALL} can dial the others over TLS`]],
  ["a member has no certificate", on(["both", "both", "nothing"]), [URLS, "AcceptBoth", `peer URLs change to https once ${LAST} can dial the others over TLS`]],
  ["every member can dial over TLS", on(all("both")), [URLS, "UseNew", "members restart with https peer URLs"]],
  ["a member has an https peer URL", on(["reached", "both", "both"]), [URLS, "UseNew", `still to restart with an https peer URL: ${SECOND}, ${LAST}`]],
  ["etcd still lists the last member by http", listedBy(on(all("reached")), "http", [LAST]), [URLS, "UseNew", `still to restart with an https peer URL: ${LAST}`]],
  ["TLS is to be turned off", off(all("all")), [BACK, "UseNew", "members restart with http peer URLs"]],
  ["no member has an https peer URL any more", off(all("both")), [BACK, "DropOld", `still to restart without certificates: ${ALL}`]],
  ["etcd's member list is not known, and some member may have an https peer URL", unlisted(off(all("both"))), [BACK, "DropOld", "etcd's member list is not known"]],
  ["etcd's member list is not known, and an EtcdPeer has an https peer URL", unlisted(off(["both", "both", "reached"])), [BACK, "UseNew", "members restart with http peer URLs"]],
  ["etcd's member list is not known, and a pod has an https peer URL", unlisted({ ...off(all("both")), pods: off(["both", "both", "reached"]).pods }), [BACK, "UseNew", "members restart with http peer URLs"]],
  ["spec.tls is removed while members have http peer URLs", removed(on(all("both"))), NO_CHANGE],
  ["a member without a pod has a certificate in its EtcdPeer", { ...off(["nothing", "nothing", "both"]), pods: new Map() }, [BACK, "DropOld", `still to restart without certificates: ${LAST}`]],
  ["a pod still mounts its certificate", turnedTo(off(["nothing", "nothing", "both"]), LAST, "nothing"), [BACK, "DropOld", `still to restart without certificates: ${LAST}`]],
  ["no member trusts the new CA yet", leaving, ["Provider Operator to Secret their-peer", "AcceptBoth", `${ALL} do not trust the new CA yet`]],
  ["every member trusts both CAs", turnedTrusting, ["Provider Operator to Secret their-peer", "UseNew", "members still use Secret my-etcd-peer-tls"]],
]; // biome-ignore format: a table

test("the recorded scheme of peers is https when every member has an https peer URL, and stays without EtcdPeers", () => {
  const schemeOf = (given: ClusterSnapshot) => tlsStatus(given).tls?.peer?.scheme;
  expect(schemeOf(on(["reached", "both", "both"]))).toBe("http");
  expect(schemeOf(on(all("reached")))).toBe("https");
  const { cluster } = on(all("reached"));
  const status = { ...cluster.status, tls: { peer: { scheme: "http" as const } } };
  expect(schemeOf({ ...on(all("reached")), peers: [], cluster: { ...cluster, status } })).toBe("http");
  const [only] = on(all("reached")).peers;
  expect(schemeOf({ ...on(all("reached")), peers: [only!], cluster: { ...cluster, status } })).toBe("https");
});

test("nothing is recorded of a cluster without spec.tls that never had TLS", () => {
  const given = removed(off(all("nothing")));
  const { tls: _, ...status } = given.cluster.status!;
  expect(tlsStatus({ ...given, cluster: { ...given.cluster, status } })).toStrictEqual({});
});

test("the template lacks the requested certificates while members restart with them", () => {
  expect(pendingTls(turnedTrusting)).toContain("members restart with the requested certificates");
});

test("the template keeps peer certificates while etcd's member list is not known", () => {
  const kept = "tls.peer: members keep their certificates until every peer URL is http";
  expect(pendingTls(off(all("all")))).toContain(kept);
  expect(pendingTls(unlisted(off(all("both"))))).toContain(kept);
  expect(pendingTls(off(all("both")))).toBeUndefined();
  expect(pendingTls(on(["reached", "both", "both"]))).toBeUndefined();
});

describe("the change of TLS between members when", () => {
  test.each(peers)("%s", (_, given, change) => expect(changeIn(given, "peer")).toEqual(change));
});

/** An application has this binding. */
function bound(snapshot: ClusterSnapshot, given: object): ClusterSnapshot {
  return seenToo(snapshot, { bindings: [boundTo({ knownForMs: 0, madeAtMs: undefined, ...given })] });
}

/** spec.tls is removed. */
function removed(given: ClusterSnapshot): ClusterSnapshot {
  const { tls: _, ...spec } = given.cluster.spec;
  return { ...given, cluster: { ...given.cluster, spec } };
}

const forClients: [name: string, given: ClusterSnapshot, change: readonly string[]][] = [
  ["TLS is not used", off(all("nothing")), NO_CHANGE],
  ["TLS is complete", on(all("all")), NO_CHANGE],
  ["there are no members yet", { ...on(all("nothing")), peers: [] }, NO_CHANGE],
  ["spec.tls is removed while members serve both", removed(on(all("both"), MINUTE_AGO)), NO_CHANGE],
  ["no member serves https", on(all("nothing")), [URLS, "AcceptBoth", BOTH_SERVED]],
  ["a member does not serve https", on(["both", "both", "nothing"], MINUTE_AGO), [URLS, "AcceptBoth", BOTH_SERVED]],
  ["every EtcdPeer has both, and pods not yet", on(all("both")), [URLS, "AcceptBoth", BOTH_SERVED]],
  ["every member serves both", on(all("both"), MINUTE_AGO), [URLS, "UseNew", "clients without TLS are served until 2026-01-01T12:59:00Z (spec.tls.client.plaintextFor)"]],
  ["clients without TLS have one more millisecond", { ...on(all("both"), "2026-01-01T11:00:00Z"), takenAtMs: NOW - 1 }, [URLS, "UseNew", "clients without TLS are served until 2026-01-01T12:00:00Z (spec.tls.client.plaintextFor)"]],
  ["the time of clients is over", on(all("both"), LONG_AGO), [URLS, "DropOld", `still to restart without http for clients: ${ALL}`]],
  ["a member serves only https", on(["all", "both", "both"]), [URLS, "DropOld", `still to restart without http for clients: ${SECOND}, ${LAST}`]],
  ["TLS is to be turned off", off(all("all")), [BACK, "AcceptBoth", BOTH_SERVED]],
  ["every member serves both, and TLS is to be turned off", off(all("both"), MINUTE_AGO), [BACK, "UseNew", "clients with TLS are served until 2026-01-01T12:59:00Z (spec.tls.client.plaintextFor)"]],
  ["a pod still serves https", turnedTo(off(["nothing", "nothing", "both"]), LAST, "nothing"), [BACK, "DropOld", `still to restart without https for clients: ${LAST}`]],
  ["the new CA exists", added, [ROTATION, "AcceptBoth", `${ALL} do not trust the new CA yet`]],
  ["the new CA is missing in the bundle", withMade(settled, { clientCA: { next: NEXT, trust: bundle(OWN) } }), [ROTATION, "AcceptBoth", "Secret my-etcd-client-ca: its ca.crt lacks the next CA"]],
  ["applications have just got the new CA", withMade(trusting, { application: { trust: both, knownForMs: 149_999 } }), [ROTATION, "AcceptBoth", "Secret my-etcd-client has to list the new CA in ca.crt for 150 s"]],
  ["every member trusts the new CA", trusting, [ROTATION, "AcceptBoth", "the new CA signs next"]],
  ["a binding lacks the new CA", bound(trusting, { trustIds: [OWN.id] }), [ROTATION, "AcceptBoth", "Secret shop-binding of EtcdUser shop has to list the new CA in ca.crt for 150 s"]],
  ["the new CA comes first in the bundle", withMade(trusting, { clientCA: { by: NEXT, trust: bundle(NEXT, OWN) } }), [ROTATION, "UseNew", "Secret my-etcd-server-tls has to hold a certificate of the new CA for 150 s"]],
  ["the new CA signs", signing, [ROTATION, "UseNew", "Secret my-etcd-server-tls has to hold a certificate of the new CA for 150 s"]],
  ["pods are older than their certificates", clients(signing, { by: NEXT, trust: both }), [ROTATION, "UseNew", `${ALL} may still use a certificate of the old CA`]],
  ["every pod uses the new CA", replaced, [ROTATION, "UseNew", "the old CA is dropped next"]],
  ["a binding has a certificate of the old CA", bound(replaced, { trustIds: [OWN.id, NEXT.id], signerId: OWN.id }), [ROTATION, "UseNew", "Secret shop-binding of EtcdUser shop has to have a certificate of the current CA for 150 s"]],
  ["the CA's Secret drops the old CA", withMade(replaced, { clientCA: { by: NEXT } }), [`CARotation undefined to ${NEXT.id}`, "DropOld", "Secret my-etcd-server-tls has to list the new CA only"]],
  ["the last member has not dropped the old CA", running(dropping, [FIRST, SECOND]), [`CARotation undefined to ${NEXT.id}`, "DropOld", `still to restart without the old CA: ${LAST}`]],
  ["the old CA is dropped", dropping, [`CARotation undefined to ${NEXT.id}`, "DropOld", `still to restart without the old CA: ${ALL}`]],
  ["one member has dropped the old CA", running(dropping, [FIRST]), [`CARotation undefined to ${NEXT.id}`, "DropOld", `still to restart without the old CA: ${SECOND}, ${LAST}`]],
  ["the rotation is complete", running(dropping), NO_CHANGE],
  ["a user adds a CA", clients(secured({}, { client: BROUGHT }, { isOurs: false, by: THEIRS }), { isOurs: false, by: THEIRS, trust: bundle(THEIRS, NEXT) }), [`CARotation ${THEIRS.id} to ${NEXT.id}`, "AcceptBoth", `${ALL} do not trust the new CA yet`]],
  ["the last member does not trust a CA that a user adds", begin(secured({}, { client: BROUGHT }, { isOurs: false, by: THEIRS })).apply(clients, { isOurs: false, by: THEIRS, trust: bundle(THEIRS, NEXT) }).apply(running, [FIRST, SECOND]).snapshot, [`CARotation ${THEIRS.id} to ${NEXT.id}`, "AcceptBoth", `${LAST} does not trust the new CA yet`]],
  ["every member trusts a CA that a user has added", begin(secured({}, { client: BROUGHT }, { isOurs: false, by: THEIRS })).apply(clients, { isOurs: false, by: THEIRS, trust: bundle(THEIRS, NEXT) }).apply(running).snapshot, NO_CHANGE],
  ["a user replaces the CA at once", clients(secured({}, { client: BROUGHT }, { isOurs: false, by: THEIRS }), { isOurs: false, by: NEXT }), [`CARotation undefined to ${NEXT.id}`, "Prepare", `${ALL} would not trust the CA that signed the certificate in Secret their-server`]],
  ["a user renews the CA with the same key", clients(secured({}, { client: BROUGHT }, { isOurs: false, by: CORP }), { isOurs: false, by: RENEWED }), [`CARotation undefined to ${RENEWED.id}`, "AcceptBoth", `${ALL} do not trust the new CA yet`]],
  ["a Secret has no signer", withMade(dropping, { server: { by: NEXT, trust: bundle(OWN) } }), NO_CHANGE],
  ["an issuer is requested", goingTo(settled, { client: issuer }), ["Provider Operator to Issuer a", "Prepare", "Secret foo/my-etcd-server-tls-a3b319c8, the server certificate of members, is about to be requested"]],
  ["no member trusts the CA of the other source yet", turnedClients, ["Provider Operator to Secret their-server", "AcceptBoth", `${ALL} do not trust the new CA yet`]],
  ["every member trusts both sources", told, ["Provider Operator to Secret their-server", "UseNew", "members still use Secret my-etcd-server-tls"]],
  ["every member uses the other source", shown, ["Provider Operator to Secret their-server", "UseNew", "the operator is about to use Secret their-operator"]],
]; // biome-ignore format: a table

describe("the change of TLS for clients when", () => {
  test.each(forClients)("%s", (_, given, change) => expect(changeIn(given, "client")).toEqual(change));
});

describe("status.tls records", () => {
  /** The snapshot in which the status has this change for clients. */
  const recorded = (given: ClusterSnapshot, change: object): ClusterSnapshot => {
    const { cluster } = given;
    const before = { from: "a", to: "b", startTime: MINUTE_AGO, waitsFor: "", ...change } as NonNullable<Recorded>;
    const tls = { ...cluster.status?.tls, client: { ...cluster.status?.tls?.client, change: before } };
    return { ...given, cluster: { ...cluster, status: { ...cluster.status, tls } } };
  };
  type Recorded = ReturnType<typeof recordedChange>;
  const now = rfc3339(NOW);

  test("no change when nothing changes", () => {
    expect(recordedChange(recorded(settled, { kind: "Provider", round: "DropOld" }), "client")).toBeUndefined();
    expect(tlsStatus(settled).tls?.client).not.toHaveProperty("change");
  });

  test("a change with the time at which its round began", () => {
    const change = { kind: "CARotation", from: OWN.id, to: NEXT.id, round: "UseNew", startTime: now } as const;
    expect(tlsStatus(replaced).tls?.client?.change).toEqual({ ...change, waitsFor: "the old CA is dropped next" });
    expect(tlsStatus(replaced).tls?.peer).not.toHaveProperty("change");
  });

  test.each([
    [
      "the earlier time in the same round of the same change",
      { kind: "CARotation", to: NEXT.id, round: "UseNew" },
      MINUTE_AGO,
    ],
    ["the current time in the next round", { kind: "CARotation", to: NEXT.id, round: "AcceptBoth" }, now],
    ["the current time for another CA", { kind: "CARotation", to: THEIRS.id, round: "UseNew" }, now],
    ["the current time for another kind of change", { kind: "Provider", to: NEXT.id, round: "UseNew" }, now],
  ])("%s", (_, before, startTime) => {
    expect(recordedChange(recorded(replaced, before), "client")).toMatchObject({
      from: OWN.id,
      to: NEXT.id,
      startTime,
    });
  });

  test("what has changed until the last member has dropped the old CA", () => {
    const provider = { kind: "Provider", from: "Operator", to: "Secret their-server" };
    expect(recordedChange(recorded(over, { ...provider, round: "UseNew" }), "client")).toMatchObject({
      ...provider,
      round: "DropOld",
      startTime: now,
    });
    expect(recordedChange(recorded(over, { ...provider, round: "DropOld" }), "client")?.startTime).toBe(MINUTE_AGO);
    const unknown = recordedChange(recorded(over, { kind: "Scheme", round: "DropOld" }), "client");
    expect(unknown).toMatchObject({ kind: "CARotation", to: THEIRS.id, round: "DropOld" });
    expect(unknown).not.toHaveProperty("from");
    const scheme = recorded(over, { ...provider, kind: "Scheme", round: "DropOld" });
    for (const given of [over, scheme]) expect(recordedChange(given, "client")).toEqual(unknown);
  });

  const forward = { kind: "Provider", from: "Operator", to: "Secret their-server" };

  test("a CA that a user replaces right after a change of the provider as a change of its own", () => {
    const theirs = secured({}, { client: BROUGHT }, { isOurs: false, by: THEIRS });
    const next = clients(theirs, { isOurs: false, by: NEXT });
    const change = recordedChange(recorded(next, { ...forward, round: "DropOld" }), "client");
    expect(change).toMatchObject({ kind: "CARotation", to: NEXT.id, round: "Prepare" });
  });

  test("the way back of a change that is taken back in round UseNew", () => {
    const taken = recordedChange(recorded(back, { ...forward, round: "UseNew" }), "client");
    expect(taken).toMatchObject({ kind: "Provider", from: "Secret their-server", to: "Operator", startTime: now });
    // The status still records the previous source, which is requested again.
    const early = { ...back, cluster: { ...back.cluster, status: told.cluster.status! } };
    const unknown = recordedChange(recorded(early, { ...forward, round: "UseNew" }), "client");
    expect(unknown).toMatchObject({ kind: "Provider", to: "Operator", round: "UseNew", startTime: now });
    expect(unknown).not.toHaveProperty("from");
    const again = { kind: "Provider", to: "Operator", round: "UseNew" };
    expect(recordedChange(recorded(early, again), "client")?.startTime).toBe(MINUTE_AGO);
  });

  test("that members drop the CA of a change that is taken back in round AcceptBoth", () => {
    const taken = begin(clientsTrusting)
      .apply(goingTo, {})
      .apply(withMade, { server: {}, operator: {}, application: {} }).snapshot;
    const dropped = recordedChange(recorded(taken, { ...forward, round: "AcceptBoth" }), "client");
    expect(dropped).toMatchObject({ kind: "CARotation", to: OWN.id, round: "DropOld", startTime: now });
    expect(dropped).not.toHaveProperty("from");
    const another = recorded(taken, { kind: "CARotation", from: OWN.id, to: NEXT.id, round: "UseNew" });
    expect(recordedChange(another, "client")).toEqual(dropped);
    const same = recorded(taken, { kind: "CARotation", from: NEXT.id, to: OWN.id, round: "DropOld" });
    expect(recordedChange(same, "client")).toMatchObject({ from: NEXT.id, to: OWN.id, startTime: MINUTE_AGO });
  });
});
