import { describe, expect, test } from "vitest";
import type { KnownObject } from "#base/error.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { type KubeObject, PODS, type Ref, type Resource } from "#kube/kinds.ts";
import { Expectations, LOST_AFTER_MS } from "#runtime/expectations.ts";

const KEY = { controller: "toy", namespace: "foo", name: "toy" };
const RESOURCE = PODS as unknown as Resource<KubeObject>;

function object(resourceVersion: string, more: object = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "foo", name: "toy-0", uid: "uid-1", resourceVersion, ...more },
  };
}

function setup() {
  const clock = new FakeClock();
  const cache = {
    seen: 5n,
    seenVersion: () => cache.seen,
    held: undefined as KubeObject | undefined,
    missing: 0,
    get: () => cache.held,
    missed: () => {
      cache.missing += 1;
    },
  };
  const lost: string[] = [];
  const expectations = new Expectations(
    clock,
    ({ plural }) => (plural === "pods" ? cache : undefined),
    (what) => lost.push(what),
  );
  return { clock, cache, lost, expectations };
}

test("expectations: a pass waits until the cache has seen the resourceVersion of its write, compared as a number", () => {
  const { cache, expectations } = setup();
  expectations.expect(KEY, { kind: "stored", resource: RESOURCE, object: object("10") });
  expect(expectations.unmet(KEY)).toContain("toy-0 at version 10");
  cache.seen = 9n; // As text, 9 would be greater than 10.
  expect(expectations.unmet(KEY)).toBeDefined();
  cache.seen = 11n;
  expect(expectations.unmet(KEY)).toBeUndefined();
});

test("expectations: a deletion is seen when the object is gone, is being deleted, or has another uid", () => {
  const { cache, expectations } = setup();
  for (const seen of [undefined, object("7", { deletionTimestamp: "now" }), object("8", { uid: "uid-2" })]) {
    cache.held = object("6");
    expectations.expect(KEY, {
      kind: "deleted",
      resource: RESOURCE,
      ref: { namespace: "foo", name: "toy-0" },
      uid: "uid-1",
    });
    expect(expectations.unmet(KEY)).toBeDefined();
    cache.held = seen;
    expect(expectations.unmet(KEY)).toBeUndefined();
  }
});

test.each([
  ["a write", { kind: "stored", resource: RESOURCE, object: object("10") }],
  ["a deletion", { kind: "deleted", resource: RESOURCE, ref: { namespace: "foo", name: "toy-0" }, uid: "uid-1" }],
] as const)(
  "expectations: %s that the cache never shows is given up after a time, counted, and reported to the cache",
  async (_, written) => {
    const { cache, clock, lost, expectations } = setup();
    cache.held = object("6");
    expectations.expect(KEY, written);
    await clock.advance(LOST_AFTER_MS - 1);
    expect(expectations.unmet(KEY)).toBeDefined();
    expect(cache.missing).toBe(0);
    await clock.advance(1);
    expect(expectations.unmet(KEY)).toBeUndefined();
    expect({ lost: lost.length, missing: cache.missing }).toEqual({ lost: 1, missing: 1 });
  },
);

test("expectations: an object does not wait for writes to another object", () => {
  const { expectations } = setup();
  expectations.expect(KEY, { kind: "stored", resource: RESOURCE, object: object("10") });
  expect(expectations.unmet({ ...KEY, name: "other" })).toBeUndefined();
  expect(expectations.unmet({ ...KEY, namespace: "other" })).toBeUndefined();
  expect(expectations.unmet({ ...KEY, controller: "other" })).toBeUndefined();
});

describe("after a conflict the newer state", () => {
  const known = { plural: "pods", namespace: "foo", name: "toy-0", uid: "uid-1", resourceVersion: "6" };

  /** A pass met a conflict while the cache showed `shown`. */
  function refused(shown: KubeObject | undefined, as: KnownObject = known) {
    const given = setup();
    given.cache.held = shown;
    given.expectations.refused(KEY, as);
    return given;
  }

  test("is awaited until the cache shows another version", () => {
    const { cache, expectations } = refused(object("6"));
    expect(expectations.unmet(KEY)).toBe("the newer state of pods foo/toy-0");
    cache.held = object("7");
    expect(expectations.unmet(KEY)).toBeUndefined();
  });

  test.each([
    { shown: undefined, what: "nothing" },
    { shown: object("6", { uid: "uid-2" }), what: "another object" },
    { shown: object("7"), what: "another version" },
  ])("is not awaited when the cache already shows $what", ({ shown }) => {
    expect(refused(shown).expectations.unmet(KEY)).toBeUndefined();
  });

  test("is awaited until the cache shows another uid when the precondition named only the uid", () => {
    const anyVersion = { ...known, resourceVersion: undefined };
    const { cache, expectations } = refused(object("6"), anyVersion);
    cache.held = object("7");
    expect(expectations.unmet(KEY)).toBeDefined();
    cache.held = object("8", { uid: "uid-2" });
    expect(expectations.unmet(KEY)).toBeUndefined();
  });

  test("is not awaited when the object is unknown, or its kind has no cache", () => {
    expect(refused(undefined, { ...known, uid: undefined }).expectations.unmet(KEY)).toBeUndefined();
    expect(refused(object("6"), { ...known, plural: "secrets" }).expectations.unmet(KEY)).toBeUndefined();
  });

  test("is awaited once per state for a limited time, and does not count as a lost write", async () => {
    const { clock, cache, lost, expectations } = refused(object("6"));
    await clock.advance(LOST_AFTER_MS - 1);
    expectations.refused(KEY, known);
    expect(expectations.unmet(KEY)).toBeDefined();
    await clock.advance(1);
    expect(expectations.unmet(KEY)).toBeUndefined();
    expectations.refused(KEY, known);
    expect(expectations.unmet(KEY)).toBeUndefined();
    cache.held = object("7");
    expectations.refused(KEY, { ...known, resourceVersion: "7" });
    expect(expectations.unmet(KEY)).toBeDefined();
    expect(lost).toEqual([]);
  });

  test("is awaited once for each of two objects with alternating conflicts", async () => {
    const second = { ...known, name: "toy-1", uid: "uid-2" };
    const clock = new FakeClock();
    const get = ({ name }: Ref) => (name === "toy-0" ? object("6") : object("6", { name, uid: "uid-2" }));
    const expectations = new Expectations(
      clock,
      () => ({ seenVersion: () => 5n, get }),
      () => undefined,
    );
    for (const each of [known, second]) {
      expectations.refused(KEY, each);
      await clock.advance(LOST_AFTER_MS);
    }
    for (const each of [known, second, known]) expectations.refused(KEY, each);
    expect(expectations.unmet(KEY)).toBeUndefined();
  });

  test("is reported as missing to the cache, each time after twice as long, while the old state still shows", async () => {
    const clock = new FakeClock();
    let missed = 0;
    const cache = { seenVersion: () => 5n, get: () => object("6"), missed: () => void missed++ };
    const expectations = new Expectations(
      clock,
      () => cache,
      () => undefined,
    );
    expectations.refused(KEY, known);
    await clock.advance(LOST_AFTER_MS - 1);
    expectations.unmet(KEY);
    expect(missed).toBe(0);
    await clock.advance(1);
    for (let n = 0; n < 3; n++) expectations.unmet(KEY);
    expect(missed).toBe(1);
    await clock.advance(LOST_AFTER_MS);
    expect(expectations.unmet(KEY)).toBeUndefined();
    expect(missed).toBe(2);
    await clock.advance(2 * LOST_AFTER_MS - 1);
    expectations.unmet(KEY);
    expect(missed).toBe(2);
    await clock.advance(1);
    expectations.unmet(KEY);
    expect(missed).toBe(3);
    for (let n = 0; n < 3_600; n++) await clock.advance(1_000).then(() => expectations.unmet(KEY));
    expect(missed).toBe(9);
  });

  test("is awaited again when the cache showed another state since then", async () => {
    const { clock, cache, expectations } = refused(object("6"));
    await clock.advance(LOST_AFTER_MS);
    cache.held = object("7");
    expect(expectations.unmet(KEY)).toBeUndefined();
    cache.held = object("6");
    expectations.refused(KEY, known);
    expect(expectations.unmet(KEY)).toBeDefined();
  });

  test("is awaited for each of several objects, and only by the controller with the conflict", () => {
    const { cache, expectations } = refused(object("6"));
    expectations.refused(KEY, { ...known, uid: "uid-9" });
    expect(expectations.unmet({ ...KEY, name: "other" })).toBeUndefined();
    expect(expectations.unmet({ ...KEY, controller: "other" })).toBeUndefined();
    cache.held = object("5", { uid: "uid-2" });
    expectations.refused(KEY, { ...known, uid: "uid-2", resourceVersion: "5" });
    expect(expectations.unmet(KEY)).toBeDefined();
  });
});
