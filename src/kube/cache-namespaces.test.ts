import { expect, test } from "vitest";
import { ModelServer, THINGS, type Thing } from "#kit/servers/kube-model.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { Cache } from "./cache.ts";
import type { Reader } from "./client.ts";

const never = new AbortController().signal;

/** A cache of two namespaces, of a server that answers only for one namespace at a time. */
function twoNamespaces() {
  const shop = new ModelServer("shop", 100);
  const billing = new ModelServer("billing", 500);
  const serverOf = (namespace: string | undefined) => {
    const server = [shop, billing].find((each) => each.namespace === namespace);
    if (server === undefined) throw new Error(`a request for namespace ${namespace}`);
    return server;
  };
  const client: Reader = {
    list: (_resource, query) => serverOf(query.namespace).list(),
    watch: (resource, query, options) => serverOf(query.namespace).watch(resource, query, options),
  };
  const clock = new FakeClock();
  const namespaces = ["shop", "billing"];
  const cache = new Cache<Thing>({ client, resource: THINGS, clock, random: () => 0, namespaces });
  const changes: string[] = [];
  cache.onChange(({ type, object }) => changes.push(`${type} ${object.metadata.namespace}/${object.metadata.name}`));
  return { shop, billing, cache, clock, changes };
}

test("a cache of two namespaces is synced when both states have been read, and follows both", async () => {
  const { shop, billing, cache, clock, changes } = twoNamespaces();
  billing.faults.push({ does: "fail", after: 0, code: "KubeForbidden" });
  shop.put("a", 1);
  billing.put("a", 2);
  cache.start(never);
  await clock.advance(0);
  expect([cache.synced, changes]).toEqual([false, ["added shop/a"]]);
  await clock.advance(2_000);
  await cache.whenSynced(never);
  expect([cache.synced, changes]).toEqual([true, ["added shop/a", "added billing/a"]]);
  shop.remove("a");
  billing.put("b", 3);
  await clock.advance(0);
  expect(cache.list().map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
    "billing/a",
    "billing/b",
  ]);
  await cache.stop();
  expect([shop.openStreams, billing.openStreams]).toEqual([0, 0]);
});

test("the time of the last event is that of the stream that is silent longest", async () => {
  const { shop, billing, cache, clock } = twoNamespaces();
  billing.faults.push({ does: "fail", after: 0, code: "KubeForbidden" });
  cache.start(never);
  await clock.advance(0);
  expect(cache.stats.lastEventAtMs).toBe(0);
  await clock.advance(2_000);
  const syncedAtMs = cache.stats.lastEventAtMs;
  expect(syncedAtMs).toBeGreaterThan(0);
  await clock.advance(5_000);
  shop.put("a", 1);
  await clock.advance(0);
  billing.put("a", 1);
  await clock.advance(3_000);
  const bothAtMs = cache.stats.lastEventAtMs;
  expect(bothAtMs).toBe(clock.wallMs() - 3_000);
  shop.put("b", 1);
  await clock.advance(0);
  expect(cache.stats.lastEventAtMs).toBe(bothAtMs);
  await cache.stop();
});

test("the version that is seen counts for each namespace alone", async () => {
  const { shop, billing, cache, clock } = twoNamespaces();
  cache.start(never);
  await clock.advance(0);
  billing.put("b", 1);
  await clock.advance(0);
  expect([cache.seenVersion("shop"), cache.seenVersion("billing"), cache.seenVersion()]).toEqual([100n, 501n, 100n]);
  shop.put("a", 1);
  await clock.advance(0);
  expect([cache.seenVersion("shop"), cache.seenVersion()]).toEqual([101n, 101n]);
  await cache.stop();
});

test("reading the state of one namespace again keeps the objects of the other", async () => {
  const { shop, billing, cache, clock, changes } = twoNamespaces();
  shop.put("a", 1);
  billing.put("b", 1);
  cache.start(never);
  await clock.advance(0);
  shop.remove("a");
  shop.compact();
  shop.breakStream("KubeExpired");
  await clock.advance(1_000);
  expect(changes.slice(2)).toEqual(["deleted shop/a"]);
  expect(cache.get({ namespace: "billing", name: "b" })).toBeDefined();
  await cache.stop();
});

test("a missed change reopens the silent stream of its namespace only", async () => {
  const { shop, billing, cache, clock } = twoNamespaces();
  cache.start(never);
  await clock.advance(30_000);
  cache.missed("shop");
  await clock.advance(1_000);
  expect([shop.asked.length, billing.asked.length]).toEqual([2, 1]);
  await cache.stop();
});
