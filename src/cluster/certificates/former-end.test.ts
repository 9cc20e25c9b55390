import { describe, expect, test } from "vitest";
import { present } from "#base/observed.ts";
import { courses } from "#cluster/certificates/course.ts";
import { isAtItsEnd } from "#cluster/certificates/former-end.ts";
import type { ClusterSnapshot, SeenBinding } from "#cluster/snapshot.ts";
import { boundTo } from "#kit/bindings.ts";
import { NOW } from "#kit/cluster.ts";
import { certified } from "#kit/cluster-steps.ts";
import { BRIEF, bundle, CORP, made, OWN, RENEWED, THEIRS, withMade } from "#kit/cluster-tls.ts";
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
} from "#kit/cluster-turn.ts";

const at = (text: string) => Date.parse(text);
/** What members show, which ends when nobody lives any more. */
const by = (authority = OWN, change: object = {}) => ({
  ...made(certified, "server", { by: authority }),
  notAfterMs: at("2100-01-01T00:00:00Z"),
  ...change,
});

// The authority of ten years ends at 2035-09-23T12:00:00Z, that of 90 days at 2026-03-02T12:00:00Z.
test.each([
  ["of ten years half a year is left", by(), "2035-03-25T00:00:00Z", true],
  ["of ten years half a year and a moment", by(), "2035-03-24T23:59:59.999Z", false],
  ["it has ended", by(), "2036-01-01T00:00:00Z", true],
  ["of 90 days four and a half are left", by(BRIEF), "2026-02-26T00:00:00Z", true],
  ["of 90 days four and a half and a moment", by(BRIEF), "2026-02-25T23:59:59.999Z", false],
  ["the one that has signed counts", by(OWN, { trust: bundle(BRIEF, OWN) }), "2026-02-26T00:00:00Z", false],
  [
    "of several certificates of the authority the last to end counts",
    by(CORP, { trust: bundle(CORP, RENEWED) }),
    "2026-03-02T12:00:00Z",
    false,
  ],
  ["whichever is named", by(RENEWED, { trust: bundle(CORP, RENEWED) }), "2026-03-02T12:00:00Z", false],
  ["the only one", by(CORP), "2026-03-02T12:00:00Z", true],
  ["not those of others", by(CORP, { trust: bundle(CORP, OWN) }), "2026-03-02T12:00:00Z", true],
  ["nobody knows who has signed", by(OWN, { signerId: undefined }), "2036-01-01T00:00:00Z", false],
  ["what is shown ends itself", by(OWN, { notAfterMs: NOW }), "2026-01-01T12:00:00Z", true],
  ["what is shown ends in a moment", by(OWN, { notAfterMs: NOW + 1 }), "2026-01-01T12:00:00Z", false],
] as const)("what members show is about to be worth nothing: %s", (_, facts, now, expected) => {
  expect(isAtItsEnd(facts, at(now))).toBe(expected);
});

/** What members show has ended, or ends in a moment. */
function ending(snapshot: ClusterSnapshot, inMs = 0): ClusterSnapshot {
  const { former } = snapshot.certificates ?? {};
  const server = former?.server;
  if (server?.is !== "present") throw new Error("members show something else than they are to show");
  return seenToo(snapshot, { former: { ...former, server: present({ ...server.value, notAfterMs: NOW + inMs }) } });
}

/** One member is to show what is in another Secret, which was asked for in between. */
function planningToo(secretName: string, snapshot: ClusterSnapshot): ClusterSnapshot {
  const [first, ...others] = snapshot.peers;
  if (first?.spec.tls?.client === undefined) throw new Error("members show nothing to clients");
  const tls = { ...first.spec.tls, client: { ...first.spec.tls.client, secretName } };
  return { ...snapshot, peers: [{ ...first, spec: { ...first.spec, tls } }, ...others] };
}

const bound = (change: Partial<SeenBinding>) => ({
  bindings: [boundTo({ knownForMs: 0, madeAtMs: undefined, ...change })],
});
const lacksTrust = withHandout(told, { knownForMs: LONG });

describe("clients that cannot be told whom to trust besides:", () => {
  test.each([
    ["an application is waited for", ending(seenToo(told, bound({})), 1), "tell"],
    ["at the end it is waited for no more", ending(seenToo(told, bound({}))), "show"],
    ["when the end of one of two has come it is waited for no more", planningToo("one-between", ending(seenToo(told, bound({})))), "show"],
    ["nor is one of whom nobody knows", ending(seenToo(told, bound({ trustIds: undefined }))), "show"],
    ["one that has just been told has its time", ending(seenToo(told, bound({ trustIds: [OWN.id, THEIRS.id] }))), "tell"],
    ["nobody is told, and it is waited", ending(telling(clientsTrusting, bundle(OWN), 0), 1), "tell"],
    ["nobody is told, at the end", ending(telling(clientsTrusting, bundle(OWN), 0)), "show"],
    ["all have just been told, at the end", ending(telling(clientsTrusting, ofBoth, LONG - 1)), "tell"],
    ["all have been told, nobody knows when", ending(telling(clientsTrusting, ofBoth, undefined)), "tell"],
    ["what applications have does not tell", ending(lacksTrust, 1), "tell"],
    ["what applications have does not tell, at the end", ending(lacksTrust), "show"],
    ["it tells some of them, at the end", ending(withHandout(telling(ofTwo, ofThree, LONG), { trust: ofBoth })), "show"],
    ["it has just told, at the end", ending(withHandout(told, { trust: ofBoth, knownForMs: LONG - 1 })), "tell"],
    ["on the way back, at the end", ending(withMade(back, { application: { knownForMs: LONG, trust: bundle(THEIRS) } })), "show"],
  ])("%s", (_, given, expected) => {
    expect(courses(given).client.at).toBe(expected);
  }); // biome-ignore format: a table
});
