import { describe, expect, test } from "vitest";
import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { bothIn, courses } from "#cluster/certificates/course.ts";
import { trustMap } from "#cluster/desired/certificates.ts";
import { authority } from "#cluster/rules/certificates/authority.ts";
import { awaitCertificates } from "#cluster/rules/certificates/await-certificates.ts";
import { handOut } from "#cluster/rules/certificates/hand-out.ts";
import { leaf } from "#cluster/rules/certificates/leaf.ts";
import { rotateAuthority } from "#cluster/rules/certificates/rotate-authority.ts";
import { switchTls } from "#cluster/rules/certificates/switch-tls.ts";
import { trustMapRule } from "#cluster/rules/certificates/trust-map.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule, ClusterStep } from "#cluster/step.ts";
import { DAY_MS } from "#kit/certificates.ts";
import { born, cluster, NOW } from "#kit/cluster.ts";
import { certified } from "#kit/cluster-steps.ts";
import { switching, WITHOUT } from "#kit/cluster-switch.ts";
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
} from "#kit/cluster-tls.ts";
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
} from "#kit/cluster-turn.ts";
import type { ConfigMap } from "#kube/kinds.ts";

// What single rules do while members come to show something else, whatever other rules would do first.

function stepOf<Kind extends ClusterStep["do"]>(rule: ClusterRule, given: ClusterSnapshot, kind: Kind) {
  const said = rule.decide(given);
  if (said?.next !== "step" || said.step.do !== kind) throw new Error(`it says ${JSON.stringify(said?.next)}`);
  return said.step as Extract<ClusterStep, { do: Kind }>;
}

/** Whose certificates are in a bundle. */
const idsIn = (text: string) => new Set(parsedIn(text).map(idOf));
const ids = (...all: readonly { id: string }[]) => new Set(all.map(({ id }) => id));

describe("an authority that is made trusts", () => {
  const trust = (given: ClusterSnapshot) => idsIn(stepOf(authority, given, "issueAuthority").trust);

  test("nobody else when it is the first one", () => {
    expect(trust(unissued({ stage: "recorded" }))).toEqual(ids());
  });

  test("the one before, when that was lost and members show what it has signed", () => {
    expect(trust(withSeen(certified, { peerCA: absent }))).toEqual(ids(OWN));
  });

  test("nobody by whom members are known that comes from somewhere else", () => {
    const side = { provider: "Secret", secret: { secretName: "their-peer" } };
    const asks = goingTo(secured({}, { peer: side }, { by: THEIRS }), {});
    expect(trust(withSeen(asks, { peerCA: absent }))).toEqual(ids());
  });
});

test("who runs goes on without certificates that are not there, and who is to be made waits", () => {
  const one = cluster({ replicas: 1 });
  const asks = unissued({ replicas: 1 });
  const given = { ...one, cluster: { ...one.cluster, spec: asks.cluster.spec }, certificates: asks.certificates };
  expect(awaitCertificates.decide(given)?.next).toBe("remark");
  expect(awaitCertificates.decide({ ...given, peers: [] })?.next).toBe("wait");
});

describe("applications are given", () => {
  const manages = secured({}, { client: issuer }, { isOurs: false, by: THEIRS });
  const trust = (given: ClusterSnapshot) => idsIn(stepOf(handOut, given, "handOut").trust);
  const none = (given: ClusterSnapshot) => seenToo(given, { handout: absent });

  test("whom members are known by, whoever has signed what they show themselves", () => {
    expect(trust(none(manages))).toEqual(ids(THEIRS));
    const other = withMade(manages, { application: { ...theirs, by: NEXT } });
    expect(trust(none(other))).toEqual(ids(THEIRS));
  });

  test("whom their own Secret says, where nobody knows what members show", () => {
    expect(trust(none(withSeen(manages, { server: absent })))).toEqual(ids(THEIRS));
  });

  test("both while members come to show something else", () => {
    const trusts = running(
      withMade(asked, { application: theirs }),
      undefined,
      clientsOf("my-etcd-server-tls", ofBoth),
    );
    expect(trust(none(trusts))).toEqual(ids(OWN, THEIRS));
  });

  describe("what cert-manager has issued for them", () => {
    const other = { provider: "CertManager", certManager: { issuerRef: { name: "other" } } };
    const going = goingTo(manages, { client: other });
    const source = (given: ClusterSnapshot) => stepOf(handOut, none(given), "handOut").source.secretName;
    const before = made(manages, "application").secretName;
    const byNext = { ...theirs, by: NEXT };
    const next = withMade(going, { server: byNext, operator: byNext, application: byNext });
    const after = made(next, "application").secretName;
    const [former, asks] = [manages, next].map((each) => made(each, "server").secretName);
    const trusts = running(next, undefined, clientsOf(former!, bundle(THEIRS, NEXT)));
    const ends = { server: { ...byNext, lastsMs: -1 } };

    test("as it is asked for once members trust it, and as it was before until then", () => {
      expect([going, next].map(source)).toEqual([before, before]);
      expect(source(trusts)).toBe(after);
    });

    test("once they have it, whatever members wait for then", () => {
      const had = { ...made(manages, "application"), secretName: "my-etcd-client", ownerUid: manages.cluster.metadata.uid }; // biome-ignore format: one line
      expect(stepOf(handOut, seenToo(next, { handout: present(had) }), "handOut").source.secretName).toBe(before);
      const facts = { ...made(next, "application", byNext), secretName: "my-etcd-client", ownerUid: manages.cluster.metadata.uid }; // biome-ignore format: one line
      const again = (given: ClusterSnapshot, change: object = {}) =>
        stepOf(handOut, seenToo(given, { handout: present({ ...facts, ...change }) }), "handOut").source.secretName;
      expect([next, withMade(trusts, ends)].map((each) => courses(each).client.at)).toEqual(["trust", "waiting"]);
      expect([next, withMade(trusts, ends)].map((each) => again(each))).toEqual([after, after]);
      // cert-manager renews it, and members wait on.
      expect(again(next, { fingerprint: "the one before" })).toBe(after);
      // Who has signed what they have is not known, nor what is asked for.
      const unsigned = withMade(going, { server: byNext, operator: byNext, application: { trouble: "none" } });
      expect(again(unsigned, { signerId: undefined })).toBe(before);
      expect(again(withSeen(next, { application: absent }), { signerId: undefined })).toBe(before);
    });

    test("not as long as they have what was before, whatever is there by now", () => {
      const facts = { ...made(manages, "application"), secretName: "my-etcd-client" };
      const has = seenToo(next, { handout: present({ ...facts, ownerUid: manages.cluster.metadata.uid }) });
      expect(stepOf(handOut, has, "handOut").source.secretName).toBe(before);
    });

    test("once a member shows what is asked for, whatever the others wait for then", () => {
      const begun = running(trusts, ["my-etcd-0"], clientsOf(asks!, bundle(THEIRS, NEXT)));
      const ended = withMade(begun, ends);
      expect([begun, ended].map((each) => courses(each).client.at)).toEqual(["show", "waiting"]);
      expect([begun, ended].map(source)).toEqual([after, after]);
    });
  });

  test("nothing of cert-manager's where somebody else issues", () => {
    expect(handOut.decide(none(certified))).toBeUndefined();
    expect(handOut.decide(none(turnedClients))).toBeUndefined();
    // What the operator issues is written by itself, where they look for it.
    expect(handOut.decide(none(goingTo(manages, {})))).toBeUndefined();
  });

  test("nothing while nobody knows what they have", () => {
    expect(handOut.decide(seenToo(manages, { handout: unknown("no answer") }))).toBeUndefined();
  });

  test("the same in whatever order", () => {
    const orders = [bundle(THEIRS, NEXT), bundle(NEXT, THEIRS)];
    for (const trusted of orders)
      for (const had of orders) {
        const given = withMade(manages, { server: { ...theirs, trust: trusted }, application: theirs });
        const facts = { ...made(given, "application", { ...theirs, trust: had }), ownerUid: "uid-of-cluster" };
        expect(handOut.decide(seenToo(given, { handout: present(facts) }))).toBeUndefined();
      }
  });
});

describe("while members come to show something else", () => {
  test("what they show is renewed, and it comes first", () => {
    const due = (given: ClusterSnapshot) => stepOf(leaf, given, "issueLeaf").purpose;
    const later = { ...leaving, takenAtMs: NOW + 60 * DAY_MS };
    expect(due(later)).toBe("peer");
    const clients = { ...goingTo(certified, { client: BROUGHT }), takenAtMs: NOW + 60 * DAY_MS };
    expect(due(withMade(clients, { peer: { lastsMs: 100 * DAY_MS } }))).toBe("server");
  });

  test("what is asked for is made, when nothing is to be done about what they show", () => {
    const side = { provider: "Secret", secret: { secretName: "their-peer" } };
    const asks = goingTo(secured({}, { peer: side }), {});
    expect(stepOf(leaf, withMade(withSeen(asks, { peer: absent }), { peerCA: {} }), "issueLeaf").purpose).toBe("peer");
  });

  test("what applications have is renewed as before, until members trust who issues by then", () => {
    const ended = { application: present(made(certified, "application", { lastsMs: DAY_MS })) };
    const renews = (given: ClusterSnapshot) => {
      const operator = present(made(certified, "operator", { trust: bothIn(courses(given).client) ?? bundle(OWN) }));
      const former = { ...given.certificates?.former, operator, ...ended };
      const said = leaf.decide({ ...given, certificates: { ...given.certificates, former } });
      return said?.next === "step" && said.step.do === "issueLeaf" ? said.step.purpose : undefined;
    };
    expect(renews(goingTo(certified, { client: BROUGHT }))).toBe("application");
    expect(renews(turnedClients)).toBe("application");
    expect(renews(told)).toBeUndefined();
    // What the operator shows it goes on to make all the same.
    const operator = { operator: present(made(certified, "operator", { lastsMs: DAY_MS })) };
    const former = { ...told.certificates?.former, ...operator };
    expect(stepOf(leaf, { ...told, certificates: { ...told.certificates, former } }, "issueLeaf").purpose).toBe(
      "operator",
    );
  });

  test("what is ours to issue and is somebody else's is told, and nothing that is not", () => {
    const foreign = withMade(certified, { server: { isOurs: false } });
    expect(leaf.decide(foreign)).toMatchObject({
      next: "remark",
      because: expect.stringContaining("my-etcd-server-tls"),
    });
    expect(leaf.decide(certified)).toBeUndefined();
  });

  test("no authority is exchanged", () => {
    const annotations = { [ROTATE_CA_ANNOTATION]: "all" };
    const asks = (given: ClusterSnapshot) => {
      const metadata = { ...given.cluster.metadata, annotations };
      return rotateAuthority.decide({ ...given, cluster: { ...given.cluster, metadata } });
    };
    expect(asks(certified)).toMatchObject({ step: { side: "peer", phase: "add" } });
    expect(asks(leaving)).toMatchObject({ step: { side: "client", phase: "add" } });
    const all = withMade(back, { application: {} });
    expect(asks(withSeen(all, { peerCA: absent }))).toBeUndefined();
  });

  test("clients are told both, and nothing else before what is to be shown is there", () => {
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

  test("clients are told of nobody more than that, where nothing else is asked for", () => {
    const more = present(born<ConfigMap>(trustMap(certified, bundle(OWN, THEIRS))));
    const { map } = stepOf(trustMapRule, seenToo(certified, { trustMap: more }), "replaceTrustMap");
    expect(idsIn(map.data?.["ca.crt"] ?? "")).toEqual(ids(OWN));
  });

  test("clients are told by whom members are known, when somebody has taken that away, and lose nobody by it", () => {
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
    const lacking = withSeen(seenToo(clientsTrusting, { trustMap: map }), { operator: absent });
    expect(idsIn(stepOf(trustMapRule, lacking, "replaceTrustMap").map.data?.["ca.crt"] ?? "")).toEqual(
      ids(OWN, THEIRS),
    );
    expect(tells(bundle(THEIRS, OWN))).toBe("nothing");
    // Whoever else has the name of the ConfigMap keeps it.
    const foreign = born<ConfigMap>(trustMap(spoilt, ""));
    const theirMap = { ...foreign, metadata: { ...foreign.metadata, ownerReferences: [] } };
    expect(trustMapRule.decide(seenToo(spoilt, { trustMap: present(theirMap) }))?.next).toBe("remark");
  });
});

describe("while members go over to TLS, or back, it is told what the next one waits for:", () => {
  const waits: { name: string; given: ClusterSnapshot; why?: string; ms?: number }[] = [
    {
      name: "the last one that has no pair",
      given: switching({}, ["both", "both", "nothing"]),
      why: "members go over to TLS between them once my-etcd-2 can dial the others so",
      ms: 10_000,
    },
    {
      name: "nothing of that once all have one",
      given: switching({}, ["both", "both", "both"]),
      why: "every member is about to serve clients with TLS and without",
      ms: 10_000,
    },
    { name: "nothing before the first one has one", given: switching({}, ["nothing", "nothing", "nothing"]) },
    { name: "nothing of that once one is reached so", given: switching({}, ["reached", "both", "nothing"]) },
    { name: "nothing of that on the way back", given: switching(WITHOUT, ["both", "both", "nothing"]) },
    {
      name: "clients, for an hour",
      given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:59:00Z"),
      why: "clients without TLS are served until 2026-01-01T12:59:00Z",
      ms: 600_000,
    },
    {
      name: "clients, for what is left",
      given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:00:01Z"),
      why: "clients without TLS are served until",
      ms: 1_000,
    },
    {
      name: "clients, on the way back",
      given: switching(WITHOUT, ["both", "both", "both"], "2026-01-01T11:59:00Z"),
      why: "clients with TLS are served until 2026-01-01T12:59:00Z",
      ms: 600_000,
    },
    {
      name: "the time of both that has yet to begin",
      given: switching({}, ["reached", "reached", "reached"]),
      why: "every member is about to serve clients with TLS and without",
      ms: 10_000,
    },
    {
      name: "nothing once that is over",
      given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:00:00Z"),
    },
    { name: "nothing while one member serves one kind", given: switching({}, ["all", "reached", "reached"]) },
    { name: "nothing where nobody is", given: { ...switching({}, ["all", "all", "all"]), peers: [] } },
  ];
  test.each(waits)("$name", ({ given, why, ms }) => {
    const said = switchTls.decide(given);
    if (why === undefined) expect(said).toBeUndefined();
    else expect(said).toMatchObject({ next: "wait", because: expect.stringContaining(why), recheckAfterMs: ms });
  });
});
