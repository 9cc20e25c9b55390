import { X509Certificate } from "node:crypto";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { MANAGED_BY_LABEL, OPERATOR, WEBHOOKS } from "#api/names.ts";
import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import { certificatesIn } from "#certificates/pem.ts";
import { namesake } from "#kit/etcd/certified-authority.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { SOON_MS } from "#kit/time/soon.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type Draft,
  type KubeObject,
  type Ref,
  type Resource,
  type Secret,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhookConfiguration,
} from "#kube/kinds.ts";
import { trustedBy } from "#webhooks/certificate/bundle.ts";
import { newAuthority, newServing } from "#webhooks/certificate/issue.ts";
import { CertificateKeeper, webhookHost } from "#webhooks/certificate/keeper.ts";
import { materialOf, secretFor } from "#webhooks/certificate/material.ts";
import { isTrustedBy } from "#webhooks/certificate/renewal.ts";
import { BUNDLE_HOLDERS } from "#webhooks/holders.ts";
import type { ServingCertificate } from "#webhooks/server.ts";

const NAMESPACE = "operators";
const DAY_MS = 86_400_000;
const signal = new AbortController().signal;

/** The API server as a keeper uses it: objects by name, and resourceVersions that must match. */
class Objects {
  readonly objects = new Map<string, KubeObject>();
  readonly writes: string[] = [];
  /** Error for the next calls that match. */
  failing: (call: string) => OperatorError | undefined = () => undefined;
  /** Resolves before a creation is carried out, so that several can be in flight. */
  beforeCreate: () => Promise<void> = () => Promise.resolve();
  #version = 1;

  client(): Pick<KubeClient, "find" | "create" | "replace"> {
    return {
      find: async <T extends KubeObject>({ plural }: Resource<T>, { name }: Ref) => {
        await Promise.resolve();
        const failure = this.failing(`get ${plural}`);
        if (failure !== undefined) return { is: "unknown", why: failure.message } as const;
        const found = this.objects.get(`${plural}/${name}`);
        return found === undefined ? ({ is: "absent" } as const) : ({ is: "present", value: found as T } as const);
      },
      create: async <T extends KubeObject>({ plural }: Resource<T>, draft: Draft<T>) => {
        await this.beforeCreate();
        this.#mayFail(`create ${plural}`);
        const key = `${plural}/${draft.metadata.name}`;
        if (this.objects.has(key)) throw new OperatorError("KubeAlreadyExists", `${key} is there`);
        return this.put(key, draft) as T;
      },
      replace: async <T extends KubeObject>({ plural }: Resource<T>, draft: Draft<T>) => {
        await Promise.resolve();
        this.#mayFail(`replace ${plural}`);
        const key = `${plural}/${draft.metadata.name}`;
        const { resourceVersion } = this.objects.get(key)?.metadata ?? {};
        if (resourceVersion !== draft.metadata.resourceVersion)
          throw new OperatorError("KubeConflict", `${key} changed`);
        return this.put(key, draft) as T;
      },
    };
  }

  put(key: string, draft: Draft<KubeObject>): KubeObject {
    this.writes.push(key);
    const metadata = { ...draft.metadata, uid: "uid", resourceVersion: String(this.#version++) };
    const object = { ...draft, metadata } as KubeObject;
    this.objects.set(key, object);
    return object;
  }

  #mayFail(call: string): void {
    const failure = this.failing(call);
    if (failure !== undefined) throw failure;
  }

  get secret(): Secret | undefined {
    return this.objects.get(`secrets/${WEBHOOKS}`) as Secret | undefined;
  }

  get material() {
    const found = materialOf(this.secret!);
    if ("unusable" in found) throw new Error(found.unusable);
    return found;
  }

  get configuration(): ValidatingWebhookConfiguration {
    return this.objects.get(`validatingwebhookconfigurations/${OPERATOR}`) as ValidatingWebhookConfiguration;
  }

  /** CAs that the API server trusts when it calls the webhooks. */
  get trusted(): readonly string[] {
    return trustedBy(this.configuration.webhooks![0]!.clientConfig);
  }
}

class Replica {
  readonly keeper: CertificateKeeper;
  shown: ServingCertificate | undefined;
  mayWrite = true;
  isStarting = false;
  readonly logged: string[] = [];

  constructor(objects: Objects, clock: Clock) {
    const addLine = (fields: object, message: string): void =>
      void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const log: Log = { debug: addLine, info: addLine, warn: addLine, error: addLine, with: () => log };
    this.keeper = new CertificateKeeper({
      kube: objects.client(),
      clock,
      log,
      namespace: NAMESPACE,
      holders: BUNDLE_HOLDERS,
      mayWrite: () => this.mayWrite,
      isStarting: () => this.isStarting,
      show: (serving) => {
        this.shown = serving;
      },
    });
  }

  /** Runs the keeper for this long, with the pauses that it returns. */
  async runFor(clock: FakeClock, ms: number): Promise<void> {
    const endMs = clock.monotonicMs() + ms;
    for (;;) {
      const next = await this.keeper.look(signal);
      if (clock.monotonicMs() + next > endMs) break;
      await clock.advance(next);
    }
  }
}

let objects: Objects;
let clock: FakeClock;
beforeEach(() => {
  objects = new Objects();
  clock = new FakeClock();
  const client = (namespace: string) => ({ service: { namespace, name: WEBHOOKS, path: "/a" } });
  const webhooks = [
    { name: "ours", clientConfig: client(NAMESPACE) },
    { name: "theirs", clientConfig: client("elsewhere") },
  ];
  objects.put(`validatingwebhookconfigurations/${OPERATOR}`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: VALIDATING_WEBHOOK_CONFIGURATIONS.kind,
    metadata: { name: OPERATOR, uid: "", resourceVersion: "" },
    webhooks,
  } as unknown as KubeObject);
  objects.writes.length = 0;
});

/** Expects that the API server would accept the replica's serving certificate now. */
function expectServed({ shown }: Replica): void {
  expect(shown).toBeDefined();
  const { validFromDate, validToDate } = new X509Certificate(shown!.certificate);
  expect(isTrustedBy(shown!.certificate, objects.trusted)).toBe(true);
  expect(validFromDate.getTime()).toBeLessThanOrEqual(clock.wallMs());
  expect(validToDate.getTime()).toBeGreaterThan(clock.wallMs());
}

test("the first run creates the Secret, publishes its CA, and serves its certificate", async () => {
  const replica = new Replica(objects, clock);
  expect(replica.keeper.fault).toBe("has no certificate yet");
  await replica.keeper.look(signal);
  expect(objects.writes).toEqual([`secrets/${WEBHOOKS}`, `validatingwebhookconfigurations/${OPERATOR}`]);
  expect(objects.secret).toMatchObject({
    type: "kubernetes.io/tls",
    metadata: { namespace: NAMESPACE, labels: { [MANAGED_BY_LABEL]: OPERATOR } },
  });
  expect(replica.shown).toEqual(objects.material.serving);
  expectServed(replica);
  expect(new X509Certificate(replica.shown!.certificate).checkHost(webhookHost(NAMESPACE))).toBe(
    `${WEBHOOKS}.operators.svc`,
  );
  expect(replica.keeper.fault).toBeUndefined();
});

describe("CustomResourceDefinitions with a conversion webhook", () => {
  const kinds = ["etcdclusters", "etcdpeers"].map((plural) => `${plural}.etcd.improbable.io`);

  function define(name: string, conversion: object | undefined): void {
    const kind = CUSTOM_RESOURCE_DEFINITIONS.kind;
    const spec = { group: "etcd.improbable.io", ...(conversion && { conversion }) };
    const definition = { apiVersion: "apiextensions.k8s.io/v1", kind, metadata: { name }, spec };
    objects.put(`customresourcedefinitions/${name}`, definition as Draft<KubeObject>);
  }

  function calling(namespace: string): object {
    const clientConfig = { service: { namespace, name: WEBHOOKS, path: "/conversion", port: 443 } };
    return { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } };
  }

  function conversionOf(name: string): CustomResourceDefinition["spec"]["conversion"] {
    return (objects.objects.get(`customresourcedefinitions/${name}`) as CustomResourceDefinition).spec.conversion;
  }

  test("get the CA bundle, and no other field changes", async () => {
    for (const name of kinds) define(name, calling(NAMESPACE));
    await new Replica(objects, clock).keeper.look(signal);
    for (const name of kinds) {
      const { caBundle, ...rest } = conversionOf(name)!.webhook!.clientConfig!;
      expect(trustedBy({ caBundle: caBundle! })).toEqual(objects.trusted);
      const conversion = { ...conversionOf(name), webhook: { ...conversionOf(name)!.webhook, clientConfig: rest } };
      expect(conversion).toEqual(calling(NAMESPACE));
    }
  });

  test("are unchanged without a webhook, or with another operator's webhook", async () => {
    define(kinds[0]!, undefined);
    define(kinds[1]!, calling("elsewhere"));
    objects.writes.length = 0;
    await new Replica(objects, clock).keeper.look(signal);
    expect(objects.writes.filter((key) => key.startsWith("customresourcedefinitions"))).toEqual([]);
  });

  test("that are installed while the operator starts get the CA bundle within seconds, later within minutes", async () => {
    const stop = new AbortController();
    const replica = new Replica(objects, clock);
    replica.isStarting = true;
    const done = replica.keeper.run(stop.signal);
    await vi.waitFor(() => expect(replica.shown).toBeDefined(), SOON_MS);
    await clock.advance(20_000);
    for (const name of kinds) define(name, calling(NAMESPACE));
    await clock.advance(5_000);
    for (const name of kinds) expect(trustedBy(conversionOf(name)!.webhook!.clientConfig!)).toEqual(objects.trusted);
    replica.isStarting = false;
    await clock.advance(5_000);
    for (const name of kinds) define(name, calling(NAMESPACE));
    await clock.advance(290_000);
    expect(trustedBy(conversionOf(kinds[0]!)!.webhook!.clientConfig!)).toEqual([]);
    await clock.advance(10_000);
    expect(trustedBy(conversionOf(kinds[0]!)!.webhook!.clientConfig!)).toEqual(objects.trusted);
    stop.abort();
    await done;
  });
});

test("another operator's webhooks are unchanged", async () => {
  await new Replica(objects, clock).keeper.look(signal);
  expect(objects.configuration.webhooks![1]).toEqual({
    name: "theirs",
    clientConfig: { service: { namespace: "elsewhere", name: WEBHOOKS, path: "/a" } },
  });
});

test("nothing is written while nothing changes, and a standby replica does not read the webhook configuration", async () => {
  const [leader, standby] = [new Replica(objects, clock), new Replica(objects, clock)];
  await leader.keeper.look(signal);
  standby.mayWrite = false;
  await standby.keeper.look(signal);
  expect(standby.shown).toEqual(leader.shown);
  objects.writes.length = 0;
  let looks = 0;
  objects.failing = (call) => {
    if (call.includes("validating")) looks++;
    return undefined;
  };
  await standby.runFor(clock, 3_600_000);
  expect(looks).toBe(0);
  await leader.runFor(clock, 3_600_000);
  expect(looks).toBe(13);
  expect(objects.writes).toEqual([]);
});

test("replicas that start at the same time agree on one Secret", async () => {
  const replicas = [new Replica(objects, clock), new Replica(objects, clock), new Replica(objects, clock)];
  const all = Promise.withResolvers<void>();
  let arrived = 0;
  objects.beforeCreate = () => {
    if (++arrived === replicas.length) all.resolve();
    return all.promise;
  };
  const next = await Promise.all(replicas.map(({ keeper }) => keeper.look(signal)));
  expect(next.filter((ms) => ms === 100)).toHaveLength(2);
  expect(objects.writes.filter((key) => key.startsWith("secrets/"))).toHaveLength(1);
  for (const replica of replicas) await replica.runFor(clock, 10_000);
  for (const replica of replicas) {
    expect(replica.shown).toEqual(objects.material.serving);
    expectServed(replica);
  }
});

test("a replica that neither leads nor is starting writes neither the Secret nor the CA bundle", async () => {
  const replica = new Replica(objects, clock);
  replica.mayWrite = false;
  expect(await replica.keeper.look(signal)).toBe(5_000);
  expect(objects.writes).toEqual([]);
  expect(replica.shown).toBeUndefined();
});

test("a replica without certificate creates a missing Secret at its second check, without being the leader", async () => {
  const replica = new Replica(objects, clock);
  replica.mayWrite = false;
  await replica.keeper.look(signal);
  await replica.keeper.look(signal);
  expect(replica.shown).toEqual(objects.material.serving);
  expect(objects.trusted).toEqual([objects.material.authority.certificate]);
  // Once it has a certificate, a deleted Secret is the leader's task.
  objects.objects.delete(`secrets/${WEBHOOKS}`);
  objects.writes.length = 0;
  for (let look = 0; look < 3; look++) await replica.keeper.look(signal);
  expect(objects.writes).toEqual([]);
});

describe("a certificate that is due for renewal", () => {
  test("is renewed, and every replica serves a trusted certificate all the time", async () => {
    const [leader, standby] = [new Replica(objects, clock), new Replica(objects, clock)];
    for (const replica of [leader, standby]) await replica.keeper.look(signal);
    standby.mayWrite = false;
    const first = leader.shown!;
    await clock.advance(59 * DAY_MS);
    await leader.keeper.look(signal);
    expect(objects.material.serving).toEqual(first);
    await clock.advance(2 * DAY_MS);
    for (let round = 0; round < 10; round++) {
      for (const replica of [standby, leader]) {
        await replica.keeper.look(signal);
        expectServed(replica);
      }
      await clock.advance(5_000);
    }
    expect(objects.material.serving).not.toEqual(first);
    expect(objects.trusted).toHaveLength(1); // the CA stays
    for (const { shown } of [leader, standby]) expect(shown).toEqual(objects.material.serving);
  });

  test("is renewed with its CA when the CA is due, and the old CA is dropped later", async () => {
    const [leader, standby] = [new Replica(objects, clock), new Replica(objects, clock)];
    for (const replica of [leader, standby]) await replica.keeper.look(signal);
    standby.mayWrite = false;
    const old = objects.material.authority.certificate;
    await clock.advance(46 * DAY_MS);
    for (let day = 46; day < 250; day++) {
      await clock.advance(DAY_MS);
      for (const replica of [leader, standby]) {
        await replica.runFor(clock, 20_000);
        expectServed(replica);
      }
    }
    const renewed = objects.material.authority.certificate;
    expect(renewed).not.toBe(old);
    expect(objects.trusted).toEqual([renewed]);
  });

  test("is replaced by one of a new CA, and both CAs are trusted for an hour", async () => {
    const leader = new Replica(objects, clock);
    await leader.keeper.look(signal);
    const [old, shown] = [objects.material.authority.certificate, leader.shown];
    await clock.advance(246 * DAY_MS);
    leader.shown = undefined;
    // The old certificate has expired, so the new one is served at once.
    await leader.keeper.look(signal);
    expect(objects.trusted).toEqual([objects.material.authority.certificate, old]);
    expect(leader.shown).toEqual(objects.material.serving);
    expect(leader.shown).not.toEqual(shown);
    await leader.runFor(clock, 3_599_000 - 1);
    expect(objects.trusted).toHaveLength(2);
    await leader.runFor(clock, 600_000);
    expect(objects.trusted).toEqual([objects.material.authority.certificate]);
  });
});

describe("the webhooks' Secret", () => {
  test("keeps its old CA while the replica that writes it still serves a certificate of that CA", async () => {
    const [late, other] = [new Replica(objects, clock), new Replica(objects, clock)];
    for (const replica of [late, other]) await replica.keeper.look(signal);
    objects.objects.delete(`secrets/${WEBHOOKS}`);
    await other.keeper.look(signal);
    await clock.advance(2 * 3_600_000);
    await late.keeper.look(signal);
    expect(late.shown).not.toEqual(objects.material.serving);
    expect(objects.material.earlier).toHaveLength(1);
    expectServed(late);
    await late.runFor(clock, 120_000);
    expect(late.shown).toEqual(objects.material.serving);
    expect(objects.trusted).toEqual([objects.material.authority.certificate]);
  });

  test("is created again after a deletion, and the old CA stays trusted until replicas serve new certificates", async () => {
    const [leader, standby] = [new Replica(objects, clock), new Replica(objects, clock)];
    for (const replica of [leader, standby]) await replica.keeper.look(signal);
    standby.mayWrite = false;
    const [lost, shown] = [objects.material.authority.certificate, leader.shown];
    objects.objects.delete(`secrets/${WEBHOOKS}`);
    expect(await standby.keeper.look(signal)).toBe(300_000);
    expect(objects.secret).toBeUndefined();
    expect(await leader.keeper.look(signal)).toBe(5_000);
    expect(leader.shown).toBe(shown); // not before every API server can have read the new CA
    expect(objects.trusted).toEqual([objects.material.authority.certificate, lost]);
    await clock.advance(4_999);
    await leader.keeper.look(signal);
    expect(leader.shown).toBe(shown);
    await clock.advance(1);
    await leader.keeper.look(signal);
    expect(leader.shown).toEqual(objects.material.serving);
    expectServed(standby);
    await standby.runFor(clock, 6_000);
    expect(standby.shown).toEqual(leader.shown);
    expectServed(standby);
  });

  test("is deleted while another replica starts, and the running replica's certificate stays trusted", async () => {
    const running = new Replica(objects, clock);
    await running.keeper.look(signal);
    running.mayWrite = false;
    objects.objects.delete(`secrets/${WEBHOOKS}`);
    const starting = new Replica(objects, clock);
    await starting.keeper.look(signal);
    for (const replica of [running, starting]) expectServed(replica);
  });

  const broken: readonly { name: string; data: Record<string, string>; says: string }[] = [
    { name: "empty", data: {}, says: "it has no ca.crt" },
    { name: "without the CA's key", data: { "ca.key": "" }, says: "it has no ca.key" },
    {
      name: "cut off",
      data: { "tls.crt": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t" },
      says: "tls.key is not that of tls.crt",
    },
    { name: "not PEM", data: { "ca.crt": "bm90aGluZw==" }, says: "ca.key is not that of ca.crt" },
    { name: "not base64", data: { "tls.key": "%%%" }, says: "tls.key is not that of tls.crt" },
  ];
  for (const { name, data, says } of broken) {
    test(`that is ${name} is filled again and keeps its uid`, async () => {
      const replica = new Replica(objects, clock);
      await replica.keeper.look(signal);
      const { metadata, data: whole } = objects.secret!;
      const changed = name === "empty" ? data : { ...whole, ...data };
      objects.put(`secrets/${WEBHOOKS}`, { ...objects.secret!, data: changed } as Draft<KubeObject>);
      const shown = replica.shown!;
      await replica.runFor(clock, 12_000);
      expect(replica.logged.join("\n")).toContain(says);
      expect(objects.secret!.metadata.uid).toBe(metadata.uid);
      expect(replica.shown).toEqual(objects.material.serving);
      expect(replica.shown).not.toEqual(shown);
      expectServed(replica);
    });
  }

  test("is unusable with a key of another certificate", async () => {
    const [one, other] = [new Objects(), new Objects()];
    for (const each of [one, other]) await new Replica(each, clock).keeper.look(signal);
    const mixed = { ...one.secret!.data, "tls.key": other.secret!.data!["tls.key"]! };
    expect(materialOf({ data: mixed })).toEqual({ unusable: "tls.key is not that of tls.crt" });
    const foreign = { ...one.secret!.data, "ca.key": other.secret!.data!["ca.key"]! };
    expect(materialOf({ data: foreign })).toEqual({ unusable: "ca.key is not that of ca.crt" });
  });

  test("gets a new certificate when its certificate is of a forged CA or another host", async () => {
    const replica = new Replica(objects, clock);
    await replica.keeper.look(signal);
    const { authority } = objects.material;
    const forger = await newAuthority(clock.wallMs());
    const nowMs = clock.wallMs();
    const forged = await namesake(authority, { fromMs: nowMs, untilMs: nowMs + 3_650 * 86_400_000 });
    const host = webhookHost(NAMESPACE);
    for (const serving of [
      await newServing(forger, host, clock.wallMs()),
      await newServing(forged, host, clock.wallMs()),
      await newServing(authority, "elsewhere.operators.svc", clock.wallMs()),
    ]) {
      objects.put(`secrets/${WEBHOOKS}`, secretFor(NAMESPACE, { authority, serving, earlier: [] }, objects.secret));
      const starting = new Replica(objects, clock);
      await starting.keeper.look(signal);
      expect(starting.shown).not.toEqual(serving);
      expect(new X509Certificate(starting.shown!.certificate).checkHost(host)).toBe(host);
      expectServed(starting);
      expect(objects.material.authority).toEqual(authority);
    }
  });

  test("is not served by a standby replica before its CA is published", async () => {
    const [leader, standby] = [new Replica(objects, clock), new Replica(objects, clock)];
    for (const replica of [leader, standby]) await replica.keeper.look(signal);
    standby.mayWrite = false;
    const { shown } = standby;
    const down = new OperatorError("KubeUnavailable", "down");
    objects.failing = (call) => (call === "replace validatingwebhookconfigurations" ? down : undefined);
    objects.objects.delete(`secrets/${WEBHOOKS}`);
    await expect(leader.keeper.look(signal)).rejects.toThrow("down");
    objects.failing = () => undefined;
    objects.writes.length = 0;
    await standby.runFor(clock, 600_000);
    expect(standby.shown).toBe(shown);
    expectServed(standby);
    expect(objects.writes).toEqual([]);
    for (let round = 0; round < 3; round++) {
      for (const replica of [leader, standby]) await replica.keeper.look(signal);
      await clock.advance(5_000);
    }
    for (const replica of [leader, standby]) expect(replica.shown).toEqual(objects.material.serving);
    expectServed(standby);
  });

  test("is deleted with the CA bundle, and the leader publishes the CAs of served certificates again", async () => {
    const [leader, standby] = [new Replica(objects, clock), new Replica(objects, clock)];
    for (const replica of [leader, standby]) await replica.keeper.look(signal);
    standby.mayWrite = false;
    objects.objects.delete(`secrets/${WEBHOOKS}`);
    const { webhooks, ...configuration } = objects.configuration;
    const wiped = webhooks!.map((each) => ({ ...each, clientConfig: { ...each.clientConfig, caBundle: "" } }));
    objects.put(`validatingwebhookconfigurations/${OPERATOR}`, { ...configuration, webhooks: wiped } as KubeObject);
    await leader.keeper.look(signal);
    for (const replica of [leader, standby]) expectServed(replica);
  });

  test("without the operator's label is never written, used while valid, and reported when broken", async () => {
    await new Replica(objects, clock).keeper.look(signal);
    const { metadata, ...rest } = objects.secret!;
    const { labels: _, ...bare } = metadata;
    objects.put(`secrets/${WEBHOOKS}`, { ...rest, metadata: bare } as Draft<KubeObject>);
    objects.writes.length = 0;
    const replica = new Replica(objects, clock);
    await replica.keeper.look(signal);
    expectServed(replica);
    await clock.advance(61 * DAY_MS);
    await replica.keeper.look(signal);
    expect(replica.logged.join("\n")).toContain("it is used until it expires");
    objects.put(`secrets/${WEBHOOKS}`, { ...rest, metadata: bare, data: {} } as unknown as Draft<KubeObject>);
    objects.writes.length = 0;
    await expect(replica.keeper.look(signal)).rejects.toThrow(
      `Secret operators/${WEBHOOKS} does not have the operator's label, and it has no ca.crt; delete it`,
    );
    expect(objects.writes).toEqual([]);
  });
});

describe("wrong clocks", () => {
  /** A clock that is wrong by so much. */
  const off = (ms: number): Clock => ({
    wallMs: () => clock.wallMs() + ms,
    monotonicMs: () => clock.monotonicMs(),
    sleep: (wait, stop) => clock.sleep(wait, stop),
    after: (wait, run) => clock.after(wait, run),
  });

  for (const hours of [-23, 23]) {
    test(`a replica with a clock that is ${hours} hours off makes a valid certificate, and replicas do not rewrite it`, async () => {
      const wrong = new Replica(objects, off(hours * 3_600_000));
      await wrong.keeper.look(signal);
      expectServed(wrong);
      objects.writes.length = 0;
      const right = new Replica(objects, clock);
      for (const replica of [right, wrong, right, wrong]) await replica.runFor(clock, 600_000);
      expectServed(right);
      expect(objects.writes).toEqual([]);
    });
  }

  test("a certificate that is valid only in the future is replaced", async () => {
    await new Replica(objects, off(400 * DAY_MS)).keeper.look(signal);
    const right = new Replica(objects, clock);
    await right.keeper.look(signal);
    expectServed(right);
  });

  test("a certificate that expired while no replica ran is replaced by the first replica that starts", async () => {
    await new Replica(objects, clock).keeper.look(signal);
    await clock.advance(500 * DAY_MS);
    const late = new Replica(objects, clock);
    await late.keeper.look(signal);
    expectServed(late);
    expect(objects.trusted).toEqual([objects.material.authority.certificate]);
  });
});

describe("failures of the API server", () => {
  test("are logged once, do not end the loop, and are cleared after a success", async () => {
    const replica = new Replica(objects, clock);
    const down = new OperatorError("KubeUnavailable", "get secrets: no answer");
    objects.failing = () => down;
    const stop = new AbortController();
    const done = replica.keeper.run(stop.signal);
    await clock.advance(120_000);
    expect(replica.logged).toHaveLength(1);
    expect(replica.keeper.fault).toBe("has no certificate yet: get secrets: no answer");
    objects.failing = () => undefined;
    await vi.waitFor(
      async () => {
        await clock.advance(10_000);
        expectServed(replica);
      },
      SOON_MS, // Keys are generated in real time.
    );
    expect(replica.keeper.fault).toBeUndefined();
    stop.abort();
    await done;
  });

  test("a certificate is served even when its CA cannot be published", async () => {
    const replica = new Replica(objects, clock);
    objects.failing = (call) => (call.includes("validating") ? new OperatorError("KubeForbidden", call) : undefined);
    await expect(replica.keeper.look(signal)).rejects.toThrow("get validatingwebhookconfigurations");
    expect(replica.shown).toBeDefined();
  });

  test("a certificate is created even when there is no webhook configuration", async () => {
    objects.objects.clear();
    const replica = new Replica(objects, clock);
    await replica.keeper.look(signal);
    expect(replica.shown).toEqual(objects.material.serving);
  });

  test("a replica with an expired certificate reports a fault", async () => {
    const replica = new Replica(objects, clock);
    await replica.keeper.look(signal);
    await clock.advance(91 * DAY_MS);
    expect(replica.keeper.fault).toBe("its certificate has expired");
  });
});

test("no private key is logged", async () => {
  const replica = new Replica(objects, clock);
  await replica.keeper.look(signal);
  const secrets = [objects.secret!.data!["ca.key"]!, objects.secret!.data!["tls.key"]!];
  objects.put(`secrets/${WEBHOOKS}`, {
    ...objects.secret!,
    data: { ...objects.secret!.data, "tls.crt": "" },
  } as Draft<KubeObject>);
  await replica.runFor(clock, 20_000);
  secrets.push(objects.secret!.data!["ca.key"]!, objects.secret!.data!["tls.key"]!);
  const logged = replica.logged.join("\n");
  expect(logged).not.toBe("");
  for (const secret of secrets) {
    const pem = Buffer.from(secret, "base64").toString();
    for (const line of pem.split("\n").filter((each) => !each.startsWith("-----") && each !== "")) {
      expect(logged).not.toContain(line.slice(0, 20));
    }
    expect(logged).not.toContain(secret.slice(0, 40));
  }
});

test("a CA bundle without a valid certificate has no certificates", () => {
  expect(certificatesIn("")).toEqual([]);
  expect(certificatesIn("-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----")).toEqual([]);
});

test("a replica that made a certificate publishes its CA once, even when it loses the leadership before that", async () => {
  const starting = new Replica(objects, clock);
  objects.failing = (call) => {
    if (call.startsWith("create secrets")) starting.mayWrite = false;
    return undefined;
  };
  await starting.keeper.look(signal);
  expect(objects.trusted).toEqual([objects.material.authority.certificate]);
  expect(starting.shown?.certificate).toBe(objects.material.serving.certificate);
  // It publishes the CA only once: the rest is the leader's task.
  objects.writes.length = 0;
  const { configuration } = objects;
  const webhooks = configuration.webhooks!.map((webhook) => ({
    ...webhook,
    clientConfig: { ...webhook.clientConfig, caBundle: "" },
  }));
  objects.put(`validatingwebhookconfigurations/${OPERATOR}`, { ...configuration, webhooks } as never);
  await starting.keeper.look(signal);
  expect(objects.trusted).toEqual([]);
});
