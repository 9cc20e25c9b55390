import { describe, expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import { missing } from "#cluster/readiness/hindrance.ts";
import type { ClusterSnapshot, LeafPurpose, SeenBinding, SeenCertificate } from "#cluster/snapshot.ts";
import { providerChanges } from "#cluster-tls/change/provider-change.ts";
import { caRotationBlocked } from "#cluster-tls/change/rules/ca-rotation-blocked.ts";
import { rotateCa } from "#cluster-tls/change/rules/rotate-ca.ts";
import { tlsReady } from "#cluster-tls/check/tls-ready.ts";
import { BindingTimes } from "#cluster-tls/read/binding-times.ts";
import { etcdOf, etcdUser } from "#kit/snapshots/access.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { boundTo } from "#kit/snapshots/bindings.ts";
import { DAY_MS } from "#kit/snapshots/certificates.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { withAuth } from "#kit/snapshots/cluster-auth.ts";
import { bundle, NEXT, OWN, running, secured, THEIRS, withMade } from "#kit/snapshots/cluster-tls.ts";
import { LONG, ofThree, ofTwo, over, seenToo, telling, told, turnedClients } from "#kit/snapshots/provider-change.ts";
import { stageOf } from "#kit/snapshots/tls-stage.ts";
import { phaseOf, rotationWait } from "./ca-rotation.ts";

const both = bundle(OWN, NEXT);
const LEAVES = { server: { trust: both }, operator: { trust: both }, application: { trust: both } };
const SIGNED = { server: { by: NEXT, trust: both }, operator: { by: NEXT, trust: both }, application: { by: NEXT, trust: both } }; // biome-ignore format: one line

/** The new CA is ready to sign, or the old one to be dropped, except for the bindings. */
const added = begin(secured())
  .apply(withMade, { clientCA: { next: NEXT }, ...LEAVES })
  .apply(running).snapshot;
const switched = begin(added)
  .apply(withMade, { clientCA: { by: NEXT, trust: both }, ...SIGNED })
  .apply(running).snapshot;

const with_ = (snapshot: ClusterSnapshot, ...bindings: readonly Partial<SeenBinding>[]) =>
  seenToo(snapshot, { bindings: bindings.map(boundTo) });

const OF_BOTH = { trustIds: [OWN.id, NEXT.id] };
const RENEWED = { ...OF_BOTH, signerId: NEXT.id };
const SIGNS = "CA in Secret my-etcd-client-ca: before the new CA signs, ";
const DROPS = "CA in Secret my-etcd-client-ca: before the old CA is no longer trusted, ";
const TELL = "to list the new CA in ca.crt for 150 s";
const HAVE = "to have a certificate of the current CA for 150 s";
const LOSE = "to lose tls.crt and tls.key, which the previous CA signed: remove them once no application uses them"; // biome-ignore format: one line
const its = "Secret shop-binding of EtcdUser shop";
/** The current CA expires in half a year and this much, and the old one is still trusted. */
const endingLater = (more: number) =>
  withMade(switched, { clientCA: { by: NEXT, trust: both, lastsMs: (365 * DAY_MS) / 2 + more } });
/** The old CA expires in half a year and this much. */
const ending = (more: number) => withMade(added, { clientCA: { next: NEXT, lastsMs: (365 * DAY_MS) / 2 + more } });

/** The certificates of members, operator and applications have been known this long. */
function knownFor(snapshot: ClusterSnapshot, times: Partial<SeenCertificate>, ...purposes: readonly LeafPurpose[]) {
  const seen = purposes.flatMap((purpose) => {
    const found = snapshot.certificates?.[purpose];
    return found?.is === "present" ? [[purpose, present({ ...found.value, ...times })]] : [];
  });
  return seenToo(snapshot, Object.fromEntries(seen));
}

const sinceHour = (snapshot: ClusterSnapshot) =>
  knownFor(snapshot, { knownForMs: 3_600_000 }, "server", "operator", "application");

const rotations: [name: string, given: ClusterSnapshot, phase: string | undefined, why?: string][] = [
  ["the new CA signs when there are no bindings", added, "switch"],
  ["the old CA is dropped when there are no bindings", switched, "drop"],
  ["the new CA signs when a binding trusts both CAs", with_(added, OF_BOTH), "switch"],
  ["the new CA signs when a binding trusts only the new CA", with_(added, { trustIds: [NEXT.id] }), "switch"],
  ["the new CA does not sign while a binding does not trust it", with_(added, {}), undefined, `${SIGNS}${its} has ${TELL}`],
  ["the new CA signs when a binding was created after all bundles had the new CA", with_(sinceHour(added), { ...OF_BOTH, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), "switch"],
  ["the new CA does not sign when clock skew may make a new binding look later than the bundles", with_(sinceHour(added), { ...OF_BOTH, knownForMs: 0, madeAtMs: NOW - 3_540_001 }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["the new CA does not sign when a binding was created before the last bundle had the new CA", with_(withMade(sinceHour(added), { application: { trust: both, knownForMs: 3_599_999 } }), { ...OF_BOTH, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["the new CA does not sign when the content of a new binding has just changed", with_(sinceHour(added), { ...OF_BOTH, knownForMs: 0, madeAtMs: undefined }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["the new CA does not sign while a binding that was created later does not trust it", with_(sinceHour(added), { knownForMs: 0, madeAtMs: NOW }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["the old CA is dropped when a binding was created after all certificates were from the new CA", with_(sinceHour(switched), { ...RENEWED, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), "drop"],
  ["the old CA is not dropped when a binding was created before all certificates were from the new CA", with_(sinceHour(switched), { ...RENEWED, knownForMs: 0, madeAtMs: NOW - 3_540_001 }), undefined, `${DROPS}${its} has ${HAVE}`],
  ["the new CA does not sign while a binding has trusted it for less than 150 s", with_(added, { ...OF_BOTH, knownForMs: 149_999 }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["the new CA does not sign while one of two bindings does not trust it", with_(added, OF_BOTH, { user: "cart", secretName: "cart-binding" }), undefined, `${SIGNS}Secret cart-binding of EtcdUser cart has ${TELL}`],
  ["the new CA does not sign while two bindings do not trust it", with_(added, {}, { user: "cart", secretName: "cart-binding" }), undefined, `${SIGNS}${its}, Secret cart-binding of EtcdUser cart have ${TELL}`],
  ["the new CA does not sign while the Secret of a binding cannot be written", with_(added, { reason: "StepRefused" }), undefined, `${SIGNS}${its} (StepRefused) has ${TELL}`],
  ["the new CA does not sign while the binding of a refused EtcdUser does not trust it", with_(added, { reason: "SpecRefused" }), undefined, `${SIGNS}${its} (SpecRefused) has ${TELL}`],
  ["the old CA is dropped although the binding of a refused EtcdUser keeps its old certificate", with_(switched, { ...OF_BOTH, reason: "SpecRefused" }), "drop"],
  ["the new CA does not sign while the CAs in a binding are unknown", with_(added, { trustIds: undefined }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["the new CA signs when a binding has no TLS", with_(added, { trustIds: [], knownForMs: 0 }), "switch"],
  ["the new CA signs without waiting for a binding when half a year of the old CA remains", with_(ending(0), {}), "switch"],
  ["the new CA does not sign while a binding does not trust it and more than half a year remains", with_(ending(1), {}), undefined, `${SIGNS}${its} has ${TELL}`],
  ["the old CA is dropped when all bindings have certificates of the new CA", with_(switched, RENEWED), "drop"],
  ["the old CA is not dropped while a binding has one of its certificates", with_(switched, OF_BOTH), undefined, `${DROPS}${its} has ${HAVE}`],
  ["the old CA is not dropped while a binding has had its new certificate for less than 150 s", with_(switched, { ...RENEWED, knownForMs: 149_999 }), undefined, `${DROPS}${its} has ${HAVE}`],
  ["the old CA is dropped when a binding has no certificate", with_(switched, { ...OF_BOTH, signerId: undefined }), "drop"],
  ["the old CA is not dropped while the certificate in a binding is unknown", with_(switched, { trustIds: undefined, signerId: undefined }), undefined, `${DROPS}${its} has ${HAVE}`],
  ["the old CA is dropped without waiting for a binding when half a year of the current CA remains", with_(endingLater(0), OF_BOTH), "drop"],
  ["the old CA is not dropped while a binding uses it and more than half a year remains", with_(endingLater(1), OF_BOTH), undefined, `${DROPS}${its} has ${HAVE}`],
  ["the old CA is dropped when the certificate of a binding has expired", with_(switched, { ...OF_BOTH, notAfterMs: NOW }), "drop"],
  ["the old CA is not dropped while the certificate of a binding is about to expire", with_(switched, { ...OF_BOTH, notAfterMs: NOW + 1 }), undefined, `${DROPS}${its} has ${HAVE}`],
  ["the old CA is not dropped while the expiry of a binding's certificate is unknown", with_(switched, { ...OF_BOTH, notAfterMs: undefined }), undefined, `${DROPS}${its} has ${HAVE}`],
]; // biome-ignore format: a table

describe("a CA rotation with bindings of EtcdUsers:", () => {
  test.each(rotations)("%s", (_, given, phase, why) => {
    expect(phaseOf(given, "client")?.phase).toBe(phase);
    expect(rotationWait(given, "client")).toBe(why);
    expect(rotateCa.decide(given)?.next).toBe(phase === undefined ? undefined : "step");
    const message = tlsReady({ snapshot: given, plan: planCluster(given) })?.message ?? "";
    expect(message.includes("CA in Secret")).toBe(why !== undefined);
    if (why !== undefined) expect(message).toContain(why);
  });

  test.each([
    ["after all bundles have had the new CA for an hour", sinceHour(added), `${SIGNS}${its} has ${TELL}`, true],
    ["not before all bundles have had the new CA for an hour", knownFor(sinceHour(added), { knownForMs: 3_599_999 }, "operator"), `${SIGNS}${its} has ${TELL}`, false],
    ["after all certificates have been from the new CA for an hour", sinceHour(switched), `${DROPS}${its} has ${HAVE}`, true],
    ["not before all certificates have been from the new CA for an hour", knownFor(sinceHour(switched), { knownForMs: 3_599_999 }, "server"), `${DROPS}${its} has ${HAVE}`, false],
  ] as const)("a warning names the binding that delays the rotation %s", (_, given, because, isTold) => {
    const snapshot = with_(given, {});
    expect(planCluster(snapshot).reports).toEqual(isTold ? [{ rule: "ca-rotation-blocked", because, is: "notice" }] : undefined);
    // The condition reports it at once, and no other status does.
    expect(tlsReady({ snapshot, plan: planCluster(snapshot) })).toMatchObject({ status: "True", message: expect.stringContaining(because) });
    expect(missing({ snapshot, plan: planCluster(snapshot) })).toBeUndefined();
    expect(caRotationBlocked.decide(with_(given, RENEWED))).toBeUndefined();
  }); // biome-ignore format: a table

  test("a blocked rotation is reported also in a pause, and after certificates that expire soon", () => {
    const held = with_(sinceHour(added), {});
    const { metadata } = held.cluster;
    const annotations = { ...metadata.annotations, [PAUSED_ANNOTATION]: "true" };
    const paused = { ...held, cluster: { ...held.cluster, metadata: { ...metadata, annotations } } };
    expect(planCluster(paused)).toMatchObject({ rule: "paused", reports: [{ rule: "ca-rotation-blocked" }] });
    const ending = withMade(held, { peer: { isOurs: false, lastsMs: 1 } });
    expect(planCluster(ending).reports).toMatchObject([
      { rule: "certificate-expires" },
      { rule: "ca-rotation-blocked" },
      {},
    ]);
    const unmanaged = { roles: { count: 1, names: ["theirs"] } };
    const both = withAuth(paused, { unmanaged });
    const reports = [{ rule: "ca-rotation-blocked" }, { rule: "unmanaged-names" }];
    expect(planCluster(both)).toMatchObject({ rule: "paused", reports });
  });

  test("no wait for bindings is reported while a certificate of the cluster is not ready", () => {
    const early = with_(withMade(added, { server: { trust: both, knownForMs: 1 } }), {});
    expect(rotationWait(early, "client")).toBeUndefined();
    const late = with_(withMade(switched, { server: { by: NEXT, trust: both, knownForMs: 1 } }), {});
    expect(rotationWait(late, "client")).toBeUndefined();
  });

  test("the peer side does not wait for bindings", () => {
    const peers = begin(secured())
      .apply(withMade, { peerCA: { next: NEXT }, peer: { trust: both } })
      .apply(running).snapshot;
    expect(phaseOf(with_(peers, {}), "peer")?.phase).toBe("switch");
    const shown = begin(peers)
      .apply(withMade, { peerCA: { by: NEXT, trust: both }, peer: { by: NEXT, trust: both } })
      .apply(running).snapshot;
    expect(phaseOf(with_(shown, {}), "peer")?.phase).toBe("drop");
  });
});

const TURNED = { trustIds: [OWN.id, THEIRS.id], signerId: THEIRS.id };

const turns: [name: string, given: ClusterSnapshot, at: string, why?: string][] = [
  ["members use the new certificate when bindings trust both CAs", with_(told, TURNED), "UseNew"],
  ["members keep the old certificate while a binding trusts only the previous CA", with_(told, {}), "AcceptBoth, members done", `${its} has ${TELL}`],
  ["members use the new certificate when a binding was created after the bundle had both CAs", with_(knownFor(told, { knownForMs: 3_600_000 }, "server"), { ...TURNED, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), "UseNew"],
  ["members keep the old certificate when a binding was created before the bundle had both CAs", with_(knownFor(told, { knownForMs: 3_600_000 }, "server"), { ...TURNED, knownForMs: 0, madeAtMs: NOW - 3_540_001 }), "AcceptBoth, members done", `${its} has ${TELL}`],
  ["the change is complete when a binding was created after the new CA signed", with_(knownFor(over, { signerForMs: 3_600_000 }, "server"), { ...TURNED, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), "no change"],
  ["the change waits when a binding was created before the new CA signed", with_(knownFor(over, { signerForMs: 3_600_000 }, "server"), { ...TURNED, knownForMs: 0, madeAtMs: NOW - 3_540_001 }), "UseNew, members done", `${its} has ${LOSE}`],
  ["members keep the old certificate while a binding trusts only one of two new CAs", with_(telling(ofTwo, ofThree, LONG), TURNED), "AcceptBoth, members done", `${its} has ${TELL}`],
  ["the change is complete when a binding has a certificate of the new CA", with_(over, TURNED), "no change"],
  ["the change waits until people change the binding of a refused EtcdUser", with_(over, { ...TURNED, signerId: OWN.id, reason: "SpecRefused" }), "UseNew, members done", `${its} (SpecRefused) has ${LOSE}`],
  ["the change waits while a binding has a certificate of the previous CA", with_(over, { ...TURNED, signerId: OWN.id }), "UseNew, members done", `${its} has ${LOSE}`],
  ["the change is complete when the certificate was removed from a binding", with_(over, { ...TURNED, signerId: undefined, knownForMs: 0 }), "no change"],
  ["the change is complete when a binding has a certificate of a CA that no member trusts", with_(over, { ...TURNED, signerId: NEXT.id }), "no change"],
]; // biome-ignore format: a table

test.each(turns)("change to user-provided certificates with bindings of EtcdUsers: %s", (_, given, at, why) => {
  const { client } = providerChanges(given);
  expect(stageOf(client)).toBe(at);
  if (why !== undefined) expect(client?.waitsFor).toBe(why);
});

test("a provider change waits for the ConfigMap before it waits for bindings", () => {
  const { client } = providerChanges(with_(telling(turnedClients, bundle(OWN), 0), {}));
  expect(client?.waitsFor).not.toContain("EtcdUser");
});

describe("the observed bindings are", () => {
  const cluster = etcdOf();
  const binding = { name: "app-binding", trusts: [OWN.id], signedBy: OWN.id };
  const status = { binding, certificate: { notAfter: new Date(NOW).toISOString() } };
  const ready = (reason: string, is = "False") => ({
    conditions: [
      { type: "Other", status: "True", reason: "Other" },
      { type: "Ready", status: is, reason, message: "", lastTransitionTime: "" },
    ] as never,
  });
  const seen = (given: Parameters<typeof etcdUser>[0]) =>
    new BindingTimes({ monotonicMs: () => 0 }).look(cluster, [etcdUser(given)]);
  const its = { user: "app", secretName: "app-binding", trustIds: [OWN.id], signerId: OWN.id, notAfterMs: NOW, knownForMs: 0, madeAtMs: NOW - DAY_MS }; // biome-ignore format: one line

  test.each([
    ["all fields that the status of an EtcdUser has", { status }, [{ ...its, reason: undefined }]],
    ["bindings without details from an earlier operator", { status: { binding: { name: "app-binding" } } }, [{ ...its, trustIds: undefined, signerId: undefined, notAfterMs: undefined, reason: undefined }]],
    ["bindings of Ready EtcdUsers, without a reason", { status: { ...status, ...ready("AuthDisabled", "True") } }, [{ ...its, reason: undefined }]],
    ["bindings of EtcdUsers with a problem, with its reason", { status: { ...status, ...ready("StepRefused") } }, [{ ...its, reason: "StepRefused" }]],
    ["bindings of refused EtcdUsers", { status: { ...status, ...ready("SpecRefused") } }, [{ ...its, reason: "SpecRefused" }]],
    ["no bindings of EtcdUsers with a taken name", { status: { ...status, ...ready("NameTaken") } }, []],
    ["no bindings of EtcdUsers that are being deleted", { status, deleting: true }, []],
    ["no bindings of EtcdUsers of another etcd cluster", { status, claimed: "elsewhere" }, []],
    ["no bindings of EtcdUsers without a claim", { status, claimed: false }, []],
    ["no bindings of EtcdUsers without a recorded binding", {}, []],
  ] as const)("%s", (_, given, expected) => {
    expect(seen(given as never)).toEqual(expected);
  }); // biome-ignore format: a table

  test("recorded with their creation time, unless their content has changed", () => {
    const times = new BindingTimes({ monotonicMs: () => 0 });
    const madeAt = (change: object, metadata: object = {}) => {
      const user = etcdUser({ status: { ...status, binding: { ...binding, ...change } } });
      const changed = { ...user, metadata: { ...user.metadata, ...metadata } };
      return times.look(cluster, [changed]).map(({ madeAtMs }) => madeAtMs);
    };
    const made = [NOW - DAY_MS];
    expect([madeAt({}), madeAt({}), madeAt({ name: "other" })]).toEqual([made, made, made]);
    expect([madeAt({ trusts: [] }), madeAt({ trusts: [] }), madeAt({})]).toEqual([
      [undefined],
      [undefined],
      [undefined],
    ]);
    expect([madeAt({ trusts: [] }, { uid: "another" }), madeAt({ trusts: [] }, { uid: "another" })]).toEqual([
      made,
      made,
    ]);
    expect(madeAt({}, { name: "b", creationTimestamp: undefined })).toEqual([undefined]);
  });

  test("recorded with the time since their content last changed", () => {
    let nowMs = 0;
    const times = new BindingTimes({ monotonicMs: () => nowMs });
    const knownFor = (change: object, metadata: object = {}) => {
      nowMs += 1_000;
      const user = etcdUser({ status: { ...status, binding: { ...binding, ...change } } });
      const changed = { ...user, metadata: { ...user.metadata, ...metadata } };
      return times.look(cluster, [changed]).map((each) => each.knownForMs);
    };
    expect([knownFor({}), knownFor({}), knownFor({ name: "other" })]).toEqual([[0], [1_000], [2_000]]);
    expect([knownFor({ trusts: [] }), knownFor({ trusts: [] })]).toEqual([[0], [1_000]]);
    expect([knownFor({ signedBy: NEXT.id }), knownFor({ signedBy: NEXT.id })]).toEqual([[0], [1_000]]);
    const recreated = { uid: "another" };
    expect([knownFor({}), knownFor({}), knownFor({}, recreated), knownFor({}, recreated)]).toEqual([
      [0],
      [1_000],
      [0],
      [1_000],
    ]);
    const named = { name: "b" };
    expect([knownFor({}, named), knownFor({}, named)]).toEqual([[0], [1_000]]);
    times.forget({ namespace: "foo", name: "my-etcd" });
    expect(knownFor({}, named)).toEqual([0]);
    expect([times.look(cluster, []), knownFor({}, named)]).toEqual([[], [0]]);
  });
});
