import { describe, expect, test } from "vitest";
import { absent, present } from "#base/observed.ts";
import { courses } from "#cluster/certificates/course.ts";
import { formerFaults } from "#cluster/certificates/former-fault.ts";
import type { ClusterSnapshot, Purpose } from "#cluster/snapshot.ts";
import { goingTo, made, OWN, running, secured, THEIRS, withMade } from "#kit/cluster-tls.ts";

const secret = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };
const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: { provider: "Secret", secret },
};
const certManager = { issuerRef: { name: "a" } };
const MANAGED = { peer: { provider: "CertManager", certManager }, client: { provider: "CertManager", certManager } };

const settled = secured();
const managed = secured({}, MANAGED, { isOurs: false, by: THEIRS });
const brought = secured({}, BROUGHT, { isOurs: false, by: THEIRS });

/** On the way to what is there, and which nobody trusts yet; these of what is in use are not there. */
function leaving(from: ClusterSnapshot, tls: object, lost: readonly Purpose[]): ClusterSnapshot {
  const theirs = { isOurs: false, by: from === settled ? THEIRS : OWN };
  return without(withMade(goingTo(from, tls), { peer: theirs, server: theirs, operator: theirs }), lost);
}

function without(snapshot: ClusterSnapshot, lost: readonly Purpose[]): ClusterSnapshot {
  const { certificates } = snapshot;
  const former = { ...certificates?.former, ...Object.fromEntries(lost.map((purpose) => [purpose, absent])) };
  return { ...snapshot, certificates: { ...certificates, former } };
}

/** All trust both. */
const trusting = running(leaving(settled, BROUGHT, []));
const { trust: peers } = trusting.peers[0]!.spec.tls!.peer!;
const { trust: clients } = trusting.peers[0]!.spec.tls!.client!;
const brings = {
  peer: { secretName: "their-peer", trust: peers },
  client: { secretName: "their-server", trust: clients, verifyClients: true },
};
/** One of them has come to show what people have brought, or all have. */
const showing = running(trusting, ["my-etcd-0"], brings);
const shown = running(trusting, undefined, brings);
const LOST = { is: "CertificateMissing", isForPeople: true };
const PUT_BACK = "members go on with it, and none restarts until it is there again: put it back";

const cases: {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly told: readonly { readonly is: string; readonly isForPeople: boolean; readonly says: string }[];
}[] = [
  { name: "where nothing else is asked for nothing is told", given: settled, told: [] },
  { name: "what is there is no matter", given: leaving(settled, BROUGHT, []), told: [] },
  {
    name: "an authority that is lost is not made anew",
    given: leaving(settled, BROUGHT, ["clientCA"]),
    told: [
      {
        ...LOST,
        isForPeople: false,
        says: "Secret foo/my-etcd-client-ca, the authority by which members and clients know each other, is not there, and no other one is made on the way to what is asked for: what it has signed is good until it ends",
      },
    ],
  },
  {
    name: "what it would sign again is about to be made",
    given: leaving(settled, BROUGHT, ["peer"]),
    told: [
      {
        is: "CertificatesPending",
        isForPeople: false,
        says: "Secret foo/my-etcd-peer-tls, what members show to each other, is about to be made",
      },
    ],
  },
  {
    name: "what nobody can sign again has to be put back",
    given: leaving(settled, BROUGHT, ["peerCA", "peer"]),
    told: [
      { ...LOST, isForPeople: false, says: "Secret foo/my-etcd-peer-ca, " },
      { ...LOST, says: `is not there, and Secret foo/my-etcd-peer-ca cannot sign another one; ${PUT_BACK}` },
    ],
  },
  {
    name: "unless all trust what is asked for by now",
    given: without(trusting, ["peerCA", "peer"]),
    told: [
      { ...LOST, isForPeople: false, says: "Secret foo/my-etcd-peer-ca, " },
      {
        ...LOST,
        isForPeople: false,
        says: "Secret foo/my-etcd-peer-ca cannot sign another one; members go on with it until they show what is asked for",
      },
    ],
  },
  {
    name: "also once one of them shows it",
    given: without(showing, ["peerCA", "peer"]),
    told: [
      { ...LOST, isForPeople: false, says: "Secret foo/my-etcd-peer-ca, " },
      { ...LOST, isForPeople: false, says: "members go on with it until they show what is asked for" },
    ],
  },
  {
    name: "and once all of them do, and the operator has yet to",
    given: without(shown, ["clientCA", "server"]),
    told: [
      { ...LOST, isForPeople: false, says: "Secret foo/my-etcd-client-ca, " },
      { ...LOST, isForPeople: false, says: "members go on with it until they show what is asked for" },
    ],
  },
  {
    name: "what the operator shows members does not restart for",
    given: without(trusting, ["clientCA", "operator"]),
    told: [
      { ...LOST, isForPeople: false, says: "Secret foo/my-etcd-client-ca, " },
      {
        ...LOST,
        says: "Secret foo/my-etcd-client-ca cannot sign another one; who has it goes on with it; put it back",
      },
    ],
  },
  {
    name: "what cert-manager has filled only it fills anew",
    given: leaving(managed, BROUGHT, ["server"]),
    told: [{ ...LOST, says: `only its Certificate, if that is there, has it filled anew; ${PUT_BACK}` }],
  },
  {
    name: "what people have brought they bring again",
    given: leaving(brought, {}, ["peer"]),
    told: [{ ...LOST, says: "Secret foo/their-peer, what members show to each other, is not there; make it" }],
  },
  {
    name: "what is wrong with what is there is told as ever",
    given: {
      ...trusting,
      certificates: {
        ...trusting.certificates,
        former: { peer: present(made(settled, "peer", { lastsMs: 0 })), ...restOf(trusting) },
      },
    },
    told: [{ is: "CertificateExpired", isForPeople: true, says: "Secret foo/my-etcd-peer-tls" }],
  },
  {
    name: "what applications had is waited for while members do not trust the other one",
    given: leaving(settled, BROUGHT, ["application"]),
    told: [{ is: "CertificatesPending", isForPeople: false, says: "Secret foo/my-etcd-client, " }],
  },
  {
    name: "and while that is not there",
    given: without(goingTo(settled, BROUGHT), ["application"]),
    told: [{ is: "CertificatesPending", isForPeople: false, says: "Secret foo/my-etcd-client, " }],
  },
  { name: "and no more once they do", given: without(trusting, ["application"]), told: [] },
];

function restOf({ certificates }: ClusterSnapshot) {
  const { peer: _, ...rest } = certificates?.former ?? {};
  return rest;
}

describe("what is in use while something else is asked for", () => {
  test.each(cases)("$name", ({ given, told }) => {
    const faults = formerFaults(given);
    expect(faults.map(({ reason, isForPeople }) => ({ is: reason, isForPeople }))).toEqual(
      told.map(({ is, isForPeople }) => ({ is, isForPeople })),
    );
    told.forEach(({ says }, n) => {
      expect(faults[n]?.message).toContain(says);
    });
    expect(faults.every(({ status }) => status === "False")).toBe(true);
  });

  test("the cases are of members at different points of their way", () => {
    expect(courses(trusting)).toMatchObject({ peer: { at: "tell" }, client: { at: "tell" } });
    expect(courses(showing)).toMatchObject({ peer: { at: "show" }, client: { at: "show" } });
    expect(courses(shown)).toMatchObject({ peer: { at: "settled" }, client: { at: "hand" } });
    expect(courses(leaving(settled, BROUGHT, []))).toMatchObject({ peer: { at: "trust" }, client: { at: "trust" } });
  });
});
