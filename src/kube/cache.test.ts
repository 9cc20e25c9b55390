import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ErrorCode } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import { contentsOf, type Fault, ModelServer, THINGS, type Thing } from "#kit/servers/kube-model.ts";
import { ScriptedTransport } from "#kit/servers/kube-transport.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { Cache, type CacheOptions, type Change } from "./cache.ts";
import { KubeClient } from "./client.ts";
import type { KubeConfig } from "./config.ts";
import { SharedStrings } from "./shared-strings.ts";

const never = new AbortController().signal;

const failing = (times: number, code: ErrorCode): Fault[] =>
  Array.from({ length: times }, () => ({ does: "fail", after: 0, code }));

/** A cache of the model's things, and the changes that it reports. */
function follow(server: ModelServer, options: Partial<CacheOptions<Thing>> = {}) {
  const clock = new FakeClock();
  const cache = new Cache<Thing>({ client: server, resource: THINGS, clock, random: () => 0, ...options });
  const reported = new Map<string, Thing>();
  const changes: string[] = [];
  cache.onChange((change) => {
    changes.push(`${change.type} ${change.object.metadata.name}`);
    replay(reported, change);
  });
  return { cache, clock, reported, changes };
}

/** Applies a change; it must fit the changes before it. */
function replay(reported: Map<string, Thing>, { type, object, previous }: Change<Thing>): void {
  const { name, uid } = object.metadata;
  const known = reported.get(name);
  if (type === "added") expect(known).toBeUndefined();
  else expect(known?.metadata.uid).toBe(uid);
  expect(previous && contentOf(previous)).toEqual(type === "modified" ? known && contentOf(known) : undefined);
  if (type === "deleted") reported.delete(name);
  else reported.set(name, object);
}

/** The parts of an object that changes report: all but its version. */
function contentOf({ metadata, value }: Thing) {
  return { name: metadata.name, uid: metadata.uid, value };
}

function sortedContents(things: Iterable<Thing>) {
  return [...things].map(contentOf).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function started(server: ModelServer, options: Partial<CacheOptions<Thing>> = {}) {
  const followed = follow(server, options);
  followed.cache.start(never);
  await followed.clock.advance(0);
  return followed;
}

describe("a cache", () => {
  test("shares equal strings of its objects with other caches", async () => {
    const server = new ModelServer();
    const strings = new SharedStrings();
    const { cache } = await started(server, { strings });
    expect(strings.size).toBe(0);
    server.put("a", 1);
    const other = await started(server, { strings });
    const { size } = strings;
    expect(size).toBeGreaterThan(0);
    expect(strings.within({ name: "a", namespace: "default" }) && strings.size).toBe(size);
    await Promise.all([cache.stop(), other.cache.stop()]);
  });

  test("is empty before the initial state is complete, and has all objects afterwards", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.put("b", 2);
    server.faults.push({ does: "hang", after: 1 });
    const { cache, clock, changes } = await started(server);
    expect([cache.synced, cache.list(), cache.seenVersion()]).toEqual([false, [], 0n]);
    await clock.advance(91_000);
    expect([cache.synced, changes]).toEqual([true, ["added a", "added b"]]);
    expect(cache.seenVersion()).toBe(BigInt(server.version));
    await cache.stop();
  });

  test("reports no change of a field that it drops, but its resourceVersion advances", async () => {
    const server = new ModelServer();
    const keep = ({ value: _, ...thing }: Thing) => thing as Thing;
    const { cache, clock, changes } = await started(server, { keep });
    server.put("a", 1);
    server.put("a", 2);
    await clock.advance(0);
    expect(changes).toEqual(["added a"]);
    expect(cache.list().map(({ metadata }) => metadata.resourceVersion)).toEqual([server.version]);
    expect(cache.seenVersion()).toBe(BigInt(server.version));
    await cache.stop();
  });

  test("follows changes, and bookmarks advance its resourceVersion", async () => {
    const server = new ModelServer();
    const { cache, clock, changes } = await started(server);
    server.put("a", 1);
    server.put("a", 2);
    server.remove("a");
    await clock.advance(0);
    expect(changes).toEqual(["added a", "modified a", "deleted a"]);
    server.bookmark();
    await clock.advance(0);
    expect(cache.seenVersion()).toBe(BigInt(server.version));
    await cache.stop();
  });

  test.each([
    ["from a watch with initial events", []],
    ["from a list", [{ does: "fail", after: 0, code: "KubeInvalid" }] as const],
  ])(
    "lacks objects that its filter drops, but their versions count: the initial state comes %s",
    async (_how, faults) => {
      const server = new ModelServer();
      server.put("even", 2);
      server.put("odd", 1);
      server.faults.push(...faults);
      const { cache, clock, changes } = await started(server, {
        keep: (thing) => (thing.value % 2 === 0 ? thing : undefined),
      });
      await clock.advance(60_000);
      expect([cache.list().length, changes]).toEqual([1, ["added even"]]);
      expect(cache.seenVersion()).toBe(BigInt(server.version));
      server.put("other", 3);
      await clock.advance(0);
      expect(cache.seenVersion()).toBe(BigInt(server.version));
      server.put("odd", 4);
      server.put("even", 5);
      server.put("even", 7);
      server.remove("even");
      server.remove("other");
      await clock.advance(0);
      expect(changes).toEqual(["added even", "added odd", "deleted even"]);
      expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(["odd"]);
      expect(cache.seenVersion()).toBe(BigInt(server.version));
      await cache.stop();
    },
  );

  test("reports an object that its filter now drops as deleted, with the last value that the cache had", async () => {
    const server = new ModelServer();
    const { cache, clock } = await started(server, { keep: (thing) => (thing.value < 5 ? thing : undefined) });
    const reported: string[] = [];
    cache.onChange(({ type, object }) => reported.push(`${type} ${object.metadata.name} ${object.value}`));
    server.put("a", 1);
    server.put("a", 7);
    server.put("b", 2);
    server.remove("b", 8);
    server.put("c", 3);
    server.remove("c", 4);
    await clock.advance(0);
    expect(reported).toEqual(["added a 1", "deleted a 1", "added b 2", "deleted b 2", "added c 3", "deleted c 4"]);
    expect(cache.seenVersion()).toBe(BigInt(server.version));
    await cache.stop();
  });

  test("reports an object with another uid and the same name as deleted and added, from a watch and from a list", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.faults.push({ does: "end", after: 2 }, { does: "fail", after: 0, code: "KubeExpired" });
    const { cache, clock, changes, reported } = await started(server);
    server.remove("a");
    server.put("a", 2);
    await clock.advance(60_000);
    expect(changes).toEqual(["added a", "deleted a", "added a"]);
    expect(reported.get("a")?.value).toBe(2);
    await cache.stop();
  });

  test("continues from its resourceVersion after a normal end of its watch, without reading the state again", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.faults.push({ does: "end", after: 2 });
    const { cache, clock } = await started(server);
    await clock.advance(0);
    expect(server.asked).toEqual(["watch-list", `watch ${server.version}`]);
    expect(cache.stats).toMatchObject({ syncs: 1, restarts: { ended: 1 } });
    await cache.stop();
  });

  test("reads the state again when its resourceVersion is too old", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.faults.push({ does: "fail", after: 2, code: "KubeUnavailable" });
    const { cache, clock, reported } = await started(server);
    server.remove("a");
    server.put("b", 1);
    server.compact();
    await clock.advance(5_000);
    expect(contentsOf([...reported.values()])).toEqual(server.contents());
    expect(cache.stats).toMatchObject({ syncs: 2, restarts: { KubeUnavailable: 1, KubeExpired: 1 } });
    await cache.stop();
  });

  test("reads the state again after a line that is not an event", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "fail", after: 2, code: "KubeInvalid" });
    const { cache, clock } = await started(server);
    server.put("a", 1);
    await clock.advance(5_000);
    expect(cache.stats).toMatchObject({ syncs: 2, restarts: { KubeInvalid: 1 } });
    await cache.stop();
  });

  test("reads the state again when the server's resourceVersions decrease", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.put("b", 1);
    const { cache, clock, reported } = await started(server);
    server.rewind(50);
    server.bookmark();
    await clock.advance(5_000);
    expect(cache.stats.restarts).toEqual({ rewound: 1 });
    expect(cache.seenVersion()).toBe(BigInt(server.version));
    expect(contentsOf([...reported.values()])).toEqual(server.contents());
    await cache.stop();
  });

  test("reads the state again after two watches without events, since the server may be behind the cache", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    const { cache, clock, reported } = await started(server);
    server.rewind(50);
    await clock.advance(190_000);
    expect(cache.stats).toMatchObject({ syncs: 1, restarts: { idle: 2 } }); // the first of them brought the state
    await clock.advance(95_000);
    expect(cache.stats).toMatchObject({ syncs: 2, restarts: { idle: 3 } });
    expect(contentsOf([...reported.values()])).toEqual(server.contents());
    await cache.stop();
  });

  test("waits as long as the server's Retry-After requires", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "fail", after: 0, code: "KubeThrottled", retryAfterMs: 20_000 });
    const { cache, clock } = await started(server);
    await clock.advance(19_000);
    expect(server.asked).toHaveLength(1);
    await clock.advance(2_000);
    expect(cache.synced).toBe(true);
    await cache.stop();
  });

  test("reads lists for as long as the server refuses a watch with initial events", async () => {
    const server = new ModelServer();
    server.watchList = "refused";
    server.put("a", 1);
    const { cache, clock } = await started(server);
    expect(cache.synced).toBe(true);
    server.faults.push({ does: "fail", after: 0, code: "KubeExpired" });
    server.put("b", 1);
    await clock.advance(60_000);
    expect(server.asked.filter((each) => each === "watch-list")).toHaveLength(1);
    expect(contentsOf(cache.list())).toEqual(server.contents());
    await cache.stop();
  });

  test("sends its lists separately from other calls, so that they do not wait for other calls", async () => {
    const list = { kind: "ThingList", metadata: { resourceVersion: "1" }, items: [] };
    const transport = new ScriptedTransport({ status: 400 }, { status: 200, body: list }, "hangs");
    const clock = new FakeClock();
    const client = new KubeClient({ config: {} as KubeConfig, userAgent: "test", transport, clock });
    const cache = new Cache<Thing>({ client, resource: THINGS, clock });
    cache.start(never);
    await clock.advance(1_000);
    expect(transport.requests.map(({ lane }) => lane)).toEqual(["watch", "state", "watch"]);
    await cache.stop();
  });

  test("reads a list when the watch with initial events never reports that the state is complete", async () => {
    const server = new ModelServer();
    server.watchList = "silent";
    server.put("a", 1);
    const { cache, clock } = await started(server);
    await clock.advance(59_000);
    expect(cache.synced).toBe(false);
    await clock.advance(3_000);
    expect([cache.synced, cache.stats.restarts]).toEqual([true, { "slow-sync": 1 }]);
    server.breakStream("KubeExpired");
    await clock.advance(1_000);
    expect(server.asked.slice(-1)).toEqual(["watch-list"]); // the stream may have been slow only once
    await cache.stop();
  });

  test("does not use an incomplete state when the watch ends early", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.put("b", 1);
    server.faults.push({ does: "end", after: 1 });
    const { cache, clock } = await started(server);
    expect([cache.list(), cache.stats.restarts]).toEqual([[], { KubeUnavailable: 1 }]);
    await clock.advance(1_000);
    expect(cache.list()).toHaveLength(2);
    await cache.stop();
  });

  test("opens a silent watch again after 90 s, unless bookmarks arrive", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "hang", after: 3 });
    const { cache, clock } = await started(server);
    for (let n = 0; n < 2; n++) {
      await clock.advance(60_000);
      server.bookmark();
    }
    await clock.advance(89_000);
    expect(cache.stats.restarts).toEqual({});
    await clock.advance(2_000);
    expect(cache.stats.restarts).toEqual({ idle: 1 });
    await cache.stop();
  });

  test("opens its watch again when an event is missing and ten seconds passed without data", async () => {
    const server = new ModelServer();
    const { cache, clock, changes } = await started(server);
    await clock.advance(9_000);
    server.put("a", 1);
    await clock.advance(9_999);
    cache.missed();
    await clock.advance(0);
    expect(cache.stats.restarts).toEqual({});
    await clock.advance(1);
    cache.missed();
    await clock.advance(1_000);
    expect(cache.stats.restarts).toEqual({ missed: 1 });
    // The stream is new, and the server may take a while to begin: a missed event does not reopen it before that.
    for (let n = 0; n < 23; n++) {
      cache.missed();
      await clock.advance(1_000);
    }
    expect(cache.stats).toMatchObject({ syncs: 1, restarts: { missed: 1 } });
    server.put("b", 1);
    await clock.advance(0);
    expect(changes).toEqual(["added a", "added b"]);
    await cache.stop();
    cache.missed();
  });

  test("reads the state again when an event is missing and two watches bring nothing, since the server may be behind", async () => {
    const server = new ModelServer();
    for (let n = 0; n < 100; n++) server.put("a", n);
    const { cache, clock, reported } = await started(server);
    server.rewind(50);
    for (let n = 0; n < 12; n++) {
      await clock.advance(10_000);
      cache.missed();
    }
    await clock.advance(10_000);
    expect(cache.stats).toMatchObject({ syncs: 2 });
    expect(contentsOf([...reported.values()])).toEqual(server.contents());
    await cache.stop();
  });

  test("reads a state to its end, even when an event is missing", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "hang", after: 0 });
    const { cache, clock } = await started(server);
    await clock.advance(30_000);
    cache.missed();
    await clock.advance(1_000);
    expect([server.asked.length, cache.stats.restarts]).toEqual([1, {}]);
    await cache.stop();
  });

  test("that is renewed watches at once from its resourceVersion, and reports when it has caught up", async () => {
    const server = new ModelServer();
    const { cache, clock, changes } = await started(server);
    const isSynced = async (withinMs = 1_000): Promise<boolean> => {
      const waiting = cache.whenSynced(never).then(() => true);
      await clock.advance(withinMs);
      return await Promise.race([waiting, Promise.resolve(false)]);
    };
    expect(await isSynced()).toBe(true);
    server.faults.push(
      ...Array.from({ length: 6 }, (): Fault => ({ does: "fail", after: 0, code: "KubeUnavailable" })),
    );
    server.breakStream("KubeUnavailable");
    await clock.advance(20_000); // The pause has grown to 16 s.
    server.put("a", 1);
    const tried = server.asked.length;
    server.faults.length = 0;
    await clock.advance(1_000);
    expect([server.asked.length - tried, changes]).toEqual([0, []]);
    server.faults.push({ does: "hang", after: 0 });
    cache.renew();
    expect([await isSynced(), server.asked.length - tried]).toEqual([false, 1]);
    cache.renew(); // The new request hangs, too.
    expect([await isSynced(999), changes]).toEqual([false, ["added a"]]);
    expect(await isSynced(1)).toBe(true);
    // An open stream may be dead.
    server.faults.push({ does: "hang", after: 0 });
    cache.renew();
    expect(await isSynced()).toBe(false);
    server.put("b", 1);
    cache.renew();
    expect([await isSynced(), changes, cache.stats.syncs]).toEqual([true, ["added a", "added b"], 1]);
    await cache.stop();
    cache.renew();
  });

  describe("makes a new leader's start", () => {
    async function takenOver() {
      const server = new ModelServer();
      const followed = await started(server);
      const isSynced = async (withinMs = 0) => {
        let is = false;
        void followed.cache.whenSynced(never).then(() => {
          is = true;
        });
        await followed.clock.advance(withinMs);
        return is;
      };
      /** Cuts the cache off for twenty seconds: its pause grows, and the next try is due in twelve. */
      const cutOff = async (code: ErrorCode = "KubeUnavailable") => {
        server.faults.push(...failing(6, code));
        server.breakStream(code);
        await followed.clock.advance(20_000);
        server.faults.length = 0;
      };
      return { ...followed, server, isSynced, cutOff };
    }

    test("wait for a cache that lost its watch, which retries at once, and not for other caches", async () => {
      const { server, cache, changes, isSynced, cutOff } = await takenOver();
      expect(await isSynced()).toBe(true);
      await cutOff();
      server.put("a", 1);
      const tried = server.asked.length;
      expect([await isSynced(999), server.asked.length - tried, changes]).toEqual([false, 1, ["added a"]]);
      expect(await isSynced(1)).toBe(true);
      expect(server.asked.length - tried).toBe(1);
      await cache.stop();
      expect(await isSynced()).toBe(true);
    });

    test("not wait for a cache that has recovered by itself", async () => {
      const { clock, cache, isSynced, cutOff } = await takenOver();
      await cutOff();
      await clock.advance(12_999);
      expect(await isSynced()).toBe(false);
      await clock.advance(1);
      expect(await isSynced()).toBe(true);
      await cache.stop();
    });

    test("wait only briefly when the first retry of the cache fails", async () => {
      const { server, cache, isSynced, cutOff } = await takenOver();
      await cutOff();
      server.faults.push(...failing(1, "KubeUnavailable"));
      expect(await isSynced(1_500)).toBe(true);
      await cache.stop();
    });

    test("wait on after a watch that ends without events, which does not show that the cache caught up", async () => {
      const { server, clock, cache, isSynced, cutOff } = await takenOver();
      await cutOff();
      server.faults.push({ does: "end", after: 0 });
      const tried = server.asked.length;
      await clock.advance(12_000 + 30_000);
      expect([server.asked.length - tried, server.faults]).toEqual([2, []]);
      expect([await isSynced(999), await isSynced(1)]).toEqual([false, true]);
      await cache.stop();
    });

    test("wait for a server that refuses for a moment, such as a starting server", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      server.breakStream("KubeForbidden");
      await clock.advance(0);
      expect([await isSynced(), await isSynced(2_000)]).toEqual([false, true]);
      // Refused, cut off and refused again: never refused for ten seconds in a row.
      server.faults.push(
        ...failing(4, "KubeForbidden"),
        ...failing(1, "KubeUnavailable"),
        ...failing(1, "KubeForbidden"),
      );
      server.breakStream("KubeForbidden");
      await clock.advance(20_000);
      expect([server.faults, await isSynced()]).toEqual([[], false]);
      await cache.stop();
    });

    test("wait during the try that follows a refusal", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      server.breakStream("KubeForbidden");
      const tried = server.asked.length;
      while (server.asked.length === tried) await clock.advance(10);
      expect([await isSynced(), await isSynced(1_000)]).toEqual([false, true]);
      await cache.stop();
    });

    test("wait when the server refuses again after it has served the cache", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      server.breakStream("KubeForbidden");
      await clock.advance(60_000);
      expect(await isSynced()).toBe(true);
      server.faults.push(...failing(1, "KubeForbidden"));
      cache.renew();
      expect([await isSynced(), await isSynced(3_000)]).toEqual([false, true]);
      await cache.stop();
    });

    test("not wait for a cache that was refused for ten seconds, but have it try once more", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      server.faults.push(...failing(30, "KubeForbidden"));
      server.breakStream("KubeForbidden");
      await clock.advance(9_999);
      expect([await isSynced(), await isSynced(1_000)]).toEqual([false, true]);
      await clock.advance(60_000);
      const tried = server.asked.length;
      for (const renew of [() => undefined, () => cache.renew()]) {
        renew();
        expect(await isSynced()).toBe(true);
      }
      expect(server.asked.length - tried).toBe(2);
      server.faults.length = 0; // The right was granted again.
      server.put("b", 1);
      expect([await isSynced(999), cache.list().length]).toEqual([false, 1]);
      expect(await isSynced(1)).toBe(true);
      await cache.stop();
    });

    test("not wait for a watch that ends normally after an event", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      server.put("a", 1);
      server.faults.push({ does: "end", after: 1 }, { does: "end", after: 1 });
      server.breakStream("KubeUnavailable");
      await clock.advance(3_000);
      server.put("a", 2);
      await clock.advance(0);
      expect(await isSynced()).toBe(true);
      await cache.stop();
    });

    test("not wait once a complete state has been read", async () => {
      const { server, cache, clock, isSynced } = await takenOver();
      server.faults.push({ does: "hang", after: 0 });
      server.breakStream("KubeExpired");
      await clock.advance(59_000);
      expect([await isSynced(), server.asked.at(-1)]).toEqual([false, "watch-list"]);
      server.put("a", 1);
      server.breakStream("KubeExpired");
      const tried = server.asked.length;
      expect([await isSynced(600), server.asked.slice(tried)]).toEqual([true, ["watch-list"]]);
      await cache.stop();
    });

    test("wait longer after the process was suspended, since events of that time are unread", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      cache.renew();
      await clock.advance(0);
      clock.stall(1_000);
      expect([await isSynced(899), server.asked.length]).toEqual([false, 2]);
      expect(await isSynced(1)).toBe(true);
      await cache.stop();
    });

    test("not wait for a stopped cache", async () => {
      const { cache, isSynced } = await takenOver();
      await cache.stop();
      cache.renew();
      expect(await isSynced()).toBe(true);
    });
  });

  test("logs an outage of two minutes as an error, and none once it follows again", async () => {
    const reported: unknown[] = [];
    const log: Log = { ...silentLog, error: (fields) => void reported.push(fields.durationMs) };
    const server = new ModelServer();
    const { cache, clock } = await started(server, { log });
    await clock.advance(60_000);
    server.faults.push(...failing(30, "KubeUnavailable"));
    server.breakStream("KubeUnavailable");
    await clock.advance(60_000);
    expect(reported).toEqual([]);
    await clock.advance(59_999 + 30_000);
    expect(reported.length).toBeGreaterThan(0);
    for (const ms of reported) expect(ms).toBeGreaterThanOrEqual(120_000);
    server.faults.length = 0;
    await clock.advance(60_000);
    const { length } = reported;
    // Events of a stream count until its end, even when a new leader opens it again.
    for (const breakIt of [() => server.breakStream("KubeUnavailable"), () => cache.renew()]) {
      for (let n = 0; n < 6; n++) {
        server.put("a", n);
        await clock.advance(30_000);
      }
      server.faults.push(...failing(3, "KubeUnavailable"));
      breakIt();
      await clock.advance(30_000);
    }
    expect(reported).toHaveLength(length);
    await cache.stop();
  });

  describe.each([["KubeUnavailable"], ["ended"]] as const)(
    "with watches that have no events and are cut after 50 s (%s)",
    (how) => {
      /** Cuts so many streams, one after the other. */
      async function cutStreams(count: number) {
        const reported: unknown[] = [];
        const log: Log = { ...silentLog, error: (fields) => void reported.push(fields) };
        const server = new ModelServer();
        const { cache, clock } = await started(server, { log });
        const cut = async () => {
          await clock.advance(50_000);
          if (how === "ended") server.endStream();
          else server.breakStream(how);
          await clock.advance(1_000);
        };
        for (let n = 0; n < count; n++) await cut();
        return { server, cache, clock, reported };
      }

      test("opens the next watch at once, and logs no outage", async () => {
        const { server, cache, reported } = await cutStreams(11);
        expect([server.openStreams, reported]).toEqual([1, []]);
        expect(server.asked.slice(1)).toEqual(Array.from({ length: 11 }, () => `watch ${server.version}`));
        await cache.stop();
      });

      test("reads the state again after ten minutes, since such watches do not show the server's version", async () => {
        const { server, cache } = await cutStreams(14);
        expect(server.asked.filter((asked) => asked === "watch-list")).toHaveLength(2);
        await cache.stop();
      });
    },
  );

  test("reads a state with growing pauses when the read is repeatedly cut", async () => {
    const server = new ModelServer();
    for (let n = 0; n < 40; n++) server.faults.push({ does: "hang", after: 1 });
    server.put("a", 1);
    const { cache, clock } = await started(server);
    for (let n = 0; n < 30; n++) {
      await clock.advance(10_000);
      server.breakStream("KubeUnavailable");
    }
    expect(server.asked.length).toBeLessThan(20);
    await cache.stop();
  });

  test("does not count as caught up after a watch that breaks within a second", async () => {
    const server = new ModelServer();
    const { cache, clock } = await started(server);
    server.faults.push({ does: "hang", after: 1 });
    cache.renew();
    let isSynced = false;
    void cache.whenSynced(never).then(() => {
      isSynced = true;
    });
    await clock.advance(900);
    server.faults.push({ does: "hang", after: 0 });
    server.breakStream("KubeUnavailable");
    await clock.advance(3_000);
    expect(isSynced).toBe(false);
    await cache.stop();
  });

  test("makes a new leader wait for a state that is slow to arrive, until it is complete", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    const { cache, clock } = await started(server);
    server.faults.push({ does: "hang", after: 1 });
    server.breakStream("KubeExpired");
    await clock.advance(2_000);
    expect(server.asked.at(-1)).toBe("watch-list");
    let isSynced = false;
    void cache.whenSynced(never).then(() => {
      isSynced = true;
    });
    await clock.advance(30_000);
    expect([isSynced, server.asked.at(-1)]).toEqual([false, "watch-list"]);
    await clock.advance(30_000); // The cache has switched to a list.
    expect([isSynced, cache.stats.syncs]).toEqual([true, 2]);
    await cache.stop();
  });

  test("makes a new leader wait for a complete state when its resourceVersion is too old", async () => {
    const server = new ModelServer();
    const { cache, clock } = await started(server);
    server.faults.push({ does: "hang", after: 0 });
    server.breakStream("KubeUnavailable");
    await clock.advance(1_000);
    server.put("a", 1);
    server.compact();
    server.faults.push({ does: "end", after: 1_000 }, { does: "hang", after: 0 });
    cache.renew();
    const shown: number[] = [];
    void cache.whenSynced(never).then(() => shown.push(cache.list().length));
    await clock.advance(30_000);
    expect([shown, server.asked.slice(-2)]).toEqual([[], ["watch 100", "watch-list"]]);
    await clock.advance(60_000);
    expect(shown).toEqual([1]);
    await cache.stop();
  });

  test("does not start reading the state again for a new leader while it is being read", async () => {
    const server = new ModelServer();
    const { cache, clock } = await started(server);
    server.put("a", 1);
    await clock.advance(0);
    server.faults.push({ does: "fail", after: 0, code: "KubeExpired" }, { does: "hang", after: 0 });
    server.breakStream("KubeExpired");
    await clock.advance(2_000);
    const tried = server.asked.length;
    let isSynced = false;
    cache.renew();
    void cache.whenSynced(never).then(() => {
      isSynced = true;
    });
    await clock.advance(30_000);
    expect([isSynced, server.asked.length - tried, server.asked.at(-1)]).toEqual([false, 0, "watch-list"]);
    await clock.advance(60_000);
    expect([isSynced, cache.stats.syncs]).toEqual([true, 2]);
    await cache.stop();
  });

  test("retries with growing pauses during an outage of the server, and recovers after it", async () => {
    const server = new ModelServer();
    server.faults.push(
      ...Array.from({ length: 8 }, (): Fault => ({ does: "fail", after: 0, code: "KubeUnavailable" })),
    );
    const { cache, clock } = await started(server);
    const asked: number[] = [];
    for (let n = 0; n < 6; n++) {
      asked.push(server.asked.length);
      await clock.advance(1_000);
    }
    expect(asked).toEqual([1, 2, 3, 3, 4, 4]);
    await clock.advance(200_000);
    expect(cache.synced).toBe(true);
    await cache.stop();
  });

  test("notifies its other listeners when one throws", async () => {
    const server = new ModelServer();
    const { cache, clock, changes } = follow(server);
    const names: string[] = [];
    cache.onChange(() => {
      throw new Error("a bad listener");
    });
    const stop = cache.onChange(({ object }) => names.push(object.metadata.name));
    cache.start(never);
    await clock.advance(0);
    server.put("a", 1);
    await clock.advance(0);
    stop();
    server.put("b", 1);
    await clock.advance(0);
    expect([changes, names, cache.stats.listenerFailures]).toEqual([["added a", "added b"], ["a"], 2]);
    expect(cache.stats.restarts).toEqual({});
    await cache.stop();
  });

  test("stops at any time, more than once, and leaves no stream", async () => {
    const server = new ModelServer();
    const early = follow(server).cache;
    await early.stop();
    const { cache } = await started(server);
    await Promise.all([cache.stop(), cache.stop()]);
    await cache.stop();
    expect(server.openStreams).toBe(0);
    await expect(early.whenSynced(never)).rejects.toMatchObject({ code: "Cancelled" });
    await expect(follow(server).cache.whenSynced(AbortSignal.abort())).rejects.toMatchObject({ code: "Cancelled" });
  });

  test("fails a wait for its state as Cancelled when it is stopped", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "hang", after: 0 });
    const { cache } = await started(server);
    const waiting = expect(cache.whenSynced(never)).rejects.toMatchObject({ code: "Cancelled" });
    await cache.stop();
    await waiting;
  });

  test("finds objects by index, also after their value has changed", async () => {
    const server = new ModelServer();
    const { cache, clock } = await started(server, { indexes: { value: ({ value }) => [String(value)] } });
    for (const name of ["c", "a", "b"]) server.put(name, 1);
    server.put("b", 2);
    await clock.advance(0);
    const names = (value: string) => cache.byIndex("value", value).map(({ metadata }) => metadata.name);
    expect([names("1"), names("2"), names("3")]).toEqual([["a", "c"], ["b"], []]);
    expect(() => cache.byIndex("colour", "red")).toThrow(/no index "colour"/);
    await cache.stop();
  });
});

const name = fc.constantFrom("a", "b", "c", "d");
const after = fc.integer({ min: 0, max: 6 });
const code = fc.constantFrom("KubeUnavailable", "KubeExpired", "KubeThrottled", "KubeInvalid", "KubeForbidden", "Bug");
const fault = fc.oneof(
  fc.record({ does: fc.constant("fail" as const), after, code }),
  fc.record({ does: fc.constantFrom("end" as const, "hang" as const), after }),
);
const delayMs = fc.oneof(fc.constant(0), fc.constant(300), fc.integer({ min: 0, max: 20_000 }));
const happening = fc.oneof(
  fc.record({ put: name, value: fc.nat(9) }),
  fc.record({ remove: name }),
  fc.record({ replace: name }),
  fc.record({ fault }),
  fc.record({ breakWith: code }),
  fc.constant("compact" as const),
  fc.constant("bookmark" as const),
  fc.constant("list fails" as const),
);

test("with any failures of watches and lists, a cache and its reported changes end up equal to the server", async () => {
  const watchList = fc.constantFrom("served" as const, "refused" as const, "silent" as const);
  await fc.assert(
    fc.asyncProperty(
      watchList,
      fc.array(fc.tuple(happening, delayMs), { maxLength: 40, size: "max" }),
      async (served, happenings) => {
        const server = new ModelServer();
        server.watchList = served;
        const { cache, clock, reported } = await started(server, {
          indexes: { value: ({ value }) => [String(value)] },
        });
        for (const [each, thenMs] of happenings) {
          if (each === "compact") server.compact();
          else if (each === "bookmark") server.bookmark();
          else if (each === "list fails") server.listFailures.push("KubeUnavailable");
          else if ("fault" in each) server.faults.push(each.fault);
          else if ("breakWith" in each) server.breakStream(each.breakWith);
          else if ("put" in each) server.put(each.put, each.value);
          else if ("remove" in each) server.remove(each.remove);
          else {
            server.remove(each.replace);
            server.put(each.replace, 1);
          }
          await clock.advance(thenMs);
        }
        server.faults.length = 0;
        await clock.advance(400_000);
        expect(contentsOf(cache.list())).toEqual(server.contents());
        expect(sortedContents(reported.values())).toEqual(sortedContents(cache.list()));
        expect(cache.seenVersion()).toBe(BigInt(server.version));
        for (let value = 0; value < 10; value++) {
          const having = cache.list().filter((object) => object.value === value);
          expect(contentsOf(cache.byIndex("value", String(value)))).toEqual(contentsOf(having));
        }
        expect(cache.stats.listenerFailures).toBe(0);
        expect(server.mostOpenStreams).toBe(1);
        await cache.stop();
        expect(server.openStreams).toBe(0);
      },
    ),
    { numRuns: 200 },
  );
});
