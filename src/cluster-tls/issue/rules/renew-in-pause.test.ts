import { expect, test } from "vitest";
import { absent, present } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { SLEEP, withSleep } from "#kit/snapshots/cluster-sleep.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  OWN,
  running,
  secured,
  THEIRS,
  withMade,
  withSeen,
} from "#kit/snapshots/cluster-tls.ts";
import { renewInPause } from "./renew-in-pause.ts";

// Renewals while a cluster is paused or asleep.

const DAY_MS = 86_400_000;
const PAUSE = { spec: { paused: true } };
const paused = secured(PAUSE);
const certManager = { issuerRef: { name: "my-issuer" } };
const BY_MANAGER = { client: { provider: "CertManager", certManager } };
const managed = secured(PAUSE, BY_MANAGER, { isOurs: false, by: THEIRS });
const publishedCertificate: SeenCertificate = {
  ...made(managed, "application", { by: THEIRS, certificateName: undefined }),
  ownerUid: managed.cluster.metadata.uid,
  secretName: "my-etcd-client",
};

function at(snapshot: ClusterSnapshot, afterMs: number): ClusterSnapshot {
  return { ...snapshot, takenAtMs: NOW + afterMs };
}

/** The cluster's certificates remain valid for 80 days, and are due for renewal after 50. */
const DUE_MS = 50 * DAY_MS;

function asleep(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { cluster } = snapshot;
  const sleeping = { ...cluster, spec: { ...cluster.spec, paused: false, replicas: 0 } };
  return withSleep({ ...snapshot, cluster: sleeping, pods: new Map() }, SLEEP);
}

function handingOut(change: Partial<SeenCertificate>): ClusterSnapshot {
  return {
    ...managed,
    certificates: { ...managed.certificates, clientSecret: present({ ...publishedCertificate, ...change }) },
  };
}

const END = "2026-03-22T12:00:00Z";
const PEER = `issueLeaf peer: Secret my-etcd-peer-tls gets the peer certificate of members: it expires at ${END}`;
const HANDED =
  "publishClientSecret: Secret my-etcd-client gets the client certificate of applications, as Secret my-etcd-client-2088916a has it";

const BOTH = bundle(NEXT, OWN);
const peerTls = memberTls(secured(PAUSE, { client: { provider: "None" } }))!;
const PEER_TURNED = "issueLeaf peer: Secret my-etcd-peer-tls gets the peer certificate of members: a new CA signs now";
/** The second half of the time for renewal has begun. */
const HALF_DUE_MS = 65 * DAY_MS;

/** The CA of members is being rotated; members trust both, and their certificate is from the old CA. */
function turned(snapshot: ClusterSnapshot): ClusterSnapshot {
  const made = withMade(snapshot, { peerCA: { by: NEXT, trust: BOTH }, peer: { trust: BOTH } });
  return running(made, undefined, { ...peerTls, peer: { secretName: "my-etcd-peer-tls", trust: BOTH } });
}

test.each<[string, ClusterSnapshot, string | undefined]>([
  ["renews a certificate that is due for renewal", at(paused, DUE_MS), PEER],
  ["renews no certificate earlier", at(paused, DUE_MS - 1), undefined],
  ["renews a certificate while the cluster sleeps", begin(paused).apply(asleep).apply(at, DUE_MS).snapshot, PEER],
  ["does nothing for a cluster that is not paused", at(secured(), DUE_MS), undefined],
  [
    "renews the next certificate when the first one remains valid",
    begin(paused).apply(withMade, { peer: { lastsMs: 200 * DAY_MS } }).apply(at, DUE_MS).snapshot,
    `issueLeaf server: Secret my-etcd-server-tls gets the server certificate of members: it expires at ${END}`,
  ],
  [
    "renews the certificate of applications",
    withMade(paused, { application: { lastsMs: DAY_MS } }),
    "issueLeaf application: Secret my-etcd-client gets the client certificate of applications: it expires at 2026-01-02T12:00:00Z",
  ],
  ["creates no missing certificate", begin(paused).apply(withMade, { server: { lastsMs: 200 * DAY_MS }, operator: { lastsMs: 200 * DAY_MS }, application: { lastsMs: 200 * DAY_MS } }).apply(withSeen, { peer: absent }).apply(at, DUE_MS).snapshot, undefined],
  ["replaces no invalid certificate", withMade(paused, { peer: { trouble: "it has no tls.key" } }), undefined],
  ["replaces no invalid certificate that expires", begin(secured(PAUSE, { client: { provider: "None" } })).apply(withMade, { peer: { trouble: "it has no tls.key" } }).apply(at, DUE_MS).snapshot, undefined],
  ["replaces no user-provided certificate", begin(secured(PAUSE, { client: { provider: "None" } })).apply(withMade, { peer: { isOurs: false } }).apply(at, DUE_MS).snapshot, undefined],
  ["replaces no certificate of another CA", begin(secured(PAUSE, { client: { provider: "None" } })).apply(withMade, { peerCA: { by: NEXT, trust: NEXT.pem + OWN.pem } }).apply(at, DUE_MS).snapshot, undefined],
  ["renews a certificate of the old CA by a new one that all members trust", begin(secured(PAUSE, { client: { provider: "None" } })).apply(turned).apply(at, DUE_MS).snapshot, PEER_TURNED],
  ["renews a certificate of the old CA while the cluster sleeps", begin(secured(PAUSE, { client: { provider: "None" } })).apply(turned).apply(asleep).apply(at, HALF_DUE_MS).snapshot, PEER_TURNED],
  ["replaces no certificate of the old CA before it expires", begin(secured(PAUSE, { client: { provider: "None" } })).apply(turned).apply(at, DUE_MS - 1).snapshot, undefined],
  ["replaces no certificate of the old CA while one pod does not trust the new one", begin(secured(PAUSE, { client: { provider: "None" } })).apply(turned).apply(running, ["my-etcd-1"], { ...peerTls, peer: { secretName: "my-etcd-peer-tls", trust: OWN.pem } }).apply(at, HALF_DUE_MS).snapshot, undefined],
  ["renews no certificate that would not last longer", begin(secured(PAUSE, { client: { provider: "None" } })).apply(withMade, { peerCA: { lastsMs: 80 * DAY_MS } }).apply(at, DUE_MS).snapshot, undefined],
  ["distributes no additional CA", withMade(paused, { peerCA: { next: NEXT } }), undefined],
  ["renews a certificate with outdated names", begin(paused).apply(withMade, { peer: { madeFor: "other" } }).apply(at, DUE_MS).snapshot, "issueLeaf peer: Secret my-etcd-peer-tls gets the peer certificate of members: spec.tls has changed since it was issued"],
  ["replaces no certificate with outdated names before it expires", withMade(paused, { peer: { madeFor: "other" } }), undefined],
  ["renews a certificate in use during a change of provider", begin(paused).apply(goingTo, BY_MANAGER).apply(at, DUE_MS).snapshot, `issueLeaf server: Secret my-etcd-server-tls gets the server certificate of members: it expires at ${END}`],
  ["copies a renewed certificate of cert-manager to applications", handingOut({ fingerprint: "earlier" }), HANDED],
  ["copies no certificate that applications have", handingOut({}), undefined],
  ["copies no certificate to applications for the first time", { ...managed, certificates: { ...managed.certificates, clientSecret: absent } }, undefined],
  ["repairs no certificate of applications", handingOut({ trouble: "it has no tls.key", fingerprint: "" }), undefined],
  ["distributes no other CA to applications", handingOut({ trustIds: [] }), undefined],
  ["does nothing for a client Secret of another owner", handingOut({ ownerUid: undefined, fingerprint: "theirs" }), undefined],
])("in a pause the operator %s", (_, given, expected) => {
  const said = renewInPause.decide(given);
  const step = said?.next === "step" ? said.step : undefined;
  const purpose = step !== undefined && "purpose" in step ? ` ${step.purpose}` : "";
  expect(step && `${step.do}${purpose}: ${said?.next === "step" ? said.because : ""}`).toBe(expected);
}); // biome-ignore format: a table

test("a renewal in a pause is a step of renew-in-pause with the CA and the observed certificate", () => {
  const given = at(paused, DUE_MS);
  const step = { do: "issueLeaf", purpose: "peer", authority: made(paused, "peerCA"), facts: made(paused, "peer") };
  expect(planCluster(given)).toMatchObject({ next: "step", rule: "renew-in-pause", step });
  expect(planCluster(handingOut({ fingerprint: "earlier" }))).toMatchObject({ next: "step", rule: "renew-in-pause" });
});
