import { expect, test } from "vitest";
import type { KubeObject } from "./kinds.ts";
import { Store } from "./store.ts";

interface Thing extends KubeObject {
  readonly status?: { readonly phase: string };
}

function thing(resourceVersion: string, phase?: string): Thing {
  const metadata = { name: "a", uid: "uid", resourceVersion };
  const status = phase === undefined ? {} : { status: { phase } };
  return { apiVersion: "v1", kind: "Thing", metadata, ...status } as Thing;
}

test.each([
  ["only its version, without a status", thing("2"), thing("1"), []],
  ["only its version, with a status", thing("2", "Bound"), thing("1", "Bound"), []],
  ["its status", thing("2", "Bound"), thing("1", "Pending"), ["modified"]],
  ["the existence of its status", thing("2", "Bound"), thing("1"), ["modified"]],
])("putting an object again reports a change of: %s", (_title, object, before, expected) => {
  const store = new Store<Thing>();
  store.put(before);
  expect(store.put(object).map(({ type }) => type)).toEqual(expected);
  expect(store.get(object.metadata)).toBe(object);
});

test.each([
  ["as it was when it was deleted", "uid", "Pending", "Bound"],
  ["as it was in the store, when the deleted object has its name but another uid", "other", "Pending", "Pending"],
])("a removed object is reported %s", (_, uid, here, told) => {
  const store = new Store<Thing>();
  store.put(thing("1", here));
  const last = thing("2", "Bound");
  const [change] = store.remove({ ...last, metadata: { ...last.metadata, uid } });
  expect([change?.type, change?.object.metadata.uid, change?.object.status?.phase]).toEqual(["deleted", "uid", told]);
  expect(store.size).toBe(0);
});
