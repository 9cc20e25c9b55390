import { expect, test } from "vitest";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { DEFAULT_IN_FLIGHT, InFlight } from "./in-flight.ts";

const never = new AbortController().signal;

function namespaceOf(name: string): string {
  return name.includes("/") ? name.replace(/\/.*/, "") : "";
}

/**
 * Calls by name, with their namespace before a slash. `begun` has their order; `end` has the function that ends each.
 */
class Calls {
  readonly clock = new FakeClock();
  readonly inFlight: InFlight;
  readonly begun: string[] = [];
  readonly end = new Map<string, () => void>();

  constructor(inAll = 256) {
    this.inFlight = new InFlight(this.clock, { most: 2, slowMs: 250, inAll });
  }

  ask(...names: readonly string[]): void {
    for (const name of names) {
      void this.inFlight.enter(never, namespaceOf(name)).then((leave) => this.#note(name, leave));
    }
  }

  #note(name: string, leave: () => void): void {
    this.begun.push(name);
    this.end.set(name, leave);
  }
}

test("at most so many fast calls as the limit are in flight, and waiting calls begin in order of arrival", async () => {
  const calls = new Calls();
  calls.ask("a", "b", "c", "d");
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b"]);
  calls.end.get("b")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
});

test("a slow call does not count towards the limit, and its end lets no further call begin", async () => {
  const calls = new Calls();
  calls.ask("a", "b");
  await calls.clock.advance(100);
  calls.ask("c", "d", "e", "f");
  await calls.clock.advance(149);
  expect(calls.begun).toEqual(["a", "b"]);
  await calls.clock.advance(1);
  expect(calls.begun).toEqual(["a", "b", "c", "d"]);
  calls.end.get("a")?.();
  calls.end.get("b")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c", "d"]);
  await calls.clock.advance(250);
  expect(calls.begun).toEqual(["a", "b", "c", "d", "e", "f"]);
});

test("a call begins at once when an earlier call became slow before", async () => {
  const calls = new Calls();
  calls.ask("a", "b");
  await calls.clock.advance(250);
  calls.ask("c");
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
});

test("a call that ends twice frees one place", async () => {
  const calls = new Calls();
  calls.ask("a", "b", "c", "d");
  await calls.clock.advance(0);
  calls.end.get("a")?.();
  calls.end.get("a")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
});

test("a waiting call that is cancelled fails at once, and takes no place", async () => {
  const calls = new Calls();
  calls.ask("a", "b");
  const stop = new AbortController();
  const gaveUp = expect(calls.inFlight.enter(stop.signal, "")).rejects.toThrow("enough");
  calls.ask("c");
  await calls.clock.advance(0);
  stop.abort(new Error("enough"));
  await gaveUp;
  calls.end.get("a")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
  await expect(calls.inFlight.enter(stop.signal, "")).rejects.toThrow("enough");
});

test("waiting calls that are all refused fail with the reason, and calls in flight continue", async () => {
  const calls = new Calls();
  calls.ask("a", "b");
  const waiting = [1, 2].map(() => expect(calls.inFlight.enter(never, "")).rejects.toThrow("it is closed"));
  await calls.clock.advance(0);
  calls.inFlight.refuseAll(new Error("it is closed"));
  await Promise.all(waiting);
  calls.ask("c");
  calls.end.get("a")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
});

test("the next call is of the namespace with the fewest calls in flight", async () => {
  const calls = new Calls();
  calls.ask("x/1", "x/2", "x/3", "x/4", "y/1", "y/2");
  await calls.clock.advance(0);
  calls.end.get("x/1")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["x/1", "x/2", "y/1"]);
  calls.end.get("x/2")?.();
  await calls.clock.advance(0);
  expect(calls.begun.slice(3)).toEqual(["x/3"]);
  calls.end.get("x/3")?.();
  await calls.clock.advance(0);
  expect(calls.begun.slice(4)).toEqual(["x/4"]);
});

test("among namespaces with equally many calls in flight, the one without a turn for longest is next", async () => {
  const calls = new Calls();
  calls.ask("w/1", "w/2", "x/1", "x/2", "y/1", "y/2", "z/1");
  for (const name of ["w/1", "w/2", "x/1", "y/1", "z/1", "x/2"]) {
    await calls.clock.advance(0);
    calls.end.get(name)?.();
  }
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["w/1", "w/2", "x/1", "y/1", "z/1", "x/2", "y/2"]);
});

test("a namespace with slow calls waits as short as others, since slow calls do not count", async () => {
  const calls = new Calls();
  calls.ask("x/1", "x/2");
  await calls.clock.advance(100);
  calls.ask("x/3", "y/1", "x/4", "y/2");
  await calls.clock.advance(150);
  expect(calls.begun).toEqual(["x/1", "x/2", "x/3", "y/1"]);
});

test("a namespace with only a cancelled waiting call gets no turn", async () => {
  const calls = new Calls();
  calls.ask("x/1", "x/2");
  const stop = new AbortController();
  const gaveUp = expect(calls.inFlight.enter(stop.signal, "y")).rejects.toThrow("enough");
  calls.ask("x/3");
  stop.abort(new Error("enough"));
  await gaveUp;
  calls.end.get("x/1")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["x/1", "x/2", "x/3"]);
});

test("cancelling a waiting call changes neither its namespace's calls in flight nor their limit", async () => {
  const calls = new Calls(9);
  const stop = new AbortController();
  for (const name of ["x/1", "x/2", "x/3", "x/4", "x/5", "x/6"]) calls.ask(name);
  await calls.clock.advance(10_000);
  const gaveUp = expect(calls.inFlight.enter(stop.signal, "x")).rejects.toThrow("enough");
  stop.abort(new Error("enough"));
  await gaveUp;
  calls.ask("x/7", "x/8", "x/9");
  await calls.clock.advance(10_000);
  expect(calls.begun).toEqual(["x/1", "x/2", "x/3", "x/4", "x/5", "x/6"]);
});

test("calls in flight, slow ones included, never exceed the bound of connections", async () => {
  const calls = new Calls(3);
  calls.ask("w/1", "x/1", "y/1", "z/1", "z/2");
  await calls.clock.advance(10_000);
  expect(calls.begun).toEqual(["w/1", "x/1", "y/1"]);
  calls.end.get("w/1")?.();
  calls.end.get("w/1")?.();
  await calls.clock.advance(10_000);
  expect(calls.begun).toEqual(["w/1", "x/1", "y/1", "z/1"]);
});

test("a namespace gets at most two thirds of all connections, and a second one a part of the rest", async () => {
  const calls = new Calls(9);
  const all = (namespace: string, count: number) => Array.from({ length: count }, (_, n) => `${namespace}/${n}`);
  calls.ask(...all("x", 9));
  await calls.clock.advance(10_000);
  expect(calls.begun).toEqual(all("x", 6));
  calls.ask(...all("y", 9));
  await calls.clock.advance(10_000);
  expect(calls.begun.slice(6)).toEqual(["y/0"]);
  calls.ask("z/0");
  await calls.clock.advance(0);
  expect(calls.begun.slice(7)).toEqual(["z/0"]);
  calls.end.get("z/0")?.();
  calls.end.get("x/0")?.();
  calls.end.get("x/0")?.(); // It has ended before.
  calls.end.get("x/1")?.();
  calls.end.get("x/2")?.();
  await calls.clock.advance(10_000);
  expect(calls.begun.slice(8)).toEqual(["x/6", "y/1", "x/7"]);
});

test("no timer is set for a time in the past, even when the clock advances while it is set", () => {
  const delaysMs: number[] = [];
  let nowMs = 0;
  const clock = new FakeClock();
  clock.monotonicMs = () => {
    nowMs += 100;
    return nowMs;
  };
  clock.after = (ms) => {
    delaysMs.push(ms);
    return () => undefined;
  };
  const inFlight = new InFlight(clock, { most: 1, slowMs: 250, inAll: 256 });
  for (let call = 0; call < 10; call++) void inFlight.enter(never, "x");
  expect(delaysMs.length).toBeGreaterThan(0);
  expect(Math.min(...delaysMs)).toBeGreaterThan(0);
});

/** Callers that call in an endless loop: each makes some concurrent reads and then a write. */
class Callers {
  readonly clock = new FakeClock(0, 1);
  /** Calls that have ended, by namespace. */
  readonly ended = new Map<string, number>();
  /** Longest time that a call has waited, by namespace, in milliseconds. */
  readonly waitedMs = new Map<string, number>();
  /** Calls that began within the first half second. */
  atFirst = 0;
  /** Most calls that were in flight at the same time. */
  most = 0;
  #count = 0;
  readonly #inFlight = new InFlight(this.clock);

  /** @param callMs how long a call takes @param restMs after each write */
  start(callers: number, namespace: string, reads: number, callMs: number, restMs = 0): void {
    for (let n = 0; n < callers; n++) void this.#rounds(namespace, reads, callMs, restMs);
  }

  async #rounds(namespace: string, reads: number, callMs: number, restMs: number): Promise<never> {
    for (;;) {
      await Promise.all(Array.from({ length: reads }, () => this.#call(namespace, callMs)));
      await this.#call(namespace, callMs);
      await this.clock.sleep(restMs);
    }
  }

  async #call(namespace: string, callMs: number): Promise<void> {
    const startMs = this.clock.monotonicMs();
    const leave = await this.#inFlight.enter(never, namespace);
    const waitedMs = this.clock.monotonicMs() - startMs;
    this.waitedMs.set(namespace, Math.max(waitedMs, this.waitedMs.get(namespace) ?? 0));
    if (this.clock.monotonicMs() < 500) this.atFirst += 1;
    this.#count += 1;
    this.most = Math.max(this.most, this.#count);
    await this.clock.sleep(callMs);
    this.#count -= 1;
    leave();
    this.ended.set(namespace, (this.ended.get(namespace) ?? 0) + 1);
  }
}

test.each([1, 3, 6])(
  "of slow calls, %i concurrent ones and then one, at least half as many end as with 256 connections",
  async (reads) => {
    const callers = new Callers();
    callers.start(200, "x", reads, 900);
    await callers.clock.advance(30_000);
    const connections = Math.min(256, 200 * reads);
    expect(callers.ended.get("x")).toBeGreaterThan((connections / 0.9 / 2) * 30);
    expect(callers.waitedMs.get("x")).toBeLessThan(10_000);
    expect(callers.atFirst).toBe(3 * DEFAULT_IN_FLIGHT.most);
  },
);

test("writes through a slow webhook in one namespace delay other namespaces by at most 200 ms", async () => {
  const callers = new Callers();
  callers.start(100, "slow", 0, 900);
  const others = ["b", "c", "d", "e"];
  for (const namespace of others) callers.start(10, namespace, 1, 20, 500);
  await callers.clock.advance(20_000);
  for (const namespace of others) {
    expect(callers.waitedMs.get(namespace)).toBeLessThanOrEqual(200);
    // Five sixths of the 37 rounds of two calls that each caller makes alone.
    expect(callers.ended.get(namespace)).toBeGreaterThan((10 * 37 * 2 * 5) / 6);
  }
  expect(callers.ended.get("slow")).toBeGreaterThan(100 * 20);
});

test.each([1, 2, 5])(
  "six hundred hanging calls in %i namespaces delay other namespaces by at most 400 ms",
  async (hanging) => {
    const callers = new Callers();
    for (let n = 0; n < hanging; n++) callers.start(600 / hanging, `hangs-${n}`, 0, 9_900);
    const others = Array.from({ length: 20 }, (_, n) => `other-${n}`);
    for (const namespace of others) callers.start(5, namespace, 1, 20, 500);
    await callers.clock.advance(18_000);
    expect(callers.most).toBeLessThanOrEqual(DEFAULT_IN_FLIGHT.inAll);
    for (const namespace of others) {
      expect(callers.waitedMs.get(namespace)).toBeLessThanOrEqual(400);
      // Five sixths of the 33 rounds of two calls that each caller makes alone.
      expect(callers.ended.get(namespace)).toBeGreaterThan((5 * 33 * 2 * 5) / 6);
    }
  },
);

test("calls that begin to hang in six namespaces in turn delay other namespaces by at most 400 ms", async () => {
  const callers = new Callers();
  const others = Array.from({ length: 20 }, (_, n) => `other-${n}`);
  for (const namespace of others) callers.start(5, namespace, 1, 20, 500);
  for (let n = 0; n < 6; n++) {
    callers.start(200, `hangs-${n}`, 0, 9_900);
    await callers.clock.advance(1_500);
  }
  await callers.clock.advance(18_000);
  for (const namespace of others) expect(callers.waitedMs.get(namespace)).toBeLessThanOrEqual(400);
});
