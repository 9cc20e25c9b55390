import { expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { present, unknown } from "#base/observed.ts";
import { ToyController, toyTools } from "#kit/tables/toy-controller.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { ControlLoop, type WakingCache } from "#runtime/control-loop.ts";
import { step } from "#runtime/decide.ts";

const paint = { rule: "paint", ...step("it is grey", { do: "paint" }) };

type Listener = Parameters<WakingCache["onChange"]>[0];

function setup(
  workers = 2,
  overrides: Parameters<typeof toyTools>[0] = {},
  names = ["first"],
  prepare: (controller: ToyController) => void = () => undefined,
) {
  const controller = new ToyController();
  prepare(controller);
  const rest = toyTools(overrides);
  const listeners = new Set<Listener>();
  const cache: WakingCache = {
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const keyOf = ({ metadata }: KubeObject) => [{ namespace: "foo", name: metadata.name }];
  const loop = new ControlLoop({
    controller,
    watches: [{ cache, keysFor: keyOf, isUrgent: ({ object }) => object.metadata.name.startsWith("edited") }],
    allKeys: () => names.map((name) => ({ namespace: "foo", name })),
    tools: rest.tools,
  });
  const stop = new AbortController();
  const running = loop.run(stop.signal, workers);
  const objectOf = (name: string) => ({ metadata: { name } }) as KubeObject;
  const changed = (before: string | undefined, name: string) => {
    const previous = before === undefined ? {} : { previous: objectOf(before) };
    for (const listener of listeners) listener({ object: objectOf(name), ...previous });
  };
  const change = (name: string) => changed(undefined, name);
  return { controller, loop, stop, running, change, changed, listeners, ...rest };
}

test("control loop: every existing object gets a pass at the start", async () => {
  const { controller, stop, running, clock } = setup();
  await clock.advance(0);
  expect(controller.asked).toContain("observe first");
  stop.abort();
  await running;
});

test("control loop: first passes that are spaced begin with unsettled objects and take a minute at most", async () => {
  const names = ["first", "begun", ...Array.from({ length: 8 }, (_, n) => `settled-${n}`)];
  const { controller, stop, running, clock, change } = setup(2, {}, names, (toy) => {
    toy.stageOf = ({ name }) => (name === "begun" ? "underWay" : "settled");
    toy.firstLooksApartMs = 10_000;
  });
  const looks = () => controller.asked.filter((what) => what.startsWith("observe")).length;
  await clock.advance(0);
  expect(controller.asked).toContain("observe begun");
  expect(looks()).toBe(1);
  await clock.advance(10_000);
  expect(controller.asked).toContain("observe first");
  expect(looks()).toBe(2);
  change("settled-7");
  await clock.advance(0);
  expect(looks()).toBe(3);
  await clock.advance(49_000);
  expect(looks()).toBe(7);
  await clock.advance(1_000);
  expect(new Set(controller.asked.filter((what) => what.startsWith("observe"))).size).toBe(names.length);
  stop.abort();
  await running;
});

test("control loop: a change in a cache triggers a pass of its object", async () => {
  const { controller, stop, running, clock, change } = setup();
  await clock.advance(0);
  change("second");
  await clock.advance(0);
  expect(controller.asked).toContain("observe second");
  stop.abort();
  await running;
});

test("control loop: a change triggers one pass of its object, and passes of both objects when it moved", async () => {
  const { controller, stop, running, clock, changed } = setup();
  await clock.advance(0);
  changed("second", "second");
  changed("third", "fourth");
  await clock.advance(0);
  const looks = controller.asked.filter((what) => what.startsWith("observe"));
  expect(looks.sort()).toEqual(["first", "fourth", "second", "third"].map((name) => `observe ${name}`));
  stop.abort();
  await running;
});

test("control loop: a hanging pass delays only its own object, and fails the health check after a minute", async () => {
  const { controller, loop, stop, running, clock, change } = setup();
  const { promise, resolve } = Promise.withResolvers<void>();
  controller.observing = () => promise;
  await clock.advance(0);
  controller.observing = () => Promise.resolve();
  change("second");
  await clock.advance(0);
  expect(controller.asked.filter((what) => what === "observe second")).toHaveLength(1);
  expect(loop.check().fault()).toBeUndefined();
  await clock.advance(61_000);
  expect(loop.check().fault()).toContain("foo/first");
  resolve();
  await clock.advance(0);
  expect(loop.check().fault()).toBeUndefined();
  stop.abort();
  await running;
});

test("control loop: the backoff grows with each failure", async () => {
  const { controller, stop, running, clock } = setup();
  controller.observing = () => Promise.reject(new Error("no"));
  await clock.advance(0);
  const looks: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    await clock.advance(2_000);
    looks.push(controller.asked.length);
  }
  expect(looks[3]! - looks[2]!).toBeLessThan(looks[0]!);
  stop.abort();
  await running;
});

test("control loop: the backoff grows with each failure, also when a pass in between waits for its own write", async () => {
  let asked = 0;
  const expectations = {
    expect: () => undefined,
    refused: () => undefined,
    unmet: () => (asked++ % 2 === 0 ? undefined : "a toy"),
  };
  const { controller, stop, running, clock } = setup(1, { expectations: expectations as never });
  controller.observing = () => Promise.reject(new Error("no"));
  await clock.advance(20_000);
  expect(controller.asked.filter((what) => what.startsWith("observe")).length).toBeLessThan(8);
  stop.abort();
  await running;
});

test("control loop: after its stop it has no cache listeners and accepts no changes", async () => {
  const { controller, stop, running, clock, change, listeners } = setup();
  await clock.advance(0);
  stop.abort();
  await running;
  expect(listeners.size).toBe(0);
  const asked = controller.asked.length;
  change("late");
  await clock.advance(1_000);
  expect(controller.asked.length).toBe(asked);
});

test("control loop: an edit is processed before waiting objects, and nearly finished objects before new objects", async () => {
  const { controller, stop, running, clock, change } = setup(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  controller.stageOf = ({ name }) => (name.startsWith("begun") ? "finishing" : "new");
  controller.observing = () => promise;
  await clock.advance(0);
  for (const name of ["fresh-1", "fresh-2", "begun", "edited"]) change(name);
  resolve();
  await clock.advance(0);
  const names = ["first", "edited", "begun", "fresh-1", "fresh-2"];
  expect(controller.asked.filter((what) => what.startsWith("observe"))).toEqual(names.map((name) => `observe ${name}`));
  stop.abort();
  await running;
});

test("control loop: after a step the same object's next pass comes before periodic rechecks", async () => {
  const { controller, stop, running, clock } = setup(1, {}, ["first", "second", "third"]);
  controller.next = paint;
  controller.acting = () => {
    controller.next = { next: "settled" };
    return Promise.resolve({ kind: "external" });
  };
  await clock.advance(0);
  const looks = controller.asked.filter((what) => what.startsWith("observe"));
  expect(looks).toEqual(["first", "first", "second", "third"].map((name) => `observe ${name}`));
  stop.abort();
  await running;
});

test("control loop: a pass longer than a second frees its worker, for at most two passes of a namespace per worker", async () => {
  const { controller, stop, running, clock, change } = setup(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  controller.observing = () => promise;
  for (const name of ["second", "third", "fourth"]) change(name);
  const looks = async (afterMs: number) => {
    await clock.advance(afterMs);
    return controller.asked.filter((what) => what.startsWith("observe")).length;
  };
  expect([await looks(999), await looks(2), await looks(1_000), await looks(60_000)]).toEqual([1, 2, 2, 2]);
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  stop.abort();
  await clock.advance(10_000);
  expect(isOver).toBe(false);
  resolve();
  await running;
});

test.each([0, 5_000])("control loop: an error outside a pass ends the loop, here after %d ms", async (ms) => {
  const { controller, running, clock } = setup();
  const { promise, resolve } = Promise.withResolvers<void>();
  controller.observing = () => promise;
  const outcome = running.catch((thrown: unknown) => thrown);
  await clock.advance(ms);
  controller.stageOf = () => {
    throw new Error("no stage");
  };
  resolve();
  expect(await outcome).toEqual(new Error("no stage"));
});

/** What interrupts the first pass after an edit, and the milliseconds until the next one. */
const cutShort = {
  "gets no answer": 500,
  "cannot observe": 500,
  "waits for its own write": 500,
  "meets a conflict while observing": 100,
  "meets a conflict while acting": 100,
} as const;

test.each(Object.entries(cutShort))(
  "control loop: when the first pass after an edit %s, the next pass comes before new work",
  async (what, ms) => {
    let isUnseen = false;
    const expectations = {
      expect: () => undefined,
      refused: () => undefined,
      unmet: () => (isUnseen ? "a toy" : undefined),
    };
    const { controller, stop, running, clock, change } = setup(1, { expectations: expectations as never });
    const conflict = () => Promise.reject(new OperatorError("KubeConflict", "somebody painted it"));
    await clock.advance(600);
    isUnseen = what === "waits for its own write";
    if (what === "gets no answer")
      controller.observing = () => Promise.reject(new OperatorError("KubeUnavailable", "not now"));
    if (what === "cannot observe") controller.seen = unknown("not now");
    if (what === "meets a conflict while observing") controller.observing = conflict;
    if (what === "meets a conflict while acting") Object.assign(controller, { next: paint, acting: conflict });
    change("edited");
    await clock.advance(0);
    isUnseen = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(controller, { observing: () => promise, seen: present(1), next: { next: "settled" } });
    change("holds-up");
    await clock.advance(0);
    controller.asked.length = 0;
    controller.stageOf = ({ name }) => (name === "edited" ? "settled" : "finishing");
    for (const name of ["waits-1", "waits-2"]) change(name);
    await clock.advance(ms);
    resolve();
    await clock.advance(0);
    const looks = controller.asked.filter((asked) => asked.startsWith("observe"));
    expect(looks).toEqual(["edited", "waits-1", "waits-2"].map((name) => `observe ${name}`));
    stop.abort();
    await running;
  },
);
