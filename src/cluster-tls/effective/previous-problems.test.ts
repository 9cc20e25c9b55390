import { describe, expect, test } from "vitest";
import { absent, present } from "#base/observed.ts";
import type { ClusterSnapshot, Purpose } from "#cluster/snapshot.ts";
import { providerChanges } from "#cluster-tls/change/provider-change.ts";
import { SIDES } from "#cluster-tls/read/purposes.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { goingTo, made, OWN, running, secured, THEIRS, withMade } from "#kit/snapshots/cluster-tls.ts";
import { stageOf } from "#kit/snapshots/tls-stage.ts";
import { previousProblems } from "./previous-problems.ts";

const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: { provider: "Secret", secret },
};
const certManager = { issuerRef: { name: "a" } };
const MANAGED = { peer: { provider: "CertManager", certManager }, client: { provider: "CertManager", certManager } };

const settled = secured();
const managed = secured({}, MANAGED, { isOurs: false, by: THEIRS });
const brought = secured({}, BROUGHT, { isOurs: false, by: THEIRS });

/** A change to existing certificates that no member trusts yet; these Secrets in use are missing. */
function leaving(from: ClusterSnapshot, tls: object, lost: readonly Purpose[]): ClusterSnapshot {
  const theirs = { isOurs: false, by: from === settled ? THEIRS : OWN };
  return begin(from)
    .apply(goingTo, tls)
    .apply(withMade, { peer: theirs, server: theirs, operator: theirs })
    .apply(without, lost).snapshot;
}

function without(snapshot: ClusterSnapshot, lost: readonly Purpose[]): ClusterSnapshot {
  const { certificates } = snapshot;
  const previous = { ...certificates?.previous, ...Object.fromEntries(lost.map((purpose) => [purpose, absent])) };
  return { ...snapshot, certificates: { ...certificates, previous } };
}

/** All members trust both. */
const trusting = begin(settled).apply(leaving, BROUGHT, []).apply(running).snapshot;
const { trust: peers } = trusting.peers[0]!.spec.tls!.peer!;
const { trust: clients } = trusting.peers[0]!.spec.tls!.client!;
const brings = {
  peer: { secretName: "their-peer", trust: peers },
  client: { secretName: "their-server", trust: clients, clientCertificates: "Required" as const },
};
/** One member uses the user-provided Secret, or all do. */
const showing = running(trusting, ["my-etcd-0"], brings);
const shown = running(trusting, undefined, brings);
const LOST = { is: "CertificateMissing", needsUser: true };
const PUT_BACK = "members keep using it, and none restarts until it exists again: restore it";

const cases: {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly told: readonly { readonly is: string; readonly needsUser: boolean; readonly says: string }[];
}[] = [
  { name: "nothing is reported without a change", given: settled, told: [] },
  { name: "nothing is reported when all Secrets exist", given: leaving(settled, BROUGHT, []), told: [] },
  {
    name: "a lost CA is reported and not recreated",
    given: leaving(settled, BROUGHT, ["clientCA"]),
    told: [
      {
        ...LOST,
        needsUser: false,
        says: "Secret foo/my-etcd-client-ca, the CA of server and client certificates, is missing: no new CA is created during a provider change; certificates that it signed are valid until they expire",
      },
    ],
  },
  {
    name: "a lost certificate that the CA can reissue is reported as about to be created",
    given: leaving(settled, BROUGHT, ["peer"]),
    told: [
      {
        is: "CertificatesPending",
        needsUser: false,
        says: "Secret foo/my-etcd-peer-tls, the peer certificate of members, is about to be created",
      },
    ],
  },
  {
    name: "a certificate that cannot be reissued has to be restored",
    given: leaving(settled, BROUGHT, ["peerCA", "peer"]),
    told: [
      { ...LOST, needsUser: false, says: "Secret foo/my-etcd-peer-ca, " },
      { ...LOST, says: `is missing: Secret foo/my-etcd-peer-ca cannot sign a new one; ${PUT_BACK}` },
    ],
  },
  {
    name: "a lost certificate need not be restored when all members trust the requested one",
    given: without(trusting, ["peerCA", "peer"]),
    told: [
      { ...LOST, needsUser: false, says: "Secret foo/my-etcd-peer-ca, " },
      {
        ...LOST,
        needsUser: false,
        says: "Secret foo/my-etcd-peer-ca cannot sign a new one; members keep using it until they use the requested one",
      },
    ],
  },
  {
    name: "a lost certificate need not be restored once one member uses the requested one",
    given: without(showing, ["peerCA", "peer"]),
    told: [
      { ...LOST, needsUser: false, says: "Secret foo/my-etcd-peer-ca, " },
      { ...LOST, needsUser: false, says: "members keep using it until they use the requested one" },
    ],
  },
  {
    name: "a lost certificate need not be restored while only the operator has yet to use its requested one",
    given: without(shown, ["clientCA", "server"]),
    told: [
      { ...LOST, needsUser: false, says: "Secret foo/my-etcd-client-ca, " },
      { ...LOST, needsUser: false, says: "members keep using it until they use the requested one" },
    ],
  },
  {
    name: "the operator's lost certificate has to be restored, without a hint about restarts of members",
    given: without(trusting, ["clientCA", "operator"]),
    told: [
      { ...LOST, needsUser: false, says: "Secret foo/my-etcd-client-ca, " },
      {
        ...LOST,
        says: "Secret foo/my-etcd-client-ca cannot sign a new one; its current users keep using it; restore it",
      },
    ],
  },
  {
    name: "a lost Secret of cert-manager has to be restored or filled by its Certificate",
    given: leaving(managed, BROUGHT, ["server"]),
    told: [{ ...LOST, says: `only its cert-manager Certificate, if that exists, fills it again; ${PUT_BACK}` }],
  },
  {
    name: "a lost user-provided Secret has to be created again",
    given: leaving(brought, {}, ["peer"]),
    told: [{ ...LOST, says: "Secret foo/their-peer, the peer certificate of members, is missing; create it" }],
  },
  {
    name: "an expired certificate in use is reported",
    given: {
      ...trusting,
      certificates: {
        ...trusting.certificates,
        previous: { peer: present(made(settled, "peer", { lastsMs: 0 })), ...restOf(trusting) },
      },
    },
    told: [{ is: "CertificateExpired", needsUser: true, says: "Secret foo/my-etcd-peer-tls" }],
  },
  {
    name: "a lost client Secret is reported while members do not trust both CAs",
    given: leaving(settled, BROUGHT, ["application"]),
    told: [{ is: "CertificatesPending", needsUser: false, says: "Secret foo/my-etcd-client, " }],
  },
  {
    name: "a lost client Secret is reported while the requested certificates are missing",
    given: begin(settled).apply(goingTo, BROUGHT).apply(without, ["application"]).snapshot,
    told: [{ is: "CertificatesPending", needsUser: false, says: "Secret foo/my-etcd-client, " }],
  },
  {
    name: "a lost client Secret is not reported once members trust both CAs",
    given: without(trusting, ["application"]),
    told: [],
  },
];

function restOf({ certificates }: ClusterSnapshot) {
  const { peer: _, ...rest } = certificates?.previous ?? {};
  return rest;
}

describe("problems of certificates in use during a provider change:", () => {
  test.each(cases)("$name", ({ given, told }) => {
    const problems = previousProblems(given);
    expect(problems.map(({ reason, needsUser }) => ({ is: reason, needsUser }))).toEqual(
      told.map(({ is, needsUser }) => ({ is, needsUser })),
    );
    told.forEach(({ says }, n) => {
      expect(problems[n]?.message).toContain(says);
    });
    expect(problems.every(({ status }) => status === "False")).toBe(true);
  });

  test("the snapshots of these cases are at different stages of a change", () => {
    const stages = (given: ClusterSnapshot) => SIDES.map((side) => stageOf(providerChanges(given)[side]));
    expect(stages(trusting)).toEqual(["AcceptBoth, members done", "AcceptBoth, members done"]);
    expect(stages(showing)).toEqual(["UseNew", "UseNew"]);
    expect(stages(shown)).toEqual(["no change", "UseNew, members done"]);
    expect(stages(leaving(settled, BROUGHT, []))).toEqual(["AcceptBoth", "AcceptBoth"]);
  });
});
