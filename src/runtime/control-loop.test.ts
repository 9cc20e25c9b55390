import { expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { present, unknown } from "#base/observed.ts";
import { ToyController, toyTools } from "#kit/toy-controller.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { ControlLoop, type WakingCache } from "#runtime/control-loop.ts";
import { step } from "#runtime/decide.ts";

const paint = step("paint", "it is grey", { do: "paint" });

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
  const room = new ControlLoop({
    controller,
    watches: [{ cache, keysFor: keyOf, isUrgent: ({ object }) => object.metadata.name.startsWith("edited") }],
    allKeys: () => names.map((name) => ({ namespace: "foo", name })),
    tools: rest.tools,
  });
  const stop = new AbortController();
  const running = room.run(stop.signal, workers);
  const objectOf = (name: string) => ({ metadata: { name } }) as KubeObject;
  const changed = (before: string | undefined, name: string) => {
    const previous = before === undefined ? {} : { previous: objectOf(before) };
    for (const listener of listeners) listener({ object: objectOf(name), ...previous });
  };
  const change = (name: string) => changed(undefined, name);
  return { controller, room, stop, running, change, changed, listeners, ...rest };
}

test("room: at the start it looks at every key there is", async () => {
  const { controller, stop, running, clock } = setup();
  await clock.advance(0);
  expect(controller.asked).toContain("observe first");
  stop.abort();
  await running;
});

test("room: one that can wait begins with what is not settled, and looks at the rest one after another, for a minute at the most", async () => {
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

test("room: a change wakes its key", async () => {
  const { controller, stop, running, clock, change } = setup();
  await clock.advance(0);
  change("second");
  await clock.advance(0);
  expect(controller.asked).toContain("observe second");
  stop.abort();
  await running;
});

test("room: a change of what was the key's and still is wakes it once, and of what has come to be another key's both", async () => {
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

test("room: a stuck pass keeps only its own key from being looked at, and shows in the health check", async () => {
  const { controller, room, stop, running, clock, change } = setup();
  const { promise, resolve } = Promise.withResolvers<void>();
  controller.observing = () => promise;
  await clock.advance(0);
  controller.observing = () => Promise.resolve();
  change("second");
  await clock.advance(0);
  expect(controller.asked.filter((what) => what === "observe second")).toHaveLength(1);
  expect(room.check().fault()).toBeUndefined();
  await clock.advance(61_000);
  expect(room.check().fault()).toContain("foo/first");
  resolve();
  await clock.advance(0);
  expect(room.check().fault()).toBeUndefined();
  stop.abort();
  await running;
});

test("room: failures come back ever more slowly", async () => {
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

test("room: failures come back ever more slowly, also when a look in between found its own write unseen", async () => {
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

test("room: stopped, it lets go of its caches and takes nothing new", async () => {
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

test("room: an edit overtakes what became ready before it, and what is nearly done what has yet to begin", async () => {
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

test("room: after a step the same one is looked at again before those that only are to be looked at once more", async () => {
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

test("room: a pass that runs for more than a second holds no worker, of one namespace two for each worker run at the most, and it ends when all have ended", async () => {
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

test.each([0, 5_000])("room: what fails outside of a look after %d ms ends it all", async (ms) => {
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

/** What holds up the first look at an edit, and how long until the next one, in milliseconds. */
const cutShort = {
  "is refused an answer": 500,
  "cannot look": 500,
  "finds its own write unseen": 500,
  "meets a conflict as it looks": 100,
  "meets a conflict as it acts": 100,
} as const;

test.each(Object.entries(cutShort))(
  "room: an edit whose first look %s is looked at again before what only waits for its turn",
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
    isUnseen = what === "finds its own write unseen";
    if (what === "is refused an answer")
      controller.observing = () => Promise.reject(new OperatorError("KubeUnavailable", "not now"));
    if (what === "cannot look") controller.seen = unknown("not now");
    if (what === "meets a conflict as it looks") controller.observing = conflict;
    if (what === "meets a conflict as it acts") Object.assign(controller, { next: paint, acting: conflict });
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
