import { describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { absent, unknown } from "#base/observed.ts";
import { ToyController, type ToyStep, toyTools } from "#kit/tables/toy-controller.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { AnyResource } from "#kube/kinds.ts";
import { type Plan, step, wait } from "#runtime/decide.ts";
import { Expectations } from "#runtime/expectations.ts";
import { Pass } from "#runtime/pass.ts";

const KEY = { namespace: "foo", name: "toy" };
const never = new AbortController().signal;
const paint = { rule: "paint", ...step("it is grey", { do: "paint" }) };

function toy(overrides: Parameters<typeof toyTools>[0] = {}) {
  const controller = new ToyController();
  const rest = toyTools(overrides);
  return { controller, pass: new Pass(controller, rest.tools), ...rest };
}

test("pass: a step is made once and published as an event of its rule, and the next pass follows at once", async () => {
  const { controller, pass, told } = toy();
  controller.next = paint;
  expect(await pass.run(KEY, never)).toEqual({ is: "afterStep", ms: 0 });
  expect(controller.asked).toEqual(["observe toy", "paint"]);
  expect(told).toEqual(["Normal Paint: it is grey"]);
});

test("pass: a routine step is published only when it fails", async () => {
  const { controller, pass, told } = toy();
  Object.assign(controller, {
    isRoutine: (rule: string, step: { do: string }) => `${rule} ${step.do}` === "paint paint",
  });
  controller.next = paint;
  await pass.run(KEY, never);
  expect(told).toEqual([]);
  controller.acting = () => Promise.reject(new OperatorError("KubeForbidden", "no brush for you"));
  await pass.run(KEY, never);
  expect(told).toEqual(["Warning Paint: Paint failed: no brush for you"]);
});

test("pass: a step that was cancelled by the loss of the lease is not published as failed, and is retried", async () => {
  const { controller, pass, told } = toy();
  const term = new AbortController();
  controller.next = paint;
  controller.acting = (signal) => {
    term.abort(new OperatorError("Cancelled", "the term is over"));
    return Promise.reject(signal.reason);
  };
  expect(await pass.run(KEY, term.signal)).toEqual({ is: "withBackoff" });
  expect([told, controller.asked]).toEqual([[], ["observe toy", "paint"]]);
  // It is not deferred either.
  controller.acting = () => Promise.resolve({ kind: "external" });
  await pass.run(KEY, never);
  expect(controller.asked.at(-1)).toBe("paint");
});

test("pass: a settled object's status is written, and it is rechecked after a minute", async () => {
  const { controller, pass } = toy();
  expect(await pass.run(KEY, never)).toEqual({ is: "after", ms: 60_000 });
  expect(controller.asked).toEqual(["observe toy", "status: settled"]);
});

test("pass: when the quick check suffices nothing is observed, and it determines the next pass", async () => {
  const { controller, pass } = toy();
  controller.quickCheckResult = () => Promise.resolve(4_321);
  expect(await pass.run(KEY, never)).toEqual({ is: "after", ms: 4_321 });
  expect(controller.asked).toEqual([]);
  controller.quickCheckResult = () => Promise.reject(new OperatorError("Cancelled", "the pass is over"));
  expect(await pass.run(KEY, AbortSignal.abort())).toEqual({ is: "withBackoff" });
});

test("pass: a wait is rechecked at its time, and published only when it warns", async () => {
  const { controller, pass, told } = toy();
  controller.next = { rule: "drying", ...wait("the paint is wet", 1_234) };
  expect(await pass.run(KEY, never)).toEqual({ is: "after", ms: 1_234 });
  expect(told).toEqual([]);
  controller.next = { rule: "no-paint", ...wait("there is no paint", 1_234, { warn: true }) };
  await pass.run(KEY, never);
  expect(told).toEqual(["Warning NoPaint: there is no paint"]);
});

const REPORT = { rule: "paint", because: "no brush", is: "refused" } as const;

test.each<[string, Partial<Plan<ToyStep>>, object]>([
  ["is of a rule that holds all rules below it", { held: REPORT }, { isResting: true }],
  ["was rejected", { reports: [REPORT] }, { isResting: true }],
  ["is only a notice", { reports: [{ ...REPORT, is: "notice" }] }, {}],
])("pass: the result reports whether a step is deferred: a step that %s", async (_which, more, says) => {
  const { controller, pass } = toy();
  controller.plan = () => ({ ...{ rule: "dry", ...wait("it dries", 1_234) }, ...more }) as Plan<ToyStep>;
  expect(await pass.run(KEY, never)).toEqual({ is: "after", ms: 1_234, ...says });
});

test("pass: a deleted object gets no more passes", async () => {
  const { controller, pass } = toy();
  controller.seen = absent;
  expect(await pass.run(KEY, never)).toEqual({ is: "never" });
});

test("pass: an object that could not be observed is not changed, and the pass is retried", async () => {
  const { controller, pass } = toy();
  controller.seen = unknown("the lights are off");
  controller.next = paint;
  expect(await pass.run(KEY, never)).toEqual({ is: "withBackoff" });
  expect(controller.asked).toEqual(["observe toy"]);
});

test("pass: a conflict is not published as a failure, and the next pass writes the status", async () => {
  const { controller, pass, told } = toy();
  controller.next = paint;
  controller.acting = () => Promise.reject(new OperatorError("KubeConflict", "somebody painted it"));
  expect(await pass.run(KEY, never)).toEqual({ is: "afterConflict" });
  expect(controller.asked).toEqual(["observe toy", "paint"]);
  expect(told).toEqual([]);
});

test("pass: after a write that the cache does not show, the next pass waits half a second for it", async () => {
  const resource = { plural: "toys" } as AnyResource;
  const object = { apiVersion: "v1", kind: "Toy", metadata: { name: "toy", resourceVersion: "6", uid: "uid" } };
  const cache = { seen: 5n, seenVersion: () => cache.seen, get: () => undefined };
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
  cache.seen = 6n;
  controller.acting = () => Promise.resolve({ kind: "external" });
  expect(await pass.run(KEY, never)).toEqual({ is: "afterStep", ms: 0 });
});

test.each(["has written", "was refused for"] as const)(
  "pass: what one controller %s does not delay another controller with an object of the same name",
  async (what) => {
    const resource = { plural: "toys" } as AnyResource;
    const known = { plural: "toys", namespace: "foo", name: "toy", uid: "uid", resourceVersion: "6" };
    const object = { apiVersion: "v1", kind: "Toy", metadata: known };
    const expectations = new Expectations(
      new FakeClock(),
      () => ({ seenVersion: () => 5n, get: () => object }),
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

/** A pass with a step, or status, that meets a conflict because the cache shows an old version. */
function overtaken(what: "step" | "status") {
  const known = { plural: "toys", namespace: "foo", name: "toy", uid: "uid", resourceVersion: "6" };
  const held = { apiVersion: "v1", kind: "Toy", metadata: { ...known, namespace: "foo" } };
  const cache = { seenVersion: () => 6n, get: () => held };
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
  "pass: after a conflict of its %s the next pass waits until the cache shows the newer object",
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

test("pass: a cache that never shows the newer object delays the next pass by ten seconds at most", async () => {
  const { controller, pass, clock } = overtaken("step");
  for (let n = 0; n < 40; n++) {
    await pass.run(KEY, never);
    await clock.advance(500);
  }
  expect(controller.asked.filter((asked) => asked === "paint").length).toBeGreaterThan(10);
});

test("pass: a failed step is published with its reason, and the pass that follows at once writes the status", async () => {
  const { controller, pass, told } = toy();
  controller.next = paint;
  controller.acting = () => Promise.reject(new OperatorError("KubeForbidden", "no brush for you"));
  expect(await pass.run(KEY, never)).toEqual({ is: "afterStep", ms: 0 });
  expect(controller.asked).toEqual(["observe toy", "paint"]);
  expect(told).toEqual(["Warning Paint: Paint failed: no brush for you"]);
});

test("pass: a rejected step is deferred, the next rule decides, and the step is retried later", async () => {
  const { controller, pass, clock, told } = toy();
  controller.next = paint;
  controller.second = { name: "sweep", decide: () => ({ rule: "sweep", ...step("there is dust", { do: "sweep" }) }) };
  controller.acting = () => Promise.reject(new OperatorError("KubeForbidden", "no brush for you"));
  await pass.run(KEY, never);
  controller.acting = () => Promise.resolve({ kind: "external" });
  await pass.run(KEY, never);
  expect(controller.asked).toEqual(["observe toy", "paint", "observe toy", "sweep"]);
  expect(told).toEqual(["Warning Paint: Paint failed: no brush for you", "Normal Sweep: there is dust"]);
  await clock.advance(600);
  await pass.run(KEY, never);
  expect(controller.asked.at(-1)).toBe("paint");
});

test("pass: an object with a deferred step is rechecked when the step's backoff is over", async () => {
  const { controller, pass } = toy();
  controller.next = paint;
  controller.acting = () => Promise.reject(new OperatorError("KubeForbidden", "no brush for you"));
  await pass.run(KEY, never);
  const next = await pass.run(KEY, never);
  expect(next.is === "after" && next.ms > 0 && next.ms <= 500).toBe(true);
  expect(controller.asked.at(-1)).toBe("status: settled, reports: paint");
});

test("pass: a step that is reverted each time is repeated with growing backoff", async () => {
  const { controller, pass, clock } = toy();
  controller.next = paint;
  for (let tenths = 0; tenths < 600; tenths++) {
    await pass.run(KEY, never);
    await clock.advance(100);
  }
  expect(controller.asked.filter((what) => what === "paint").length).toBeLessThan(10);
});

test("pass: without the lease nothing is written, not even a status", async () => {
  const { controller, pass } = toy({ mayAct: () => false });
  controller.next = paint;
  await pass.run(KEY, never);
  expect(controller.asked).toEqual(["observe toy"]);
});

test("pass: the lease is checked after observing, before a step", async () => {
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

test("pass: an endless series of steps still has its status written every ten passes", async () => {
  const { controller, pass } = toy();
  controller.next = paint;
  for (let turn = 0; turn < 20; turn++) {
    controller.wish = `red ${turn}`;
    await pass.run(KEY, never);
  }
  expect(controller.asked.filter((what) => what.startsWith("status")).length).toBe(2);
});

test("pass: a programming error in a controller fails the pass, is counted, and is not thrown", async () => {
  const { controller, pass, metrics } = toy();
  controller.observing = () => Promise.reject(new TypeError("undefined is not a brush"));
  expect(await pass.run(KEY, never)).toEqual({ is: "withBackoff" });
  expect(await metrics.registry.getSingleMetricAsString("etcd_operator_passes_total")).toContain('result="error"} 1');
});

test("pass: a conflict is counted as such, and not as an error", async () => {
  const { controller, pass, metrics } = toy();
  controller.observing = () => Promise.reject(new OperatorError("KubeConflict", "it has changed"));
  await pass.run(KEY, never);
  const counted = await metrics.registry.getSingleMetricAsString("etcd_operator_passes_total");
  expect(counted).toContain('result="conflict"} 1');
});

describe("passes that fail repeatedly", () => {
  const SAYS = "The operator does not manage this object, since each try fails: ";

  async function runTimes({ pass }: ReturnType<typeof toy>, times: number): Promise<void> {
    for (let n = 0; n < times; n++) expect(await pass.run(KEY, never)).toEqual({ is: "withBackoff" });
  }

  test("are reported from the fifth in a row on, by an event and in the status", async () => {
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

  test("are reported at once for an object that is too large, with the complete message", async () => {
    const given = toy();
    const words = `EtcdCluster a/b is too large: ${"x".repeat(400)}`;
    given.controller.observing = () => Promise.reject(new OperatorError("ObjectTooLarge", words));
    await runTimes(given, 1);
    expect(given.told).toEqual([`Warning ObjectTooLarge: ${words}`]);
    expect(given.controller.asked.at(-1)).toBe(`failing: ${words}`);
  });

  test("are reported without the text of a foreign error, which may contain secrets", async () => {
    const given = toy();
    given.controller.observing = () => Promise.reject(new SyntaxError('"password" is not valid JSON'));
    await runTimes(given, 5);
    expect(given.told).toEqual([`Warning InternalError: ${SAYS}Bug: SyntaxError; the operator's log has the details`]);
    expect(JSON.stringify(given.controller.asked)).not.toContain("password");
  });

  test("are reported with at most 300 characters of the error", async () => {
    const given = toy();
    given.controller.observing = () => Promise.reject(new OperatorError("Bug", "x".repeat(1_000)));
    await runTimes(given, 5);
    expect(given.told[0]).toHaveLength(`Warning InternalError: ${SAYS}`.length + 300);
  });

  test("are counted from zero again after a pass that succeeded", async () => {
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

  test.each(["KubeUnavailable", "KubeThrottled", "LeaseLost"] as const)(
    "are not reported when the error is %s",
    async (code) => {
      const given = toy();
      given.controller.observing = () => Promise.reject(new OperatorError(code, "not now"));
      await runTimes(given, 9);
      expect(given.told).toEqual([]);
    },
  );

  test("are not reported after conflicts, for a deleted object, or without the lease", async () => {
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
    "404 in each observation": ["KubeNotFound", "observing"],
  } as const;

  test.each(Object.entries(moves))(
    "are reported from the tenth in a row on when the API server answers %s",
    async (_, [code, where]) => {
      const given = toy();
      const refuse = () => Promise.reject(new OperatorError(code, "a webhook denied it"));
      Object.assign(given.controller, { [where]: refuse });
      const untilReported = async () => {
        for (let n = 0; n < 9; n++) expect(await given.pass.run(KEY, never)).toEqual({ is: "afterConflict" });
        expect(given.told).toEqual([]);
      };
      await untilReported();
      Object.assign(given.controller, { [where]: () => Promise.resolve() });
      await given.pass.run(KEY, never);
      Object.assign(given.controller, { [where]: refuse });
      await untilReported();
      await runTimes(given, 2);
      expect(given.told).toEqual(Array(2).fill(`Warning InternalError: ${SAYS}${code}: a webhook denied it`));
      expect(given.controller.asked.at(-1)).toBe(`failing: ${SAYS}${code}: a webhook denied it`);
    },
  );

  test("are retried as before when the report cannot be stored", async () => {
    const given = toy();
    given.controller.observing = () => Promise.reject(new TypeError("no"));
    given.controller.failing = () => Promise.reject(new OperatorError("KubeInvalid", "the status is too long"));
    await runTimes(given, 6);
    expect(given.told).toHaveLength(2);
  });
});
