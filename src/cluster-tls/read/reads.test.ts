import { describe, expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { Keyring } from "#certificates/keyring.ts";
import { authority, DAY_MS, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { running, secured, tlsSpec } from "#kit/snapshots/cluster-tls.ts";
import { issuedBy } from "#kit/snapshots/tls-status.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { type KubeObject, type Resource, resourceName, type Secret } from "#kube/kinds.ts";
import { purposesOf } from "./purposes.ts";
import { CertificateReads } from "./reads.ts";

const KEY = { namespace: "foo", name: "my-etcd" };
const { signal } = new AbortController();
const ca = await authority();
const OPERATORS = { commonName: "etcd-cluster-operator" };

type Members = Parameters<CertificateReads["look"]>[1];
const NO_MEMBERS: Members = { peers: [], pods: new Map() };
const { peers, pods } = running(secured());
const WITH_MEMBERS: Members = { peers, pods };

/** A cluster with this TLS. */
function asking(tls: object = {}): EtcdCluster {
  return cluster({ spec: { tls: tlsSpec(tls) } }).cluster;
}

const GROUPS = JSON.stringify({ groups: [{ name: "cert-manager.io", versions: [{ version: "v1" }] }] });
const KINDS = JSON.stringify({ resources: [{ name: "certificates" }] });

/** Makes the EtcdCluster of `asking` the object's owner, or another one with this uid. */
function owned<T extends Pick<KubeObject, "metadata">>(object: T, uid = asking().metadata.uid): T {
  const owner = {
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdCluster",
    name: "my-etcd",
    controller: true,
    uid,
  };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
}

/** An API server with these objects, by name; every other Secret has a valid certificate, and belongs to the cluster. */
async function asked(given: { lastsMs?: number; groups?: string; request?: object } = {}) {
  const clock = new FakeClock();
  const untilMs = clock.wallMs() + (given.lastsMs ?? 90 * DAY_MS);
  const pair = await leaf(ca, { untilMs, fromMs: 0, ...OPERATORS });
  const calls: string[] = [];
  const special = new Map<string, Observed<Secret | KubeObject>>();
  const whole = (name: string) =>
    owned(secretOf(name, name.endsWith("-ca") ? dataOf(ca, ca.certificate) : dataOf(pair, ca.certificate)));
  const kube = {
    raw: (_: string, path: string) => {
      calls.push(path);
      return Promise.resolve(path === "/apis" ? (given.groups ?? GROUPS) : KINDS);
    },
    find: (resource: Resource<KubeObject>, { namespace, name }: { namespace: string; name: string }) => {
      expect(namespace).toBe("foo");
      calls.push(resource.kind === "Secret" ? name : `${resourceName(resource)}/${name}`);
      if (resource.kind === "Certificate" && given.request !== undefined)
        return Promise.resolve(present({ metadata: { namespace, name }, ...given.request }));
      return Promise.resolve(special.get(name) ?? present(whole(name)));
    },
  };
  const keyring = new Keyring();
  const reads = new CertificateReads(
    kube as unknown as ConstructorParameters<typeof CertificateReads>[0],
    clock,
    keyring,
  );
  const look = (of: EtcdCluster = asking(), members: Members = NO_MEMBERS) => reads.look(of, members, signal);
  /** Observes every ten seconds, as the controller does at rest. @returns what was read */
  const rest = async (ms: number, of?: EtcdCluster, members?: Members, everyMs = 10_000) => {
    const before = calls.length;
    for (let passed = 0; passed < ms; passed += everyMs) {
      await clock.advance(everyMs);
      await look(of, members);
    }
    return calls.slice(before);
  };
  return { calls, clock, special, keyring, reads, look, rest, whole };
}

const ALL = [
  "my-etcd-peer-ca",
  "my-etcd-peer-tls",
  "my-etcd-client-ca",
  "my-etcd-server-tls",
  "my-etcd-operator-tls",
  "my-etcd-client",
  "configmaps/my-etcd-ca",
];

describe("the operator reads certificates from the API server", () => {
  test("not at all for a cluster without TLS or one that is being deleted", async () => {
    const { calls, look } = await asked();
    expect(await look(cluster().cluster)).toBeUndefined();
    expect(await look(asking({ peer: { provider: "None" }, client: { provider: "None" } }))).toBeUndefined();
    const { metadata, ...rest } = asking();
    expect(await look({ ...rest, metadata: { ...metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } })).toEqual({
      requests: {},
    });
    expect(calls).toEqual([]);
  });

  test("by name, and never by a list", async () => {
    const { calls, look } = await asked();
    const seen = await look();
    expect([...calls].sort()).toEqual([...ALL].sort());
    expect(Object.keys(seen!).sort()).toEqual(
      [...purposesOf(asking()), "trustMap", "trustMapForMs", "requests"].sort(),
    );
    expect(seen?.peer).toMatchObject({ is: "present", value: { secretName: "my-etcd-peer-tls", knownForMs: 0 } });
  });

  test("at rest one object a minute, in turn", async () => {
    const { look, rest } = await asked();
    await look();
    const read = await rest(7 * 60_000);
    expect(read.length).toBe(7);
    expect([...read].sort()).toEqual([...ALL].sort());
    expect(await rest(7 * 60_000)).toEqual(read);
  });

  test("and counts only changed answers as news", async () => {
    const { reads, look, rest, special, whole } = await asked();
    expect(reads.newsOf(KEY)).toBe(0);
    await look();
    const before = reads.newsOf(KEY);
    expect(before).toBe(ALL.length);
    await rest(8 * 60_000);
    expect(reads.newsOf(KEY)).toBe(before);
    const secret = whole("my-etcd-peer-tls");
    special.set("my-etcd-peer-tls", present({ ...secret, metadata: { ...secret.metadata, resourceVersion: "2" } }));
    await rest(8 * 60_000);
    expect(reads.newsOf(KEY)).toBe(before + 1);
    special.set("my-etcd-peer-tls", unknown("no answer"));
    await rest(8 * 60_000);
    expect(reads.newsOf(KEY)).toBeGreaterThan(before + 1);
    reads.forget(KEY);
    expect(reads.newsOf(KEY)).toBe(0);
  });

  test("each minute while a certificate is about to expire", async () => {
    const { look, rest } = await asked({ lastsMs: 50 * 60_000 });
    await look();
    const read = await rest(2 * 60_000);
    expect(read.filter((name) => name === "my-etcd-peer-tls").length).toBe(2);
    expect(read.filter((name) => name === "my-etcd-peer-ca").length).toBeLessThan(2);
  });

  test("each minute while a certificate is invalid, and six times a minute while it is missing", async () => {
    const { look, rest, special } = await asked();
    special.set("my-etcd-peer-tls", present(owned(secretOf("my-etcd-peer-tls", {}))));
    special.set("my-etcd-server-tls", absent);
    await look();
    const read = await rest(3 * 60_000);
    expect(read.filter((name) => name === "my-etcd-peer-tls").length).toBe(3);
    expect(read.filter((name) => name === "my-etcd-server-tls").length).toBe(18);
  });

  test("six times a minute while an own certificate is missing, and immediately after an attempt to create it", async () => {
    const { calls, look, reads, rest, special } = await asked();
    const missing = ["my-etcd-server-tls", "configmaps/my-etcd-ca", "their-peer"];
    for (const name of ["my-etcd-server-tls", "my-etcd-ca", "their-peer"]) special.set(name, absent);
    const given = asking({ peer: { provider: "Secret", secret: { name: "their-peer" } } });
    await look(given);
    const read = await rest(60_000, given, NO_MEMBERS, 1_000);
    expect(missing.map((name) => read.filter((each) => each === name).length)).toEqual([6, 6, 30]);
    const before = calls.length;
    reads.hasChanged(KEY, "server");
    await look(given);
    expect(calls.slice(before)).toEqual(["my-etcd-server-tls"]);
  });

  test("immediately when the spec names another Secret instead of a missing one", async () => {
    const { calls, look, special } = await asked();
    special.set("their-peer", absent);
    const misspelt = asking({ peer: { provider: "Secret", secret: { name: "their-peer" } } });
    expect((await look(misspelt))?.peer).toEqual(absent);
    const before = calls.length;
    expect((await look())?.peer).toMatchObject({ is: "present", value: { secretName: "my-etcd-peer-tls" } });
    expect(calls.slice(before)).toContain("my-etcd-peer-tls");
  });

  test("30 times a minute while the Secret of cert-manager is missing", async () => {
    const { look, rest, special } = await asked();
    const certManager = { issuerRef: { name: "a" } };
    const given = asking({ peer: { provider: "CertManager", certManager }, client: { provider: "None" } });
    special.set("my-etcd-peer-tls-a3b319c8", absent);
    await look(given);
    const read = await rest(60_000, given, NO_MEMBERS, 1_000);
    expect(read.filter((name) => name === "my-etcd-peer-tls-a3b319c8")).toHaveLength(30);
  });

  test("six times a minute while an object belongs to an earlier cluster or to no owner", async () => {
    const { look, rest, special, whole } = await asked();
    special.set("my-etcd-peer-tls", present(owned(whole("my-etcd-peer-tls"), "before")));
    for (const name of ["my-etcd-peer-ca", "my-etcd-ca"]) {
      const { metadata, ...others } = whole(name);
      const { ownerReferences: _, ...unowned } = metadata;
      special.set(name, present({ ...others, metadata: unowned }));
    }
    await look();
    const read = await rest(2 * 60_000);
    for (const name of ["my-etcd-peer-tls", "my-etcd-peer-ca", "configmaps/my-etcd-ca"])
      expect(read.filter((each) => each === name).length, name).toBe(12);
    expect(read.filter((name) => name === "my-etcd-server-tls").length).toBeLessThan(2);
  });

  test("six times a minute while a Secret lacks its label and there are no members, and then in turn", async () => {
    const { look, rest } = await asked();
    const spec = { peer: { provider: "Secret", secret: { name: "their-peer" } } };
    const forming = asking(spec);
    await look(forming);
    expect((await rest(60_000, forming)).filter((name) => name === "their-peer").length).toBe(6);
    const status = issuedBy(forming.status, { ...forming.spec.tls });
    const read = await rest(60_000, { ...forming, status } as EtcdCluster, WITH_MEMBERS);
    expect(read.filter((name) => name === "their-peer").length).toBeLessThan(2);
    expect((await rest(60_000, { ...forming, spec: asking().spec })).length).toBeLessThan(9);
  });

  test("six times a minute while the operator's Secret lacks its label, also with members", async () => {
    const { look, rest, special, whole } = await asked();
    const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
    const brought = asking({ client: { provider: "Secret", secret } });
    const readsOf = (read: readonly string[]) => read.filter((name) => name === "their-operator").length;
    const status = issuedBy(brought.status, { ...brought.spec.tls });
    const running = { ...brought, status } as EtcdCluster;
    await look(running, WITH_MEMBERS);
    expect(readsOf(await rest(60_000, running, WITH_MEMBERS))).toBe(6);
    const { metadata, ...unlabelled } = whole("their-operator");
    const labels = { "etcd.improbable.io/tls": "true" };
    special.set("their-operator", present({ ...unlabelled, metadata: { ...metadata, labels } }));
    expect(readsOf(await rest(60_000, running, WITH_MEMBERS))).toBe(1);
  });

  test("in turn for all other objects while some are missing or unreadable", async () => {
    const { look, rest, special } = await asked();
    special.set("my-etcd-client", absent);
    special.set("my-etcd-server-tls", unknown("it is forbidden"));
    await look();
    const read = await rest(10 * 60_000);
    for (const name of ALL.filter((each) => !special.has(each)))
      expect(read.filter((each) => each === name)).toHaveLength(2);
    expect(read.length).toBe(10 + 2 * 60);
  });

  test("immediately after a write", async () => {
    const { calls, look, reads } = await asked();
    await look();
    reads.hasChanged(KEY, "peer");
    reads.hasChanged({ ...KEY, name: "another" }, "peer");
    await look();
    expect(calls.slice(ALL.length)).toEqual(["my-etcd-peer-tls"]);
  });

  test("not after a write with a known response, except for the operator's client certificate", async () => {
    const { calls, look, reads, clock } = await asked();
    await look();
    const other = await leaf(ca, { names: ["another"] });
    for (const what of ["peer", "operator"] as const) {
      const written = secretOf(`my-etcd-${what}-tls`, dataOf(other, ca.certificate));
      reads.hasChanged(KEY, what);
      reads.hasWritten(KEY, what, written);
      reads.hasWritten({ ...KEY, name: "another" }, what, written);
    }
    await clock.advance(1_000);
    const seen = await look();
    expect(calls.slice(ALL.length)).toEqual(["my-etcd-operator-tls"]);
    expect(seen?.peer).toMatchObject({ is: "present", value: { names: ["another"], knownForMs: 1_000 } });
  });

  test("once a minute for the operator's client certificate while no member can be dialled", async () => {
    const { calls, look, reads, clock } = await asked();
    await look();
    calls.length = 0;
    for (let second = 0; second < 54; second++) {
      await clock.advance(1_000);
      reads.doubt(KEY, "operator");
      await look();
    }
    expect(calls).toEqual([]);
    await clock.advance(1_000);
    reads.doubt(KEY, "operator");
    reads.doubt({ ...KEY, name: "another" }, "operator");
    await look();
    expect(calls).toContain("my-etcd-operator-tls");
  });

  test("again after an error, and uses the previous content until then", async () => {
    const { calls, look, reads, special } = await asked();
    special.set("my-etcd-server-tls", unknown("no answer"));
    expect((await look())?.server).toEqual(unknown("no answer"));
    special.set("my-etcd-peer-tls", unknown("no answer"));
    reads.hasChanged(KEY, "peer");
    expect((await look())?.peer).toMatchObject({ is: "present" });
    await look();
    expect(calls.slice(ALL.length).sort()).toEqual(
      ["my-etcd-server-tls", "my-etcd-peer-tls", "my-etcd-server-tls", "my-etcd-peer-tls"].sort(),
    );
  });

  test("six times a minute while a Secret is forbidden, and uses its previous content", async () => {
    const { calls, look, rest, reads, special } = await asked();
    const why = 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';
    expect((await look())?.refused).toBeUndefined();
    special.set("my-etcd-peer-tls", unknown(why));
    const read = await rest(7 * 60_000);
    const seen = await look();
    expect(seen?.refused).toBe(why);
    expect(seen?.peer).toMatchObject({ is: "present" });
    for (const name of ALL.filter((each) => !special.has(each)))
      expect(read.filter((each) => each === name).length).toBeGreaterThanOrEqual(1);
    const before = calls.length;
    reads.hasChanged(KEY, "peer");
    expect((await look())?.refused).toBe(why);
    expect(calls.slice(before)).toEqual(["my-etcd-peer-tls"]);
    expect((await rest(60_000)).filter((name) => name === "my-etcd-peer-tls").length).toBe(6);
    special.delete("my-etcd-peer-tls");
    await rest(10_000);
    expect((await look())?.refused).toBeUndefined();
    expect((await rest(60_000)).length).toBe(1);
  });

  test("one of many forbidden objects six times a minute, and all after a success", async () => {
    const { calls, look, rest, special } = await asked();
    const why = 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';
    const refuse = () => {
      for (const name of ALL) special.set(name.replace(/.*\//, ""), unknown(why));
    };
    refuse();
    const seen = await look();
    expect(seen?.peer).toEqual(unknown(why));
    expect(seen).not.toHaveProperty("refused");
    expect(calls.length).toBe(ALL.length);
    const read = await rest(2 * 60_000, undefined, undefined, 2_000);
    expect(read.length).toBe(12);
    expect(new Set(read).size).toBe(ALL.length);
    special.clear();
    expect((await rest(10_000)).length).toBe(1);
    expect((await rest(10_000)).length).toBe(ALL.length - 1);
    expect((await look())?.peer).toMatchObject({ is: "present" });
    // The same when the right is lost later: each Secret is refused in its turn.
    refuse();
    await rest(8 * 60_000);
    const again = await rest(7 * 60_000, undefined, undefined, 2_000);
    expect(again.length).toBe(7 * 6);
    expect(await look()).toMatchObject({ refused: why, peer: { is: "present" } });
    special.clear();
    expect((await rest(20_000)).length).toBe(ALL.length);
    expect((await look())?.refused).toBeUndefined();
  });

  test("all forbidden objects as soon as one may be read again, although one of the others has an error", async () => {
    const why = 'User "a" cannot get resource "secrets" in API group "" in the namespace "foo"';
    for (const errs of ALL) {
      const { look, rest, special } = await asked();
      const set = (all: readonly string[], said: string) => {
        for (const name of all) special.set(name.replace(/.*\//, ""), unknown(said));
      };
      await look();
      set(ALL, why);
      await rest(8 * 60_000);
      // While the right is missing for the others, the Secret with an error takes turns with them, and the right is
      // reported.
      set([errs], "HTTP 500");
      const read = await rest(7 * 60_000, undefined, undefined, 2_000);
      expect(read.length, errs).toBe(7 * 6);
      for (const name of ALL) expect(read.filter((each) => each === name).length, errs).toBe(6);
      expect((await look())?.refused, errs).toBe(why);
      special.clear();
      set([errs], "HTTP 500");
      expect(new Set(await rest(30_000)), errs).toEqual(new Set(ALL));
      expect((await look())?.refused, errs).toBeUndefined();
    }
  });

  test("six times a minute while a single object is forbidden, and reports its latest error", async () => {
    const { look, rest, special } = await asked();
    await look();
    const why = 'User "a" cannot get resource "configmaps" in API group "" in the namespace "foo"';
    special.set("my-etcd-ca", unknown(why));
    await rest(8 * 60_000);
    expect((await look())?.refused).toBe(why);
    special.set("my-etcd-ca", unknown("HTTP 500"));
    const read = await rest(60_000, undefined, undefined, 2_000);
    expect(read.filter((name) => name === "configmaps/my-etcd-ca").length).toBe(6);
    expect(await look()).toMatchObject({ refused: "HTTP 500", trustMap: { is: "present" } });
    special.clear();
    await rest(10_000);
    expect((await look())?.refused).toBeUndefined();
  });

  test("at most seven times a minute while the operator's Secret is forbidden and no member can be dialled", async () => {
    const { clock, look, rest, reads, special, calls } = await asked();
    await look();
    special.set(
      "my-etcd-operator-tls",
      unknown('User "a" cannot get resource "secrets" in API group "" in the namespace "foo"'),
    );
    await rest(8 * 60_000);
    const before = calls.length;
    for (let second = 0; second < 60; second++) {
      await clock.advance(1_000);
      reads.doubt(KEY, "operator");
      await look();
    }
    expect(calls.slice(before).filter((name) => name === "my-etcd-operator-tls").length).toBeLessThanOrEqual(7);
  });

  test("in turn after an error other than a missing right, which is not reported", async () => {
    const { look, rest, special } = await asked();
    await look();
    special.set("my-etcd-peer-tls", unknown("no answer"));
    const read = await rest(7 * 60_000);
    expect([...read].sort()).toEqual([...ALL].sort());
    const seen = await look();
    expect(seen?.refused).toBeUndefined();
    expect(seen?.peer).toMatchObject({ is: "present", value: { knownForMs: 7 * 60_000 } });
    expect(await rest(7 * 60_000)).toEqual(read);
  });

  test("from user-provided Secrets by their names", async () => {
    const { calls, look } = await asked();
    const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
    const peer = { provider: "Secret", secret: { name: "their-peer" } };
    const seen = await look(asking({ peer, client: { provider: "Secret", secret } }));
    expect([...calls].sort()).toEqual([
      "configmaps/my-etcd-ca",
      "my-etcd-client",
      "their-operator",
      "their-peer",
      "their-server",
    ]);
    expect(seen?.server).toMatchObject({ value: { secretName: "their-server" } });
    expect(seen).not.toHaveProperty("application");
  });

  test("with the Certificates of cert-manager when their kind is served", async () => {
    const certManager = { issuerRef: { name: "a" } };
    const spec = { peer: { provider: "CertManager", certManager }, client: { provider: "None" } };
    const served = await asked();
    const seen = await served.look(asking(spec));
    expect(served.calls).toEqual([
      "my-etcd-peer-tls-a3b319c8",
      "/apis",
      "/apis/cert-manager.io/v1",
      "certificates.cert-manager.io/my-etcd-peer-tls-a3b319c8",
    ]);
    expect(seen?.requests?.peer?.is).toBe("present");
    expect((await served.rest(60_000, asking(spec))).length).toBe(1);
    served.special.set("my-etcd-peer-tls-a3b319c8", absent);
    served.reads.hasChanged(KEY, "peer");
    await served.look(asking(spec));
    expect(await served.rest(10_000, asking(spec))).toEqual([
      "my-etcd-peer-tls-a3b319c8",
      "certificates.cert-manager.io/my-etcd-peer-tls-a3b319c8",
    ]);
    // A Certificate with a failed renewal is read again out of turn.
    const name = "certificates.cert-manager.io/my-etcd-peer-tls-a3b319c8";
    const failing = { status: { conditions: [{ type: "Issuing", status: "False" }] }, spec: {} };
    for (const [request, times] of [
      [failing, 3],
      [{ spec: {} }, 1],
    ] as const) {
      const renewed = await asked({ request });
      await renewed.look(asking(spec));
      const read = await renewed.rest(3 * 60_000, asking(spec));
      expect(read.filter((each) => each === name)).toHaveLength(times);
    }
    const unserved = await asked({ groups: '{"groups":[]}' });
    expect((await unserved.look(asking(spec)))?.requests).toEqual({ peer: { is: "notServed" } });
    await unserved.rest(5 * 60_000, asking(spec));
    expect(unserved.calls.filter((each) => each === "/apis").length).toBe(2);
  });
});

describe("a known certificate", () => {
  test("has the time since its content last changed", async () => {
    const { look, clock, reads, special, whole } = await asked();
    const knownForMs = async () => {
      const found = (await look())?.peer;
      return found?.is === "present" ? found.value.knownForMs : undefined;
    };
    expect(await knownForMs()).toBe(0);
    await clock.advance(30_000);
    expect(await knownForMs()).toBe(30_000);
    reads.hasChanged(KEY, "peer");
    expect(await knownForMs()).toBe(30_000);
    const other = await leaf(ca, { names: ["another"] });
    special.set("my-etcd-peer-tls", present(secretOf("my-etcd-peer-tls", dataOf(other, ca.certificate))));
    reads.hasChanged(KEY, "peer");
    expect(await knownForMs()).toBe(0);
    await clock.advance(5_000);
    special.set(
      "my-etcd-peer-tls",
      present(secretOf("my-etcd-peer-tls", dataOf(other, ca.certificate + (await authority()).certificate))),
    );
    reads.hasChanged(KEY, "peer");
    expect(await knownForMs()).toBe(0);
    special.set("my-etcd-peer-tls", absent);
    reads.hasChanged(KEY, "peer");
    expect(await knownForMs()).toBeUndefined();
    await clock.advance(10_000);
    special.set("my-etcd-peer-tls", present(whole("my-etcd-peer-tls")));
    expect(await knownForMs()).toBe(0);
  });

  test("keeps its time after a renewal while the previous certificate remains valid for 150 s", async () => {
    const byOther = await authority();
    const bothTrusted = ca.certificate + byOther.certificate;
    // Remaining validity of the previous certificate after a minute, properties of the next one, and the expected time.
    for (const [leftMs, next, known] of [
      [150_000, {}, 60_000],
      [149_999, {}, 0],
      [150_000, { names: ["another"] }, 0],
      [150_000, { usages: ["serverAuth"] }, 0],
      [150_000, { by: byOther }, 0],
      [150_000, { key: "none" }, 0],
    ] as const) {
      const { look, clock, reads, special } = await asked();
      const show = (pair: { certificate: string; key: string }) => {
        special.set("my-etcd-peer-tls", present(secretOf("my-etcd-peer-tls", dataOf(pair, bothTrusted))));
        reads.hasChanged(KEY, "peer");
      };
      const atMs = clock.wallMs() + 60_000;
      show(await leaf(ca, { fromMs: 0, untilMs: atMs + leftMs }));
      await look();
      await clock.advance(60_000);
      const renewed = { fromMs: 0, untilMs: atMs + 10 * 60_000 };
      const { by = ca, key, ...rest } = { by: undefined, key: undefined, ...next };
      const pair = await leaf(by, { ...renewed, ...rest });
      show(key === undefined ? pair : { ...pair, key });
      const found = (await look())?.peer;
      expect(found, JSON.stringify([leftMs, next])).toMatchObject({ is: "present", value: { knownForMs: known } });
    }
  });

  test("is returned with the time for which each pod has been known, by UID", async () => {
    const { look, clock, reads } = await asked();
    const forMs = async (given: Members) => Object.fromEntries((await look(asking(), given))?.podsForMs ?? []);
    expect(await look()).not.toHaveProperty("podsForMs");
    const all = { "my-etcd-0": 0, "my-etcd-1": 0, "my-etcd-2": 0 };
    expect(await forMs(WITH_MEMBERS)).toEqual(all);
    await clock.advance(5_000);
    const pod = pods.get("my-etcd-1")!;
    const again = new Map(pods).set("my-etcd-1", { ...pod, metadata: { ...pod.metadata, uid: "another" } });
    expect(await forMs({ peers, pods: again })).toEqual({ "my-etcd-0": 5_000, "my-etcd-1": 0, "my-etcd-2": 5_000 });
    // The pod was missing in between.
    expect(await forMs(WITH_MEMBERS)).toEqual({ "my-etcd-0": 5_000, "my-etcd-1": 0, "my-etcd-2": 5_000 });
    reads.forget(KEY);
    expect(await forMs(WITH_MEMBERS)).toEqual(all);
  });

  test("is forgotten with the cluster, and when the spec no longer needs it", async () => {
    const { look, reads, keyring } = await asked();
    await look();
    expect(keyring.identityOf(KEY)?.secretName).toBe("my-etcd-operator-tls");
    expect(await look(asking({ peer: { provider: "None" } }))).not.toHaveProperty("peer");
    reads.forget(KEY);
    expect(keyring.identityOf(KEY)).toBeUndefined();
  });

  test("remains the operator's identity when its Secret becomes invalid", async () => {
    const { look, reads, keyring, special, whole } = await asked();
    await look();
    const first = keyring.identityOf(KEY);
    const texts = dataOf(await leaf(ca, OPERATORS), ca.certificate);
    for (const broken of [
      { ...texts, "tls.key": "" },
      { ...texts, "tls.key": ca.key },
    ]) {
      special.set("my-etcd-operator-tls", present(secretOf("my-etcd-operator-tls", broken)));
      reads.hasChanged(KEY, "operator");
      await look();
      expect(keyring.identityOf(KEY)).toBe(first);
    }
    special.set("my-etcd-operator-tls", present(secretOf("my-etcd-operator-tls", texts)));
    reads.hasChanged(KEY, "operator");
    await look();
    expect(keyring.identityOf(KEY)?.cert).toBe(texts["tls.crt"]);
    expect(whole("a").data).toBeDefined();
  });

  test("does not become the operator's identity while members trust only the previous one", async () => {
    const { look, reads, keyring, special } = await asked();
    const members = secured();
    await look();
    const first = keyring.identityOf(KEY);
    const other = await authority();
    const texts = dataOf(await leaf(other, OPERATORS), other.certificate);
    special.set("my-etcd-operator-tls", present(secretOf("my-etcd-operator-tls", texts)));
    reads.hasChanged(KEY, "operator");
    await look(asking(), members);
    expect(keyring.identityOf(KEY)).toBe(first);
    const tls = members.peers[0]!.spec.tls!;
    const client = { ...tls.client!, trust: tls.client!.trust + other.certificate };
    reads.hasChanged(KEY, "operator");
    await look(asking(), running(members, undefined, { ...tls, client }));
    expect(keyring.identityOf(KEY)?.cert).toBe(texts["tls.crt"]);
  });

  test("does not become the operator's identity while its times or usages are wrong and the previous one is valid", async () => {
    const { look, reads, keyring, special, clock, rest } = await asked();
    const members = running(secured(), undefined, {
      ...peers[0]!.spec.tls!,
      client: { ...peers[0]!.spec.tls!.client!, trust: ca.certificate },
    });
    const nowMs = clock.wallMs();
    const held = async (wish: object, tls: object = {}) => {
      const { certificate, key } = await leaf(ca, { ...OPERATORS, fromMs: 0, untilMs: nowMs + 9 * DAY_MS, ...wish });
      special.set(
        "my-etcd-operator-tls",
        present(secretOf("my-etcd-operator-tls", dataOf({ certificate, key }, ca.certificate))),
      );
      reads.hasChanged(KEY, "operator");
      await look(asking(tls), members);
      return keyring.identityOf(KEY)?.cert === certificate;
    };
    const wrong = [{ untilMs: nowMs }, { fromMs: nowMs + DAY_MS }, { usages: ["serverAuth"] }];
    // Without a previous identity, any will do.
    for (const wish of wrong) {
      reads.forget(KEY);
      expect(await held(wish), JSON.stringify(wish)).toBe(true);
      expect(await held({ untilMs: nowMs }), "an invalid certificate for an invalid one").toBe(true);
    }
    expect(await held({ untilMs: nowMs + 2 * DAY_MS })).toBe(true);
    for (const wish of wrong) expect(await held(wish), JSON.stringify(wish)).toBe(false);
    expect(
      await held({ untilMs: nowMs }, { client: { clientCertificates: "NotRequired" } }),
      "members do not verify it",
    ).toBe(true);
    // A certificate of the future is used, in its turn, once it is valid.
    expect(await held({ untilMs: nowMs + 2 * DAY_MS })).toBe(true);
    expect(await held({ fromMs: nowMs + DAY_MS })).toBe(false);
    const before = keyring.identityOf(KEY);
    await rest(8 * 60_000, asking(), members);
    expect(keyring.identityOf(KEY)).toBe(before);
    await clock.advance(DAY_MS);
    await rest(8 * 60_000, asking(), members);
    expect(keyring.identityOf(KEY)).not.toBe(before);
    // The previous certificate has expired: a new one cannot be worse.
    await clock.advance(10 * DAY_MS);
    expect(await held({ usages: ["serverAuth"] })).toBe(true);
  });

  test("becomes the operator's identity, even if invalid, for another Secret or when members reject the previous one", async () => {
    const ended = async (signer: typeof ca) => {
      const pair = await leaf(signer, { ...OPERATORS, fromMs: 0, untilMs: 1 });
      return { pair, data: dataOf(pair, signer.certificate) };
    };
    const { look, reads, keyring, special } = await asked();
    await look();
    const other = await authority();
    const byOther = await ended(other);
    special.set("my-etcd-operator-tls", present(secretOf("my-etcd-operator-tls", byOther.data)));
    reads.hasChanged(KEY, "operator");
    const tls = peers[0]!.spec.tls!;
    const client = { ...tls.client!, trust: other.certificate };
    await look(asking(), running(secured(), undefined, { ...tls, client }));
    expect(keyring.identityOf(KEY)?.cert).toBe(byOther.pair.certificate);

    const turned = await asked();
    await turned.look();
    const theirs = await ended(ca);
    const labels = { "etcd.improbable.io/tls": "true" };
    turned.special.set("their-operator", present(secretOf("their-operator", theirs.data, { labels })));
    const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
    await turned.look(asking({ client: { provider: "Secret", secret } }));
    expect(turned.keyring.identityOf(KEY)?.cert).toBe(theirs.pair.certificate);
  });

  test("becomes the operator's identity although members do not trust its CA when they do not verify clients", async () => {
    const { look, reads, keyring, special } = await asked();
    const lenient = { client: { clientCertificates: "NotRequired" } };
    await look(asking(lenient));
    const other = await authority();
    const texts = dataOf(await leaf(other, OPERATORS), other.certificate);
    special.set("my-etcd-operator-tls", present(secretOf("my-etcd-operator-tls", texts)));
    reads.hasChanged(KEY, "operator");
    await look(asking(lenient), secured({}, lenient));
    expect(keyring.identityOf(KEY)?.cert).toBe(texts["tls.crt"]);
  });

  test("does not become the operator's identity with another common name, which would be another user of etcd", async () => {
    const { look, reads, keyring, special } = await asked();
    await look();
    const first = keyring.identityOf(KEY);
    const texts = dataOf(await leaf(ca, { commonName: "my-etcd-client" }), ca.certificate);
    special.set("my-etcd-operator-tls", present(secretOf("my-etcd-operator-tls", texts)));
    reads.hasChanged(KEY, "operator");
    await look();
    expect(keyring.identityOf(KEY)).toBe(first);
  });

  test("becomes the operator's identity from a user-provided Secret only with its label, or when recorded as in use", async () => {
    const { look, reads, keyring, special, whole } = await asked();
    const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
    const brought = asking({ client: { provider: "Secret", secret } });
    await look(brought);
    expect(keyring.identityOf(KEY)).toBeUndefined();
    const { data = {}, ...rest } = whole("their-operator");
    const labels = { "etcd.improbable.io/tls": "true" };
    special.set("their-operator", present({ ...rest, data, metadata: { ...rest.metadata, labels } }));
    reads.hasChanged(KEY, "operator");
    await look(brought);
    expect(keyring.identityOf(KEY)?.secretName).toBe("their-operator");
    special.delete("their-operator");
    reads.forget(KEY);
    const certificates = [{ name: "their-operator", notAfter: "2026-01-02T00:00:00Z", issuer: "CN=a" }];
    await look({ ...brought, status: { ...brought.status, tls: { certificates } } });
    expect(keyring.identityOf(KEY)?.secretName).toBe("their-operator");
  });

  test("is read from the requested Secret", async () => {
    const { calls, look } = await asked();
    const peer = (secretName: string) => asking({ peer: { provider: "Secret", secret: { name: secretName } } });
    const first = await look(peer("one"));
    expect(first?.peer).toMatchObject({ value: { secretName: "one" } });
    const before = calls.length;
    expect((await look(peer("two")))?.peer).toMatchObject({ value: { secretName: "two" } });
    expect(calls.slice(before)).toEqual(["two"]);
  });

  test("does not contain a key", async () => {
    const { look, whole } = await asked();
    const seen = JSON.stringify(await look());
    const key = Buffer.from(whole("my-etcd-peer-ca").data!["tls.key"]!, "base64").toString();
    expect(key).toContain("PRIVATE");
    expect(seen).not.toContain("PRIVATE");
    expect(seen).not.toContain(key.split("\n")[1]);
  });
});

describe("during a change of provider", () => {
  const client = {
    provider: "Secret",
    secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
  };
  const given = secured();
  /** @param inUse the provider in use according to the status */
  const turning = (inUse: object) =>
    ({ ...asking({ client }), status: issuedBy(given.cluster.status, { client: inUse }) }) as EtcdCluster;

  test("both certificates are read, and the operator keeps its previous one until the status has the new provider", async () => {
    const { look, keyring, clock, special, whole } = await asked();
    const labelled = whole("their-operator");
    const labels = { "etcd.improbable.io/tls": "true" };
    special.set("their-operator", present({ ...labelled, metadata: { ...labelled.metadata, labels } }));
    const trust = ca.certificate;
    const tls = { secretName: "my-etcd-server-tls", trust, clientCertificates: "Required" as const };
    const members = running(given, undefined, { ...given.peers[0]!.spec.tls!, client: tls });
    const seen = await look(turning({ provider: "Operator" }), members);
    expect(Object.keys(seen?.previous ?? {}).sort()).toEqual(["application", "clientCA", "operator", "server"]);
    expect(seen?.previous?.server).toMatchObject({ value: { secretName: "my-etcd-server-tls" } });
    expect(seen?.server).toMatchObject({ value: { secretName: "their-server" } });
    expect(seen?.clientSecret).toMatchObject({ value: { secretName: "my-etcd-client" } });
    expect(keyring.identityOf(KEY)?.secretName).toBe("my-etcd-operator-tls");
    // The operator trusts both the current and the next CA.
    expect(keyring.identityOf(KEY)?.ca.match(/BEGIN/g)?.length).toBeGreaterThan(1);

    expect(seen).not.toHaveProperty("abandoned");

    await clock.advance(2_000);
    const moved = await look(turning(client), members);
    expect(moved).not.toHaveProperty("previous");
    expect(keyring.identityOf(KEY)).toMatchObject({ secretName: "their-operator", ca: trust });
  });

  test("a write to a Secret in use does not change the requested Secret", async () => {
    const { look, calls, clock, reads, special } = await asked();
    const seenOf = () => look(turning({ provider: "Operator" }), given);
    await look();
    await seenOf();
    await clock.advance(600_000);
    const other = await leaf(ca, { names: ["another"] });
    calls.length = 0;
    for (const [what, name] of [
      ["server", "my-etcd-server-tls"],
      ["application", "my-etcd-client"],
    ] as const) {
      reads.hasChanged(KEY, what);
      reads.hasWritten(KEY, what, secretOf(name, dataOf(other, ca.certificate)));
    }
    special.set("their-server", unknown("no answer"));
    await clock.advance(1_000);
    const seen = await seenOf();
    const written = { names: ["another"], knownForMs: 1_000 };
    expect(seen).toMatchObject({
      server: { value: { secretName: "their-server", knownForMs: 601_000 } },
      previous: {
        server: { value: { secretName: "my-etcd-server-tls", ...written } },
        application: { value: { secretName: "my-etcd-client", ...written } },
      },
      // Both are the same Secret.
      clientSecret: { value: { secretName: "my-etcd-client", ...written } },
    });
    expect(calls).toContain("their-server");
    for (const name of ["my-etcd-server-tls", "my-etcd-client"]) expect(calls).not.toContain(name);
  });

  test("a Secret of an abandoned change that some members use is read as well", async () => {
    const { look, calls, reads } = await asked();
    const tls = given.peers[0]!.spec.tls!;
    const abandoned = { secretName: "between-server", trust: ca.certificate, clientCertificates: "Required" as const };
    const members = running(given, ["my-etcd-1"], { ...tls, client: abandoned });
    const seen = await look(turning({ provider: "Operator" }), members);
    expect(Object.keys(seen?.abandoned ?? {})).toEqual(["server"]);
    expect(seen?.abandoned?.server).toMatchObject({ value: { secretName: "between-server", knownForMs: 0 } });
    expect(seen?.previous?.server).toMatchObject({ value: { secretName: "my-etcd-server-tls" } });
    expect(calls).not.toContain("between-peer");
    // A write to it is read in its turn, not after a step about the requested Secret.
    reads.hasChanged(KEY, "server");
    calls.length = 0;
    await look(turning({ provider: "Operator" }), members);
    expect(calls).not.toContain("between-server");
    const moved = await look(
      turning({ provider: "Operator" }),
      running(given, ["my-etcd-1"], { ...tls, client: { ...abandoned, secretName: "other" } }),
    );
    expect(moved?.abandoned?.server).toMatchObject({ value: { secretName: "other" } });
    expect(await look(turning({ provider: "Operator" }), given)).not.toHaveProperty("abandoned");
  });
});
