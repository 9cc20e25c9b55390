import { expect, test } from "vitest";
import { ready } from "#cluster/readiness/ready.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { SLEEP, withSleep } from "#kit/snapshots/cluster-sleep.ts";
import { goingTo, secured, withMade } from "#kit/snapshots/cluster-tls.ts";
import { leaving } from "#kit/snapshots/provider-change.ts";
import { graveText, lateText } from "./late.ts";
import { tlsReady } from "./tls-ready.ts";

// Certificates and CAs with an overdue renewal. Those of users and of cert-manager:
// src/cluster-tls/check/notices.test.ts.

const DAY_MS = 86_400_000;
const settled = secured();
const paused = secured({ spec: { paused: true } });
const HALF_A_YEAR_MS = 182.5 * DAY_MS;

/** The CA of members is valid this long. */
function lasting(snapshot: ClusterSnapshot, lastsMs: number): ClusterSnapshot {
  return withMade(snapshot, { peerCA: { lastsMs, lifeMs: 3_650 * DAY_MS } });
}

function asleep(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster } = snapshot;
  return withSleep({ ...snapshot, cluster: { ...cluster, spec: { ...cluster.spec, replicas: 0 } } }, SLEEP);
}

/** The spec was carried out before, so no edit waits for the end of the pause. */
function wasReady(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster } = snapshot;
  const told = { observedGeneration: cluster.metadata.generation ?? 0, lastTransitionTime: "2026-01-01T00:00:00Z" };
  const conditions = [{ type: "Ready", status: "True" as const, reason: "AllMembersHealthy", message: "", ...told }];
  return { ...snapshot, cluster: { ...cluster, status: { ...cluster.status!, conditions } } };
}

const CA =
  "Secret my-etcd-peer-ca, the CA of peer certificates, expires at 2026-07-03T00:00:00Z, and has not been renewed";

const LEAF =
  "Secret my-etcd-peer-tls, the peer certificate of members, expires at 2026-01-02T12:00:00Z, and has not been renewed";

test.each<[string, ClusterSnapshot, string | undefined]>([
  ["nothing while all certificates remain valid", settled, undefined],
  ["nothing for a CA with more than half a year left", lasting(paused, HALF_A_YEAR_MS + 1), undefined],
  ["a CA with half a year left", lasting(settled, HALF_A_YEAR_MS), CA],
  ["advice for a CA in a pause", lasting(paused, HALF_A_YEAR_MS), `${CA}; members restart for a new CA, which waits while spec.paused is true: end the pause`],
  ["advice for a CA of a sleeping cluster", begin(settled).apply(asleep).apply(lasting, HALF_A_YEAR_MS).snapshot, `${CA}; a new CA waits until members run again: set spec.replicas to 1 or more`],
  ["a certificate of the operator with one day left", withMade(settled, { peer: { lastsMs: DAY_MS } }), LEAF],
  ["advice for a certificate in a pause", withMade(paused, { peer: { lastsMs: DAY_MS } }), `${LEAF}; the operator renews it only with a CA that every member trusts while spec.paused is true: end the pause`],
  ["advice for a certificate of a sleeping cluster", begin(settled).apply(asleep).apply(withMade, { peer: { lastsMs: DAY_MS } }).snapshot, `${LEAF}; the operator renews it only with a CA that every member trusts while the cluster sleeps: set spec.replicas to 1 or more`],
  ["advice for a CA and a certificate in a pause", begin(paused).apply(lasting, HALF_A_YEAR_MS).apply(withMade, { peer: { lastsMs: DAY_MS } }).snapshot, `${CA.replace(/, and .*/, "")}; ${LEAF}; members restart for a new CA, which waits while spec.paused is true: end the pause`],
  ["advice for a CA that is listed after a certificate", withMade(paused, { peer: { lastsMs: DAY_MS }, clientCA: { lastsMs: HALF_A_YEAR_MS, lifeMs: 3_650 * DAY_MS } }), expect.stringContaining("; members restart for a new CA, which waits while spec.paused is true: end the pause")],
  ["advice for a certificate of the operator beside a user-provided one", withMade(secured({ spec: { paused: true } }, { peer: { provider: "Secret", secret: { name: "a" } } }), { peer: { isOurs: false, lastsMs: DAY_MS }, server: { lastsMs: DAY_MS } }), expect.stringContaining("end the pause")],
  ["no advice for a user-provided certificate in a pause", withMade(secured({ spec: { paused: true } }, { peer: { provider: "Secret", secret: { name: "a" } } }), { peer: { isOurs: false, lastsMs: DAY_MS } }), "Secret a, the peer certificate of members, expires at 2026-01-02T12:00:00Z, and has not been renewed"],
  ["the CA in use during a change of provider in a pause", begin(paused).apply(lasting, HALF_A_YEAR_MS).apply(goingTo, { peer: { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } }).snapshot, `${CA}; members restart for a new CA, which waits while spec.paused is true: end the pause`],
])("certificates about to expire are reported: %s", (_, given, expected) => {
  expect(lateText(given)).toEqual(expected);
}); // biome-ignore format: a table

const LIFE_MS = 90 * DAY_MS;
const BROUGHT = { peer: { provider: "Secret", secret: { name: "a" } } };
const brought = (lastsMs: number, lifeMs = LIFE_MS) =>
  withMade(secured({}, BROUGHT), { peer: { isOurs: false, lastsMs, lifeMs } });
const IN_14_DAYS =
  "Secret a, the peer certificate of members, expires at 2026-01-15T12:00:00Z, and has not been renewed";

test.each<[string, ClusterSnapshot, string | undefined, boolean]>([
  ["stay True with an event when 14 of 90 days of a user-provided certificate remain", brought(14 * DAY_MS), IN_14_DAYS, true],
  ["stay True with an event when more than a thirtieth of a user-provided certificate remains", brought(3 * DAY_MS + 1_000), expect.stringContaining("Secret a, "), true],
  ["become False when a thirtieth of a user-provided certificate remains", brought(3 * DAY_MS), expect.stringContaining("Secret a, "), false],
  ["stay True without an event when a thirtieth of ten years of a user-provided certificate remains", brought(120 * DAY_MS, 3_600 * DAY_MS), undefined, true],
  ["become False when 14 of 90 days of a certificate of the operator remain", withMade(settled, { peer: { lastsMs: 14 * DAY_MS, lifeMs: LIFE_MS } }), expect.stringContaining("Secret my-etcd-peer-tls, "), false],
])("TLSReady and Ready %s", (_, snapshot, text, isReady) => {
  const plan = { next: "settled" } as const;
  const members = clusterStatus(snapshot, plan).members ?? [];
  const given = { snapshot, plan, members, own: members };
  expect(lateText(snapshot)).toEqual(text);
  expect(graveText(snapshot)).toBe(isReady ? undefined : lateText(snapshot));
  const status = isReady ? "True" : "False";
  expect([tlsReady(given)?.status, ready(given).status]).toEqual([status, status]);
}); // biome-ignore format: a table

test.each([
  ["of a running cluster", lasting(settled, HALF_A_YEAR_MS)],
  ["of a paused cluster", begin(paused).apply(lasting, HALF_A_YEAR_MS).apply(wasReady).snapshot],
])("TLSReady and Ready are False once the renewal of a CA is late: %s", (_, snapshot) => {
  const plan = { next: "settled" } as const;
  const { members } = clusterStatus(snapshot, plan);
  const given = { snapshot, plan, members: members ?? [], own: members ?? [] };
  const verdict = { status: "False", reason: "CertificateEnding", message: lateText(snapshot) };
  expect([tlsReady(given), ready(given)]).toEqual([verdict, verdict]);
});

test("a late renewal is reported before the progress of a provider change, and after problems", () => {
  const late = withMade(leaving, { clientCA: { lastsMs: DAY_MS, lifeMs: 3_650 * DAY_MS } });
  const plan = { next: "settled" } as const;
  expect(tlsReady({ snapshot: leaving, plan })?.reason).toBe("CertificatesChanging");
  expect(tlsReady({ snapshot: late, plan })).toMatchObject({
    reason: "CertificateEnding",
    message: expect.stringMatching(/^Secret my-etcd-client-ca, .* has not been renewed; ./),
  });
  const broken = begin(settled)
    .apply(lasting, HALF_A_YEAR_MS)
    .apply(withMade, { server: { trouble: "it has no tls.key" } }).snapshot;
  expect(tlsReady({ snapshot: broken, plan })?.reason).toBe("CertificateInvalid");
});
