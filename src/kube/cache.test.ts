import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ErrorCode } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import { contentsOf, type Fault, ModelServer, THINGS, type Thing } from "#kit/kube-model.ts";
import { ScriptedTransport } from "#kit/kube-transport.ts";
import { Cache, type CacheOptions, type Change } from "./cache.ts";
import { KubeClient } from "./client.ts";
import type { KubeConfig } from "./config.ts";
import { SharedStrings } from "./shared-strings.ts";

const never = new AbortController().signal;

const failing = (times: number, code: ErrorCode): Fault[] =>
  Array.from({ length: times }, () => ({ does: "fail", after: 0, code }));

/** A cache of the model's things, and what its changes tell. */
function follow(server: ModelServer, options: Partial<CacheOptions<Thing>> = {}) {
  const clock = new FakeClock();
  const cache = new Cache<Thing>({ client: server, resource: THINGS, clock, random: () => 0, ...options });
  const told = new Map<string, Thing>();
  const changes: string[] = [];
  cache.onChange((change) => {
    changes.push(`${change.type} ${change.object.metadata.name}`);
    replay(told, change);
  });
  return { cache, clock, told, changes };
}

/** A change that does not fit what was told before is a fault. */
function replay(told: Map<string, Thing>, { type, object, previous }: Change<Thing>): void {
  const { name, uid } = object.metadata;
  const known = told.get(name);
  if (type === "added") expect(known).toBeUndefined();
  else expect(known?.metadata.uid).toBe(uid);
  expect(previous && contentOf(previous)).toEqual(type === "modified" ? known && contentOf(known) : undefined);
  if (type === "deleted") told.delete(name);
  else told.set(name, object);
}

/** What its changes tell of an object: all but its version. */
function contentOf({ metadata, value }: Thing) {
  return { name: metadata.name, uid: metadata.uid, value };
}

function toldOf(things: Iterable<Thing>) {
  return [...things].map(contentOf).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function started(server: ModelServer, options: Partial<CacheOptions<Thing>> = {}) {
  const followed = follow(server, options);
  followed.cache.start(never);
  await followed.clock.advance(0);
  return followed;
}

describe("a cache", () => {
  test("shares the texts of its objects with other caches'", async () => {
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

  test("shows nothing before the state is complete, and all of it afterwards", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.put("b", 2);
    server.faults.push({ does: "hang", after: 1 });
    const { cache, clock, changes } = await started(server);
    expect([cache.synced, cache.list(), cache.seenVersion]).toEqual([false, [], 0n]);
    await clock.advance(91_000);
    expect([cache.synced, changes]).toEqual([true, ["added a", "added b"]]);
    expect(cache.seenVersion).toBe(BigInt(server.version));
    await cache.stop();
  });

  test("tells nothing of a change of what it does not keep, and its version moves", async () => {
    const server = new ModelServer();
    const keep = ({ value: _, ...thing }: Thing) => thing as Thing;
    const { cache, clock, changes } = await started(server, { keep });
    server.put("a", 1);
    server.put("a", 2);
    await clock.advance(0);
    expect(changes).toEqual(["added a"]);
    expect(cache.list().map(({ metadata }) => metadata.resourceVersion)).toEqual([server.version]);
    expect(cache.seenVersion).toBe(BigInt(server.version));
    await cache.stop();
  });

  test("follows changes, and bookmarks move its version", async () => {
    const server = new ModelServer();
    const { cache, clock, changes } = await started(server);
    server.put("a", 1);
    server.put("a", 2);
    server.remove("a");
    await clock.advance(0);
    expect(changes).toEqual(["added a", "modified a", "deleted a"]);
    server.bookmark();
    await clock.advance(0);
    expect(cache.seenVersion).toBe(BigInt(server.version));
    await cache.stop();
  });

  test.each([
    ["as a stream", []],
    ["as a list", [{ does: "fail", after: 0, code: "KubeInvalid" }] as const],
  ])(
    "what is not to be kept is as if it were not there, and its version counts: the state comes %s",
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
      expect(cache.seenVersion).toBe(BigInt(server.version));
      server.put("other", 3);
      await clock.advance(0);
      expect(cache.seenVersion).toBe(BigInt(server.version));
      server.put("odd", 4);
      server.put("even", 5);
      server.put("even", 7);
      server.remove("even");
      server.remove("other");
      await clock.advance(0);
      expect(changes).toEqual(["added even", "added odd", "deleted even"]);
      expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(["odd"]);
      expect(cache.seenVersion).toBe(BigInt(server.version));
      await cache.stop();
    },
  );

  test("tells what it keeps no more as it was when it was kept, also when it is deleted like that", async () => {
    const server = new ModelServer();
    const { cache, clock } = await started(server, { keep: (thing) => (thing.value < 5 ? thing : undefined) });
    const told: string[] = [];
    cache.onChange(({ type, object }) => told.push(`${type} ${object.metadata.name} ${object.value}`));
    server.put("a", 1);
    server.put("a", 7);
    server.put("b", 2);
    server.remove("b", 8);
    server.put("c", 3);
    server.remove("c", 4);
    await clock.advance(0);
    expect(told).toEqual(["added a 1", "deleted a 1", "added b 2", "deleted b 2", "added c 3", "deleted c 4"]);
    expect(cache.seenVersion).toBe(BigInt(server.version));
    await cache.stop();
  });

  test("tells another uid under one name as deleted and added, live and after a new list", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.faults.push({ does: "end", after: 2 }, { does: "fail", after: 0, code: "KubeExpired" });
    const { cache, clock, changes, told } = await started(server);
    server.remove("a");
    server.put("a", 2);
    await clock.advance(60_000);
    expect(changes).toEqual(["added a", "deleted a", "added a"]);
    expect(told.get("a")?.value).toBe(2);
    await cache.stop();
  });

  test("goes on from the last version after a normal end, without reading the state again", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.faults.push({ does: "end", after: 2 });
    const { cache, clock } = await started(server);
    await clock.advance(0);
    expect(server.asked).toEqual(["watch-list", `watch ${server.version}`]);
    expect(cache.stats).toMatchObject({ syncs: 1, restarts: { ended: 1 } });
    await cache.stop();
  });

  test("reads the state again when its version is too old", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.faults.push({ does: "fail", after: 2, code: "KubeUnavailable" });
    const { cache, clock, told } = await started(server);
    server.remove("a");
    server.put("b", 1);
    server.compact();
    await clock.advance(5_000);
    expect(contentsOf([...told.values()])).toEqual(server.contents());
    expect(cache.stats).toMatchObject({ syncs: 2, restarts: { KubeUnavailable: 1, KubeExpired: 1 } });
    await cache.stop();
  });

  test("reads the state again after a line that is no event", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "fail", after: 2, code: "KubeInvalid" });
    const { cache, clock } = await started(server);
    server.put("a", 1);
    await clock.advance(5_000);
    expect(cache.stats).toMatchObject({ syncs: 2, restarts: { KubeInvalid: 1 } });
    await cache.stop();
  });

  test("reads the state again when the server's versions go back", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    server.put("b", 1);
    const { cache, clock, told } = await started(server);
    server.rewind(50);
    server.bookmark();
    await clock.advance(5_000);
    expect(cache.stats.restarts).toEqual({ rewound: 1 });
    expect(cache.seenVersion).toBe(BigInt(server.version));
    expect(contentsOf([...told.values()])).toEqual(server.contents());
    await cache.stop();
  });

  test("reads the state again after two streams that brought nothing at all: the server may be behind us", async () => {
    const server = new ModelServer();
    server.put("a", 1);
    const { cache, clock, told } = await started(server);
    server.rewind(50);
    await clock.advance(190_000);
    expect(cache.stats).toMatchObject({ syncs: 1, restarts: { idle: 2 } }); // the first of them brought the state
    await clock.advance(95_000);
    expect(cache.stats).toMatchObject({ syncs: 2, restarts: { idle: 3 } });
    expect(contentsOf([...told.values()])).toEqual(server.contents());
    await cache.stop();
  });

  test("stays away as long as the server asks for", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "fail", after: 0, code: "KubeThrottled", retryAfterMs: 20_000 });
    const { cache, clock } = await started(server);
    await clock.advance(19_000);
    expect(server.asked).toHaveLength(1);
    await clock.advance(2_000);
    expect(cache.synced).toBe(true);
    await cache.stop();
  });

  test("lists for good where the stream of the state is refused", async () => {
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

  test("reads its lists as the state that it follows, so that they wait for no other call", async () => {
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

  test("lists when the stream never says that the state is complete", async () => {
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
    expect(server.asked.slice(-1)).toEqual(["watch-list"]); // it may have been slow only once
    await cache.stop();
  });

  test("does not take a part of the state for the whole when the stream ends early", async () => {
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

  test("opens a silent stream again after 90 s, and not while bookmarks come", async () => {
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

  test("opens its stream again when something is missed and nothing at all has come for ten seconds, and goes on where it was", async () => {
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
    // It was opened just now, and the server may take a while to begin: whoever misses something gives it that time as well.
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

  test("reads the state again when two streams bring nothing while something is missed: the server may be behind our position", async () => {
    const server = new ModelServer();
    for (let n = 0; n < 100; n++) server.put("a", n);
    const { cache, clock, told } = await started(server);
    server.rewind(50);
    for (let n = 0; n < 12; n++) {
      await clock.advance(10_000);
      cache.missed();
    }
    await clock.advance(10_000);
    expect(cache.stats).toMatchObject({ syncs: 2 });
    expect(contentsOf([...told.values()])).toEqual(server.contents());
    await cache.stop();
  });

  test("reads a state to its end, however long, also when something is missed", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "hang", after: 0 });
    const { cache, clock } = await started(server);
    await clock.advance(30_000);
    cache.missed();
    await clock.advance(1_000);
    expect([server.asked.length, cache.stats.restarts]).toEqual([1, {}]);
    await cache.stop();
  });

  test("follows at once, from where it was, for who is about to go by it, and says when it does", async () => {
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
    await clock.advance(20_000); // It tries ever more rarely, by now every 16 s.
    server.put("a", 1);
    const tried = server.asked.length;
    server.faults.length = 0;
    await clock.advance(1_000);
    expect([server.asked.length - tried, changes]).toEqual([0, []]);
    server.faults.push({ does: "hang", after: 0 });
    cache.renew();
    expect([await isSynced(), server.asked.length - tried]).toEqual([false, 1]);
    cache.renew(); // What was asked for hangs, too.
    expect([await isSynced(999), changes]).toEqual([false, ["added a"]]);
    expect(await isSynced(1)).toBe(true);
    // A stream that is open may be dead.
    server.faults.push({ does: "hang", after: 0 });
    cache.renew();
    expect(await isSynced()).toBe(false);
    server.put("b", 1);
    cache.renew();
    expect([await isSynced(), changes, cache.stats.syncs]).toEqual([true, ["added a", "added b"], 1]);
    await cache.stop();
    cache.renew();
  });

  describe("who takes over", () => {
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
      /** Cut off for twenty seconds: it tries ever more rarely, by now the next time in twelve. */
      const cutOff = async (code: ErrorCode = "KubeUnavailable") => {
        server.faults.push(...failing(6, code));
        server.breakStream(code);
        await followed.clock.advance(20_000);
        server.faults.length = 0;
      };
      return { ...followed, server, isSynced, cutOff };
    }

    test("waits for a cache that the server has cut off, which tries at once, and for no other one", async () => {
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

    test("finds it following where it had found its way back by itself", async () => {
      const { clock, cache, isSynced, cutOff } = await takenOver();
      await cutOff();
      await clock.advance(12_999);
      expect(await isSynced()).toBe(false);
      await clock.advance(1);
      expect(await isSynced()).toBe(true);
      await cache.stop();
    });

    test("has it try again soon also when the first try is in vain", async () => {
      const { server, cache, isSynced, cutOff } = await takenOver();
      await cutOff();
      server.faults.push(...failing(1, "KubeUnavailable"));
      expect(await isSynced(1_500)).toBe(true);
      await cache.stop();
    });

    test("waits on after a stream that ends in order and has brought nothing: that says nothing of what it missed", async () => {
      const { server, clock, cache, isSynced, cutOff } = await takenOver();
      await cutOff();
      server.faults.push({ does: "end", after: 0 });
      const tried = server.asked.length;
      await clock.advance(12_000 + 30_000);
      expect([server.asked.length - tried, server.faults]).toEqual([2, []]);
      expect([await isSynced(999), await isSynced(1)]).toEqual([false, true]);
      await cache.stop();
    });

    test("waits for a server that refuses for moments, as one that starts", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      server.breakStream("KubeForbidden");
      await clock.advance(0);
      expect([await isSynced(), await isSynced(2_000)]).toEqual([false, true]);
      // Refused, cut off and refused: not for ten seconds in a row.
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

    test("waits also while the try after a refusal is under way", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      server.breakStream("KubeForbidden");
      const tried = server.asked.length;
      while (server.asked.length === tried) await clock.advance(10);
      expect([await isSynced(), await isSynced(1_000)]).toEqual([false, true]);
      await cache.stop();
    });

    test("counts a refusal anew where it has been served since, however quiet it was", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      server.breakStream("KubeForbidden");
      await clock.advance(60_000);
      expect(await isSynced()).toBe(true);
      server.faults.push(...failing(1, "KubeForbidden"));
      cache.renew();
      expect([await isSynced(), await isSynced(3_000)]).toEqual([false, true]);
      await cache.stop();
    });

    test("waits for none that goes on refusing, since only people can help there, and has it try once more", async () => {
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
      server.faults.length = 0; // People have helped.
      server.put("b", 1);
      expect([await isSynced(999), cache.list().length]).toEqual([false, 1]);
      expect(await isSynced(1)).toBe(true);
      await cache.stop();
    });

    test("does not wait for a stream that ends in order, as each does in time", async () => {
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

    test("is told of a whole state at once", async () => {
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

    test("waits on where the process stood still: what came meanwhile is yet to be read", async () => {
      const { server, clock, cache, isSynced } = await takenOver();
      cache.renew();
      await clock.advance(0);
      clock.stall(1_000);
      expect([await isSynced(899), server.asked.length]).toEqual([false, 2]);
      expect(await isSynced(1)).toBe(true);
      await cache.stop();
    });

    test("waits for nothing of a cache that has ended", async () => {
      const { cache, isSynced } = await takenOver();
      await cache.stop();
      cache.renew();
      expect(await isSynced()).toBe(true);
    });
  });

  test("people are told when nothing has come for two minutes, and not again once it follows", async () => {
    const told: unknown[] = [];
    const log: Log = { ...silentLog, error: (fields) => void told.push(fields.durationMs) };
    const server = new ModelServer();
    const { cache, clock } = await started(server, { log });
    await clock.advance(60_000);
    server.faults.push(...failing(30, "KubeUnavailable"));
    server.breakStream("KubeUnavailable");
    await clock.advance(60_000);
    expect(told).toEqual([]);
    await clock.advance(59_999 + 30_000);
    expect(told.length).toBeGreaterThan(0);
    for (const ms of told) expect(ms).toBeGreaterThanOrEqual(120_000);
    server.faults.length = 0;
    await clock.advance(60_000);
    const { length } = told;
    // What a stream has brought counts to its end, and also when it is opened again for who takes over.
    for (const breakIt of [() => server.breakStream("KubeUnavailable"), () => cache.renew()]) {
      for (let n = 0; n < 6; n++) {
        server.put("a", n);
        await clock.advance(30_000);
      }
      server.faults.push(...failing(3, "KubeUnavailable"));
      breakIt();
      await clock.advance(30_000);
    }
    expect(told).toHaveLength(length);
    await cache.stop();
  });

  describe.each([["KubeUnavailable"], ["ended"]] as const)(
    "streams on which nothing comes, each cut after 50 s (%s)",
    (how) => {
      /** What became of so many of them, one after the other. */
      async function cutStreams(count: number) {
        const told: unknown[] = [];
        const log: Log = { ...silentLog, error: (fields) => void told.push(fields) };
        const server = new ModelServer();
        const { cache, clock } = await started(server, { log });
        const cut = async () => {
          await clock.advance(50_000);
          if (how === "ended") server.endStream();
          else server.breakStream(how);
          await clock.advance(1_000);
        };
        for (let n = 0; n < count; n++) await cut();
        return { server, cache, clock, told };
      }

      test("are each followed by the next one at once, and nobody is told of an outage", async () => {
        const { server, cache, told } = await cutStreams(11);
        expect([server.openStreams, told]).toEqual([1, []]);
        expect(server.asked.slice(1)).toEqual(Array.from({ length: 11 }, () => `watch ${server.version}`));
        await cache.stop();
      });

      test("say nothing of where the server is: after ten minutes all is read again", async () => {
        const { server, cache } = await cutStreams(14);
        expect(server.asked.filter((asked) => asked === "watch-list")).toHaveLength(2);
        await cache.stop();
      });
    },
  );

  test("a state that is cut again and again before it is complete is read ever more rarely", async () => {
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

  test("a stream that breaks before it has been open for a second has not gone on", async () => {
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

  test("a state that takes long on an open stream is waited for, and then at once gone by", async () => {
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
    await clock.advance(30_000); // It is read in another way.
    expect([isSynced, cache.stats.syncs]).toEqual([true, 2]);
    await cache.stop();
  });

  test("who is about to go by it waits for the whole state where the server cannot go on from where it was, which it says on an open stream", async () => {
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

  test("a state that is being read is waited for, and not begun again, for who is about to go by it", async () => {
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

  test("waits longer and longer while the server is away, and not at all once it is back", async () => {
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

  test("survives listeners that throw, and tells the others", async () => {
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

  test("stops whenever it is told to, more than once, and leaves no stream", async () => {
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

  test("whoever waits for the state of a stopped cache hears of it", async () => {
    const server = new ModelServer();
    server.faults.push({ does: "hang", after: 0 });
    const { cache } = await started(server);
    const waiting = expect(cache.whenSynced(never)).rejects.toMatchObject({ code: "Cancelled" });
    await cache.stop();
    await waiting;
  });

  test("finds by index, also after the value has changed", async () => {
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

test("whatever happens to streams and lists, the cache ends up as the server, and its changes tell the same", async () => {
  const watchList = fc.constantFrom("served" as const, "refused" as const, "silent" as const);
  await fc.assert(
    fc.asyncProperty(
      watchList,
      fc.array(fc.tuple(happening, delayMs), { maxLength: 40, size: "max" }),
      async (served, happenings) => {
        const server = new ModelServer();
        server.watchList = served;
        const { cache, clock, told } = await started(server, { indexes: { value: ({ value }) => [String(value)] } });
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
        expect(toldOf(told.values())).toEqual(toldOf(cache.list()));
        expect(cache.seenVersion).toBe(BigInt(server.version));
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
