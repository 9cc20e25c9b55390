import { describe, expect, test } from "vitest";
import { present } from "#base/observed.ts";
import type { ClusterSnapshot, SeenBinding } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
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
} from "#kit/snapshots/provider-change.ts";
import { stageOf } from "#kit/snapshots/tls-stage.ts";
import { isCaEnding } from "./ca-end.ts";
import { providerChanges } from "./provider-change.ts";

const at = (text: string) => Date.parse(text);
/** The certificate of members, which expires in the far future. */
const by = (authority = OWN, change: object = {}) => ({
  ...made(certified, "server", { by: authority }),
  notAfterMs: at("2100-01-01T00:00:00Z"),
  ...change,
});

// The CA of ten years expires at 2035-09-23T12:00:00Z, that of 90 days at 2026-03-02T12:00:00Z.
test.each([
  ["true when half a year of a CA of ten years remains", by(), "2035-03-25T00:00:00Z", true],
  ["false when more than half a year of a CA of ten years remains", by(), "2035-03-24T23:59:59.999Z", false],
  ["true when the CA has expired", by(), "2036-01-01T00:00:00Z", true],
  ["true when 4.5 of 90 days of the CA remain", by(BRIEF), "2026-02-26T00:00:00Z", true],
  ["false when more than 4.5 of 90 days of the CA remain", by(BRIEF), "2026-02-25T23:59:59.999Z", false],
  [
    "false when another CA in the bundle is at its end",
    by(OWN, { trust: bundle(BRIEF, OWN) }),
    "2026-02-26T00:00:00Z",
    false,
  ],
  [
    "false when a renewed certificate of the CA lasts longer",
    by(CORP, { trust: bundle(CORP, RENEWED) }),
    "2026-03-02T12:00:00Z",
    false,
  ],
  [
    "false when the signer is the renewed certificate of the CA",
    by(RENEWED, { trust: bundle(CORP, RENEWED) }),
    "2026-03-02T12:00:00Z",
    false,
  ],
  ["true when the only certificate of the CA is at its end", by(CORP), "2026-03-02T12:00:00Z", true],
  [
    "true when only another CA in the bundle lasts longer",
    by(CORP, { trust: bundle(CORP, OWN) }),
    "2026-03-02T12:00:00Z",
    true,
  ],
  ["false when the signing CA is unknown", by(OWN, { signerId: undefined }), "2036-01-01T00:00:00Z", false],
  ["true when the certificate itself has expired", by(OWN, { notAfterMs: NOW }), "2026-01-01T12:00:00Z", true],
  [
    "false when only the certificate itself is about to expire",
    by(OWN, { notAfterMs: NOW + 1 }),
    "2026-01-01T12:00:00Z",
    false,
  ],
] as const)("isCaEnding is %s", (_, facts, now, expected) => {
  expect(isCaEnding(facts, at(now))).toBe(expected);
});

/** The certificate of members has expired, or expires after this time. */
function ending(snapshot: ClusterSnapshot, inMs = 0): ClusterSnapshot {
  const { previous } = snapshot.certificates ?? {};
  const server = previous?.server;
  if (server?.is !== "present") throw new Error("no change of provider is in progress");
  return seenToo(snapshot, { previous: { ...previous, server: present({ ...server.value, notAfterMs: NOW + inMs }) } });
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

describe("a provider change with clients that do not have the new CA", () => {
  test.each([
    ["waits for a binding while the old certificate is valid", begin(told).apply(seenToo, bound({})).apply(ending, 1).snapshot, "AcceptBoth, members done"],
    ["continues without a binding when the old certificate has expired", begin(told).apply(seenToo, bound({})).apply(ending).snapshot, "UseNew"],
    ["continues without a binding when the old certificate has expired and a member uses an abandoned Secret", planningToo("one-between", begin(told).apply(seenToo, bound({})).apply(ending).snapshot), "UseNew"],
    ["continues without a binding with unknown content when the old certificate has expired", begin(told).apply(seenToo, bound({ trustIds: undefined })).apply(ending).snapshot, "UseNew"],
    ["waits for a binding that has just got the new CA", begin(told).apply(seenToo, bound({ trustIds: [OWN.id, THEIRS.id] })).apply(ending).snapshot, "AcceptBoth, members done"],
    ["waits for the ConfigMap while the old certificate is valid", begin(clientsTrusting).apply(telling, bundle(OWN), 0).apply(ending, 1).snapshot, "AcceptBoth, members done"],
    ["continues without the new CA in the ConfigMap when the old certificate has expired", begin(clientsTrusting).apply(telling, bundle(OWN), 0).apply(ending).snapshot, "UseNew"],
    ["waits for a ConfigMap that has just got the new CA, also when the old certificate has expired", begin(clientsTrusting).apply(telling, ofBoth, LONG - 1).apply(ending).snapshot, "AcceptBoth, members done"],
    ["waits for a ConfigMap that got the new CA at an unknown time, also when the old certificate has expired", begin(clientsTrusting).apply(telling, ofBoth, undefined).apply(ending).snapshot, "AcceptBoth, members done"],
    ["waits for the client Secret while the old certificate is valid", ending(lacksTrust, 1), "AcceptBoth, members done"],
    ["continues without the new CA in the client Secret when the old certificate has expired", ending(lacksTrust), "UseNew"],
    ["continues with some of the new CAs in the client Secret when the old certificate has expired", begin(ofTwo).apply(telling, ofThree, LONG).apply(withHandout, { trust: ofBoth }).apply(ending).snapshot, "UseNew"],
    ["waits for a client Secret that has just got the new CA, also when the old certificate has expired", begin(told).apply(withHandout, { trust: ofBoth, knownForMs: LONG - 1 }).apply(ending).snapshot, "AcceptBoth, members done"],
    ["continues a reverted change without the new CA in the client Secret when the old certificate has expired", begin(back).apply(withMade, { application: { knownForMs: LONG, trust: bundle(THEIRS) } }).apply(ending).snapshot, "UseNew"],
  ])("%s", (_, given, expected) => {
    expect(stageOf(providerChanges(given).client)).toBe(expected);
  }); // biome-ignore format: a table
});
