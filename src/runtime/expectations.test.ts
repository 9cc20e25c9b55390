import { expect, test } from "vitest";
import { FakeClock } from "#kit/fake-clock.ts";
import { type KubeObject, PODS, type Resource } from "#kube/kinds.ts";
import { Expectations, LOST_AFTER_MS } from "#runtime/expectations.ts";

const KEY = { namespace: "foo", name: "toy" };
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
  const cache = { seenVersion: 5n, held: undefined as KubeObject | undefined, get: () => cache.held };
  const lost: string[] = [];
  const expectations = new Expectations(
    clock,
    () => cache,
    (what) => lost.push(what),
  );
  return { clock, cache, lost, expectations };
}

test("expectations: a write is waited for until the cache has seen its version, as a number", () => {
  const { cache, expectations } = setup();
  expectations.expect(KEY, { kind: "stored", resource: RESOURCE, object: object("10") });
  expect(expectations.unmet(KEY)).toContain("toy-0 at version 10");
  cache.seenVersion = 9n; // as text, 9 would come after 10
  expect(expectations.unmet(KEY)).toBeDefined();
  cache.seenVersion = 11n;
  expect(expectations.unmet(KEY)).toBeUndefined();
});

test("expectations: a deletion is seen when the object is gone, going, or another one", () => {
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

test("expectations: what never comes is given up aloud", async () => {
  const { clock, lost, expectations } = setup();
  expectations.expect(KEY, { kind: "stored", resource: RESOURCE, object: object("10") });
  await clock.advance(LOST_AFTER_MS - 1);
  expect(expectations.unmet(KEY)).toBeDefined();
  await clock.advance(1);
  expect(expectations.unmet(KEY)).toBeUndefined();
  expect(lost).toHaveLength(1);
});

test("expectations: keys do not wait for each other", () => {
  const { expectations } = setup();
  expectations.expect(KEY, { kind: "stored", resource: RESOURCE, object: object("10") });
  expect(expectations.unmet({ namespace: "foo", name: "other" })).toBeUndefined();
});
