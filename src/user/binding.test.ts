import { describe, expect, test } from "vitest";
import { CLIENT_TRUST_ANNOTATION, ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, etcdUser, issuedFacts, NEXT, OWN, signerOf, userLook } from "#kit/access.ts";
import { born } from "#kit/cluster.ts";
import { bundle, CORP, RENEWED } from "#kit/cluster-tls.ts";
import type { Certificate, Pod } from "#kube/kinds.ts";
import { issuerOf, madeForOf, orderOf, rotationDue } from "#user/credentials.ts";
import { bindingWish, trustWish } from "#user/desired/binding.ts";
import { bindingRequest, requestDiffers } from "#user/desired/request.ts";
import { doubtersOf, isBelieved, memberPods } from "#user/facts.ts";
import { planUser } from "#user/plan.ts";
import { awaitCertificate } from "#user/rules/binding/await-certificate.ts";
import { tellTrust } from "#user/rules/binding/tell-trust.ts";
import { ownBinding, type UserSnapshot } from "#user/snapshot.ts";
import { userStatus } from "#user/status.ts";

const look = userLook;
const byCertificate = { spec: { authentication: "Certificate" } };
const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ca" } } } };
const MANAGED = etcdOf(CERT_MANAGER);
const BROUGHT = etcdOf({
  client: { provider: "Secret", secret: { serverSecretName: "a", operatorClientSecretName: "b" } },
});
const PLAIN = etcdOf(null);
const asks = { annotations: { [ROTATE_CREDENTIALS_ANNOTATION]: "1" } };
const AT = "2026-01-01T12:00:00Z";
const BEFORE = "2025-12-31T12:00:00Z";
const marks = (snapshot: UserSnapshot) => {
  const annotations = bindingWish(snapshot)?.draft.metadata.annotations ?? {};
  return [annotations["etcd.improbable.io/rotated-at"], annotations["etcd.improbable.io/rotated-for"]];
};

test.each<[string, UserSnapshot, readonly (string | undefined)[]]>([
  ["the first one", look({ bound: null }), [AT, undefined]],
  ["one that is asked for", look(asks), [AT, "1"]],
  ["the same with another text", look({ ...asks, bound: { texts: {}, rotatedFor: "1" } }), [BEFORE, "1"]],
  ["the same with another certificate", look({ pair: { trouble: "t" }, bound: { rotatedFor: "0" } }), [BEFORE, "0"]],
  ["by certificate, a new one", look({ ...byCertificate, ...asks }), [AT, "1"]],
  ["by certificate, a copy", look({ ...byCertificate, cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "n", commonName: "app" })) } }), [AT, undefined]],
  ["by certificate, the same", look({ ...byCertificate, bound: { texts: {}, rotatedFor: "0" } }), [BEFORE, "0"]],
])("when credentials were made, and for whom: %s", (_, snapshot, expected) => {
  expect(marks(snapshot)).toEqual(expected);
}); // biome-ignore format: a table

test("the Secret is its EtcdUser's, and says what its certificate was made for where it has one", () => {
  const { metadata, type } = bindingWish(look({ bound: null }))?.draft ?? {};
  expect([type, metadata?.name]).toEqual(["servicebinding.io/etcd", "app-binding"]);
  expect(metadata?.ownerReferences).toMatchObject([
    { kind: "EtcdUser", name: "app", uid: "uid-of-app", controller: true },
  ]);
  expect(metadata?.annotations).toHaveProperty(["etcd.improbable.io/applied-hash"]);
  const plain = bindingWish(look({ bound: null, cluster: PLAIN }))?.draft.metadata.annotations;
  expect(plain).not.toHaveProperty(["etcd.improbable.io/applied-hash"]);
});

test("a pair that is kept stays marked by what it was made for: it is made anew as soon as somebody can sign", () => {
  const mark = (given: Parameters<typeof look>[0]) => {
    const { pair, draft } = bindingWish(look(given)) ?? {};
    return [pair, draft?.metadata.annotations?.["etcd.improbable.io/applied-hash"]];
  };
  const old = { bound: { texts: {} }, pair: { madeFor: "before" } };
  expect(mark({ ...old, with: { signer: unknown("away") } })).toEqual(["keep", "before"]);
  expect(mark({ ...old, with: { signer: present(signerOf(NEXT)), doubters: ["my-etcd-0"] } })).toEqual([
    "keep",
    "before",
  ]);
  expect(mark({ ...old, pair: { madeFor: undefined }, with: { signer: absent } })).toEqual(["keep", undefined]);
  expect(mark(old)).toEqual(["issue", madeForOf(look().user, etcdOf())]);
  expect(mark({ ...old, cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "n" })) } })).toEqual(["copy", madeForOf(look().user, MANAGED)]); // biome-ignore format: one line
});

test("the status says whom the Secret says to trust, and by whom its certificate is signed", () => {
  const told = (snapshot: UserSnapshot) => userStatus(snapshot, planUser(snapshot)).binding;
  const name = "app-binding";
  expect(told(look())).toEqual({ name, trusts: [OWN.id], signedBy: OWN.id });
  const both = { trustIds: [OWN.id, NEXT.id] };
  expect(told(look({ bound: both, pair: { signerId: NEXT.id } }))).toEqual({ name, trusts: both.trustIds, signedBy: NEXT.id }); // biome-ignore format: one line
  expect(told(look({ pair: null }))).toStrictEqual({ name, trusts: [OWN.id] });
  expect(told(look({ cluster: PLAIN }))).toEqual({ name, trusts: [] });
  const before = { name: "app-binding", trusts: ["a"], signedBy: "a" };
  expect(told(look({ status: { binding: before }, with: { binding: unknown("silent") } }))).toEqual(before);
});

describe("what cannot be carried out leaves the binding as it is, but for whom to trust", () => {
  const BOTH = bundle(OWN, NEXT);
  const texts = { ...bindingWish(look({ bound: null }))?.texts, username: "as it was", "tls.crt": "a certificate" };
  const its = { texts, hasPassword: false };
  /** As it was made while the operator signed. */
  const refused = (given: Parameters<typeof userLook>[0] = {}) => {
    const { binding } = look({ ...byCertificate, bound: its, pair: { madeFor: "somebody" }, ...given });
    const cluster = "cluster" in given ? given.cluster : BROUGHT;
    return look({ ...byCertificate, cluster, with: { binding, trust: BOTH, ...given.with } });
  };

  test("with its pair, and the mark of what that was made for", () => {
    const { "tls.crt": _, ...others } = texts;
    expect(trustWish(refused())).toMatchObject({
      because: "it does not say what it should of ca.crt",
      password: "none",
      pair: "keep",
      texts: { ...others, "ca.crt": BOTH, certificates: BOTH },
      draft: { metadata: { name: "app-binding", annotations: { "etcd.improbable.io/applied-hash": "somebody" } } },
    });
    expect(trustWish(refused())?.texts).not.toHaveProperty(["tls.crt"]);
  });

  test("with its password, where it has one, and without a pair, where it has none", () => {
    const given = { bound: { texts, hasPassword: true }, pair: null };
    const wish = trustWish(refused(given));
    expect(wish).toMatchObject({ password: "keep", pair: "none" });
    expect(wish?.draft.metadata.annotations).not.toHaveProperty(["etcd.improbable.io/applied-hash"]);
  });

  test.each([
    ["when it says so by now", refused({ bound: { texts: { ...texts, "ca.crt": BOTH }, hasPassword: false } })],
    ["when nobody knows whom", refused({ with: { trust: undefined } })],
    ["when it says nobody", refused({ bound: { texts: { username: "app" }, hasPassword: false } })],
    ["when there is none", refused({ bound: null })],
    ["when it is somebody else's", refused({ bound: { ...its, ownerUid: "other" } })],
    ["when its cluster is gone", refused({ cluster: undefined })],
  ])("not %s", (_, given) => expect(trustWish(given)).toBeUndefined());

  test("and nothing else is written", () => {
    expect(tellTrust.decide(look({ with: { trust: BOTH } }))).toBeUndefined();
    expect(tellTrust.decide(refused())).toMatchObject({ step: { do: "writeBinding" } });
  });
});

test("what it says: how to connect, and whom to trust where there is TLS", () => {
  const texts = bindingWish(look({ bound: null, spec: { keyPrefix: "a/" } }))?.texts ?? {};
  const url = "https://my-etcd-client.foo.svc:2379";
  const [ca, certificates] = [texts["ca.crt"], texts.certificates];
  expect(ca).toMatch(/^-----BEGIN CERTIFICATE-----/);
  expect(certificates).toBe(ca);
  expect(texts).toEqual({ type: "etcd", provider: "etcd-cluster-operator", host: "my-etcd-client.foo.svc", port: "2379", uri: url, endpoints: url, username: "app", "key-prefix": "a/", "ca.crt": ca, certificates }); // biome-ignore format: one object
  const plain = bindingWish(look({ bound: null, cluster: PLAIN }))?.texts;
  expect(plain).toMatchObject({ uri: "http://my-etcd-client.foo.svc:2379" });
  expect(Object.keys(plain ?? {})).not.toContain("ca.crt");
});

test("what the Secret says that nobody wants goes", () => {
  const { texts } = ownBinding(look())!;
  expect(bindingWish(look({ bound: { texts: { ...texts, more: "x" } } }))?.because).toBe(
    "it does not say what it should of more",
  );
});

test("what is of no use is replaced also by what some member would not believe", () => {
  const doubted = { doubters: ["my-etcd-0"], signer: present(signerOf(NEXT)) };
  expect(bindingWish(look({ pair: { trouble: "t" }, with: doubted }))?.pair).toBe("issue");
  expect(bindingWish(look({ pair: { trouble: "t" }, with: { signer: absent } }))).toBeUndefined();
  expect(bindingWish(look({ bound: null, with: doubted }))?.pair).toBe("issue");
});

test("a pair is not made anew by an authority that has signed it already, whichever of its certificates stands first", () => {
  const trust = bundle(CORP, RENEWED);
  const signer = present(signerOf(RENEWED, { trust, trustIds: [CORP.id, RENEWED.id] }));
  const by = (id: string | undefined) =>
    bindingWish(look({ pair: { signerId: id, trust }, with: { signer } }))?.because;
  expect([by(CORP.id), by(RENEWED.id)]).toEqual([undefined, undefined]);
  expect(by(undefined)).toBe("its authority is followed by another one");
  expect(bindingWish(look({ with: { signer } }))?.because).toBe("its authority is followed by another one");
});

test("why credentials are made anew", () => {
  const old = { spec: { rotation: { every: "1h" } } };
  const because = (snapshot: UserSnapshot) => rotationDue(snapshot, ownBinding(snapshot)!);
  expect(because(look({ bound: { rotatedFor: "1" } }))).toBeUndefined();
  expect(because(look(old))).toBe(`its credentials were made at ${BEFORE}, and are to be made every 1h`);
  expect(because(look({ ...old, bound: { rotatedAtMs: undefined } }))).toContain("it does not say when");
});

test("a certificate's name has 64 characters at most; a password's is no user's", () => {
  const cluster = etcdOf();
  expect(orderOf(etcdUser({ name: "a".repeat(63) }), cluster).commonName).toBe(`binding:${"a".repeat(56)}`);
  expect(orderOf(etcdUser(byCertificate), cluster).commonName).toBe("app");
});

test("there is a pair where somebody here signs, and a certificate is asked for", () => {
  const open = { client: { verifyClients: false } };
  expect([etcdOf(), MANAGED, PLAIN, etcdOf(open)].map(issuerOf)).toEqual([
    "Operator",
    "CertManager",
    undefined,
    undefined,
  ]);
});

test("cert-manager is asked anew when the wish is another one, or somebody has changed what was asked", () => {
  const wanted = bindingRequest(etcdUser(), MANAGED);
  const live = born<Certificate>(wanted);
  expect(requestDiffers(live, wanted)).toBe(false);
  expect(requestDiffers({ ...live, spec: { ...live.spec!, commonName: "root" } }, wanted)).toBe(true);
  expect(requestDiffers({ ...live, metadata: { ...live.metadata, annotations: {} } }, wanted)).toBe(true);
});

const said = (given: UserSnapshot) => userStatus(given, planUser(given)).conditions?.[0]?.message;
const unbound = (with_: Partial<UserSnapshot>, cluster = etcdOf()) =>
  look({ cluster, bound: null, with: { found: absent, password: absent, ...with_ } });

test.each<[string, UserSnapshot, string]>([
  ["nobody to sign", unbound({ signer: absent }), "the authority that signs its certificate is not there yet"],
  ["a signer that could not be read", unbound({ signer: unknown("away") }), "who signs its certificate is not known: away"],
  ["an authority of no use", unbound({ signer: present(signerOf(undefined, { trouble: "it has no tls.key" })) }), "Secret my-etcd-client-ca is of no use: it has no tls.key"],
  ["nobody to trust", unbound({ trust: undefined }), "it is not known yet by whom members' certificates are signed"],
  ["a request of somebody else", unbound({ request: absent, signer: present(issuedFacts()) }, MANAGED), "cert-manager is asked for the certificate of Secret app-binding-tls"],
  ["a certificate of cert-manager's of no use", unbound({ signer: present(issuedFacts({ trouble: "it has no tls.key" })) }, MANAGED), "Secret app-binding-tls is of no use: it has no tls.key"],
  ["a certificate of another name", unbound({ signer: present(issuedFacts({ commonName: "shop" })) }, MANAGED), "cert-manager's certificate has the common name shop, and is to have binding:app; kubectl -n foo describe certificaterequests tells more"],
  ["one of no name", unbound({ signer: present(issuedFacts({ commonName: "" })) }, MANAGED), "cert-manager's certificate has another common name, and is to have binding:app; kubectl -n foo describe certificaterequests tells more"],
  ["nobody to trust where nobody here signs", unbound({ signer: absent, trust: undefined }, BROUGHT), "it is not known yet by whom members' certificates are signed"],
  ["cert-manager", unbound({ signer: absent }, MANAGED), "cert-manager has not issued its certificate yet; kubectl -n foo describe certificaterequests tells more"],
  ["a certificate of no use", look({ pair: { trouble: "t" }, with: { signer: absent } }), "the authority that signs its certificate is not there yet"],
  ["a certificate", look({ pair: null, with: { signer: absent } }), "the authority that signs its certificate is not there yet"],
  ["a user to be made", look({ ...byCertificate, claimed: false, with: { found: absent } }), "user app is about to be made"],
  ["one to be taken over", look({ claimed: false, spec: { takeOver: true } }), "user app is about to be taken over"],
  ["no TLS", look({ ...byCertificate, cluster: PLAIN }), "spec.authentication is Certificate; it must be Password, because of EtcdCluster my-etcd: clients do not speak TLS there (tls.client.provider is None)"],
  ["the end of its user", look({ deleting: true }), "user app is deleted in etcd with its EtcdUser"],
  ["its own end", look({ deleting: true, held: false }), "the user in etcd is gone"],
])("what is said of %s", (_, given, expected) => expect(said(given)).toBe(expected)); // biome-ignore format: a table

test("what is yet to be copied is waited for, while writing it rests", () => {
  const given = unbound({ signer: present(issuedFacts()) }, MANAGED);
  const rest = { because: "a quota says no", forMs: 1_000, isBrief: false };
  const plan = planUser(given, (rule) => (rule === "write-binding" ? rest : undefined));
  expect(plan).toMatchObject({ next: "wait", because: "its Secret is yet to be made" });
});

test("a pair of another name is made anew, whoever wrote it there", () => {
  expect(planUser(look({ pair: { commonName: "binding:app" } }))).toMatchObject({ next: "settled" });
  expect(planUser(look({ pair: { commonName: "root" } }))).toMatchObject({ next: "step", rule: "write-binding" });
});

test("cert-manager's own words are told, those that say what is wrong", () => {
  const draft = born<Certificate>(bindingRequest(etcdUser(), MANAGED));
  const conditions = [
    { type: "Ready", status: "False", message: "no issuer" },
    { type: "Issuing", status: "False", message: "denied" },
    { type: "Denied", status: "False", message: "not told" },
  ];
  const request = present({ ...draft, status: { conditions } });
  expect(said(unbound({ signer: absent, request }, MANAGED))).toBe(
    "cert-manager has not issued its certificate yet; cert-manager says: no issuer; denied; kubectl -n foo describe certificaterequests tells more",
  );
});

test("the status tells which credentials are good", () => {
  const told = (given: UserSnapshot) => userStatus(given, planUser(given));
  const from = { uid: "uid-of-app-binding", resourceVersion: "90" };
  expect(told(look())).toMatchObject({
    binding: { name: "app-binding" },
    lastRotation: BEFORE,
    passwordFrom: from,
    observedGeneration: 1,
  });
  for (const password of [present("differs" as const), absent]) {
    expect(told(look({ with: { password } }))).not.toHaveProperty("lastRotation");
    expect(told(look({ with: { password } }))).not.toHaveProperty("passwordFrom");
  }
  expect(told(look(byCertificate))).toMatchObject({
    lastRotation: BEFORE,
    certificate: { notAfter: "2026-03-22T12:00:00Z" },
  });
  expect(told(look(byCertificate))).not.toHaveProperty("passwordFrom");
  expect(told(look({ bound: { rotatedAtMs: undefined } }))).not.toHaveProperty("lastRotation");
  expect(told(look({ bound: { ownerUid: "other" } }))).not.toHaveProperty("binding");
});

const UNASKING = etcdOf({ client: { ...BROUGHT.spec.tls!.client, verifyClients: false } });

/** All its members run what it asks for. */
function arrived(cluster: EtcdCluster, is: "True" | "False" = "True", type = "UpToDate"): EtcdCluster {
  const condition = {
    type,
    status: is,
    reason: "UpToDate",
    message: "",
    observedGeneration: 1,
    lastTransitionTime: AT,
  };
  return {
    ...cluster,
    metadata: { ...cluster.metadata, generation: 1 },
    status: { ...cluster.status, conditions: [condition] },
  };
}

const paired = (given: Parameters<typeof look>[0] = {}) => {
  const issued = look().binding;
  const binding = issued.is === "present" ? present({ ...issued.value, ...given.bound, certificate: issued.value.certificate && { ...issued.value.certificate, ...given.pair } }) : absent; // biome-ignore format: one line
  return look({ cluster: BROUGHT, ...given, with: { binding, ...given.with } });
};

test.each<[string, UserSnapshot, string | undefined]>([
  ["while a member believes it", paired(), undefined],
  ["also when the rest is written anew", paired({ bound: { texts: {} } }), "keep"],
  ["not when no member believes it", paired({ with: { isBelieved: false } }), "none"],
  ["a moment before its end", paired({ pair: { notAfterMs: Date.parse(AT) + 1 } }), undefined],
  ["not when it has ended", paired({ pair: { notAfterMs: Date.parse(AT) } }), "none"],
  ["not when it is of no use", paired({ pair: { trouble: "t" } }), "none"],
  ["also when all members run what is asked for", paired({ cluster: arrived(BROUGHT) }), undefined],
  ["while TLS is to go that asks for nothing", paired({ cluster: arrived(etcdOf({ client: { provider: "None", verifyClients: false } })) }), "keep"],
  ["not when no member asks for it any more", paired({ cluster: arrived(UNASKING) }), "none"],
  ["while members come to ask for none", paired({ cluster: UNASKING }), undefined],
  ["while nobody has looked at that wish", paired({ cluster: { ...arrived(UNASKING), metadata: { ...UNASKING.metadata, generation: 2 } } }), undefined],
  ["while members do not run what is asked for", paired({ cluster: arrived(UNASKING, "False") }), undefined],
  ["whatever else is known", paired({ cluster: arrived(UNASKING, "True", "Ready") }), undefined],
  ["while some member still speaks TLS that is to go", paired({ cluster: arrived(PLAIN) }), "keep"],
  ["not without TLS", paired({ cluster: PLAIN, with: { isBelieved: false } }), "none"],
  ["none is made", look({ cluster: BROUGHT, bound: null }), "none"],
  ["one that was taken out is not missed", look({ cluster: BROUGHT }), undefined],
])("where nobody here makes another one, the pair of a binding is kept: %s", (_, snapshot, pair) => {
  expect(bindingWish(snapshot)?.pair).toBe(pair);
}); // biome-ignore format: a table

const trusting = (trusted: readonly (typeof OWN)[], phase = "Running") =>
  born<Pod>({
    metadata: { name: "a-abcde", annotations: { [CLIENT_TRUST_ANNOTATION]: bundle(...trusted) } },
    spec: { hostname: "a" },
    status: { phase },
  } as never);
const bare = born<Pod>({ metadata: { name: "bare" } } as never);

test.each<[string, readonly Pod[], Parameters<typeof isBelieved>[1], boolean]>([
  ["a member that trusts its signer", [trusting([OWN])], signerOf(), true],
  ["one of two", [trusting([NEXT]), trusting([NEXT, OWN])], signerOf(), true],
  ["none of two", [trusting([NEXT]), bare], signerOf(), false],
  ["nobody", [], signerOf(), false],
  ["nobody, what is not there", [trusting([OWN])], undefined, false],
  ["nobody, what has no signer", [trusting([OWN])], signerOf(OWN, { signerId: undefined }), false],
  ["no pod that has failed", [trusting([OWN], "Failed"), trusting([NEXT])], signerOf(), false],
  ["nor one that has ended well", [trusting([OWN], "Succeeded")], signerOf(), false],
])("a pair is believed by %s", (_, pods, certificate, is) => expect(isBelieved(pods, certificate)).toBe(is)); // biome-ignore format: a table

test.each<[string, readonly Pod[], readonly string[]]>([
  ["who trusts the authority", [trusting([OWN, NEXT])], []],
  ["who trusts another one", [trusting([OWN]), trusting([NEXT])], ["a"]],
  ["who says nothing", [bare], ["bare"]],
  ["not what is left of a pod that was evicted", [trusting([OWN], "Failed"), trusting([OWN], "Succeeded"), trusting([NEXT])], []],
])("of members, these doubt whom an authority signs: %s", (_, pods, names) => {
  expect(doubtersOf(pods, signerOf(NEXT), true)).toEqual(names);
}); // biome-ignore format: a table

describe("of each member the pod counts", () => {
  const made = (name: string, at: string, more: object = {}) => {
    const { spec, ...rest } = trusting([OWN]);
    return { ...rest, metadata: { ...rest.metadata, name: `${name}-${at}`, creationTimestamp: `2026-01-01T${at}:00:00Z`, ...more }, spec: { ...spec, hostname: name } } as Pod;
  }; // biome-ignore format: one object
  const LOST = { deletionTimestamp: AT };
  const [old, young] = [made("a", "08", LOST), made("a", "09")];
  const [later, other] = [made("a", "10", LOST), made("b", "08")];

  test.each<[string, readonly Pod[], readonly Pod[]]>([
    ["that follows one which cannot end", [old, young, other], [young, other]],
    ["that is not about to end, whichever is the younger one", [later, young], [young]],
    ["that is about to end, as long as no other one follows it", [old], [old]],
    ["of nobody without an EtcdPeer", [made("gone", "08", LOST), made("gone", "09"), other], [other]],
  ])("%s", (_, pods, expected) => {
    expect(memberPods(pods, (name) => name !== "gone")).toEqual(expected);
  });
});

test("a Secret that is not there is told no more", () => {
  const binding = { name: "app-binding", trusts: ["a"], signedBy: "a" };
  const status = { binding, certificate: { notAfter: BEFORE }, lastRotation: BEFORE };
  const told = (given: Parameters<typeof look>[0]) => {
    const snapshot = look({ ...given, status });
    return userStatus(snapshot, planUser(snapshot));
  };
  for (const gone of [told({ bound: null }), told({ bound: { ownerUid: "other" } })]) {
    expect(gone).not.toHaveProperty("binding");
    expect(gone).not.toHaveProperty("certificate");
    expect(gone).toMatchObject({ lastRotation: BEFORE, userName: "app" });
  }
  expect(told({ with: { binding: unknown("away") } })).toMatchObject({ binding, certificate: status.certificate });
  expect(told({ pair: null })).not.toHaveProperty("certificate");
});

test("while its Secret is refused, that is waited for", () => {
  expect(awaitCertificate.decide(unbound({}))).toMatchObject({ because: "its Secret is yet to be made" });
});
