import { expect, test } from "vitest";
import { FakeClock } from "#kit/fake-clock.ts";
import { InFlight } from "./in-flight.ts";

const never = new AbortController().signal;

/** Calls by name, begun in order of their names, each with the way to end it. */
class Calls {
  readonly clock = new FakeClock();
  readonly inFlight = new InFlight(this.clock, { most: 2, slowMs: 250 });
  readonly begun: string[] = [];
  readonly end = new Map<string, () => void>();

  ask(...names: readonly string[]): void {
    for (const name of names) void this.inFlight.enter(never).then((leave) => this.#note(name, leave));
  }

  #note(name: string, leave: () => void): void {
    this.begun.push(name);
    this.end.set(name, leave);
  }
}

test("as many as may be are in flight; who comes next begins when one has ended, in order", async () => {
  const calls = new Calls();
  calls.ask("a", "b", "c", "d");
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b"]);
  calls.end.get("b")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
});

test("a call that takes long holds up nobody: it counts no more, and when it ends nobody more is let in", async () => {
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

test("a place that has become free by the clock alone is taken by who comes then", async () => {
  const calls = new Calls();
  calls.ask("a", "b");
  await calls.clock.advance(250);
  calls.ask("c");
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
});

test("a call that is told twice to have ended makes one place", async () => {
  const calls = new Calls();
  calls.ask("a", "b", "c", "d");
  await calls.clock.advance(0);
  calls.end.get("a")?.();
  calls.end.get("a")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
});

test("whoever gives up while waiting hears so at once, and takes no place", async () => {
  const calls = new Calls();
  calls.ask("a", "b");
  const stop = new AbortController();
  const gaveUp = expect(calls.inFlight.enter(stop.signal)).rejects.toThrow("enough");
  calls.ask("c");
  await calls.clock.advance(0);
  stop.abort(new Error("enough"));
  await gaveUp;
  calls.end.get("a")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
  await expect(calls.inFlight.enter(stop.signal)).rejects.toThrow("enough");
});

test("when nobody is to wait any more all are told why, and those in flight go on", async () => {
  const calls = new Calls();
  calls.ask("a", "b");
  const waiting = [1, 2].map(() => expect(calls.inFlight.enter(never)).rejects.toThrow("it is closed"));
  await calls.clock.advance(0);
  calls.inFlight.refuseAll(new Error("it is closed"));
  await Promise.all(waiting);
  calls.ask("c");
  calls.end.get("a")?.();
  await calls.clock.advance(0);
  expect(calls.begun).toEqual(["a", "b", "c"]);
});
