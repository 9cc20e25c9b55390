import { describe, expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { BindingTimes } from "#cluster/certificates/binding-times.ts";
import { courses } from "#cluster/certificates/course.ts";
import { phaseOf, rotationWait } from "#cluster/certificates/rotation.ts";
import { missing } from "#cluster/conditions/hindrance.ts";
import { tlsReady } from "#cluster/conditions/tls-ready.ts";
import { planCluster } from "#cluster/plan.ts";
import { rotateAuthority } from "#cluster/rules/certificates/rotate-authority.ts";
import { rotationHeld } from "#cluster/rules/certificates/rotation-held.ts";
import type { ClusterSnapshot, LeafPurpose, SeenBinding, SeenCertificate } from "#cluster/snapshot.ts";
import { etcdOf, etcdUser } from "#kit/access.ts";
import { boundTo } from "#kit/bindings.ts";
import { DAY_MS } from "#kit/certificates.ts";
import { NOW } from "#kit/cluster.ts";
import { withAuth } from "#kit/cluster-auth.ts";
import { bundle, NEXT, OWN, running, secured, THEIRS, withMade } from "#kit/cluster-tls.ts";
import { LONG, ofThree, ofTwo, over, seenToo, telling, told, turnedClients } from "#kit/cluster-turn.ts";

const both = bundle(OWN, NEXT);
const LEAVES = { server: { trust: both }, operator: { trust: both }, application: { trust: both } };
const SIGNED = { server: { by: NEXT, trust: both }, operator: { by: NEXT, trust: both }, application: { by: NEXT, trust: both } }; // biome-ignore format: one line

/** All but bindings is ready for the next authority to sign, and for the one before to be dropped. */
const added = running(withMade(secured(), { clientCA: { next: NEXT }, ...LEAVES }));
const switched = running(withMade(added, { clientCA: { by: NEXT, trust: both }, ...SIGNED }));

const with_ = (snapshot: ClusterSnapshot, ...bindings: readonly Partial<SeenBinding>[]) =>
  seenToo(snapshot, { bindings: bindings.map(boundTo) });

const OF_BOTH = { trustIds: [OWN.id, NEXT.id] };
const RENEWED = { ...OF_BOTH, signerId: NEXT.id };
const SIGNS = "authority in Secret my-etcd-client-ca: before the one that is to follow signs, ";
const DROPS = "authority in Secret my-etcd-client-ca: before the one before is trusted no more, ";
const TELL = "to say whom clients are to trust besides for 150 s";
const HAVE = "to have a certificate of the authority that signs by now for 150 s";
const LOSE = "to lose tls.crt and tls.key, which a former authority has signed: take them out once no application shows them"; // biome-ignore format: one line
const its = "Secret shop-binding of EtcdUser shop";
/** The authority that signs ends in half a year, or a moment later, and the one before is still trusted. */
const endingLater = (more: number) =>
  withMade(switched, { clientCA: { by: NEXT, trust: both, lastsMs: (365 * DAY_MS) / 2 + more } });
/** The authority before ends in half a year, or a moment later. */
const ending = (more: number) => withMade(added, { clientCA: { next: NEXT, lastsMs: (365 * DAY_MS) / 2 + more } });

/** What members, the operator and applications have is known for so long. */
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
  ["nobody has a binding: the next one signs", added, "switch"],
  ["nobody has a binding: the one before is dropped", switched, "drop"],
  ["an application knows the next one", with_(added, OF_BOTH), "switch"],
  ["it knows the next one alone", with_(added, { trustIds: [NEXT.id] }), "switch"],
  ["an application does not know the next one", with_(added, {}), undefined, `${SIGNS}${its} has ${TELL}`],
  ["it came when those who came were told so", with_(sinceHour(added), { ...OF_BOTH, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), "switch"],
  ["it came before, as far as clocks tell", with_(sinceHour(added), { ...OF_BOTH, knownForMs: 0, madeAtMs: NOW - 3_540_001 }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["it came before one of the leaves said so", with_(withMade(sinceHour(added), { application: { trust: both, knownForMs: 3_599_999 } }), { ...OF_BOTH, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["it came since, and has said something else", with_(sinceHour(added), { ...OF_BOTH, knownForMs: 0, madeAtMs: undefined }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["it came since, and is not told", with_(sinceHour(added), { knownForMs: 0, madeAtMs: NOW }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["it came when those who came got one of the next one", with_(sinceHour(switched), { ...RENEWED, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), "drop"],
  ["it came before they did", with_(sinceHour(switched), { ...RENEWED, knownForMs: 0, madeAtMs: NOW - 3_540_001 }), undefined, `${DROPS}${its} has ${HAVE}`],
  ["it has been told a moment ago", with_(added, { ...OF_BOTH, knownForMs: 149_999 }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["one of two does not know it", with_(added, OF_BOTH, { user: "cart", secretName: "cart-binding" }), undefined, `${SIGNS}Secret cart-binding of EtcdUser cart has ${TELL}`],
  ["neither of two knows it", with_(added, {}, { user: "cart", secretName: "cart-binding" }), undefined, `${SIGNS}${its}, Secret cart-binding of EtcdUser cart have ${TELL}`],
  ["its Secret is refused", with_(added, { reason: "StepRefused" }), undefined, `${SIGNS}${its} (StepRefused) has ${TELL}`],
  ["its EtcdUser is refused, and is told all the same", with_(added, { reason: "SpecRefused" }), undefined, `${SIGNS}${its} (SpecRefused) has ${TELL}`],
  ["its EtcdUser is refused, and gets no other certificate", with_(switched, { ...OF_BOTH, reason: "SpecRefused" }), "drop"],
  ["it has not been told what the Secret holds", with_(added, { trustIds: undefined }), undefined, `${SIGNS}${its} has ${TELL}`],
  ["it connects without TLS", with_(added, { trustIds: [], knownForMs: 0 }), "switch"],
  ["in half a year all would be cut off", with_(ending(0), {}), "switch"],
  ["it is not that late yet", with_(ending(1), {}), undefined, `${SIGNS}${its} has ${TELL}`],
  ["all have certificates of the next one", with_(switched, RENEWED), "drop"],
  ["a certificate is of the one before", with_(switched, OF_BOTH), undefined, `${DROPS}${its} has ${HAVE}`],
  ["it was, a moment ago", with_(switched, { ...RENEWED, knownForMs: 149_999 }), undefined, `${DROPS}${its} has ${HAVE}`],
  ["it has none", with_(switched, { ...OF_BOTH, signerId: undefined }), "drop"],
  ["it is not told which it has", with_(switched, { trustIds: undefined, signerId: undefined }), undefined, `${DROPS}${its} has ${HAVE}`],
  ["in half a year the one that signs ends, and none could follow it", with_(endingLater(0), OF_BOTH), "drop"],
  ["its end is not that near yet", with_(endingLater(1), OF_BOTH), undefined, `${DROPS}${its} has ${HAVE}`],
  ["it has ended", with_(switched, { ...OF_BOTH, notAfterMs: NOW }), "drop"],
  ["it is about to end", with_(switched, { ...OF_BOTH, notAfterMs: NOW + 1 }), undefined, `${DROPS}${its} has ${HAVE}`],
  ["nobody knows when it ends", with_(switched, { ...OF_BOTH, notAfterMs: undefined }), undefined, `${DROPS}${its} has ${HAVE}`],
]; // biome-ignore format: a table

describe("while an authority is followed by another one, by the bindings of EtcdUsers:", () => {
  test.each(rotations)("%s", (_, given, phase, why) => {
    expect(phaseOf(given, "client")?.phase).toBe(phase);
    expect(rotationWait(given, "client")).toBe(why);
    expect(rotateAuthority.decide(given)?.next).toBe(phase === undefined ? undefined : "step");
    const message = tlsReady({ snapshot: given, plan: planCluster(given) })?.message ?? "";
    expect(message.includes("authority in Secret")).toBe(why !== undefined);
    if (why !== undefined) expect(message).toContain(why);
  });

  test.each([
    ["what all have is ready for an hour", sinceHour(added), `${SIGNS}${its} has ${TELL}`, true],
    ["a moment less", knownFor(sinceHour(added), { knownForMs: 3_599_999 }, "operator"), `${SIGNS}${its} has ${TELL}`, false],
    ["all have what the next one has signed for an hour", sinceHour(switched), `${DROPS}${its} has ${HAVE}`, true],
    ["for a moment less", knownFor(sinceHour(switched), { knownForMs: 3_599_999 }, "server"), `${DROPS}${its} has ${HAVE}`, false],
  ] as const)("people are warned of who holds it up: %s", (_, given, because, isTold) => {
    const snapshot = with_(given, {});
    expect(planCluster(snapshot).aside).toEqual(isTold ? [{ rule: "rotation-held", because, is: "remark" }] : undefined);
    // In words it is told at once, and nothing else is said of it.
    expect(tlsReady({ snapshot, plan: planCluster(snapshot) })).toMatchObject({ status: "True", message: expect.stringContaining(because) });
    expect(missing({ snapshot, plan: planCluster(snapshot) })).toBeUndefined();
    expect(rotationHeld.decide(with_(given, RENEWED))).toBeUndefined();
  }); // biome-ignore format: a table

  test("people are warned of who holds it up also while the cluster is paused, and after what ends soon", () => {
    const held = with_(sinceHour(added), {});
    const { metadata } = held.cluster;
    const annotations = { ...metadata.annotations, [PAUSED_ANNOTATION]: "true" };
    const paused = { ...held, cluster: { ...held.cluster, metadata: { ...metadata, annotations } } };
    expect(planCluster(paused)).toMatchObject({ rule: "paused", aside: [{ rule: "rotation-held" }] });
    const ending = withMade(held, { peer: { isOurs: false, lastsMs: 1 } });
    expect(planCluster(ending).aside).toMatchObject([{ rule: "certificate-ends" }, { rule: "rotation-held" }, {}]);
    const unmanaged = { roles: { count: 1, names: ["theirs"] } };
    const both = withAuth(paused, { unmanaged });
    const aside = [{ rule: "rotation-held" }, { rule: "unmanaged-names" }];
    expect(planCluster(both)).toMatchObject({ rule: "paused", aside });
  });

  test("what else is missing is told by others", () => {
    const early = with_(withMade(added, { server: { trust: both, knownForMs: 1 } }), {});
    expect(rotationWait(early, "client")).toBeUndefined();
    const late = with_(withMade(switched, { server: { by: NEXT, trust: both, knownForMs: 1 } }), {});
    expect(rotationWait(late, "client")).toBeUndefined();
  });

  test("between members nobody waits for applications", () => {
    const peers = running(withMade(secured(), { peerCA: { next: NEXT }, peer: { trust: both } }));
    expect(phaseOf(with_(peers, {}), "peer")?.phase).toBe("switch");
    const shown = running(withMade(peers, { peerCA: { by: NEXT, trust: both }, peer: { by: NEXT, trust: both } }));
    expect(phaseOf(with_(shown, {}), "peer")?.phase).toBe("drop");
  });
});

const TURNED = { trustIds: [OWN.id, THEIRS.id], signerId: THEIRS.id };

const turns: [name: string, given: ClusterSnapshot, at: string, why?: string][] = [
  ["applications know both", with_(told, TURNED), "show"],
  ["an application knows the former one alone", with_(told, {}), "tell", `${its} has ${TELL}`],
  ["an application came when those who came were told both", with_(knownFor(told, { knownForMs: 3_600_000 }, "server"), { ...TURNED, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), "show"],
  ["it came before they were told", with_(knownFor(told, { knownForMs: 3_600_000 }, "server"), { ...TURNED, knownForMs: 0, madeAtMs: NOW - 3_540_001 }), "tell", `${its} has ${TELL}`],
  ["an application came when those who came got one of the new one", with_(knownFor(over, { signerForMs: 3_600_000 }, "server"), { ...TURNED, knownForMs: 0, madeAtMs: NOW - 3_540_000 }), "settled"],
  ["it came before they got one", with_(knownFor(over, { signerForMs: 3_600_000 }, "server"), { ...TURNED, knownForMs: 0, madeAtMs: NOW - 3_540_001 }), "hand", `${its} has ${LOSE}`],
  ["it knows one of two that come", with_(telling(ofTwo, ofThree, LONG), TURNED), "tell", `${its} has ${TELL}`],
  ["an application shows what the new one has signed", with_(over, TURNED), "settled"],
  ["nobody makes it another one, and people are to take it out", with_(over, { ...TURNED, signerId: OWN.id, reason: "SpecRefused" }), "hand", `${its} (SpecRefused) has ${LOSE}`],
  ["an application shows what the former one has signed", with_(over, { ...TURNED, signerId: OWN.id }), "hand", `${its} has ${LOSE}`],
  ["it has been taken out", with_(over, { ...TURNED, signerId: undefined, knownForMs: 0 }), "settled"],
  ["an application shows what no member believes any more", with_(over, { ...TURNED, signerId: NEXT.id }), "settled"],
]; // biome-ignore format: a table

test.each(turns)(
  "while members come to show what is brought, by the bindings of EtcdUsers: %s",
  (_, given, at, why) => {
    const { client } = courses(given);
    expect(client.at).toBe(at);
    if (why !== undefined) expect("why" in client ? client.why : undefined).toBe(why);
  },
);

test("what clients are told elsewhere is told first", () => {
  const { client } = courses(with_(telling(turnedClients, bundle(OWN), 0), {}));
  expect("why" in client ? client.why : undefined).not.toContain("EtcdUser");
});

describe("of EtcdUsers are told", () => {
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
    ["all that they say", { status }, [{ ...its, reason: undefined }]],
    ["what an earlier operator has said", { status: { binding: { name: "app-binding" } } }, [{ ...its, trustIds: undefined, signerId: undefined, notAfterMs: undefined, reason: undefined }]],
    ["that they are well", { status: { ...status, ...ready("AuthDisabled", "True") } }, [{ ...its, reason: undefined }]],
    ["what is in their way", { status: { ...status, ...ready("StepRefused") } }, [{ ...its, reason: "StepRefused" }]],
    ["those whose spec is refused", { status: { ...status, ...ready("SpecRefused") } }, [{ ...its, reason: "SpecRefused" }]],
    ["none whose name is taken", { status: { ...status, ...ready("NameTaken") } }, []],
    ["none that are being deleted", { status, deleting: true }, []],
    ["none of another etcd", { status, claimed: "elsewhere" }, []],
    ["none that have made nothing", { status, claimed: false }, []],
    ["none without a binding", {}, []],
  ] as const)("%s", (_, given, expected) => {
    expect(seen(given as never)).toEqual(expected);
  }); // biome-ignore format: a table

  test("when they were made, unless they have said something else", () => {
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

  test("how long they say so, whatever else becomes of them", () => {
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
    const anew = { uid: "another" };
    expect([knownFor({}), knownFor({}), knownFor({}, anew), knownFor({}, anew)]).toEqual([[0], [1_000], [0], [1_000]]);
    const named = { name: "b" };
    expect([knownFor({}, named), knownFor({}, named)]).toEqual([[0], [1_000]]);
    times.forget({ namespace: "foo", name: "my-etcd" });
    expect(knownFor({}, named)).toEqual([0]);
    expect([times.look(cluster, []), knownFor({}, named)]).toEqual([[], [0]]);
  });
});
