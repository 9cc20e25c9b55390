import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { systemClock } from "#base/clock.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { type FaultProxy, startFaultProxy } from "#kit/servers/fault-proxy.ts";
import { Cache, type CacheOptions, type Change } from "#kube/cache.ts";
import type { KubeClient } from "#kube/client.ts";
import { type Draft, keyOf, REPLICA_SETS, type Ref, type ReplicaSet, SECRETS, type Secret } from "#kube/kinds.ts";

const { signal } = new AbortController();
const OPTIONS = { signal, deadlineMs: 30_000 };
const namespace = "default";
let server: ApiServer;
let kube: KubeClient;
let serial = 0;
/** Resources that a test opened. They are closed after it, also after a failure. */
const opened: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startApiServer();
  kube = server.client;
});
afterAll(async () => await server?.stop());
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A separate label for each test, so that one does not see the objects of the others. */
function newSet(): string {
  serial += 1;
  return `set-${serial}`;
}

function secret(set: string, name: string, value = "1"): Draft<Secret> {
  const metadata = { name: `${set}-${name}`, namespace, labels: { set } };
  return { apiVersion: "v1", kind: "Secret", metadata, stringData: { value } };
}

async function write(set: string, name: string, value: string): Promise<Secret> {
  return await kube.apply(SECRETS, secret(set, name, value), { ...OPTIONS, force: true });
}

async function remove(set: string, name: string): Promise<void> {
  const ref = { namespace, name: `${set}-${name}` };
  const { uid } = (await kube.get(SECRETS, ref, OPTIONS)).metadata;
  await kube.delete(SECRETS, ref, { ...OPTIONS, preconditions: { uid } });
}

/** A running cache of one set, and the set according to its changes. */
function follow(set: string, client: KubeClient = kube, more: Partial<CacheOptions<Secret>> = {}) {
  const cache = new Cache<Secret>({ client, resource: SECRETS, namespace, labelSelector: `set=${set}`, ...more });
  const told = new Map<string, string>();
  cache.onChange((change) => replay(told, change));
  cache.start(signal);
  opened.push(() => cache.stop());
  return { cache, told };
}

/** Adds only new objects and changes only existing ones: a change out of order is a failure. */
function replay(told: Map<string, string>, { type, object }: Change<Secret>): void {
  const key = keyOf(object);
  expect(told.has(key)).toBe(type !== "added");
  if (type === "deleted") told.delete(key);
  else told.set(key, object.metadata.resourceVersion);
}

async function onServer(set: string): Promise<Map<string, string>> {
  const { items } = await kube.list(SECRETS, { namespace, labelSelector: `set=${set}` }, OPTIONS);
  return new Map(items.map((item) => [keyOf(item), item.metadata.resourceVersion]));
}

function held(cache: Cache<Secret>): Map<string, string> {
  return new Map(cache.list().map((item) => [keyOf(item), item.metadata.resourceVersion]));
}

async function expectSame(set: string, followed: ReturnType<typeof follow>, withinMs = 15_000): Promise<void> {
  await vi.waitFor(async () => {
    const truth = await onServer(set);
    expect(held(followed.cache)).toEqual(truth);
    expect(followed.told).toEqual(truth);
  }, withinMs);
  expect(followed.cache.stats.listenerFailures).toBe(0);
}

/** Many small changes, some of them in a row on the same name. */
async function beBusy(set: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await Promise.all([0, 1, 2, 3].map((n) => write(set, `o${n}`, String(round))));
    if (round % 3 === 1) await remove(set, "o1");
  }
}

describe("a cache", () => {
  test("receives the initial state as a stream and then every change", async () => {
    const set = newSet();
    for (let n = 0; n < 5; n++) await write(set, `before-${n}`, "1");
    const followed = follow(set);
    await followed.cache.whenSynced(signal);
    expect(followed.cache.list()).toHaveLength(5);
    expect(followed.cache.stats).toMatchObject({ syncs: 1, restarts: {} });
    await beBusy(set, 20);
    await expectSame(set, followed);
    expect(followed.cache.stats).toMatchObject({ syncs: 1, restarts: {} });
  });

  test("shows the client's own write soon", async () => {
    const set = newSet();
    const { cache } = follow(set);
    await cache.whenSynced(signal);
    const { metadata } = await write(set, "mine", "1");
    await vi.waitFor(() => expect(cache.seenVersion()).toBeGreaterThanOrEqual(BigInt(metadata.resourceVersion)), 5_000);
    expect(cache.get(metadata)?.metadata.uid).toBe(metadata.uid);
  });

  test("stores only the selected fields without managedFields, and its objects are frozen", async () => {
    const set = newSet();
    await write(set, "a", "1");
    const { cache } = follow(set, kube, {
      keep: ({ data: _, ...rest }) => rest,
      indexes: { set: (object) => [object.metadata.labels?.set ?? ""] },
    });
    await cache.whenSynced(signal);
    const [only] = cache.byIndex("set", set);
    expect(only?.data).toBeUndefined();
    expect(only?.metadata).not.toHaveProperty("managedFields");
    expect(() => Object.assign(only?.metadata.labels ?? {}, { set: "other" })).toThrow(TypeError);
  });

  test("follows objects of the largest size, even if a full list exceeds the size limit of a response", async () => {
    const set = newSet();
    const metadata = (name: string) => ({ name: `${set}-${name}`, namespace, labels: { set } });
    /** Objects with `<`: each is stored as one byte and sent as six. */
    const large = (name: string, characters = 1_480_000): Draft<ReplicaSet> => {
      const env = [{ name: "LARGE", value: "<".repeat(characters) }];
      const spec = { containers: [{ name: "none", image: "none", env }] };
      const template = { metadata: { labels: { set } }, spec };
      const selector = { matchLabels: { set } };
      return {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        metadata: metadata(name),
        spec: { replicas: 0, selector, template },
      };
    };
    const followed = () => {
      const cache = new Cache<ReplicaSet>({
        client: kube,
        resource: REPLICA_SETS,
        namespace,
        labelSelector: `set=${set}`,
      });
      cache.start(signal);
      opened.push(() => cache.stop());
      return cache;
    };
    const early = followed();
    await early.whenSynced(signal);
    for (const name of ["a", "b", "c", "d"]) await kube.create(REPLICA_SETS, large(name), OPTIONS);
    await kube.create(REPLICA_SETS, large("small", 1), OPTIONS);
    const late = followed();
    await late.whenSynced(signal);
    for (const cache of [early, late]) {
      await vi.waitFor(() => expect(cache.size).toBe(5), 15_000);
      expect(cache.stats.restarts).toEqual({});
    }
    const { items } = await kube.list(REPLICA_SETS, { namespace, labelSelector: `set=${set}` }, OPTIONS);
    expect(items).toHaveLength(5);
    for (const { metadata } of items)
      await kube.delete(REPLICA_SETS, metadata as Ref, { ...OPTIONS, preconditions: { uid: metadata.uid } });
  });

  test("reports an object that leaves the selection as deleted", async () => {
    const set = newSet();
    const followed = follow(set);
    const { metadata } = await write(set, "a", "1");
    await expectSame(set, followed);
    await kube.patch(SECRETS, metadata, { metadata: { labels: { set: "other" } } }, { ...OPTIONS, type: "merge" });
    await vi.waitFor(() => expect(followed.told.size).toBe(0), 5_000);
  });
});

describe("a cache recovers from", () => {
  test("a restart of the API server and shows changes made afterwards", async () => {
    const set = newSet();
    const followed = follow(set);
    await beBusy(set, 3);
    await server.kill();
    await systemClock.sleep(1_000);
    await server.start();
    await write(set, "after", "1");
    await remove(set, "o0");
    await expectSame(set, followed, 60_000);
    expect(followed.cache.stats.restarts.KubeUnavailable).toBeGreaterThanOrEqual(1);
  }, 120_000);

  test("connections that are reset in the middle of a busy time", async () => {
    const set = newSet();
    const { proxy, followed } = await throughProxy(set);
    const busy = beBusy(set, 20);
    for (let n = 0; n < 4; n++) {
      await systemClock.sleep(60);
      proxy.reset();
    }
    await busy;
    await expectSame(set, followed);
    expect(followed.cache.stats.restarts.KubeUnavailable).toBeGreaterThanOrEqual(1);
  });

  test("connections that are cut at any byte", async () => {
    const set = newSet();
    const { proxy, followed } = await throughProxy(set);
    await followed.cache.whenSynced(signal);
    for (const bytes of [1, 700, 1_500, 4_096]) {
      const before = followed.cache.stats.restarts.KubeUnavailable ?? 0;
      proxy.cutAfter(bytes);
      await beBusy(set, 3);
      await vi.waitFor(() => expect(followed.cache.stats.restarts.KubeUnavailable).toBeGreaterThan(before), 5_000);
      proxy.cutAfter(undefined);
    }
    await expectSame(set, followed, 30_000);
  });

  test("a frozen connection, which is replaced after the idle time", async () => {
    const set = newSet();
    const idle = new AbortController();
    const { proxy, client } = await proxied();
    // The idle time is 90 s. This cache's clock runs so much faster that it takes three seconds.
    const hasty = { ...systemClock, after: (ms: number, run: () => void) => systemClock.after(ms / 30, run) };
    const followed = follow(set, client, { clock: hasty });
    await followed.cache.whenSynced(idle.signal);
    proxy.freeze();
    await write(set, "unseen", "1");
    await vi.waitFor(() => expect(followed.cache.stats.restarts.idle).toBe(1), 10_000);
    proxy.thaw();
    await expectSame(set, followed, 30_000);
  });

  test("a frozen API server", async () => {
    const set = newSet();
    const followed = follow(set);
    await write(set, "a", "1");
    server.pause();
    await systemClock.sleep(2_000);
    server.resume();
    await write(set, "b", "1");
    await expectSame(set, followed);
  });
});

async function proxied(): Promise<{ proxy: FaultProxy; client: KubeClient }> {
  const proxy = await startFaultProxy(server.port);
  opened.push(() => proxy.stop());
  return { proxy, client: await server.clientFor("admin", proxy.port) };
}

async function throughProxy(set: string) {
  const { proxy, client } = await proxied();
  return { proxy, client, followed: follow(set, client) };
}
