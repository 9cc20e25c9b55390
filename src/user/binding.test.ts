import { describe, expect, test } from "vitest";
import { CLIENT_TRUST_ANNOTATION, ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, etcdUser, issuedFacts, NEXT, OWN, signerOf, userLook } from "#kit/snapshots/access.ts";
import { born } from "#kit/snapshots/cluster.ts";
import { bundle, CORP, RENEWED } from "#kit/snapshots/cluster-tls.ts";
import type { Certificate, Pod } from "#kube/kinds.ts";
import { issuerOf, madeForOf, orderOf, rotationDue } from "#user/credentials.ts";
import { bindingWish, trustWish } from "#user/desired/binding.ts";
import { bindingRequest, requestDiffers } from "#user/desired/request.ts";
import { isBelieved, memberPods, membersRejecting } from "#user/facts.ts";
import { planUser } from "#user/plan.ts";
import { awaitCertificate, publishTrust } from "#user/rules/binding.ts";
import { ownBinding, type UserSnapshot } from "#user/snapshot.ts";
import { userStatus } from "#user/status.ts";

const look = userLook;
const byCertificate = { spec: { authentication: { type: "Certificate" } } };
const CERT_MANAGER = { client: { provider: "CertManager", certManager: { issuerRef: { name: "ca" } } } };
const MANAGED = etcdOf(CERT_MANAGER);
const BROUGHT = etcdOf({
  client: { provider: "Secret", secret: { server: { name: "a" }, operator: { name: "b" } } },
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
  ["are set in a new Secret", look({ bound: null }), [AT, undefined]],
  ["are changed when the rotation annotation is set", look(asks), [AT, "1"]],
  ["stay when only a key of the Secret has changed", look({ ...asks, bound: { texts: {}, rotatedFor: "1" } }), [BEFORE, "1"]],
  ["stay when only the certificate is replaced", look({ pair: { trouble: "t" }, bound: { rotatedFor: "0" } }), [BEFORE, "0"]],
  ["have a value with half of a character replaced", look({ annotations: { [ROTATE_CREDENTIALS_ANNOTATION]: `${"x".repeat(252)}😀` } }), [AT, `${"x".repeat(252)}\ufffd`]],
  ["are changed for an issued certificate with authentication Certificate", look({ ...byCertificate, ...asks }), [AT, "1"]],
  ["are changed for a copied certificate with authentication Certificate", look({ ...byCertificate, cluster: MANAGED, with: { signer: present(issuedFacts({ fingerprint: "n", commonName: "app" })) } }), [AT, undefined]],
  ["stay with authentication Certificate when only a key of the Secret has changed", look({ ...byCertificate, bound: { texts: {}, rotatedFor: "0" } }), [BEFORE, "0"]],
])("annotations rotated-at and rotated-for %s", (_, snapshot, expected) => {
  expect(marks(snapshot)).toEqual(expected);
}); // biome-ignore format: a table

test("the Secret is owned by its EtcdUser and records what its certificate was issued for", () => {
  const { metadata, type } = bindingWish(look({ bound: null }))?.draft ?? {};
  expect([type, metadata?.name]).toEqual(["servicebinding.io/etcd", "app-binding"]);
  expect(metadata?.ownerReferences).toMatchObject([
    { kind: "EtcdUser", name: "app", uid: "uid-of-app", controller: true },
  ]);
  expect(metadata?.annotations).toHaveProperty(["etcd.improbable.io/applied-hash"]);
  const plain = bindingWish(look({ bound: null, cluster: PLAIN }))?.draft.metadata.annotations;
  expect(plain).not.toHaveProperty(["etcd.improbable.io/applied-hash"]);
});

test("a certificate keeps the record of what it was issued for until a trusted CA can replace it", () => {
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

test("the status lists the CAs in the Secret and the CA that signed its certificate", () => {
  const shown = (snapshot: UserSnapshot) => userStatus(snapshot, planUser(snapshot)).binding;
  const name = "app-binding";
  expect(shown(look())).toEqual({ name, trusts: [OWN.id], signedBy: OWN.id });
  const both = { trustIds: [OWN.id, NEXT.id] };
  expect(shown(look({ bound: both, pair: { signerId: NEXT.id } }))).toEqual({ name, trusts: both.trustIds, signedBy: NEXT.id }); // biome-ignore format: one line
  expect(shown(look({ pair: null }))).toStrictEqual({ name, trusts: [OWN.id] });
  expect(shown(look({ cluster: PLAIN }))).toEqual({ name, trusts: [] });
  const before = { name: "app-binding", trusts: ["a"], signedBy: "a" };
  expect(shown(look({ status: { binding: before }, with: { binding: unknown("silent") } }))).toEqual(before);
});

describe("the binding of a refused EtcdUser", () => {
  const BOTH = bundle(OWN, NEXT);
  const texts = { ...bindingWish(look({ bound: null }))?.texts, username: "as it was", "tls.crt": "a certificate" };
  const its = { texts, hasPassword: false };
  /** A refused EtcdUser: the operator created its binding before the cluster switched to provider Secret. */
  const refused = (given: Parameters<typeof userLook>[0] = {}) => {
    const { binding } = look({ ...byCertificate, bound: its, pair: { madeFor: "earlier" }, ...given });
    const cluster = "cluster" in given ? given.cluster : BROUGHT;
    return look({ ...byCertificate, cluster, with: { binding, trust: BOTH, ...given.with } });
  };

  test("keeps its certificate and the record of what it was issued for", () => {
    const { "tls.crt": _, ...others } = texts;
    expect(trustWish(refused())).toMatchObject({
      because: "ca.crt is outdated",
      password: "none",
      pair: "keep",
      texts: { ...others, "ca.crt": BOTH, certificates: BOTH },
      draft: { metadata: { name: "app-binding", annotations: { "etcd.improbable.io/applied-hash": "earlier" } } },
    });
    expect(trustWish(refused())?.texts).not.toHaveProperty(["tls.crt"]);
  });

  test("keeps its password, and gets no certificate", () => {
    const given = { bound: { texts, hasPassword: true }, pair: null };
    const wish = trustWish(refused(given));
    expect(wish).toMatchObject({ password: "keep", pair: "none" });
    expect(wish?.draft.metadata.annotations).not.toHaveProperty(["etcd.improbable.io/applied-hash"]);
  });

  test.each([
    [
      "is not written when ca.crt is up to date",
      refused({ bound: { texts: { ...texts, "ca.crt": BOTH }, hasPassword: false } }),
    ],
    ["is not written while the CAs are not known", refused({ with: { trust: undefined } })],
    ["is not written when it has no ca.crt", refused({ bound: { texts: { username: "app" }, hasPassword: false } })],
    ["is not created", refused({ bound: null })],
    ["is not written when the Secret has another owner", refused({ bound: { ...its, ownerUid: "other" } })],
    ["is not written when the cluster does not exist", refused({ cluster: undefined })],
  ])("%s", (_, given) => expect(trustWish(given)).toBeUndefined());

  test("is written by rule publish-trust, which ignores an accepted EtcdUser", () => {
    expect(publishTrust.decide(look({ with: { trust: BOTH } }))).toBeUndefined();
    expect(publishTrust.decide(refused())).toMatchObject({ step: { do: "writeBinding" } });
  });
});

test("the Secret contains the cluster's address, and its CAs if the cluster uses TLS", () => {
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

test("an unknown key of the Secret is removed", () => {
  const { texts } = ownBinding(look())!;
  expect(bindingWish(look({ bound: { texts: { ...texts, more: "x" } } }))?.because).toBe(
    "these keys are outdated: more",
  );
});

test("an unusable or missing certificate is replaced even if a member does not trust the new CA", () => {
  const doubted = { doubters: ["my-etcd-0"], signer: present(signerOf(NEXT)) };
  expect(bindingWish(look({ pair: { trouble: "t" }, with: doubted }))?.pair).toBe("issue");
  expect(bindingWish(look({ pair: { trouble: "t" }, with: { signer: absent } }))).toBeUndefined();
  expect(bindingWish(look({ bound: null, with: doubted }))?.pair).toBe("issue");
});

test("a certificate is not replaced when its CA has several certificates, in any order", () => {
  const trust = bundle(CORP, RENEWED);
  const signer = present(signerOf(RENEWED, { trust, trustIds: [CORP.id, RENEWED.id] }));
  const by = (id: string | undefined) =>
    bindingWish(look({ pair: { signerId: id, trust }, with: { signer } }))?.because;
  expect([by(CORP.id), by(RENEWED.id)]).toEqual([undefined, undefined]);
  expect(by(undefined)).toBe("the CA has changed");
  expect(bindingWish(look({ with: { signer } }))?.because).toBe("the CA has changed");
});

test("the message of a rotation has the creation time and spec.rotation.every", () => {
  const old = { spec: { rotation: { every: "1h" } } };
  const because = (snapshot: UserSnapshot) => rotationDue(snapshot, ownBinding(snapshot)!);
  expect(because(look({ bound: { rotatedFor: "1" } }))).toBeUndefined();
  expect(because(look(old))).toBe(`its credentials were created at ${BEFORE}, and spec.rotation.every is 1h`);
  expect(because(look({ ...old, bound: { rotatedAtMs: undefined } }))).toContain("at an unknown time");
});

test("a certificate has the user's name as its common name, and none with a password", () => {
  const cluster = etcdOf();
  expect(orderOf(etcdUser(byCertificate), cluster)).toMatchObject({ commonName: "app", names: [] });
  expect(orderOf(etcdUser(), cluster)).toMatchObject({ commonName: undefined, names: ["binding.my-etcd.foo.svc"] });
  expect(bindingRequest(etcdUser(), MANAGED).spec).toMatchObject({ dnsNames: ["binding.my-etcd.foo.svc"] });
  expect(bindingRequest(etcdUser(), MANAGED).spec).not.toHaveProperty("commonName");
  expect(bindingRequest(etcdUser(byCertificate), MANAGED).spec).not.toHaveProperty("dnsNames");
});

test("a certificate with a common name that an earlier release issued for a password user is replaced", () => {
  const earlier = { commonName: "binding:app", madeFor: "earlier" };
  expect(bindingWish(look({ pair: earlier }))).toMatchObject({ password: "keep", pair: "issue" });
  expect(bindingWish(look({ pair: earlier, with: { doubters: ["my-etcd-0"] } }))).toBeUndefined();
});

test("a binding has a certificate if the provider issues certificates and etcd verifies clients", () => {
  const open = { client: { clientCertificates: "NotRequired" } };
  expect([etcdOf(), MANAGED, PLAIN, etcdOf(open)].map(issuerOf)).toEqual([
    "Operator",
    "CertManager",
    undefined,
    undefined,
  ]);
});

test("the Certificate is updated when the spec has changed, or a user has edited the Certificate", () => {
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
  ["a missing CA", unbound({ signer: absent }), "the CA that signs its certificate does not exist yet"],
  ["a CA that could not be read", unbound({ signer: unknown("away") }), "the CA of its certificate could not be read: away"],
  ["an unusable CA", unbound({ signer: present(signerOf(undefined, { trouble: "it has no tls.key" })) }), "Secret my-etcd-client-ca is unusable: it has no tls.key"],
  ["unknown CAs", unbound({ trust: undefined }), "the CA of the members' certificates is not known yet"],
  ["a Certificate that does not exist yet", unbound({ request: absent, signer: present(issuedFacts()) }, MANAGED), "cert-manager is to issue the certificate in Secret app-binding-tls"],
  ["an unusable certificate of cert-manager", unbound({ signer: present(issuedFacts({ trouble: "it has no tls.key" })) }, MANAGED), "Secret app-binding-tls is unusable: it has no tls.key"],
  ["a certificate with another common name", unbound({ signer: present(issuedFacts({ commonName: "shop" })) }, MANAGED), "cert-manager's certificate has the common name shop, and must have none; kubectl -n foo describe certificaterequests shows more"],
  ["a certificate of another user", look({ ...byCertificate, cluster: MANAGED, bound: null, with: { signer: present(issuedFacts({ commonName: "shop" })) } }), "cert-manager's certificate has the common name shop, and must have app; kubectl -n foo describe certificaterequests shows more"],
  ["a common name that cannot be read", unbound({ signer: present(issuedFacts({ commonName: undefined })) }, MANAGED), "cert-manager's certificate has another common name, and must have none; kubectl -n foo describe certificaterequests shows more"],
  ["unknown CAs with provider Secret", unbound({ signer: absent, trust: undefined }, BROUGHT), "the CA of the members' certificates is not known yet"],
  ["a Certificate that is not issued yet", unbound({ signer: absent }, MANAGED), "cert-manager has not issued its certificate yet; kubectl -n foo describe certificaterequests shows more"],
  ["an unusable certificate", look({ pair: { trouble: "t" }, with: { signer: absent } }), "the CA that signs its certificate does not exist yet"],
  ["a missing certificate", look({ pair: null, with: { signer: absent } }), "the CA that signs its certificate does not exist yet"],
  ["a user that is about to be created", look({ ...byCertificate, claimed: false, with: { found: absent } }), "user app is about to be created"],
  ["a user that is about to be taken over", look({ claimed: false, spec: { takeOver: true } }), "user app is about to be taken over"],
  ["authentication by certificate without TLS", look({ ...byCertificate, cluster: PLAIN }), "spec.authentication.type is Certificate; it must be Password, because of EtcdCluster my-etcd: clients do not use TLS (tls.client.provider is None)"],
  ["a deletion that removes the user", look({ deleting: true }), "user app is deleted in etcd with its EtcdUser"],
  ["a deletion without our finalizer", look({ deleting: true, held: false }), "the user is deleted in etcd"],
])("the message of condition Ready for %s", (_, given, expected) => expect(said(given)).toBe(expected)); // biome-ignore format: a table

test("the plan waits for the Secret while writing it is refused", () => {
  const given = unbound({ signer: present(issuedFacts()) }, MANAGED);
  const rest = { because: "a quota refuses it", forMs: 1_000, isBrief: false };
  const plan = planUser(given, (rule) => (rule === "write-binding" ? rest : undefined));
  expect(plan).toMatchObject({ next: "wait", because: "its Secret is not created yet" });
});

test("a certificate with another common name is replaced, even in the EtcdUser's own Secret", () => {
  expect(planUser(look({ pair: { commonName: "" } }))).toMatchObject({ next: "settled" });
  expect(planUser(look({ pair: { commonName: "root" } }))).toMatchObject({ next: "step", rule: "write-binding" });
});

test("the message repeats the Certificate's failed conditions Ready and Issuing", () => {
  const draft = born<Certificate>(bindingRequest(etcdUser(), MANAGED));
  const conditions = [
    { type: "Ready", status: "False", message: "no issuer" },
    { type: "Issuing", status: "False", message: "denied" },
    { type: "Denied", status: "False", message: "not told" },
  ];
  const request = present({ ...draft, status: { conditions } });
  expect(said(unbound({ signer: absent, request }, MANAGED))).toBe(
    "cert-manager has not issued its certificate yet; cert-manager reports: no issuer; denied; kubectl -n foo describe certificaterequests shows more",
  );
});

test("the status records only credentials that work", () => {
  const shown = (given: UserSnapshot) => userStatus(given, planUser(given));
  const from = { uid: "uid-of-app-binding", resourceVersion: "90" };
  expect(shown(look())).toMatchObject({
    binding: { name: "app-binding" },
    lastRotationTime: BEFORE,
    passwordFrom: from,
    observedGeneration: 1,
  });
  for (const password of [present("differs" as const), absent]) {
    expect(shown(look({ with: { password } }))).not.toHaveProperty("lastRotationTime");
    expect(shown(look({ with: { password } }))).not.toHaveProperty("passwordFrom");
  }
  expect(shown(look(byCertificate))).toMatchObject({
    lastRotationTime: BEFORE,
    certificate: { notAfter: "2026-03-22T12:00:00Z" },
  });
  expect(shown(look(byCertificate))).not.toHaveProperty("passwordFrom");
  expect(shown(look({ bound: { rotatedAtMs: undefined } }))).not.toHaveProperty("lastRotationTime");
  expect(shown(look({ bound: { ownerUid: "other" } }))).not.toHaveProperty("binding");
});

const UNASKING = etcdOf({ client: { ...BROUGHT.spec.tls!.client, clientCertificates: "NotRequired" } });

/** The cluster with condition UpToDate: all members run its spec. */
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
  ["stays while a member trusts it", paired(), undefined],
  ["stays when the rest of the Secret is written", paired({ bound: { texts: {} } }), "keep"],
  ["is removed when no member trusts it", paired({ with: { isBelieved: false } }), "none"],
  ["stays until just before it expires", paired({ pair: { notAfterMs: Date.parse(AT) + 1 } }), undefined],
  ["is removed when it has expired", paired({ pair: { notAfterMs: Date.parse(AT) } }), "none"],
  ["is removed when it is unusable", paired({ pair: { trouble: "t" } }), "none"],
  ["stays when all members run the spec", paired({ cluster: arrived(BROUGHT) }), undefined],
  ["stays while TLS without client verification is being removed", paired({ cluster: arrived(etcdOf({ client: { provider: "None", clientCertificates: "NotRequired" } })) }), "keep"],
  ["is removed once no member verifies clients", paired({ cluster: arrived(UNASKING) }), "none"],
  ["stays while members restart without client verification", paired({ cluster: UNASKING }), undefined],
  ["stays while UpToDate is of an earlier generation", paired({ cluster: { ...arrived(UNASKING), metadata: { ...UNASKING.metadata, generation: 2 } } }), undefined],
  ["stays while some members do not run the spec yet", paired({ cluster: arrived(UNASKING, "False") }), undefined],
  ["stays whatever other conditions are True", paired({ cluster: arrived(UNASKING, "True", "Ready") }), undefined],
  ["stays while a member still serves TLS that is being removed", paired({ cluster: arrived(PLAIN) }), "keep"],
  ["is removed when the cluster has no TLS", paired({ cluster: PLAIN, with: { isBelieved: false } }), "none"],
  ["is not added to a new binding", look({ cluster: BROUGHT, bound: null }), "none"],
  ["is not added when it was removed", look({ cluster: BROUGHT }), undefined],
])("a certificate that is no longer renewed %s", (_, snapshot, pair) => {
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
  ["is trusted by a member that trusts its CA", [trusting([OWN])], signerOf(), true],
  ["is trusted when one member of two trusts its CA", [trusting([NEXT]), trusting([NEXT, OWN])], signerOf(), true],
  ["is not trusted by two members that trust other CAs or none", [trusting([NEXT]), bare], signerOf(), false],
  ["is not trusted without members", [], signerOf(), false],
  ["is not trusted when the binding has none", [trusting([OWN])], undefined, false],
  ["is not trusted when its CA is unknown", [trusting([OWN])], signerOf(OWN, { signerId: undefined }), false],
  ["is not trusted by a pod that has failed", [trusting([OWN], "Failed"), trusting([NEXT])], signerOf(), false],
  ["is not trusted by a pod that has succeeded", [trusting([OWN], "Succeeded")], signerOf(), false],
])("a binding's certificate %s", (_, pods, certificate, is) => expect(isBelieved(pods, certificate)).toBe(is)); // biome-ignore format: a table

test.each<[string, readonly Pod[], readonly string[]]>([
  ["none when all members trust the CA", [trusting([OWN, NEXT])], []],
  ["the member that trusts only another CA", [trusting([OWN]), trusting([NEXT])], ["a"]],
  ["the member with a pod that has no trust annotation", [bare], ["bare"]],
  ["none of the pods that have ended", [trusting([OWN], "Failed"), trusting([OWN], "Succeeded"), trusting([NEXT])], []],
])("members that reject a CA's certificates: %s", (_, pods, names) => {
  expect(membersRejecting(pods, signerOf(NEXT), true)).toEqual(names);
}); // biome-ignore format: a table

describe("the pod that counts for the trust of a member is", () => {
  const made = (name: string, at: string, more: object = {}) => {
    const { spec, ...rest } = trusting([OWN]);
    return { ...rest, metadata: { ...rest.metadata, name: `${name}-${at}`, creationTimestamp: `2026-01-01T${at}:00:00Z`, ...more }, spec: { ...spec, hostname: name } } as Pod;
  }; // biome-ignore format: one object
  const LOST = { deletionTimestamp: AT };
  const [old, young] = [made("a", "08", LOST), made("a", "09")];
  const [later, other] = [made("a", "10", LOST), made("b", "08")];

  test.each<[string, readonly Pod[], readonly Pod[]]>([
    ["the new pod, not a pod that cannot end", [old, young, other], [young, other]],
    ["the pod that is not terminating, even if it is older", [later, young], [young]],
    ["the terminating pod when there is no other", [old], [old]],
    ["none when the member has no EtcdPeer", [made("gone", "08", LOST), made("gone", "09"), other], [other]],
  ])("%s", (_, pods, expected) => {
    expect(memberPods(pods, (name) => name !== "gone")).toEqual(expected);
  });
});

test("a Secret that was deleted or has another owner is removed from the status", () => {
  const binding = { name: "app-binding", trusts: ["a"], signedBy: "a" };
  const status = { binding, certificate: { notAfter: BEFORE }, lastRotationTime: BEFORE };
  const shown = (given: Parameters<typeof look>[0]) => {
    const snapshot = look({ ...given, status });
    return userStatus(snapshot, planUser(snapshot));
  };
  for (const gone of [shown({ bound: null }), shown({ bound: { ownerUid: "other" } })]) {
    expect(gone).not.toHaveProperty("binding");
    expect(gone).not.toHaveProperty("certificate");
    expect(gone).toMatchObject({ lastRotationTime: BEFORE, userName: "app" });
  }
  expect(shown({ with: { binding: unknown("away") } })).toMatchObject({ binding, certificate: status.certificate });
  expect(shown({ pair: null })).not.toHaveProperty("certificate");
});

test("the plan waits when the Secret is not created yet", () => {
  expect(awaitCertificate.decide(unbound({}))).toMatchObject({ because: "its Secret is not created yet" });
});
