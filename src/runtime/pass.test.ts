import { describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { absent, unknown } from "#base/observed.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import { ToyController, type ToyStep, toyTools } from "#kit/toy-controller.ts";
import type { AnyResource } from "#kube/kinds.ts";
import { type Plan, step, wait } from "#runtime/decide.ts";
import { Expectations } from "#runtime/expectations.ts";
import { Pass } from "#runtime/pass.ts";

const KEY = { namespace: "foo", name: "toy" };
const never = new AbortController().signal;
const paint = step("paint", "it is grey", { do: "paint" });

function toy(overrides: Parameters<typeof toyTools>[0] = {}) {
  const controller = new ToyController();
  const rest = toyTools(overrides);
  return { controller, pass: new Pass(controller, rest.tools), ...rest };
}

test("pass: a step is made once, told as an event under its rule's name, and followed by another look at once", async () => {
  const { controller, pass, told } = toy();
  controller.next = paint;
  expect(await pass.run(KEY, never)).toEqual({ is: "afterStep", ms: 0 });
  expect(controller.asked).toEqual(["observe toy", "paint"]);
  expect(told).toEqual(["Normal paint: it is grey"]);
});

test("pass: a routine step is not told, its failure is", async () => {
  const { controller, pass, told } = toy();
  Object.assign(controller, {
    isRoutine: (rule: string, step: { do: string }) => `${rule} ${step.do}` === "paint paint",
  });
  controller.next = paint;
  await pass.run(KEY, never);
  expect(told).toEqual([]);
  controller.acting = () => Promise.reject(new OperatorError("KubeForbidden", "no brush for you"));
  await pass.run(KEY, never);
  expect(told).toEqual(["Warning paint: paint failed: no brush for you"]);
});

test("pass: a step that the end of the term has cut off has not failed: nobody hears of it, and it is tried again", async () => {
  const { controller, pass, told } = toy();
  const term = new AbortController();
  controller.next = paint;
  controller.acting = (signal) => {
    term.abort(new OperatorError("Cancelled", "the term is over"));
    return Promise.reject(signal.reason);
  };
  expect(await pass.run(KEY, term.signal)).toEqual({ is: "withBackoff" });
  expect([told, controller.asked]).toEqual([[], ["observe toy", "paint"]]);
  // It does not rest either.
  controller.acting = () => Promise.resolve({ kind: "external" });
  await pass.run(KEY, never);
  expect(controller.asked.at(-1)).toBe("paint");
});

test("pass: a settled object gets its status written and rests", async () => {
  const { controller, pass } = toy();
  expect(await pass.run(KEY, never)).toEqual({ is: "after", ms: 60_000 });
  expect(controller.asked).toEqual(["observe toy", "status: settled"]);
});

test("pass: when a glance is enough nothing is looked at, and it comes back when the glance says", async () => {
  const { controller, pass } = toy();
  controller.glancing = () => Promise.resolve(4_321);
  expect(await pass.run(KEY, never)).toEqual({ is: "after", ms: 4_321 });
  expect(controller.asked).toEqual([]);
  controller.glancing = () => Promise.reject(new OperatorError("Cancelled", "the pass is over"));
  expect(await pass.run(KEY, AbortSignal.abort())).toEqual({ is: "withBackoff" });
});

test("pass: a wait comes back when it says, and is told only when a person should hear of it", async () => {
  const { controller, pass, told } = toy();
  controller.next = wait("drying", "the paint is wet", 1_234);
  expect(await pass.run(KEY, never)).toEqual({ is: "after", ms: 1_234 });
  expect(told).toEqual([]);
  controller.next = wait("no-paint", "there is no paint", 1_234, { warn: true });
  await pass.run(KEY, never);
  expect(told).toEqual(["Warning no-paint: there is no paint"]);
});

const ASIDE = { rule: "paint", because: "no brush", is: "refused" } as const;

test.each<[string, Partial<Plan<ToyStep>>, object]>([
  ["its rule holds all below it for", { held: ASIDE }, { isResting: true }],
  ["is wanted and was refused", { aside: [ASIDE] }, { isResting: true }],
  ["is only remarked on", { aside: [{ ...ASIDE, is: "remark" }] }, {}],
])("pass: says whether a step rests: one that %s", async (_which, more, says) => {
  const { controller, pass } = toy();
  controller.plan = () => ({ ...wait("dry", "it dries", 1_234), ...more }) as Plan<ToyStep>;
  expect(await pass.run(KEY, never)).toEqual({ is: "after", ms: 1_234, ...says });
});

test("pass: an object that is gone ends its passes", async () => {
  const { controller, pass } = toy();
  controller.seen = absent;
  expect(await pass.run(KEY, never)).toEqual({ is: "never" });
});

test("pass: what could not be looked at is not acted on", async () => {
  const { controller, pass } = toy();
  controller.seen = unknown("the lights are off");
  controller.next = paint;
  expect(await pass.run(KEY, never)).toEqual({ is: "withBackoff" });
  expect(controller.asked).toEqual(["observe toy"]);
});

test("pass: a conflict is no failure: nothing is told, the status is left to the next look", async () => {
  const { controller, pass, told } = toy();
  controller.next = paint;
  controller.acting = () => Promise.reject(new OperatorError("KubeConflict", "somebody painted it"));
  expect(await pass.run(KEY, never)).toEqual({ is: "afterConflict" });
  expect(controller.asked).toEqual(["observe toy", "paint"]);
  expect(told).toEqual([]);
});

test("pass: a step that the cache does not show yet is followed by a look when it is seen, and by one in half a second if nobody tells", async () => {
  const resource = { plural: "toys" } as AnyResource;
  const object = { apiVersion: "v1", kind: "Toy", metadata: { name: "toy", resourceVersion: "6", uid: "uid" } };
  const cache = { seenVersion: 5n, get: () => undefined };
  const expectations = new Expectations(
    new FakeClock(),
    () => cache,
    () => undefined,
  );
  const { controller, pass } = toy({ expectations });
  controller.next = paint;
  controller.acting = () => Promise.resolve({ kind: "stored", resource, object });
  expect(await pass.run(KEY, never)).toEqual({ is: "afterStep", ms: 500 });
  expect(await pass.run(KEY, never)).toEqual({ is: "whenSeen", ms: 500 });
  expect(controller.asked).toEqual(["observe toy", "paint"]);
  cache.seenVersion = 6n;
  controller.acting = () => Promise.resolve({ kind: "external" });
  expect(await pass.run(KEY, never)).toEqual({ is: "afterStep", ms: 0 });
});

test.each(["has written", "was refused for"] as const)(
  "pass: what one controller %s is not waited for by another one's object of the same name",
  async (what) => {
    const resource = { plural: "toys" } as AnyResource;
    const known = { plural: "toys", namespace: "foo", name: "toy", uid: "uid", resourceVersion: "6" };
    const object = { apiVersion: "v1", kind: "Toy", metadata: known };
    const expectations = new Expectations(
      new FakeClock(),
      () => ({ seenVersion: 5n, get: () => object }),
      () => undefined,
    );
    const { controller, pass } = toy({ expectations });
    const other = toy({ expectations });
    Object.assign(other.controller, { name: "box" });
    controller.next = paint;
    controller.acting = () =>
      what === "has written"
        ? Promise.resolve({ kind: "stored", resource, object })
        : Promise.reject(new OperatorError("KubeConflict", "somebody painted it", { known }));
    await pass.run(KEY, never);
    await pass.run(KEY, never);
    await other.pass.run(KEY, never);
    expect(controller.asked).toEqual(["observe toy", "paint"]);
    expect(other.controller.asked).toEqual(["observe toy", "status: settled"]);
  },
);

/** A pass whose step, or status, is refused since the object has another version than the cache shows. */
function overtaken(what: "step" | "status") {
  const known = { plural: "toys", namespace: "foo", name: "toy", uid: "uid", resourceVersion: "6" };
  const held = { apiVersion: "v1", kind: "Toy", metadata: { ...known, namespace: "foo" } };
  const cache = { seenVersion: 6n, get: () => held };
  const clock = new FakeClock();
  const expectations = new Expectations(
    clock,
    () => cache,
    () => undefined,
  );
  const { controller, pass } = toy({ clock, expectations });
  const refuse = () => Promise.reject(new OperatorError("KubeConflict", "somebody painted it", { known }));
  if (what === "step") Object.assign(controller, { next: paint, acting: refuse });
  else controller.writeStatus = refuse;
  const shows = (resourceVersion: string) => {
    held.metadata = { ...held.metadata, resourceVersion };
  };
  return { controller, pass, clock, shows };
}

test.each(["step", "status"] as const)(
  "pass: whose %s met a conflict looks again when the cache shows the newer object, not before",
  async (what) => {
    const { controller, pass, clock, shows } = overtaken(what);
    expect(await pass.run(KEY, never)).toEqual({ is: "afterConflict" });
    const looks = () => controller.asked.filter((asked) => asked === "observe toy").length;
    for (let n = 0; n < 10; n++) {
      await clock.advance(500);
      expect(await pass.run(KEY, never)).toEqual({ is: "whenSeen", ms: 500 });
    }
    expect(looks()).toBe(1);
    shows("7");
    await pass.run(KEY, never);
    expect(looks()).toBe(2);
  },
);

test("pass: a cache that shows nothing newer holds up nobody for longer than ten seconds", async () => {
  const { controller, pass, clock } = overtaken("step");
  for (let n = 0; n < 40; n++) {
    await pass.run(KEY, never);
    await clock.advance(500);
  }
  expect(controller.asked.filter((asked) => asked === "paint").length).toBeGreaterThan(10);
});

test("pass: a failed step is told with its reason, and the status is left to the look that comes at once", async () => {
  const { controller, pass, told } = toy();
  controller.next = paint;
  controller.acting = () => Promise.reject(new OperatorError("KubeForbidden", "no brush for you"));
  expect(await pass.run(KEY, never)).toEqual({ is: "afterStep", ms: 0 });
  expect(controller.asked).toEqual(["observe toy", "paint"]);
  expect(told).toEqual(["Warning paint: paint failed: no brush for you"]);
});

test("pass: a step that was refused rests, the next rule speaks, and the status hears of both", async () => {
  const { controller, pass, clock, told } = toy();
  controller.next = paint;
  controller.second = { name: "sweep", decide: () => step("sweep", "there is dust", { do: "sweep" }) };
  controller.acting = () => Promise.reject(new OperatorError("KubeForbidden", "no brush for you"));
  await pass.run(KEY, never);
  controller.acting = () => Promise.resolve({ kind: "external" });
  await pass.run(KEY, never);
  expect(controller.asked).toEqual(["observe toy", "paint", "observe toy", "sweep"]);
  expect(told).toEqual(["Warning paint: paint failed: no brush for you", "Normal sweep: there is dust"]);
  await clock.advance(600);
  await pass.run(KEY, never);
  expect(controller.asked.at(-1)).toBe("paint");
});

test("pass: what rests is looked at again when its rest is over", async () => {
  const { controller, pass } = toy();
  controller.next = paint;
  controller.acting = () => Promise.reject(new OperatorError("KubeForbidden", "no brush for you"));
  await pass.run(KEY, never);
  const next = await pass.run(KEY, never);
  expect(next.is === "after" && next.ms > 0 && next.ms <= 500).toBe(true);
  expect(controller.asked.at(-1)).toBe("status: settled, aside: paint");
});

test("pass: a step that somebody undoes each time is made ever more rarely", async () => {
  const { controller, pass, clock } = toy();
  controller.next = paint;
  for (let tenths = 0; tenths < 600; tenths++) {
    await pass.run(KEY, never);
    await clock.advance(100);
  }
  expect(controller.asked.filter((what) => what === "paint").length).toBeLessThan(10);
});

test("pass: who does not hold the lease changes nothing, not even a status", async () => {
  const { controller, pass } = toy({ mayAct: () => false });
  controller.next = paint;
  await pass.run(KEY, never);
  expect(controller.asked).toEqual(["observe toy"]);
});

test("pass: the lease is asked for after observing, which may have taken long", async () => {
  let holds = true;
  const { controller, pass } = toy({ mayAct: () => holds });
  controller.next = paint;
  controller.observing = () => {
    holds = false;
    return Promise.resolve();
  };
  await pass.run(KEY, never);
  expect(controller.asked).not.toContain("paint");
});

test("pass: steps that lead nowhere still get a status now and then", async () => {
  const { controller, pass } = toy();
  controller.next = paint;
  for (let turn = 0; turn < 20; turn++) {
    controller.wish = `red ${turn}`;
    await pass.run(KEY, never);
  }
  expect(controller.asked.filter((what) => what.startsWith("status")).length).toBe(2);
});

test("pass: a defect in a room fails this pass and is counted, and nothing is thrown", async () => {
  const { controller, pass, metrics } = toy();
  controller.observing = () => Promise.reject(new TypeError("undefined is not a brush"));
  expect(await pass.run(KEY, never)).toEqual({ is: "withBackoff" });
  expect(await metrics.registry.getSingleMetricAsString("etcd_operator_passes_total")).toContain('result="error"} 1');
});

describe("passes that throw again and again", () => {
  const SAYS = "nothing is done or looked at, since the operator fails each time: ";

  async function runTimes({ pass }: ReturnType<typeof toy>, times: number): Promise<void> {
    for (let n = 0; n < times; n++) expect(await pass.run(KEY, never)).toEqual({ is: "withBackoff" });
  }

  test("are told from the fifth in a row on, by an event and on the object", async () => {
    const given = toy();
    given.controller.observing = () => Promise.reject(new OperatorError("KubeInvalid", "the status is too long"));
    await runTimes(given, 4);
    expect(given.told).toEqual([]);
    await runTimes(given, 1);
    expect(given.told).toEqual([`Warning InternalError: ${SAYS}KubeInvalid: the status is too long`]);
    expect(given.controller.asked.at(-1)).toBe(`failing: ${SAYS}KubeInvalid: the status is too long`);
    await runTimes(given, 1);
    expect(given.told).toHaveLength(2);
  });

  test("are told without what a foreign error quotes", async () => {
    const given = toy();
    given.controller.observing = () => Promise.reject(new SyntaxError('"password" is not valid JSON'));
    await runTimes(given, 5);
    expect(given.told).toEqual([`Warning InternalError: ${SAYS}Bug: SyntaxError; the log of the operator says more`]);
    expect(JSON.stringify(given.controller.asked)).not.toContain("password");
  });

  test("are told in few words, and those of our own invariants as they are", async () => {
    const given = toy();
    given.controller.observing = () => Promise.reject(new OperatorError("Bug", "x".repeat(1_000)));
    await runTimes(given, 5);
    expect(given.told[0]).toHaveLength(`Warning InternalError: ${SAYS}`.length + 300);
  });

  test("count anew after one that came to its end", async () => {
    const given = toy();
    const failing = () => Promise.reject(new TypeError("undefined is not a brush"));
    given.controller.observing = failing;
    await runTimes(given, 4);
    given.controller.observing = () => Promise.resolve();
    await given.pass.run(KEY, never);
    given.controller.observing = failing;
    await runTimes(given, 4);
    expect(given.told).toEqual([]);
  });

  test.each(["KubeUnavailable", "KubeThrottled", "LeaseLost"] as const)("are not told when it is %s", async (code) => {
    const given = toy();
    given.controller.observing = () => Promise.reject(new OperatorError(code, "not now"));
    await runTimes(given, 9);
    expect(given.told).toEqual([]);
  });

  test("are not told while the world moves, nor of what is gone, nor by who does not act", async () => {
    const [moving, gone, idle] = [toy(), toy(), toy({ mayAct: () => false })];
    gone.controller.isGone = true;
    for (const { controller } of [gone, idle]) controller.observing = () => Promise.reject(new TypeError("no"));
    moving.controller.observing = () => Promise.reject(new OperatorError("KubeConflict", "somebody was faster"));
    for (let n = 0; n < 9; n++) await moving.pass.run(KEY, never);
    for (const given of [gone, idle]) await runTimes(given, 9);
    expect([moving, gone, idle].flatMap(({ told }) => told)).toEqual([]);
    expect(idle.controller.asked.filter((what) => what.startsWith("failing"))).toEqual([]);
  });

  const moves = {
    "409 to each status": ["KubeConflict", "writeStatus"],
    "404 to each status": ["KubeNotFound", "writeStatus"],
    "404 in each look": ["KubeNotFound", "observing"],
  } as const;

  test.each(Object.entries(moves))("are told when it is %s, from the tenth in a row on", async (_, [code, where]) => {
    const given = toy();
    const refuse = () => Promise.reject(new OperatorError(code, "a webhook says so"));
    Object.assign(given.controller, { [where]: refuse });
    const untilTold = async () => {
      for (let n = 0; n < 9; n++) expect(await given.pass.run(KEY, never)).toEqual({ is: "afterConflict" });
      expect(given.told).toEqual([]);
    };
    await untilTold();
    Object.assign(given.controller, { [where]: () => Promise.resolve() });
    await given.pass.run(KEY, never);
    Object.assign(given.controller, { [where]: refuse });
    await untilTold();
    await runTimes(given, 2);
    expect(given.told).toEqual(Array(2).fill(`Warning InternalError: ${SAYS}${code}: a webhook says so`));
    expect(given.controller.asked.at(-1)).toBe(`failing: ${SAYS}${code}: a webhook says so`);
  });

  test("are not the worse for an object on which it cannot be said", async () => {
    const given = toy();
    given.controller.observing = () => Promise.reject(new TypeError("no"));
    given.controller.failing = () => Promise.reject(new OperatorError("KubeInvalid", "the status is too long"));
    await runTimes(given, 6);
    expect(given.told).toHaveLength(2);
  });
});
