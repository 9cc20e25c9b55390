import { describe, expect, test } from "vitest";
import { ROTATE_CA_ANNOTATIONS } from "#api/names.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { rotateCa } from "#cluster-tls/change/rules/rotate-ca.ts";
import { switchTls } from "#cluster-tls/change/rules/switch-tls.ts";
import { trustMap } from "#cluster-tls/issue/desired/certificates.ts";
import { awaitCertificates } from "#cluster-tls/issue/rules/await-certificates.ts";
import { issueCa } from "#cluster-tls/issue/rules/issue-ca.ts";
import { issueCertificate } from "#cluster-tls/issue/rules/issue-certificate.ts";
import { publishClientSecret } from "#cluster-tls/issue/rules/publish-client-secret.ts";
import { trustMapRule } from "#cluster-tls/issue/rules/trust-map.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { DAY_MS } from "#kit/snapshots/certificates.ts";
import { born, cluster, NOW } from "#kit/snapshots/cluster.ts";
import { certified } from "#kit/snapshots/cluster-steps.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  OWN,
  running,
  secured,
  THEIRS,
  unissued,
  withMade,
  withSeen,
} from "#kit/snapshots/cluster-tls.ts";
import {
  asked,
  BROUGHT,
  back,
  clientsOf,
  clientsTrusting,
  issuer,
  leaving,
  ofBoth,
  seenToo,
  theirs,
  told,
  turnedClients,
} from "#kit/snapshots/provider-change.ts";
import { switching, WITHOUT } from "#kit/snapshots/scheme-change.ts";
import { stageOf } from "#kit/snapshots/tls-stage.ts";
import type { ConfigMap } from "#kube/kinds.ts";
import { providerChanges } from "./provider-change.ts";

// Single rules during a provider change, whatever other rules would do first.

function stepOf<Kind extends ClusterStep["do"]>(rule: ClusterRule, given: ClusterSnapshot, kind: Kind) {
  const said = rule.decide(given);
  if (said?.next !== "step" || said.step.do !== kind) throw new Error(`the decision is ${JSON.stringify(said?.next)}`);
  return said.step as Extract<ClusterStep, { do: Kind }>;
}

/** The CAs in a bundle. */
const idsIn = (text: string) => new Set(parsedIn(text).map(idOf));
const ids = (...all: readonly { id: string }[]) => new Set(all.map(({ id }) => id));

describe("a new CA has in its bundle", () => {
  const trust = (given: ClusterSnapshot) => idsIn(stepOf(issueCa, given, "issueAuthority").trust);

  test("no other CA when it is the first one", () => {
    expect(trust(unissued({ stage: "recorded" }))).toEqual(ids());
  });

  test("the lost CA while members use its certificates", () => {
    expect(trust(withSeen(certified, { peerCA: absent }))).toEqual(ids(OWN));
  });

  test("no CA of another source", () => {
    const side = { provider: "Secret", secret: { name: "their-peer" } };
    const asks = goingTo(secured({}, { peer: side }, { by: THEIRS }), {});
    expect(trust(withSeen(asks, { peerCA: absent }))).toEqual(ids());
  });
});

test("running members continue without certificates, and new members wait for them", () => {
  const one = cluster({ replicas: 1 });
  const asks = unissued({ replicas: 1 });
  const given = { ...one, cluster: { ...one.cluster, spec: asks.cluster.spec }, certificates: asks.certificates };
  expect(awaitCertificates.decide(given)?.next).toBe("notice");
  expect(awaitCertificates.decide({ ...given, peers: [] })?.next).toBe("wait");
});

describe("the client Secret gets", () => {
  const manages = secured({}, { client: issuer }, { isOurs: false, by: THEIRS });
  const trust = (given: ClusterSnapshot) => idsIn(stepOf(publishClientSecret, given, "publishClientSecret").trust);
  const none = (given: ClusterSnapshot) => seenToo(given, { clientSecret: absent });

  test("the CAs of members, even if another CA signed the application's certificate", () => {
    expect(trust(none(manages))).toEqual(ids(THEIRS));
    const other = withMade(manages, { application: { ...theirs, by: NEXT } });
    expect(trust(none(other))).toEqual(ids(THEIRS));
  });

  test("the CAs of the application's certificate while the server Secret is missing", () => {
    expect(trust(none(withSeen(manages, { server: absent })))).toEqual(ids(THEIRS));
  });

  test("both CAs during a provider change", () => {
    const trusts = begin(asked)
      .apply(withMade, { application: theirs })
      .apply(running, undefined, clientsOf("my-etcd-server-tls", ofBoth)).snapshot;
    expect(trust(none(trusts))).toEqual(ids(OWN, THEIRS));
  });

  describe("the certificate of cert-manager", () => {
    const other = { provider: "CertManager", certManager: { issuerRef: { name: "other" } } };
    const going = goingTo(manages, { client: other });
    const source = (given: ClusterSnapshot) =>
      stepOf(publishClientSecret, none(given), "publishClientSecret").source.secretName;
    const before = made(manages, "application").secretName;
    const byNext = { ...theirs, by: NEXT };
    const next = withMade(going, { server: byNext, operator: byNext, application: byNext });
    const after = made(next, "application").secretName;
    const [previous, asks] = [manages, next].map((each) => made(each, "server").secretName);
    const trusts = running(next, undefined, clientsOf(previous!, bundle(THEIRS, NEXT)));
    const ends = { server: { ...byNext, lastsMs: -1 } };

    test("of the requested issuer once members trust it, and of the previous issuer until then", () => {
      expect([going, next].map(source)).toEqual([before, before]);
      expect(source(trusts)).toBe(after);
    });

    test("of the requested issuer again when it has that already, also while members wait", () => {
      const had = { ...made(manages, "application"), secretName: "my-etcd-client", ownerUid: manages.cluster.metadata.uid }; // biome-ignore format: one line
      expect(
        stepOf(publishClientSecret, seenToo(next, { clientSecret: present(had) }), "publishClientSecret").source
          .secretName,
      ).toBe(before);
      const facts = { ...made(next, "application", byNext), secretName: "my-etcd-client", ownerUid: manages.cluster.metadata.uid }; // biome-ignore format: one line
      const again = (given: ClusterSnapshot, change: object = {}) =>
        stepOf(
          publishClientSecret,
          seenToo(given, { clientSecret: present({ ...facts, ...change }) }),
          "publishClientSecret",
        ).source.secretName;
      expect([next, withMade(trusts, ends)].map((each) => stageOf(providerChanges(each).client))).toEqual([
        "AcceptBoth",
        "Prepare",
      ]);
      expect([next, withMade(trusts, ends)].map((each) => again(each))).toEqual([after, after]);
      // cert-manager renews it, and members still wait.
      expect(again(next, { fingerprint: "the one before" })).toBe(after);
      // The signer of either certificate is unknown.
      const unsigned = withMade(going, { server: byNext, operator: byNext, application: { trouble: "none" } });
      expect(again(unsigned, { signerId: undefined })).toBe(before);
      expect(again(withSeen(next, { application: absent }), { signerId: undefined })).toBe(before);
    });

    test("of the previous issuer while it has that and members do not trust the new CA", () => {
      const facts = { ...made(manages, "application"), secretName: "my-etcd-client" };
      const has = seenToo(next, { clientSecret: present({ ...facts, ownerUid: manages.cluster.metadata.uid }) });
      expect(stepOf(publishClientSecret, has, "publishClientSecret").source.secretName).toBe(before);
    });

    test("of the requested issuer once a member uses the requested Secret, also while the change waits", () => {
      const begun = running(trusts, ["my-etcd-0"], clientsOf(asks!, bundle(THEIRS, NEXT)));
      const ended = withMade(begun, ends);
      expect([begun, ended].map((each) => stageOf(providerChanges(each).client))).toEqual(["UseNew", "Prepare"]);
      expect([begun, ended].map(source)).toEqual([after, after]);
    });
  });

  test("no certificate of cert-manager with another provider", () => {
    expect(publishClientSecret.decide(none(certified))).toBeUndefined();
    expect(publishClientSecret.decide(none(turnedClients))).toBeUndefined();
    // The operator's own certificate is written directly to their Secret.
    expect(publishClientSecret.decide(none(goingTo(manages, {})))).toBeUndefined();
  });

  test("no certificate while it could not be read", () => {
    expect(publishClientSecret.decide(seenToo(manages, { clientSecret: unknown("no answer") }))).toBeUndefined();
  });

  test("no write when it has the same CAs in another order", () => {
    const orders = [bundle(THEIRS, NEXT), bundle(NEXT, THEIRS)];
    for (const trusted of orders)
      for (const had of orders) {
        const given = withMade(manages, { server: { ...theirs, trust: trusted }, application: theirs });
        const facts = { ...made(given, "application", { ...theirs, trust: had }), ownerUid: "uid-of-cluster" };
        expect(publishClientSecret.decide(seenToo(given, { clientSecret: present(facts) }))).toBeUndefined();
      }
  });
});

describe("during a provider change", () => {
  test("certificates in use are renewed before requested ones are issued", () => {
    const due = (given: ClusterSnapshot) => stepOf(issueCertificate, given, "issueLeaf").purpose;
    const later = { ...leaving, takenAtMs: NOW + 60 * DAY_MS };
    expect(due(later)).toBe("peer");
    const clients = { ...goingTo(certified, { client: BROUGHT }), takenAtMs: NOW + 60 * DAY_MS };
    expect(due(withMade(clients, { peer: { lastsMs: 100 * DAY_MS } }))).toBe("server");
  });

  test("requested certificates are issued when those in use need no renewal", () => {
    const side = { provider: "Secret", secret: { name: "their-peer" } };
    const asks = goingTo(secured({}, { peer: side }), {});
    expect(
      stepOf(
        issueCertificate,
        begin(asks).apply(withSeen, { peer: absent }).apply(withMade, { peerCA: {} }).snapshot,
        "issueLeaf",
      ).purpose,
    ).toBe("peer");
  });

  test("the application's certificate is renewed by the previous source until members trust the new one", () => {
    const ended = { application: present(made(certified, "application", { lastsMs: DAY_MS })) };
    const renews = (given: ClusterSnapshot) => {
      const operator = present(
        made(certified, "operator", { trust: providerChanges(given).client?.bundle ?? bundle(OWN) }),
      );
      const previous = { ...given.certificates?.previous, operator, ...ended };
      const said = issueCertificate.decide({ ...given, certificates: { ...given.certificates, previous } });
      return said?.next === "step" && said.step.do === "issueLeaf" ? said.step.purpose : undefined;
    };
    expect(renews(goingTo(certified, { client: BROUGHT }))).toBe("application");
    expect(renews(turnedClients)).toBe("application");
    expect(renews(told)).toBeUndefined();
    // The operator still renews its own certificate.
    const operator = { operator: present(made(certified, "operator", { lastsMs: DAY_MS })) };
    const previous = { ...told.certificates?.previous, ...operator };
    expect(
      stepOf(issueCertificate, { ...told, certificates: { ...told.certificates, previous } }, "issueLeaf").purpose,
    ).toBe("operator");
  });

  test("a Secret of another owner is reported when the operator would issue into it", () => {
    const foreign = withMade(certified, { server: { isOurs: false } });
    expect(issueCertificate.decide(foreign)).toMatchObject({
      next: "notice",
      because: expect.stringContaining("my-etcd-server-tls"),
    });
    expect(issueCertificate.decide(certified)).toBeUndefined();
  });

  test("no CA of a side that changes its provider is rotated", () => {
    const annotations = { [ROTATE_CA_ANNOTATIONS.peer]: "1", [ROTATE_CA_ANNOTATIONS.client]: "1" };
    const asks = (given: ClusterSnapshot) => {
      const metadata = { ...given.cluster.metadata, annotations };
      return rotateCa.decide({ ...given, cluster: { ...given.cluster, metadata } });
    };
    expect(asks(certified)).toMatchObject({ step: { side: "peer", phase: "add" } });
    expect(asks(leaving)).toMatchObject({ step: { side: "client", phase: "add" } });
    const all = withMade(back, { application: {} });
    expect(asks(withSeen(all, { peerCA: absent }))).toBeUndefined();
  });

  test("clients get both CAs once the requested certificates exist", () => {
    const tells = (given: ClusterSnapshot) => {
      const said = trustMapRule.decide(given);
      if (said?.next !== "step") return undefined;
      const { step } = said;
      return step.do === "createTrustMap" || step.do === "replaceTrustMap"
        ? idsIn(step.map.data?.["ca.crt"] ?? "")
        : undefined;
    };
    expect(tells(clientsTrusting)).toEqual(ids(OWN, THEIRS));
    const spoilt = withSeen(turnedClients, { operator: absent });
    expect(tells(spoilt)).toBeUndefined();
    expect(tells(seenToo(spoilt, { trustMap: absent }))).toEqual(ids(OWN));
    expect(tells(seenToo(certified, { trustMap: absent }))).toEqual(ids(OWN));
  });

  test("a CA of another source is removed from the ConfigMap when no change is in progress", () => {
    const more = present(born<ConfigMap>(trustMap(certified, bundle(OWN, THEIRS))));
    const { map } = stepOf(trustMapRule, seenToo(certified, { trustMap: more }), "replaceTrustMap");
    expect(idsIn(map.data?.["ca.crt"] ?? "")).toEqual(ids(OWN));
  });

  test("a CA that was removed from the ConfigMap is added again, and no CA is removed", () => {
    const spoilt = withSeen(turnedClients, { operator: absent });
    const edited = (text: string | undefined): ClusterSnapshot => {
      const map = born<ConfigMap>(trustMap(spoilt, text ?? ""));
      const { data: _, ...bare } = map;
      return seenToo(spoilt, { trustMap: present(text === undefined ? bare : map) });
    };
    const tells = (text: string | undefined) => {
      const said = trustMapRule.decide(edited(text));
      return said === undefined
        ? "nothing"
        : idsIn(stepOf(trustMapRule, edited(text), "replaceTrustMap").map.data?.["ca.crt"] ?? "");
    };
    expect(tells("")).toEqual(ids(OWN));
    expect(tells(undefined)).toEqual(ids(OWN));
    expect(tells("no certificate")).toEqual(ids(OWN));
    expect(tells(bundle(THEIRS))).toEqual(ids(OWN, THEIRS));
    expect(tells(bundle(OWN))).toBe("nothing");
    const map = present(born<ConfigMap>(trustMap(spoilt, bundle(OWN))));
    const lacking = begin(clientsTrusting)
      .apply(seenToo, { trustMap: map })
      .apply(withSeen, { operator: absent }).snapshot;
    expect(idsIn(stepOf(trustMapRule, lacking, "replaceTrustMap").map.data?.["ca.crt"] ?? "")).toEqual(
      ids(OWN, THEIRS),
    );
    expect(tells(bundle(THEIRS, OWN))).toBe("nothing");
    // Another owner's ConfigMap is not overwritten.
    const foreign = born<ConfigMap>(trustMap(spoilt, ""));
    const theirMap = { ...foreign, metadata: { ...foreign.metadata, ownerReferences: [] } };
    expect(trustMapRule.decide(seenToo(spoilt, { trustMap: present(theirMap) }))?.next).toBe("notice");
  });
});

/** The last member has yet to join. */
function joining(given: ClusterSnapshot): ClusterSnapshot {
  const last = given.peers.at(-1)!;
  const spec = { ...last.spec, bootstrap: { initialClusterState: "New" } as never };
  return { ...given, peers: [...given.peers.slice(0, -1), { ...last, spec }] };
}

describe("while TLS is turned on or off, the rule switch-tls waits for", () => {
  const waits: { name: string; given: ClusterSnapshot; why?: string; ms?: number }[] = [
    {
      name: "the last member without a certificate",
      given: switching({}, ["both", "both", "nothing"]),
      why: "peer URLs change to https once my-etcd-2 can dial the others over TLS",
      ms: 10_000,
    },
    {
      name: "members that have to serve both schemes once all members have certificates",
      given: switching({}, ["both", "both", "both"]),
      why: "members are being updated to serve clients both with and without TLS",
      ms: 10_000,
    },
    {
      name: "members that have to serve both schemes while a member with a certificate has yet to join",
      given: joining(switching({}, ["both", "both", "both"])),
      why: "members are being updated to serve clients both with and without TLS",
      ms: 10_000,
    },
    {
      name: "nothing before the first member has a certificate",
      given: switching({}, ["nothing", "nothing", "nothing"]),
    },
    { name: "nothing once a peer URL is https", given: switching({}, ["reached", "both", "nothing"]) },
    { name: "nothing while certificates are removed", given: switching(WITHOUT, ["both", "both", "nothing"]) },
    {
      name: "clients, with a recheck after ten minutes",
      given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:59:00Z"),
      why: "clients without TLS are served until 2026-01-01T12:59:00Z",
      ms: 600_000,
    },
    {
      name: "clients, with a recheck when plaintextFor ends",
      given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:00:01Z"),
      why: "clients without TLS are served until",
      ms: 1_000,
    },
    {
      name: "clients with TLS when TLS is turned off",
      given: switching(WITHOUT, ["both", "both", "both"], "2026-01-01T11:59:00Z"),
      why: "clients with TLS are served until 2026-01-01T12:59:00Z",
      ms: 600_000,
    },
    {
      name: "members that have to serve both schemes when the start of plaintextFor is not recorded",
      given: switching({}, ["reached", "reached", "reached"]),
      why: "members are being updated to serve clients both with and without TLS",
      ms: 10_000,
    },
    {
      name: "nothing once plaintextFor is over",
      given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:00:00Z"),
    },
    { name: "nothing while one member serves only https", given: switching({}, ["all", "reached", "reached"]) },
    { name: "nothing without members", given: { ...switching({}, ["all", "all", "all"]), peers: [] } },
  ];
  test.each(waits)("$name", ({ given, why, ms }) => {
    const said = switchTls.decide(given);
    if (why === undefined) expect(said).toBeUndefined();
    else expect(said).toMatchObject({ next: "wait", because: expect.stringContaining(why), recheckAfterMs: ms });
  });
});
