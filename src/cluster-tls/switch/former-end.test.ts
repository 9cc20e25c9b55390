import { describe, expect, test } from "vitest";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot, SeenBinding } from "#cluster/snapshot.ts";
import { boundTo } from "#kit/snapshots/bindings.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { certified } from "#kit/snapshots/cluster-steps.ts";
import { BRIEF, bundle, CORP, made, OWN, RENEWED, THEIRS, withMade } from "#kit/snapshots/cluster-tls.ts";
import {
  back,
  clientsTrusting,
  LONG,
  ofBoth,
  ofThree,
  ofTwo,
  seenToo,
  telling,
  told,
  withHandout,
} from "#kit/snapshots/cluster-turn.ts";
import { courses } from "./course.ts";
import { isAtItsEnd } from "./former-end.ts";

const at = (text: string) => Date.parse(text);
/** The certificate of members, which expires in the far future. */
const by = (authority = OWN, change: object = {}) => ({
  ...made(certified, "server", { by: authority }),
  notAfterMs: at("2100-01-01T00:00:00Z"),
  ...change,
});

// The CA of ten years expires at 2035-09-23T12:00:00Z, that of 90 days at 2026-03-02T12:00:00Z.
test.each([
  ["half a year of a CA of ten years remains", by(), "2035-03-25T00:00:00Z", true],
  ["slightly more than half a year of a CA of ten years remains", by(), "2035-03-24T23:59:59.999Z", false],
  ["the CA has expired", by(), "2036-01-01T00:00:00Z", true],
  ["four and a half of 90 days remain", by(BRIEF), "2026-02-26T00:00:00Z", true],
  ["slightly more than four and a half of 90 days remain", by(BRIEF), "2026-02-25T23:59:59.999Z", false],
  ["only the signing CA counts", by(OWN, { trust: bundle(BRIEF, OWN) }), "2026-02-26T00:00:00Z", false],
  [
    "the last certificate of the CA to expire counts",
    by(CORP, { trust: bundle(CORP, RENEWED) }),
    "2026-03-02T12:00:00Z",
    false,
  ],
  [
    "also when the certificate names a newer one",
    by(RENEWED, { trust: bundle(CORP, RENEWED) }),
    "2026-03-02T12:00:00Z",
    false,
  ],
  ["the CA has a single certificate", by(CORP), "2026-03-02T12:00:00Z", true],
  ["certificates of other CAs do not count", by(CORP, { trust: bundle(CORP, OWN) }), "2026-03-02T12:00:00Z", true],
  ["the signing CA is unknown", by(OWN, { signerId: undefined }), "2036-01-01T00:00:00Z", false],
  ["the certificate itself has expired", by(OWN, { notAfterMs: NOW }), "2026-01-01T12:00:00Z", true],
  ["the certificate itself is about to expire", by(OWN, { notAfterMs: NOW + 1 }), "2026-01-01T12:00:00Z", false],
] as const)("members' certificates are about to become useless: %s", (_, facts, now, expected) => {
  expect(isAtItsEnd(facts, at(now))).toBe(expected);
});

/** The certificate of members has expired, or expires after this time. */
function ending(snapshot: ClusterSnapshot, inMs = 0): ClusterSnapshot {
  const { former } = snapshot.certificates ?? {};
  const server = former?.server;
  if (server?.is !== "present") throw new Error("no change of provider is in progress");
  return seenToo(snapshot, { former: { ...former, server: present({ ...server.value, notAfterMs: NOW + inMs }) } });
}

/** One member uses the Secret of an abandoned change. */
function planningToo(secretName: string, snapshot: ClusterSnapshot): ClusterSnapshot {
  const [first, ...others] = snapshot.peers;
  if (first?.spec.tls?.client === undefined) throw new Error("clients connect without TLS");
  const tls = { ...first.spec.tls, client: { ...first.spec.tls.client, secretName } };
  return { ...snapshot, peers: [{ ...first, spec: { ...first.spec, tls } }, ...others] };
}

const bound = (change: Partial<SeenBinding>) => ({
  bindings: [boundTo({ knownForMs: 0, madeAtMs: undefined, ...change })],
});
const lacksTrust = withHandout(told, { knownForMs: LONG });

describe("clients that cannot get the new CA:", () => {
  test.each([
    ["a binding is waited for", ending(seenToo(told, bound({})), 1), "tell"],
    ["a binding is not waited for when the old CA ends", ending(seenToo(told, bound({}))), "show"],
    ["a binding is not waited for when one of two old CAs ends", planningToo("one-between", ending(seenToo(told, bound({})))), "show"],
    ["a binding with unknown content is not waited for when the old CA ends", ending(seenToo(told, bound({ trustIds: undefined }))), "show"],
    ["a binding that was just updated has its time", ending(seenToo(told, bound({ trustIds: [OWN.id, THEIRS.id] }))), "tell"],
    ["no bundle has the new CA, which is waited for", ending(telling(clientsTrusting, bundle(OWN), 0), 1), "tell"],
    ["no bundle has the new CA when the old one ends", ending(telling(clientsTrusting, bundle(OWN), 0)), "show"],
    ["all bundles were just updated when the old CA ends", ending(telling(clientsTrusting, ofBoth, LONG - 1)), "tell"],
    ["all bundles were updated at an unknown time", ending(telling(clientsTrusting, ofBoth, undefined)), "tell"],
    ["the client Secret lacks the new CA", ending(lacksTrust, 1), "tell"],
    ["the client Secret lacks the new CA when the old one ends", ending(lacksTrust), "show"],
    ["the client Secret has some of the new CAs when the old one ends", ending(withHandout(telling(ofTwo, ofThree, LONG), { trust: ofBoth })), "show"],
    ["the client Secret was just updated when the old CA ends", ending(withHandout(told, { trust: ofBoth, knownForMs: LONG - 1 })), "tell"],
    ["a change is reverted when the CA ends", ending(withMade(back, { application: { knownForMs: LONG, trust: bundle(THEIRS) } })), "show"],
  ])("%s", (_, given, expected) => {
    expect(courses(given).client.at).toBe(expected);
  }); // biome-ignore format: a table
});
